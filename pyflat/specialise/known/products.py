"""NumPy's products by their names: np.dot, np.matmul, np.outer, np.cross, np.linalg.norm, ..."""

from __future__ import annotations

import libcst as cst
import numpy as np

from pyflat.specialise import arrays
from pyflat.specialise import numbers as num
from pyflat.specialise.frames import Specialiser
from pyflat.specialise.known import reductions
from pyflat.specialise.known.support import Given
from pyflat.specialise.products import dot, matmul
from pyflat.specialise.values import Abstract


def _operands(s: Specialiser, given: Given, node: cst.CSTNode) -> tuple[Abstract, Abstract]:
    return arrays.array(s, given.value("a"), node), arrays.array(s, given.value("b"), node)


def np_matmul(s: Specialiser, given: Given, node: cst.CSTNode) -> Abstract:
    return matmul(s, *_operands(s, given, node), node)


def np_dot(s: Specialiser, given: Given, node: cst.CSTNode) -> Abstract:
    """np.dot: a product with a number, otherwise a matrix product."""
    a, b = _operands(s, given, node)
    if arrays.shape_of(a) and arrays.shape_of(b):
        return matmul(s, a, b, node)
    return s.mark_numpy(arrays.apply(s, lambda x, y: num.binary(s, "mul", x, y), [a, b], node))


def vdot(s: Specialiser, given: Given, node: cst.CSTNode) -> Abstract:
    left, right = (arrays.grid(s, v, node).ravel() for v in _operands(s, given, node))
    if left.shape != right.shape:
        raise s.raised(ValueError, node)
    return dot(s, left, right, node)


def inner(s: Specialiser, given: Given, node: cst.CSTNode) -> Abstract:
    a, b = _operands(s, given, node)
    if len(arrays.shape_of(a)) == 1 and len(arrays.shape_of(b)) == 1:
        return matmul(s, a, b, node)
    if arrays.shape_of(a) and arrays.shape_of(b):
        raise s.refuse("flatten/not-yet", "np.inner of arrays of several axes", node, help="write a @ b.T")
    return np_dot(s, given, node)


def outer(s: Specialiser, given: Given, node: cst.CSTNode) -> Abstract:
    left, right = (arrays.grid(s, v, node).ravel() for v in _operands(s, given, node))
    cells = [num.binary(s, "mul", x, y) for x in left for y in right]
    return arrays.new(s, arrays.filled((left.size, right.size), cells), node)


def cross(s: Specialiser, given: Given, node: cst.CSTNode) -> Abstract:
    """Of two vectors of three."""
    a, b = (arrays.grid(s, v, node) for v in _operands(s, given, node))
    if a.shape != (3,) or b.shape != (3,):
        raise s.refuse("flatten/not-yet", "np.cross of anything else than two vectors of three", node)

    def difference(i: int, j: int) -> Abstract:
        return num.binary(s, "sub", num.binary(s, "mul", a[i], b[j]), num.binary(s, "mul", a[j], b[i]))

    return arrays.new(s, arrays.filled((3,), [difference(1, 2), difference(2, 0), difference(0, 1)]), node)


def norm(s: Specialiser, given: Given, node: cst.CSTNode) -> Abstract:
    """np.linalg.norm: the square root of a dot product; with ord= 1 or inf a sum or an extreme of absolute values."""
    found = arrays.as_grid(s, given.value("x"), node)
    order, axis = given.static("ord", None), given.static("axis", None)
    row = [num.as_float(s, v) for v in found.flat]
    if found.ndim > 1 and (axis is not None or order not in (None, "fro", "f")):
        raise s.refuse("flatten/not-yet", "np.linalg.norm over an axis of an array", node,
                       help="take the norm of each row in a loop")
    if found.ndim == 1 and order in (1, np.inf, -np.inf):
        sizes: list[Abstract] = [s.build.op("abs", v) for v in row]
        reduce = reductions.total if order == 1 else reductions.extreme("ge" if order == np.inf else "le")
        return s.mark_numpy(reduce(s, sizes, node))
    if axis is not None or order not in (None, 2, "fro", "f"):
        raise s.refuse("flatten/not-yet", f"np.linalg.norm with ord={order!r} and axis={axis!r}", node,
                       help="use ord=None, 1, 2 or np.inf on a vector")
    whole = arrays.filled((len(row),), row)
    return s.build.op("np_sqrt", num.as_float(s, dot(s, whole, whole, node)))
