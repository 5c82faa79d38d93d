"""Small NumPy arrays of lane values: one dimension, a known length, operated on element by element.

`Seq(np.ndarray, items)` is immutable. Arithmetic has NumPy's meaning: power is NumPy's own, sums are added in NumPy's
pairwise order, so that a sum has NumPy's bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst
import numpy as np

from pyflat.ir.build import const
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.specialise import containers
from pyflat.specialise import numbers as num
from pyflat.specialise.frames import Specialiser
from pyflat.specialise.merge import lane
from pyflat.specialise.values import Abstract, Seq, Static, numeric_kind

MAX_LENGTH = 256
_BLOCK = 128
"""NumPy's pairwise summation splits longer arrays; up to here it adds eight interleaved sums."""


def is_vector(value: Abstract) -> bool:
    """An array with lanes in it, or a captured array of one dimension."""
    if isinstance(value, Seq):
        return value.cls is np.ndarray
    return isinstance(value, Static) and isinstance(value.value, np.ndarray) and value.value.ndim == 1


def make(s: Specialiser, items: Sequence[Abstract], node: cst.CSTNode) -> Abstract:
    """np.array([...]) of numbers."""
    s.saw_numpy = True
    kinds = {numeric_kind(v) for v in items}
    if None in kinds:
        raise s.refuse("flatten/not-yet", "an array of something else than numbers", node,
                       help="use nested lists or tuples")
    if len(items) > MAX_LENGTH:
        raise s.refuse("flatten/too-large", f"an array of {len(items)} lane values", node)
    if FLOAT in kinds:
        whole: list[Abstract] = [num.as_float(s, v) for v in items]
    elif kinds == {BOOL}:
        whole = list(items)
    else:
        whole = [num.unary(s, "pos", v) for v in items]
    return Seq(np.ndarray, tuple(s.mark_numpy(v) for v in whole))


def elements(s: Specialiser, value: Abstract, node: cst.CSTNode) -> tuple[Abstract, ...]:
    found = containers.sequence_items(s, value, node)
    if found is None or len(found) > MAX_LENGTH:
        raise s.refuse("flatten/not-yet", "this array cannot be taken apart into lanes", node)
    return found


def zip_elements(
    s: Specialiser, use: Callable[..., Abstract], operands: Sequence[Abstract], node: cst.CSTNode
) -> Abstract:
    """`use` on corresponding elements; numbers are broadcast."""
    s.saw_numpy = True
    columns = [elements(s, v, node) if is_vector(v) else None for v in operands]
    sizes = {len(c) for c in columns if c is not None}
    size = max(sizes)
    if sizes - {1, size}:
        raise s.fault("ValueError", "operands could not be broadcast together", node)
    rows = [[v if c is None else c[i if len(c) > 1 else 0] for v, c in zip(operands, columns, strict=True)]
            for i in range(size)]
    return Seq(np.ndarray, tuple(s.mark_numpy(use(*row)) for row in rows))


def operate(s: Specialiser, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    """`a <op> b` where at least one is an array."""
    if opcode == "matmul":
        return dot(s, a, b, node)
    if opcode != "pow":
        return zip_elements(s, lambda x, y: num.binary(s, opcode, x, y), [a, b], node)
    if not is_vector(b) and not isinstance(b, Static):
        raise s.refuse("flatten/unsupported-expression", "an array to a power that differs from lane to lane", node)
    fixed = b.value if isinstance(b, Static) and isinstance(b.value, int | float) else None
    return zip_elements(s, lambda x, y: _power(s, x, y, fixed), [a, b], node)


def dot(s: Specialiser, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    """The products of ints; the order in which BLAS adds floats is not known."""
    kinds = {numeric_kind(v) for side in (a, b) if is_vector(side) for v in elements(s, side, node)}
    if FLOAT in kinds or not (is_vector(a) and is_vector(b)):
        raise s.refuse("flatten/unsupported-expression", "a dot product of floats depends on the BLAS library", node,
                       help="write sum(x * y for x, y in zip(a, b)), or (a * b).sum()")
    return total(s, zip_elements(s, lambda x, y: num.binary(s, "mul", x, y), [a, b], node), node)


def _power(s: Specialiser, x: Abstract, y: Abstract, fixed: Any) -> Abstract:
    """NumPy takes shortcuts for one exponent for the whole array."""
    if numeric_kind(x) is not FLOAT and numeric_kind(y) is not FLOAT:
        return num.binary(s, "pow", x, y)
    base = num.as_float(s, x)
    match fixed:
        case 0:
            return const(1.0)
        case 1:
            return base
        case 2:
            return s.build.op("mul", base, base)
        case 0.5:
            return s.build.op("np_sqrt", base)
        case -1:
            return s.build.op("truediv", const(1.0), base)
    return s.build.op("np_power" if fixed is not None else "np_powers", base, num.as_float(s, y))


def total(s: Specialiser, vector: Abstract, node: cst.CSTNode) -> Abstract:
    """np.sum in NumPy's order of additions."""
    items = elements(s, vector, node)
    if not items:
        return Static(0.0)
    if all(numeric_kind(v) is not FLOAT for v in items):
        whole = [num.to_kind(s, lane(v), INT) if numeric_kind(v) is BOOL else v for v in items]
        return s.mark_numpy(_chain(s, whole))
    return s.mark_numpy(num.binary(s, "add", Static(0.0), _pairwise(s, items)))


def _chain(s: Specialiser, items: Sequence[Abstract]) -> Abstract:
    result = items[0]
    for item in items[1:]:
        result = num.binary(s, "add", result, item)
    return result


def _pairwise(s: Specialiser, items: Sequence[Abstract]) -> Abstract:
    """The blocked pairwise summation of NumPy's `pairwise_sum` (numpy/core/src/umath/loops_utils)."""
    if len(items) < 8:
        return _chain(s, items)
    if len(items) > _BLOCK:
        half = len(items) // 2
        half -= half % 8
        return num.binary(s, "add", _pairwise(s, items[:half]), _pairwise(s, items[half:]))
    sums = list(items[:8])
    whole = len(items) - len(items) % 8
    for start in range(8, whole, 8):
        sums = [num.binary(s, "add", a, b) for a, b in zip(sums, items[start:start + 8], strict=True)]
    while len(sums) > 1:
        sums = [num.binary(s, "add", sums[i], sums[i + 1]) for i in range(0, len(sums), 2)]
    return _chain(s, [sums[0], *items[whole:]])
