"""Where an operation of inexact operands can fail in CPython alone: an operand leaves a domain, a result overflows.

    x * y          CPython's may overflow where the target's does not, unless one of them is at most 1
    sqrt(x)        the sign of x is CPython's where x is at least its error bound above zero
"""

from __future__ import annotations

from pyflat.analysis.intervals import Intervals
from pyflat.analysis.ranges import Interval
from pyflat.functions.records import Outside
from pyflat.ir.nodes import Op
from pyflat.passes.accuracy.decisions import LARGEST
from pyflat.passes.accuracy.error_bounds import MAX_RELATIVE, Bound, largest, smallest

UNFELT = 1e290
"""The largest float and this are the largest float."""


def looks_at_operands(rule: tuple[Outside, ...] | str) -> bool:
    """Whether a fault rule looks at operands alone, at which an error is to be watched: not at whether they are
    infinite, which an error does not change."""
    if isinstance(rule, str):
        return rule in ("zero_divisor", "fmod")
    return all(part.comparison != "isinf" for part in rule)


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


def looks_at_sign(rule: tuple[Outside, ...] | str) -> bool:
    """Whether a fault rule looks at the sign of the last operand."""
    if isinstance(rule, str):
        return rule == "zero_divisor"
    return all(part.bound == 0.0 and part.comparison in ("lt", "le") for part in rule)


def has_sure_sign(bound: Bound, interval: Interval) -> bool:
    """Whether an operand with that bound has the sign that CPython's has."""
    if bound.pure:
        return True
    return bound.known and bound.term is None and bound.absolute < smallest(interval) * MAX_RELATIVE
