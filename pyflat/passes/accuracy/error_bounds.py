"""How far an inexact value may be from CPython's: forward error bounds, as constants and as operations of the IR.

A twin with fast elementary functions computes some value v where CPython computes c. A `Bound` says

    |v - c| <= relative * |v| + absolute + term

with two constants and, where constants cannot say it, a `Term`: a value that is computed beside v, lane by lane.
Products, quotients and roots keep the relative part, at no cost in the twin; a sum of operands that may cancel turns it
into an absolute one: a constant where the operand's interval is known (`analysis.intervals`), else a term.

The claim holds in a lane where all decisions so far were CPython's and where neither v nor c is infinite or nan. A
term is never too small: constants are inflated by 2**-20, which covers the rounding of millions of operations on
terms; where no number bounds the error it is infinite or nan. Both values come from the same correctly rounded
operations, so an operation adds at most one rounding of each, 2**-52 of the value, to what its operands bring.

`EXACT` bounds values that are CPython's bit for bit; `unknown` is no bound at all. `origins` are the elementary
operations that a value is inexact by, `hazards` the operations behind it that may be infinite in CPython alone,
`carriers` the parameters and results of loops that have no bound because the loop carries none
(`passes.accuracy.carried_bounds`).

Source: N. J. Higham, Accuracy and Stability of Numerical Algorithms (2002), chapters 1 to 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyflat.analysis.intervals import Interval
from pyflat.errors import InternalError
from pyflat.ir.build import const
from pyflat.ir.nodes import Const, Op, Param, Scalar, Value
from pyflat.ir.ops import OPERATIONS
from pyflat.ir.uses import Key, Keys

ULP = 2.0**-52
"""One unit in the last place, relative to the value, at most."""
SUBNORMAL = 2.0**-1070
"""More than any rounding near zero, where an ulp is not relative."""
MAX_RELATIVE = 2.0**-36
"""A larger relative bound is worth nothing: decisions would mostly be near their thresholds."""
CHEAP = 4096.0
"""Where a value is known to be smaller than this, its relative error is taken at this bound, which costs nothing."""
SPREAD = 16.0
"""Terms whose scales differ by no more are added as if both had the larger one."""
FAINT = 2.0**-400
"""An absolute error that no ordinary number feels."""

POSITIVE = frozenset({"abs", "sqrt", "exp", "exp2", "cosh", "acos"})
"""Functions whose results are never negative, whatever their last digits."""
INF = const(math.inf)
FINITE_RANGES: dict[str, Interval] = {
    "log": Interval(-745.2, 709.8, nan=True), "log2": Interval(-1074.0, 1024.0, nan=True),
    "log10": Interval(-323.4, 308.3, nan=True), "log1p": Interval(-37.0, 709.8, nan=True),
    "asinh": Interval(-710.5, 710.5, nan=True), "acosh": Interval(0.0, 710.5, nan=True),
    "atanh": Interval(-18.8, 18.8, nan=True),
}
"""Where finite results of functions lie that are infinite for infinite operands alone: there both are infinite."""


@dataclass(frozen=True, slots=True)
class Term:
    """scale * value, computed lane by lane, `value` >= 0. Where that is known, the bounded number v is no larger than
    cover * value + offset, so that a relative error of it needs no operation of its own."""

    value: Value
    scale: float = 1.0
    cover: float = math.inf
    offset: float = 0.0

    def times(self, factor: float) -> Term:
        """For `factor` times the number."""
        return Term(self.value, self.scale * factor, self.cover * factor, self.offset * factor)


@dataclass(frozen=True, slots=True)
class Bound:
    relative: float = 0.0
    absolute: float = 0.0
    term: Term | None = None
    origins: frozenset[Op] = frozenset()
    hazards: frozenset[Op] = frozenset()
    known: bool = True
    carriers: frozenset[Param] = frozenset()
    slopes: tuple[tuple[Param, Value], ...] = ()
    """How much of the errors of loop parameters comes on top (`passes.accuracy.correlated_bounds`)."""

    @property
    def exact(self) -> bool:
        return self.pure and not self.relative

    @property
    def pure(self) -> bool:
        """Relative only: zero is zero, and the sign is CPython's."""
        return self.known and not self.absolute and self.term is None and not self.slopes


EXACT = Bound()


def unknown(origins: frozenset[Op], hazards: frozenset[Op] = frozenset(),
            carriers: frozenset[Param] = frozenset()) -> Bound:
    return Bound(origins=origins, hazards=hazards, known=False, carriers=carriers)


def up(number: float) -> float:
    """A little more: against all rounding of terms, and for what |v| and |c| differ by."""
    return number * (1 + 2.0**-20)


class Terms:
    """Appends operations on bounds, with the algebra of numbers that are not negative."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.made: dict[Key, Op] = {}
        self._keys = Keys()

    def op(self, opcode: str, *args: Value) -> Value:
        kind = OPERATIONS[opcode].result_kind(tuple(a.kind for a in args))
        if kind is None:
            raise InternalError(f"a bound cannot {opcode} {args}")
        numbers = [arg.value for arg in args if isinstance(arg, Const) and arg.value is not None]
        if len(numbers) == len(args):
            return _folded(opcode, numbers)
        op = Op(opcode, args, kind)
        key = self._keys.key(op)
        if key not in self.made:
            self.made[key] = op
            self.ops.append(op)
        return self.made[key]

    def append(self, op: Op) -> None:
        """An operation of the twin, which bounds may use as well."""
        self.ops.append(op)
        if op.opcode != "fault":
            self.made.setdefault(self._keys.key(op), op)

    def plus(self, a: Term | None, b: Term | None) -> Term | None:
        """The sum of two errors. One factor for both where they are about as large saves a product."""
        if a is None or b is None:
            return b if a is None else a
        if a.value is b.value:
            return Term(a.value, a.scale + b.scale)
        if a.scale < b.scale:
            a, b = b, a
        if not b.scale:
            return a
        if b.scale * SPREAD >= a.scale:
            return Term(self.op("add", a.value, b.value), a.scale)
        return Term(self.op("add", a.value, self.op("mul", b.value, const(b.scale / a.scale))), a.scale)

    def times(self, a: Term | None, size: Value) -> Term | None:
        """For `size` times the number."""
        if a is None:
            return None
        cover = math.inf if a.offset else a.cover
        return Term(self.op("mul", a.value, size), a.scale, cover)

    def total(self, absolute: float, term: Term | None) -> Value:
        """absolute + term as a value."""
        if term is None:
            return const(absolute)
        value = term.value if term.scale == 1.0 else self.op("mul", term.value, const(term.scale))
        return self.op("add", value, const(absolute)) if absolute else value

    def magnitude(self, value: Value, *, positive: bool = False) -> Value:
        """|value|; itself, where it is never negative."""
        return value if positive and not isinstance(value, Const) else self.op("abs", value)

    def small(self, ratio: Value, most: float, factor: float) -> Value:
        """ratio * factor where ratio <= most, else infinite; infinite for nan too."""
        return self.op("select", self.op("le", ratio, const(most)), self.op("mul", ratio, const(factor)), INF)


def _folded(opcode: str, numbers: Sequence[Scalar]) -> Const:
    """The operation on literals; nan, which bounds nothing, where Python raises."""
    try:
        return const(OPERATIONS[opcode].python(*numbers))
    except (ArithmeticError, ValueError):
        return const(math.nan)


@dataclass(frozen=True, slots=True)
class Case:
    """One operation whose bound is asked: the operation, what stands for its operands and itself in the twin, the
    operands' bounds, and in which intervals CPython's values of the operands lie."""

    op: Op
    args: Sequence[Value]
    value: Value
    bounds: Sequence[Bound]
    intervals: Sequence[Interval]
    result: Interval
    terms: Terms

    @property
    def origins(self) -> frozenset[Op]:
        return frozenset[Op]().union(*[b.origins for b in self.bounds])

    @property
    def hazards(self) -> frozenset[Op]:
        return frozenset[Op]().union(*[b.hazards for b in self.bounds])

    def bound(self, relative: float, absolute: float = 0.0, term: Term | None = None) -> Bound:
        if not relative <= MAX_RELATIVE or not math.isfinite(absolute):
            return self.unknown
        if term is not None and not math.isfinite(term.scale):
            return self.unknown
        if term is not None and not term.scale:
            term = None
        return Bound(up(relative), up(absolute), term, self.origins, self.hazards)

    @property
    def unknown(self) -> Bound:
        return unknown(self.origins, self.hazards, frozenset[Param]().union(*[b.carriers for b in self.bounds]))

    def size(self, k: int) -> Value:
        """|operand k| in the twin."""
        return self.terms.magnitude(self.args[k], positive=self.is_positive(k))

    def own_size(self) -> Value:
        return self.terms.magnitude(self.value, positive=self.op.opcode in POSITIVE)

    def is_positive(self, k: int) -> bool:
        """The twin's operand is never negative: a bound on it cannot turn negative by it either."""
        arg = self.op.args[k]
        if self.bounds[k].pure:
            return self.intervals[k].low >= 0
        return isinstance(arg, Op) and arg.opcode in POSITIVE

    def largest(self, k: int) -> float:
        """|operand k| is no more than this, in CPython and (nearly) in the twin."""
        return up(largest(self.intervals[k]))

    def smallest(self, k: int) -> float:
        """|operand k| is no less than this."""
        return smallest(self.intervals[k]) * (1 - 2.0**-10)

    def error(self, k: int) -> tuple[float, Term | None]:
        """The error of operand k as an absolute one: a constant and a term, which covers the operand where it can."""
        bound, most = self.bounds[k], self.largest(k)
        term = bound.term
        if most <= CHEAP:
            absolute = up(bound.relative * most) + bound.absolute
            return absolute, None if term is None else Term(term.value, term.scale, 0.0, most)
        if not bound.relative:
            return bound.absolute, term
        if term is not None and math.isfinite(term.cover):
            scale = term.scale + up(bound.relative) * term.cover
            return bound.absolute + up(bound.relative) * term.offset, Term(term.value, scale, term.cover, term.offset)
        size = Term(self.size(k), up(bound.relative))
        found = self.terms.plus(term, size)
        assert found is not None
        return bound.absolute, Term(found.value, found.scale, _shrunk(size, found))

    def scaled(self, k: int, absolute: float, term: Term | None) -> tuple[float, Term | None]:
        """|operand k| * (absolute + term), for the product with operand k."""
        most = self.largest(k)
        if isinstance(self.args[k], Const) or most <= CHEAP:
            return up(absolute * most), None if term is None else term.times(up(most))
        if absolute * most <= FAINT:
            return up(absolute * most), self.terms.times(term, self.size(k))
        if not absolute and term is None:
            return 0.0, None
        if term is None:
            return 0.0, Term(self.size(k), absolute)
        if absolute:
            more = const(absolute / term.scale)
            term = Term(self.terms.op("add", term.value, more), term.scale, term.cover, term.offset)
        return 0.0, self.terms.times(term, self.size(k))


def _shrunk(part: Term, total: Term) -> float:
    """How many times larger a part is than what of it `Terms.plus` has put into the total."""
    return 1.0 if part.scale * SPREAD >= total.scale else total.scale / part.scale


def largest(interval: Interval) -> float:
    return max(abs(float(interval.low)), abs(float(interval.high)))


def smallest(interval: Interval) -> float:
    return 0.0 if interval.has(0.0) else min(abs(float(interval.low)), abs(float(interval.high)))


# --- arithmetic


def _same(case: Case) -> Bound:
    return case.bounds[0]


def _sum(case: Case) -> Bound:
    """Operands that cannot cancel keep their relative errors."""
    a, b = case.bounds
    if case.op.opcode == "sub" and case.op.args[0] is case.op.args[1]:
        return EXACT  # zero or nan
    x, y = case.intervals
    signs = (x.low >= 0 and y.low >= 0) or (x.high <= 0 and y.high <= 0)
    if case.op.opcode == "sub":
        signs = (x.low >= 0 and y.high <= 0) or (x.high <= 0 and y.low >= 0)
    if signs and max(a.relative, b.relative) <= 2.0**-40:
        return case.bound(max(a.relative, b.relative) + ULP, a.absolute + b.absolute, case.terms.plus(a.term, b.term))
    (first, one), (second, two) = case.error(0), case.error(1)
    term = case.terms.plus(one, two)
    if term is not None:
        cover, offset = _covering(case, (one, two), term)
        term = Term(term.value, term.scale, cover, offset)
    return case.bound(ULP, first + second, term)


def _covering(case: Case, parts: tuple[Term | None, Term | None], total: Term) -> tuple[float, float]:
    """How far the total of its operands' terms covers a sum."""
    cover, offset = 0.0, 0.0
    for k, part in enumerate(parts):
        most = case.largest(k)
        if most <= CHEAP or isinstance(case.args[k], Const):
            offset += most
        elif part is None:
            return math.inf, 0.0
        else:
            wide, offset = part.cover * _shrunk(part, total), offset + part.offset
            same = parts[0] is not None and parts[1] is not None and parts[0].value is parts[1].value
            cover = cover + wide if same else max(cover, wide)
    return (cover, offset) if math.isfinite(cover) and math.isfinite(offset) else (math.inf, 0.0)


def _product(case: Case) -> Bound:
    """|ab - a'b'| <= |b| Ea + (|a| + Ea) Eb, the relative parts apart."""
    a, b = case.bounds
    relative = a.relative + b.relative + a.relative * b.relative + ULP
    first, one = case.scaled(1, a.absolute, a.term)
    second, two = case.scaled(0, b.absolute, b.term)
    term = case.terms.plus(one, two)
    if a.term is None and b.term is None:
        return case.bound(relative, first + second + a.absolute * b.absolute + SUBNORMAL, term)
    if not a.pure and not b.pure:
        errors = [case.terms.total(each.absolute, each.term) for each in (a, b)]
        term = case.terms.plus(term, Term(case.terms.op("mul", *errors)))
    return case.bound(relative, first + second + SUBNORMAL, term)


def _quotient(case: Case) -> Bound:
    """|a/b - a'/b'| <= (Ea + |a/b| Eb) / (|b| - Eb), which an error of b near |b| makes infinite."""
    a, b = case.bounds
    relative, least, terms = a.relative + b.relative, case.smallest(1), case.terms
    if not b.pure:
        if not (least > 0 and b.term is None and b.absolute <= least * MAX_RELATIVE):
            return _loose_quotient(case)
        relative += up(b.absolute / least)
    relative, absolute, term = relative + ULP, a.absolute, a.term
    if least > 0:
        absolute, term = up(absolute / least), term and term.times(up(1.0 / least))
    elif term is not None:
        value = terms.op("add", term.value, const(absolute / term.scale)) if absolute else term.value
        cover = math.inf if term.offset else term.cover
        absolute, term = 0.0, Term(terms.op("truediv", value, case.size(1)), term.scale, cover)
    elif absolute:
        absolute, term = 0.0, Term(terms.op("truediv", const(absolute), case.size(1)))
    return case.bound(relative, absolute + SUBNORMAL, term)


def _loose_quotient(case: Case) -> Bound:
    """The same where the divisor has an error that is not relative: for Eb <= |b| / 4, else infinite. One division
    does, which the underflow of what is divided must not touch."""
    (a, b), terms, size = case.bounds, case.terms, case.size(1)
    error = terms.total(b.absolute, b.term)
    term = terms.plus(a.term, Term(terms.op("mul", case.own_size(), error)))
    assert term is not None
    value = terms.op("add", term.value, const(a.absolute / term.scale + SUBNORMAL))
    fits = terms.op("le", error, terms.op("mul", size, const(0.25)))
    off = terms.op("select", fits, terms.op("truediv", value, size), INF)
    return case.bound((a.relative + b.relative) * 1.5 + ULP, SUBNORMAL, Term(off, term.scale * 1.5))


def _root(case: Case) -> Bound:
    """|sqrt a - sqrt b| <= |a - b| / sqrt a, and <= sqrt |a - b|."""
    (a,) = case.bounds
    relative = a.relative * 1.01 + ULP
    if a.term is None and a.absolute <= FAINT:
        return case.bound(relative, up(math.sqrt(a.absolute)))
    if a.term is None and case.smallest(0) > 0:
        return case.bound(relative, up(a.absolute / math.sqrt(case.smallest(0))))
    error = case.terms.total(a.absolute, a.term)
    return case.bound(relative, 0.0, Term(case.terms.op("truediv", error, case.value)))


def _choice(case: Case) -> Bound:
    _, a, b = case.bounds
    term = a.term
    if a.term is not b.term:
        none = Term(const(0.0), 0.0)
        one, two = a.term or none, b.term or none
        value = case.terms.op("select", case.args[0], one.value, two.value)
        both = a.term is not None and b.term is not None
        term = Term(value, max(one.scale, two.scale), max(one.cover, two.cover) if both else math.inf,
                    max(one.offset, two.offset))
    return case.bound(max(a.relative, b.relative), max(a.absolute, b.absolute), term)


def _continuous_choice(case: Case) -> Bound:
    """A minimum, a maximum: where the twin takes the other operand, both are as near as their errors."""
    _, a, b = case.bounds
    term = a.term if a.term is b.term else case.terms.plus(a.term, b.term)
    return case.bound(max(a.relative, b.relative), max(a.absolute, b.absolute), term)


def _scaled_by_power(case: Case) -> Bound:
    """ldexp with an int that is the same in both."""
    (a, _), n = case.bounds, case.args[1]
    if a.pure:
        return case.bound(a.relative + ULP, SUBNORMAL)
    error = case.terms.total(a.absolute, a.term)
    return case.bound(a.relative + ULP, SUBNORMAL, Term(case.terms.op("ldexp", error, n)))


def _remainder(case: Case) -> Bound:
    """a % b where both take the same quotient, and b is exact."""
    if not case.bounds[1].exact:
        return case.unknown
    absolute, term = case.error(0)
    if (most := case.largest(1)) <= CHEAP or isinstance(case.args[1], Const):
        return case.bound(0.0, absolute + most * ULP, term)
    return case.bound(0.0, absolute, case.terms.plus(term, Term(case.size(1), ULP)))


def _norm(case: Case) -> Bound:
    """CPython's hypot, within an ulp in both: | |p| - |q| | <= |p - q|."""
    a, b = case.bounds
    term = case.terms.plus(a.term, b.term)
    return case.bound(max(a.relative, b.relative) * 1.5 + 4 * ULP, a.absolute + b.absolute + SUBNORMAL, term)


Rule = Callable[[Case], Bound]
ARITHMETIC: dict[str, Rule] = {
    "neg": _same, "abs": _same, "add": _sum, "sub": _sum, "mul": _product, "truediv": _quotient, "sqrt": _root,
    "np_sqrt": _root, "select": _choice, "ldexp": _scaled_by_power, "mod": _remainder, "fmod": _remainder,
    "copysign": _same, "hypot": _norm, "continuous": _continuous_choice,
}
"""Opcode -> the bound of its result; "continuous" is a select that is a minimum, a maximum or an absolute value."""
