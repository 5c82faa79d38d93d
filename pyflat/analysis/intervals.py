"""Intervals: between which numbers the lanes of a value lie, and which comparisons that decides.

`Intervals.note(op)` is called for each operation in order and knows the operands' intervals; `decide(op)` says
whether a comparison or nan test has the same outcome in every lane. So overflow tests, range tests and tests for
a zero divisor go where they provably cannot hold: `i % 10 + 1` never leaves int64, `1.0 + x * x` is never zero.
`together(first, second)` asks the same of the lanes in which `first` holds: under `if x > 1.0`, `log(x)` is no fault,
and neither is `1.0 / (x + 1.0)`.

The meaning is that of the flat form, in which operations are total. The intervals of operations are in `ranges`; in a
function of float32 they are rounded once more. `nan` says that a lane may be nan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from pyflat.analysis.ranges import (
    ANY_FLOAT,
    ANY_INT,
    FLOAT_RULES,
    INT_RULES,
    Interval,
    Number,
    anything,
    fused,
    of_table,
    union,
)
from pyflat.ir.formats import F8, FloatFormat
from pyflat.ir.nodes import Const, Op, Value
from pyflat.ir.ops import COMPARISONS, NAN_TESTS, OPPOSITE
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MAX, INT_MIN, Kind

__all__ = ["ANY_FLOAT", "ANY_INT", "Interval", "Intervals", "anything", "decided", "interval_of"]

MOST_FACTS, MOST_BEHIND = 16, 24
"""Comparisons that a condition is taken apart into, and operations that are looked at again where they hold."""

Fact = tuple[Op, bool]
"""A comparison, and whether it holds."""


class Intervals:
    """What is known about the values of one block so far."""

    def __init__(self, floats: FloatFormat = F8) -> None:
        self._floats = floats
        self._known: dict[Value, Interval] = {}
        """Intervals of what is not just anything of its kind."""
        self._choosing = False
        self._assumed: set[Value] = set()
        """What has been narrowed since it, or what it is made of, was noted."""

    def of(self, value: Value) -> Interval:
        known = self._known.get(value)
        if known is not None:
            return known
        if not isinstance(value, Const) or value.value is None or math.isnan(value.value):
            return anything(value.kind)
        return self._rounded(value.kind, Interval(value.value, value.value))

    def _rounded(self, kind: Kind, interval: Interval) -> Interval:
        """Bounds in the format of the lanes: what lies between two numbers lies between them when all are rounded."""
        if self._floats is F8 or kind is not FLOAT:
            return interval
        return Interval(self._floats.rounded(interval.low), self._floats.rounded(interval.high), interval.nan)

    def note(self, op: Op) -> None:
        """Learn the interval of `op` from those of its operands."""
        found = self._found(op)
        if found is not None and found != anything(op.kind):
            self._known[op] = found

    def _found(self, op: Op) -> Interval | None:
        if op.kind not in (INT, FLOAT):
            return None
        if op.opcode == "select":
            found: Interval | None = self._chosen(op)
        elif op.opcode == "gather":
            found = of_table(op.attr("table"))
        elif op.opcode in ("load", "fitted"):
            found = interval_of(op.attr("dtype"))
        elif op.opcode == "index":
            at, size = map(self.of, op.args)
            found = Interval(max(at.low, 0), min(at.high, size.high - 1) if at.low >= 0 else size.high - 1)
        elif self._floats is not F8 and op.opcode in ("to_float", "exact_float"):
            of = self.of(op.args[0])  # rounded once: by way of float64 it may be another number
            found = Interval(self._floats.from_int(int(of.low)), self._floats.from_int(int(of.high)))
        elif op.opcode == "fma":
            a, b, c = map(self.of, op.args)
            found = fused(op.args, a, b, c, narrow=self._floats is not F8)
        else:
            transfer = (INT_RULES if op.kind is INT else FLOAT_RULES).get(op.opcode)
            found = transfer(op.args, self.of(op.args[0]), self.of(op.args[-1])) if transfer else None
        if found is not None and (op.kind is FLOAT or (found.low >= INT_MIN and found.high <= INT_MAX)):
            return self._rounded(op.kind, found)
        return None

    def narrow(self, value: Value, interval: Interval) -> None:
        """Take it from a caller that knows more that `value` also lies in `interval`."""
        before = self.of(value)
        low, high = max(before.low, interval.low), min(before.high, interval.high)
        self._known[value] = Interval(low, high, before.nan and interval.nan)

    def _chosen(self, op: Op) -> Interval:
        """The interval of a select; an arm that the condition compares lies where that comparison lets it."""
        cond, a, b = op.args
        told = {a, b, *_args(a), *_args(b)}
        if isinstance(cond, Op) and cond.opcode in COMPARISONS and not told.isdisjoint(cond.args):
            return union(self._where((cond, True), a), self._where((cond, False), b))
        return union(self.of(a), self.of(b))

    def _where(self, fact: Fact, value: Value) -> Interval:
        """Where a value lies in the lanes in which a fact holds."""
        before: dict[Value, Interval | None] = {}
        self._learn(fact, before)
        found = None if before.keys().isdisjoint(_args(value)) else self._found(value)  # type: ignore[arg-type]
        found = self.of(value) if found is None else found
        self.restore(before)
        return found

    def decide(self, opcode: str, args: tuple[Value, ...]) -> bool | None:
        """The outcome of a comparison, nan test or overflow test when it is the same in every lane."""
        if opcode in _DECIDE:
            outcome = decided(opcode, self.of(args[0]), self.of(args[-1]))
            return self._overflow_test(opcode, args) if outcome is None else outcome
        return None

    def assume(self, condition: Value, *, holds: bool = True) -> Mapping[Value, Interval | None]:
        """Learn that `condition` holds, or does not, from here on; what was known before, for `restore`."""
        before: dict[Value, Interval | None] = {}
        for fact in _facts(condition, holds):
            self._learn(fact, before)
        self._assumed.update(before)
        return before

    def _learn(self, fact: Fact, before: dict[Value, Interval | None]) -> None:
        """A comparison that does not hold says nothing about a lane in which one side is nan."""
        op, holds = fact
        a, b = op.args[0], op.args[-1]
        if op.opcode in NAN_TESTS:
            self._learn_of_class(a, op.opcode, holds, before)
            return
        if op.opcode in ("eq", "ne"):
            if holds == (op.opcode == "eq"):
                x, y = self.of(a), self.of(b)
                both = Interval(max(x.low, y.low), min(x.high, y.high))
                self._narrow(a, both, before)
                self._narrow(b, both, before)
            return
        opcode = op.opcode if holds else OPPOSITE[op.opcode]
        below, above = (a, b) if opcode in ("lt", "le") else (b, a)
        low, high = self.of(below), self.of(above)
        strict = opcode in ("lt", "gt")
        if holds or not high.nan:
            self._narrow(below, Interval(low.low, min(low.high, _before(high.high, below) if strict else high.high),
                                         low.nan and not holds), before)
        if holds or not low.nan:
            self._narrow(above, Interval(max(high.low, _after(low.low, below) if strict else low.low), high.high,
                                         high.nan and not holds), before)

    def _learn_of_class(self, value: Value, opcode: str, holds: bool, before: dict[Value, Interval | None]) -> None:
        """What a test for nan or infinity says."""
        if holds != (opcode == "isfinite"):
            return
        known, most = self.of(value), math.inf if opcode == "isnan" else self._floats.largest
        self._narrow(value, Interval(max(known.low, -most), min(known.high, most), known.nan and opcode == "isinf"),
                     before)

    def _narrow(self, value: Value, interval: Interval, before: dict[Value, Interval | None]) -> None:
        if not isinstance(value, Const) and interval.low <= interval.high:
            before.setdefault(value, self._known.get(value))
            self._known[value] = interval
            if isinstance(value, Op) and value.opcode == "select" and not self._choosing:
                self._learn_of_select(value, interval, before)

    def _learn_of_select(self, op: Op, interval: Interval, before: dict[Value, Interval | None]) -> None:
        """An arm that cannot be the number says whether the condition holds."""
        cond, *arms = op.args
        self._choosing = True  # selects in conditions of selects are not looked into
        for arm, holds in zip(arms, (False, True), strict=True):
            known = self.of(arm)
            if (known.high < interval.low or known.low > interval.high) and not known.nan:
                for fact in _facts(cond, holds):
                    self._learn(fact, before)
        self._choosing = False

    def restore(self, before: Mapping[Value, Interval | None]) -> None:
        for value, interval in before.items():
            if interval is None:
                self._known.pop(value, None)
            else:
                self._known[value] = interval

    def together(self, first: Value, second: Value) -> bool | None:
        """Whether `second`, a test, holds where `first` does, if that is the same in every such lane."""
        if not isinstance(second, Op):
            return None
        if second.opcode == "not":
            outcome = self.together(first, second.args[0])
            return None if outcome is None else not outcome
        facts = _facts(first)
        if second.opcode == "and" and second.kind is BOOL and facts:
            outcomes = [self._together([*facts, *_facts(a)], b) for a, b in (second.args, second.args[::-1])]
            return False if False in outcomes else None
        return self._together(facts, second)

    def _together(self, facts: Sequence[Fact], second: Value) -> bool | None:
        """Whether a comparison or nan test holds where facts hold."""
        if not isinstance(second, Op) or second.opcode not in _DECIDE or not facts:
            return None
        if _is_zero_difference(second, facts):
            return False
        before = self._learned(facts, second)
        outcome = self.decide(second.opcode, second.args) if before else None
        self.restore(before)
        return outcome

    def operands_where(self, conditions: Iterable[tuple[Value, bool]], op: Op) -> tuple[Interval, ...]:
        """Where the operands of `op` lie in the lanes in which the conditions are what stands with them."""
        before = self._learned([fact for value, holds in conditions for fact in _facts(value, holds)], op)
        found = tuple(map(self.of, op.args))
        self.restore(before)
        return found

    def _learned(self, facts: Iterable[Fact], op: Op) -> dict[Value, Interval | None]:
        """Learn facts, and what they say about the operations that `op` is made of; what was known before."""
        before: dict[Value, Interval | None] = {}
        for fact in facts:
            self._learn(fact, before)
        for each in _behind(op, before.keys() | self._assumed) if before else ():
            found = self._found(each)
            if found is not None:
                known = self.of(each)
                self._narrow(each, Interval(max(known.low, found.low), min(known.high, found.high),
                                            known.nan and found.nan), before)
        return before

    def _overflow_test(self, opcode: str, args: tuple[Value, ...]) -> bool | None:
        """False for the sign test of `ir.faults` behind an add or sub that stays within int64."""
        if opcode != "lt" or not isinstance(args[0], Op) or self.of(args[1]) != Interval(0, 0):
            return None
        pair = args[0].args if args[0].opcode == "and" else (args[0], args[0])
        if any(not isinstance(p, Op) or p.opcode != "xor" for p in pair):
            return None
        mixed = [set(p.args) for p in pair if isinstance(p, Op)]
        for result in set().union(*mixed):
            if isinstance(result, Op) and result.kind is INT and result.opcode in ("add", "sub"):
                x, y = result.args
                wanted = [{x, result}, {y, result}] if result.opcode == "add" else [{x, y}, {x, result}]
                if (mixed in (wanted, wanted[::-1])) and self.is_exact(result.opcode, result.args):
                    return False
        return None

    def is_exact(self, opcode: str, args: Sequence[Value]) -> bool:
        """Whether a sum or a difference of ints stays within int64."""
        a, b = map(self.of, args)
        low, high = (a.low + b.low, a.high + b.high) if opcode == "add" else (a.low - b.high, a.high - b.low)
        return low >= INT_MIN and high <= INT_MAX


def interval_of(dtype: str) -> Interval | None:
    """The ints of a dtype, None where they are more than an int has."""
    if dtype[0] not in "iu" or dtype[1] == "8":
        return None
    bits = 8 * int(dtype[1])
    return Interval(0, 2**bits - 1) if dtype[0] == "u" else Interval(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _args(value: Value) -> tuple[Value, ...]:
    return value.args if isinstance(value, Op) else ()


def decided(opcode: str, a: Interval, b: Interval) -> bool | None:
    """The outcome of a comparison or nan test of numbers in two intervals when it is the same for all of them."""
    return _DECIDE[opcode](a, b)


def _facts(condition: Value, holds: bool = True) -> list[Fact]:
    """The comparisons of numbers that hold, or do not, where `condition` does."""
    found: list[Fact] = []
    waiting = [(condition, holds)]
    while waiting and len(found) < MOST_FACTS:
        value, holds = waiting.pop()
        if not isinstance(value, Op):
            continue
        if value.opcode == "not":
            waiting.append((value.args[0], not holds))
        elif value.opcode == ("and" if holds else "or") and value.kind is BOOL:
            waiting += [(arg, holds) for arg in value.args]
        elif value.opcode in COMPARISONS and value.args[0].kind in (INT, FLOAT) or value.opcode in NAN_TESTS:
            found.append((value, holds))
    return found


def _is_zero_difference(test: Op, facts: Sequence[Fact]) -> bool:
    """Whether the test says that a difference of two numbers is zero which differ. Numbers next to each other have a
    difference, in floats the subnormal numbers see to that."""
    difference, zero = test.args[0], test.args[-1]
    if test.opcode != "eq" or not isinstance(difference, Op) or difference.opcode != "sub":
        return False
    if not isinstance(zero, Const) or zero.value != 0:
        return False
    pair = {*map(_same, difference.args)}
    return any(op.opcode in ("eq", "ne") and {*map(_same, op.args)} == pair and holds == (op.opcode == "ne")
               for op, holds in facts)


def _behind(test: Op, changed: AbstractSet[Value]) -> list[Op]:
    """The operations on numbers that a test is made of, the nearest ones, in order, as far as they depend on what has
    changed."""
    found: dict[Op, None] = {}
    waiting: list[Value] = list(test.args)
    for value in waiting:  # grows
        if isinstance(value, Op) and value.kind is not BOOL and value not in found and len(found) < MOST_BEHIND:
            found[value] = None
            waiting += value.args
    if changed.isdisjoint(waiting):
        return []
    depends: dict[Op, bool] = {}

    def visit(op: Op) -> None:
        for arg in op.args:
            if isinstance(arg, Op) and arg in found and arg not in depends:
                visit(arg)
        depends[op] = any(arg in changed or isinstance(arg, Op) and depends.get(arg, False) for arg in op.args)

    for op in found:
        if op not in depends:
            visit(op)
    return [op for op in depends if depends[op]]


def _before(number: Number, value: Value) -> Number:
    """The largest number of the value's kind below."""
    return number - 1 if value.kind is INT else math.nextafter(number, -math.inf)


def _after(number: Number, value: Value) -> Number:
    return number + 1 if value.kind is INT else math.nextafter(number, math.inf)


def _same(value: Value) -> object:
    """Equal for the same value, and for equal literals."""
    return value.key if isinstance(value, Const) else value


# --- outcomes of comparisons; a nan makes all of them False except ne
def _less(a: Interval, b: Interval) -> bool | None:
    if a.low >= b.high:
        return False
    return True if a.high < b.low and not (a.nan or b.nan) else None


def _less_equal(a: Interval, b: Interval) -> bool | None:
    if a.low > b.high:
        return False
    return True if a.high <= b.low and not (a.nan or b.nan) else None


def _equal(a: Interval, b: Interval) -> bool | None:
    if a.low > b.high or b.low > a.high:
        return False
    return True if a.low == a.high == b.low == b.high and not (a.nan or b.nan) else None


def _unequal(a: Interval, b: Interval) -> bool | None:
    equal = _equal(a, b)
    return None if equal is None else not equal


_DECIDE: dict[str, Callable[[Interval, Interval], bool | None]] = {
    "lt": _less,
    "le": _less_equal,
    "gt": lambda a, b: _less(b, a),
    "ge": lambda a, b: _less_equal(b, a),
    "eq": _equal,
    "ne": _unequal,
    "isnan": lambda a, _: None if a.nan else False,
    "isinf": lambda a, _: False if math.isfinite(a.low) and math.isfinite(a.high) else None,
    "isfinite": lambda a, _: True if a.finite else None,
}
