"""Gangs of lanes inside a compiled kernel: straight-line code for all of them, and loops that they run together.

A gang is a few vector registers full of lanes. A loop runs while any lane of the gang goes on:

    head:  x = phi(init, next); live = phi(active, go); kept = phi(zero, result)
           header, under the mask `live`; go = condition & live; result = select(live, what the header gives, kept)
           if no lane goes on: end
    rest:  rest of the body, under the mask `go`; then head
    end:   the results are those of the last trip

A lane that is done computes on, whatever comes of it; its results are those of the trip in which it stopped. Results
that are parameters wait as such (`x = phi(init, select(go, next, x))`). Which those are, and which loops need no mask,
`loop_variance` says. Several registers give the processor independent work while a chain of dependent operations waits,
and share the test.

A loop may run for minutes, and the kernel holds no GIL: once in `PATIENCE` trips it asks CPython whether a signal has
come. What a signal handler raised (KeyboardInterrupt, mostly) is fetched, the kernel is left, and `SharedState`
raises it when Python is back.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from llvmlite import ir

from pyflat.errors import InternalError
from pyflat.functions import ways
from pyflat.ir.loops import recognise_counted
from pyflat.ir.nodes import Block, Const, Item, Loop, Op, Param, Value
from pyflat.ir.ops import ROUNDED, VECTOR
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.targets.numba.arms import Arm, Literal, plan_arms, with_parts
from pyflat.targets.numba.compiled_kernel import NO_BODY
from pyflat.targets.numba.costs import is_called
from pyflat.targets.numba.emitter import Emitter, Lane
from pyflat.targets.numba.feed import FETCHED, INTERRUPTED, LEFT_EARLY
from pyflat.targets.numba.integer_narrowing import IntegerNarrowing, Narrow, low_bits, takes_low_bits
from pyflat.targets.numba.library import library_function, paired_angles
from pyflat.targets.numba.llvm import I8, I32, I64, POINTER, element_at, i64, joined, keep_rolled, parted, phi_of, stack
from pyflat.targets.numba.loop_variance import LoopPlan, plan_loop
from pyflat.targets.numba.numpy_loops import calls_numpy
from pyflat.targets.numba.ops import emit, emit_unsigned
from pyflat.targets.numba.sign_choices import SignChoice, sign_choice, signed

PATIENCE = 2**16
"""Trips between two looks at the signals: below a millisecond for small bodies, a second for the largest."""

MOST_LOOKS = 16
"""A loop that may be endless is given up after a million trips."""

WIDE = frozenset({"add", "sub", "mul", "and", "or", "not", "lt", "le", "gt", "ge", "eq", "ne", "select", "to_float"})
"""Operations that are as cheap for all lanes as for one."""




class Interrupts:
    """Counts the trips of all loops of a function together; `leave` is where an interrupted one goes, with the byte
    `left_early` set."""

    def __init__(self, emitter: Emitter, state: Any, leave: Any):
        self.emitter = emitter
        self.state = state
        self.leave = leave
        self.left_early = stack(emitter.builder, I8)
        emitter.builder.store(ir.Constant(I8, 0), self.left_early)
        self.looks: Any = None
        """How often the signals were looked at in the loop of now."""
        self.left = stack(emitter.builder, I32)
        emitter.builder.store(ir.Constant(I32, PATIENCE), self.left)

    def enter(self, *, endless: bool) -> None:
        """A loop begins; an `endless` one is given up after very many trips."""
        if endless:
            if self.looks is None:
                self.looks = stack(self.emitter.builder, I32)
            self.emitter.builder.store(ir.Constant(I32, 0), self.looks)

    def count_trip(self) -> None:
        builder = self.emitter.builder
        left = builder.sub(builder.load(self.left, typ=I32), ir.Constant(I32, 1))
        builder.store(left, self.left)
        with builder.if_then(builder.icmp_signed("==", left, ir.Constant(I32, 0)), likely=False):
            builder.store(ir.Constant(I32, PATIENCE), self.left)
            self._look()
            if self.looks is not None:
                looks = builder.add(builder.load(self.looks, typ=I32), ir.Constant(I32, 1))
                builder.store(looks, self.looks)
                with builder.if_then(builder.icmp_signed(">", looks, ir.Constant(I32, MOST_LOOKS)), likely=False):
                    builder.store(ir.Constant(I8, LEFT_EARLY | 1), self.left_early)
                    builder.branch(self.leave)

    def _look(self) -> None:
        """NumPy keeps the GIL for a few hundred lanes: other threads, which may want to send the signal, get it."""
        builder = self.emitter.builder
        held = self._python("PyGILState_Ensure", I32)
        raised = builder.icmp_signed("!=", self._python("PyErr_CheckSignals", I32), ir.Constant(I32, 0))
        with builder.if_then(raised, likely=False):
            self._python("PyErr_Fetch", ir.VoidType(), *[self._slot(FETCHED + k) for k in range(3)])
            builder.store(i64(1), self._slot(INTERRUPTED))
            builder.store(ir.Constant(I8, LEFT_EARLY), self.left_early)
        self._python("PyEval_RestoreThread", ir.VoidType(), self._python("PyEval_SaveThread", POINTER))
        self._python("PyGILState_Release", ir.VoidType(), held)
        stopped = builder.icmp_signed("!=", builder.load(self._slot(INTERRUPTED), typ=I64), i64(0))
        with builder.if_then(stopped, likely=False):
            builder.store(ir.Constant(I8, LEFT_EARLY), self.left_early)
            builder.branch(self.leave)

    def _slot(self, number: int) -> Any:
        return element_at(self.emitter.builder, self.state, i64(number), I64)

    def _python(self, name: str, result: ir.Type, *args: Any) -> Any:
        location = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        assert location is not None
        return self.emitter.call(name, location, *args, result=result, pure=False)


class Gang:
    """The lanes that run together: `registers` times the emitter's width.

    `sets` has the values of each register, `shared` those that are the same in all lanes, as scalars; `active` are the
    masks of the lanes that run (None: all). `suspects` are the bools that make their lane suspect, `outside` the
    values that are used outside of their block, `narrowed` what is kept in 32 bits: as lanes of the emitter `short`.
    """

    def __init__(self, emitter: Emitter, registers: int, interrupts: Interrupts | None, shared: dict[Value, Lane],
                 suspects: set[Value], outside: set[Value], narrowed: IntegerNarrowing):
        self.emitter, self.short, self.narrowed = emitter, emitter.short_ints(), narrowed
        self.scalars = emitter if emitter.width == 1 else Emitter(
            emitter.builder, emitter.symbols, 1, emitter.scalars, ranges=emitter.ranges)
        self.registers = range(registers)
        self.together = None if registers & (registers - 1) or registers == 1 or emitter.width == 1 else \
            Emitter(emitter.builder, emitter.symbols, emitter.width * registers, emitter.scalars, emitter.angles,
                    emitter.ranges, emitter.doubts, emitter.calls)
        """Writes for all registers at once."""
        self.interrupts = interrupts
        self.shared = {value: Lane(self.scalars, value.kind, lane.value) for value, lane in shared.items()}
        self.fixed = frozenset(shared)
        """Values that are the same in all trips too."""
        self.wide: dict[Value, Lane] = {}
        """Counters and what is made of them a second time, in every lane of a register: cheaper for what varies than to
        spread the scalar over the register in each trip and for each register. LLVM drops the form that is not used."""
        self.suspects = suspects
        self.outside = outside
        self.sets: list[dict[Value, Lane]] = [{} for _ in self.registers]
        self.loads: dict[Value, Callable[[int], Lane]] = {}
        """Parameters that are loaded where they are first used, register by register: what only an arm uses need not
        come from memory where it is skipped."""
        self.loaded: dict[Value, dict[tuple[Literal, ...], None]] = {}
        """For each of these what holds of the `fixed` values where it is loaded, once for each place."""
        self.active: list[Any] = [None] * registers
        self.rounded: set[Value] = set()
        """Ints that are rounded floats, which are there too."""
        self._known: tuple[Literal, ...] = ()
        """What holds of the `fixed` values in the arm that is written."""
        self.body = NO_BODY
        """Where flags count, a lane that is done with a loop keeps all that it carries, and raises none by going on."""

    def read(self, register: int, value: Value) -> Lane:
        """A value in every lane of a register, all of it."""
        if isinstance(value, Const):
            return self.emitter.const(value.kind, value.value)
        lane = self._lane(register, value)
        if lane is None:
            return self.emitter.broadcast(value.kind, self.shared[value].value)
        return self._whole(value, lane)

    def read_short(self, register: int, value: Value) -> Lane:
        """The low 32 bits of an int in every lane of a register."""
        if isinstance(value, Const):
            return self.short.const(INT, value.value)
        lane = self._lane(register, value)
        if lane is None:
            return self.short.broadcast(INT, self.emitter.builder.trunc(self.shared[value].value, I32))
        if value in self.rounded and takes_low_bits(self.emitter):
            return low_bits(self.short, self._rounded_float(register, value))
        return self._low(lane)

    def read_for(self, register: int, value: Value, target: Value) -> Lane:
        """What `target`, a parameter or a result of a loop, takes."""
        return (self.read_short if target in self.narrowed.values else self.read)(register, value)

    def _whole(self, value: Value, lane: Lane) -> Lane:
        """What is kept for a value, in 64 bits."""
        if lane.emit is not self.short:
            return lane
        form = self.narrowed.values[value]
        if form is Narrow.LOW:
            raise InternalError(f"the upper bits of {value!r} are not known")
        extend = self.emitter.builder.zext if Narrow.UNSIGNED in form else self.emitter.builder.sext
        return Lane(self.emitter, INT, extend(lane.value, self.emitter.types[INT]))

    def _low(self, lane: Lane) -> Lane:
        if lane.emit is self.short:
            return lane
        return Lane(self.short, INT, self.emitter.builder.trunc(lane.value, self.short.types[INT]))

    def _lane(self, register: int, value: Value) -> Lane | None:
        """A value as it is kept; None where only the scalar is."""
        if value in self.shared:
            return self.wide.get(value)
        lanes = self.sets[register]
        if value not in lanes:
            self.loaded.setdefault(value, {})[self._known] = None
            lanes[value] = self.loads[value](register)
        return lanes[value]

    def lane_of(self, value: Value, number: Any) -> Lane:
        """What is kept for a value."""
        return Lane(self.short if value in self.narrowed.values else self.emitter, value.kind, number)

    def zero_of(self, value: Value) -> Lane:
        return (self.short if value in self.narrowed.values else self.emitter).const(value.kind, 0)

    def compute(self, register: int, op: Op) -> Lane:
        """The lanes of an operation."""
        if op.opcode in ROUNDED and op.args[0].kind is FLOAT:
            self.rounded.add(op)
        elif op.opcode in ("to_float", "exact_float") and op.args[0] in self.rounded:
            return self._rounded(register, op.args[0])
        choice = sign_choice(op)
        if choice is not None and (lane := self._as_wide(register, choice)) is not None:
            return Lane(self.emitter, FLOAT, signed(self.read(register, choice.number), lane, choice))
        if op not in self.narrowed:
            return emit(self.emitter, op, [self.read(register, arg) for arg in op.args])
        args = [(self.read_short if arg.kind is INT else self.read)(register, arg) for arg in op.args]
        self.short.active = self.emitter.active
        unsigned = self.narrowed.reads.get(op) is Narrow.UNSIGNED
        return self.lane_of(op, (emit_unsigned if unsigned else emit)(self.short, op, args).value)

    def _as_wide(self, register: int, choice: SignChoice) -> Lane | None:
        """The int whose bit chooses a sign, where it is kept as wide as floats are."""
        if self.is_shared(choice.bits):
            return None
        lane = self._lane(register, choice.bits)
        width = 32 if self.emitter.narrow else 64
        return lane if lane is not None and lane.emit.scalars[INT].width == width and choice.place < width else None

    def _rounded(self, register: int, whole: Value) -> Lane:
        """A rounded float as a float again, without the int: -0.0 becomes 0.0. Other lanes are suspect."""
        return self._rounded_float(register, whole) + 0.0

    def _rounded_float(self, register: int, whole: Value) -> Lane:
        assert isinstance(whole, Op)
        return self.emitter.intrinsic(f"llvm.{ROUNDED[whole.opcode]}", self.read(register, whole.args[0]))

    def is_shared(self, value: Value) -> bool:
        return isinstance(value, Const) or value in self.shared

    def read_shared(self, value: Value) -> Lane:
        return self.scalars.const(value.kind, value.value) if isinstance(value, Const) else self.shared[value]

    def emit(self, items: Sequence[Item]) -> None:
        """Write a list of a flat or masked function at the builder's place."""
        for item in items:
            match item:
                case Block():
                    self._block(item)
                case Loop():
                    self._loop(item)

    def _block(self, block: Block) -> None:
        self.emitter.angles.update(paired_angles(block.ops))
        varying = []
        for op in block.ops:
            if all(map(self.is_shared, op.args)):
                self.scalars.active = None  # of lanes by one it is the emitter, which may know the mask of an arm
                self.shared[op] = emit(self.scalars, op, [self.read_shared(arg) for arg in op.args])
                if op.opcode in WIDE and any(arg in self.wide for arg in op.args):
                    self.wide[op] = self.compute(0, op)
            else:
                varying.append(op)
        outside = [op for op in varying if op in self.outside]
        same = {part for part in with_parts(arg for op in varying for arg in op.args if arg in self.fixed)
                if part in self.fixed}
        planned = plan_arms(varying, outside, self.emitter.width, same)
        if planned is not None:
            ways.note(ways.ARMS.name, "branch" if any(isinstance(step, Arm) for step in planned) else "select")
        self._steps(varying if planned is None else planned)

    def _steps(self, steps: Sequence[Op | Arm]) -> None:
        straight: list[Op] = []
        loaded = dict.fromkeys(arg for step in steps if isinstance(step, Op) for arg in step.args if arg in self.loads)
        for step in steps:
            if isinstance(step, Op):
                straight.append(step)
                continue
            self._ops(straight)
            straight = []
            for param in loaded:  # before an arm that may load it for itself
                for r in self.registers:
                    self._lane(r, param)
            self._arm(step)
        self._ops(straight)

    def _ops(self, ops: Sequence[Op]) -> None:
        """Each operation for all registers, before the next one: their chains fill each other's gaps, and a literal is
        loaded once."""
        compared: dict[tuple[Value, ...], Op] = {}
        for op in ops:
            if self.together is not None and _is_function(op):
                self._together(self.together, op)
                continue
            opposite = compared.get(tuple(op.args)) if op.opcode == "ne" else None
            for register, lanes in enumerate(self.sets):
                self.emitter.active = self.active[register]
                lanes[op] = self.compute(register, op) if opposite is None else ~lanes[opposite]
            if op.opcode == "eq":
                compared[tuple(op.args)] = op

    def _together(self, together: Emitter, op: Op) -> None:
        """An elementary function of all registers as one vector: LLVM takes that apart again, step by step, so that the
        steps of the registers alternate. One register's hundred steps wait for each other, and fill the processor's
        queue before it sees the next one's. The C library's function is called in one loop over all lanes, NumPy's
        once for all."""
        builder = together.builder
        together.active = None
        if any(mask is not None for mask in self.active):
            together.active = joined(builder, [self._mask(r) for r in self.registers])
        args = [self._all_lanes(together, arg) for arg in op.args]
        values = parted(builder, emit(together, op, args).value, self.emitter.width)
        for lanes, value in zip(self.sets, values, strict=True):
            lanes[op] = Lane(self.emitter, op.kind, value)

    def _all_lanes(self, together: Emitter, value: Value) -> Lane:
        if isinstance(value, Const):
            return together.const(value.kind, value.value)
        if value in self.shared:
            return together.broadcast(value.kind, self.shared[value].value)
        return Lane(together, value.kind, joined(together.builder, [self.read(r, value).value for r in self.registers]))

    def _taken(self, arm: Arm) -> tuple[Any, list[Any]]:
        """Whether any lane takes the arm, and the masks of those that do."""
        builder, shared = self.emitter.builder, [self.is_shared(condition) for condition, _ in arm.conditions]
        if all(shared):
            holding = [self.read_shared(condition) if wanted else ~self.read_shared(condition)
                       for condition, wanted in arm.conditions]
            return reduce(builder.and_, [holds.value for holds in holding]), self.active
        masks = []
        for r in self.registers:
            mask = self.active[r]
            for condition, wanted in arm.conditions:
                holds = self.read(r, condition) if wanted else ~self.read(r, condition)
                mask = holds.value if mask is None else builder.and_(mask, holds.value)
            masks.append(mask)
        return self.emitter.any(reduce(builder.or_, masks)), masks

    def _arm(self, arm: Arm) -> None:
        """Skipped if no lane of the gang needs it; its results are then zero, or what is there before."""
        builder, around = self.emitter.builder, self.active
        skipped = [{op: (self.read_for(r, arm.otherwise[op], op) if op in arm.otherwise else self.zero_of(op)).value
                    for op in arm.results} for r in self.registers]
        taken, masks = self._taken(arm)
        before, rounded, known = builder.block, set(self.rounded), self._known
        self._known = (*known, *[literal for literal in arm.conditions if literal[0] in self.fixed])
        missing = [self.loads.keys() - lanes.keys() for lanes in self.sets]
        with builder.if_then(taken):
            self.active = masks
            self._steps(arm.items)
            inside = builder.block
        self.active, self.rounded, self._known = around, rounded, known
        for lanes, loaded, values in zip(self.sets, missing, skipped, strict=True):
            for param in loaded:
                lanes.pop(param, None)
            for op, value in values.items():
                phi = builder.phi(lanes[op].value.type)
                phi.add_incoming(lanes[op].value, inside)
                phi.add_incoming(value, before)
                lanes[op] = self.lane_of(op, phi)

    def _loop(self, loop: Loop) -> None:
        assert self.interrupts is not None
        builder, around = self.emitter.builder, self.active
        plan = plan_loop(loop, self.is_shared, self.suspects)
        if self.body.raises and plan.masked:
            plan = replace(plan, waiting={*loop.params} - plan.uniform - plan.unasked)
        head, rest, end = (builder.append_basic_block(name) for name in ("head", "rest", "end"))
        inits = self._inits(loop, plan)
        masks = [self._mask(r) if plan.masked else None for r in self.registers]
        starts = {p: self.read_for(0, init, p).value for p, init in zip(loop.params, loop.inits, strict=True)
                  if p in plan.uniform and self.emitter.width > 1}
        self.interrupts.enter(endless=self.body.endless)
        before = builder.block
        builder.branch(head)
        builder.position_at_end(head)
        carried = [[phi_of(builder, (value, before)) for value in values] for values in inits]
        for param, start in starts.items():
            self.wide[param] = self.lane_of(param, phi_of(builder, (start, before)))
        live = [None if mask is None else phi_of(builder, (mask, before)) for mask in masks]
        kept = {result: [phi_of(builder, (self.zero_of(result).value, before)) for _ in self.registers]
                for result, value in zip(loop.results, plan.parts.leave, strict=True) if value in plan.kept}
        for param, phis in zip(loop.params, carried, strict=True):
            self._arrive(plan, param, phis)
        self.active = live if plan.masked else around
        self.outside.update(plan.tests)  # no arm of the header may keep one to itself
        self.emit(plan.parts.header)
        go = self.going(plan)
        leave = {result: [self.read_for(r, value, result) for r in self.registers]
                 for result, value in zip(loop.results, plan.parts.leave, strict=True)}
        for result, phis in kept.items():
            for r, (mask, old, lane) in enumerate(zip(live, phis, leave[result], strict=True)):
                leave[result][r] = self.lane_of(result, builder.select(mask, lane.value, old))
        test = self.read_shared(plan.tests[0]).value if not plan.masked else self.emitter.any(reduce(builder.or_, go))
        builder.cbranch(test, rest, end)
        builder.position_at_end(rest)
        self.active = go
        self.emit(plan.parts.rest)
        self.interrupts.count_trip()
        for param, phis, after in zip(loop.params, carried, plan.parts.next, strict=True):
            for r, phi in enumerate(phis):
                phi.add_incoming(self.following(plan, param, after, r, phi, go[r]), builder.block)
            if param in starts:
                self.wide[param].value.add_incoming(self.read_for(0, after, param).value, builder.block)
        for result, phis in kept.items():
            for phi, lane in zip(phis, leave[result], strict=True):
                phi.add_incoming(lane.value, builder.block)
        for phi, mask in zip(live, go, strict=True):
            if phi is not None:
                phi.add_incoming(mask, builder.block)
        again = builder.branch(head)
        if self.body.raises and (plan.masked or recognise_counted(loop) is None):  # LLVM would cut the last trip short
            keep_rolled(builder.module, again)
        builder.position_at_end(end)
        self.active = around
        for result, lanes in leave.items():
            for r, lane in enumerate(lanes):
                self.sets[r][result] = lane

    def _inits(self, loop: Loop, plan: LoopPlan) -> list[list[Any]]:
        """What each parameter starts with: one scalar, or one value for each register."""
        return [[self.read_shared(init).value] if param in plan.uniform else
                [self.carried(plan, param, self.read_for(r, init, param).value) for r in self.registers]
                for param, init in zip(loop.params, loop.inits, strict=True)]

    def _arrive(self, plan: LoopPlan, param: Param, phis: list[Any]) -> None:
        """Make a parameter known inside of its loop."""
        if param in plan.uniform:
            self.shared[param] = Lane(self.scalars, param.kind, phis[0])
            return
        for lanes, phi in zip(self.sets, phis, strict=True):
            lanes[param] = self.arrived(plan, param, phi)

    def _mask(self, register: int) -> Any:
        active = self.active[register]
        return self.emitter.const(BOOL, True).value if active is None else active

    def going(self, plan: LoopPlan) -> list[Any]:
        """The masks of the lanes that make the next trip; None: all that are active."""
        if not plan.masked:
            return list(self.active)
        masks = []
        for r in self.registers:
            mask = self.active[r]
            for test in plan.tests:
                holds = self.read(r, test).value
                mask = holds if mask is None else self.emitter.builder.and_(mask, holds)
            masks.append(mask)
        return masks

    def carried(self, plan: LoopPlan, param: Value, value: Any) -> Any:
        """What a trip hands to the next one for a value. Bits that are only collected are ints with all bits alike:
        there are seven mask registers, and one that is put aside for a trip takes longer to come back than a trip."""
        return self.emitter.builder.sext(value, self.short.types[INT]) if param in plan.unasked else value

    def nothing_of(self, plan: LoopPlan, value: Value) -> Any:
        """What is handed on where no lane has a value."""
        return (self.short.const(INT, 0) if value in plan.unasked else self.zero_of(value)).value

    def arrived(self, plan: LoopPlan, param: Value, number: Any) -> Lane:
        """The lane of what the trip before has handed on."""
        if param not in plan.unasked:
            return self.lane_of(param, number)
        return Lane(self.emitter, BOOL, Lane(self.short, INT, number).compare("!=", 0).value)

    def following(self, plan: LoopPlan, param: Param, after: Value, register: int, phi: Any, go: Any) -> Any:
        """What a parameter is in the next trip."""
        if param in plan.uniform:
            return self.read_shared(after).value
        value, builder = self.read_for(register, after, param).value, self.emitter.builder
        if param in plan.unasked:
            value = value if go is None else builder.and_(value, go)
            return builder.or_(phi, self.carried(plan, param, value))
        if param in self.suspects and param in plan.waiting and go is not None:  # cheaper than a choice of masks
            return builder.or_(phi, builder.and_(value, go))
        return self.emitter.builder.select(go, value, phi) if param in plan.waiting and go is not None else value


def _is_function(op: Op) -> bool:
    """A function of floats that takes long."""
    floats = op.kind is FLOAT and all(arg.kind is FLOAT for arg in op.args)
    return op.opcode in VECTOR or calls_numpy(op) or library_function(op) is not None or (
        floats and op.opcode != "call" and is_called(op))
