"""The parameters of a loop that stays one: how they are made, and what a back edge gives them.

What each has to hold is its shape (`loop_shapes`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pyflat.frontend.space import complex_numbers, growing, scalars, unsigned
from pyflat.frontend.state import aliasing, templates
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import alternatives, lane, numeric_kind
from pyflat.frontend.state.values import (
    Abstract,
    Array,
    Complex,
    Contents,
    DictRef,
    GrownText,
    GuardedUnion,
    IncomingEdge,
    ListRef,
    ObjRef,
    Ref,
    Seq,
    State,
    StoreRef,
    Unavailable,
    Unsigned,
)
from pyflat.frontend.state.widths import OF_KIND
from pyflat.frontend.syntax import loop_shapes
from pyflat.frontend.syntax.loop_shapes import (
    ArrayShape,
    ComplexShape,
    Later,
    NoShape,
    Number,
    ObjectShape,
    OneOf,
    OneOfKinds,
    Shape,
    TextShape,
    TupleShape,
    UnsignedShape,
    zero,
)
from pyflat.ir.build import const
from pyflat.ir.nodes import FALSE, TRUE, Block, Param, Value
from pyflat.ir.types import BOOL, FLOAT, INT, Kind

Owned = dict[Ref, Contents]
"""The objects that stand for what a name means in an iteration (`loop_shapes`), with parameters for contents."""


class Maker:
    """Makes the parameters of a loop: `pairs` of a parameter and its value before the loop, and `owned` objects."""

    def __init__(self, s: Evaluator, entry: State, pairs: list[tuple[Param, Value]], owned: Owned, node: Any):
        self.s, self.entry, self.pairs, self.owned, self.node = s, entry, pairs, owned, node

    def parameter(self, start: Abstract, shape: Shape, name: str) -> Abstract:
        match shape:
            case Kind():
                param = Param(shape, name)
                self.pairs.append((param, _as_kind(self.s, start, shape)))
                return param
            case Number():
                found = self.parameter(start, shape.kind, name)
                assert isinstance(found, Param) and self.s.widths is not None
                return self.s.widths.mark(found, shape.width)
            case OneOfKinds():
                return _mixed_parameter(self.s, start, name, self.pairs, shape)
            case UnsignedShape():
                bits = Param(INT, name)
                self.pairs.append((bits, unsigned.carried(self.s, start, known=shape.exact)))
                if self.s.widths is not None:
                    self.s.widths.mark(bits, shape.width)
                return Unsigned(bits, FALSE if shape.exact else TRUE)
            case ComplexShape():
                return self.complex_parameter(start, shape.number, name)
            case TupleShape():
                items = self.s.space.sequence_items(start, self.node) or ()
                return Seq(shape.cls, self.parameters(items, shape.items, name))
            case ObjectShape():
                return self.object(start, shape, name)
            case ArrayShape():
                return self.array(start, shape, name)
            case OneOf():
                return self.one_of(start, shape.values, name)
            case TextShape():
                text = templates.grown(shape.table, start, shape.places, self.s.build.op)
                cells = self.parameter(templates.padded_cells(text, shape.table), shape.cells(), name)
                assert isinstance(cells, Seq)
                return GrownText(shape.table, cells)
            case NoShape():
                return Unavailable(shape.error)
            case Later():
                bound = Param(BOOL, "")
                self.pairs.append((bound, loop_shapes.has_number(self.s, start)))
                number, _ = loop_shapes.number_and_other(start)
                inner = self.parameter(zero(shape.inner) if number is None else number, shape.inner, name)
                return GuardedUnion(bound, inner, shape.other)

    def parameters(self, items: Sequence[Abstract], shapes: Sequence[Shape], name: str) -> tuple[Abstract, ...]:
        return tuple(self.parameter(item, shape, name) for item, shape in zip(items, shapes, strict=True))

    def object(self, start: Abstract, shape: ObjectShape, name: str) -> Abstract:
        ref = aliasing.empty_like(shape.cls)
        held = loop_shapes.in_places(loop_shapes.items_of(self.s, self.entry, start), shape)
        items = self.parameters(held, shape.items, name)
        self.owned[ref] = items if shape.keys is None else tuple(zip(shape.keys, items, strict=True))
        if shape.frozen:
            self.s.frozen.update([ref, *(loop_shapes.options(start) or [])])
        return ref

    def array(self, start: Abstract, shape: ArrayShape, name: str) -> Abstract:
        store = StoreRef(shape.kind)
        items = loop_shapes.elements(self.s, self.entry, start, self.node)
        self.owned[store] = tuple(self.element(item, shape.kind, name) for item in items)
        if shape.frozen:
            self.s.frozen.update([store, *(loop_shapes.stores(start) or [])])
        return Array(store, np.arange(len(items)).reshape(shape.extent))

    def element(self, start: Abstract, kind: Kind, name: str) -> Abstract:
        """A number of NumPy's. In a kernel its dtype is noted; an operation would stand before the loop."""
        made = self.parameter(start, kind, name)
        if self.s.widths is None:
            return self.s.mark_numpy(made)
        assert isinstance(made, Param)
        return self.s.widths.mark(made, frozenset({OF_KIND[kind]}))

    def one_of(self, start: Abstract, values: Sequence[Abstract], name: str) -> Abstract:
        params = [Param(BOOL, name) for _ in values[:-1]]
        tests = [loop_shapes.is_the_constant(self.s, start, value) for value in values[:-1]]
        self.pairs += zip(params, tests, strict=True)
        chosen = values[-1]
        for param, value in zip(reversed(params), reversed(values[:-1]), strict=True):
            chosen = GuardedUnion(param, value, chosen)
        return chosen

    def complex_parameter(self, start: Abstract, number: Kind | OneOfKinds | None, name: str) -> Abstract:
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
        return GuardedUnion(tag, Complex(*params), self.parameter(zero(number) if rest is None else rest, number, name))


def _mixed_parameter(s: Evaluator, start: Abstract, name: str, pairs: list[tuple[Param, Value]], shape: OneOfKinds
                     ) -> Abstract:
    tags, numbers = [Param(BOOL, "") for _ in shape.kinds[1:]], [Param(kind, name) for kind in shape.kinds]
    if s.widths is not None:
        for number in numbers:
            s.widths.mark(number, shape.real if number.kind is FLOAT else shape.whole)
    pairs += zip([*tags, *numbers], _mixed_parts(s, start, shape.kinds), strict=True)
    chosen: Abstract = numbers[-1]
    for tag, number in zip(reversed(tags), reversed(numbers[:-1]), strict=True):
        chosen = GuardedUnion(tag, number, chosen)
    return chosen


def _mixed_parts(s: Evaluator, value: Abstract, kinds: Sequence[Kind]) -> list[Value]:
    """Whether it is of each kind but the last, and a number of each kind; those of others are zero."""
    if isinstance(value, GuardedUnion):
        edges = zip(_mixed_parts(s, value.then, kinds), _mixed_parts(s, value.orelse, kinds), strict=True)
        return [s.build.op("select", value.cond, a, b) for a, b in edges]
    own = numeric_kind(value)
    numbers = [scalars.to_kind(s, lane(value), kind) if kind is own else lane(zero(kind)) for kind in kinds]
    return [*[const(kind is own) for kind in kinds[:-1]], *numbers]


class BackEdge:
    """What one edge to the next iteration carries; conversions go to the end of the edge's block."""

    def __init__(self, s: Evaluator, edge: IncomingEdge, owned: Owned):
        self.s, self.edge, self.owned = s, edge, owned
        self.operands: list[Value] = []

    def carry(self, param: Abstract, value: Abstract) -> None:
        match param:
            case GuardedUnion() if loop_shapes.constants_among([], param) is not None:
                self.carry_known(param, value)
            case Param():
                self.operands.append(_in_block(self.s, self.edge.block, lambda: _as_kind(self.s, value, param.kind)))
            case Unsigned():
                exact = param.outside is FALSE
                self.operands.append(_in_block(self.s, self.edge.block,
                                               lambda: unsigned.carried(self.s, value, known=exact)))
            case Seq():
                parts = self.s.space.sequence_items(value) or ()
                for inner, part in zip(param.items, parts, strict=True):
                    self.carry(inner, part)
            case GrownText():
                with self.s.build.detached() as items:
                    most = len(param.cells.items) - 1
                    text = templates.grown(param.table, value, most, self.s.build.op)
                _add_to_block(self.edge.block, items)
                self.carry(param.cells, templates.padded_cells(text, param.table))
            case ListRef() | DictRef() | ObjRef():
                self.carry_object(param, value)
            case Array():
                with self.s.build.detached() as items:
                    elements = loop_shapes.elements(self.s, self.edge.state, value, None)
                _add_to_block(self.edge.block, items)
                for slot, item in zip(self.owned[param.store], elements, strict=True):
                    self.carry(slot, item)
            case Complex() | GuardedUnion(then=Complex()):
                self.carry_complex(param, value)
            case GuardedUnion() if all(isinstance(number, Param) for number in alternatives(param)):
                kinds = [lane(number).kind for number in alternatives(param)]
                with self.s.build.detached() as items:
                    self.operands += _mixed_parts(self.s, value, kinds)
                _add_to_block(self.edge.block, items)
            case GuardedUnion():
                number, _ = loop_shapes.number_and_other(value)
                self.operands.append(_in_block(self.s, self.edge.block, lambda: loop_shapes.has_number(self.s, value)))
                self.carry(param.then, param.then if number is None else number)

    def carry_known(self, param: Abstract, value: Abstract) -> None:
        while isinstance(param, GuardedUnion):
            wanted, param = param.then, param.orelse
            is_it = functools.partial(loop_shapes.is_the_constant, self.s, value, wanted)
            self.operands.append(_in_block(self.s, self.edge.block, is_it))

    def carry_object(self, param: Ref, value: Abstract) -> None:
        own = self.owned[param]
        with self.s.build.detached() as built:
            items = growing.padded(loop_shapes.items_of(self.s, self.edge.state, value), own)
        _add_to_block(self.edge.block, built)
        for slot, item in zip(own, items, strict=True):
            self.carry(slot if isinstance(param, ListRef) else slot[1], item)

    def carry_complex(self, param: Complex | GuardedUnion, value: Abstract) -> None:
        with self.s.build.detached() as items:
            if isinstance(param, GuardedUnion):
                self.operands.append(complex_numbers.where_complex(self.s, value))
            parts = complex_numbers.complex_part(self.s, value)
            self.operands += [lane(parts.real), lane(parts.imag)]
        _add_to_block(self.edge.block, items)
        if isinstance(param, GuardedUnion):
            number = complex_numbers.number_part(value)
            self.carry(param.orelse, param.orelse if number is None else number)


def _as_kind(s: Evaluator, value: Abstract, kind: Kind) -> Value:
    if isinstance(value, GuardedUnion):
        return scalars.to_kind(s, scalars.number_union_as_float(s, value), kind)
    return scalars.to_kind(s, lane(value), kind)


def _in_block(s: Evaluator, block: Block, make: Callable[[], Value]) -> Value:
    """Build operations at the end of a block whose list is already closed."""
    with s.build.detached() as items:
        value = make()
    _add_to_block(block, items)
    return value


def _add_to_block(block: Block, items: list[Any]) -> None:
    for item in items:
        assert isinstance(item, Block)
        block.ops.extend(item.ops)
