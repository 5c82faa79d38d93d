"""Where an operation of inexact operands can fail in CPython alone: an operand leaves a domain, a result overflows.

    x * y          CPython's may overflow where the target's does not, unless one of them is at most 1
    sqrt(x)        the sign of x is CPython's where x is at least its error bound above zero

Conditions that only lead to faults are made to hold wherever CPython's may. `log(y)` fails where y <= 0. Where y is
inexact the twin says y <= error: a lane more or less that goes to the original does not matter, and the wider condition
costs no more than the old one. Where a condition is negated on its way to the fault (`not (|x| < 2**63)`), it becomes
narrower instead.

    x < 1                          x < 1 + error, where the error is a constant
    x < 1, error a term            not (x - term >= 1 + rest), which holds for nan too
    x == 1, x is infinite          near, which holds there too
    everything else                x or near, x and not near
"""

from __future__ import annotations

import math

from pyflat.analysis.intervals import Intervals
from pyflat.analysis.ranges import Interval
from pyflat.functions.records import Outside
from pyflat.ir.build import const
from pyflat.ir.nodes import Const, Op, Value
from pyflat.passes.accuracy.decisions import LARGEST, margin
from pyflat.passes.accuracy.error_bounds import MAX_RELATIVE, Bound, Case, largest, smallest

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


# --- conditions that only lead to faults


_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}


def widened_condition(case: Case, near: Value, positive: bool) -> Value:
    """The condition of `case`, which holds (`positive`) or fails wherever `near` does too."""
    if case.op.opcode in _OPPOSITE:
        moved = _with_moved_literal(case, positive) or _with_moved_number(case, positive)
        if moved is not None:
            return moved
    if case.op.opcode in ("eq", "isinf") and positive:
        return near
    if case.op.opcode in ("ne", "isfinite") and not positive:
        return case.terms.op("not", near)
    if positive:
        return case.terms.op("or", case.value, near)
    return case.terms.op("and", case.value, case.terms.op("not", near))


def _with_moved_literal(case: Case, positive: bool) -> Value | None:
    """Where the error near the threshold is a constant: another threshold."""
    literals = [k for k, arg in enumerate(case.args) if isinstance(arg, Const)]
    if len(literals) != 1 or any(bound.term is not None for bound in case.bounds):
        return None
    threshold = _number(case.args[literals[0]])
    error = margin(case.bounds, threshold)
    if not math.isfinite(error):
        return None
    turns = [case.op.opcode in ("gt", "ge"), literals[0] == 0, not positive].count(True)
    end = math.inf if turns % 2 == 0 else -math.inf
    args = list(case.args)
    args[literals[0]] = const(math.nextafter(threshold + math.copysign(error, end), end))
    return case.terms.op(case.op.opcode, *args)


def _with_moved_number(case: Case, positive: bool) -> Value | None:
    """The number moved by its term, the literal by the rest and by the rounding of that."""
    (number, literal), (bound, _), terms = case.args, case.bounds, case.terms
    if not isinstance(literal, Const) or bound.term is None:
        return None
    opcode, threshold, size = case.op.opcode, _number(literal), terms.total(0.0, bound.term)
    room = margin(case.bounds, threshold) + abs(threshold) * 2.0**-40
    if (opcode in ("lt", "le")) == positive:
        moved = terms.op("sub", number, size), const(math.nextafter(threshold + room, math.inf))
    else:
        moved = terms.op("add", number, size), const(math.nextafter(threshold - room, -math.inf))
    if not positive:
        return terms.op(opcode, *moved)
    return terms.op("not", terms.op(_OPPOSITE[opcode], *moved))


def _number(literal: Value) -> float:
    assert isinstance(literal, Const)
    return float(literal.value or 0.0)
