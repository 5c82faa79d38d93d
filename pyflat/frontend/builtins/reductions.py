"""NumPy's reductions of small arrays and of sequences of numbers: sums in NumPy's order, so that they have its bits;
products (np.dot, np.outer, np.linalg.norm, ...) by their names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.builtins.support import Given
from pyflat.frontend.space import arrays, scalars
from pyflat.frontend.space import numbers as num
from pyflat.frontend.space.products import dot, matmul, scaled
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import lane, numeric_kind
from pyflat.frontend.state.values import Abstract, Array, Grid, GuardedUnion, Static
from pyflat.ir.build import const
from pyflat.ir.formats import F8
from pyflat.ir.nodes import Value
from pyflat.ir.types import BOOL, FLOAT, INT

_BLOCK = 128
"""NumPy's pairwise summation splits longer arrays; up to here it adds eight interleaved sums."""
_PAIRWISE_FROM = 8
_WIDEN = "convert them first: np.float64(x)"
Row = Sequence[Abstract]
Reduce = Callable[[Evaluator, Row, cst.CSTNode], Abstract]


def reduction(reduce: Reduce, *, ordered: bool = False, strict: bool = False) -> Any:
    """A handler for f(a, axis=None, keepdims=False); `ordered`: the order of the elements in memory matters; `strict`:
    a number has no axis 0 (ufuncs take it for one)."""

    def handler(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
        value = given.value("a")
        found = arrays.as_grid(s, value, node)
        arrays.require_wide(s, found, node, f"{given.title}()", _WIDEN)
        axis = given.static("axis", None)
        if axis is None or found.ndim < 2:
            if axis is not None:
                _check_axis(s, axis, found.ndim or int(not strict), node)
            row = _flat(s, value, found, node) if ordered else list(found.flat)
            return _kept(s, reduce(s, row, node), found, given, node)
        _check_axis(s, axis, found.ndim, node)
        if not isinstance(axis, int) or found.ndim > 2:
            raise s.refuse("flatten/not-yet", "a reduction over several axes", node, help="reduce one axis at a time")
        lines = found.T if axis in (0, -2) else found
        if ordered and lines.shape[1] >= _PAIRWISE_FROM and not (lines is found and arrays.is_plain(value)):
            raise s.refuse("flatten/not-yet", "a sum of eight or more numbers down the columns of an array", node,
                           why="the order of NumPy's additions depends on the memory layout of the array",
                           help="add the rows in a loop")
        cells = [reduce(s, list(line), node) for line in lines]
        shape = (len(cells),) if not given.static("keepdims", False) else (1, -1) if axis in (0, -2) else (-1, 1)
        return arrays.new(s, arrays.filled((len(cells),), cells).reshape(shape), node)

    return handler


def _kept(s: Evaluator, result: Abstract, found: Grid, given: Given, node: cst.CSTNode) -> Abstract:
    if not given.static("keepdims", False) or not found.ndim:
        return s.mark_numpy(result)
    return arrays.new(s, arrays.filled((1,) * found.ndim, [result]), node)


def _check_axis(s: Evaluator, axis: Any, ndim: int, node: cst.CSTNode) -> None:
    if isinstance(axis, int) and not -ndim <= axis < ndim:
        raise s.raised(np.exceptions.AxisError, node)


def _flat(s: Evaluator, value: Abstract, found: Grid, node: cst.CSTNode) -> Row:
    """The elements in the order in which NumPy adds them."""
    if found.ndim < 2 or found.size < _PAIRWISE_FROM and arrays.is_plain(value) or arrays.is_plain(value):
        return list(found.flat)
    whole = value.places if isinstance(value, Array) else value.value if isinstance(value, Static) else None
    if isinstance(whole, np.ndarray) and whole.flags.f_contiguous:
        return list(found.T.flat)
    raise s.refuse("flatten/not-yet", "a sum over a part of an array of several axes", node,
                   why="the order of NumPy's additions depends on the memory layout of the part",
                   help="sum a copy: m[:, :2].copy().sum()")


# --- sums and products
def total(s: Evaluator, items: Row, node: cst.CSTNode) -> Abstract:
    """np.sum in NumPy's order of additions."""
    if not items:
        return Static(np.float64(0.0))
    if not any(_is_float(v) for v in items):
        whole = [scalars.to_kind(s, lane(v), INT) if numeric_kind(v) is BOOL else v for v in items]
        return s.mark_numpy(chain(s, "add", whole))
    return s.mark_numpy(num.binary(s, "add", Static(0.0), pairwise(s, [scalars.as_float(s, v) for v in items])))


def _is_float(value: Abstract) -> bool:
    return numeric_kind(value) is FLOAT or isinstance(value, GuardedUnion)


def chain(s: Evaluator, opcode: str, items: Row) -> Abstract:
    result = items[0]
    for item in items[1:]:
        result = num.binary(s, opcode, result, item)
    return result


def pairwise(s: Evaluator, items: Row) -> Abstract:
    """The blocked pairwise summation of NumPy's `pairwise_sum` (numpy/core/src/umath/loops_utils)."""
    if len(items) < _PAIRWISE_FROM:
        return chain(s, "add", items)
    if len(items) > _BLOCK:
        half = len(items) // 2
        half -= half % 8
        return num.binary(s, "add", pairwise(s, items[:half]), pairwise(s, items[half:]))
    sums = list(items[:8])
    whole = len(items) - len(items) % 8
    for start in range(8, whole, 8):
        sums = [num.binary(s, "add", a, b) for a, b in zip(sums, items[start:start + 8], strict=True)]
    while len(sums) > 1:
        sums = [num.binary(s, "add", sums[i], sums[i + 1]) for i in range(0, len(sums), 2)]
    return chain(s, "add", [sums[0], *items[whole:]])


def mean(s: Evaluator, items: Row, node: cst.CSTNode) -> Abstract:
    if not items:
        return Static(np.float64("nan"))
    summed = total(s, [scalars.as_float(s, v) for v in items], node)
    return s.mark_numpy(num.binary(s, "truediv", summed, Static(float(len(items)))))


def variance(s: Evaluator, items: Row, node: cst.CSTNode, ddof: float = 0) -> Abstract:
    middle = mean(s, items, node)
    offsets = [num.binary(s, "sub", scalars.as_float(s, v), middle) for v in items]
    squares = [num.binary(s, "mul", v, v) for v in offsets]
    return s.mark_numpy(num.binary(s, "truediv", total(s, squares, node), Static(max(float(len(items) - ddof), 0.0))))


def var(*, root: bool) -> Any:
    def handler(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
        ddof = given.static("ddof", 0)

        def reduce(s: Evaluator, items: Row, node: cst.CSTNode) -> Abstract:
            found = variance(s, items, node, ddof)
            return s.build.op("np_sqrt", scalars.as_float(s, found)) if root else found

        found: Abstract = reduction(reduce, ordered=True, strict=True)(s, given, node)
        return found

    return handler


def product(s: Evaluator, items: Row, node: cst.CSTNode) -> Abstract:
    if not items:
        return Static(np.float64(1.0))
    floats = any(_is_float(v) for v in items)
    whole = [scalars.as_float(s, v) if floats else scalars.to_kind(s, lane(v), INT) for v in items]
    return s.mark_numpy(chain(s, "mul", [const(1.0) if floats else const(1), *whole]))


# --- extremes
def extreme(opcode: str, *, skip_nan: bool = False) -> Reduce:
    """np.max, np.min: nan wins (loses with `skip_nan`); which of 0.0 and -0.0 they give depends on the machine."""

    def reduce(s: Evaluator, items: Row, node: cst.CSTNode) -> Abstract:
        if not items:
            raise s.raised(ValueError, node)
        floats = any(_is_float(v) for v in items)
        row = [scalars.as_float(s, v) if floats else lane(v) for v in items]
        if len(row) > 1 and floats:
            _suspect_zeros(s, row, node)
        best = row[0]
        for item in row[1:]:
            best = better(s, opcode, best, item, skip_nan=skip_nan)
        return s.mark_numpy(best)

    return reduce


def better(s: Evaluator, opcode: str, a: Value, b: Value, *, skip_nan: bool = False) -> Value:
    build = s.build
    first = build.op(opcode, a, b)
    if a.kind is FLOAT:
        missing = b if skip_nan else a
        first = build.op("or", first, build.op("ne", missing, missing))
    return build.op("select", first, a, b)


def _suspect_zeros(s: Evaluator, row: Sequence[Value], node: cst.CSTNode) -> None:
    """Two zeros among the elements: where they are of both signs, only NumPy knows which one it gives (in float32 it is
    the first)."""
    if s.floats is not F8:
        return
    build = s.build
    seen: Value = build.op("eq", row[0], const(0.0))
    twice: Value = const(False)
    for item in row[1:]:
        zero = build.op("eq", item, const(0.0))
        twice, seen = build.op("or", twice, build.op("and", seen, zero)), build.op("or", seen, zero)
    heap.suspect_if(s, twice, "zeros of both signs", node)


def spread(s: Evaluator, items: Row, node: cst.CSTNode) -> Abstract:
    """np.ptp; the difference of the extremes does not depend on the sign of a zero, unless both are zeros."""
    return num.binary(s, "sub", extreme("ge")(s, items, node), extreme("le")(s, items, node))


def where_extreme(opcode: str) -> Reduce:
    """np.argmax, np.argmin: the first of the best; the first nan, where there is one."""

    def reduce(s: Evaluator, items: Row, node: cst.CSTNode) -> Abstract:
        if not items:
            raise s.raised(ValueError, node)
        floats = any(_is_float(v) for v in items)
        row = [scalars.as_float(s, v) if floats else lane(v) for v in items]
        best = row[0]
        at: Value = const(0)
        for position, item in enumerate(row[1:], 1):
            keep = s.build.op(opcode, best, item)
            if floats:
                keep = s.build.op("or", keep, s.build.op("ne", best, best))
            best = s.build.op("select", keep, best, item)
            at = s.build.op("select", keep, at, const(position))
        return s.mark_numpy(at)

    return reduce


def some(opcode: str) -> Reduce:
    """np.any, np.all."""

    def reduce(s: Evaluator, items: Row, node: cst.CSTNode) -> Abstract:
        found: Abstract = Static(np.bool_(opcode == "and"))
        for item in items:
            found = num.binary(s, opcode, found, s.space.truth(item))
        return s.mark_numpy(found)

    return reduce


def count_nonzero(s: Evaluator, items: Row, node: cst.CSTNode) -> Abstract:
    return total(s, [scalars.to_kind(s, lane(s.space.truth(v)), INT) for v in items], node)


def median(s: Evaluator, items: Row, node: cst.CSTNode) -> Abstract:
    """The mean of the middle one or two; nan where there is one. Zeros of both signs are left to NumPy."""
    if not items:
        return Static(np.float64("nan"))
    row = sort(s, [scalars.as_float(s, v) for v in items], node)
    half = len(row) // 2
    missing = chain(s, "or", [s.build.op("ne", v, v) for v in row])
    found = lane(mean(s, row[half:half + 1] if len(row) % 2 else row[half - 1:half + 1], node))
    return s.mark_numpy(s.build.op("select", lane(missing), const(float("nan")), found))


def sort(s: Evaluator, items: Sequence[Value], node: cst.CSTNode) -> list[Value]:
    """A network of compare-and-exchange for a few lanes, without nan; zeros of both signs are left to NumPy."""
    if len(items) > 16:
        raise s.refuse("flatten/too-large", f"sorting {len(items)} computed numbers", node)
    row = list(items)
    if row and row[0].kind is FLOAT and len(row) > 1:
        _suspect_zeros(s, row, node)
    for end in range(1, len(row)):
        for at in range(end, 0, -1):
            swap = s.build.op("lt", row[at], row[at - 1])
            low, high = row[at - 1], row[at]
            row[at - 1], row[at] = s.build.op("select", swap, high, low), s.build.op("select", swap, low, high)
    return row


# --- running totals
def running(opcode: str) -> Any:
    """np.cumsum, np.cumprod: one after the other."""

    def handler(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
        found = arrays.as_grid(s, given.value("a"), node)
        arrays.require_wide(s, found, node, f"{given.title}()", _WIDEN)
        if given.static("axis", None) not in (None, 0, -1) or found.ndim > 1:
            raise s.refuse("flatten/not-yet", "a running total over an axis of an array of several axes", node,
                           help="go over the rows in a loop")
        kind = arrays.joined_kind(s, [found], node)
        kind = INT if kind is BOOL else kind
        made: list[Abstract] = []
        for item in found.flat:
            number = arrays.element(s, item, kind, node)
            made.append(num.binary(s, opcode, made[-1], number) if made else number)
        return arrays.new(s, arrays.filled((len(made),), made), node, kind)

    return handler


# --- products
def _operands(s: Evaluator, given: Given, node: cst.CSTNode) -> tuple[Abstract, Abstract]:
    return arrays.array(s, given.value("a"), node), arrays.array(s, given.value("b"), node)


def np_matmul(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    return matmul(s, *_operands(s, given, node), node)


def np_dot(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    """np.dot: a product with a number, otherwise a matrix product."""
    a, b = _operands(s, given, node)
    if arrays.shape_of(a) and arrays.shape_of(b):
        return matmul(s, a, b, node, "dot")
    return s.mark_numpy(scaled(s, a, b, node))


def vdot(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    left, right = (arrays.grid(s, v, node).ravel() for v in _operands(s, given, node))
    if left.shape != right.shape:
        raise s.raised(ValueError, node)
    return dot(s, left, right, node)


def inner(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    a, b = _operands(s, given, node)
    if len(arrays.shape_of(a)) == 1 and len(arrays.shape_of(b)) == 1:
        return matmul(s, a, b, node, "dot")
    if arrays.shape_of(a) and arrays.shape_of(b):
        raise s.refuse("flatten/not-yet", "np.inner of arrays of several axes", node, help="write a @ b.T")
    return np_dot(s, given, node)


def outer(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    left, right = (arrays.grid(s, v, node).ravel() for v in _operands(s, given, node))
    cells = [num.binary(s, "mul", x, y) for x in left for y in right]
    return arrays.new(s, arrays.filled((left.size, right.size), cells), node)


def cross(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    """np.cross of two vectors of three."""
    a, b = (arrays.grid(s, v, node) for v in _operands(s, given, node))
    if a.shape != (3,) or b.shape != (3,):
        raise s.refuse("flatten/not-yet", "np.cross of anything but two vectors of length three", node)

    def difference(i: int, j: int) -> Abstract:
        return num.binary(s, "sub", num.binary(s, "mul", a[i], b[j]), num.binary(s, "mul", a[j], b[i]))

    return arrays.new(s, arrays.filled((3,), [difference(1, 2), difference(2, 0), difference(0, 1)]), node)


def norm(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    """np.linalg.norm of a vector: the root of a dot product, or with axis= of a sum; with ord= 1 or inf a sum or an
    extreme of absolute values. Of a matrix: the root of the sum of all squares."""
    value = arrays.array(s, given.value("x"), node)
    found = arrays.grid(s, value, node)
    order, axis = given.static("ord", None), given.static("axis", None)
    row = arrays.filled(found.shape, [scalars.as_float(s, v) for v in found.flat])
    if axis is None and order in (None, "fro", "f") or axis is None and order == 2 and found.ndim == 1:
        if found.ndim > 1 and not arrays.is_plain(value):
            raise s.refuse("flatten/not-yet", "np.linalg.norm of a part of an array", node,
                           help="pass its .copy()")
        return _root(s, dot(s, row.ravel(), row.ravel(), node))
    if found.ndim == 2 and axis in (0, 1, -1, -2) and order in (None, 2) and found.shape[axis] < 8:
        lines = row.T if axis in (0, -2) else row
        return arrays.new(s, arrays.filled((len(lines),), [_root(s, _squares(s, line, node)) for line in lines]), node)
    if found.ndim != 1 or axis not in (None, 0, -1) or order not in (None, 2, 1, np.inf, -np.inf):
        raise s.refuse("flatten/not-yet", f"np.linalg.norm with ord={order!r} and axis={axis!r}", node,
                       help="use ord=None, 1, 2 or np.inf on a vector")
    if order in (None, 2):
        return _root(s, _squares(s, row, node))
    sizes: list[Abstract] = [s.build.op("abs", lane(v)) for v in row]
    reduce = total if order == 1 else extreme("ge" if order == np.inf else "le")
    return s.mark_numpy(reduce(s, sizes, node))


def _squares(s: Evaluator, row: Grid, node: cst.CSTNode) -> Abstract:
    return total(s, [num.binary(s, "mul", v, v) for v in row], node)


def _root(s: Evaluator, value: Abstract) -> Abstract:
    return s.mark_numpy(s.build.op("np_sqrt", scalars.as_float(s, value)))
