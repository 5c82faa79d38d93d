"""How elementary functions carry an error on: the bound of f(x) from that of x (see `passes.accuracy.error_bounds`).

Each rule bounds |f(v) - f(c)| for the true function by its condition: relative where f'(x) x / f(x) is bounded in the
range in which f is finite, absolute where f' is. Where neither is, the error is computed beside the value, and
infinite where the operand is too near to a pole or to the edge of the domain. `own` is the distance between the two
implementations, which comes on top.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from pyflat.functions.records import RECORDS
from pyflat.ir.build import const
from pyflat.ir.nodes import Value
from pyflat.passes.accuracy.error_bounds import FAINT, INF, SUBNORMAL, ULP, Bound, Case, Rule, Term, largest, up
from pyflat.passes.accuracy.fast_functions import UNDERFLOWS

SMALL = 2.0**-10
EXP_RANGE = 746.0
"""exp is 0, infinite or in the faults beyond."""


def elementary_bound(case: Case, function: str, ulps: int) -> Bound:
    """The bound of the elementary `function`, both implementations of which differ by `ulps` for the same operand."""
    relative, absolute = ulps * ULP, ulps * SUBNORMAL if _underflows(case, function) else 0.0
    if all(bound.exact for bound in case.bounds):
        return case.bound(relative, absolute)
    if function not in CONDITIONS or not all(bound.known for bound in case.bounds):
        return case.unknown
    carried = CONDITIONS[function](case)
    if not carried.known:
        return carried
    return case.bound(carried.relative + relative, carried.absolute + absolute, carried.term)


def _underflows(case: Case, function: str) -> bool:
    """Whether a result may be subnormal."""
    if function == "pow":
        return largest(case.intervals[1]) > 0.9
    return function in UNDERFLOWS and not (function in ("exp", "exp2") and case.intervals[0].low > -600)


def _growth(rate: float, reach: float) -> Rule:
    """|f'| <= rate |f| where f is finite, and f'(x) x / f(x) <= rate reach there: exp, exp2, cosh, erfc."""

    def rule(case: Case) -> Bound:
        (x,), terms = case.bounds, case.terms
        if x.absolute * rate > SMALL:
            return case.unknown
        relative = rate * 1.1 * (x.relative * min(case.largest(0), reach) + x.absolute)
        if x.term is None:
            return case.bound(relative)
        ratio = terms.small(terms.total(0.0, x.term.times(rate)), 0.5, 2.0)
        return case.bound(relative, 0.0, Term(terms.op("mul", case.own_size(), ratio)))

    return rule


def _growth_with_offset(case: Case) -> Bound:
    """f' <= |f| + 1, and f'(x) x / f(x) <= EXP_RANGE: expm1, sinh."""
    (x,), terms = case.bounds, case.terms
    if x.absolute > SMALL:
        return case.unknown
    relative = 1.1 * (x.relative * EXP_RANGE + x.absolute)
    if x.term is None:
        return case.bound(relative, 1.1 * x.absolute)
    size = terms.op("add", case.own_size(), const(1.0))
    ratio = terms.small(terms.total(0.0, x.term), 0.5, 2.0)
    return case.bound(relative, 1.1 * x.absolute, Term(terms.op("mul", size, ratio)))


def _contraction(slope: float, condition: float) -> Rule:
    """|f'| <= slope everywhere, and |f'(x) x / f(x)| <= condition."""

    def rule(case: Case) -> Bound:
        (x,) = case.bounds
        term = None if x.term is None else Term(x.term.value, up(slope) * x.term.scale)
        return case.bound(x.relative * condition * 1.01, x.absolute * slope, term)

    return rule


def _bounded_slope(case: Case) -> Bound:
    """|f'| <= 1, and f has zeros elsewhere than at 0: sin, cos."""
    absolute, term = case.error(0)
    return case.bound(0.0, absolute, None if term is None else Term(term.value, term.scale, 0.0, 1.0))


def _logarithm(slope: float) -> Rule:
    """|f'| = slope / x."""

    def rule(case: Case) -> Bound:
        (x,), terms, least = case.bounds, case.terms, case.smallest(0)
        absolute = x.relative * 1.01 * slope
        if x.pure:
            return case.bound(0.0, absolute)
        if x.term is None and x.absolute <= least * SMALL:
            return case.bound(0.0, absolute + 1.01 * slope * x.absolute / least)
        ratio = terms.op("truediv", terms.total(x.absolute, x.term), case.size(0))
        return case.bound(0.0, absolute, Term(terms.small(ratio, 0.5, 2.0 * slope)))

    return rule


def _log1p(case: Case) -> Bound:
    (x,), terms = case.bounds, case.terms
    if case.intervals[0].low >= 0 and x.term is None and x.absolute <= SMALL:
        return case.bound(x.relative * 1.01, x.absolute * 1.01)
    above = terms.op("add", case.args[0], const(1.0))
    ratio = terms.op("truediv", terms.total(*case.error(0)), above)
    return case.bound(0.0, 0.0, Term(_positive(case, ratio, terms.small(ratio, 0.5, 2.0))))


def _positive(case: Case, number: Value, then: Value) -> Value:
    """`then` where `number` >= 0, else infinite."""
    return case.terms.op("select", case.terms.op("ge", number, const(0.0)), then, INF)


def _tangent(case: Case) -> Bound:
    """tan' = 1 + tan**2; far from the poles by the measure of the error."""
    terms = case.terms
    slope = terms.op("add", terms.op("mul", case.value, case.value), const(1.0))
    ratio = terms.op("mul", terms.total(*case.error(0)), slope)
    return case.bound(0.0, 0.0, Term(terms.small(ratio, 0.1, 3.0)))


def _arcsine(case: Case) -> Bound:
    """|asin a - asin b| <= pi / sqrt(2) * sqrt(|a - b|), acos too; the slope where |x| is known to be small."""
    absolute, term = case.error(0)
    if (most := case.largest(0)) <= 0.99 and term is None and absolute <= SMALL:
        return case.bound(0.0, absolute * 1.1 / math.sqrt(1 - most * most))
    if not math.isfinite(most) or most > 1:
        bound = case.bounds[0]  # beyond 1 is a fault
        absolute, term = bound.relative * 1.01 + bound.absolute, bound.term
    if term is None:
        return case.bound(0.0, 2.25 * math.sqrt(absolute))
    return case.bound(0.0, 0.0, Term(case.terms.op("sqrt", case.terms.total(absolute, term)), 2.25))


def _arccosh(case: Case) -> Bound:
    """acosh a - acosh b <= acosh(a / b) <= sqrt(2 (a / b - 1)) for a >= b >= 1."""
    (x,) = case.bounds
    if x.absolute > SMALL:
        return case.unknown
    relative = 1.01 * (x.relative + x.absolute)
    if x.term is None:
        return case.bound(0.0, math.sqrt(2.1 * relative))
    ratio = case.terms.small(case.terms.total(relative, x.term), 0.25, 2.9)
    return case.bound(0.0, 0.0, Term(case.terms.op("sqrt", ratio)))


def _arctanh(case: Case) -> Bound:
    """atanh' = 1 / ((1 - x) (1 + x)) <= 1 / (1 - |x|)."""
    terms = case.terms
    room = terms.op("sub", const(1.0), terms.op("abs", case.args[0]))
    ratio = terms.op("truediv", terms.total(*case.error(0)), room)
    return case.bound(0.0, 0.0, Term(_positive(case, ratio, terms.small(ratio, 0.25, 1.5))))


def _cube_root(case: Case) -> Bound:
    (x,), terms = case.bounds, case.terms
    if x.term is None and x.absolute <= FAINT:
        return case.bound(x.relative, 1.6 * x.absolute ** (1 / 3))
    ratio = terms.small(terms.op("truediv", terms.total(x.absolute, x.term), case.size(0)), 0.25, 1.0)
    return case.bound(x.relative, 0.0, Term(terms.op("mul", ratio, case.own_size())))


def _angle(case: Case) -> Bound:
    """The direction turns by asin(error / distance) at most; where it may cross the cut along -x, by 2 pi."""
    (y, x), terms = case.bounds, case.terms
    if y.pure and x.pure:
        return case.bound(0.0, (x.relative + y.relative) * 0.51)
    errors = [terms.total(*case.error(k)) for k in (0, 1)]
    sizes = [terms.op("abs", arg) for arg in case.args]
    ratio = terms.op("truediv", terms.op("add", *errors), terms.op("add", *sizes))
    turned = terms.small(ratio, 0.2, 1.6)
    beside = terms.op("gt", sizes[0], errors[0])
    before = terms.op("gt", case.args[1], errors[1])
    return case.bound(0.0, 0.0, Term(terms.op("select", terms.op("or", beside, before), turned, INF)))


def _power(case: Case) -> Bound:
    """d(a**b) = a**b (b da / a + log(a) db), and |b log(a)| <= EXP_RANGE where the power is finite and not zero."""
    (a, b), terms = case.bounds, case.terms
    if not b.exact and not (case.intervals[0].low > 0 and b.absolute <= 2.0**-20):
        return case.unknown
    relative = 1.1 * (b.relative * EXP_RANGE + b.absolute * EXP_RANGE)
    term: Term | None = None
    if b.term is not None:
        turned = terms.small(terms.total(0.0, b.term.times(EXP_RANGE)), 0.25, 1.3)
        term = Term(terms.op("mul", case.own_size(), turned))
    if a.exact:
        return case.bound(relative, 0.0, term)
    most, least = case.largest(1), case.smallest(0)
    if a.term is None and most <= CHEAP_EXPONENT and (a.pure or a.absolute <= least * 2.0**-20):
        return case.bound(relative + 1.1 * most * (a.relative + (a.absolute / least if a.absolute else 0.0)), 0.0, term)
    ratio: Value = const(a.relative)
    if not a.pure:
        share = terms.op("truediv", terms.total(a.absolute, a.term), case.size(0))
        ratio = terms.small(terms.op("add", share, ratio), 0.1, 1.0)
    wide = terms.small(terms.op("mul", ratio, case.size(1)), 0.1, 1.5)
    return case.bound(relative, 0.0, terms.plus(term, Term(terms.op("mul", wide, case.own_size()))))


CHEAP_EXPONENT = 64.0

_RULES: dict[str, Callable[..., Rule]] = {
    "growth": _growth, "growth_with_offset": lambda: _growth_with_offset, "logarithm": _logarithm,
    "log1p": lambda: _log1p, "bounded_slope": lambda: _bounded_slope, "tangent": lambda: _tangent,
    "arcsine": lambda: _arcsine, "contraction": _contraction, "arccosh": lambda: _arccosh,
    "arctanh": lambda: _arctanh, "cube_root": lambda: _cube_root, "angle": lambda: _angle, "power": lambda: _power,
}
"""The conditions of records by name: a rule, or what makes one of the record's numbers."""

CONDITIONS: dict[str, Rule] = {record.name: _RULES[record.condition[0]](*record.condition[1:])
                               for record in RECORDS.values() if record.condition is not None}
"""Function -> how it carries the error of its operands."""
