"""Layouts: what values have in common that can take turns, and the leaves in which they differ.

    (x, 1.0) and (y, 2.0)        Items(tuple, 2) of two numbers: two leaves
    (x, 1.0) and None            Union of Items(tuple, 2) and Known(None): a bool that says which, and two leaves

A value is taken apart by its layout, and built of the leaves again, wherever paths meet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pyflat.errors import FlattenError
from pyflat.frontend.state.kinds import is_too_large, lane, numeric_kind, same_static
from pyflat.frontend.state.values import (
    UNBOUND,
    Abstract,
    Char,
    Chars,
    MemoryRef,
    NumberText,
    RepeatedText,
    Static,
    Text,
    TextTable,
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
class Items:
    """A tuple or namedtuple, the places of a list that grows, a complex number."""

    cls: type
    size: int


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
class Axes:
    """A view of an array of a kernel: its parts are the lengths of its axes, then the start and the step of each axis
    in memory, for which `axes` has the axis of the view."""

    memory: MemoryRef
    array: str
    dtype: str
    rank: int
    axes: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """An object that is known, or unbound: no leaves."""

    value: Abstract

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Known) and (self.value is other.value or same_static(self.value, other.value))

    def __hash__(self) -> int:
        return 0


@dataclass(frozen=True, slots=True)
class String:
    """A string whose numbers are its parts: `how` tells it from other strings, `sample` is one of them."""

    how: Any
    sample: Abstract

    def __eq__(self, other: object) -> bool:
        return isinstance(other, String) and self.how == other.how

    def __hash__(self) -> int:
        return hash(self.how)


@dataclass(frozen=True, slots=True)
class Pieces:
    """A string that gets longer (`state.templates`): its part are the places of its pieces."""

    table: TextTable
    numbers: tuple[Kind, ...]


@dataclass(frozen=True, slots=True)
class Method:
    """A bound method: its part is the object."""

    name: str
    function: Any


@dataclass(frozen=True, slots=True)
class Union:
    """One of the parts: a bool for each but the last says whether it is that."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing can hold it: reading it is refused with `error`."""

    error: FlattenError


_KINDS = (BOOL, INT, FLOAT)
_ORDER: dict[type, int] = {Items: 1, Number: 2, Bits: 2, Object: 3, Elements: 4, Axes: 4, Pieces: 5, String: 6,
                           Method: 7, Known: 8}


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
        if isinstance(self.form, Items) and self.form.cls is complex:
            return 0, 0
        if isinstance(self.form, Known):
            return _ORDER[Known], self.form.value is UNBOUND
        return _ORDER[type(self.form)], _KINDS.index(kind) if (kind := _kind(self.form)) in _KINDS else 0

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


def how(text: Text) -> Any:
    """Equal for strings that differ in their numbers only; None for one that is not known so well."""
    match text:
        case NumberText():
            return NumberText, text.number.kind, text.spec, text.converted
        case RepeatedText():
            return RepeatedText, text.text
        case Char():
            return Char, text.decimal, text.binary
        case Chars():
            return Chars, len(text.items)
        case Written():
            hows = tuple(part.value if isinstance(part, Static) else how(part) if isinstance(part, Text) else "one of"
                         for part in text.parts)
            return None if None in hows else (Written, hows)
    return None


def with_parts(text: Abstract, parts: Iterator[Abstract]) -> Abstract:
    """A string like `text` with other parts."""
    match text:
        case NumberText():
            return replace(text, number=lane(next(parts)))
        case RepeatedText():
            return replace(text, count=lane(next(parts)))
        case Char():
            return replace(text, number=lane(next(parts)))
        case Chars():
            return Chars(tuple(parts))
        case Written():
            return Written(tuple(part if isinstance(part, Static) else next(parts) for part in text.parts))
    raise AssertionError(f"{text} has no parts")
