"""Operators on NumPy arrays, element by element, with NumPy's meaning: power is NumPy's own, `+=` writes in place."""

from __future__ import annotations

from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.space import array_items, arrays, products, scalars
from pyflat.frontend.space import numbers as num
from pyflat.frontend.space.scalars import PYTHON
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.values import Abstract, Array, GuardedUnion, ListRef, Seq, Static, numeric_kind
from pyflat.ir.build import const
from pyflat.ir.types import BOOL, FLOAT

SHORT_CUTS = (-1, 0, 0.5, 1, 2)
"""Exponents of arrays for which `power` is another operation."""


def operate(s: Evaluator, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    """`a <op> b` where at least one is an array."""
    values = [arrays.known(s, v) for v in (a, b)]
    if values[0] is not None and values[1] is not None:
        return arrays.local(s, scalars.const_eval(s, lambda: PYTHON[opcode](*values)))
    a, b = (arrays.array(s, v, node) if isinstance(v, ListRef | Seq) else v for v in (a, b))
    if opcode == "matmul":
        return products.matmul(s, a, b, node)
    if isinstance(b, GuardedUnion) and opcode == "pow":
        return s.split(b, lambda v: operate(s, opcode, a, v, node))
    if opcode == "pow":
        fixed = b.value if isinstance(b, Static) and isinstance(b.value, int | float) else None
        if fixed is None and not arrays.is_array(b):
            raise s.refuse("flatten/unsupported-expression", "an array to a power that differs from lane to lane", node,
                           help="take the power of each element in a loop")
        if fixed not in SHORT_CUTS:
            arrays.require_forwards(s, [a, b], node)
        return powers(s, a, b, node) if fixed is None else arrays.apply(s, lambda x: power(s, x, b, fixed), [a], node)
    return arrays.apply(s, lambda x, y: _element(s, opcode, x, y), [a, b], node)


def _element(s: Evaluator, opcode: str, x: Abstract, y: Abstract) -> Abstract:
    if numeric_kind(x) is BOOL and numeric_kind(y) is BOOL and opcode in ("add", "mul"):
        return num.binary(s, "or" if opcode == "add" else "and", x, y)
    return num.binary(s, opcode, x, y)


def compare(s: Evaluator, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    values = [arrays.known(s, v) for v in (a, b)]
    if values[0] is not None and values[1] is not None:
        return arrays.local(s, scalars.const_eval(s, lambda: PYTHON[opcode](*values)))
    a, b = (arrays.array(s, v, node) if isinstance(v, ListRef | Seq) else v for v in (a, b))
    return arrays.apply(s, lambda x, y: num.compare(s, opcode, x, y), [a, b], node, BOOL)


def unary(s: Evaluator, opcode: str, value: Abstract, node: cst.CSTNode) -> Abstract:
    return arrays.apply(s, lambda x: num.unary(s, opcode, x), [value], node)


def powers(s: Evaluator, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    """np.power of arrays. NumPy takes short cuts where its inner loop has one exponent for all elements; whether it has
    for arrays of these shapes is tried out: sqrt(-0.0) is -0.0, and a power of -0.0 is 0.0."""
    with np.errstate(all="ignore"):
        short = np.signbit(np.power(np.full(arrays.shape_of(a), -0.0), np.full(arrays.shape_of(b), 0.5)))
    if short.any() and not short.all():
        raise s.refuse("flatten/not-yet", "powers of arrays of these shapes", node,
                       help="broadcast the exponents first")
    opcode = "np_power" if short.all() else "np_powers"
    return arrays.apply(s, lambda x, y: _element_power(s, opcode, x, y), [a, b], node)


def _element_power(s: Evaluator, opcode: str, x: Abstract, y: Abstract) -> Abstract:
    if numeric_kind(x) is not FLOAT and numeric_kind(y) is not FLOAT:
        return num.binary(s, "pow", x, y)
    return s.build.op(opcode, scalars.as_float(s, x), scalars.as_float(s, y))


def power(s: Evaluator, x: Abstract, y: Abstract, fixed: Any) -> Abstract:
    """NumPy takes shortcuts for one exponent for the whole array."""
    if numeric_kind(x) is not FLOAT and numeric_kind(y) is not FLOAT:
        return num.binary(s, "pow", x, y)
    base = scalars.as_float(s, x)
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
    return s.build.op("np_power", base, scalars.as_float(s, y))


def in_place(s: Evaluator, opcode: str, old: Abstract, value: Abstract, node: cst.CSTNode) -> Abstract:
    """`old <op>= value`: the array's own memory is written."""
    if isinstance(old, GuardedUnion):
        return s.split(old, lambda v: in_place(s, opcode, v, value, node))
    if not isinstance(old, Array):
        raise s.refuse("flatten/effect", "an augmented assignment changes a captured array in place", node,
                       help="write x = x + y, or make a copy first")
    if opcode == "matmul":
        raise s.refuse("flatten/not-yet", "@= on an array", node, help="write x = x @ y")
    result = operate(s, opcode, old, value, node)
    array_items.update(s, old, result, node)
    return old
