"""Layouts: what values have in common that can take turns, and the leaves in which they differ.

    (x, 1.0) and (y, 2.0)        Items(tuple, 2) of two numbers: two leaves
    (x, 1.0) and None            Union of Items(tuple, 2) and Known(None): a bool that says which, and two leaves

A value is taken apart by its layout, and built of the leaves again, wherever paths meet.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from pyflat.errors import FlattenError
from pyflat.frontend.state.kinds import is_too_large, lane, numeric_kind, same_static
from pyflat.frontend.state.values import (
    UNBOUND,
    Abstract,
    Array,
    BoundMethod,
    Char,
    Chars,
    Complex,
    Contents,
    GuardedUnion,
    ListRef,
    MemoryRef,
    NumberText,
    Partial,
    Ref,
    RepeatedText,
    Seq,
    Static,
    Stored,
    StoreRef,
    Super,
    TextTable,
    Unsigned,
    View,
    Written,
)
from pyflat.frontend.state.widths import PYTHON, Width
from pyflat.ir.types import BOOL, FLOAT, INT, Kind


@dataclass(frozen=True, slots=True)
class Number:
    """A leaf; in a kernel also what it may be of NumPy's dtypes."""

    kind: Kind
    width: Width = PYTHON


@dataclass(frozen=True, slots=True)
class Bits:
    """An int as 64 bits, a leaf; `exact`: in [0, 2**64), else its residue modulo 2**64."""

    exact: bool
    width: Width = PYTHON


@dataclass(frozen=True, slots=True)
class Compound:
    """A value that `taken_apart` has parts of: its key tells it from others, `sample` is one of them."""

    key: Hashable
    sample: Abstract

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Compound) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def cls(self) -> type:
        """The class of a tuple, and of other values that of what stands for them."""
        return self.sample.cls if isinstance(self.sample, Seq) else type(self.sample)


@dataclass(frozen=True, slots=True)
class Object:
    """A list, dict (with its keys) or object (with the names of its attributes). A list that grows has `places`."""

    cls: type
    keys: tuple[Any, ...] | None
    size: int
    places: bool
    frozen: bool


@dataclass(frozen=True, slots=True)
class Elements:
    """A NumPy array of this shape."""

    extent: tuple[int, ...]
    kind: Kind
    frozen: bool


@dataclass(frozen=True, slots=True)
class Known:
    """An object that is known, or unbound: no leaves."""

    value: Abstract

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Known) and (self.value is other.value or same_static(self.value, other.value))

    def __hash__(self) -> int:
        return 0


@dataclass(frozen=True, slots=True)
class Pieces:
    """A string that gets longer (`state.templates`): its part are the places of its pieces."""

    table: TextTable
    numbers: tuple[Kind, ...]


@dataclass(frozen=True, slots=True)
class Union:
    """One of the parts: a bool for each but the last says whether it is that."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing can hold it: reading it is refused with `error`."""

    error: FlattenError


_KINDS = (BOOL, INT, FLOAT)
_ORDER: dict[type, int] = {Complex: 0, Seq: 1, Number: 2, Bits: 2, Object: 3, Elements: 4, Pieces: 5, Known: 7}


@dataclass(frozen=True, slots=True)
class Layout:
    """What a variable has to hold."""

    form: Any
    parts: tuple[Layout, ...] = ()

    @property
    def options(self) -> tuple[Layout, ...]:
        return self.parts if isinstance(self.form, Union) else (self,)

    @property
    def depth(self) -> int:
        return 1 + max((part.depth for part in self.parts), default=0)

    @property
    def order(self) -> tuple[int, int]:
        """Where it stands among the parts of a union."""
        cls = type(self.form.sample if isinstance(self.form, Compound) else self.form)
        if isinstance(self.form, Known):
            return _ORDER[cls], self.form.value is UNBOUND
        return _ORDER.get(cls, 6), _KINDS.index(kind) if (kind := _kind(self.form)) in _KINDS else 0

    def kinds(self) -> list[Kind]:
        """The kinds of the leaves."""
        if isinstance(self.form, Number | Bits):
            return [self.form.kind if isinstance(self.form, Number) else INT]
        tags = [BOOL] * (len(self.parts) - 1) if isinstance(self.form, Union) else []
        return [*tags, *(kind for part in self.parts for kind in part.kinds())]


def _kind(form: Any) -> Kind | None:
    """The kind of a number."""
    match form:
        case Bits():
            return INT
        case Number():
            return form.kind
        case Known() if not is_too_large(form.value):
            return numeric_kind(form.value)
    return None


def meet(a: Any, b: Any) -> bool:
    """Whether two forms become one, instead of a union of both."""
    if isinstance(a, Object) and isinstance(b, Object):
        return (a.cls, a.keys, a.size, a.places) == (b.cls, b.keys, b.size, b.places)
    if isinstance(a, Elements | Pieces):
        return type(a) is type(b)
    kind = _kind(a)
    return a == b if kind is None else kind is _kind(b)


# --- the parts of a value
def taken_apart(value: Abstract) -> tuple[Hashable, tuple[Any, ...]] | None:
    """What tells a value from others that differ in their parts only, and its parts; None for what has none: numbers,
    known objects, objects with identity, functions."""
    match value:
        case Seq():
            return (Seq, value.cls, len(value.items)), value.items
        case Complex():
            return Complex, (value.real, value.imag)
        case Unsigned():
            return Unsigned, (value.bits, value.outside)
        case GuardedUnion():
            return GuardedUnion, (value.cond, value.then, value.orelse)
        case Array():
            return (Array, value.places.shape, value.places.tobytes()), (value.store,)
        case View():
            axes = tuple(each.axis for each in value.stored)
            bounds = (part for each in value.stored for part in (each.start, each.step))
            return ((View, value.array, value.dtype, len(value.extents), axes, value.settled, value.whole),
                    (value.memory, *value.extents, *bounds))
        case BoundMethod():
            return (BoundMethod, value.name, id(value.function)), (value.receiver,)
        case Partial():
            key = Partial, len(value.positional), *value.named
            return key, (value.function, *value.positional, *value.named.values())
        case Super():
            return (Super, value.cls), (value.receiver,)
        case NumberText():
            return (NumberText, value.number.kind, value.spec, value.converted), (value.number,)
        case RepeatedText():
            return (RepeatedText, value.text), (value.count,)
        case Char():
            return (Char, value.decimal, value.binary), (value.number,)
        case Chars():
            return (Chars, len(value.items)), value.items
        case Written():
            return (Written, tuple(map(_written_key, value.parts))), tuple(
                part for part in value.parts if not isinstance(part, Static))
    return None


def _written_key(part: Abstract) -> Hashable:
    """What tells a part of a string from others, beside its numbers."""
    if isinstance(part, Static):
        return str(part.value)
    found = taken_apart(part)
    return repr(type(part)) if found is None else found[0]


def rebuilt(value: Abstract, parts: Iterable[Any]) -> Abstract:
    """A value like `value`, of other parts."""
    given = tuple(parts)
    match value:
        case Seq():
            return Seq(value.cls, given)
        case Array():
            return Array(given[0], value.places)
        case View():
            memory, *rest = given
            rank = len(value.extents)
            stored = map(Stored, rest[rank::2], (each.axis for each in value.stored), rest[rank + 1::2])
            return View(memory, value.array, value.dtype, tuple(rest[:rank]), tuple(stored), value.settled, value.whole)
        case BoundMethod():
            return BoundMethod(given[0], value.name, value.function)
        case Partial():
            function, *rest = given
            most = len(value.positional)
            return Partial(function, rest[:most], dict(zip(value.named, rest[most:], strict=True)))
        case Super():
            return Super(value.cls, *given)
        case NumberText():
            return replace(value, number=lane(*given))
        case RepeatedText():
            return RepeatedText(value.text, lane(*given))
        case Char():
            return replace(value, number=lane(*given))
        case Chars():
            return Chars(given)
        case Written():
            others = iter(given)
            return Written(tuple(part if isinstance(part, Static) else next(others) for part in value.parts))
    assert isinstance(value, Complex | Unsigned | GuardedUnion)
    return type(value)(*given)


def contents_of(contents: Contents, ref: Ref) -> tuple[Abstract, ...]:
    """What an object has on the heap: items, or the values of keys and attributes."""
    return contents if isinstance(ref, ListRef | StoreRef | MemoryRef) else tuple(item for _, item in contents)


def with_contents(contents: Contents, ref: Ref, items: Iterable[Abstract]) -> Contents:
    """The contents of an object with other items."""
    if isinstance(ref, ListRef | StoreRef | MemoryRef):
        return tuple(items)
    return tuple((key, item) for (key, _), item in zip(contents, items, strict=True))
