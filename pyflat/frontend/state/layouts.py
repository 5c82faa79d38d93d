"""Layouts: what values have in common that can take turns, and the leaves in which they differ.

    (x, 1.0) and (y, 2.0)        Items(tuple, 2) of two numbers: two leaves
    (x, 1.0) and None            Union of Items(tuple, 2) and Known(None): a bool that says which, and two leaves

A value is taken apart by its layout, and built of the leaves again, wherever paths meet.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyflat.errors import FlattenError
from pyflat.frontend.state.kinds import is_too_large, lane, numeric_kind, opened, same_static
from pyflat.frontend.state.values import (
    UNBOUND,
    Abstract,
    Array,
    BoundMethod,
    Cells,
    Char,
    Chars,
    Complex,
    Contents,
    GuardedUnion,
    ListRef,
    MemoryRef,
    NumberText,
    Partial,
    Ranges,
    Ref,
    RepeatedText,
    Seq,
    Spaced,
    State,
    Static,
    Stored,
    StoreRef,
    Super,
    TextTable,
    Unavailable,
    Unsigned,
    View,
    Written,
)
from pyflat.frontend.state.widths import PYTHON, Width
from pyflat.ir.build import const
from pyflat.ir.nodes import FALSE, TRUE, Const, Value
from pyflat.ir.types import BOOL, FLOAT, INT, Kind

Leaf = Value | None
"""None: a number that no lane reads."""


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
        mine = self.value
        return isinstance(other, Known) and (mine is other.value or same_static(mine, other.value) or isinstance(
            mine, Array) and mine.is_same(other.value))

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


class Layouts:
    """Takes values apart at one kind of place where paths meet: subclasses say which numbers stay known there, and what
    becomes of objects with identity."""

    def __init__(self) -> None:
        self.open: set[Abstract] = set()
        """The objects whose items are being looked at."""

    def refuse(self, what: str, help: str = "", why: str = "") -> FlattenError:
        raise NotImplementedError

    def emit(self, opcode: str, *args: Value) -> Value:
        """An operation where the leaves are taken from a value."""
        raise NotImplementedError

    # --- of one value
    def of(self, value: Abstract, state: State) -> Layout:
        if isinstance(value, GuardedUnion):
            return self.joined(self.of(value.then, state), self.of(value.orelse, state))
        form = self.form(value, state)
        if isinstance(form, Known):
            return Layout(form)
        if value in self.open:
            raise self.refuse("becomes an object that leads back to itself")
        self.open.add(value)
        made = Layout(form, self.layouts(value, form, state))
        self.open.discard(value)
        return made

    def form(self, value: Abstract, state: State) -> Any:
        """What a value is, beside its parts."""
        raise NotImplementedError

    def parts(self, value: Abstract, form: Any, state: State) -> Sequence[Abstract]:
        """The parts of a value of this form."""
        found = taken_apart(value)
        return () if found is None else found[1]

    def layouts(self, value: Abstract, form: Any, state: State) -> tuple[Layout, ...]:
        """The layouts of the parts. What is known of the bounds of a view stays so."""
        parts = self.parts(value, form, state)
        if isinstance(value, View):
            return tuple(self.of(part, state) if isinstance(part, Value) else Layout(Known(part)) for part in parts)
        return tuple(self.of(part, state) for part in parts)

    def number(self, value: Abstract) -> Number:
        return Number(lane(value).kind)

    # --- of several
    def joined(self, a: Layout, b: Layout) -> Layout:
        """The layout that holds both."""
        if a == b:
            return a
        options = list(a.options)
        for each in b.options:
            at = next((k for k, known in enumerate(options) if self.meet(known.form, each.form)), None)
            if at is None:
                options.append(each)
            else:
                options[at] = self.one(options[at], each)
        options = self.settled(options)
        return options[0] if len(options) == 1 else Layout(Union(), tuple(options))

    def settled(self, options: list[Layout]) -> list[Layout]:
        """The parts of a union. Raises FlattenError where there are too many."""
        return options

    def meet(self, a: Any, b: Any) -> bool:
        """Whether two forms become one, instead of a union of both."""
        return a == b or (kind := _kind(a)) is not None and kind is _kind(b)

    def one(self, a: Layout, b: Layout) -> Layout:
        """Of two forms that meet."""
        match a.form, b.form:
            case Known(), Known() if a != b:
                return Layout(self.number(a.form.value))
            case (Known() as known, Number() as other) | (Number() as other, Known() as known):
                own = self.number(known.value)
                return Layout(Number(own.kind, own.width | other.width))
            case Number() as number, Number(width=width):
                return Layout(Number(number.kind, number.width | width))
            case Compound(sample=View() as sample), Compound(sample=other) if sample is not other:
                form = Compound(a.form.key, replace(sample, settled=False, whole=False))
                return Layout(form, tuple(map(self.joined, a.parts, b.parts)))
        return Layout(a.form, tuple(map(self.joined, a.parts, b.parts)))

    # --- the leaves of a value
    def leaves(self, value: Abstract, layout: Layout, state: State) -> list[Leaf]:
        """The leaves of a value that the layout holds, in the order of `Builder`."""
        if isinstance(value, GuardedUnion):
            pairs = zip(self.leaves(value.then, layout, state), self.leaves(value.orelse, layout, state), strict=True)
            return [self._choose(value.cond, a, b) for a, b in pairs]
        if isinstance(layout.form, Union):
            return self._of_option(value, layout, state)
        if isinstance(layout.form, Known | Nothing):
            return []
        if isinstance(layout.form, Number):
            return [lane(value)]
        return self.inner(self.parts(opened(value), layout.form, state), layout, state)

    def inner(self, parts: Sequence[Abstract], layout: Layout, state: State) -> list[Leaf]:
        """The leaves of the parts. A list that grows has places behind its items."""
        grows = isinstance(layout.form, Compound) and layout.form.cls is Cells
        found = [leaf for part, inner in zip(parts, layout.parts, strict=not grows)
                 for leaf in self.leaves(part, inner, state)]
        return [*found, *[None] * (len(layout.kinds()) - len(found))]

    def _of_option(self, value: Abstract, layout: Layout, state: State) -> list[Leaf]:
        at = next(k for k, option in enumerate(layout.parts) if self.holds(option, value, state))
        found: list[Leaf] = [const(k == at) for k in range(len(layout.parts) - 1)]
        for k, option in enumerate(layout.parts):
            found += self.leaves(value, option, state) if k == at else [None] * len(option.kinds())
        return found

    def holds(self, option: Layout, value: Abstract, state: State) -> bool:
        return self.meet(option.form, self.form(value, state)) or opened(value) is not value and self.meet(
            option.form, self.form(opened(value), state))

    def _choose(self, cond: Value, a: Leaf, b: Leaf) -> Leaf:
        if a is None or b is None or a is b:
            return b if a is None else a
        if isinstance(a, Const) and isinstance(b, Const) and a.key == b.key:
            return a
        match a, b:
            case Const(value=True), Const(value=False) if a is TRUE:
                return cond
            case Const(), Const() if a is FALSE:
                return self.emit("not", cond)
            case Const(), _ if a is TRUE:
                return self.emit("or", cond, b)
            case _, Const() if b is FALSE:
                return self.emit("and", cond, a)
        return self.emit("select", cond, a, b)


class Builder:
    """Builds a value of the leaves of its layout."""

    def number(self, kind: Kind, name: str, width: Width = PYTHON) -> Value:
        """The next leaf."""
        raise NotImplementedError

    def built(self, layout: Layout, name: str) -> Abstract:
        match form := layout.form:
            case Number():
                return self.number(form.kind, name, form.width)
            case Known():
                return form.value
            case Nothing():
                return Unavailable(form.error)
            case Union():
                tags = [self.number(BOOL, "" if layout.parts[0].parts else name) for _ in layout.parts[1:]]
                *options, chosen = [self.built(option, name) for option in layout.parts]
                for tag, option in zip(reversed(tags), reversed(options), strict=True):
                    chosen = GuardedUnion(tag, option, chosen)
                return chosen
            case Compound(sample=Complex()):
                parts = zip(layout.parts, ("real", "imag"), strict=True)
                return Complex(*(self.built(part, name and f"{name}_{which}") for part, which in parts))
            case Compound():
                return rebuilt(form.sample, [self.built(part, name) for part in layout.parts])
        return self.made(layout, name)

    def made(self, layout: Layout, name: str) -> Abstract:
        """Of a form of a subclass."""
        raise NotImplementedError


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
        case Ranges(item=Spaced() as item):
            return (Ranges, Spaced), (value.start, value.stop, item.first, item.step)
        case Ranges(item=None, once=False, live=None):
            return (Ranges, value.step), (value.start, value.stop)
        case NumberText():
            return (NumberText, value.number.kind, value.spec, value.converted), (value.number,)
        case RepeatedText():
            return (RepeatedText, value.text), (value.count,)
        case Char():
            return (Char, value.decimal), (value.number,)
        case Chars():
            return (Chars, tuple(map(_written_key, value.items))), value.items
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
        case Ranges():
            start, stop, *spaced = given
            item = Spaced(value.item.element, *spaced) if isinstance(value.item, Spaced) else None
            return Ranges(start, stop, value.step, item)
        case NumberText():
            return replace(value, number=lane(*given))
        case RepeatedText():
            return RepeatedText(value.text, lane(*given))
        case Char():
            return Char(lane(*given), value.decimal)
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
