"""First-order bounds: what an error does to a whole update, and not to its parts one after the other.

    v - c = slope * d + rest           d the error of a loop parameter, |d| <= e, which the loop carries

Newton's step x - f(x) / f'(x) brings the error of x into both x and f(x), where it cancels: the derivative of the step
is nearly zero, while the sum of the parts grows with each trip. So a value has `slopes`, its derivatives by the loop's
parameters, computed beside it, and only the rest is bounded by the rules of `passes.accuracy.error_bounds`. The rest
has what is of second order, and begins with a share of e (`BUDGET`) instead of 0, by which it grows like a bound
without slopes: so it covers the rounding of the slopes, too, as each rounds by less than 2**-50 of that bound, and
`MOST_OPERATIONS` of them by less than the share. No slope is wrong by more than underflow where e is below `LARGE`;
`written` says infinity beyond that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pyflat.ir.build import const
from pyflat.ir.nodes import Const, Op, Param, Value
from pyflat.passes.accuracy.error_bounds import ARITHMETIC, INF, ULP, Bound, Case, Term, Terms

BUDGET = 2.0**-20
MOST_OPERATIONS = 2**10
"""In a loop: longer ones have no slopes."""
LARGE = 2.0**400
UNDERFLOW = 2.0**-600
"""More than the underflow of a slope makes of an error."""

Slopes = tuple[tuple[Param, Value], ...]


def of_parameter(error: Param, origins: frozenset[Op], hazards: frozenset[Op]) -> Bound:
    """The bound of a loop parameter whose error the loop carries in `error`."""
    return Bound(0.0, UNDERFLOW, Term(error, BUDGET), origins, hazards, slopes=((error, const(1.0)),))


def flat(bound: Bound, terms: Terms) -> Bound:
    """The bound without slopes: they are part of its term."""
    if not bound.slopes:
        return bound
    term = bound.term
    for error, slope in bound.slopes:
        term = terms.plus(term, _first_order(error, slope, terms))
    return replace(bound, term=term, slopes=())


def _first_order(error: Param, slope: Value, terms: Terms) -> Term:
    if isinstance(slope, Const):
        return Term(error, abs(float(slope.value or 0.0)))
    return Term(terms.op("mul", terms.op("abs", slope), error))


def rest(bound: Bound) -> Bound:
    """What the slopes do not say."""
    return replace(bound, slopes=())


class Correlated:
    """The bound of one operation some operands of which have slopes. `made` says whether the function computes another
    one of the same operand anyway."""

    def __init__(self, case: Case, made: Callable[[str, Sequence[Value]], Value | None]):
        self.case, self.terms, self.made = case, case.terms, made
        self.slopes = [dict(bound.slopes) for bound in case.bounds]
        self.rests = replace(case, bounds=[rest(bound) for bound in case.bounds])
        self.errors = list(dict.fromkeys(error for slopes in self.slopes for error in slopes))

    def bound(self, opcode: str, elementary: Callable[[Case], Bound] | None = None) -> Bound | None:
        """None where the operation has no rule here; `elementary` bounds it where it is a function."""
        if not all(bound.known for bound in self.case.bounds):
            return None
        match opcode:
            case "neg":
                return self.with_slopes(self.rests.bounds[0], list(map(self.negative, self.slopes[0].values())))
            case "add" | "sub":
                return self.sum(opcode)
            case "mul":
                return self.product()
            case "truediv":
                return self.quotient()
            case "select":
                return self.choice()
            case "sin" | "cos" if elementary is not None:
                return self.wave(opcode, elementary(self.rests))
            case "exp" if elementary is not None:
                return self.growth(elementary(self.rests))
        return None

    def total(self, k: int) -> Value:
        """The whole error of operand k as a value."""
        bounds = [flat(bound, self.terms) for bound in self.case.bounds]
        return self.terms.total(*replace(self.case, bounds=bounds).error(k))

    def with_slopes(self, bound: Bound, slopes: Sequence[Value | None], second: Value | None = None) -> Bound:
        """A bound of the rest with slopes by the errors, None for zero, and an error of second order."""
        if not bound.known:
            return bound
        term = bound.term if second is None else self.terms.plus(bound.term, Term(second))
        found = tuple((error, slope) for error, slope in zip(self.errors, slopes, strict=True) if slope is not None)
        return replace(bound, absolute=bound.absolute + UNDERFLOW, term=term, slopes=found)

    def negative(self, a: Value) -> Value:
        return self.terms.op("neg", a)

    def times(self, factor: Value, slope: Value) -> Value:
        one = isinstance(slope, Const) and slope.value == 1.0
        return factor if one else self.terms.op("mul", factor, slope)

    def sum(self, opcode: str) -> Bound:
        slopes: list[Value | None] = []
        for error in self.errors:
            a, b = (slopes_.get(error) for slopes_ in self.slopes)
            if b is None:
                slopes.append(a)
            elif a is None:
                slopes.append(b if opcode == "add" else self.negative(b))
            else:
                slopes.append(self.terms.op(opcode, a, b))
        return self.with_slopes(ARITHMETIC[opcode](self.rests), slopes)

    def product(self) -> Bound:
        """(a - da) (b - db) = ab - a db - b da + da db"""
        emit = self.terms.op
        slopes: list[Value | None] = []
        for error in self.errors:
            parts = [self.times(self.case.args[1 - k], slope) for k in (0, 1)
                     if (slope := self.slopes[k].get(error)) is not None]
            slopes.append(parts[0] if len(parts) == 1 else emit("add", *parts))
        inexact = not any(bound.exact for bound in self.case.bounds)
        second = emit("mul", self.total(0), self.total(1)) if inexact else None
        return self.with_slopes(ARITHMETIC["mul"](self.rests), slopes, second)

    def quotient(self) -> Bound:
        """q = a / b is off by (da - q db) / (b - db), which is the slope's part, (da - q db) / b, and as much times
        db / (b - db)."""
        emit, terms, (_, b) = self.terms.op, self.terms, self.case.bounds
        slopes: list[Value | None] = []
        for error in self.errors:
            above, below = (slopes_.get(error) for slopes_ in self.slopes)
            part = above
            if below is not None:
                part = self.times(self.case.value, below)
                part = self.negative(part) if above is None else emit("sub", above, part)
            assert part is not None
            slopes.append(emit("truediv", part, self.case.args[1]))
        if b.exact:
            return self.with_slopes(ARITHMETIC["truediv"](self.rests), slopes)
        below, size = self.total(1), self.case.size(1)
        absolute, term = self.rests.error(0)
        term = terms.plus(term, Term(emit("mul", self.rests.own_size(), terms.total(*self.rests.error(1)))))
        for error, slope in zip(self.errors, slopes, strict=True):
            assert slope is not None
            term = terms.plus(term, Term(emit("mul", terms.total(0.0, _first_order(error, slope, terms)), below)))
        assert term is not None
        value = emit("add", term.value, const(absolute / term.scale + UNDERFLOW))
        fits = emit("le", below, emit("mul", size, const(0.25)))
        off = Term(emit("select", fits, emit("truediv", value, size), INF), term.scale * 1.5)
        return self.with_slopes(self.case.bound(ULP, 0.0, off), slopes)

    def choice(self) -> Bound:
        zero = const(0.0)
        (_, a, b), cond = self.slopes, self.case.args[0]
        slopes = [self.terms.op("select", cond, a.get(error, zero), b.get(error, zero)) for error in self.errors]
        return self.with_slopes(ARITHMETIC["select"](self.rests), slopes)

    def wave(self, opcode: str, bound: Bound) -> Bound | None:
        """|f''| <= 1. Only where the derivative is there already."""
        slope = self.made("cos" if opcode == "sin" else "sin", self.case.op.args)
        if slope is None:
            return None
        error = self.total(0)
        half = self.terms.op("mul", self.terms.op("mul", error, error), const(0.5))
        slopes = [self.times(slope, inner) for inner in self.slopes[0].values()]
        return self.with_slopes(bound, slopes if opcode == "sin" else list(map(self.negative, slopes)), half)

    def growth(self, bound: Bound) -> Bound:
        """exp(x) - exp(x - d) = exp(x) (d - d**2 / 2 + ...)"""
        error = self.total(0)
        squared = self.terms.op("mul", error, self.terms.small(error, 0.5, 1.0))
        second = self.terms.op("mul", self.rests.own_size(), squared)
        slopes = [self.times(self.case.value, inner) for inner in self.slopes[0].values()]
        return self.with_slopes(bound, slopes, second)


def bounded(total: Value, terms: Terms) -> Value:
    """What a loop carries to the next trip: infinite beyond `LARGE`, and where it is nan."""
    if isinstance(total, Const):
        return total
    return terms.op("select", terms.op("le", total, const(LARGE)), total, INF)
