"""What holds of an operation for all operands, as formulas about words: facts, cuts, and bit-precise definitions.

*Facts* of IEEE arithmetic say when a result is nan, infinite or zero, its sign, and where it lies beside an operand.
*Cuts* say that rounding keeps order: where one operand is at least 3.0 and the other at least 1.0, a sum is at least
the rounded sum of these, 4.0. There is one for any two numbers; the solver asks for those that its model offends.
A *definition* is the operation itself, in z3's floats or words. Nothing is said of a result where Python raises.

Of functions of the C library nothing is known but their ranges (`functions.records`), which are taken as given.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import z3

from pyflat.functions.records import RECORDS
from pyflat.inspection.prove import floats
from pyflat.inspection.prove.floats import (
    DOUBLE,
    INF,
    NAN,
    NEGATIVE_INF,
    ONE,
    WORD,
    ZERO,
    Term,
    as_double,
    at_most,
    equal,
    size,
)
from pyflat.inspection.prove.ranges import WordSet, of_kind
from pyflat.inspection.prove.terms import Application, computed, known, literal, of_table
from pyflat.ir.ops import PRIMITIVES, ROUNDED
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MAX, INT_MIN, Kind

Fact = Callable[..., Iterator[Term]]


def facts(made: Application) -> Iterator[Term]:
    """What holds of the result, whatever the operands are."""
    rule = _FACTS.get((made.opcode, made.kinds[0]))
    if rule is not None:
        yield from rule(made.result, *made.args)
    record = RECORDS.get(made.opcode)
    if record is not None and record.range is not None and made.kind is FLOAT:
        low, high = record.range
        yield _nan_or(made.result, at_most(literal(low), made.result), at_most(made.result, literal(high)))
    if record is not None and record.rises_to is not None:
        yield _nan_or(made.result, at_most(ZERO, made.result))
        yield z3.Implies(made.args[0] == NAN, made.result == NAN)
    if made.opcode == "gather":
        yield from _of_table(made)


def in_range(made: Application, found: WordSet) -> Iterator[Term]:
    """The result is one of these words."""
    if made.kind is not BOOL and found != of_kind(made.kind):
        inside = [z3.And(made.result >= low, made.result <= high) for low, high in found.parts]
        yield z3.Or(*inside, *([made.result == NAN] if found.nan else ()))


def is_opaque(made: Application) -> bool:
    """Whether no more is known of the function than its range."""
    return made.opcode != "gather" and (made.opcode, made.kinds[0]) not in _DEFINITIONS


def _nan_or(result: Term, *conditions: Term) -> Term:
    return z3.Or(result == NAN, z3.And(*conditions))


def _both(a: Term, b: Term) -> tuple[tuple[Term, Term], tuple[Term, Term]]:
    return (a, b), (b, a)


def _add(t: Term, a: Term, b: Term) -> Iterator[Term]:
    opposed = z3.Or(z3.And(a == INF, b == NEGATIVE_INF), z3.And(a == NEGATIVE_INF, b == INF))
    yield (t == NAN) == z3.Or(a == NAN, b == NAN, opposed)
    yield floats.is_zero(t) == z3.And(floats.is_finite(a), equal(a, ~b))
    yield (t == -1) == z3.And(a == -1, b == -1)
    for x, y in _both(a, b):
        yield z3.Implies(z3.And(floats.is_inf(x), t != NAN), t == x)
        yield z3.Implies(z3.And(at_most(ZERO, y), t != NAN), at_most(x, t))
        yield z3.Implies(z3.And(at_most(y, ZERO), t != NAN), at_most(t, x))


def _mul(t: Term, a: Term, b: Term) -> Iterator[Term]:
    lost = [z3.And(floats.is_zero(x), floats.is_inf(y)) for x, y in _both(a, b)]
    yield (t == NAN) == z3.Or(a == NAN, b == NAN, *lost)
    yield z3.Or(t == NAN, (t < 0) == z3.Xor(a < 0, b < 0))
    for x, y in _both(a, b):
        yield z3.Implies(z3.And(floats.is_zero(x), t != NAN), floats.is_zero(t))
        yield z3.Implies(z3.And(floats.is_inf(x), t != NAN), floats.is_inf(t))
        yield z3.Implies(z3.And(size(x) <= ONE, t != NAN), size(t) <= size(y))
        yield z3.Implies(z3.And(size(x) >= ONE, t != NAN), size(t) >= size(y))


def _truediv(t: Term, a: Term, b: Term) -> Iterator[Term]:
    proper = z3.Not(floats.is_zero(b))
    yield z3.Implies(proper, (t == NAN) == z3.Or(a == NAN, b == NAN, z3.And(floats.is_inf(a), floats.is_inf(b))))
    there = z3.And(proper, t != NAN)
    yield z3.Implies(there, (t < 0) == z3.Xor(a < 0, b < 0))
    yield z3.Implies(z3.And(there, floats.is_zero(a)), floats.is_zero(t))
    yield z3.Implies(z3.And(there, floats.is_inf(b)), floats.is_zero(t))
    yield z3.Implies(z3.And(there, floats.is_inf(a)), floats.is_inf(t))
    yield z3.Implies(z3.And(there, size(b) >= ONE), size(t) <= size(a))
    yield z3.Implies(z3.And(there, size(b) <= ONE), size(t) >= size(a))
    yield z3.Implies(z3.And(there, size(a) <= size(b)), size(t) <= ONE)
    yield z3.Implies(z3.And(there, size(a) >= size(b)), size(t) >= ONE)


def _sqrt(t: Term, a: Term) -> Iterator[Term]:
    yield z3.Implies(a == NAN, t == NAN)
    yield z3.Implies(floats.is_zero(a), t == a)
    yield z3.Implies(a == INF, t == INF)
    there = z3.And(a >= 0, a != NAN)
    yield z3.Implies(there, z3.And(t >= 0, t != NAN))
    yield z3.Implies(z3.And(there, a >= ONE), z3.And(t >= ONE, t <= a))
    yield z3.Implies(z3.And(there, a <= ONE), z3.And(t >= a, t <= ONE))


def _rounded(below: bool | None, above: bool | None) -> Fact:
    """Facts about a rounding whose result is never above, or never below, its operand."""
    def rule(t: Term, a: Term) -> Iterator[Term]:
        yield (t == NAN) == (a == NAN)
        yield z3.Implies(floats.is_inf(a), t == a)
        yield (t < 0) == (a < 0)
        if below:
            yield z3.Or(t == NAN, at_most(t, a))
        if above:
            yield z3.Or(t == NAN, at_most(a, t))

    return rule


def _trunc(t: Term, a: Term) -> Iterator[Term]:
    yield from _rounded(None, None)(t, a)
    yield z3.Or(t == NAN, size(t) <= size(a))


def _to_float(t: Term, a: Term) -> Iterator[Term]:
    yield (t < 0) == (a < 0)
    yield (t == 0) == (a == 0)
    yield z3.And(t >= literal(-(2.0**63)), t <= literal(2.0**63))


def _float_mod(t: Term, a: Term, b: Term) -> Iterator[Term]:
    proper = z3.Not(floats.is_zero(b))
    yield z3.Implies(proper, (t == NAN) == z3.Or(a == NAN, b == NAN, floats.is_inf(a)))
    there = z3.And(proper, t != NAN)
    yield z3.Implies(z3.And(there, b >= 0), z3.And(t >= 0, t <= b))
    yield z3.Implies(z3.And(there, b < 0), z3.And(t < 0, t >= b))


def _int_mod(t: Term, a: Term, b: Term) -> Iterator[Term]:
    yield z3.Implies(b > 0, z3.And(t >= 0, t < b))
    yield z3.Implies(z3.And(b > 0, a >= 0), t <= a)
    yield z3.Implies(z3.And(a >= 0, a < b), t == a)
    yield z3.Implies(b < 0, z3.And(t <= 0, t > b))


def _int_floordiv(t: Term, a: Term, b: Term) -> Iterator[Term]:
    yield z3.Implies(z3.And(b > 0, a >= 0), z3.And(t >= 0, t <= a))
    yield z3.Implies(z3.And(b > 0, a < 0), z3.And(t < 0, t >= a))
    yield z3.Implies(z3.And(a >= 0, a < b), t == 0)
    yield z3.Implies(b == 1, t == a)


def _pow(t: Term, a: Term, b: Term) -> Iterator[Term]:
    exponent = known(b, FLOAT)
    even = exponent is not None and math.isfinite(exponent) and exponent % 2 == 0
    yield _nan_or(t, at_most(ZERO, t)) if even else z3.Implies(a >= 0, _nan_or(t, at_most(ZERO, t)))


def _of_table(made: Application) -> Iterator[Term]:
    items = [item for item in made.attrs[0][1] if item == item]
    if not items:
        yield made.result == NAN
    elif made.kind is FLOAT:
        nan = [made.result == NAN] if len(items) < len(made.attrs[0][1]) else []
        yield z3.Or(*nan, z3.And(at_most(literal(min(items)), made.result), at_most(made.result, literal(max(items)))))
    elif made.kind is INT:
        yield z3.And(made.result >= min(items), made.result <= max(items))


_FACTS: dict[tuple[str, Kind], Fact] = {
    ("add", FLOAT): _add, ("mul", FLOAT): _mul, ("truediv", FLOAT): _truediv, ("mod", FLOAT): _float_mod,
    ("sqrt", FLOAT): _sqrt, ("np_sqrt", FLOAT): _sqrt, ("floor", FLOAT): _rounded(True, None),
    ("ceil", FLOAT): _rounded(None, True), ("rint", FLOAT): _rounded(None, None), ("trunc", FLOAT): _trunc,
    ("to_float", INT): _to_float, ("mod", INT): _int_mod, ("floordiv", INT): _int_floordiv, ("pow", FLOAT): _pow,
}


# --- cuts


class Cuts:
    """Cuts at `numbers`, those that the functions name, and at the numbers of a model where these do not suffice."""

    def __init__(self, numbers: Iterable[bool | int | float]):
        named = {0.0, 0.5, 1.0, 2.0, math.inf, *(abs(float(number)) for number in numbers if number == number)}
        named |= {math.sqrt(number) for number in named}  # of squares that a limit bounds
        self._floats = sorted(named | {-number for number in named})
        whole = {int(number) for number in numbers if isinstance(number, int)}
        self._ints = sorted({0, 1, -1, INT_MIN, INT_MAX} | {n for n in whole if INT_MIN <= n <= INT_MAX})

    def of(self, made: Application, operands: Sequence[Any], result: Any) -> list[Term]:
        """Formulas that hold and that these operands and this result offend."""
        if made.opcode == "gather":
            return _row(made, operands[0])
        order = _ORDERS.get((made.opcode, made.kinds[0]))
        if any(value != value for value in (*operands, result)):
            return []
        if order is None:
            return self._ceiling(made, operands, result)
        if order.of_size:
            operands, result = [abs(value) for value in operands], abs(result)
        value = order.at(made, operands)
        if value is None or value == result:
            return []
        up = result < value

        def offends(near: Sequence[Any]) -> bool:
            bound = order.at(made, near)
            return bound is not None and (result < bound if up else result > bound)

        near = self._widest(operands, made.kinds, [up == rises for rises in order.rises], offends)
        return [order.formula(made, near, order.at(made, near), up)]

    def _ceiling(self, made: Application, operands: Sequence[Any], result: Any) -> list[Term]:
        """Bounds of exp and pow: no more than at larger operands, and something for other libraries."""
        limit = _CEILINGS.get(made.opcode)

        def offends(near: Sequence[Any]) -> bool:
            most = limit(*near) if limit else None
            return most is not None and result > most

        if limit is None or not offends(operands):
            return []
        near = self._widest(operands, made.kinds, [False] * len(operands), offends)
        premises = [at_most(arg, literal(float(value))) for arg, value in zip(made.args, near, strict=True)]
        if made.opcode == "pow":
            premises += [at_most(ZERO, arg) for arg in made.args]
        most = limit(*near)
        assert most is not None
        return [z3.Implies(z3.And(*premises, made.result != NAN), at_most(made.result, literal(most)))]

    def _widest(self, operands: Sequence[Any], kinds: Sequence[Kind], below: Sequence[bool],
                offends: Callable[[Sequence[Any]], bool]) -> list[Any]:
        """Numbers below or above the operands, as far away as still `offends`: a cut there says most."""
        near = list(operands)
        for place, (operand, kind) in enumerate(zip(operands, kinds, strict=True)):
            numbers: Sequence[Any] = self._floats if kind is FLOAT else self._ints
            at = bisect.bisect_right(numbers, operand) if below[place] else bisect.bisect_left(numbers, operand)
            for number in reversed(numbers[:at]) if below[place] else numbers[at:]:
                if not offends([*near[:place], number, *near[place + 1:]]):
                    break
                near[place] = number
        return near


def _row(made: Application, index: int) -> list[Term]:
    """The row of a table that is at this index."""
    value = computed(made.opcode, made.kind, made.attrs, [index])
    return [] if value is None else [z3.Implies(made.args[0] == index, made.result == literal(value))]


@dataclass(frozen=True, slots=True)
class _Monotone:
    """An operation that keeps order: in which operands it rises (it falls in the others), and whether that is said of
    absolute values; for which operands it holds."""

    rises: tuple[bool, ...]
    of_size: bool = False
    where: Callable[..., Term] | None = None

    def at(self, made: Application, operands: Sequence[Any]) -> Any:
        """The value at these operands; None where there is none."""
        try:
            value = PRIMITIVES[made.opcode].python(*operands, **dict(made.attrs))
        except (ArithmeticError, ValueError):
            return None
        beyond = value != value if made.kind is FLOAT else not INT_MIN <= value <= INT_MAX
        return None if beyond else value

    def formula(self, made: Application, near: Sequence[Any], bound: Any, up: bool) -> Term:
        premises = [self.where(*made.args)] if self.where else []
        if made.kind is FLOAT:
            premises.append(made.result != NAN)
        for arg, kind, value, rises in zip(made.args, made.kinds, near, self.rises, strict=True):
            if kind is FLOAT:
                premises.append(arg != NAN)
            premises.append(_ordered(kind, literal(value), size(arg) if self.of_size else arg, up == rises))
        result = size(made.result) if self.of_size else made.result
        return z3.Implies(z3.And(*premises), _ordered(made.kind, literal(bound), result, up))


def _ordered(kind: Kind, bound: Term, term: Term, up: bool) -> Term:
    """The term is at least the bound (`up`), or at most."""
    low, high = (bound, term) if up else (term, bound)
    return at_most(low, high) if kind is FLOAT else low <= high


def _fits(a: Term) -> Term:
    return z3.And(at_most(literal(-(2.0**63)), a), floats.less(a, literal(2.0**63)))


_RISES = _Monotone((True,))
_ORDERS: dict[tuple[str, Kind], _Monotone] = {
    ("add", FLOAT): _Monotone((True, True)), ("mul", FLOAT): _Monotone((True, True), of_size=True),
    ("truediv", FLOAT): _Monotone((True, False), of_size=True, where=lambda _, b: z3.Not(floats.is_zero(b))),
    ("sqrt", FLOAT): _Monotone((True,), where=lambda a: at_most(ZERO, a)),
    ("np_sqrt", FLOAT): _Monotone((True,), where=lambda a: at_most(ZERO, a)),
    **{(opcode, FLOAT): _RISES for opcode in ROUNDED.values()},
    **{(opcode, FLOAT): _Monotone((True,), where=_fits) for opcode in ROUNDED},
    ("to_float", INT): _RISES,
}


def _power_ceiling(base: float, exponent: float) -> float | None:
    try:
        return max(1.0, base**exponent) * (1 + 1e-12) if base >= 0 and exponent >= 0 else None
    except OverflowError:
        return None


def _ceiling_of(rises_to: float, function: Callable[[float], float]) -> Callable[[float], float | None]:
    return lambda most: function(most) * (1 + 1e-6) if most <= rises_to else None


_CEILINGS: dict[str, Callable[..., float | None]] = {
    "pow": _power_ceiling,
    **{record.name: _ceiling_of(record.rises_to, record.function()) for record in RECORDS.values()
       if record.rises_to is not None},
}


# --- bit-precise definitions


def definition(made: Application) -> Term | None:
    """The result bit for bit, where Python has one; None where z3 does not know the operation."""
    if made.opcode == "gather":
        index, rows = made.args[0], made.attrs[0][1]
        inside = z3.And(index >= -len(rows), index < len(rows))
        return z3.Implies(inside, made.result == of_table(rows, index))
    rule = _DEFINITIONS.get((made.opcode, made.kinds[0]))
    return rule(made.result, *made.args) if rule else None


def _is_double(t: Term, value: Term) -> Term:
    """The word stands for what z3 computes in floats."""
    return z3.If(z3.fpIsNaN(value), t == NAN, z3.And(t != NAN, as_double(t) == value))


def _arithmetic(operation: Callable[..., Term], where: Callable[..., Term] | None = None) -> Callable[..., Term]:
    def define(t: Term, *args: Term) -> Term:
        same = _is_double(t, operation(z3.RNE(), *map(as_double, args)))
        return z3.Implies(where(*args), same) if where else same

    return define


def _integral(rounding: Term) -> Callable[..., Term]:
    return lambda t, a: _is_double(t, z3.fpRoundToIntegral(rounding, as_double(a)))


def _to_word(rounding: Term) -> Callable[..., Term]:
    return lambda t, a: z3.Implies(_fits(a), t == z3.fpToSBV(rounding, as_double(a), WORD))


def _floor_division(t: Term, a: Term, b: Term) -> Term:
    quotient = a / b
    down = z3.And(z3.SRem(a, b) != 0, (a < 0) != (b < 0))
    return z3.Implies(b != 0, t == z3.If(down, quotient - 1, quotient))


def _floor_remainder(t: Term, a: Term, b: Term) -> Term:
    rest = z3.SRem(a, b)
    return z3.Implies(b != 0, t == z3.If(z3.And(rest != 0, (rest < 0) != (b < 0)), rest + b, rest))


_NOT_NEGATIVE = lambda a: z3.Or(a == NAN, at_most(ZERO, a))  # noqa: E731
_MODES = {"floor": z3.RTN(), "ceil": z3.RTP(), "trunc": z3.RTZ(), "rint": z3.RNE()}
_DEFINITIONS: dict[tuple[str, Kind], Callable[..., Term]] = {
    ("mul", INT): lambda t, a, b: t == a * b, ("floordiv", INT): _floor_division, ("mod", INT): _floor_remainder,
    ("add", FLOAT): _arithmetic(z3.fpAdd), ("mul", FLOAT): _arithmetic(z3.fpMul),
    ("truediv", FLOAT): _arithmetic(z3.fpDiv, lambda _, b: z3.Not(floats.is_zero(b))),
    ("sqrt", FLOAT): _arithmetic(z3.fpSqrt, _NOT_NEGATIVE), ("np_sqrt", FLOAT): _arithmetic(z3.fpSqrt, _NOT_NEGATIVE),
    **{(rounding, FLOAT): _integral(_MODES[rounding]) for rounding in ROUNDED.values()},
    **{(opcode, FLOAT): _to_word(_MODES[rounding]) for opcode, rounding in ROUNDED.items()},
    ("to_float", INT): lambda t, a: _is_double(t, z3.fpSignedToFP(z3.RNE(), a, DOUBLE)),
}
