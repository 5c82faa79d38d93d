"""Where an operation of inexact operands can fail in CPython alone: an operand leaves a domain, a result overflows.

    x * y          CPython's may overflow where the target's does not, unless one of them is at most 1
    sqrt(x)        the sign of x is CPython's where x is at least its error bound above zero
"""

from __future__ import annotations

from pyflat.analysis.intervals import Intervals
from pyflat.analysis.ranges import Interval
from pyflat.ir.nodes import Op
from pyflat.passes.accuracy.decisions import LARGEST
from pyflat.passes.accuracy.error_bounds import MAX_RELATIVE, Bound, largest, smallest

DOMAINS = frozenset({"negative", "not_positive", "not_above_minus_one", "beyond_one", "below_one", "not_inside_one",
                     "zero_divisor", "fmod"})
"""Fault rules that look at an operand alone."""
UNFELT = 1e290
"""The largest float and this are the largest float."""


def may_overflow(op: Op, intervals: Intervals) -> bool:
    """Whether CPython's result may be infinite where the operands are at most LARGEST: those are guarded themselves."""
    if op.opcode not in ("add", "sub", "mul", "truediv", "ldexp", "hypot"):
        return False
    if largest(intervals.of(op)) <= LARGEST:
        return False
    a, b = map(intervals.of, op.args)
    match op.opcode:
        case "add" | "sub":
            return min(largest(a), largest(b)) > UNFELT
        case "mul":
            return min(largest(a), largest(b)) > 1.0
        case "truediv":
            return smallest(b) < 1.0
    return True


def stays_inside(rule: str, bound: Bound, interval: Interval) -> bool:
    """Whether an operand with that bound has the sign that CPython's has, where the fault rule looks at its sign."""
    if rule not in ("negative", "not_positive", "zero_divisor"):
        return False
    if bound.pure:
        return True
    return bound.known and bound.term is None and bound.absolute < smallest(interval) * MAX_RELATIVE
