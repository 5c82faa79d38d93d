"""Intervals of a flat or masked list, around loops by iteration to a fixed point with widening, where a counter stays
near its limit. Undefined values are 0 on this target. They hold in the lanes that compute a value: lanes that do not
run hold any numbers, and nothing looks at them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from pyflat.analysis.intervals import ANY_INT, Interval, Intervals
from pyflat.ir.formats import FloatFormat
from pyflat.ir.loops import take_apart
from pyflat.ir.nodes import Block, Const, Item, Loop, Param, Value
from pyflat.ir.types import BOOL, INT, INT_MAX, INT_MIN
from pyflat.targets.numba.loop_variance import counters

MOST_WALKS = 40
"""Beyond them nothing is known: it takes too long to find out."""

_LOWEST = {True: (0, -(2**31), INT_MIN), False: (0.0, -math.inf)}
_HIGHEST = {True: (2**31 - 1, 2**32 - 1, INT_MAX), False: (0.0, math.inf)}
"""Where an end goes that grows from walk to walk, for ints and for floats."""


def intervals_of_ints(items: Sequence[Item], floats: FloatFormat) -> dict[Value, Interval] | None:
    """Between which numbers each int lies; None where that does not settle."""
    walk = IntervalWalk(floats)
    settled = walk.settle(items)
    return {value: found for value, found in walk.facts.items() if value.kind is INT} if settled else None


class IntervalWalk:
    """Walks over a list again and again: `carried` are what loop parameters have been so far, and grow."""

    def __init__(self, floats: FloatFormat):
        self.floats = floats
        self.known = Intervals(floats=floats)
        self.facts: dict[Value, Interval] = {}
        self.carried: dict[Param, Interval] = {}
        self.settled, self.widen = True, False

    def settle(self, items: Sequence[Item]) -> bool:
        """Walk over a list until nothing grows any more; False where that takes too long."""
        for number in range(MOST_WALKS):
            self.known = Intervals(floats=self.floats)
            self.facts, self.settled, self.widen = {}, True, number > 1
            self.note(items)
            if self.settled:
                return True
        return False

    def note(self, items: Sequence[Item]) -> None:
        for item in items:
            match item:
                case Block():
                    self.block(item)
                case Loop():
                    self._loop(item)

    def block(self, block: Block) -> None:
        for op in block.ops:
            self.known.note(op)
            self._keep(op)

    def _keep(self, value: Value) -> None:
        if value.kind is not BOOL:
            self.facts[value] = self.known.of(value)

    def _of(self, value: Value) -> Interval:
        return Interval(0, 0) if isinstance(value, Const) and value.value is None else self.known.of(value)

    def _loop(self, loop: Loop) -> None:
        parts = take_apart(loop)
        inits = {param: self._of(init) for param, init in zip(loop.params, loop.inits, strict=True)}
        bounds = self._bounds(loop, inits)
        for param in loop.params:
            if param.kind is not BOOL:
                self._grow(param, inits[param])
                if param in bounds:
                    self._grow(param, bounds[param])
                self.known.narrow(param, self.carried[param])
                self._keep(param)
        self.note(parts.header)
        before = self.known.assume(parts.go)
        self.note(parts.rest)
        following = [self._of(value) for value in parts.next]
        self.known.restore(before)
        for param, interval in zip(loop.params, following, strict=True):
            if param.kind is not BOOL and param not in bounds:
                self._grow(param, interval)
        for result, value in zip(loop.results, parts.leave, strict=True):
            if result.kind is not BOOL:
                self.known.narrow(result, self._of(value))
                self._keep(result)

    def _bounds(self, loop: Loop, inits: Mapping[Param, Interval]) -> dict[Param, Interval]:
        """Where counters stay: the test sees them in the trip that ends the loop, or in the one before."""
        found: dict[Param, Interval] = {}
        for counter, limit, step in counters(loop):
            init, end = inits[counter], self.known.of(limit)
            if step > 0:
                bound = Interval(init.low, max(init.high + step, end.high + 2 * step))
            else:
                bound = Interval(min(init.low + step, end.low + 2 * step), init.high)
            other = found.get(counter, ANY_INT)
            bound = Interval(max(bound.low, other.low), min(bound.high, other.high))
            if bound.low >= INT_MIN and bound.high <= INT_MAX:
                found[counter] = bound
        return found

    def _grow(self, param: Param, interval: Interval) -> None:
        """The parameter may be in `interval` too."""
        before = self.carried.get(param)
        if before is None:
            self.carried[param] = interval
        elif interval.low < before.low or interval.high > before.high or interval.nan > before.nan:
            self.settled = False
            low, high = min(before.low, interval.low), max(before.high, interval.high)
            if self.widen:
                ints = param.kind is INT
                low = low if low == before.low else next(x for x in _LOWEST[ints] if x <= low)
                high = high if high == before.high else next(x for x in _HIGHEST[ints] if x >= high)
            self.carried[param] = Interval(low, high, before.nan or interval.nan)
