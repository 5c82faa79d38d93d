"""Vector math for operands that lie in known intervals: what the comparisons of an algorithm decide there.

    x within [-1.5, 1.5]:    size = m.abs(x)                          [0, 1.5]
                             first = size < 0.855                     either
                             second = size < 2.426                    true: a select by it is its first operand
                             far = (size >= 1e8) & (size < inf)       false: no lane is for the library

An algorithm of `pyflat.functions.vmath` is run as it stands, on a machine whose numbers carry intervals besides what
another machine computes of them. What a select drops nothing uses any more, and no target writes it. Bits are the same:
every comparison has its outcome in every lane whose operands lie in their intervals. Other lanes get some number.

Intervals come from the algorithm's own operations, by the rules of `analysis.ranges`: a comparison that was not decided
for one operand cannot become wrong by another algorithm's knowledge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pyflat.analysis.intervals import decided
from pyflat.analysis.ranges import ANY_FLOAT, FLOAT_RULES, Interval, union
from pyflat.functions.vmath.machine import F8, Format, Machine, Number
from pyflat.ir.formats import FORMATS

KEPT = 4096
"""Algorithms with intervals of which it is known what they decide."""

NEAR = 1e-3
"""How far a number may be from what it is near to, as a share of the larger bound, or of 1."""

DIVISION, ROW = 8.0, 6.0
"""What a division or root, and the row of a table cost, in additions."""

APART, LEAST = 2.0, 0.97
"""A test for nan and a select; and which share of the cost may be left at most for it."""


@dataclass(frozen=True, slots=True)
class Ranged:
    """A number with the interval of its lanes, None for integers and truths; of a truth, what it is in every lane."""

    machine: RangedMachine
    number: Number
    within: Interval | None = None
    known: bool | None = None

    def __neg__(self) -> Ranged:
        return self.machine.computed("neg", -self.number, self)

    def __invert__(self) -> Ranged:
        return Ranged(self.machine, ~self.number, None, None if self.known is None else not self.known)

    def __add__(self, other: Number) -> Ranged:
        return self.machine.computed("add", self.number + _plain(other), self, other)

    def __radd__(self, other: Number) -> Ranged:
        return self.machine.computed("add", other + self.number, other, self)

    def __sub__(self, other: Number) -> Ranged:
        return self.machine.computed("sub", self.number - _plain(other), self, other)

    def __rsub__(self, other: Number) -> Ranged:
        return self.machine.computed("sub", other - self.number, other, self)

    def __mul__(self, other: Number) -> Ranged:
        return self.machine.computed("mul", self.number * _plain(other), self, other)

    def __rmul__(self, other: Number) -> Ranged:
        return self.machine.computed("mul", other * self.number, other, self)

    def __truediv__(self, other: Number) -> Ranged:
        return self.machine.computed("truediv", self.number / _plain(other), self, other)

    def __rtruediv__(self, other: Number) -> Ranged:
        return self.machine.computed("truediv", other / self.number, other, self)

    def __and__(self, other: Number) -> Ranged:
        return self._joined(other, True) or Ranged(self.machine, self.number & _plain(other))

    def __or__(self, other: Number) -> Ranged:
        return self._joined(other, False) or Ranged(self.machine, self.number | _plain(other))

    def _joined(self, other: Number, neutral: bool) -> Ranged | None:
        """What `and` (of which True is `neutral`) or `or` of two truths is, where one is known."""
        if self.known is not None:
            return other if self.known is neutral and isinstance(other, Ranged) else self
        known = other.known if isinstance(other, Ranged) else None
        return None if known is None else self if known is neutral else other

    def __xor__(self, other: Number) -> Ranged:
        return Ranged(self.machine, self.number ^ _plain(other))

    def __lt__(self, other: Number) -> Ranged:
        return self.machine.compared("lt", self.number < _plain(other), self, other)

    def __le__(self, other: Number) -> Ranged:
        return self.machine.compared("le", self.number <= _plain(other), self, other)

    def __gt__(self, other: Number) -> Ranged:
        return self.machine.compared("gt", self.number > _plain(other), self, other)

    def __ge__(self, other: Number) -> Ranged:
        return self.machine.compared("ge", self.number >= _plain(other), self, other)


def _plain(x: Number) -> Number:
    """What the other machine computes with."""
    return x.number if isinstance(x, Ranged) else x


class RangedMachine:
    """A machine (see `pyflat.functions.vmath.machine`) over another one; `outcomes` are those of its comparisons."""

    def __init__(self, inner: Machine, outcomes: list[bool | None] | None = None):
        self.inner, self.format = inner, inner.format
        self.outcomes: list[bool | None] = [] if outcomes is None else outcomes
        self._floats = FORMATS[inner.format.name]

    def interval(self, x: Number) -> Interval | None:
        """None of integers and truths."""
        if isinstance(x, Ranged):
            return x.within
        number = self._floats.rounded(float(x))
        return Interval(number, number) if number == number else ANY_FLOAT

    def computed(self, opcode: str, number: Number, *operands: Number) -> Ranged:
        """The result of an operation on floats; on integers it has no interval."""
        known = [self.interval(x) for x in operands]
        first, last = known[0], known[-1]
        if first is None or last is None:
            return Ranged(self, number)
        if first is ANY_FLOAT and last is ANY_FLOAT:
            return Ranged(self, number, ANY_FLOAT)
        found = FLOAT_RULES[opcode](operands, first, last)
        return Ranged(self, number, ANY_FLOAT if found is None else self._rounded(found))

    def _rounded(self, found: Interval) -> Interval:
        return Interval(self._floats.rounded(found.low), self._floats.rounded(found.high), found.nan)

    def compared(self, opcode: str, number: Number, a: Number, b: Number) -> Ranged:
        first, second = self.interval(a), self.interval(b)
        if first is None or second is None:
            return Ranged(self, number)
        outcome = decided(opcode, first, second)
        self.outcomes.append(outcome)
        return Ranged(self, number, None, outcome)

    def select(self, condition: Number, a: Number, b: Number) -> Number:
        of_ints = any(isinstance(x, Ranged) and x.within is None for x in (a, b)) or (
            isinstance(a, int) and isinstance(b, int))
        if condition.known is not None:
            chosen = a if condition.known else b
            if isinstance(chosen, Ranged):
                return chosen
            a = b = chosen if of_ints else float(chosen)
        number = self.inner.select(condition.number, _plain(a), _plain(b))
        first, second = (None, None) if of_ints else (self.interval(a), self.interval(b))
        return Ranged(self, number, None if first is None or second is None else union(first, second))

    def equal(self, a: Number, b: Number) -> Number:
        return self.compared("eq", self.inner.equal(_plain(a), _plain(b)), a, b)

    def copysign(self, x: Number, sign: Number) -> Number:
        size = FLOAT_RULES["abs"]((x,), *[self.interval(x) or ANY_FLOAT] * 2) or ANY_FLOAT
        number = self.inner.copysign(_plain(x), _plain(sign))
        return Ranged(self, number, Interval(-size.high, size.high, size.nan))

    def abs(self, x: Number) -> Number:
        return self.computed("abs", self.inner.abs(_plain(x)), x)

    def sqrt(self, x: Number) -> Number:
        return self.computed("sqrt", self.inner.sqrt(_plain(x)), x)

    def rint(self, x: Number) -> Number:
        return self.computed("rint", self.inner.rint(_plain(x)), x)

    def floor(self, x: Number) -> Number:
        return self.computed("floor", self.inner.floor(_plain(x)), x)

    def trunc(self, x: Number) -> Number:
        return self.computed("trunc", self.inner.trunc(_plain(x)), x)

    # --- of what follows only the kind is known
    def fma(self, a: Number, b: Number, c: Number) -> Number:
        return Ranged(self, self.inner.fma(_plain(a), _plain(b), _plain(c)), ANY_FLOAT)

    @property
    def scales(self) -> bool:
        return self.inner.scales

    def scaled(self, x: Number, n: Number) -> Number:
        return Ranged(self, self.inner.scaled(_plain(x), _plain(n)), ANY_FLOAT)

    def bits(self, x: Number) -> Number:
        return Ranged(self, self.inner.bits(_plain(x)))

    def floats(self, i: Number) -> Number:
        return Ranged(self, self.inner.floats(_plain(i)), ANY_FLOAT)

    def left(self, i: Number, count: int) -> Number:
        return Ranged(self, self.inner.left(_plain(i), count))

    def right(self, i: Number, count: int) -> Number:
        return Ranged(self, self.inner.right(_plain(i), count))

    def rows(self, table: Any, index: Number, columns: int) -> Sequence[Number]:
        return [Ranged(self, x, ANY_FLOAT) for x in self.inner.rows(table, _plain(index), columns)]

    def chosen(self, index: Number, numbers: Sequence[float]) -> Number:
        return Ranged(self, self.inner.chosen(_plain(index), numbers), ANY_FLOAT)

    def near(self, value: Number, function: Callable[[float], float], x: Number) -> Number:
        within = self.interval(x) or ANY_FLOAT
        try:
            low, high = map(function, within.bounds)
        except (ValueError, OverflowError):
            return value
        slack = NEAR * max(1.0, abs(low), abs(high))
        return Ranged(self, _plain(value), Interval(low - slack, high + slack, within.nan))

    def wide(self) -> Machine:
        return RangedMachine(self.inner.wide(), self.outcomes)

    def widen(self, x: Number) -> Number:
        return Ranged(RangedMachine(self.inner.wide(), self.outcomes), self.inner.widen(_plain(x)), self.interval(x))

    def narrow(self, x: Number) -> Number:
        return Ranged(self, self.inner.narrow(_plain(x)), ANY_FLOAT)


class _Node:
    """A number of which only is known what it was computed from, and what that cost, in simple operations."""

    __slots__ = ("cost", "operands")

    def __init__(self, cost: float, *operands: Any):
        self.cost = cost
        self.operands = [x for x in operands if isinstance(x, _Node)]

    def _with(self, *others: Any) -> _Node:
        return _Node(1.0, self, *others)

    def _divided(self, other: Any) -> _Node:
        return _Node(DIVISION, self, other)

    __neg__ = __invert__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _with
    __and__ = __or__ = __xor__ = __lt__ = __le__ = __gt__ = __ge__ = _with
    __truediv__ = __rtruediv__ = _divided


class _Counting:
    """The machine of these."""

    def __init__(self, format: Format, scales: bool):
        self.format, self.scales = format, scales

    def _one(self, *operands: Any) -> _Node:
        return _Node(1.0, *operands)

    def _none(self, x: Any) -> _Node:
        return _Node(0.0, x)

    def near(self, value: Any, function: Callable[[float], float], x: Any) -> Any:
        return value

    scaled = fma = select = equal = left = right = abs = rint = floor = trunc = copysign = chosen = _one
    widen = narrow = _one
    bits = floats = _none

    def sqrt(self, x: Any) -> _Node:
        return _Node(DIVISION, x)

    def wide(self) -> Machine:
        return _Counting(F8, self.scales)

    def rows(self, _: Any, index: Any, columns: int) -> list[_Node]:
        row = _Node(ROW, index)
        return [_Node(1.0, row) for _ in range(columns)]


@dataclass(frozen=True, slots=True)
class Special:
    """An algorithm for operands in intervals. Two of the same `name` are the same operations: "" where nothing is
    decided, and the algorithm is what it was. `never` says of each result whether it is a truth that holds nowhere."""

    algorithm: Callable[..., Any]
    within: tuple[Interval, ...] = ()
    name: str = ""
    never: tuple[bool, ...] = ()
    told_apart: tuple[int, ...] = ()
    """Operands that may be nan, for which the outcomes do not hold: there the result is the operand itself."""

    @property
    def title(self) -> str:
        """A name for all that the operations depend on."""
        return f"{self.algorithm.__name__}{self.name}"

    def __call__(self, m: Machine, *args: Number) -> Any:
        """The algorithm on numbers of a machine."""
        if not self.name:
            return self.algorithm(m, *args)
        machine = RangedMachine(m)
        found = self.algorithm(machine, *[Ranged(machine, x, each) for x, each in zip(args, self.within, strict=True)])
        if isinstance(found, Ranged):
            return self._unless_nan(m, found, args)
        return tuple([self._unless_nan(m, each, args) for each in found])

    def _unless_nan(self, m: Machine, found: Number, args: Sequence[Number]) -> Number:
        if not isinstance(found, Ranged) or found.within is None:
            return False if isinstance(found, Ranged) and found.known is False else _plain(found)
        value = found.number
        for k in self.told_apart:
            value = m.select(m.equal(args[k], args[k]), value, args[k])
        return value


@lru_cache(KEPT)
def special(algorithm: Callable[..., Any], within: tuple[Interval, ...], nans: tuple[bool, ...], *,
            format: Format = F8, scales: bool = False) -> Special:
    """The algorithm for operands in these intervals, on machines of this format. `nans` says of which operand a nan
    gives nan: such lanes may be told apart, if what is decided for the others saves more than that costs."""
    counting = _Counting(format, scales)
    all_lanes = _tried(algorithm, within, counting)
    apart = tuple([k for k, each in enumerate(within) if each.nan and nans[k]])
    numbers = tuple([Interval(*each.bounds) if k in apart else each for k, each in enumerate(within)])
    if apart and (others := _tried(algorithm, numbers, counting)).cost + APART * len(apart) < LEAST * all_lanes.cost:
        return Special(algorithm, numbers, ".".join(["", others.name, *map(str, apart)]), others.never, apart)
    if not all_lanes.name.strip("-"):
        return Special(algorithm)
    return Special(algorithm, within, "." + all_lanes.name, all_lanes.never)


@dataclass(frozen=True, slots=True)
class _Trial:
    """What an algorithm decides: a letter for each comparison; what is left of it, and which results hold nowhere."""

    name: str
    cost: float
    never: tuple[bool, ...]


def _tried(algorithm: Callable[..., Any], within: Sequence[Interval], counting: _Counting) -> _Trial:
    machine = RangedMachine(counting)
    found = algorithm(machine, *[Ranged(machine, _Node(0.0), each) for each in within])
    results = (found,) if isinstance(found, Ranged) else found
    never = tuple([x is False or isinstance(x, Ranged) and x.known is False for x in results])
    left = [_plain(x) for x, holds_nowhere in zip(results, never, strict=True) if not holds_nowhere]
    letters = ["-" if outcome is None else "ft"[outcome] for outcome in machine.outcomes]
    return _Trial("".join(letters), _cost(left), never)


def _cost(results: Sequence[_Node]) -> float:
    """The cost of all that the results are computed from."""
    seen: set[_Node] = set()
    waiting = list(results)
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += node.operands
    return sum(node.cost for node in seen)
