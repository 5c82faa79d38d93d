"""Loops that must run in order, but compute something first that need not: that part as lanes, the rest one by one.

    for i in range(n):                        while i < n:
        total += math.exp(x[i])                   count = 32 if n - i >= 32 else min(8, n - i)
                                                  e[0:count] = exp(x[i:i + count])        lanes, into a buffer
                                                  for k in range(count): total += e[k]
                                                  i += count

Lanes take what iterations compute out of numbers that no iteration changes, where that is a function, a root or a
division, also in a branch, whose condition is computed first: LLVM computes a function one by one, and makes no vectors
of a loop whose iterations meet. Faults and warnings are the same, since all lanes are iterations that run: which one is
first does not matter, for the original runs then. A loop that is left before its end is none of these, nor one with
another loop in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyflat.analysis.dependence import Surroundings
from pyflat.analysis.kernels import Kernel
from pyflat.analysis.parallel_loops import is_alone_parallel, iterates
from pyflat.ir.loops import Counted, all_ops, definitions, end_of, has_loop, recognise_counted
from pyflat.ir.nodes import Block, Const, Exit, If, Item, Loop, Op, Param, Region, Value, walk
from pyflat.ir.types import BOOL, INT, MEMORY
from pyflat.targets.numba.emitter import Lane
from pyflat.targets.numba.kernels.lane_plans import LanePlan, is_function, is_possible
from pyflat.targets.numba.kernels.lanes import LoopGang, lanes_in_register
from pyflat.targets.numba.kernels.places import kernel_memories
from pyflat.targets.numba.llvm import I64, element_at, i64, stack

if TYPE_CHECKING:
    from pyflat.targets.numba.kernels.emit import KernelCode, LabelTarget

REGISTERS = 4
"""Registers of lanes in a turn, where there are so many left: fewer wait for each other's results."""
MOST_BUFFERS = 6
_SLOW = frozenset({"sqrt", "np_sqrt", "divide", "truediv"})


@dataclass(frozen=True, slots=True)
class LaneStep:
    """A number of lanes: an operation, or a choice that an `if` makes; and the conditions under which it is made."""

    of: tuple[Value, ...]
    under: tuple[tuple[Value, bool], ...]

    @property
    def needed(self) -> set[Value]:
        return {*self.of, *[condition for condition, _ in self.under]}


@dataclass(frozen=True, slots=True)
class LoopCut:
    """A loop, what of it is lanes in their order, what of that the rest does not compute again, and which of these
    numbers it takes."""

    plan: LanePlan
    lanes: Mapping[Value, LaneStep]
    made: set[Op]
    taken: Sequence[Op]


def plan_splits(kernel: Kernel, kept: set[Loop]) -> dict[Loop, LoopCut]:
    """The loops to split. `kept`: loops that are lanes as a whole."""
    fn = kernel.function
    made = [op for op in all_ops(fn.body) if op.opcode in ("alloc", "routine")]
    memories = kernel_memories(kernel, made)
    inside = {id(each) for loop in kept for each in [loop, *walk(loop.body)]}
    loops = [item for item in walk(fn.body) if isinstance(item, Loop) and id(item) not in inside]
    around = kernel.surroundings()
    found = [_split(loop, memories, around) for loop in loops]
    return {each.plan.loop: each for each in found if each is not None}


def _split(loop: Loop, memories: Mapping[str, object], around: Surroundings) -> LoopCut | None:
    counted = recognise_counted(loop)
    if counted is None or counted.step != 1 or has_loop(loop.body) or not iterates(loop):
        return None
    rest = loop.body[2:]
    if any(isinstance(item, Region) or isinstance(item, Block) and isinstance(item.end, Exit) for item in walk(rest)):
        return None
    possible = _possible(loop, counted, memories)
    ops = [op for op in possible if isinstance(op, Op)]
    functions = [op for op in ops if is_function(op)]
    slow = functions or [op for op in ops if op.opcode in _SLOW]
    if not slow or not functions and is_alone_parallel(loop, counted, around):
        return None
    made = _made(possible, slow)
    lanes = _needed(possible, made)
    taken = _taken(rest, made)
    if len(taken) > MOST_BUFFERS:
        return None
    varying: set[Value] = {counted.iv}
    for value, step in lanes.items():
        chosen = not isinstance(value, Op)  # which lanes have, one by one
        varying |= {value} if chosen or any(arg in varying for arg in step.of) else set()
    indices = frozenset(op for op in lanes if isinstance(op, Op) and op.opcode == "index")
    return LoopCut(LanePlan(loop, counted, frozenset(varying), indices), lanes, made, taken)


def _possible(loop: Loop, counted: Counted, memories: Mapping[str, object]) -> dict[Value, LaneStep]:
    """What iterations compute without what another one has left, in order."""
    if any(op.opcode == "routine" for op in all_ops(loop.body)):  # NumPy's work is not moved
        return {}
    written = {memories[op.attr("array")] for op in all_ops(loop.body) if op.opcode == "store"}
    found: dict[Value, LaneStep] = {}
    inside: set[Value] = {*definitions(loop.body), *loop.params}

    def known(value: Value) -> bool:
        return value is counted.iv or value in found or value not in inside

    def search(items: Sequence[Item], under: tuple[tuple[Value, bool], ...]) -> None:
        for item in items:
            if isinstance(item, If) and known(item.cond):
                search(item.then, (*under, (item.cond, True)))
                search(item.orelse, (*under, (item.cond, False)))
                arms = [end_of(arm).values for arm in (item.then, item.orelse)]
                for result, *ways in zip(item.results, *arms, strict=True):
                    if result.kind is not MEMORY and all(map(known, ways)):
                        found[result] = LaneStep((item.cond, *ways), under)
            for op in item.ops if isinstance(item, Block) else ():
                if op.opcode == "load":
                    fits = memories[op.attr("array")] not in written and all(map(known, op.args[1:]))
                else:
                    numbers = op.kind is not MEMORY and op.opcode != "store" and is_possible(op)
                    fits = numbers and all(map(known, op.args))
                if fits:
                    found[op] = LaneStep(op.args[op.opcode == "load":], under)

    search(loop.body[2:], ())
    return found


def _made(possible: Mapping[Value, LaneStep], slow: Sequence[Op]) -> set[Op]:
    """The slow operations, and what is made of them alone."""
    found: set[Value] = set(slow)
    for value, step in possible.items():
        if any(arg in found for arg in step.of):
            found.add(value)
    return {op for op in found if isinstance(op, Op)}


def _needed(possible: Mapping[Value, LaneStep], made: set[Op]) -> dict[Value, LaneStep]:
    """These, and what they need."""
    wanted: set[Value] = set(made)
    for value, step in reversed(list(possible.items())):
        if value in wanted:
            wanted |= {arg for arg in step.needed if arg in possible}
    return {value: step for value, step in possible.items() if value in wanted}


def _taken(rest: Sequence[Item], made: set[Op]) -> list[Op]:
    """Numbers of lanes that something else reads."""
    ops = list(all_ops(list(rest)))
    read = {arg for op in ops if op not in made for arg in op.args}
    for item in walk(list(rest)):
        if isinstance(item, Block):
            read |= set(item.end.values) if item.end is not None else set()
        elif isinstance(item, If):
            read.add(item.cond)
    return [op for op in ops if op in made and op in read]


def write_split(code: KernelCode, split: LoopCut, after: LabelTarget) -> None:
    """The loop of a split, at the place of the code's builder; it goes on at `after`."""
    b, loop = code.builder, split.plan.loop
    width = REGISTERS * lanes_in_register()
    buffers = {op: stack(b, _stored(code, op), width) for op in split.taken}
    state = [Param(param.kind) for param in loop.params]
    turns = code.loop_head("turns", state)
    code.jump(turns, loop.inits)
    code.bind(state, turns)
    first = code.lane(state[loop.params.index(split.plan.counted.iv)]).value
    upper = code.lane(split.plan.counted.upper).value
    left = b.sub(upper, first)
    many, ask, few, end = (code.function.append_basic_block(name) for name in ("many", "ask", "few", "split_end"))
    count = Param(INT)
    ordered = code.loop_head("ordered", [count])
    b.cbranch(b.icmp_signed(">=", left, i64(width)), many, ask)
    b.position_at_end(many)
    _run_lanes(code, split, buffers, REGISTERS, first, None)
    code.jump(ordered, [Const(INT, width)])
    b.position_at_end(ask)
    b.cbranch(b.icmp_signed(">", left, i64(0)), few, end)
    b.position_at_end(few)
    _run_lanes(code, split, buffers, 1, first, upper)
    most, counted = i64(lanes_in_register()), Param(INT)
    code.values[counted] = Lane(code.e, INT, b.select(b.icmp_signed("<", left, most), left, most))
    code.jump(ordered, [counted])
    code.bind([count], ordered)
    code.jump(turns, _in_order(code, split, state, buffers, code.lane(count).value))
    b.position_at_end(end)
    code.values.update((param, code.values[now]) for param, now in zip(loop.params, state, strict=True))
    code.leave(loop, after)


def _run_lanes(code: KernelCode, split: LoopCut, buffers: Mapping[Op, Any], registers: int, first: Any, upper: Any
               ) -> None:
    """The lanes of a turn; `upper`: they may be fewer."""
    gang = LoopGang(code, split.plan, registers, first, upper)
    for value, step in split.lanes.items():
        with gang.under(step.under):
            if isinstance(value, Op):
                gang.op(value)
            else:
                gang.choose(value, *step.of)
    for op, buffer in buffers.items():
        gang.put(op, buffer)


def _in_order(code: KernelCode, split: LoopCut, state: Sequence[Param], buffers: Mapping[Op, Any], count: Any
              ) -> list[Value]:
    """The rest of so many iterations; what the next one takes."""
    b, loop = code.builder, split.plan.loop
    number = Param(INT)
    head = code.loop_head("in_order", [*loop.params, number])
    code.jump(head, [*state, Const(INT, 0)])
    code.bind([*loop.params, number], head)
    inside, end = (code.function.append_basic_block(name) for name in ("ordered", "turn_done"))
    k = code.lane(number).value
    b.cbranch(b.icmp_signed("<", k, count), inside, end)
    b.position_at_end(inside)
    for op, buffer in buffers.items():
        type_ = _stored(code, op)
        value = b.load(element_at(b, buffer, k, type_), typ=type_)
        code.values[op] = Lane(code.e, op.kind, b.icmp_unsigned("!=", value, i64(0)) if op.kind is BOOL else value)
    code.done |= split.made
    values = code.items(loop.body[2:])
    code.done -= split.made
    assert values is not None
    following = Param(INT)
    code.values[following] = Lane(code.e, INT, b.add(k, i64(1), flags=["nsw"]))
    code.jump(head, [*values, following])
    b.position_at_end(end)
    return list(loop.params)


def _stored(code: KernelCode, op: Op) -> Any:
    return I64 if op.kind is BOOL else code.e.scalars[op.kind]
