"""Lanes that take an expensive arm wait until a gang of them is together: compact and scatter.

    for each gang of the operands:
        compute the conditions of the expensive arms
        where few of the gang's lanes take such an arm: put their operands and places into the arm's queue
        run the others, store their results
        where a queue has a gang full: run that, scatter its results
    at the end run what is left in the queues, each filled up with its first lane

An arm costs a gang as much for one lane as for all. Where the lanes that take it lie scattered, most of that is spent
for nothing; where they lie together, nothing waits. It is decided for each gang by the number of lanes, so that no mix
needs to be known before. The operands are kept, not only the places, because a result may be written over them.

Only conditions count that are known before any arm or loop has run, and only registers of 512 bits: others cannot put
lanes together in one instruction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Any

from llvmlite import ir

from pyflat.analysis.liveness import used_outside
from pyflat.functions import ways
from pyflat.ir.loops import all_ops, take_apart
from pyflat.ir.nodes import Block, Const, Item, Loop, Op, Param, Value
from pyflat.targets.numba.arms import Arm, Literal, plan_arms
from pyflat.targets.numba.costs import cost_of, costs, is_called
from pyflat.targets.numba.emitter import Lane, size_of
from pyflat.targets.numba.jit import processor
from pyflat.targets.numba.llvm import I1, I8, I64, counted, element_at, i64, phi_of, spread, stack, suffix
from pyflat.targets.numba.loops import Gang

REGISTER = 64
"""Bytes of a register whose lanes one instruction puts together."""
MOST_ARMS, MOST_OPERANDS = 4, 12
TRIPS = 8
"""Trips that a loop is taken to make."""
EARLY = 0.25
"""What the conditions of an arm may cost at most, as a share of the arm: lanes that wait compute them twice."""
GANGS = 4
"""From this many in a call on lanes wait: before, queues do not fill."""


@dataclass(frozen=True, slots=True)
class RegroupedArm:
    """An expensive arm: where at most `most` lanes of a gang meet its conditions, they wait."""

    conditions: tuple[Literal, ...]
    most: int


@dataclass(frozen=True, slots=True)
class Regrouping:
    """Expensive arms of a list, and what has to be computed first to know which lanes take them. The list computes
    it again, so that its arms are planned as they would be; LLVM sees that it is the same."""

    arms: tuple[RegroupedArm, ...]
    early: list[Item]

    @property
    def conditions(self) -> set[Value]:
        return {value for queue in self.arms for value, _ in queue.conditions}


def plan_regrouping(items: Sequence[Item], results: Sequence[Value], shared: Collection[Value], params: Sequence[Param],
                    width: int, registers: int) -> Regrouping | None:
    """The arms whose lanes are worth waiting for, None where there is none. `shared` values are the same in all lanes,
    `params` are those that are not."""
    if not 0 < len(params) <= MOST_OPERANDS:
        return None
    same = _shared(items, shared)
    moving = costs().regroup * (len(params) + len(results) + 1) / 4  # as measured: two operands, a place, a result
    found: dict[frozenset[Literal], float] = {}
    orders: dict[frozenset[Literal], tuple[Literal, ...]] = {}  # the same in each process: the code is kept on disk
    for conditions, cost in _expensive(items, results, same, width):
        key = frozenset(conditions)
        found[key] = found.get(key, 0.0) + cost
        orders.setdefault(key, tuple(dict.fromkeys(conditions)))
    arms: list[RegroupedArm] = []
    early: dict[Op, None] = {}
    made = {op for item in items if isinstance(item, Block) for op in item.ops}
    for key, cost in sorted(found.items(), key=lambda each: -each[1])[:MOST_ARMS]:
        order = orders[key]
        needed = _slice([value for value, _ in order], made, {*same, *params}, EARLY * cost, width)
        most = int(width * registers * (1.0 - moving / cost)) if cost > 0 else 0
        if needed is not None and 2 * most >= width * registers and not all(value in same for value, _ in key):
            arms.append(RegroupedArm(order, most))
            early.update(dict.fromkeys(needed))
    if not arms:
        return None
    return Regrouping(tuple(arms), [Block(list(early))])


def _shared(items: Sequence[Item], shared: Collection[Value]) -> set[Value]:
    """What the blocks compute the same for all lanes."""
    same = set(shared)
    for item in items:
        if isinstance(item, Block):
            same.update(op for op in item.ops if all(isinstance(arg, Const) or arg in same for arg in op.args))
    return same


def _expensive(items: Sequence[Item], results: Sequence[Value], same: set[Value], width: int
               ) -> Iterator[tuple[tuple[Literal, ...], float]]:
    """Arms, and loops that only some lanes enter: conditions and cost for a register."""
    outside = used_outside(items, results)
    for item in items:
        match item:
            case Block():
                ops = [op for op in item.ops if op not in same]
                for step in plan_arms(ops, [op for op in ops if op in outside], width) or ():
                    if isinstance(step, Arm):
                        yield step.conditions, sum(_price(op, width) for op in _inside(step))
            case Loop():
                conditions = _entry(item)
                if conditions:
                    yield conditions, TRIPS * sum(_price(op, width) for op in all_ops([item]))


def _inside(arm: Arm) -> Iterator[Op]:
    for step in arm.items:
        if isinstance(step, Arm):
            yield from _inside(step)
        else:
            yield step


def _price(op: Op, width: int) -> float:
    """What an operation costs however few lanes need it: a call for each of those lanes is no loss."""
    return costs().guessed_wrong if is_called(op) else cost_of(op, width)


def _entry(loop: Loop) -> tuple[Literal, ...]:
    """What has to hold for a lane to make the first trip, as far as it is known before the loop."""
    parts = take_apart(loop)
    inside: set[Value] = set(all_ops(loop.body))
    starts = dict(zip(loop.params, loop.inits, strict=True))
    waiting, found = [parts.go], list[Literal]()
    while waiting:
        value = waiting.pop()
        if isinstance(value, Op) and value in inside:
            waiting += value.args if value.opcode == "and" else ()
            continue
        value = starts[value] if isinstance(value, Param) and value in starts else value
        if not isinstance(value, Const):
            found.append((value, True))
    return tuple(dict.fromkeys(found))


def _slice(values: Sequence[Value], made: Collection[Value], known: Collection[Value], limit: float, width: int
           ) -> list[Op] | None:
    """What some values are made of, in order; None if that waits for a loop or a call, or costs more than `limit`."""
    waiting, found, cost = list(values), dict[Op, None](), 0.0
    while waiting:
        value = waiting[-1]
        if value in found or value in known or isinstance(value, Const):
            waiting.pop()
            continue
        if not isinstance(value, Op) or not (value in made or value.opcode in ("and", "or", "not")) or is_called(value):
            return None
        missing = [arg for arg in value.args if not (arg in found or arg in known or isinstance(arg, Const))]
        if missing:
            waiting += missing
            continue
        waiting.pop()
        found[value] = None
        cost += cost_of(value, width)
        if cost > limit:
            return None
    return list(found)


class Waiting:
    """Writes the loop over the gangs of a call with queues; what runs a gang is written inside `gangs`."""

    def __init__(self, gang: Gang, regrouping: Regrouping, memory: Sequence[ir.Type], count: Any):
        self.emitter, self.builder = gang.emitter, gang.emitter.builder
        self.regrouping, self.memory = regrouping, memory
        self.width, self.size, self.count = self.emitter.width, self.emitter.width * len(gang.registers), count
        self.number = ir.IntType(8 * REGISTER // self.width)
        self.buffers = [[stack(self.builder, element, 2 * self.size) for element in (*memory, self.number)]
                        for _ in regrouping.arms]
        self.tails = [stack(self.builder, I64) for _ in regrouping.arms]
        for tail in self.tails:
            self.builder.store(i64(0), tail)
        gangs = GANGS if ways.REGROUP.forced is None else 0
        self.enough = self.builder.icmp_signed(">=", count, i64(gangs * self.size))

    @contextmanager
    def gangs(self, pointers: Sequence[Any]) -> Iterator[list[Any]]:
        """A loop over gangs; gives where the operands of one lie. `pointers` are the operands of the call."""
        builder, before = self.builder, self.builder.block
        head, body, self.next, done = (builder.append_basic_block(name) for name in ("gang", "run", "next", "done"))
        builder.branch(head)
        builder.position_at_end(head)
        self.start = phi_of(builder, (i64(0), before))
        ways = [self._full_queue(k, body) for k in range(len(self.tails))]
        more = builder.append_basic_block("more")
        drain = builder.append_basic_block("drain")
        builder.cbranch(builder.icmp_signed("<", self.start, self.count), more, drain)
        builder.position_at_end(more)
        places = [element_at(builder, p, self.start, t) for p, t in zip(pointers, self.memory, strict=True)]
        ways.append((builder.block, [*places, self.buffers[0][-1]], i64(self.size), ir.Constant(I1, 0)))
        builder.branch(body)
        builder.position_at_end(drain)
        ways += [self._last_lanes(k, body) for k in range(len(self.tails))]
        builder.branch(done)
        builder.position_at_end(body)
        *places, self.numbers = [phi_of(builder, *[(each[k], block) for block, each, _, _ in ways])
                                 for k in range(len(self.memory) + 1)]
        self.lanes = phi_of(builder, *[(lanes, block) for block, _, lanes, _ in ways])
        self.queued = phi_of(builder, *[(queued, block) for block, _, _, queued in ways])
        yield places
        builder.branch(self.next)
        builder.position_at_end(self.next)
        step = builder.select(self.queued, i64(0), i64(self.size))
        self.start.add_incoming(builder.add(self.start, step), builder.block)
        builder.branch(head)
        builder.position_at_end(done)

    def _full_queue(self, k: int, body: Any) -> tuple[Any, list[Any], Any, Any]:
        """If a gang is together, run the one that came last."""
        builder = self.builder
        left = builder.sub(builder.load(self.tails[k], typ=I64), i64(self.size))
        take, rest = builder.append_basic_block("take"), builder.append_basic_block("look")
        builder.cbranch(builder.icmp_signed(">=", left, i64(0)), take, rest)
        builder.position_at_end(take)
        builder.store(left, self.tails[k])
        types = (*self.memory, self.number)
        places = [element_at(builder, b, left, t) for b, t in zip(self.buffers[k], types, strict=True)]
        builder.branch(body)
        builder.position_at_end(rest)
        return take, places, i64(self.size), ir.Constant(I1, 1)

    def _last_lanes(self, k: int, body: Any) -> tuple[Any, list[Any], Any, Any]:
        """What is left in a queue, filled up with its first lane, which asks for nothing that no real lane does."""
        builder = self.builder
        tail = builder.load(self.tails[k], typ=I64)
        take, rest = builder.append_basic_block("last"), builder.append_basic_block("empty")
        builder.cbranch(builder.icmp_signed(">", tail, i64(0)), take, rest)
        builder.position_at_end(take)
        for buffer, element in zip(self.buffers[k], self.memory, strict=False):
            first = spread(builder, builder.load(buffer, typ=element), self.width)
            for r in range(self.size // self.width):
                place = element_at(builder, buffer, builder.add(tail, i64(r * self.width)), element)
                builder.store(first, place, align=size_of(element))
        builder.store(i64(0), self.tails[k])
        builder.branch(body)
        builder.position_at_end(rest)
        return take, self.buffers[k], tail, ir.Constant(I1, 1)

    def defer(self, gang: Gang, params: Sequence[Param]) -> None:
        """Let lanes wait that few others keep company, and mask them; on to the next gang if none is left."""
        builder, emitter = self.builder, self.emitter
        arms = [[self._mask(gang, queue, r) for r in gang.registers] for queue in self.regrouping.arms]
        mixed = reduce(builder.or_, [self._is_mixed(masks) for masks in arms])
        may = builder.and_(mixed, builder.and_(self.enough, builder.not_(self.queued)))
        none, before = emitter.splat(ir.Constant(I1, 0)), builder.block
        with builder.if_then(may):
            waiting = self._sort_out(gang, params, arms)
            inside = builder.block
        waiting = [phi_of(builder, (none, before), (mask, inside)) for mask in waiting]
        gang.active = [builder.not_(mask) for mask in waiting]
        run = builder.append_basic_block("left")
        builder.cbranch(emitter.any(reduce(builder.or_, gang.active)), run, self.next)
        builder.position_at_end(run)

    def _mask(self, gang: Gang, queue: RegroupedArm, register: int) -> Any:
        literals = [gang.read(register, v) if wanted else ~gang.read(register, v) for v, wanted in queue.conditions]
        return reduce(self.builder.and_, [literal.value for literal in literals])

    def _is_mixed(self, masks: Sequence[Any]) -> Any:
        """Whether some lanes of the gang are in a mask and others are not; all ones and one make zero."""
        builder, type_ = self.builder, ir.IntType(self.width)
        first, *rest = [builder.bitcast(mask, type_) for mask in masks]
        mixed = builder.icmp_unsigned(">", builder.add(first, ir.Constant(type_, 1)), ir.Constant(type_, 1))
        for bits in rest:
            mixed = builder.or_(mixed, builder.icmp_unsigned("!=", bits, first))
        return mixed

    def _sort_out(self, gang: Gang, params: Sequence[Param], arms: Sequence[Sequence[Any]]) -> list[Any]:
        """The masks of the lanes that now wait, each in the queue of the most expensive arm that few take."""
        builder, none = self.builder, self.emitter.splat(ir.Constant(I1, 0))
        waiting = [none for _ in gang.registers]
        for k, (queue, taken) in enumerate(zip(self.regrouping.arms, arms, strict=True)):
            masks = [builder.and_(mask, builder.not_(w)) for mask, w in zip(taken, waiting, strict=True)]
            counts = list(map(self.emitter.set_bits, masks))
            fewer = builder.sub(reduce(builder.add, counts), i64(1))
            few = builder.icmp_unsigned("<", fewer, i64(queue.most))
            with builder.if_then(few):
                self._push(k, gang, params, masks, counts)
            waiting = [builder.or_(w, builder.select(few, mask, none)) for w, mask in zip(waiting, masks, strict=True)]
        return waiting

    def _push(self, k: int, gang: Gang, params: Sequence[Param], masks: Sequence[Any], counts: Sequence[Any]) -> None:
        builder = self.builder
        tail = builder.load(self.tails[k], typ=I64)
        wide = ir.VectorType(self.number, self.width)
        steps = ir.Constant(wide, [ir.Constant(self.number, lane) for lane in range(self.width)])
        for r, mask in enumerate(masks):
            place = builder.add(self.start, i64(r * self.width))
            place = place if self.number == I64 else builder.trunc(place, self.number)
            numbers = builder.add(spread(builder, place, self.width), steps)
            values = [*[gang.read(r, param) for param in params], Lane(self.emitter, params[0].kind, numbers)]
            for value, buffer, element in zip(values, self.buffers[k], (*self.memory, self.number), strict=True):
                packed = self._packed(value.value, mask, element)
                builder.store(packed, element_at(builder, buffer, tail, element), align=size_of(element))
            tail = builder.add(tail, counts[r])
        builder.store(tail, self.tails[k])

    def _packed(self, value: Any, mask: Any, element: ir.Type) -> Any:
        """The lanes of a mask next to each other, in front."""
        builder = self.builder
        whole = builder.zext(value, ir.VectorType(self.number, self.width)) if element is I8 else value
        none = ir.Constant(whole.type, ir.Undefined)
        name = f"llvm.x86.avx512.mask.compress.{suffix(whole.type)}"
        packed = self.emitter.llvm(name, whole.type, whole, none, mask)
        return builder.trunc(packed, ir.VectorType(I8, self.width)) if element is I8 else packed

    def scatter(self, results: Sequence[tuple[Sequence[Any], ir.Type, Any]]) -> None:
        """Write the results of lanes that have waited: for each the registers in memory's form, its element, the place
        of the call's first lane."""
        builder = self.builder
        held = [stack(builder, element, self.size) for _, element, _ in results]
        for place, (registers, element, _) in zip(held, results, strict=True):
            for r, value in enumerate(registers):
                builder.store(value, element_at(builder, place, i64(r * self.width), element), align=size_of(element))
        with counted(builder, self.lanes, rolled=True) as k:
            number = builder.load(element_at(builder, self.numbers, k, self.number), typ=self.number)
            number = number if self.number == I64 else builder.sext(number, I64)
            for place, (_, element, target) in zip(held, results, strict=True):
                loaded = builder.load(element_at(builder, place, k, element), typ=element)
                builder.store(loaded, element_at(builder, target, number, element))


def can_wait(width: int, memory: Sequence[ir.Type]) -> bool:
    """Whether registers of `width` lanes have an instruction for it, for operands of these types."""
    if processor().vector_bytes != REGISTER:
        return False
    return all(element is I8 or size_of(element) * width == REGISTER for element in memory)
