"""The structured IR of a kernel as LLVM's IR: its nodes are branches and phis, its memory loads and stores.

    i64 kernel(i64 strict, i64* arguments, i64* results)

`strict` is 1 where a warning may end what runs, else 0. `arguments` are slots of 8 bytes: of an array its address, the
length of each axis and, unless it is contiguous, the stride of each axis in bytes; of a number the number. `results`
are the numbers of the result, then the addresses of the arrays that are returned. The function returns what has
happened: 0, or a sum of FAULT and WARNING, after which results and written arrays mean nothing, but that the careful
version goes on after warnings, and flags behind its results say which.

An index that is outside leaves at once. Other faults are remembered and looked at where the function ends, so that they
do not stand in the way of vectors. The indices of a loop nest are tested before it (`boxes`): the nest is there twice,
without tests and with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

from llvmlite import ir

from pyflat.analysis.kernels import Kernel
from pyflat.errors import InternalError
from pyflat.functions import ways
from pyflat.ir.loops import all_ops, definitions, has_loop, recognise_counted
from pyflat.ir.memory import ArrayArgument, extents_made
from pyflat.ir.nodes import FAULT, Block, Exit, If, Item, Label, Loop, Op, Param, Region, Value, Yield, walk
from pyflat.ir.types import BOOL, FLOAT, INT, MEMORY
from pyflat.targets.numba.emitter import Lane
from pyflat.targets.numba.kernels.boxes import FAULTED, WAITED, WARNED, WRAPPED, Boxes, argument_slots, counters, slot
from pyflat.targets.numba.kernels.fusion import Fusion, Fusions, write_fused
from pyflat.targets.numba.kernels.lane_plans import plan_lanes
from pyflat.targets.numba.kernels.lanes import write_lanes
from pyflat.targets.numba.kernels.operations import Guard, KernelOperations
from pyflat.targets.numba.kernels.outlined import plan_outlined, write_outlined
from pyflat.targets.numba.kernels.places import CONTIGUOUS, OVERLAPPING, STRIDED, ArrayPlace
from pyflat.targets.numba.kernels.splits import plan_splits, write_split
from pyflat.targets.numba.llvm import F64, I1, I64, POINTER, i64, stack, without_own_vectors


class Tested(NamedTuple):
    """A test before a loop; the indices that are inside of their axes then in all iterations, and where they stand; the
    operations whose ints are modest."""

    test: Any
    always: set[Op]
    here: set[Op]
    modest: set[Op]


@dataclass(slots=True)
class LabelTarget:
    """Where a label leads: the block, and the phis of what is carried there (None for memories)."""

    block: Any
    phis: list[Any]


class KernelCode(KernelOperations):
    """Writes one version of a kernel. `careful`: every float operation is watched, so that warnings are certain."""

    def __init__(self, kernel: Kernel, layouts: Mapping[str, str], returned: Sequence[str], *, careful: bool):
        super().__init__(kernel, returned, careful=careful)
        self.layouts = layouts
        self.targets: dict[Label, LabelTarget] = {}
        self.again: Label | None = None
        """The label by which the innermost loop goes on."""
        self.counters = counters(kernel.function.body)
        self.versions = True
        strided = {name: layout == STRIDED for name, layout in layouts.items()}
        in_order = careful or OVERLAPPING in layouts.values()
        flat = not in_order and ways.KERNEL_BODIES.forced != "in place"
        self.outlined = plan_outlined(kernel, self.warns) if flat else {}
        self.symbols.kept += [plan.inner for plan in self.outlined.values()]
        planned = {} if in_order or ways.KERNEL_LANES.forced == "in order" else plan_lanes(kernel, strided)
        self.lanes = {loop: plan for loop, plan in planned.items() if loop not in self.outlined}
        whole = {*self.lanes, *self.outlined}
        splits = not in_order and ways.KERNEL_SPLITS.forced != "whole"
        self.splits = plan_splits(kernel, whole) if splits else {}
        fuses = not in_order and ways.KERNEL_FUSION.forced != "apart"
        fused = Fusions(kernel, whole, returned) if fuses else None
        self.fusions = {} if fused is None else fused.found
        for way, found in ((ways.KERNEL_BODIES, self.outlined), (ways.KERNEL_LANES, self.lanes),
                           (ways.KERNEL_SPLITS, self.splits), (ways.KERNEL_FUSION, self.fusions)):
            ways.note(way.name, way.values[0] if found else way.values[1])
        self.whole = {} if fused is None else fused.reasons
        """Arrays made inside that keep all rows, and why."""
        self.ends = self._ending()

    def _ending(self) -> set[Op]:
        """Those that stand beside or around loops which run as they are: elsewhere a test would stand in the way."""
        loops = [item for item in walk(self.kernel.function.body) if isinstance(item, Loop)]
        others = [*self.outlined, *self.lanes,
                  *(part.loop for fusion in self.fusions.values() for part in fusion.parts),
                  *(loop for loop in loops if not has_loop(loop.body))]
        late = {op for loop in others for op in all_ops(loop.body)}
        late.update(op for fusion in self.fusions.values() for block in fusion.between for op in block.ops)
        return {op for op in all_ops(self.kernel.function.body) if op not in late}

    def text(self) -> str:
        b, fn = self.builder, self.kernel.function
        for flag in (self.faulted, self.warned, self.wrapped):
            b.store(ir.Constant(I1, 0), flag)
        self._declare_locals()
        self._read_arguments()
        failed, waited, done = (self.function.append_basic_block(name) for name in ("failed", "waited", "done"))
        self.failed, self.waited = failed, waited
        self.targets[FAULT] = LabelTarget(failed, [])
        self.targets[fn.label] = self._target(done, [Param(kind) for kind in fn.result_kinds])
        ends = self.items(fn.body)
        if ends is not None:
            self.jump(self.targets[fn.label], ends)
        b.position_at_end(failed)
        b.ret(i64(FAULTED))
        b.position_at_end(waited)
        b.ret(i64(FAULTED | WAITED))
        b.position_at_end(done)
        self._write_results(self.targets[fn.label].phis)
        if not self.lanes and not self.splits and not self.outlined:
            without_own_vectors(self.function)
        return str(self.module)

    # --- the frame
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
                value = slot(self.builder, self.arguments, number, type_)
                if param.kind is BOOL:
                    value = self.builder.icmp_unsigned("!=", value, i64(0))
                self.values[param] = Lane(self.e, param.kind, value)

    def _read_array(self, name: str, argument: ArrayArgument, at: Mapping[Any, int], params: Any) -> None:
        layout = self.layouts[name]
        pointer = slot(self.builder, self.arguments, at["pointer", name, 0], POINTER)
        extents, strides = [], []
        for axis in range(argument.rank):
            extents.append(slot(self.builder, self.arguments, at["extent", name, axis], I64))
            self.values[next(params)] = Lane(self.e, INT, extents[-1])
            if layout != CONTIGUOUS:
                strides.append(slot(self.builder, self.arguments, at["stride", name, axis], I64))
        self.places.of[name] = ArrayPlace(argument.dtype, layout, pointer, extents, strides)

    def _declare_locals(self) -> None:
        for op in self.sites:
            if op.kind is not MEMORY:
                continue
            rank = len(extents_made(op))
            pointer = stack(self.builder, POINTER)
            if op.attr("array") in self.returned:  # and perhaps never made
                self.builder.store(ir.Constant(POINTER, None), pointer)
            self.places.of[op.attr("array")] = ArrayPlace(
                op.attr("dtype"), CONTIGUOUS, pointer, [stack(self.builder, I64) for _ in range(rank)], [], slots=True)

    def _write_results(self, phis: Sequence[Any]) -> None:
        b, number = self.builder, 0
        for phi, kind in zip(phis, self.kernel.function.result_kinds, strict=True):
            if kind is MEMORY:
                continue
            value = b.zext(phi, I64) if kind is BOOL else phi
            b.store(value, slot(self.builder, self.results, number, None))
            number += 1
        for name in self.returned:
            place = self.places.of[name]
            if place.slots:
                b.store(b.load(place.pointer, typ=POINTER), slot(self.builder, self.results, number, None))
                number += 1
        self._write_met(self._write_kept(number))
        flags = b.zext(b.load(self.faulted, typ=I1), I64)
        for flag, bit in ((self.warned, WARNED), (self.wrapped, WRAPPED)):
            flags = b.or_(flags, b.select(b.load(flag, typ=I1), i64(bit), i64(0)))
        b.ret(flags)

    # --- control
    def _target(self, block: Any, params: Sequence[Value]) -> LabelTarget:
        before = self.builder.block
        self.builder.position_at_end(block)
        phis = [None if p.kind is MEMORY else self.builder.phi(self.e.scalars[p.kind]) for p in params]
        self.builder.position_at_end(before)
        return LabelTarget(block, phis)

    def jump(self, target: LabelTarget, values: Sequence[Value]) -> None:
        for phi, value in zip(target.phis, values, strict=True):
            if phi is not None:
                phi.add_incoming(self.opaque(value, self.lane(value)).value, self.builder.block)
        self.builder.branch(target.block)

    def items(self, items: list[Item]) -> Sequence[Value] | None:
        """A list; what it yields, None where it has left."""
        guard = self.guard
        try:
            return self._items(items)
        finally:
            self.guard = guard

    def _items(self, items: list[Item]) -> Sequence[Value] | None:
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

    def bind(self, params: Sequence[Param], target: LabelTarget) -> None:
        self.builder.position_at_end(target.block)
        for param, phi in zip(params, target.phis, strict=True):
            self.values[param] = None if phi is None else Lane(self.e, param.kind, phi)

    def _if(self, node: If) -> None:
        b = self.builder
        then, orelse, after = (self.function.append_basic_block(n) for n in ("then", "else", "join"))
        target = self._target(after, node.results)
        early = self._loaded_early(node)
        condition, outer = self.lane(node.cond).value, self.guard
        hidden = self.hidden_condition(node.cond).value
        b.cbranch(condition, then, orelse)
        guards = [Guard(outer, hidden, holds) for holds in (True, False)]
        for block, items, self.guard in zip((then, orelse), (node.then, node.orelse), guards, strict=True):
            b.position_at_end(block)
            values = self.items(items)
            if values is not None:
                self.jump(target, values)
        self.guard = guards[1] if self._continues(node.then) else guards[0] if self._continues(node.orelse) else outer
        self.done -= early
        self.bind(node.results, target)

    def _continues(self, items: list[Item]) -> bool:
        """Whether a list ends with the next iteration of the innermost loop."""
        end = items[-1].end if isinstance(items[-1], Block) else None
        return isinstance(end, Exit) and end.label is self.again

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
        if any(op.opcode != "load" and op not in (self.proven if op.opcode == "index" else self.modest)
               for op in found):
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
            self._loop_twice(loop, after, tested)
        self.bind(loop.results, after)
        for result in self.ended.intersection(loop.results):
            self.keep(self.lane(result))

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
        proven = self.proven.union(*[test.always for test in known])
        modest = self.modest.union(*[test.modest for test in known])
        if not all(proven.issuperset(_indices(loop)) for loop in unknown):
            return False
        outer, join = (self.proven, self.modest, self.versions), self.function.append_basic_block("fused")
        if unknown:
            fast, slow = (self.function.append_basic_block(name) for name in ("together", "apart"))
            b.cbranch(reduce(b.and_, [test.test for test in known]), fast, slow)
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

    def _loop_twice(self, loop: Loop, after: LabelTarget, tested: Tested) -> None:
        fast, slow = (self.function.append_basic_block(n) for n in ("untested", "tested"))
        self.builder.cbranch(tested.test, fast, slow)
        versions, outer = self.versions, (self.proven, self.here, self.modest)
        self.builder.position_at_end(fast)
        self.proven, self.here, self.modest = outer[0] | tested.always, outer[1] | tested.here, outer[2] | tested.modest
        self._loop_once(loop, after)
        self.builder.position_at_end(slow)
        (self.proven, self.here, self.modest), self.versions = outer, False
        self._loop_once(loop, after)
        self.versions = versions

    def _tested(self, loop: Loop) -> Tested | None:
        """The test before a loop that all indices in it are inside. None where there is nothing to test."""
        innermost = not any(isinstance(item, Loop) for item in walk(loop.body))
        if recognise_counted(loop) is None or not (self.versions or innermost):
            return None
        sure = self.kernel.indices
        indices = [op for op in all_ops(loop.body) if op.opcode == "index" and op not in self.proven | self.here]
        outside = {value: lane.value for value, lane in self.values.items() if lane is not None and lane.kind is INT}
        boxes = Boxes(self.builder, loop, outside, self.counters)
        always, here = set[Op](), set[Op]()
        for op in indices:
            test, found = boxes.inside_where_it_stands(op, sure), here
            if test is None:
                test, found = boxes.inside_of(*op.args), always
            if test is not None:
                boxes.trust(test)
                found.add(op)
        if not always | here or boxes.trusted is None or ways.KERNEL_BOUNDS.forced == "each":
            ways.note(ways.KERNEL_BOUNDS.name, "each")
            return None
        ways.note(ways.KERNEL_BOUNDS.name, "before")
        return Tested(boxes.trusted, always, here, boxes.used)

    def _loop_once(self, loop: Loop, after: LabelTarget) -> None:
        flat, plan, split = self.outlined.get(loop), self.lanes.get(loop), self.splits.get(loop)
        if flat is not None and flat.indices <= self.proven:
            write_outlined(self, flat)
            self.leave(loop, after)
        elif plan is not None and plan.indices <= self.proven:
            write_lanes(self, plan, after.block)
        elif split is not None and split.plan.indices <= self.proven:
            write_split(self, split, after)
        else:
            self.loop_as_it_is(loop, loop.inits, after)

    def loop_head(self, name: str, params: Sequence[Param]) -> LabelTarget:
        """A block that carries numbers."""
        return self._target(self.function.append_basic_block(name), params)

    def leave(self, loop: Loop, after: LabelTarget) -> None:
        """A counted loop (`iterates`) is over."""
        test = loop.body[1]
        assert isinstance(test, If)
        end = test.orelse[-1]
        assert isinstance(end, Block) and isinstance(end.end, Exit)
        for op in end.ops:
            self.op(op)
        self.jump(after, end.end.values)

    def loop_as_it_is(self, loop: Loop, inits: Sequence[Value], after: LabelTarget) -> None:
        head = self.loop_head("loop", loop.params)
        self.targets[loop.label] = after
        self.targets[loop.again] = head
        self.jump(head, inits)
        before = self.builder.block
        self.bind(loop.params, head)
        if recognise_counted(loop) is None or has_loop(loop.body):
            self.leave_after_fault()
        outer = self.again, self.guard
        self.again, self.guard = loop.again, None
        self.around.append((_changing(loop), before))
        values = self.items(loop.body)
        self.around.pop()
        self.again, self.guard = outer
        if values is not None:
            self.jump(head, values)


def _changing(loop: Loop) -> set[Value]:
    """What a loop defines, without what all its iterations compute alike."""
    found = {*definitions(loop.body), *loop.params}
    for op in all_ops(loop.body):
        if op.opcode != "alloc" and found.isdisjoint(op.args):
            found.discard(op)
    return found


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
