"""Where an inexact value decides: the lanes in which CPython's value may lie on the other side of the threshold.

A *decision* is an operation whose result jumps while its operands move a little: a comparison, a rounding, a
floor division, a sign. `nearness` gives the condition that a decision of inexact operands is near its threshold, with
the operands' error bounds (`passes.accuracy.error_bounds`). Where it does not hold the result is CPython's, bit for
bit. It holds for nan, and where the bound is infinite.

    x < t          |x - t| <= E, and where E is relative and t a constant, a constant
    floor, int     |x - rint(x)| <= E
    round          1/2 - |x - rint(x)| <= E
    a // b         |a/b - rint(a/b)| <= E / |b|
    a % b          |r| <= E or |b| - |r| <= E, for the remainder r
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from pyflat.ir.build import const
from pyflat.ir.nodes import FALSE, TRUE, Const, Op, Value
from pyflat.ir.ops import COMPARISONS, OPERATIONS
from pyflat.ir.types import FLOAT
from pyflat.passes.accuracy.error_bounds import FAINT, SUBNORMAL, ULP, Bound, Case, Term, up

LARGEST = 1.7976931348623157e308 * (1 - 2.0**-30)
"""An inexact value above it may be infinite in CPython."""
NORMAL = 2.0**-300

Nearness = Callable[[Case], Value | None]


def nearness(case: Case) -> Value | None:
    """The condition under which the decision of `case` may not be CPython's; None where it always is.

    The bounds of all operands are known. Raises KeyError for an operation that is no decision (`is_decision`)."""
    return _RULES[case.op.opcode](case)


def is_decision(op: Op) -> bool:
    """Whether the result of `op` jumps when its operands move."""
    if op.opcode in COMPARISONS:
        return op.args[0].kind is FLOAT and op.args[0] is not op.args[1]
    return op.opcode in _RULES


def tested_for_finiteness(op: Op) -> Op | None:
    """What is tested by `x - x != 0.0` or `x == inf`, as the fault rules write it; None where `op` is no such test."""
    if op.opcode not in ("ne", "eq"):
        return None
    x, y = op.args
    limit = y.value if isinstance(y, Const) else None
    if not isinstance(x, Op) or limit != (0.0 if op.opcode == "ne" else math.inf):
        return None
    if op.opcode == "eq":
        return x if OPERATIONS[x.opcode].faults == "overflow" else None
    of = x.args[0] if x.opcode == "sub" and x.args[0] is x.args[1] else None
    return of if isinstance(of, Op) else None


def beyond_range(case: Case, test: Op, value: Value) -> Value:
    """CPython's number may be infinite (or, where the test is for both, is nan)."""
    if test.opcode == "eq":
        return case.terms.op("ge", value, const(LARGEST))
    return _out_of_range(case, value)


def _out_of_range(case: Case, value: Value) -> Value:
    """CPython's number may be infinite (or is nan)."""
    return case.terms.op("not", case.terms.op("lt", case.terms.op("abs", value), const(LARGEST)))


def _within(case: Case, distance: Value, absolute: float, term: Term | None) -> Value:
    """distance <= absolute + term, or one of them is nan."""
    return case.terms.op("not", case.terms.op("gt", distance, case.terms.total(absolute, term)))


def margin(bounds: Sequence[Bound], threshold: float) -> float:
    """The error of operands that are about `threshold`, as far as it is constant."""
    return up(sum(b.relative for b in bounds) * abs(threshold) * 1.01) + sum(b.absolute for b in bounds) * 1.01


def _comparison(case: Case) -> Value | None:
    """Near the threshold both operands are about equal, and the relative errors are those of either."""
    a, b = case.bounds
    terms, relative = case.terms, a.relative + b.relative
    term = terms.plus(a.term, b.term)
    literal = next((arg for arg in case.args if isinstance(arg, Const)), None)
    if literal is not None:
        threshold = float(literal.value or 0.0)
        if math.isnan(threshold):
            return None
        if math.isinf(threshold):
            return _out_of_range(case, case.args[1] if literal is case.args[0] else case.args[0])
        absolute = margin([a, b], threshold)
        if not absolute and term is None:
            return None
        if term is not None and abs(threshold) >= NORMAL and absolute <= FAINT:
            absolute = 0.0  # numbers near the threshold are much farther apart
        number = case.args[1] if literal is case.args[0] else case.args[0]
        distance = terms.op("abs", terms.op("sub", number, literal) if threshold else number)
        return _within(case, distance, absolute, term)
    distance = terms.op("abs", terms.op("sub", *case.args))
    absolute = (a.absolute + b.absolute) * 1.01
    k = 0 if a.exact or (case.is_positive(0) and not b.exact) else 1
    if relative:
        if case.largest(k) <= 1.0:
            absolute += up(relative * 1.01)
        else:
            term = terms.plus(Term(case.size(k), up(relative)), term)
    return _within(case, distance, absolute, term)


def _whole(case: Case) -> Value | None:
    """Thresholds at the whole numbers; zero is none where the sign is CPython's."""
    if case.bounds[0].pure:
        return _truncation(case)
    x, terms = case.args[0], case.terms
    distance = terms.op("abs", terms.op("sub", x, terms.op("rint", x)))
    return _within(case, distance, *case.error(0))


def _truncation(case: Case) -> Value | None:
    """Thresholds at the whole numbers except zero."""
    x, terms = case.args[0], case.terms
    nearest = terms.op("rint", x)
    near = _within(case, terms.op("abs", terms.op("sub", x, nearest)), *case.error(0))
    return terms.op("and", near, terms.op("ne", nearest, const(0.0)))


def _halves(case: Case) -> Value | None:
    """Thresholds at the halves."""
    return _near_half(case, case.args[0], *case.error(0))


def _near_half(case: Case, x: Value, absolute: float, term: Term | None) -> Value:
    """1/2 - |x - rint(x)| <= absolute + term, the constants on one side."""
    terms = case.terms
    distance = terms.op("abs", terms.op("sub", x, terms.op("rint", x)))
    if term is not None:
        distance = terms.op("add", distance, terms.total(0.0, term))
    return terms.op("not", terms.op("lt", distance, const(0.5 - 4 * ULP - absolute)))


def _decimals(case: Case) -> Value | None:
    """round(x, n) with a literal n: thresholds at the halves of x * 10**n."""
    digits, (x, _) = case.args[1], case.bounds
    if not isinstance(digits, Const) or not isinstance(digits.value, int) or abs(digits.value) > 22:
        return TRUE
    terms, ten = case.terms, 10.0**digits.value
    shifted = terms.op("mul", case.args[0], const(ten))
    term = terms.plus(x.term and x.term.times(up(ten)), Term(terms.op("abs", shifted), up(x.relative) + 4 * ULP))
    return _near_half(case, shifted, x.absolute * up(ten), term)


def _floor_quotient(case: Case) -> Value | None:
    if not case.bounds[1].exact:
        return TRUE
    terms = case.terms
    quotient = terms.op("truediv", *case.args)
    error = terms.op("truediv", terms.total(*case.error(0)), case.size(1))
    rounding = Term(terms.op("abs", quotient), 4 * ULP)
    distance = terms.op("abs", terms.op("sub", quotient, terms.op("rint", quotient)))
    return _within(case, distance, SUBNORMAL, terms.plus(Term(error), rounding))


def _remainder(case: Case) -> Value | None:
    """A remainder of 0 or of the whole divisor is as far from the next as can be: | |r| - |b|/2 | + E >= |b|/2."""
    if not case.bounds[1].exact:
        return TRUE
    terms = case.terms
    absolute, term = case.error(0)
    half = terms.op("mul", case.size(1), const(0.5))
    distance = terms.op("abs", terms.op("sub", terms.op("abs", case.value), half))
    if term is not None:
        distance = terms.op("add", distance, terms.total(0.0, term))
    room = terms.op("sub", terms.op("mul", half, const(1 - 8 * ULP)), const(absolute))
    return terms.op("not", terms.op("lt", distance, room))


def _signed(case: Case) -> Value | None:
    """The sign of the second operand."""
    sign = case.bounds[1]
    if sign.pure:
        return None
    return _within(case, case.size(1), sign.absolute, sign.term)


def _finite(case: Case) -> Value | None:
    return _out_of_range(case, case.args[0])


_RULES: dict[str, Nearness] = {
    **dict.fromkeys(COMPARISONS, _comparison),
    "floor": _whole, "ceil": _whole, "trunc": _whole, "floor_int": _whole, "ceil_int": _whole, "to_int": _truncation,
    "rint": _halves, "round_int": _halves, "round_digits": _decimals, "floordiv": _floor_quotient,
    "mod": _remainder, "fmod": _remainder, "copysign": _signed, "isinf": _finite, "isfinite": _finite,
}

CONTINUED = frozenset({"mod", "fmod", "copysign"})
"""Decisions whose result is inexact all the same."""


def always(value: Value | None) -> bool:
    return value is TRUE


def never(value: Value | None) -> bool:
    return value is None or value is FALSE
