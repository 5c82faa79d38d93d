"""The structured IR of a kernel as LLVM's IR: its nodes are branches and phis, its memory loads and stores.

    i64 kernel(i64 context, i64* arguments, i64* results)

`arguments` are slots of 8 bytes: of an array its address, the length of each axis and, unless it is contiguous, the
stride of each axis in bytes; of a number the number. `results` are the numbers of the result, then the addresses of the
arrays that are returned. The function returns what has happened: 0, or a sum of FAULT and WARNING, after which results
and written arrays mean nothing.

An index that is outside leaves at once. Other faults are remembered and looked at where the function ends, so that they
do not stand in the way of vectors. The indices of a loop nest are tested before it (`boxes`): the nest is there twice,
without tests and with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from llvmlite import ir

from pyflat.analysis.parallel_loops import places
from pyflat.errors import InternalError
from pyflat.frontend.kernels import Kernel
from pyflat.ir.build import Builder
from pyflat.ir.faults import fault_condition
from pyflat.ir.loops import all_ops, recognise_counted
from pyflat.ir.memory import ArrayArgument, extents_made, may_warn
from pyflat.ir.nodes import FAULT, Block, Const, Exit, If, Item, Label, Loop, Op, Param, Region, Value, Yield, walk
from pyflat.ir.types import BOOL, FLOAT, INT, MEMORY, Kind
from pyflat.targets.numba.emitter import Emitter, Lane
from pyflat.targets.numba.kernels.apart import Apart, kernel_memories
from pyflat.targets.numba.kernels.boxes import Boxes, counters
from pyflat.targets.numba.kernels.fusion import Fusion, Fusions, write_fused
from pyflat.targets.numba.kernels.lane_plans import plan_lanes
from pyflat.targets.numba.kernels.lanes import write_lanes
from pyflat.targets.numba.kernels.removable import removable
from pyflat.targets.numba.kernels.routines import write_routine
from pyflat.targets.numba.kernels.splits import plan_splits, write_split
from pyflat.targets.numba.llvm import F32, F64, I1, I8, I32, I64, POINTER, counted, element_at, i64, stack
from pyflat.targets.numba.ops import emit
from pyflat.targets.numba.symbols import Symbols

FAULTED, WARNED = 1, 2
ENTRY = "pyflat_kernel"
ELEMENTS: dict[str, ir.Type] = {"b1": I8, "i1": I8, "u1": I8, "i2": ir.IntType(16), "u2": ir.IntType(16), "i4": I32,
                                "u4": I32, "i8": I64, "u8": I64, "f4": F32, "f8": F64}
CONTIGUOUS, ROWS, STRIDED, OVERLAPPING = "C", "R", "S", "O"
"""How an array lies: C's order without gaps; the elements of a row one after the other; anyhow; so that an element has
several indices."""


@dataclass(slots=True)
class Place:
    """An array in memory: the slots on the stack that have its address and strides, or the values themselves."""

    dtype: str
    layout: str
    pointer: Any
    extents: list[Any]
    strides: list[Any]
    slots: bool = False
    ring: int = 0
    """So many rows are kept, one in place of another; 0: all."""


@dataclass(slots=True)
class Target:
    """Where a label leads: the block, and the phis of what is carried there (None for memories)."""

    block: Any
    phis: list[Any]


@dataclass(frozen=True, slots=True)
class Slot:
    """What an argument slot has: "pointer", "extent", "stride" of an axis of an array, or "value"."""

    what: str
    name: str
    axis: int = 0


def argument_slots(kernel: Kernel, layouts: Mapping[str, str]) -> list[Slot]:
    slots: list[Slot] = []
    for name, argument in kernel.arguments.items():
        if isinstance(argument, ArrayArgument):
            axes = range(argument.rank)
            slots += [Slot("pointer", name), *[Slot("extent", name, axis) for axis in axes]]
            slots += [Slot("stride", name, axis) for axis in axes] if layouts[name] != CONTIGUOUS else []
        elif hasattr(argument, "kind") or hasattr(argument, "dtype"):
            slots.append(Slot("value", name))
    return slots


class KernelCode:
    """Writes one version of a kernel. `careful`: every float operation is watched, so that warnings are certain."""

    def __init__(self, kernel: Kernel, layouts: Mapping[str, str], returned: Sequence[str], *, careful: bool):
        self.kernel, self.layouts, self.returned, self.careful = kernel, layouts, returned, careful
        self.module = ir.Module(ENTRY)
        self.symbols = Symbols()
        signature = ir.FunctionType(I64, [I64, POINTER, POINTER])
        self.function = ir.Function(self.module, signature, ENTRY)
        self.context, self.arguments, self.results = self.function.args
        entry = self.function.append_basic_block("entry")
        self.builder = ir.IRBuilder(entry)
        self.e = Emitter(self.builder, self.symbols, 1)
        self.values: dict[Value, Lane | None] = {}
        self.targets: dict[Label, Target] = {}
        self.failed: Any = None
        self.places: dict[str, Place] = {}
        self.counters = counters(kernel.function.body)
        self.proven: set[Op] = set()
        self.modest: set[Op] = set()
        self.sites: list[Op] = [op for op in all_ops(kernel.function.body)
                                if op.opcode in ("alloc", "routine")]
        """What is Python's work."""
        self.zero = self.builder.lshr(self.context, i64(63))
        """Which LLVM does not know to be zero."""
        groups = kernel_memories(kernel, self.sites)
        read = {groups[op.attr("array")] for op in all_ops(kernel.function.body) if op.opcode == "load"}
        self.read_back = {name for name, group in groups.items() if group in read}
        """Arrays that are read: LLVM may know what was stored there."""
        self.faulted = stack(self.builder, I1)
        self.warned = stack(self.builder, I1)
        self.versions = True
        self.removable = set[Op]() if careful else removable(kernel.function)
        """Operations that LLVM may leave out, though they set the flags that say whether a run may warn."""
        self.constant: set[Value] = set()
        """Operations that LLVM computes, without any flag."""
        self.done: set[Op] = set()
        """Operations whose values are there already."""
        self.kept: dict[int, Any] = {}
        """For as many lanes: the sum of the bits of such operations."""
        strided = {name: layout == STRIDED for name, layout in layouts.items()}
        in_order = careful or OVERLAPPING in layouts.values()
        self.lanes = {} if in_order else plan_lanes(kernel, strided)
        self.splits = {} if in_order else plan_splits(kernel, set(self.lanes))
        fused = None if in_order else Fusions(kernel, set(self.lanes), returned)
        self.fusions = {} if fused is None else fused.found
        self.whole = {} if fused is None else fused.reasons
        """Arrays made inside that keep all rows, and why."""

    def text(self) -> str:
        b, fn = self.builder, self.kernel.function
        for flag in (self.faulted, self.warned):
            b.store(ir.Constant(I1, 0), flag)
        self._declare_locals()
        self.apart = Apart(self.module, kernel_memories(self.kernel, self.sites))
        self._read_arguments()
        failed = self.failed = self.function.append_basic_block("failed")
        done = self.function.append_basic_block("done")
        self.targets[FAULT] = Target(failed, [])
        self.targets[fn.label] = self._target(done, [Param(kind) for kind in fn.result_kinds])
        ends = self.items(fn.body)
        if ends is not None:
            self.jump(self.targets[fn.label], ends)
        b.position_at_end(failed)
        b.ret(i64(FAULTED))
        b.position_at_end(done)
        self._write_results(self.targets[fn.label].phis)
        return str(self.module)

    # --- the frame
    def slot(self, block: Any, number: int, type_: ir.Type | None) -> Any:
        """The address of a slot of 8 bytes, or what it has, as this type."""
        place = self.builder.gep(block, [i64(number)], source_etype=I64)
        place.type = POINTER
        return place if type_ is None else self.builder.load(place, typ=type_)

    def _read_arguments(self) -> None:
        params = iter(self.kernel.function.params)
        memories: set[int] = set()
        slots = argument_slots(self.kernel, self.layouts)
        at = {(slot.what, slot.name, slot.axis): number for number, slot in enumerate(slots)}
        for name, argument in self.kernel.arguments.items():
            if isinstance(argument, ArrayArgument):
                if argument.memory not in memories:
                    memories.add(argument.memory)
                    self.values[next(params)] = None
                self._read_array(name, argument, at, params)
            elif ("value", name, 0) in at:
                param = next(params)
                number = at["value", name, 0]
                type_ = {BOOL: I64, INT: I64, FLOAT: F64}[param.kind]
                value = self.slot(self.arguments, number, type_)
                if param.kind is BOOL:
                    value = self.builder.icmp_unsigned("!=", value, i64(0))
                self.values[param] = Lane(self.e, param.kind, value)

    def _read_array(self, name: str, argument: ArrayArgument, at: Mapping[Any, int], params: Any) -> None:
        layout = self.layouts[name]
        pointer = self.slot(self.arguments, at["pointer", name, 0], POINTER)
        extents, strides = [], []
        for axis in range(argument.rank):
            extents.append(self.slot(self.arguments, at["extent", name, axis], I64))
            self.values[next(params)] = Lane(self.e, INT, extents[-1])
            if layout != CONTIGUOUS:
                strides.append(self.slot(self.arguments, at["stride", name, axis], I64))
        self.places[name] = Place(argument.dtype, layout, pointer, extents, strides)

    def _declare_locals(self) -> None:
        for op in self.sites:
            if op.kind is not MEMORY:
                continue
            rank = len(extents_made(op))
            self.places[op.attr("array")] = Place(op.attr("dtype"), CONTIGUOUS, stack(self.builder, POINTER),
                                                  [stack(self.builder, I64) for _ in range(rank)], [], slots=True)

    def _write_results(self, phis: Sequence[Any]) -> None:
        b, number = self.builder, 0
        for phi, kind in zip(phis, self.kernel.function.result_kinds, strict=True):
            if kind is MEMORY:
                continue
            value = b.zext(phi, I64) if kind is BOOL else phi
            b.store(value, self.slot(self.results, number, None))
            number += 1
        for name in self.returned:
            place = self.places[name]
            if place.slots:
                b.store(b.load(place.pointer, typ=POINTER), self.slot(self.results, number, None))
                number += 1
        self._write_kept(number)
        flags = b.zext(b.load(self.faulted, typ=I1), I64)
        warned = b.zext(b.load(self.warned, typ=I1), I64)
        b.ret(b.or_(flags, b.shl(warned, i64(1))))

    # --- control
    def _target(self, block: Any, params: Sequence[Value]) -> Target:
        before = self.builder.block
        self.builder.position_at_end(block)
        phis = [None if p.kind is MEMORY else self.builder.phi(self.e.scalars[p.kind]) for p in params]
        self.builder.position_at_end(before)
        return Target(block, phis)

    def jump(self, target: Target, values: Sequence[Value]) -> None:
        for phi, value in zip(target.phis, values, strict=True):
            if phi is not None:
                phi.add_incoming(self.opaque(value, self.lane(value)).value, self.builder.block)
        self.builder.branch(target.block)

    def lane(self, value: Value) -> Lane:
        if isinstance(value, Const):
            return self.e.const(value.kind, value.value)
        found = self.values[value]
        if found is None:
            raise InternalError("a memory is no number")
        return found

    def opaque(self, value: Value, lane: Lane, *, ints: bool = False) -> Lane:
        """A constant that LLVM does not know: where a variable or an element may have it, LLVM would compute with it,
        and the processor's flags would not say what NumPy warns of."""
        known = isinstance(value, Const) and value.value is not None or value in self.constant
        if not known or lane.kind is not FLOAT and not (ints and lane.kind is INT):
            return lane
        e, b = lane.emit, self.builder
        bits = lane.value if lane.kind is INT else b.bitcast(lane.value, e.types[INT])
        zero = self.zero if e.width == 1 else e.broadcast(INT, self.zero).value
        bits = b.add(bits, zero)
        return Lane(e, lane.kind, bits if lane.kind is INT else b.bitcast(bits, e.types[FLOAT]))

    def stored(self, op: Op, lane: Lane) -> Any:
        """The element that a store of a number writes."""
        name = op.attr("array")
        found = self.opaque(op.args[-1], lane, ints=True) if name in self.read_back else lane
        return self.narrowed(found, self.places[name].dtype)

    def items(self, items: list[Item]) -> Sequence[Value] | None:
        """A list; what it yields, None where it has left."""
        after = 0
        for at, item in enumerate(items):
            if at < after:
                continue
            match item:
                case Loop() if (fusion := self.fusions.get(item)) is not None and self._fused(fusion):
                    after = fusion.end
                case Block():
                    for op in item.ops:
                        self.op(op)
                    if isinstance(item.end, Exit):
                        self._exit(item.end)
                        return None
                    if isinstance(item.end, Yield):
                        return item.end.values
                case If():
                    self._if(item)
                case Region():
                    self._region(item)
                case Loop():
                    self._loop(item)
        raise InternalError("control fell off a list without an end")

    def _exit(self, end: Exit) -> None:
        self.jump(self.targets[end.label], [] if end.label is FAULT else end.values)

    def bind(self, params: Sequence[Param], target: Target) -> None:
        self.builder.position_at_end(target.block)
        for param, phi in zip(params, target.phis, strict=True):
            self.values[param] = None if phi is None else Lane(self.e, param.kind, phi)

    def _if(self, node: If) -> None:
        b = self.builder
        then, orelse, after = (self.function.append_basic_block(n) for n in ("then", "else", "join"))
        target = self._target(after, node.results)
        early = self._loaded_early(node)
        b.cbranch(self.lane(node.cond).value, then, orelse)
        for block, items in ((then, node.then), (orelse, node.orelse)):
            b.position_at_end(block)
            values = self.items(items)
            if values is not None:
                self.jump(target, values)
        self.done -= early
        self.bind(node.results, target)

    def _loaded_early(self, node: If) -> set[Op]:
        """Loads from arrays that both arms read, before the branch: one of the two is needed, elements that are inside
        can be read in any case, and without them LLVM makes a choice of the branch."""
        heads = [early_loads(items) for items in (node.then, node.orelse)]
        arrays = [{op.attr("array") for op in head if op.opcode == "load"} for head in heads]
        wanted: set[Value] = {op for head in heads for op in head
                              if op.opcode == "load" and op.attr("array") in arrays[0] & arrays[1]}
        ops = [op for head in heads for op in head]
        for op in reversed(ops):
            if op in wanted:
                wanted |= {arg for arg in op.args if arg.kind is not MEMORY}
        found = {op for op in ops if op in wanted}
        if any(op.opcode != "load" and op not in self.proven and op not in self.modest for op in found):
            return set()
        for op in ops:
            if op in found:
                self.op(op)
        self.done |= found
        return found

    def _region(self, node: Region) -> None:
        target = self._target(self.function.append_basic_block("region"), node.results)
        self.targets[node.label] = target
        values = self.items(node.body)
        if values is not None:
            self.jump(target, values)
        self.bind(node.results, target)

    def _loop(self, loop: Loop) -> None:
        after = self._target(self.function.append_basic_block("after"), loop.results)
        tested = self._tested(loop)
        if tested is None:
            self._loop_once(loop, after)
        else:
            self._loop_twice(loop, after, *tested)
        self.bind(loop.results, after)

    def _fused(self, fusion: Fusion) -> bool:
        """Writes loops as one, and as they stand where an index may be outside. False: that is all that they can be."""
        loops, b = [part.loop for part in fusion.parts], self.builder
        unknown = [loop for loop in loops if not self.proven.issuperset(_indices(loop))]
        if unknown and not self.versions:
            return False
        for block in fusion.between:
            for op in block.ops:
                self.op(op)
        tests = [self._tested(loop) for loop in unknown]
        known = [test for test in tests if test is not None]
        proven, modest = (self.proven.union(*[test[k] for test in known]) for k in (1, 2))
        modest |= self.modest
        if not all(proven.issuperset(_indices(loop)) for loop in unknown):
            return False
        outer, join = (self.proven, self.modest, self.versions), self.function.append_basic_block("fused")
        if unknown:
            fast, slow = (self.function.append_basic_block(name) for name in ("together", "apart"))
            b.cbranch(reduce(b.and_, [test[0] for test in known]), fast, slow)
            b.position_at_end(slow)
            self.versions = False
            for loop in loops:
                self._loop(loop)
            b.branch(join)
            b.position_at_end(fast)
        self.proven, self.modest, self.versions = proven, modest, outer[2]
        write_fused(self, fusion)
        b.branch(join)
        self.proven, self.modest, self.versions = outer
        b.position_at_end(join)
        return True

    def _loop_twice(self, loop: Loop, after: Target, inside: Any, proven: set[Op], modest: set[Op]) -> None:
        fast, slow = (self.function.append_basic_block(n) for n in ("untested", "tested"))
        self.builder.cbranch(inside, fast, slow)
        versions, outer_proven, outer_modest = self.versions, self.proven, self.modest
        self.builder.position_at_end(fast)
        self.proven, self.modest = outer_proven | proven, outer_modest | modest
        self._loop_once(loop, after)
        self.builder.position_at_end(slow)
        self.proven, self.modest, self.versions = outer_proven, outer_modest, False
        self._loop_once(loop, after)
        self.versions = versions

    def _tested(self, loop: Loop) -> tuple[Any, set[Op], set[Op]] | None:
        """The test before a loop that all indices in it are inside, those indices, and the operations whose ints are
        modest then. None where there is nothing to test."""
        innermost = not any(isinstance(item, Loop) for item in walk(loop.body))
        if recognise_counted(loop) is None or not (self.versions or innermost):
            return None
        indices = [op for op in all_ops(loop.body) if op.opcode == "index" and op not in self.proven]
        outside = {value: lane.value for value, lane in self.values.items() if lane is not None and lane.kind is INT}
        boxes = Boxes(self.builder, loop, outside, self.counters)
        proven: set[Op] = set()
        for op in indices:
            test = boxes.inside_of(op.args[0], op.args[1])
            if test is not None:
                boxes.trust(test)
                proven.add(op)
        if not proven or boxes.trusted is None:
            return None
        return boxes.trusted, proven, boxes.used

    def _loop_once(self, loop: Loop, after: Target) -> None:
        plan, split = self.lanes.get(loop), self.splits.get(loop)
        if plan is not None and plan.indices <= self.proven:
            write_lanes(self, plan, after.block)
        elif split is not None and split.plan.indices <= self.proven:
            write_split(self, split, after)
        else:
            self.loop_as_it_is(loop, loop.inits, after)

    def loop_head(self, name: str, params: Sequence[Param]) -> Target:
        """A block that carries numbers."""
        return self._target(self.function.append_basic_block(name), params)

    def loop_as_it_is(self, loop: Loop, inits: Sequence[Value], after: Target) -> None:
        b, head = self.builder, self.loop_head("loop", loop.params)
        self.targets[loop.label] = after
        self.targets[loop.again] = head
        self.jump(head, inits)
        self.bind(loop.params, head)
        if recognise_counted(loop) is None:  # what a fault has left may keep it running for ever
            go = self.function.append_basic_block("go")
            b.cbranch(b.load(self.faulted, typ=I1), self.targets[FAULT].block, go)
            b.position_at_end(go)
        values = self.items(loop.body)
        if values is not None:
            self.jump(head, values)

    # --- operations
    def op(self, op: Op) -> None:
        if op in self.done:
            return
        match op.opcode:
            case "index":
                self.values[op] = self._index(op)
            case "load":
                self.values[op] = self._load(op)
            case "store":
                self._store(op)
                self.values[op] = None
            case "alloc":
                self._alloc(op)
                self.values[op] = None
            case "routine":
                self.values[op] = write_routine(self, op)
            case _:
                self._compute(op)

    def _compute(self, op: Op) -> None:
        if op.opcode == "select" and op.args[1] is op.args[2]:
            self.constant.update([op] if isinstance(op.args[1], Const) or op.args[1] in self.constant else [])
            self.values[op] = self.lane(op.args[1])
            return
        args = [self.lane(arg) for arg in op.args]
        self.values[op] = self.value_of(self.e, op, args)
        if op in self.modest:
            return
        self.note(self.faulted, self._fault(op))
        if all(isinstance(arg, Const) or arg in self.constant for arg in op.args):
            self.constant.add(op)
        if not may_warn(op.opcode, op.kind):
            return
        if self.careful or op in self.constant:
            self._watch(op, args)
        elif op in self.removable:
            self.keep(self.lane(op))

    def value_of(self, e: Emitter, op: Op, args: list[Lane]) -> Lane:
        """The value of an operation, in as many lanes as the emitter has."""
        b = self.builder
        if op in self.modest and op.kind is INT and op.opcode in ("add", "sub", "mul"):
            return Lane(e, INT, getattr(b, op.opcode)(args[0].value, args[1].value, flags=["nsw"]))
        match op.opcode:
            case "rounded":
                return Lane(e, FLOAT, b.fpext(b.fptrunc(args[0].value, e.widened(F32)), e.types[FLOAT]))
            case "fitted":
                return args[0]
            case "select":
                args = [args[0], *map(self.opaque, op.args[1:], args[1:])]
            case "divide":
                return args[0] / args[1]
        return emit(e, op, args)

    def _fault(self, op: Op) -> Any:
        """Whether an operation faults, None where it cannot."""
        build = Builder()
        condition = fault_condition(build, op)
        if condition is None:
            return None
        for each in build.block.ops:
            self.values[each] = emit(self.e, each, [self.lane(arg) for arg in each.args])
        return self.lane(condition).value

    def note(self, flag: Any, condition: Any) -> None:
        if condition is not None:
            self.builder.store(self.builder.or_(self.builder.load(flag, typ=I1), condition), flag)

    def keep(self, lane: Lane) -> None:
        """A value that the kernel needs, whatever else becomes of it: its bits are added to what is given back."""
        b, width = self.builder, lane.emit.width
        type_ = lane.emit.types[INT]
        if width not in self.kept:
            self.kept[width] = stack(b, type_)
            with b.goto_entry_block():
                b.store(ir.Constant(type_, None if width > 1 else 0), self.kept[width])
        sum_ = b.add(b.load(self.kept[width], typ=type_), b.bitcast(lane.value, type_))
        b.store(sum_, self.kept[width])

    def _write_kept(self, number: int) -> None:
        for width, place in self.kept.items():
            type_ = I64 if width == 1 else ir.VectorType(I64, width)
            self.builder.store(self.builder.load(place, typ=type_), self.slot(self.results, number, None), align=8)
            number += width

    def _watch(self, op: Op, args: list[Lane]) -> None:
        """NumPy warns where finite operands give an infinity, and numbers give nan."""
        value = self.lane(op)
        finite = abs(value).compare("<", float("inf"))
        given = [abs(arg).compare("<", float("inf")) for arg in args if arg.kind is FLOAT]
        numbers = [arg.compare("==", arg) for arg in args if arg.kind is FLOAT]
        all_finite, all_numbers = given[0], numbers[0]
        for more, number in zip(given[1:], numbers[1:], strict=True):
            all_finite, all_numbers = all_finite & more, all_numbers & number
        bad = (~finite & all_finite) | (value.compare("!=", value) & all_numbers)
        self.note(self.warned, bad.value)

    # --- memory
    def _index(self, op: Op) -> Lane:
        position, size = (self.lane(arg) for arg in op.args)
        if op in self.proven:
            return position
        b = self.builder
        wrapped = self.e.select(position.compare("<", 0), position + size, position)
        inside = b.icmp_unsigned("<", wrapped.value, size.value)
        go = self.function.append_basic_block("inside")
        b.cbranch(inside, go, self.targets[FAULT].block)
        b.position_at_end(go)
        return wrapped

    def _element(self, op: Op) -> Any:
        """Where the element of an access is. What is added to the last index is added behind all else: LLVM would take
        `a[j - 1]` for the `a[j]` of the iteration before, keep it in a register, and shuffle vectors for it."""
        place, (*rows, last) = self.places[op.attr("array")], places(op)
        number, more = self._parted(last) if rows else (last, 0)
        if not more or place.layout not in (CONTIGUOUS, ROWS):
            return self.address(place, [self.lane(each) for each in places(op)])
        found = self.address(place, [self.lane(each) for each in [*rows, number]], surely=False)
        return self._gep(found, i64(more), ELEMENTS[place.dtype], surely=False)

    def _parted(self, index: Value) -> tuple[Value, int]:
        """An index that is inside, as a value and a number to add."""
        sum_ = index.args[0] if isinstance(index, Op) and index in self.proven else None
        if not isinstance(sum_, Op) or sum_.opcode not in ("add", "sub") or sum_ not in self.modest:
            return index, 0
        value, more = sum_.args
        if not isinstance(more, Const) or isinstance(value, Const):
            return index, 0
        return value, int(more.value or 0) if sum_.opcode == "add" else -int(more.value or 0)

    def address(self, place: Place, position: Sequence[Lane], *, surely: bool = True) -> Any:
        """Where an element is; `surely`: there is one."""
        b = self.builder
        pointer = b.load(place.pointer, typ=POINTER) if place.slots else place.pointer
        extents = [b.load(extent, typ=I64) for extent in place.extents] if place.slots else place.extents
        element = ELEMENTS[place.dtype]
        if place.layout == CONTIGUOUS:
            flat: Any = i64(0)
            if place.ring:
                position = [Lane(self.e, INT, b.urem(position[0].value, i64(place.ring))), *position[1:]]
            for number, extent in zip(position, extents, strict=True):
                flat = number.value if flat.type is I64 and getattr(flat, "constant", None) == 0 else b.add(
                    b.mul(flat, extent, flags=["nsw"]), number.value, flags=["nsw"])
            return self._gep(pointer, flat, element, surely=surely)
        last = len(position) - 1
        for axis, number in enumerate(position):
            if axis == last and place.layout == ROWS:
                return self._gep(pointer, number.value, element, surely=surely)
            pointer = self._gep(pointer, b.mul(number.value, place.strides[axis], flags=["nsw"]), I8)
        return pointer

    def _gep(self, pointer: Any, index: Any, element: ir.Type, *, surely: bool = True) -> Any:
        found = self.builder.gep(pointer, [index], inbounds=surely, source_etype=element)
        found.type = POINTER
        return found

    def _load(self, op: Op) -> Lane:
        b, place = self.builder, self.places[op.attr("array")]
        value = b.load(self._element(op), typ=ELEMENTS[place.dtype], align=np.dtype(place.dtype).itemsize)
        self.apart.mark(value, op.attr("array"))
        return self.number(self.e, op.kind, value, place.dtype)

    def has_gaps(self, array: str) -> bool:
        """The elements of a row do not lie one after the other."""
        return self.places[array].layout in (STRIDED, OVERLAPPING)

    def addresses(self, e: Emitter, array: str, position: Sequence[Lane]) -> Any:
        """Where the elements of many lanes are."""
        b, place, flat = self.builder, self.places[array], e.const(INT, 0).value
        pointer = b.load(place.pointer, typ=POINTER) if place.slots else place.pointer
        steps = place.extents if place.layout == CONTIGUOUS else place.strides
        for number, step in zip(position, steps, strict=False):
            each = e.broadcast(INT, b.load(step, typ=I64) if place.slots else step).value
            if place.layout == CONTIGUOUS:
                flat = b.add(b.mul(flat, each), number.value)
            else:
                flat = b.add(flat, b.mul(number.value, each))
        return element_at(b, pointer, flat, ELEMENTS[place.dtype] if place.layout == CONTIGUOUS else I8)

    @staticmethod
    def element(dtype: str) -> tuple[ir.Type, int]:
        """The type of an element in memory, and its bytes."""
        return ELEMENTS[dtype], np.dtype(dtype).itemsize

    def number(self, e: Emitter, kind: Kind, value: Any, dtype: str) -> Lane:
        """What was loaded, as lanes of the emitter."""
        b = self.builder
        match dtype[0]:
            case "b":
                value = b.icmp_unsigned("!=", value, e.splat(ir.Constant(I8, 0)))
            case "f":
                value = b.fpext(value, e.types[FLOAT]) if dtype == "f4" else value
            case sign if dtype[1] != "8":
                value = b.sext(value, e.types[INT]) if sign == "i" else b.zext(value, e.types[INT])
        return Lane(e, kind, value)

    def _store(self, op: Op) -> None:
        place = self.places[op.attr("array")]
        stored = self.builder.store(self.stored(op, self.lane(op.args[-1])), self._element(op),
                                    align=np.dtype(place.dtype).itemsize)
        self.apart.mark(stored, op.attr("array"))

    def narrowed(self, lane: Lane, dtype: str) -> Any:
        """The element of this dtype that numbers are stored as."""
        element = lane.emit.widened(ELEMENTS[dtype])
        if dtype == "b1":
            return self.builder.zext(lane.value, element)
        if dtype[0] == "f":
            return self.builder.fptrunc(lane.value, element) if dtype == "f4" else lane.value
        return lane.value if ELEMENTS[dtype] is I64 else self.builder.trunc(lane.value, element)

    def _alloc(self, op: Op) -> None:
        """The caller makes the array (zeros, or nothing in particular), and we fill it with other numbers."""
        b, place = self.builder, self.places[op.attr("array")]
        *sizes, fill = op.args
        shape = stack(b, I64, max(len(sizes), 1))
        total: Any = i64(1)
        for axis, size in enumerate(sizes):
            number = self.lane(size).value
            b.store(number, self.slot(shape, axis, None))
            b.store(number, place.extents[axis])
            total = b.mul(total, number)
        zero = isinstance(fill, Const) and fill.value is not None and not fill.value and str(fill.value) != "-0.0"
        site = i64(2 * self.sites.index(op) + zero)
        call = self._allocator()
        pointer = b.call(call, [self.context, site, shape])
        b.store(pointer, place.pointer)
        none = b.icmp_unsigned("==", b.ptrtoint(pointer, I64), i64(0))
        self.leave_if(none)
        if not zero and not (isinstance(fill, Const) and fill.value is None):
            self._fill(pointer, total, self.stored(op, self.lane(fill)), place.dtype)

    def leave_if(self, failed: Any) -> None:
        """A run that has met a fault ends."""
        go = self.function.append_basic_block("made")
        self.builder.cbranch(failed, self.targets[FAULT].block, go)
        self.builder.position_at_end(go)

    def _allocator(self) -> Any:
        found = self.module.globals.get("pyflat_allocate")
        return found or ir.Function(self.module, ir.FunctionType(POINTER, [I64, I64, POINTER]), "pyflat_allocate")

    def _fill(self, pointer: Any, total: Any, value: Any, dtype: str) -> None:
        with counted(self.builder, total) as index:
            self.builder.store(value, element_at(self.builder, pointer, index, ELEMENTS[dtype]),
                               align=np.dtype(dtype).itemsize)


def early_loads(items: list[Item]) -> list[Op]:
    """The loads at the head of a list that need nothing but sums of indices from it, and so no memory that a store of
    it has left; and these."""
    head = items[0] if items else None
    found: dict[Op, None] = {}
    own = set(head.ops) if isinstance(head, Block) else set()
    for op in head.ops if isinstance(head, Block) else ():
        if op.opcode not in ("load", "index", "add", "sub") or op.opcode in ("add", "sub") and op.kind is not INT:
            continue
        if all(arg not in own or arg in found and arg.opcode != "load" for arg in op.args if isinstance(arg, Op)):
            found[op] = None
    return list(found)


def _indices(loop: Loop) -> set[Op]:
    return {op for op in all_ops(loop.body) if op.opcode == "index"}
