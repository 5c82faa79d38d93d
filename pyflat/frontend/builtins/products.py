"""NumPy's products by their names: np.dot, np.matmul, np.outer, np.cross, np.linalg.norm, ..."""

from __future__ import annotations

import libcst as cst
import numpy as np

from pyflat.frontend.builtins import reductions
from pyflat.frontend.builtins.support import Given
from pyflat.frontend.space import arrays, scalars
from pyflat.frontend.space import numbers as num
from pyflat.frontend.space.products import dot, matmul
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.merge import lane
from pyflat.frontend.state.values import Abstract, Grid


def _operands(s: Evaluator, given: Given, node: cst.CSTNode) -> tuple[Abstract, Abstract]:
    return arrays.array(s, given.value("a"), node), arrays.array(s, given.value("b"), node)


def np_matmul(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    return matmul(s, *_operands(s, given, node), node)


def np_dot(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    """np.dot: a product with a number, otherwise a matrix product."""
    a, b = _operands(s, given, node)
    if arrays.shape_of(a) and arrays.shape_of(b):
        return matmul(s, a, b, node, "dot")
    return s.mark_numpy(arrays.apply(s, lambda x, y: num.binary(s, "mul", x, y), [a, b], node))


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
    """Of two vectors of three."""
    a, b = (arrays.grid(s, v, node) for v in _operands(s, given, node))
    if a.shape != (3,) or b.shape != (3,):
        raise s.refuse("flatten/not-yet", "np.cross of anything else than two vectors of three", node)

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
                           help="take it of the .copy()")
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
    reduce = reductions.total if order == 1 else reductions.extreme("ge" if order == np.inf else "le")
    return s.mark_numpy(reduce(s, sizes, node))


def _squares(s: Evaluator, row: Grid, node: cst.CSTNode) -> Abstract:
    return reductions.total(s, [num.binary(s, "mul", v, v) for v in row], node)


def _root(s: Evaluator, value: Abstract) -> Abstract:
    return s.mark_numpy(s.build.op("np_sqrt", scalars.as_float(s, value)))
