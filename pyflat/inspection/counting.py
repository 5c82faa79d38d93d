"""Runs a structured function over many lanes at once, and counts where they go: what `twin.profile` shows.

Each value is an array over all lanes, each list of the function runs for the lanes that have come to it (an array of
their indices), and an exit writes its values where the target merges them. So a lane passes exactly the operations
that Python would evaluate, an array operation each. A lane in which an operation fails, or leaves int64, ends there.
No code of the user is run.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from pyflat.errors import InternalError, refuse
from pyflat.functions import lanes as lane_functions
from pyflat.functions.libm import saved_status
from pyflat.inspection.source_map import test_of
from pyflat.ir.build import Builder
from pyflat.ir.faults import fault_condition
from pyflat.ir.formats import FloatFormat, dtypes
from pyflat.ir.nodes import FAULT, Block, Const, End, Exit, Function, If, Item, Label, Loop, Op, Param, Region, Value
from pyflat.ir.opaque_calls import OpaqueCalls

Indices = npt.NDArray[np.intp]
_NONE = np.zeros(0, np.intp)


@dataclass(slots=True)
class BranchCount:
    """How often lanes took each arm, and in how many of the gangs that came here lanes took both."""

    then: int = 0
    orelse: int = 0
    gangs: int = 0
    mixed: int = 0


@dataclass(slots=True)
class LoopCount:
    """The trips of each lane at each time that it came to the loop, and the trips that its gang took."""

    trips: list[npt.NDArray[np.int64]] = field(default_factory=list)
    gang_trips: int = 0


@dataclass(slots=True)
class Counts:
    branches: dict[If, BranchCount] = field(default_factory=dict)
    loops: dict[Loop, LoopCount] = field(default_factory=dict)
    failed: int = 0
    unfinished: int = 0


def count_lanes(fn: Function, lanes: Sequence[Any], n: int, *, gang: int, calls: OpaqueCalls, max_trips: int,
                seconds: float) -> Counts:
    """Run `n` lanes of a structured function. A loop that runs longer than `max_trips` trips, or past `seconds` for
    the whole run, is left by the lanes that are still in it: `unfinished`."""
    machine = _CountingMachine(fn, n, gang, calls, max_trips, time.monotonic() + seconds)
    for param, lane in zip(fn.params, lanes, strict=True):
        machine.values[param] = lane if isinstance(lane, np.ndarray) else np.full(n, lane, machine.dtypes[param.kind])
    with saved_status(), np.errstate(all="ignore"):
        machine.run_list(fn.body, np.arange(n))
    return machine.counts


class _CountingMachine:
    def __init__(self, fn: Function, n: int, gang: int, calls: OpaqueCalls, max_trips: int, deadline: float):
        self.n, self.gang, self.calls, self.max_trips, self.deadline = n, gang, calls, max_trips, deadline
        self.floats, self.dtypes = fn.floats, dtypes(fn.floats)
        self.values: dict[Value, npt.NDArray[Any]] = {}
        self.counts = Counts()
        self.exits: dict[Label, list[Indices]] = {fn.label: []}
        self.targets: dict[Label, Sequence[Param]] = {fn.label: ()}
        self._rules: dict[Op, tuple[Sequence[Op], Value] | None] = {}
        self._code: dict[Op, Any] = {}

    # --- values

    def read(self, value: Value, lanes: Indices) -> Any:
        if isinstance(value, Const):
            return self.dtypes[value.kind].type(0 if value.value is None else value.value)
        whole = self.values[value]
        return whole if len(lanes) == self.n else whole[lanes]

    def write(self, value: Value, lanes: Indices, found: Any) -> None:
        if value not in self.values:
            self.values[value] = np.zeros(self.n, self.dtypes[value.kind])
        self.values[value][lanes] = found

    def assign(self, targets: Sequence[Param], sources: Sequence[Value], lanes: Indices) -> None:
        found = [self.read(source, lanes) for source in sources]
        copies = [one.copy() if isinstance(one, np.ndarray) else one for one in found]
        for target, one in zip(targets, copies, strict=True):
            self.write(target, lanes, one)

    # --- control

    def run_list(self, items: list[Item], lanes: Indices, results: Sequence[Param] = ()) -> Indices:
        """The lanes that fall off the end; what they yield is in `results`."""
        for item in items:
            if not len(lanes):
                return lanes
            lanes = self._item(item, lanes)
            if isinstance(item, Block) and item.end is not None:
                return self._leave(item.end, lanes, results)
        raise InternalError("control fell off a list without an end")

    def _item(self, item: Item, lanes: Indices) -> Indices:
        """The lanes that come out of a block or node."""
        if not len(lanes):
            return lanes
        match item:
            case Block():
                return self._block(item, lanes)
            case If():
                return self._branch(item, lanes)
            case Region():
                return self._merged(item.label, item.results, item.body, lanes)
            case Loop():
                return self._loop(item, lanes)

    def _leave(self, end: End, lanes: Indices, results: Sequence[Param]) -> Indices:
        if not len(lanes):
            return lanes
        if not isinstance(end, Exit):
            if not results:  # the function's own, which nothing reads
                return lanes
            self.assign(results, end.values, lanes)
            return lanes
        if end.label is FAULT:
            self.counts.failed += len(lanes)
            return _NONE
        targets = self.targets[end.label]
        if targets:
            self.assign(targets, end.values, lanes)
        self.exits[end.label].append(lanes)
        return _NONE

    def _branch(self, node: If, lanes: Indices) -> Indices:
        holds = np.broadcast_to(self.read(node.cond, lanes), lanes.shape)
        then, orelse = lanes[holds], lanes[~holds]
        count = self.counts.branches.setdefault(node, BranchCount())
        count.then += len(then)
        count.orelse += len(orelse)
        here, there = (self._gangs(part) for part in (then, orelse))
        count.gangs += int((here | there).sum())
        count.mixed += int((here & there).sum())
        fallen = [self.run_list(arm, part, node.results) for arm, part in ((node.then, then), (node.orelse, orelse))
                  if len(part)]
        return _union(fallen)

    def _gangs(self, lanes: Indices) -> npt.NDArray[np.bool_]:
        marked = np.zeros(-(-self.n // self.gang), np.bool_)
        marked[lanes // self.gang] = True
        return marked

    def _merged(self, label: Label, results: Sequence[Param], body: list[Item], lanes: Indices) -> Indices:
        self.exits[label], self.targets[label] = [], results
        fallen = self.run_list(body, lanes, results)
        return _union([fallen, *self.exits.pop(label)])

    def _loop(self, loop: Loop, lanes: Indices) -> Indices:
        self.assign(loop.params, loop.inits, lanes)
        self.exits[loop.label], self.targets[loop.label] = [], loop.results
        trips = np.zeros(self.n, np.int64)
        came = lanes
        test = test_of(loop)
        head = loop.body[: loop.body.index(test) + 1] if test is not None else []
        rest = loop.body[len(head):]
        for trip in range(self.max_trips):
            if not len(lanes):
                break
            if trip % 16 == 15 and time.monotonic() > self.deadline:
                break
            self.exits[loop.again], self.targets[loop.again] = [], loop.params
            for item in head:
                lanes = self._item(item, lanes)
            trips[lanes] += 1
            if len(lanes):
                lanes = _union([self.run_list(rest, lanes, loop.params), *self.exits[loop.again]])
        self.counts.unfinished += len(lanes)
        self._count_trips(loop, came, trips)
        return _union(self.exits.pop(loop.label))

    def _count_trips(self, loop: Loop, came: Indices, trips: npt.NDArray[np.int64]) -> None:
        count = self.counts.loops.setdefault(loop, LoopCount())
        count.trips.append(trips[came])
        longest = np.zeros(-(-self.n // self.gang), np.int64)
        np.maximum.at(longest, came // self.gang, trips[came])
        count.gang_trips += int(longest[came // self.gang].sum())

    # --- operations

    def _block(self, block: Block, lanes: Indices) -> Indices:
        for op in block.ops:
            if not len(lanes):
                return lanes
            if op.opcode == "fault":
                lanes = self._without(op.args[0], lanes)
                continue
            self.write(op, lanes, self._compute(op, lanes))
            rule = self._rule(op)
            if rule is not None:
                for each in rule[0]:
                    self.write(each, lanes, self._compute(each, lanes))
                lanes = self._without(rule[1], lanes)
        return lanes

    def _without(self, condition: Value, lanes: Indices) -> Indices:
        fails = np.broadcast_to(self.read(condition, lanes), lanes.shape)
        if not fails.any():
            return lanes
        self.counts.failed += int(fails.sum())
        left: Indices = lanes[~fails]
        return left

    def _rule(self, op: Op) -> tuple[Sequence[Op], Value] | None:
        """The operations that say where `op` fails, and the value that they come to."""
        if op not in self._rules:
            build = Builder(floats=self.floats)
            condition = None if op.opcode == "call" else fault_condition(build, op)
            self._rules[op] = None if condition is None else (tuple(build.block.ops), condition)
        return self._rules[op]

    def _compute(self, op: Op, lanes: Indices) -> Any:
        return self._meaning(op)(*[self.read(arg, lanes) for arg in op.args])

    def _meaning(self, op: Op) -> Any:
        if op not in self._code:
            self._code[op] = self._called(op) if op.opcode == "call" else _compiled(op, self.floats)
        return self._code[op]

    def _called(self, op: Op) -> Any:
        meaning = self.calls.on_arrays(op)
        if meaning is None:
            raise refuse("flatten/call-not-runnable", f"NumPy cannot make the opaque call of {op.attr('name')}",
                         op.span)
        return meaning


def _union(parts: Sequence[Indices]) -> Indices:
    """Lanes that come together again, in order."""
    some = [part for part in parts if len(part)]
    if not some:
        return _NONE
    joined: Indices = some[0] if len(some) == 1 else np.sort(np.concatenate(some))
    return joined


def _compiled(op: Op, floats: FloatFormat) -> Any:
    """An operation as a function of arrays."""
    from pyflat.targets.numpy.spelling import spelling

    names = [f"x{k}" for k in range(len(op.args))]
    space: dict[str, Any] = {"np": np, "lanes": lane_functions}
    options: dict[str, str] = {}
    if op.opcode == "gather":
        space["table"] = np.array(op.attr("table"), dtypes(floats)[op.kind])
        options["table"] = "table"
    if op.opcode == "part":
        index = op.attr("index")
        return lambda pack: pack[index]
    text = spelling(op, floats).format(*names, **options)
    return eval(f"lambda {', '.join(names)}: {text}", space)
