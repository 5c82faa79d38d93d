"""The shapes of loop parameters: what a variable of a loop that stays a loop has to hold, over all iterations.

A list, dict or object that a name means in turn becomes one object of the loop's own, whose items are parameters:

    v = [x, 1.0]                 the parameters of the loop are v[0] and v[1];
    while v[0] > 1:              in each iteration v means a list of its own that holds them
        v = [v[0] / 2, v[1] + 1]

That is right as long as nothing can tell the lists apart: where another name may mean the same list, none of them may
be written or compared by identity any more (`frozen`).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from pyflat.errors import FlattenError
from pyflat.frontend.space import arrays, complex_numbers, growing, scalars
from pyflat.frontend.state import aliasing, templates
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import alternatives, cells_of, complex_parts, describe, lane, numeric_kind, same_static
from pyflat.frontend.state.values import (
    UNBOUND,
    Abstract,
    Array,
    Cells,
    DictRef,
    GrownText,
    GuardedUnion,
    IterRef,
    ListRef,
    ObjRef,
    Ref,
    Seq,
    State,
    Static,
    TextTable,
    Unsigned,
    View,
)
from pyflat.frontend.state.widths import PYTHON, Width
from pyflat.ir.build import const
from pyflat.ir.nodes import FALSE, Value
from pyflat.ir.types import BOOL, FLOAT, INT, MEMORY, Kind

MAX_CONSTANTS = 8
"""The most objects among which a variable of a loop that stays one may change."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a kernel: its kind, and what it may be."""

    kind: Kind
    width: Width


KINDS = (BOOL, INT, FLOAT)


@dataclass(frozen=True, slots=True)
class OneOfKinds:
    """A number of one kind in some iterations and of another in others: a number of each of `kinds`, in the order of
    `KINDS`, and which it is; in a kernel also what an int and a float may be."""

    kinds: tuple[Kind, ...]
    whole: Width = PYTHON
    real: Width = PYTHON


@dataclass(frozen=True, slots=True)
class ComplexShape:
    """A complex number; with `number`, one that is a real number of this shape in some iterations."""

    number: Kind | OneOfKinds | None = None


@dataclass(frozen=True, slots=True)
class UnsignedShape:
    """An int as 64 bits; `exact`: in [0, 2**64), else its residue modulo 2**64."""

    exact: bool
    width: Width = PYTHON


@dataclass(frozen=True, slots=True)
class TupleShape:
    cls: type
    items: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class ObjectShape:
    """A list, dict (with its keys) or object (with the names of its attributes)."""

    cls: type
    items: tuple[Shape, ...]
    keys: tuple[Any, ...] | None
    frozen: bool


@dataclass(frozen=True, slots=True)
class ArrayShape:
    """A NumPy array: `extent` is its shape in NumPy's sense."""

    extent: tuple[int, ...]
    kind: Kind
    frozen: bool


@dataclass(frozen=True, slots=True)
class Later:
    """`other` (unbound, None, a string) before the loop, and something of shape `inner` later."""

    inner: Shape
    other: Abstract


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of a few objects (strings, None, functions, unbound): a bool for each but one."""

    values: tuple[Abstract, ...]


@dataclass(frozen=True, slots=True)
class TextShape:
    """A string that gets longer: the kinds of the numbers that a piece has, and the number of places."""

    table: TextTable
    numbers: tuple[Kind, ...]
    places: int

    def cells(self) -> TupleShape:
        return TupleShape(Cells, (INT, *[TupleShape(tuple, (INT, *self.numbers))] * self.places))


@dataclass(frozen=True, slots=True)
class NoShape:
    """Nothing can hold it: reading it is refused with `error`."""

    error: FlattenError


Shape = (Kind | Number | OneOfKinds | ComplexShape | UnsignedShape | TupleShape | ObjectShape | ArrayShape | Later
         | OneOf | TextShape | NoShape)
"""A number has its kind for a shape."""


def zero(shape: Shape) -> Abstract:
    """A value of the shape that no lane reads."""
    match shape:
        case Kind():
            return Static({"b": False, "i8": 0, "f8": 0.0}[shape.value])
        case Number():
            return zero(shape.kind)
        case OneOfKinds():
            return zero(shape.kinds[0])
        case UnsignedShape():
            return Static(0)
        case ComplexShape():
            return Static(0j)
        case Later():
            return zero(shape.inner)
        case TupleShape():
            return Seq(shape.cls, tuple(map(zero, shape.items)))
    raise AssertionError(f"{shape} cannot be made of zeros")


def has_objects(shape: Shape | None) -> bool:
    """Lists, objects and arrays, and tuples of them, cannot be made of zeros."""
    match shape:
        case ObjectShape() | ArrayShape():
            return True
        case TupleShape():
            return any(map(has_objects, shape.items))
    return False


_ONE_ARRAY = "in a loop a name means the same array in all iterations"
_COPY = "copy into the array that the name has before the loop: `{name}[:] = ...`"


class Shapes:
    """What the parameter of one variable has to hold; `name` and `node` are for refusals."""

    def __init__(self, s: Evaluator, name: str, node: Any):
        self.s, self.name, self.node = s, name, node
        self.open: set[Ref] = set()
        """The objects whose items are being looked at."""

    def refuse(self, what: str, help: str = "", why: str = "") -> FlattenError:
        return self.s.refuse("flatten/mixed-join", f"{self.name!r} {what}", self.node, help=help, why=why)

    def replaced(self, value: Abstract, what: str) -> FlattenError:
        """The refusal where `value` is what the name means in some iterations, and not in others."""
        what += " in a loop that cannot be unrolled"
        if not isinstance(value, View):
            return self.refuse(what)
        return self.refuse(what, _COPY.format(name=self.name), _ONE_ARRAY)

    def carried(self, known: Shape | None, old: Abstract, start: State, value: Abstract, state: State, local: bool
                ) -> Shape:
        """The shape for `old` before an iteration and `value` after it; a local that has none is lost."""
        try:
            return self.joined(known, old, start, value, state)
        except FlattenError as error:
            if not local:
                raise
            return NoShape(error)

    def joined(self, known: Shape | None, old: Abstract, start: State, value: Abstract, state: State) -> Shape:
        if known is None or isinstance(known, OneOf):
            objects = constants_among([] if known is None else list(known.values), old, value)
            if objects is not None and len(objects) <= MAX_CONSTANTS:
                return known if known is not None and len(objects) == len(known.values) else OneOf(tuple(objects))
        text = self._of_texts(known, old, value)
        if text is not None:
            return text
        after, other = number_and_other(value)
        before, missing = number_and_other(old)
        if known is None and missing is None and before is not None and is_constant(before):
            before, missing = None, before
        if isinstance(known, Later):
            missing = known.other
        if other is not None and (missing is None or not alike(other, missing)):
            raise self.replaced(other, f"becomes {describe(other)}")
        if missing is None:
            assert before is not None and after is not None
            first = known if known is not None else self.of(before, start)
            return self.join(first, self.of(after, state))
        inner = known.inner if isinstance(known, Later) else None if before is None else self.of(before, start)
        if after is not None:
            inner = self.join(inner, self.of(after, state))
        if has_objects(inner):
            raise self.refuse("has no list, object or array before a loop that cannot be unrolled, and one after an "
                              "iteration", help="give it one before it")
        assert inner is not None
        return Later(inner, missing)

    def _of_texts(self, known: Shape | None, old: Abstract, value: Abstract) -> TextShape | None:
        """The shape of a string that gets longer; None for anything else."""
        tables = templates.tables_in(old, value)
        if len(tables) > 1 or not self.s.grows or not templates.are_strings(old, value) \
                or not (templates.can_grow(old) and templates.can_grow(value)):
            return None
        table = known.table if isinstance(known, TextShape) else tables[0] if tables else TextTable()
        for one in (*alternatives(old), *alternatives(value)):
            if not isinstance(one, GrownText) and not is_empty(one):
                templates.register(table, one)
        return TextShape(table, tuple(table.numbers), growing.PLACES)

    def of(self, value: Abstract, state: State) -> Shape:
        kind = numeric_kind(value)
        if kind is not None and self.s.widths is not None and kind is not MEMORY:
            return Number(kind, self.s.widths.of(lane(value)))
        if kind is not None:
            return kind
        if complex_parts(value) is not None:
            return ComplexShape()
        if isinstance(value, Unsigned):
            width = PYTHON if self.s.widths is None else self.s.widths.of(value.bits)
            return UnsignedShape(value.outside is FALSE, width)
        if isinstance(value, GuardedUnion) and complex_numbers.is_number(value):
            return self.join(self.of(value.then, state), self.of(value.orelse, state))
        if isinstance(value, Seq) or isinstance(value, Static) and isinstance(value.value, tuple):
            parts = self.s.space.sequence_items(value, self.node) or ()
            cls = value.cls if isinstance(value, Seq) else tuple
            return TupleShape(cls, tuple(self.of(item, state) for item in parts))
        shape = self._of_array(value, state) or self._of_object(value, state)
        if shape is None and any(isinstance(each, Unsigned) for each in alternatives(value)):
            raise self.refuse("is an int of [0, 2**64) in some iterations and another number in others, in a loop that "
                              "cannot be unrolled", help="mask it on both paths: (...) & 0xFFFFFFFFFFFFFFFF")
        if shape is None:
            raise self.replaced(value, f"changes between {describe(value)} and something else")
        return shape

    def _of_array(self, value: Abstract, state: State) -> ArrayShape | None:
        memory, kind = stores(value), arrays.kind_of(value)
        if memory is None or kind is None:
            return None
        if not arrays.is_plain(value):
            raise self.refuse("becomes a transposed or strided view in a loop that cannot be unrolled",
                              help="make it a copy")
        return ArrayShape(arrays.shape_of(value), kind, self.shared(state, memory))

    def _of_object(self, value: Abstract, state: State) -> ObjectShape | None:
        refs = options(value)
        layouts = {aliasing.layout(state, ref) for ref in refs or ()}
        layout = layouts.pop() if len(layouts) == 1 else None
        if refs is None or layout is None:
            return None
        if self.open & set(refs):
            raise self.refuse("becomes an object that leads back to itself in a loop that cannot be unrolled")
        self.open |= set(refs)
        shapes = tuple(self.of(item, state) for item in items_of(self.s, state, refs[0]))
        for ref in refs[1:]:
            others = (self.of(item, state) for item in items_of(self.s, state, ref))
            shapes = tuple(map(self.join, shapes, others))
        self.open -= set(refs)
        return ObjectShape(layout[0], shapes, layout[1], self.shared(state, refs))

    def shared(self, state: State, refs: Sequence[Ref]) -> bool:
        """Another name means one of them: what the loop copies and what it copies from may not be written any more."""
        found = any(ref in self.s.frozen or is_shared(self.s, state, ref) for ref in refs)
        if found:
            self.s.frozen.update(refs)
        return found

    def join(self, a: Shape | None, b: Shape) -> Shape:
        """The shape that holds both; None is no shape yet."""
        if a is None or a == b:
            return b
        match a, b:
            case ArrayShape(), ArrayShape() if (a.extent, a.kind) == (b.extent, b.kind):
                return replace(a, frozen=a.frozen or b.frozen)
            case ArrayShape(), ArrayShape():
                what = f"the array {self.name!r} changes its shape or dtype in a loop that cannot be unrolled"
                raise self.s.refuse("flatten/mixed-join", what, self.node, help="write np.zeros(3) or 0.0 for floats")
            case (Number() | OneOfKinds()), (Number() | OneOfKinds()):
                return self._numbers(a, b)
            case UnsignedShape(), UnsignedShape():
                return UnsignedShape(a.exact and b.exact, a.width | b.width)
            case (UnsignedShape() as known, Kind.INT) | (Kind.INT, UnsignedShape() as known):
                return known
            case (UnsignedShape() as known, Number(kind=Kind.INT) as number) | (
                    Number(kind=Kind.INT) as number, UnsignedShape() as known):
                return replace(known, width=known.width | number.width)
            case ComplexShape(), ComplexShape():
                return ComplexShape(self._number(a.number, b.number))
            case (ComplexShape(number=number), (Kind() | OneOfKinds()) as other) | (
                    (Kind() | OneOfKinds()) as other, ComplexShape(number=number)):
                return ComplexShape(self._number(number, other))
            case Kind() | OneOfKinds(), Kind() | OneOfKinds():
                return self._number(a, b) or b
            case TupleShape(), TupleShape() if a.cls is b.cls and len(a.items) == len(b.items):
                return TupleShape(a.cls, tuple(map(self.join, a.items, b.items)))
            case ObjectShape(), ObjectShape() if _alike(a, b):
                return replace(a, items=tuple(map(self.join, a.items, b.items)), frozen=a.frozen or b.frozen)
            case ObjectShape(cls=cls), ObjectShape() if cls is list and b.cls is list and self.s.grows:
                return self._lists(a, b)
        raise self.refuse("changes its shape in a loop that cannot be unrolled")

    def _lists(self, a: ObjectShape, b: ObjectShape) -> ObjectShape:
        """Lists of several lengths: a count, and a place for each item (`space.growing`)."""
        rows = [_places(shape) for shape in (a, b)]
        each = functools.reduce(self.join, [*rows[0], *rows[1]])
        if has_objects(each):
            raise self.refuse("is a list of lists or objects that gets more or fewer items in a loop that cannot be "
                              "unrolled")
        most = max(len(row) if _has_places(shape) else len(row) + growing.PLACES
                   for shape, row in zip((a, b), rows, strict=True))
        count = self.of(Static(0), State({}, WeakKeyDictionary()))
        return ObjectShape(list, (TupleShape(Cells, (count, *[each] * most)),), None, a.frozen or b.frozen)

    def _numbers(self, a: Number | OneOfKinds, b: Number | OneOfKinds) -> Number | OneOfKinds:
        """The shape of numbers of a kernel."""
        if isinstance(a, Number) and isinstance(b, Number) and a.kind is b.kind:
            return Number(a.kind, a.width | b.width)
        if self.s.widths is not None and BOOL in (getattr(a, "kind", None), getattr(b, "kind", None)):
            raise self.refuse("is a bool in some iterations and another number in others")
        whole, real = zip(_parts_of_number(a), _parts_of_number(b), strict=True)
        return OneOfKinds(_kinds(a, b), frozenset().union(*whole) or PYTHON, frozenset().union(*real) or PYTHON)

    def _number(self, a: Kind | OneOfKinds | None, b: Kind | OneOfKinds | None) -> Kind | OneOfKinds | None:
        if a is None or b is None or a == b:
            return a or b
        return OneOfKinds(_kinds(a, b))


def _kinds(*shapes: Kind | Number | OneOfKinds) -> tuple[Kind, ...]:
    """All that one of them may be."""
    found: set[Kind] = set()
    for shape in shapes:
        match shape:
            case Kind():
                found.add(shape)
            case Number():
                found.add(shape.kind)
            case OneOfKinds():
                found.update(shape.kinds)
    return tuple(kind for kind in KINDS if kind in found)


def _alike(a: ObjectShape, b: ObjectShape) -> bool:
    """Objects whose items join one by one."""
    sizes = [len(_places(shape)) for shape in (a, b)]
    return (a.cls, a.keys, _has_places(a)) == (b.cls, b.keys, _has_places(b)) and sizes[0] == sizes[1]


def _has_places(shape: ObjectShape) -> bool:
    return len(shape.items) == 1 and isinstance(shape.items[0], TupleShape) and shape.items[0].cls is Cells


def _places(shape: ObjectShape) -> tuple[Shape, ...]:
    """What the items, or the places of a list that grows, have to hold."""
    first = shape.items[0] if shape.items else None
    return first.items[1:] if isinstance(first, TupleShape) and first.cls is Cells else shape.items


def in_places(items: list[Abstract], shape: ObjectShape) -> list[Abstract]:
    """The contents of a list as the shape has them: with a count and as many places."""
    if not _has_places(shape):
        return items
    cells = cells_of(items)
    row = list(cells.items) if cells is not None else [Static(len(items)), *items]
    row += [zero(each) for each in _places(shape)[len(row) - 1:]]
    return [Seq(Cells, tuple(row))]


def _parts_of_number(shape: Number | OneOfKinds) -> tuple[Width, Width]:
    """What the int and the float may be."""
    if isinstance(shape, OneOfKinds):
        return shape.whole, shape.real
    return (shape.width, frozenset()) if shape.kind is INT else (frozenset(), shape.width)


# --- what a variable may mean
def options(value: Abstract) -> list[Ref] | None:
    """The objects that a value may be, when they are of one class and have the same keys; None for anything else."""
    if isinstance(value, GuardedUnion):
        then, orelse = options(value.then), options(value.orelse)
        return None if then is None or orelse is None else [*then, *orelse]
    if isinstance(value, ListRef | DictRef | ObjRef) and not isinstance(value, IterRef):
        return [value]
    return None


def stores(value: Abstract) -> list[Ref] | None:
    """The memory of an array, or of each of several; None for anything else. A captured array has none of its own."""
    if not arrays.is_array(value):
        return None
    if isinstance(value, GuardedUnion):
        return [*(stores(value.then) or ()), *(stores(value.orelse) or ())]
    return [value.store] if isinstance(value, Array) else []


def items_of(s: Evaluator, state: State, value: Abstract) -> list[Abstract]:
    """The items of an object, or of the one of several that the lane has."""
    if isinstance(value, GuardedUnion):
        pairs = zip(items_of(s, state, value.then), items_of(s, state, value.orelse), strict=True)
        return [scalars.choose(s, value.cond, a, b) for a, b in pairs]
    return aliasing.items_of(state, value)


def is_shared(s: Evaluator, state: State, ref: Ref) -> bool:
    """More than one name, item or attribute means the object."""
    return aliasing.is_shared([state, *s.outer_states()], state, ref)


def number_and_other(value: Abstract) -> tuple[Abstract | None, Abstract | None]:
    """A value apart from the alternative that is no number: (number, other), None where there is none."""
    if is_constant(value):
        return None, value
    if not isinstance(value, GuardedUnion):
        return value, None
    (then, other), (orelse, second) = number_and_other(value.then), number_and_other(value.orelse)
    if other is not None and second is not None and not alike(other, second):
        return value, None
    number = GuardedUnion(value.cond, then, orelse) if then is not None and orelse is not None else then or orelse
    return number, other or second


def has_number(s: Evaluator, value: Abstract) -> Value:
    """The lanes in which `_without` finds a number."""
    if isinstance(value, GuardedUnion):
        then, orelse = has_number(s, value.then), has_number(s, value.orelse)
        return s.build.op("select", value.cond, then, orelse)
    return const(not is_constant(value))


def is_empty(value: Abstract) -> bool:
    return isinstance(value, Static) and value.value == ""


def is_constant(value: Abstract) -> bool:
    if isinstance(value, View):
        return value.settled
    return value is UNBOUND or isinstance(value, Static) and numeric_kind(value) is None \
        and not isinstance(value.value, tuple | complex | np.ndarray)


def elements(s: Evaluator, state: State, value: Abstract, node: Any) -> list[Abstract]:
    """The elements of an array as they are in a state."""
    current, s.state = s.state, state
    try:
        return list(arrays.grid(s, value, node).flat)
    finally:
        s.state = current


def constants_among(found: list[Abstract], *values: Abstract) -> list[Abstract] | None:
    """`found` and the objects among which `values` choose, each once; None where there are numbers or own objects."""
    for value in values:
        if isinstance(value, GuardedUnion):
            inner = constants_among(found, value.then, value.orelse)
            if inner is None:
                return None
            found = inner
        elif not is_constant(value):
            return None
        elif not any(alike(value, each) for each in found):
            found = [*found, value]
    return found


def is_the_constant(s: Evaluator, value: Abstract, wanted: Abstract) -> Value:
    """The lanes in which `value` is the object `wanted`."""
    if isinstance(value, GuardedUnion):
        then, orelse = is_the_constant(s, value.then, wanted), is_the_constant(s, value.orelse, wanted)
        return s.build.op("select", value.cond, then, orelse)
    return const(alike(value, wanted))


def alike(a: Abstract, b: Abstract) -> bool:
    return a is b or same_static(a, b)
