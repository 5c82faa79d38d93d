"""Arithmetic on real numbers: Python's operators as IR operations, with the kinds settled here."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from pyflat.frontend.space import scalars
from pyflat.frontend.space.scalars import PYTHON, PYTHON_COMPARE
from pyflat.frontend.state import facts
from pyflat.frontend.state.frames import Specialiser
from pyflat.frontend.state.merge import lane
from pyflat.frontend.state.values import (
    Abstract,
    Bound,
    Caught,
    Closure,
    Lazy,
    ObjRef,
    Ranges,
    Static,
    Text,
    describe,
    numeric_kind,
)
from pyflat.ir.build import const
from pyflat.ir.nodes import Op, Value
from pyflat.ir.types import BOOL, EXACT_INT, FLOAT, INT, INT_MAX, INT_MIN, Kind

_UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": operator.neg, "pos": operator.pos, "invert": operator.invert, "abs": abs,
}
_MAX_STATIC_BITS = 1 << 16


def _operation(s: Specialiser, opcode: str, a: Abstract, b: Abstract, joined: Kind) -> Abstract:
    match opcode:
        case "add" | "sub" | "mul" | "floordiv" | "mod":
            return _arithmetic(s, opcode, a, b, FLOAT if joined is FLOAT else INT)
        case "truediv":
            return s.build.op("truediv", _divisible(s, a), _divisible(s, b))
        case "pow":
            return _power(s, a, b, joined)
        case "and" | "or" | "xor" if joined is not FLOAT:
            return s.build.op(opcode, scalars.to_kind(s, lane(a), joined), scalars.to_kind(s, lane(b), joined))
        case "shl" | "shr" if joined is not FLOAT:
            return s.build.op(opcode, scalars.to_kind(s, lane(a), INT), scalars.to_kind(s, lane(b), INT))
    raise s.fault("TypeError", f"unsupported operand kinds for {opcode}")


def static_binary(s: Specialiser, opcode: str, a: Static, b: Static) -> Abstract:
    x, y = a.value, b.value
    if opcode in ("pow", "shl") and isinstance(x, int) and isinstance(y, int):
        grown = x.bit_length() * abs(y) if opcode == "pow" else x.bit_length() + max(y, 0)
        if grown > _MAX_STATIC_BITS:
            raise s.refuse("flatten/int-too-large", "a constant power or shift has too many digits")
    return scalars.now(s, lambda: PYTHON[opcode](x, y))


def _arithmetic(s: Specialiser, opcode: str, a: Abstract, b: Abstract, kind: Any) -> Abstract:
    if kind is FLOAT:
        return s.build.op(opcode, scalars.as_float(s, a), scalars.as_float(s, b))
    for value in (a, b):
        _check_size(s, value)
    return s.build.op(opcode, scalars.to_kind(s, lane(a), INT), scalars.to_kind(s, lane(b), INT))


def _check_size(s: Specialiser, value: Abstract) -> None:
    if isinstance(value, Static) and not INT_MIN <= value.value <= INT_MAX:
        raise s.refuse("flatten/int-too-large", f"the integer {value.value} does not fit into 64 bits")


def _divisible(s: Specialiser, value: Abstract) -> Value:
    """An operand of `/`: int / int is exact in float64 only up to 2**53, beyond that the lane is replayed."""
    if numeric_kind(value) is FLOAT or isinstance(value, Static) and abs(value.value) <= EXACT_INT:
        return scalars.as_float(s, value)
    if isinstance(value, Static):
        _check_size(s, value)
    number = lane(value)
    return scalars.to_kind(s, number, FLOAT) if number.kind is BOOL else s.build.op("exact_float", number)


def _power(s: Specialiser, a: Abstract, b: Abstract, joined: Any) -> Abstract:
    """A power of ints is a float where the exponent is negative, in each lane."""
    def of_floats() -> Value:
        return s.build.op("pow", scalars.as_float(s, a), scalars.as_float(s, b))

    def of_ints() -> Value:
        return s.build.op("ipow", scalars.to_kind(s, lane(a), INT), scalars.to_kind(s, lane(b), INT))

    if joined is FLOAT:
        return of_floats()
    if isinstance(b, Static):
        _check_size(s, a)
        _check_size(s, b)
        return of_floats() if b.value < 0 else of_ints()
    _check_size(s, a)
    exponent = scalars.to_kind(s, lane(b), INT)
    if isinstance(exponent, Op) and exponent.opcode == "abs":  # of the smallest int it is none that a lane holds
        return of_ints()
    negative = s.build.op("lt", exponent, const(0))
    known = facts.decide(negative, s.facts, s.combined, s.floats)
    if known is not None:
        return of_floats() if known else of_ints()
    return s.branch(negative, of_floats, of_ints)


def _compare_other(s: Specialiser, opcode: str, a: Abstract, b: Abstract) -> Abstract:
    for value in (a, b):
        if isinstance(value, Text | Caught | Lazy | Ranges | ObjRef | Closure | Bound):
            raise s.refuse("flatten/unsupported-expression", f"{describe(value)} cannot be compared", needs_number=True)
    if opcode in ("eq", "ne"):
        return Static(opcode == "ne")
    raise s.fault("TypeError", f"cannot compare {describe(a)} with {describe(b)}")


_MIRROR = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


def _compare_mixed(s: Specialiser, opcode: str, a: Abstract, b: Abstract) -> Abstract:
    """int against float. A static float bound becomes the int bound that decides the same."""
    if numeric_kind(a) is FLOAT:
        return _compare_mixed(s, _MIRROR[opcode], b, a)
    if isinstance(a, Static):
        return _compare_float_bound(s, _MIRROR[opcode], lane(b), a.value)
    if numeric_kind(a) is BOOL:
        return s.build.op(opcode, scalars.as_float(s, a), scalars.as_float(s, b))
    if isinstance(b, Static):
        return _compare_int_bound(s, opcode, lane(a), b.value)
    return s.build.op(opcode, s.build.op("exact_float", lane(a)), lane(b))


def _compare_float_bound(s: Specialiser, opcode: str, x: Value, bound: int) -> Abstract:
    """A float lane against a static int of any size: the nearest floats below and above decide the same."""
    below, above = _neighbours(bound)
    if below == above:
        return s.build.op(opcode, x, const(below))
    match opcode:
        case "eq" | "ne":
            return Static(opcode == "ne")
        case "lt" | "le":
            return s.build.op("le", x, const(below))
        case _:
            return s.build.op("ge", x, const(above))


def _neighbours(bound: int) -> tuple[float, float]:
    """The largest float <= bound and the smallest float >= bound."""
    try:
        near = float(bound)
    except OverflowError:
        largest = math.nextafter(math.inf, 0.0)
        return (largest, math.inf) if bound > 0 else (-math.inf, -largest)
    if near == bound:
        return near, near
    if near < bound:
        return near, math.nextafter(near, math.inf)
    return math.nextafter(near, -math.inf), near


def _compare_int_bound(s: Specialiser, opcode: str, n: Value, bound: float) -> Abstract:
    if math.isnan(bound) or not -(2.0**63) <= bound < 2.0**63:
        return Static(PYTHON_COMPARE[opcode](0, bound))
    if bound == math.floor(bound):
        return s.build.op(opcode, n, const(int(bound)))
    match opcode:
        case "eq" | "ne":
            return Static(opcode == "ne")
        case "lt" | "le":
            return s.build.op("le", n, const(math.floor(bound)))
        case _:
            return s.build.op("ge", n, const(math.ceil(bound)))
