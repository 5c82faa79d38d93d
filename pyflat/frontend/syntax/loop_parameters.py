"""The parameters of a loop that stays one: what they have to hold, how they are made, and what a back edge gives them.

A *shape* says how an abstract value becomes parameters:

    Kind                              a number
    ("mixed",)                        an int in some iterations and a float in others: both, and which
    ("complex", None)                 a complex number
    ("complex", shape)                one that is a number of this shape in some iterations
    ("seq", class, shapes)            a tuple
    ("ref", class, shapes, keys, frozen)   a list, dict or object (`loop_objects`)
    ("array", shape, kind, frozen)   a NumPy array
    ("maybe", shape, other)           `other` (unbound, None, a string) before the loop, and a number later
    ("known", values)                 one of a few objects (strings, None, functions, unbound): a bool for each but one
    ("lost", error)                   nothing: reading it is refused
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pyflat.errors import FlattenError
from pyflat.frontend.space import arrays, complex_numbers, scalars
from pyflat.frontend.state import aliasing as sharing
from pyflat.frontend.state.frames import Specialiser
from pyflat.frontend.state.merge import lane, same_static
from pyflat.frontend.state.values import (
    UNBOUND,
    Abstract,
    Array,
    Choice,
    Complex,
    Contents,
    DictRef,
    ListRef,
    Lost,
    ObjRef,
    Ref,
    Seq,
    State,
    Static,
    StoreRef,
    Way,
    complex_parts,
    describe,
    numeric_kind,
)
from pyflat.frontend.syntax import loop_objects
from pyflat.ir.build import const
from pyflat.ir.nodes import Block, Param, Value
from pyflat.ir.types import BOOL, FLOAT, INT, Kind, join_kinds

Owned = dict[Ref, Contents]
"""The objects that stand for what a name means in an iteration (`loop_objects`), with parameters for contents."""


class Maker:
    """Makes the parameters of a loop: `pairs` of a parameter and its value before the loop, and `owned` objects."""

    def __init__(self, s: Specialiser, entry: State, pairs: list[tuple[Param, Value]], owned: Owned, node: Any):
        self.s, self.entry, self.pairs, self.owned, self.node = s, entry, pairs, owned, node

    def parameter(self, start: Abstract, shape: Any, name: str) -> Abstract:
        if isinstance(shape, Kind):
            if isinstance(start, Choice):
                start = scalars.number_choice_as_float(self.s, start)
            param = Param(shape, name)
            self.pairs.append((param, scalars.to_kind(self.s, lane(start), shape)))
            return param
        match shape[0]:
            case "mixed":
                return _mixed_parameter(self.s, start, name, self.pairs)
            case "seq":
                assert isinstance(start, Static | Seq)
                items = self.s.space.sequence_items(start, self.node) or ()
                return Seq(shape[1], self.parameters(items, shape[2], name))
            case "complex":
                return self.complex_parameter(start, shape[1], name)
            case "ref":
                return self.object(start, shape, name)
            case "array":
                return self.array(start, shape, name)
            case "lost":
                return Lost(shape[1])
            case "known":
                return self.one_of(start, shape[1], name)
        assert shape[0] == "maybe"
        bound = Param(BOOL, "")
        self.pairs.append((bound, _has_number(self.s, start)))
        number, _ = _without(start)
        inner = self.parameter(_zero(shape[1]) if number is None else number, shape[1], name)
        return Choice(bound, inner, shape[2])

    def parameters(self, items: Sequence[Abstract], shapes: Sequence[Any], name: str) -> tuple[Abstract, ...]:
        return tuple(self.parameter(item, shape, name) for item, shape in zip(items, shapes, strict=True))

    def object(self, start: Abstract, shape: Any, name: str) -> Abstract:
        _, cls, shapes, keys, frozen = shape
        ref = sharing.empty_like(cls)
        items = self.parameters(loop_objects.items(self.s, self.entry, start), shapes, name)
        self.owned[ref] = items if keys is None else tuple(zip(keys, items, strict=True))
        if frozen:
            self.s.frozen.update([ref, *(loop_objects.options(start) or [])])
        return ref

    def array(self, start: Abstract, shape: Any, name: str) -> Abstract:
        _, extent, kind, frozen = shape
        store = StoreRef(kind)
        items = _elements(self.s, self.entry, start, self.node)
        self.owned[store] = tuple(self.s.mark_numpy(self.parameter(item, kind, name)) for item in items)
        if frozen:
            self.s.frozen.update([store, *(loop_objects.stores(start) or [])])
        return Array(store, np.arange(len(items)).reshape(extent))

    def one_of(self, start: Abstract, values: Sequence[Abstract], name: str) -> Abstract:
        params = [Param(BOOL, name) for _ in values[:-1]]
        self.pairs += [(param, _is_known(self.s, start, value)) for param, value in zip(params, values, strict=False)]
        chosen = values[-1]
        for param, value in zip(reversed(params), reversed(values[:-1]), strict=True):
            chosen = Choice(param, value, chosen)
        return chosen

    def complex_parameter(self, start: Abstract, number: Any, name: str) -> Abstract:
        """Two floats; where it may also be a number of the shape `number`: which of the two it is, and that number."""
        tag = Param(BOOL, "")
        if number is not None:
            self.pairs.append((tag, complex_numbers.where_complex(self.s, start)))
        parts = complex_numbers.complex_part(self.s, start)
        params = Param(FLOAT, f"{name}_real"), Param(FLOAT, f"{name}_imag")
        self.pairs += zip(params, (lane(parts.real), lane(parts.imag)), strict=True)
        if number is None:
            return Complex(*params)
        rest = complex_numbers.number_part(start)
        return Choice(tag, Complex(*params), self.parameter(_zero(number) if rest is None else rest, number, name))


MAX_KNOWN = 8
"""The most objects among which a variable of a loop that stays one may change."""

MIXED = ("mixed",)
"""The shape of a variable that is an int in some iterations and a float in others: both, and which."""


def _mixed_parameter(s: Specialiser, start: Abstract, name: str, pairs: list[tuple[Param, Value]]) -> Abstract:
    params = [Param(BOOL, ""), Param(INT, name), Param(FLOAT, name)]
    pairs += zip(params, _mixed_parts(s, start), strict=True)
    return Choice(params[0], params[1], params[2])


def _mixed_parts(s: Specialiser, value: Abstract) -> tuple[Value, Value, Value]:
    """(is an int, the int, the float); the part that does not hold is zero."""
    if isinstance(value, Choice):
        ways = zip(_mixed_parts(s, value.then), _mixed_parts(s, value.orelse), strict=True)
        is_int, whole, real = (s.build.op("select", value.cond, a, b) for a, b in ways)
        return is_int, whole, real
    if numeric_kind(value) is FLOAT:
        return const(False), const(0), lane(value)
    return const(True), scalars.to_kind(s, lane(value), INT), const(0.0)


def _zero(shape: Any) -> Abstract:
    if isinstance(shape, Kind):
        return Static({"b": False, "i8": 0, "f8": 0.0}[shape.value])
    if shape[0] == "maybe":
        return _zero(shape[1])
    if shape == MIXED:
        return Static(0)
    if shape[0] == "complex":
        return Static(0j)
    return Seq(shape[1], tuple(_zero(x) for x in shape[2]))


def _has_objects(shape: Any) -> bool:
    """Lists, objects and arrays, and tuples of them, cannot be made of zeros."""
    if not isinstance(shape, tuple):
        return False
    return shape[0] in ("ref", "array") or shape[0] == "seq" and any(map(_has_objects, shape[2]))


class Shapes:
    """What the parameter of one place has to hold."""

    def __init__(self, s: Specialiser, name: str, node: Any):
        self.s, self.name, self.node = s, name, node
        self.open: set[Any] = set()
        """The objects whose items are being looked at."""

    def carried(self, known: Any, old: Abstract, start: State, value: Abstract, state: State, local: bool) -> Any:
        """The shape for `old` before an iteration and `value` after it; a local that has none is lost."""
        try:
            return self.joined(known, old, start, value, state)
        except FlattenError as error:
            if not local:
                raise
            return ("lost", error)

    def joined(self, known: Any, old: Abstract, start: State, value: Abstract, state: State) -> Any:
        if known is None or isinstance(known, tuple) and known[0] == "known":
            objects = _known_union([] if known is None else list(known[1]), old, value)
            if objects is not None and len(objects) <= MAX_KNOWN:
                return known if known is not None and len(objects) == len(known[1]) else ("known", tuple(objects))
        after, other = _without(value)
        before, missing = _without(old)
        if known is None and missing is None and before is not None and _is_other(before):
            before, missing = None, before
        if isinstance(known, tuple) and known[0] == "maybe":
            missing = known[2]
        if other is not None and (missing is None or not _alike(other, missing)):
            raise self.s.refuse("flatten/mixed-join", f"{self.name!r} becomes {describe(other)} in a loop that "
                                "cannot be unrolled", self.node)
        if missing is None:
            assert before is not None and after is not None
            first = known if known is not None else self.of(before, start)
            return self.join(first, self.of(after, state))
        inner = known[1] if isinstance(known, tuple) else None if before is None else self.of(before, start)
        if after is not None:
            inner = self.join(inner, self.of(after, state))
        if _has_objects(inner):
            raise self.s.refuse("flatten/mixed-join", f"{self.name!r} has no list, object or array before a loop "
                                "that cannot be unrolled, and one after an iteration", self.node,
                                help="give it one before it")
        return ("maybe", inner, missing)

    def of(self, value: Abstract, state: State) -> Any:
        kind = numeric_kind(value)
        if kind is not None:
            return kind
        if complex_parts(value) is not None:
            return ("complex", None)
        if isinstance(value, Choice) and complex_numbers.is_number(value):
            return self.join(self.of(value.then, state), self.of(value.orelse, state))
        if isinstance(value, Seq) or isinstance(value, Static) and isinstance(value.value, tuple):
            parts = self.s.space.sequence_items(value, self.node) or ()
            cls = value.cls if isinstance(value, Seq) else tuple
            return ("seq", cls, tuple(self.of(item, state) for item in parts))
        stores = loop_objects.stores(value)
        if stores is not None and (kind := arrays.kind_of(value)) is not None:
            if not arrays.is_plain(value):
                raise self.s.refuse("flatten/mixed-join", f"{self.name!r} becomes a transposed or strided view in a "
                                    "loop that cannot be unrolled", self.node, help="make it a copy")
            return ("array", arrays.shape_of(value), kind, self.shared(state, stores))
        refs = loop_objects.options(value)
        layouts = {sharing.layout(state, ref) for ref in refs or ()}
        if refs is not None and len(layouts) == 1 and (layout := layouts.pop()) is not None:
            if self.open & set(refs):
                raise self.s.refuse("flatten/mixed-join", f"{self.name!r} becomes an object that leads back to "
                                    "itself in a loop that cannot be unrolled", self.node)
            self.open |= set(refs)
            items = loop_objects.items(self.s, state, refs[0])
            shapes = tuple(self.of(item, state) for item in items)
            for ref in refs[1:]:
                others = (self.of(item, state) for item in loop_objects.items(self.s, state, ref))
                shapes = tuple(map(self.join, shapes, others))
            self.open -= set(refs)
            frozen = self.shared(state, refs)
            return ("ref", layout[0], shapes, layout[1], frozen)
        raise self.s.refuse("flatten/mixed-join", f"{self.name!r} changes between {describe(value)} and something "
                            "else in a loop that cannot be unrolled", self.node)

    def shared(self, state: State, refs: Sequence[Ref]) -> bool:
        """Another name means one of them: what the loop copies and what it copies from may not be written any more."""
        found = any(loop_objects.is_shared(self.s, state, ref) for ref in refs)
        if found:
            self.s.frozen.update(refs)
        return found

    def join(self, a: Any, b: Any) -> Any:
        if a is None or a == b:
            return b
        if isinstance(a, tuple) and isinstance(b, tuple) and a[0] == b[0] == "array" and a[1:3] == b[1:3]:
            return (*a[:3], a[3] or b[3])
        if isinstance(a, tuple) and isinstance(b, tuple) and a[0] == b[0] == "array":
            raise self.s.refuse("flatten/mixed-join", f"the array {self.name!r} changes its shape or dtype in a loop "
                                "that cannot be unrolled", self.node, help="write np.zeros(3) or 0.0 for floats")
        if _complex_shape(a) or _complex_shape(b):
            known = [x[1] if _complex_shape(x) else x for x in (a, b) if x != ("complex", None)]
            if all(isinstance(x, Kind) or x == MIXED for x in known):
                return ("complex", self.join(known[0], known[-1]) if known else None)
        if {BOOL, INT} == {a, b}:
            raise self.s.refuse("flatten/mixed-join", f"{self.name!r} is a bool in some iterations and an int in "
                                "others", self.node, help="make it int(...) everywhere")
        numbers = [x for x in (a, b) if isinstance(x, Kind) or x == MIXED]
        if len(numbers) == 2:
            return join_kinds(a, b) if FLOAT not in numbers and MIXED not in numbers else MIXED
        if isinstance(a, tuple) and isinstance(b, tuple) and a[:2] == b[:2] and len(a[2]) == len(b[2]) \
                and a[3:4] == b[3:4]:
            return (a[0], a[1], tuple(map(self.join, a[2], b[2])), *a[3:4], *((a[4] or b[4],) if len(a) > 4 else ()))
        raise self.s.refuse("flatten/mixed-join", f"{self.name!r} changes its shape in a loop that cannot be unrolled",
                            self.node)


def _without(value: Abstract) -> tuple[Abstract | None, Abstract | None]:
    """A value apart from the alternative that is no number: (number, other), None where there is none."""
    if _is_other(value):
        return None, value
    if not isinstance(value, Choice):
        return value, None
    (then, other), (orelse, second) = _without(value.then), _without(value.orelse)
    if other is not None and second is not None and not _alike(other, second):
        return value, None
    number = Choice(value.cond, then, orelse) if then is not None and orelse is not None else then or orelse
    return number, other or second


def _has_number(s: Specialiser, value: Abstract) -> Value:
    """The lanes in which `_without` finds a number."""
    if isinstance(value, Choice):
        then, orelse = _has_number(s, value.then), _has_number(s, value.orelse)
        return s.build.op("select", value.cond, then, orelse)
    return const(not _is_other(value))


def _is_other(value: Abstract) -> bool:
    return value is UNBOUND or isinstance(value, Static) and numeric_kind(value) is None \
        and not isinstance(value.value, tuple | complex | np.ndarray)


def _elements(s: Specialiser, state: State, value: Abstract, node: Any) -> list[Abstract]:
    """The elements of an array as they are in a state."""
    current, s.state = s.state, state
    try:
        return list(arrays.grid(s, value, node).flat)
    finally:
        s.state = current


def _known_union(found: list[Abstract], *values: Abstract) -> list[Abstract] | None:
    """`found` and the objects among which `values` choose, each once; None where there are numbers or own objects."""
    for value in values:
        if isinstance(value, Choice):
            inner = _known_union(found, value.then, value.orelse)
            if inner is None:
                return None
            found = inner
        elif not _is_other(value):
            return None
        elif not any(_alike(value, each) for each in found):
            found = [*found, value]
    return found


def _is_known(s: Specialiser, value: Abstract, wanted: Abstract) -> Value:
    """The lanes in which `value` is the object `wanted`."""
    if isinstance(value, Choice):
        return s.build.op("select", value.cond, _is_known(s, value.then, wanted), _is_known(s, value.orelse, wanted))
    return const(_alike(value, wanted))


def _alike(a: Abstract, b: Abstract) -> bool:
    return a is b or same_static(a, b)


def _complex_shape(shape: Any) -> bool:
    return isinstance(shape, tuple) and shape[0] == "complex"


class BackEdge:
    """What one way to the next iteration carries; conversions go to the end of the way's block."""

    def __init__(self, s: Specialiser, way: Way, owned: Owned):
        self.s, self.way, self.owned = s, way, owned
        self.operands: list[Value] = []

    def carry(self, param: Abstract, value: Abstract) -> None:
        match param:
            case Choice() if _known_union([], param) is not None:
                self.carry_known(param, value)
            case Param():
                self.operands.append(_in_block(self.s, self.way.block, lambda: _as_kind(self.s, value, param.kind)))
            case Seq():
                parts = self.s.space.sequence_items(value) or ()
                for inner, part in zip(param.items, parts, strict=True):
                    self.carry(inner, part)
            case ListRef() | DictRef() | ObjRef():
                self.carry_object(param, value)
            case Array():
                with self.s.build.detached() as items:
                    elements = _elements(self.s, self.way.state, value, None)
                _add_to_block(self.way.block, items)
                for slot, item in zip(self.owned[param.store], elements, strict=True):
                    self.carry(slot, item)
            case Complex() | Choice(then=Complex()):
                self.carry_complex(param, value)
            case Choice() if isinstance(param.orelse, Param) and isinstance(param.then, Param):
                with self.s.build.detached() as items:
                    self.operands += _mixed_parts(self.s, value)
                _add_to_block(self.way.block, items)
            case Choice():
                number, _ = _without(value)
                self.operands.append(_in_block(self.s, self.way.block, lambda: _has_number(self.s, value)))
                self.carry(param.then, param.then if number is None else number)

    def carry_known(self, param: Abstract, value: Abstract) -> None:
        while isinstance(param, Choice):
            wanted, param = param.then, param.orelse
            self.operands.append(_in_block(self.s, self.way.block, functools.partial(_is_known, self.s, value, wanted)))

    def carry_object(self, param: Ref, value: Abstract) -> None:
        own = self.owned[param]
        with self.s.build.detached() as built:
            items = loop_objects.items(self.s, self.way.state, value)
        _add_to_block(self.way.block, built)
        for slot, item in zip(own, items, strict=True):
            self.carry(slot if isinstance(param, ListRef) else slot[1], item)

    def carry_complex(self, param: Complex | Choice, value: Abstract) -> None:
        with self.s.build.detached() as items:
            if isinstance(param, Choice):
                self.operands.append(complex_numbers.where_complex(self.s, value))
            parts = complex_numbers.complex_part(self.s, value)
            self.operands += [lane(parts.real), lane(parts.imag)]
        _add_to_block(self.way.block, items)
        if isinstance(param, Choice):
            number = complex_numbers.number_part(value)
            self.carry(param.orelse, param.orelse if number is None else number)


def _as_kind(s: Specialiser, value: Abstract, kind: Kind) -> Value:
    if isinstance(value, Choice):
        return scalars.to_kind(s, scalars.number_choice_as_float(s, value), kind)
    return scalars.to_kind(s, lane(value), kind)


def _in_block(s: Specialiser, block: Block, make: Callable[[], Value]) -> Value:
    """Build operations at the end of a block whose list is already closed."""
    with s.build.detached() as items:
        value = make()
    _add_to_block(block, items)
    return value


def _add_to_block(block: Block, items: list[Any]) -> None:
    for item in items:
        assert isinstance(item, Block)
        block.ops.extend(item.ops)
