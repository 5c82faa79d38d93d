"""Products of NumPy arrays: `@`, np.dot, np.vdot, np.inner, np.linalg.norm.

Ints are added in order. Floats go through the machine's BLAS, whose order of additions and use of fused multiply-adds
no rule fixes: `blas` finds out.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import libcst as cst
import numpy as np

from pyflat.errors import FlattenError
from pyflat.frontend.space import arrays, blas, scalars
from pyflat.frontend.space import numbers as num
from pyflat.frontend.space.blas import Chain, Strides
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import alternatives, lane
from pyflat.frontend.state.values import Abstract, Array, Grid, GuardedUnion, Static
from pyflat.ir.build import const
from pyflat.ir.formats import F8
from pyflat.ir.nodes import Value
from pyflat.ir.types import BOOL, FLOAT, INT


def matmul(s: Evaluator, a: Abstract, b: Abstract, node: cst.CSTNode, function: str = "matmul") -> Abstract:
    """`a @ b` or np.dot of arrays of one or two axes."""
    if (made := s.split_first((a, b), lambda x, y: matmul(s, x, y, node, function), arrays.is_array)) is not None:
        return made
    left, right = (arrays.grid(s, v, node) for v in (a, b))
    if 0 in (left.ndim, right.ndim):
        raise s.raised(ValueError, node)
    if left.ndim > 2 or right.ndim > 2:
        raise s.refuse("flatten/not-yet", "a product of arrays of more than two axes", node)
    if left.shape[-1] != right.shape[0]:
        raise s.raised(ValueError, node)
    kinds = {arrays.kind_of(a), arrays.kind_of(b)}
    if kinds == {BOOL}:
        raise s.refuse("flatten/unsupported-expression", "a matrix product of bools", node)
    shape = left.shape[:-1] + right.shape[1:]
    if FLOAT in kinds and s.floats is F8:
        made = _floats(s, a, b, node, function)
    else:
        made = _in_order(s, left, right, shape, _narrow_dot if FLOAT in kinds else _int_dot)
    if not shape:
        return s.mark_numpy(made[()])
    return arrays.new(s, made, node)


def scaled(s: Evaluator, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    """np.dot of an array and a number. Of floats BLAS adds the multiples to 0.0, and leaves 0.0 where the number is 0,
    also beside an infinity; only of one element, and of more than two axes, it is a plain product."""
    number, array = (a, b) if arrays.shape_of(b) else (b, a)
    shape = arrays.shape_of(array)
    if FLOAT not in {arrays.kind_of(a), arrays.kind_of(b)} or math.prod(shape) == 1 or len(shape) > 2:
        return arrays.apply(s, lambda x, y: num.binary(s, "mul", x, y), [a, b], node)

    def multiple(factor: Abstract, x: Abstract) -> Abstract:
        return _multiple(s, scalars.as_float(s, factor), scalars.as_float(s, x), node)

    return arrays.apply(s, multiple, [number, array], node)


def _multiple(s: Evaluator, factor: Value, x: Value, node: cst.CSTNode) -> Value:
    build, zero = s.build, const(0.0)
    product = build.op("mul", factor, x)
    some = build.op("and", build.op("ne", factor, zero), build.op("ne", x, zero))
    underflow = build.op("and", build.op("eq", product, zero), some)  # to 0.0 or -0.0, as BLAS fuses or not
    skipped = build.op("and", build.op("eq", factor, zero), build.op("ne", product, zero))
    heap.suspect_if(s, build.op("or", underflow, skipped), "a product with 0 that BLAS may skip", node)
    return build.op("add", product, zero)


def _in_order(s: Evaluator, left: Grid, right: Grid, shape: tuple[int, ...], dot: _Dot) -> Grid:
    rows = left if left.ndim == 2 else left[None, :]
    columns = right if right.ndim == 2 else right[:, None]
    return arrays.filled(shape, [dot(s, row, column) for row in rows for column in columns.T])


def _int_dot(s: Evaluator, a: Grid, b: Grid) -> Abstract:
    total: Abstract = Static(np.int64(0))
    for x, y in zip(a, b, strict=True):
        total = num.binary(s, "add", total, num.binary(s, "mul", *(scalars.to_kind(s, lane(v), INT) for v in (x, y))))
    return total


def _narrow_dot(s: Evaluator, a: Grid, b: Grid) -> Abstract:
    """In float32, where no bits of BLAS are promised: the products, added from left to right."""
    total: Value = const(0.0)
    for x, y in zip(a, b, strict=True):
        total = s.build.op("add", total, s.build.op("mul", scalars.as_float(s, x), scalars.as_float(s, y)))
    return total


_Dot = Callable[[Evaluator, Grid, Grid], Abstract]


def _floats(s: Evaluator, a: Abstract, b: Abstract, node: cst.CSTNode, function: str) -> Grid:
    layouts = [_layout(s, v, node) for v in (a, b)]
    shared = all(len(layout.shape) == 2 for layout in layouts) and _may_share(a, b)
    if shared and not (isinstance(a, Array) and isinstance(b, Array) and _memory(a) is _memory(b)):
        raise _unknown_order(s, node)
    apart = _apart(a, b) if shared else None
    s.guards.varies("the summation order of BLAS")
    orders = _orders(function, layouts, apart, [_other_layouts(s, v) for v in (a, b)])
    if orders is None:
        raise _unknown_order(s, node)
    left, right = (arrays.grid(s, v, node) for v in (a, b))
    made = np.empty(orders.shape, object)
    for cell in np.ndindex(orders.shape):
        split = blas.left_axes(layouts[0])
        row, column = left[cell[:split]], right[(slice(None), *cell[split:])]
        if function == "dot" and 1 in (left.size, right.size) and left.size != right.size:
            factor, x = (left.item(), column.item()) if left.size == 1 else (right.item(), row.item())
            made[cell] = s.mark_numpy(_multiple(s, scalars.as_float(s, factor), scalars.as_float(s, x), node))
            continue
        made[cell] = _chain(s, orders[cell], row, column, node)
    return made


def _orders(function: str, layouts: list[Strides], apart: int | None, others: list[list[Strides] | None]) -> Any:
    """The order of each cell; None where there is none, or where it depends on what is not known of the layouts."""
    found = blas.orders(function, layouts[0], layouts[1], apart)
    if found is None or others == [[], []]:
        return found
    if apart is not None or None in others:
        return None
    every = [[layout, *more] for layout, more in zip(layouts, others, strict=True) if more is not None]
    for left, right in itertools.product(*every):
        more = blas.orders(function, left, right)
        found = None if more is None else blas.agreed(found, more)
        if found is None:
            return None
    return found


def _other_layouts(s: Evaluator, value: Abstract) -> list[Strides] | None:
    """Other ways in which the array may lie in memory; None where they are not known."""
    if not isinstance(value, Array):
        return [] if all(not isinstance(v, Array) or v.store.in_order for v in alternatives(value)) else None
    if value.store.in_order:
        return []
    places = value.places
    whole = places.flags.c_contiguous and places.size == len(heap.contents(s, value.store))
    return [Strides(places.shape, (1, len(places)))] if whole and places.ndim == 2 else None


def _chain(s: Evaluator, chain: Chain, row: Grid, column: Grid, node: cst.CSTNode) -> Abstract:
    a, b = ([scalars.as_float(s, side[i]) for i in chain.order] for side in (row, column))
    build = s.build
    if not chain.fused:
        products = [build.op("mul", x, y) for x, y in zip(a, b, strict=True)]
        total = functools.reduce(lambda p, q: build.op("add", p, q), products)
        return s.mark_numpy(build.op("add", total, const(0.0)) if chain.plus_zero else total)
    result = build.op("np_dot", *a, *b)
    if not chain.plus_zero:  # a product that underflows may leave -0.0
        zero = const(0.0)
        terms = [build.op("and", build.op("ne", x, zero), build.op("ne", y, zero)) for x, y in zip(a, b, strict=True)]
        some = functools.reduce(lambda p, q: build.op("or", p, q), terms)
        heap.suspect_if(s, build.op("and", build.op("eq", result, zero), some), "a zero of either sign", node)
    return s.mark_numpy(result)


def _unknown_order(s: Evaluator, node: cst.CSTNode) -> FlattenError:
    return s.refuse("flatten/unsupported-expression", "a product of float arrays, which BLAS adds in its own order",
                    node, why="on this machine, for up to 15 terms, none of the orders that pyflat tries gives "
                    "NumPy's bits", help="write sum(x * y for x, y in zip(a, b)), or (a * b).sum(); instead of a "
                    "transposed array, or one computed from it, multiply its .copy()")


def _may_share(a: Abstract, b: Abstract) -> bool:
    """The operands may lie in the same memory."""
    stores = [{id(v.store) for v in alternatives(value) if isinstance(v, Array)} for value in (a, b)]
    known = [[v.value for v in alternatives(value) if isinstance(v, Static)] for value in (a, b)]
    return not stores[0].isdisjoint(stores[1]) or any(np.may_share_memory(x, y) for x in known[0] for y in known[1])


def _memory(value: Array) -> object:
    """What the places of an array are a view of."""
    places: Any = value.places
    while isinstance(places.base, np.ndarray):
        places = places.base
    return places


def _apart(a: Abstract, b: Abstract) -> int:
    """How many elements after the first one of `a` the first one of `b` lies, in the same memory."""
    assert isinstance(a, Array)
    assert isinstance(b, Array)
    return (b.places.ctypes.data - a.places.ctypes.data) // b.places.itemsize


def _layout(s: Evaluator, value: Abstract, node: cst.CSTNode) -> Strides:
    """How the array that BLAS gets lies in memory; ints are converted into an array of their own."""
    if arrays.kind_of(value) is not FLOAT:
        return blas.plain(arrays.shape_of(value))
    match value:
        case Array():
            return blas.layout_of(value.places)
        case Static():
            return blas.layout_of(value.value)
        case GuardedUnion():
            first, second = _layout(s, value.then, node), _layout(s, value.orelse, node)
            if first == second:
                return first
    raise s.refuse("flatten/mixed-join", "a product of an array with different memory layouts on different paths", node,
                   help="multiply a copy")


def dot(s: Evaluator, a: Grid, b: Grid, node: cst.CSTNode) -> Abstract:
    """The inner product (np.dot) of two vectors that lie in memory one number after the other."""
    kinds = {arrays.joined_kind(s, [side], node) for side in (a, b)}
    if FLOAT not in kinds:
        return s.mark_numpy(_int_dot(s, a, b))
    if s.floats is not F8:
        return s.mark_numpy(_narrow_dot(s, a, b))
    s.guards.varies("the summation order of BLAS")
    orders = blas.orders("dot", blas.plain(a.shape), blas.plain(b.shape))
    if orders is None:
        raise _unknown_order(s, node)
    return _chain(s, orders[()], a, b, node)
