"""Loops whose trips differ much from lane to lane: a lane that is done gets the next element.

A gang that waits for its last lane (`loops`) computes nothing of use in the lanes that are done. Here a few registers
of lanes stay full instead:

    refill:  results of the lanes that are done, scattered to their places; the code before the loop for the elements
             that come next, which take the free lanes
    check:   lanes whose counters have reached their limits are done; if others come to theirs within `TRIPS` trips, one
             trip follows, else so many
    trips:   trips for all lanes, under the mask of those that go on, without tests of counters
             check again while more than `FULL` of the lanes go on, or no elements are left and any lane goes on

Each test makes the next trip wait, and the tests of a trip wait for each other (on a Zen 5 six cycles each). So lanes
of different ages run together, and a counter has a value for each lane. Refilling costs gathers and scatters; it pays
where trips are many and differ. Whether they do depends on the data, so that the kernel measures which way is the
faster one (`autotune`). Every lane is computed by the same operations either way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeVar

from llvmlite import ir

from pyflat.analysis.liveness import captured, outer_values, used_outside
from pyflat.functions import ways
from pyflat.ir.loops import all_ops, has_loop
from pyflat.ir.nodes import Const, Item, Loop, Op, Param, Value
from pyflat.ir.ops import SIGNS
from pyflat.ir.types import BOOL, INT
from pyflat.targets.numba.emitter import Emitter, Lane, size_of
from pyflat.targets.numba.integer_narrowing import IntegerNarrowing
from pyflat.targets.numba.llvm import I1, I8, I32, I64, element_at, i64, phi_of, stack, suffix
from pyflat.targets.numba.loop_variance import (
    Counter,
    LoopPlan,
    most_trips,
    needed,
    plan_loop,
    suspect_values,
    tests_apart,
)
from pyflat.targets.numba.loops import Gang, Interrupts

TRIPS = 8
"""Trips between two looks at the masks."""

FULL = 0.6
"""The share of the lanes from which on no new elements are fetched. A refill costs some ten trips of a small body, and
idle lanes cost their share of each trip; by that estimate it is the best share for a hundred trips. Shares of 0.5 to
0.75 gave the same on the one kernel that was tried."""

FEWEST_TRIPS = 64
"""A loop that cannot make more trips is not refilled: there is too little to gain."""

REGISTERS = 4
"""Registers of lanes: each has its state, what the loop reads, masks and places. On a Zen 5, of 2 to 6, four were the
fastest for Collatz' steps (4.1 times numba.vectorize; three 3.9, five 3.9), with the code of one register after that of
the other: in turns, their masks did not stay in the seven registers there are for them."""

MOST_STATE = 14
"""Values that a lane carries, at most; beyond that they do not stay in registers."""

MOST_OPERATIONS = 400
"""The loop is compiled twice."""

T = TypeVar("T")

States = Sequence[dict[Value, Any]]
"""For each register, what the lanes carry."""

Arrays = Sequence[tuple[T, Any]]
"""Values and the pointers to their arrays."""


@dataclass(frozen=True)
class Divergent:
    """A list with one loop that lanes leave at different times, and the code around it."""

    before: list[Item]
    loop: Loop
    after: list[Item]
    plan: LoopPlan
    """Its tests are those of each trip."""
    counting: dict[Op, Counter]
    """Tests of counters, made once in many trips."""
    carried: list[Value]
    """What a lane brings from before the loop, besides the loop's parameters."""


def divergent(items: Sequence[Item], results: Sequence[Value], shared: set[Value], suspects: set[Value]
              ) -> Divergent | None:
    """The parts of the list of a kernel, None where refilling is no use or too much."""
    loops = [k for k, item in enumerate(items) if isinstance(item, Loop)]
    if len(loops) != 1:
        return None
    at = loops[0]
    loop = items[at]
    assert isinstance(loop, Loop)
    plan = plan_loop(loop, lambda value: isinstance(value, Const) or value in shared, suspects)
    if not plan.masked or has_loop(plan.parts.header) or sum(1 for _ in all_ops(list(items))) > MOST_OPERATIONS:
        return None
    trips, free = most_trips(loop), ways.REFILL.forced is None
    if free and trips is not None and trips < FEWEST_TRIPS:
        return None
    before, after = list(items[:at]), list(items[at + 1:])
    known = {*shared, *loop.results}
    used = dict.fromkeys([*captured(loop), *outer_values(after, results)])  # in one order: the code is kept on disk
    carried = [value for value in used if value not in known and not isinstance(value, Const)]
    if len(carried) + len(loop.params) > (MOST_STATE if free else 4 * MOST_STATE):
        return None
    tests, counting = tests_apart(loop, plan)
    waiting = needed(plan.parts) & set(loop.params) - plan.unasked  # the header runs once more for lanes that are done
    plan = replace(plan, tests=tests, uniform=set(), waiting=waiting, kept=set())
    return Divergent(before, loop, after, plan, counting, carried)


class Refilled:
    """Writes `refilled`, which runs elements like `plain` does and has the same operands."""

    def __init__(self, emitter: Emitter, parts: Divergent, shared: dict[Value, Lane], inputs: Arrays[Param],
                 outputs: Arrays[Value], suspect: Value | None, narrowed: IntegerNarrowing):
        self.emitter, self.builder, self.parts, self.shared = emitter, emitter.builder, parts, shared
        self.inputs, self.outputs, self.suspect, self.narrowed = inputs, outputs, suspect, narrowed
        self.registers = range(REGISTERS)
        items = [*parts.before, parts.loop, *parts.after]
        results = [root for root, _ in outputs] + ([] if suspect is None else [suspect])
        self.marked, self.outside = suspect_values(items, suspect), used_outside(items, results)
        self.outside.update(parts.plan.tests)  # no arm of the header may keep one to itself

    def write(self, count: Any, state: Any) -> None:
        """The body, from the entry block to the return."""
        builder, emitter, parts = self.builder, self.emitter, self.parts
        self._clear_suspects(count)
        refill, check, trips, finish = map(builder.append_basic_block, ("refill", "check", "trips", "finish"))
        self.interrupts = Interrupts(emitter, state, finish)
        before = builder.block
        builder.branch(refill)

        builder.position_at_end(refill)
        kept = [*parts.loop.params, *parts.carried]
        zero = self._gang([{}])
        zeros = {value: zero.nothing_of(parts.plan, value) for value in kept}
        old = [{value: phi_of(builder, (zeros[value], before)) for value in kept} for _ in self.registers]
        nothing = emitter.const(BOOL, False).value
        live = [phi_of(builder, (nothing, before)) for _ in self.registers]
        held = [phi_of(builder, (nothing, before)) for _ in self.registers]
        places = [phi_of(builder, (emitter.splat(ir.Constant(I64, 0)), before)) for _ in self.registers]
        done_until = phi_of(builder, (i64(0), before))
        self._deliver(old, live, held, places)
        new, running, at, until = self._fetch(old, live, places, done_until, count)
        builder.cbranch(emitter.any(reduce(self.builder.or_, running)), check, finish)
        filled = builder.block

        builder.position_at_end(check)
        checked = [{value: phi_of(builder, (new[r][value], filled)) for value in kept} for r in self.registers]
        left = [phi_of(builder, (running[r], filled)) for r in self.registers]
        counted, bound = self._counted(checked, left)
        entered = builder.block
        builder.branch(trips)

        builder.position_at_end(trips)
        states = [{value: phi_of(builder, (checked[r][value], entered)) for value in kept} for r in self.registers]
        masks = [phi_of(builder, (counted[r], entered)) for r in self.registers]
        steps = phi_of(builder, (ir.Constant(I32, 0), entered))
        after, going = self._trip(states, masks)
        step = builder.add(steps, ir.Constant(I32, 1))
        look = builder.append_basic_block("look")
        self._pass_on(states, after, masks, going)
        steps.add_incoming(step, builder.block)
        builder.cbranch(builder.icmp_signed("<", step, bound), trips, look)

        builder.position_at_end(look)
        self.interrupts.count_trip()
        alive = self._alive(going)
        limit = builder.select(builder.icmp_signed("<", until, count),
                               i64(int(FULL * REGISTERS * emitter.width)), i64(0))
        self._pass_on(checked, after, left, going)
        self._pass_on(old, after, live, going)
        for r in self.registers:
            held[r].add_incoming(running[r], builder.block)
            places[r].add_incoming(at[r], builder.block)
        done_until.add_incoming(until, builder.block)
        builder.cbranch(builder.icmp_signed(">", alive, limit), check, refill)

        builder.position_at_end(finish)
        flags = builder.zext(emitter.any(builder.load(self.suspects, typ=emitter.types[BOOL])), I8)
        builder.ret(builder.or_(flags, builder.load(self.interrupts.left_early, typ=I8)))

    def _clear_suspects(self, count: Any) -> None:
        builder, emitter = self.builder, self.emitter
        self.suspects = stack(builder, emitter.types[BOOL])
        builder.store(emitter.const(BOOL, False).value, self.suspects)
        for root, pointer in self.outputs:
            if root is self.suspect:
                zero, is_volatile = ir.Constant(I8, 0), ir.Constant(I1, 0)
                emitter.llvm("llvm.memset.p0.i64", ir.VoidType(), pointer, zero, count, is_volatile)

    def _alive(self, masks: Sequence[Any]) -> Any:
        """How many lanes are set."""
        builder, total = self.builder, i64(0)
        for mask in masks:
            total = builder.add(total, self.emitter.set_bits(mask))
        return total

    def _gang(self, sets: States) -> Gang:
        gang = Gang(self.emitter, len(sets), self.interrupts, dict(self.shared), self.marked, self.outside,
                    self.narrowed)
        for lanes, known in zip(gang.sets, sets, strict=False):
            lanes.update((value, gang.arrived(self.parts.plan, value, number)) for value, number in known.items())
        return gang

    def _trip(self, states: States, masks: list[Any]) -> tuple[list[dict[Value, Any]], list[Any]]:
        """One trip of all lanes, register by register: the state and the masks after it."""
        loop, plan = self.parts.loop, self.parts.plan
        after, going = [dict(state) for state in states], list(masks)
        for r in self.registers:
            gang = self._gang([states[r]])
            gang.active = [masks[r]]
            gang.emit(plan.parts.header)
            gang.active = gang.going(plan)
            [going[r]] = gang.active
            gang.emit(plan.parts.rest)
            for param, value in zip(loop.params, plan.parts.next, strict=True):
                after[r][param] = gang.following(plan, param, value, 0, states[r][param], going[r])
        return after, going

    def _pass_on(self, phis: States, states: States, live: Sequence[Any], going: Sequence[Any]) -> None:
        """What the lanes carry and which of them go on, from here to the phis of another block."""
        block = self.builder.block
        for r in self.registers:
            for value, phi in phis[r].items():
                phi.add_incoming(states[r][value], block)
            live[r].add_incoming(going[r], block)

    def _counted(self, states: States, masks: Sequence[Any]) -> tuple[list[Any], Any]:
        """The lanes whose counters let them go on, and for how many trips all of these do."""
        builder, gang, left, near = self.builder, self._gang(states), [], []
        for r, mask in enumerate(masks):
            far = mask
            for test, counter in self.parts.counting.items():
                mask = builder.and_(mask, self._holds(gang, r, test, counter, 0))
                far = builder.and_(far, self._holds(gang, r, test, counter, TRIPS - 1))
            left.append(mask)
            near.append(builder.xor(mask, far))
        any_near = self.emitter.any(reduce(builder.or_, near))
        return left, builder.select(any_near, ir.Constant(I32, 1), ir.Constant(I32, TRIPS))

    def _holds(self, gang: Gang, register: int, test: Op, counter: Counter, trips: int) -> Any:
        """Whether the test of a counter holds after so many trips; not where that would be no int64."""
        limit, distance = gang.read(register, counter.limit), self.emitter.const(INT, trips * counter.step)
        limit = self.emitter.intrinsic("llvm.ssub.sat", limit, distance, kind=INT)
        sides = [gang.read(register, counter.param), limit]
        first, second = sides if test.args[0] is counter.param else reversed(sides)
        return first.compare(SIGNS[test.opcode], second).value

    def _deliver(self, states: States, live: Sequence[Any], held: Sequence[Any],
                 places: Sequence[Any]) -> None:
        """Store the results of the elements whose lanes are done."""
        builder, parts = self.builder, self.parts
        gang = self._gang(states)
        done = [builder.and_(held[r], builder.not_(live[r])) for r in self.registers]
        gang.active = list(done)
        gang.emit(parts.plan.parts.header)
        for r, lanes in enumerate(gang.sets):
            pairs = list(zip(parts.loop.results, parts.plan.parts.leave, strict=True))
            lanes.update([(result, gang.read_for(r, value, result)) for result, value in pairs])
        gang.emit(parts.after)
        for r in self.registers:
            for root, pointer in self.outputs:
                if root is not self.suspect:
                    self._scatter(gang.read(r, root), pointer, places[r], done[r])
        if self.suspect is not None:
            marked = [builder.and_(done[r], gang.read(r, self.suspect).value) for r in self.registers]
            with builder.if_then(self.emitter.any(reduce(self.builder.or_, marked)), likely=False):
                self._mark(self.suspect, places, marked)

    def _mark(self, suspect: Value, places: Sequence[Any], marked: Sequence[Any]) -> None:
        """Store the bits of suspect lanes, and that there are some. The others' are zero from the beginning: to store
        them one by one takes longer than all else that a lane needs when it is done."""
        seen = self.builder.load(self.suspects, typ=self.emitter.types[BOOL])
        self.builder.store(reduce(self.builder.or_, [seen, *marked]), self.suspects)
        for r in self.registers:
            for root, pointer in self.outputs:
                if root is suspect:
                    self._scatter(self.emitter.const(BOOL, True), pointer, places[r], marked[r])

    def _fetch(self, states: States, live: Sequence[Any], places: Sequence[Any], until: Any, count: Any
               ) -> tuple[list[dict[Value, Any]], list[Any], list[Any], Any]:
        """Give the free lanes the next elements: the states, the masks of the lanes that have one, the places of
        the elements, and up to where elements have been fetched."""
        builder, loop = self.builder, self.parts.loop
        fresh, at = [], []
        for r in self.registers:
            free = builder.not_(live[r])
            wanted = builder.add(self._ranks(free), self._spread(until))
            taken = builder.and_(free, builder.icmp_signed("<", wanted, self._spread(count)))
            fresh.append(taken)
            at.append(builder.select(taken, wanted, places[r]))
            until = builder.add(until, self._alive([taken]))
        gang = self._gang([{} for _ in self.registers])
        for r, lanes in enumerate(gang.sets):
            for param, pointer in self.inputs:
                lanes[param] = self._gather(param, pointer, at[r], fresh[r])
        gang.active = list(fresh)
        gang.emit(self.parts.before)
        new: list[dict[Value, Any]] = []
        for r in self.registers:
            starts: dict[Value, Value] = dict(zip(loop.params, loop.inits, strict=True))
            found = {value: gang.read_for(r, starts.get(value, value), value).value for value in states[r]}
            new.append({value: builder.select(fresh[r], gang.carried(self.parts.plan, value, found[value]), old)
                        for value, old in states[r].items()})
        running = [builder.or_(live[r], fresh[r]) for r in self.registers]
        return new, running, at, until

    def _ranks(self, mask: Any) -> Any:
        """For each lane that is set: how many before it are."""
        type_ = self.emitter.widened(I64)
        table = self.emitter.table(INT, tuple(range(self.emitter.width)))
        return self.emitter.llvm(f"llvm.masked.expandload.{suffix(type_)}", type_, table, mask,
                                 ir.Constant(type_, None))

    def _spread(self, number: Any) -> Any:
        """An int64 in every lane."""
        return self.emitter.broadcast(INT, number).value

    def _gather(self, param: Param, pointer: Any, places: Any, mask: Any) -> Lane:
        element = I8 if param.kind is BOOL else self.emitter.scalars[param.kind]
        type_ = self.emitter.widened(element)
        addresses = element_at(self.builder, pointer, places, element)
        name = f"llvm.masked.gather.{suffix(type_)}.v{self.emitter.width}p0"
        loaded = self.emitter.llvm(name, type_, addresses, _alignment(element), mask, ir.Constant(type_, None))
        if param.kind is BOOL:
            loaded = self.builder.icmp_unsigned("!=", loaded, self.emitter.splat(ir.Constant(I8, 0)))
        return Lane(self.emitter, param.kind, loaded)

    def _scatter(self, lane: Lane, pointer: Any, places: Any, mask: Any) -> None:
        element = I8 if lane.kind is BOOL else self.emitter.scalars[lane.kind]
        value = self.builder.zext(lane.value, self.emitter.widened(I8)) if lane.kind is BOOL else lane.value
        addresses = element_at(self.builder, pointer, places, element)
        name = f"llvm.masked.scatter.{suffix(value.type)}.v{self.emitter.width}p0"
        self.emitter.llvm(name, ir.VoidType(), value, addresses, _alignment(element), mask)


def _alignment(element: ir.Type) -> ir.Constant:
    return ir.Constant(I32, size_of(element))
