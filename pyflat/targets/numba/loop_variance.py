"""How a gang may run a loop: which parameters need a value for each lane, and what a lane that is done keeps.

    uniform     all lanes make the same number of trips: no mask at all
    masked      a mask says which lanes still go on; what a lane computes after its end is not used

A lane leaves with what the header gives it in the trip in which it stops, and keeps that. It cannot be computed again:
expensive arms and calls for rare operands run only for lanes that go on. A result that is a parameter waits as one,
any other is kept beside them. A parameter that starts and goes on the same in every lane (a counter) is one scalar. A
suspect lane leaves its loop, which would give every counted loop a mask; where counting alone ends the loop, it goes on
to the end instead, and stays suspect.

Where the operands of elementary functions lie is found for the lanes that need them.

    %2 = gt %x, 90.0                      suspect
    %3 = mul %x, 0.0174...
    %4 = select %c, %3, 0.0               where %c, which is `ge %x, -90.0`
    %5 = cos %3                           needed where %c and not %2: %3 is within [-1.571, 1.571]

The vector code of a function leaves out what cannot happen there (`analysis.ranged_machine`). Read lazily, a select
needs one of its arms, `and` and `or` of truths the second operand where the first does not settle them, and the results
of a suspect lane are the original's (`runtime.replay`). A value is exact in every lane that needs it so: its operands
are needed there too. What other lanes get, no result depends on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pyflat.analysis.intervals import ANY_FLOAT, ANY_INT, Interval, Intervals
from pyflat.analysis.liveness import captured, used_outside
from pyflat.analysis.ranges import union
from pyflat.ir.formats import FloatFormat
from pyflat.ir.loops import LoopParts, all_ops, definitions, take_apart
from pyflat.ir.nodes import Block, Const, Item, Loop, Op, Param, Value, walk
from pyflat.ir.ops import ORDERS
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MAX, INT_MIN

Known = Callable[[Value], bool]
"""Whether a value from outside is the same in all lanes."""


@dataclass(slots=True)
class LoopPlan:
    """How to run one loop. All of `tests` hold in a lane that goes on; what `suspects` say may be left out of them."""

    parts: LoopParts
    tests: list[Value]
    uniform: set[Param]
    """Parameters that are one scalar."""
    masked: bool
    """Lanes leave at different times: the mask of those that go on is carried."""
    unasked: set[Param] = field(default_factory=set)
    """Suspect bits that stay set instead of ending the loop of their lane: no test asks for them."""
    waiting: set[Param] = field(default_factory=set)
    """Parameters that a lane keeps when it is done."""
    kept: set[Value] = field(default_factory=set)
    """What a lane that is done has left with, and further trips change."""


class Counter(NamedTuple):
    """A parameter that ends the loop by counting: what it is compared with, and what is added in each trip."""

    param: Param
    limit: Value
    step: int


def plan_loop(loop: Loop, known: Known, suspects: set[Value]) -> LoopPlan:
    """`suspects` are the bools that make their lane suspect."""
    parts = take_apart(loop)
    params = set(loop.params)
    tests = _conjuncts(parts)
    counting = [value for value in tests if not _is_suspect(value, params, suspects)]
    ends = len(counting) < len(tests) and any(_counter(value, loop, parts) for value in counting)
    bits = {p for p in loop.params if p in suspects} if ends else set()
    if ends:
        plan = _uniform_plan(loop, parts, counting, known, bits)
        if plan is not None:
            return plan
    plan = _uniform_plan(loop, parts, [parts.go], known, set())
    if plan is not None:
        return plan
    # A suspect bit that does not end the loop is set for good, lane by lane, also where all lanes find the same.
    uniform = _same(loop, parts, params - bits, known)
    waiting = params.intersection(parts.leave) - uniform - bits
    kept = uniform.union(definitions(parts.header)).intersection(parts.leave)
    return LoopPlan(parts, counting if ends else [parts.go], uniform, True, bits, waiting, kept)


def _uniform_plan(loop: Loop, parts: LoopParts, tests: list[Value], known: Known, bits: set[Param]) -> LoopPlan | None:
    """Where all `tests` are the same in all lanes."""
    if len(tests) != 1:
        return None
    uniform = _same(loop, parts, set(loop.params) - bits, known)
    values = _uniform_values(parts, uniform, known)
    if not (isinstance(tests[0], Const) or tests[0] in values or known(tests[0])):
        return None
    return LoopPlan(parts, tests, uniform, False, bits)


def _conjuncts(parts: LoopParts) -> list[Value]:
    """What has to hold for a lane to go on."""
    waiting, found = [parts.go], []
    here = {op for item in parts.header if isinstance(item, Block) for op in item.ops}
    while waiting:
        value = waiting.pop()
        if isinstance(value, Op) and value.opcode == "and" and value in here:
            waiting += value.args
        else:
            found.append(value)
    return found


def _is_suspect(value: Value, params: set[Param], suspects: set[Value]) -> bool:
    return (isinstance(value, Op) and value.opcode == "not" and value.args[0] in params and value.args[0] in suspects)


def most_trips(loop: Loop) -> int | None:
    """After how many trips counting ends the loop at the latest, None where that is not known."""
    parts = take_apart(loop)
    known = []
    for test in _conjuncts(parts):
        found = _counter(test, loop, parts)
        if found is not None:
            counter, limit, step = found
            start = loop.inits[loop.params.index(counter)]
            if isinstance(start, Const) and isinstance(limit, Const) and None not in (start.value, limit.value):
                known.append((int(limit.value or 0) - int(start.value or 0)) // step + 2)
    return min(known, default=None)


def counters(loop: Loop) -> list[Counter]:
    """The parameters that end the loop by counting."""
    parts = take_apart(loop)
    return [found for test in _conjuncts(parts) if (found := _counter(test, loop, parts)) is not None]


def tests_apart(loop: Loop, plan: LoopPlan) -> tuple[list[Value], dict[Op, Counter]]:
    """The tests of a plan, taken apart: those that only computing each trip tells, and comparisons of counters, whose
    outcome is known some trips before."""
    tests = _conjuncts(plan.parts) if plan.tests == [plan.parts.go] else plan.tests
    counting = {test: found for test in tests
                if isinstance(test, Op) and (found := _counter(test, loop, plan.parts)) is not None}
    return [test for test in tests if test not in counting], counting


def _counter(test: Value, loop: Loop, parts: LoopParts) -> Counter | None:
    """Where the test alone ends the loop: its counter. The test is that comparison, or a parameter that says how it
    came out in the trip before, perhaps with other tests."""
    if isinstance(test, Param) and test in loop.params:
        after = parts.next[loop.params.index(test)]
        tests = [after] if not isinstance(after, Op) or after.opcode != "and" else list(after.args)
        return next((found for t in tests if not isinstance(t, Param) and (found := _counter(t, loop, parts))), None)
    if not isinstance(test, Op) or test.opcode not in ORDERS:
        return None
    counter, limit = test.args
    up = test.opcode in ("lt", "le")
    if not isinstance(counter, Param) or counter not in loop.params:
        counter, limit, up = limit, counter, not up
    if not isinstance(counter, Param) or counter not in loop.params or counter.kind is not INT:
        return None
    if not (isinstance(limit, Const) or limit in captured(loop)):
        return None
    grown = parts.next[loop.params.index(counter)]
    if not isinstance(grown, Op) or grown.opcode != "add" or counter not in grown.args:
        return None
    step = grown.args[1] if grown.args[0] is counter else grown.args[0]
    if not isinstance(step, Const) or step.value is None or not (step.value > 0 if up else step.value < 0):
        return None
    return Counter(counter, limit, int(step.value))


def needed(parts: LoopParts) -> set[Param]:
    """The parameters that the results are made of."""
    waiting, seen = list(parts.leave), set[Value]()
    here = set(all_ops(parts.header))
    while waiting:
        value = waiting.pop()
        if value not in seen:
            seen.add(value)
            if isinstance(value, Op) and value in here:
                waiting += value.args
    return {value for value in seen if isinstance(value, Param)}


def _same(loop: Loop, parts: LoopParts, candidates: set[Param], known: Known) -> set[Param]:
    """Those of `candidates` that start and go on the same in all lanes."""
    starts = {p for p, init in zip(loop.params, loop.inits, strict=True)
              if p in candidates and (isinstance(init, Const) or known(init))}
    while True:
        values = _uniform_values(parts, starts, known)
        kept = {p for p, after in zip(loop.params, parts.next, strict=True)
                if p in starts and (isinstance(after, Const) or after in values or known(after))}
        if kept == starts:
            return kept
        starts = kept


def _uniform_values(parts: LoopParts, params: set[Param], known: Known) -> set[Value]:
    """What the body computes the same in all lanes if `params` are the same."""
    values: set[Value] = set(params)
    for item in (*parts.header, *parts.rest):
        if isinstance(item, Block):
            for op in item.ops:
                if all(isinstance(a, Const) or a in values or known(a) for a in op.args):
                    values.add(op)
    return values


def suspect_values(items: list[Item], suspect: Value | None) -> set[Value]:
    """The bools that make a lane suspect when they are true: what the suspect bit is an OR of."""
    found: set[Value] = set()
    if suspect is None:
        return found
    leaves: dict[Value, Value] = {}
    follows: dict[Value, Value] = {}
    for item in walk(items):
        if isinstance(item, Loop):
            parts = take_apart(item)
            leaves.update(zip(item.results, parts.leave, strict=True))
            stop = {value.args[0] for value in _conjuncts(parts) if isinstance(value, Op) and value.opcode == "not"}
            follows.update((p, after) for p, after in zip(item.params, parts.next, strict=True) if p in stop)
    waiting = [suspect]
    while waiting:
        value = waiting.pop()
        if value in found or value.kind is not BOOL or isinstance(value, Const):
            continue
        found.add(value)
        if isinstance(value, Op) and value.opcode == "or":
            waiting += value.args
        waiting += [each[value] for each in (leaves, follows) if value in each]
    return found


# ---
# Intervals of a flat or masked list, around loops by iteration to a fixed point with widening, where a counter stays
# near its limit. Undefined values are 0 on this target. They hold in the lanes that compute a value: lanes that do not
# run hold any numbers, and nothing looks at them.

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


Condition = tuple[Value, bool]
Conditions = dict[Condition, None]
"""Those that hold together, in the order of the program: what is kept on disk must not depend on the process."""

MOST_CONDITIONS, MOST_PARTS, MOST_DEPTH = 64, 256, 4
"""Conditions of an operation: beyond them the inner ones are not looked at; what follows from them; and how deep a
condition is looked into."""


def operand_ranges(items: Sequence[Item], results: Sequence[Value], suspect: Value | None, floats: FloatFormat,
                   wanted: Callable[[Op], bool]) -> dict[Op, tuple[Interval, ...]]:
    """Where operands of the `wanted` operations of a flat or masked list lie. `suspect` says in which lanes the
    original settles the float results; None where no lane is run again."""
    if not any(map(wanted, all_ops(list(items)))):
        return {}
    walk = _RangeWalk(floats, items, results, suspect, wanted)
    found = _alike_of_pairs(walk.ranges) if walk.settle(items) else {}
    return {op: within for op, within in found.items() if any(each != ANY_FLOAT for each in within)}


class _RangeWalk(IntervalWalk):
    """Notes the operands of operations where their block ends: what a condition says is computed before."""

    def __init__(self, floats: FloatFormat, items: Sequence[Item], results: Sequence[Value], suspect: Value | None,
                 wanted: Callable[[Op], bool]):
        super().__init__(floats)
        self.wanted, self.outside = wanted, used_outside(items, ())
        settled = _ALWAYS if suspect is None else resolved({(suspect, False): None})
        self.ends = {result: settled if result.kind is FLOAT else _ALWAYS
                     for result in results if result not in self.outside}
        self.ranges: dict[Op, tuple[Interval, ...]] = {}

    def block(self, block: Block) -> None:
        super().block(block)
        wanted = [op for op in block.ops if self.wanted(op)]
        if not wanted:
            return
        needed = _needed(block.ops, {**dict.fromkeys(self.outside, _ALWAYS), **self.ends})
        for op in wanted:
            self.ranges[op] = self.known.operands_where(resolved(needed[op]), op)


_ALWAYS: Conditions = {}


def _needed(ops: Sequence[Op], outside: Mapping[Value, Conditions]) -> dict[Value, Conditions]:
    """For each operation conditions that hold in all lanes that need it. `outside`: those of what is used elsewhere."""
    found: dict[Value, Conditions] = {}
    implied: dict[Condition, Conditions] = {}

    def need(value: Value, conditions: Conditions) -> None:
        known = found.get(value)
        found[value] = conditions if known is None else {each: None for each in known if each in conditions}

    for op in reversed(ops):
        if op in outside:
            need(op, outside[op])
        own = found.setdefault(op, _ALWAYS)
        for arg, gate in zip(op.args, _gates(op), strict=True):
            if gate is None or len(own) >= MOST_CONDITIONS:
                need(arg, own)
            else:
                need(arg, {**own, **implied.setdefault(gate, implied.get(gate) or resolved({gate: None}))})
    return found


def _gates(op: Op) -> Sequence[Condition | None]:
    """For each operand, what holds of the others where it is needed."""
    if op.opcode == "select":
        return None, (op.args[0], True), (op.args[0], False)
    if op.opcode in ("and", "or") and op.kind is BOOL:
        return None, (op.args[0], op.opcode == "and")
    return [None] * len(op.args)


def resolved(conditions: Conditions) -> Conditions:
    """The conditions, and what follows from those of them that are made of others."""
    known = dict(conditions.keys())
    before = -1
    while before != len(known) < MOST_PARTS:
        before = len(known)
        for value, holds in list(known.items()):
            if not isinstance(value, Op) or value.kind is not BOOL:
                continue
            if value.opcode == "not":
                known.setdefault(value.args[0], not holds)
            elif value.opcode in ("and", "or"):
                for part, that in _parts(value, holds, known).items():
                    known.setdefault(part, that)
    return dict.fromkeys(known.items())


def _parts(value: Op, holds: bool, known: Mapping[Value, bool]) -> dict[Value, bool]:
    """What an `and` or `or` says of its operands: all, or of one where the other does not settle it."""
    a, b = value.args
    if holds == (value.opcode == "and"):
        return {a: holds, b: holds}
    return {each: holds for each, other in ((a, b), (b, a)) if _outcome(other, known) is (not holds)}


def _outcome(value: Value, known: Mapping[Value, bool], depth: int = MOST_DEPTH) -> bool | None:
    """What a truth is that is known, or made of such."""
    if value in known or not isinstance(value, Op) or value.kind is not BOOL or not depth:
        return known.get(value)
    parts = [_outcome(arg, known, depth - 1) for arg in value.args]
    match value.opcode:
        case "not":
            return None if parts[0] is None else not parts[0]
        case "and" | "or":
            ends = value.opcode == "or"
            return ends if ends in parts else None if None in parts else not ends
    return None


def _alike_of_pairs(ranges: dict[Op, tuple[Interval, ...]]) -> dict[Op, tuple[Interval, ...]]:
    """One interval for the sine and the cosine of an angle, which one function computes."""
    found: dict[Value, Interval] = {}
    pairs = [op for op in ranges if op.opcode in ("sin", "cos")]
    for op in pairs:
        angle, within = op.args[0], ranges[op][0]
        found[angle] = union(found[angle], within) if angle in found else within
    return {**ranges, **{op: (found[op.args[0]],) for op in pairs}}
