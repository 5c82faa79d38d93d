"""Products of NumPy arrays: `@`, np.dot, np.vdot, np.inner, np.linalg.norm.

Ints are added in order. Floats go through the machine's BLAS, whose order of additions and use of fused multiply-adds
no IEEE rule fixes.
"""

from __future__ import annotations

import libcst as cst

from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.specialise import arrays
from pyflat.specialise import numbers as num
from pyflat.specialise.arrays import Grid
from pyflat.specialise.frames import Specialiser
from pyflat.specialise.merge import lane
from pyflat.specialise.values import Abstract, Choice, numeric_kind


def matmul(s: Specialiser, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    """`a @ b` of arrays of one or two axes."""
    for value in (a, b):
        if isinstance(value, Choice) and not arrays.is_array(value):
            return s.split(value, lambda v, old=value: matmul(  # type: ignore[misc]
                s, v if a is old else a, v if b is old else b, node))
    left, right = (arrays.grid(s, v, node) for v in (a, b))
    if 0 in (left.ndim, right.ndim):
        raise s.raised(ValueError, node)
    if left.ndim > 2 or right.ndim > 2:
        raise s.refuse("flatten/not-yet", "a product of arrays of more than two axes", node)
    if left.shape[-1] != right.shape[0]:
        raise s.raised(ValueError, node)
    rows = left if left.ndim == 2 else left[None, :]
    columns = right if right.ndim == 2 else right[:, None]
    cells = [dot(s, row, column, node) for row in rows for column in columns.T]
    shape = left.shape[:-1] + right.shape[1:]
    made = arrays.filled(shape, cells)
    if not shape:
        found: Abstract = made[()]
        return found
    return arrays.new(s, made, node)


def dot(s: Specialiser, a: Grid, b: Grid, node: cst.CSTNode) -> Abstract:
    """The inner product of two rows of numbers."""
    kinds = {numeric_kind(v) for v in [*a, *b]}
    if FLOAT in kinds or kinds == {BOOL}:
        raise s.refuse("flatten/unsupported-expression", "a dot product of floats depends on the BLAS library", node,
                       help="write sum(x * y for x, y in zip(a, b)), or (a * b).sum()")
    total: Abstract | None = None
    for x, y in zip(a, b, strict=True):
        product = num.binary(s, "mul", *(num.to_kind(s, lane(v), INT) for v in (x, y)))
        total = product if total is None else num.binary(s, "add", total, product)
    return s.mark_numpy(total) if total is not None else num.static(0)
