"""The operations of a kernel as LLVM's IR: what they compute, which faults and warnings they leave, and what they read
and write in memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Any

import numpy as np
from llvmlite import ir

from pyflat.analysis.kernels import Kernel
from pyflat.errors import InternalError
from pyflat.functions import libm
from pyflat.ir.affine import places
from pyflat.ir.build import Builder
from pyflat.ir.faults import fault_condition
from pyflat.ir.loops import all_ops
from pyflat.ir.memory import may_warn
from pyflat.ir.nodes import Block, Const, If, Item, Loop, Op, Param, Value, walk
from pyflat.ir.ops import COMPARISONS, NAN_TESTS, NUMPY_LOOPS, ROUNDED
from pyflat.ir.types import BOOL, FLOAT, INT, MEMORY
from pyflat.targets.numba.emitter import Emitter, Lane
from pyflat.targets.numba.kernels.array_routines import WrittenRoutine
from pyflat.targets.numba.kernels.boxes import ENTRY, slot
from pyflat.targets.numba.kernels.places import CONTIGUOUS, ELEMENTS, ROWS, Apart, ArrayPlaces, kernel_memories
from pyflat.targets.numba.kernels.removable import removable
from pyflat.targets.numba.kernels.routines import leaders, write_routine
from pyflat.targets.numba.llvm import I1, I32, I64, POINTER, counted, element_at, i64, stack
from pyflat.targets.numba.ops import emit, wraps
from pyflat.targets.numba.symbols import Symbols

ROOM = -1
"""The site of memory that is no array."""


RAISES_FLAGS = frozenset({"divide", "truediv", "sqrt", "np_sqrt", *ROUNDED})
"""What is asked of operands that a lane which does not run may have: they are replaced by 1.0."""


_CALLS = frozenset({"call", "narrow", "routine", "ufunc"})


@dataclass(frozen=True, slots=True)
class Guard:
    """What holds where an operation of a loop stands, in which other iterations have not left for the next one: of the
    conditions LLVM does not know that they do."""

    outer: Guard | None
    condition: Any
    holds: bool


def _tests_before_flags(items: list[Item]) -> set[Value]:
    """What branches test in loops with operations that raise flags."""
    loops = [item for item in walk(items) if isinstance(item, Loop)]
    found = {item.cond for loop in loops if any(op.opcode in RAISES_FLAGS for op in all_ops(loop.body))
             for item in walk(loop.body) if isinstance(item, If)}
    for value in list(found):
        waiting = [value]
        while waiting:
            each = waiting.pop()
            found.add(each)
            waiting += each.args if isinstance(each, Op) and each.opcode in ("and", "or", "not") else []
    return found


class KernelOperations:
    """What one version of a kernel has in all its blocks. `careful`: every float operation is watched, so that warnings
    are certain."""

    failed: Any
    """The block of a run that has met a fault."""
    waited: Any
    """The block of a run with lanes that perhaps never end."""
    returned: Sequence[str]
    """Arrays that may be."""
    ends: set[Op]
    """Operations whose faults end a run at once."""

    def __init__(self, kernel: Kernel, returned: Sequence[str], *, careful: bool):
        self.kernel, self.returned, self.careful = kernel, returned, careful
        self.module = ir.Module(ENTRY)
        self.symbols = Symbols()
        self.symbols.flags_stay = not careful
        signature = ir.FunctionType(I64, [I64, POINTER, POINTER])
        self.function = ir.Function(self.module, signature, ENTRY)
        self.context, self.arguments, self.results = self.function.args
        entry = self.function.append_basic_block("entry")
        self.builder = ir.IRBuilder(entry)
        self.e = Emitter(self.builder, self.symbols, 1)
        self.values: dict[Value, Lane | None] = {}
        self.places = ArrayPlaces(self.builder, self.e)
        self.proven, self.here = set(kernel.indices.always), set(kernel.indices.here)
        self.modest: set[Value] = set(kernel.small)
        self.sites: list[Op] = [op for op in all_ops(kernel.function.body) if op.opcode in ("alloc", "routine")]
        """What is Python's work."""
        self.leaders = leaders(kernel.function.body)
        self.made: dict[Op, WrittenRoutine] = {}
        """Routines that are loops here, by the first of their parts."""
        self.zero = self.builder.lshr(self.context, i64(63))
        """Which LLVM does not know to be zero."""
        joins = [item for item in walk(kernel.function.body) if not isinstance(item, Block)]
        self.joined = {result for item in joins for result in item.results}
        """What is one of several values."""
        self._note_memories()
        self.faulted, self.warned, self.wrapped = (stack(self.builder, I1) for _ in range(3))
        self.warns = any(may_warn(op.opcode, op.kind) or op.opcode in NUMPY_LOOPS or op.opcode in _CALLS
                         for op in all_ops(kernel.function.body))
        """Whether NumPy may warn of anything."""
        self.removable, self.ended = (set[Op](), frozenset[Param]()) if careful else removable(
            kernel.function, kernel.indices.here)
        """Operations that LLVM may leave out, though they set the flags that say whether a run may warn; results of
        loops that are kept instead of more of them."""
        self.constant: set[Value] = set()
        """Operations that LLVM computes, without any flag."""
        self.done: set[Op] = set()
        """Operations whose values are there already."""
        self.repeated = {op for item in walk(kernel.function.body) if isinstance(item, Loop)
                         for op in all_ops(item.body) if op in self.sites}
        self.rooms: dict[Hashable, tuple[Any, Any]] = {}
        """Memory that operations use again: where it is, and how much."""
        self.guard: Guard | None = None
        self.tests = set[Value]() if careful else _tests_before_flags(kernel.function.body)
        self.hidden_tests: dict[Value, tuple[Lane, Lane]] = {}
        """The truth of tests, and one of which LLVM does not know that it is the same."""
        self.around: list[tuple[set[Value], Any]] = []
        """The loops around what is written, from outside: what changes in each, and the block before it."""
        self.met: list[Any] = []
        """For each warning that there may be, whether there is."""
        self.kept: dict[int, Any] = {}
        """For as many lanes: the sum of the bits of such operations."""

    def _note_memories(self) -> None:
        groups, ops = kernel_memories(self.kernel, self.sites), list(all_ops(self.kernel.function.body))
        self.apart = Apart(self.module, groups)
        read = {groups[op.attr("array")] for op in ops if op.opcode == "load"}
        self.read_back = {name for name, group in groups.items() if group in read}
        """Arrays that are read: LLVM may know what was stored there."""
        self.own_arrays = {*self.returned, *[op.attr("array") for op in ops if op.opcode == "store"]}
        """Arrays that are written or returned."""

    def lane(self, value: Value) -> Lane:
        if isinstance(value, Const):
            return self.e.const(value.kind, value.value)
        found = self.values[value]
        if found is None:
            raise InternalError("a memory is not a number")
        return found

    def opaque(self, value: Value, lane: Lane, *, ints: bool = False) -> Lane:
        """A constant that LLVM does not know: where a variable or an element may have it, LLVM would compute with it,
        and the processor's flags would not say what NumPy warns of."""
        known = isinstance(value, Const) and value.value is not None or value in self.constant
        if not known or lane.kind is not FLOAT and not (ints and lane.kind is INT):
            return lane
        return self.hidden(lane)

    def hidden(self, lane: Lane) -> Lane:
        """An equal number, of which LLVM knows nothing, where flags are looked at."""
        if not self.warns:
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
        return self.places.narrowed(found, self.places.of[name].dtype)

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
                self.values[op] = self._once(op, lambda: write_routine(self, op))
            case _:
                self._compute(op)

    def _compute(self, op: Op) -> None:
        if op.opcode == "select" and op.args[1] is op.args[2]:
            self.constant.update([op] if isinstance(op.args[1], Const) or op.args[1] in self.constant else [])
            self.values[op] = self.lane(op.args[1])
            return
        args = [self.lane(arg) for arg in op.args]
        if not self.careful and self.guard is not None and op.opcode in RAISES_FLAGS and args[-1].kind is FLOAT:
            args[-1] = self._harmless(args[-1])
        if op.opcode in NUMPY_LOOPS or op.opcode in ("narrow", "ufunc"):
            self.values[op] = self._once(op, lambda: self.value_of(self.e, op, args))
        else:
            self.values[op] = self.value_of(self.e, op, args)
        if op in self.tests:
            self._hide_test(op)
        if op in self.modest:
            return
        if op in self.ends:
            self.leave_if(self._fault(op))
        else:
            self.note(self.faulted, self._fault(op))
        self._note_warning(self.wrapped, wraps(self.e, op, args))
        if all(isinstance(arg, Const) or arg in self.constant for arg in op.args):
            self.constant.add(op)
        if not may_warn(op.opcode, op.kind) or op.args[0].kind is not FLOAT:
            return
        if self.careful or op in self.constant:
            self._watch(op, args)
        elif op in self.removable:
            self.keep(self.lane(op))

    def _once(self, op: Op, compute: Callable[[], Lane | None]) -> Lane | None:
        """An operation that is called, once for all iterations of the loops that it is the same in: at its place, since
        it may warn. Not one that makes an array for each of them."""
        b, array = self.builder, op.attr("array") if op.kind is MEMORY else ""
        start = next((before for own, before in self.around if own.isdisjoint(op.args)), None)
        if start is None or array in self.own_arrays:
            return compute()
        made, known = stack(b, I1), None if array else stack(b, self.e.scalars[op.kind])
        with b.goto_block(start):
            b.store(ir.Constant(I1, 0), made)
        with b.if_then(b.not_(b.load(made, typ=I1)), likely=False):
            found = compute()
            if found is not None:
                b.store(found.value, known)
            b.store(ir.Constant(I1, 1), made)
        return None if known is None else Lane(self.e, op.kind, b.load(known, typ=self.e.scalars[op.kind]))

    def hidden_condition(self, value: Value) -> Lane:
        """The truth of a test, of which LLVM does not know behind a branch what it is."""
        found = self.lane(value)
        of, hidden = self.hidden_tests.get(value, (None, found))
        return hidden if of is found else found

    def _hide_test(self, op: Op) -> None:
        """Notes a comparison of its own, while the operands are at hand."""
        if op.opcode in ("and", "or", "not"):
            made = emit(self.e, op, list(map(self.hidden_condition, op.args)))
        elif op.opcode in (*COMPARISONS, *NAN_TESTS) and op.args[0].kind is not BOOL:
            first, *others = map(self.lane, op.args)
            made = emit(self.e, op, [self.hidden(first), *others])
        else:
            return
        self.hidden_tests[op] = self.lane(op), made

    def _harmless(self, operand: Lane) -> Lane:
        """An operand that is 1 where the operation is not reached. LLVM, which takes it to have no effect, computes it
        for all iterations side by side, and the flags would tell of others."""
        b, guard, reached = self.builder, self.guard, None
        while guard is not None:
            holds = guard.condition if guard.holds else b.not_(guard.condition)
            reached = holds if reached is None else b.and_(reached, holds)
            guard = guard.outer
        return self.e.select(Lane(self.e, BOOL, reached), operand, self.hidden(self.e.const(operand.kind, 1)))

    def value_of(self, e: Emitter, op: Op, args: list[Lane]) -> Lane:
        """The value of an operation, in as many lanes as the emitter has."""
        b = self.builder
        if op in self.modest and op.kind is INT and op.opcode in ("add", "sub", "mul"):
            return Lane(e, INT, getattr(b, op.opcode)(args[0].value, args[1].value, flags=["nsw"]))
        if op.opcode == "select":
            args = [args[0], *map(self.opaque, op.args[1:], args[1:])]
        made = emit(e, op, args)
        converts = op.kind is FLOAT and len(op.args) == 1 and op.args[0].kind is not FLOAT
        return self.hidden(made) if converts and self._may_be_known(op.args[0]) else made

    def _may_be_known(self, value: Value) -> bool:
        """Whether LLVM may find a number to be a constant, or a choice of some: a truth, what nodes yield, and what is
        computed with ints (`n - n`). It would compute with those, too."""
        if isinstance(value, Op) and value.kind is not BOOL:
            return value.opcode not in ("load", "index")
        return not isinstance(value, Const) and (value.kind is BOOL or value in self.joined)

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

    def note_flags(self) -> None:
        """What the processor's flags say so far: some of NumPy's loops clear them."""
        location = libm.library_symbol("fetestexcept")
        raised = self.e.call("fetestexcept", location, ir.Constant(I32, libm.WATCHED), result=I32, pure=False)
        self.note(self.warned, self.builder.icmp_unsigned("!=", raised, ir.Constant(I32, 0)))

    def clear_flags(self) -> None:
        location = libm.library_symbol("feclearexcept")
        self.e.call("feclearexcept", location, ir.Constant(I32, libm.WATCHED), result=I32, pure=False)

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

    def _write_kept(self, number: int) -> int:
        """The number of the next word."""
        for width, place in self.kept.items():
            type_ = I64 if width == 1 else ir.VectorType(I64, width)
            kept = self.builder.load(place, typ=type_)
            self.builder.store(kept, slot(self.builder, self.results, number, None), align=8)
            number += width
        return number

    def _watch(self, op: Op, args: list[Lane]) -> None:
        """NumPy warns where finite operands give an infinity, and numbers give nan; of an infinity that a zero makes it
        says something else."""
        value = self.lane(op)
        given = [abs(arg).compare("<", float("inf")) for arg in args if arg.kind is FLOAT]
        numbers = [arg.compare("==", arg) for arg in args if arg.kind is FLOAT]
        zeros = [arg.compare("==", 0.0) for arg in args if arg.kind is FLOAT]
        infinite, zero = reduce(and_, given, abs(value).compare("==", float("inf"))), reduce(or_, zeros)
        for warning in (infinite & zero, infinite & ~zero, reduce(and_, numbers, value.compare("!=", value))):
            self._note_warning(self.warned, warning.value)

    def _note_warning(self, flag: Any, condition: Any) -> None:
        """Each place and each text of a warning has a flag of its own, too, where warnings are certain."""
        self.note(flag, condition)
        if self.careful and condition is not None:
            self.met.append(stack(self.builder, I1))
            with self.builder.goto_entry_block():
                self.builder.store(ir.Constant(I1, 0), self.met[-1])
            self.note(self.met[-1], condition)

    def _write_met(self, number: int) -> None:
        for k, flag in enumerate(self.met):
            met = self.builder.zext(self.builder.load(flag, typ=I1), I64)
            self.builder.store(met, slot(self.builder, self.results, number + k, None))

    # --- memory
    def _index(self, op: Op) -> Lane:
        position, size = (self.lane(arg) for arg in op.args)
        if op in self.proven or op in self.here:
            return position
        b, wrapped = self.builder, position
        if op in self.kernel.forwards:
            go = self.function.append_basic_block("forwards")
            b.cbranch(position.compare("<", 0).value, self.waited, go)
            b.position_at_end(go)
        elif op not in self.kernel.indices.from_start:
            wrapped = self.e.select(position.compare("<", 0), position + size, position)
        inside = b.icmp_unsigned("<", wrapped.value, size.value)
        go = self.function.append_basic_block("inside")
        b.cbranch(inside, go, self.failed)
        b.position_at_end(go)
        return wrapped

    def _element(self, op: Op) -> Any:
        """Where the element of an access is. What is added to the last index is added behind all else: LLVM would take
        `a[j - 1]` for the `a[j]` of the iteration before, keep it in a register, and shuffle vectors for it."""
        place, (*rows, last) = self.places.of[op.attr("array")], places(op)
        number, more = self._parted(last) if rows else (last, 0)
        if not more or place.layout not in (CONTIGUOUS, ROWS):
            return self.places.address(op.attr("array"), [self.lane(each) for each in places(op)])
        found = self.places.address(op.attr("array"), [self.lane(each) for each in [*rows, number]], surely=False)
        return self.places.step(found, i64(more), ELEMENTS[place.dtype], surely=False)

    def _parted(self, index: Value) -> tuple[Value, int]:
        """An index that is inside, as a value and a number to add."""
        sum_ = index.args[0] if isinstance(index, Op) and index in self.proven else None
        if not isinstance(sum_, Op) or sum_.opcode not in ("add", "sub") or sum_ not in self.modest:
            return index, 0
        value, more = sum_.args
        if not isinstance(more, Const) or isinstance(value, Const):
            return index, 0
        return value, int(more.value or 0) if sum_.opcode == "add" else -int(more.value or 0)

    def _load(self, op: Op) -> Lane:
        b, place = self.builder, self.places.of[op.attr("array")]
        value = b.load(self._element(op), typ=ELEMENTS[place.dtype], align=np.dtype(place.dtype).itemsize)
        self.apart.mark(value, op.attr("array"))
        return self.places.number(self.e, op.kind, value, place.dtype)

    def _store(self, op: Op) -> None:
        place = self.places.of[op.attr("array")]
        stored = self.builder.store(self.stored(op, self.lane(op.args[-1])), self._element(op),
                                    align=np.dtype(place.dtype).itemsize)
        self.apart.mark(stored, op.attr("array"))

    def _alloc(self, op: Op) -> None:
        """The caller makes the array (zeros, or nothing in particular), and we fill it with other numbers. In a loop
        the array of the iteration before makes room for it, unless it may be returned."""
        b, place = self.builder, self.places.of[op.attr("array")]
        *sizes, fill = op.args
        shape = stack(b, I64, max(len(sizes), 1))
        total: Any = i64(1)
        for axis, size in enumerate(sizes):
            number = self.lane(size).value
            b.store(number, slot(self.builder, shape, axis, None))
            b.store(number, place.extents[axis])
            total = b.mul(total, number)
        zero = isinstance(fill, Const) and fill.value is not None and not fill.value and str(fill.value) != "-0.0"
        again = op in self.repeated and op.attr("array") not in self.returned
        if again:
            for axis in range(len(sizes)):
                length = b.load(place.extents[axis], typ=I64)
                self.leave_if(b.icmp_unsigned(">", length, i64(2 ** (56 // len(sizes)))))
            pointer = self.room(op, b.mul(total, i64(np.dtype(place.dtype).itemsize)))
        else:
            pointer = b.call(self._allocator(), [self.context, i64(2 * self.sites.index(op) + zero), shape])
            self.leave_if(b.icmp_unsigned("==", b.ptrtoint(pointer, I64), i64(0)))
        b.store(pointer, place.pointer)
        if not isinstance(fill, Const) or fill.value is not None and (again or not zero):
            self._fill(pointer, total, self.stored(op, self.lane(fill)), place.dtype)

    def room(self, op: Hashable, size: Any) -> Any:
        """Memory of so many bytes for an operation, until it asks again."""
        b = self.builder
        if op not in self.rooms:
            self.rooms[op] = stack(b, POINTER), stack(b, I64)
            with b.goto_entry_block():
                b.store(i64(-1), self.rooms[op][1])
        place, bytes_ = self.rooms[op]
        with b.if_then(b.icmp_signed(">", size, b.load(bytes_, typ=I64)), likely=False):
            known = b.load(bytes_, typ=I64)
            wanted = b.add(size, b.select(b.icmp_signed(">", known, i64(0)), known, i64(0)))  # fewer and fewer times
            shape = stack(b, I64)
            b.store(wanted, shape)
            made = b.call(self._allocator(), [self.context, i64(ROOM), shape])
            self.leave_if(b.icmp_unsigned("==", b.ptrtoint(made, I64), i64(0)))
            b.store(made, place)
            b.store(wanted, bytes_)
        return b.load(place, typ=POINTER)

    def leave_after_fault(self) -> None:
        """At the head of a loop: what a fault has left may keep it running for ever. So may what a warning has left,
        where that ends the original."""
        b, met = self.builder, self.builder.load(self.faulted, typ=I1)
        ends = b.and_(b.load(self.warned, typ=I1), b.trunc(self.context, I1))
        self.leave_if(b.or_(met, ends) if self.careful else met)

    def leave_if(self, failed: Any) -> None:
        """A run that has met a fault ends. None: it never has."""
        if failed is None:
            return
        go = self.function.append_basic_block("made")
        self.builder.cbranch(failed, self.failed, go)
        self.builder.position_at_end(go)

    def _allocator(self) -> Any:
        found = self.module.globals.get("pyflat_allocate")
        return found or ir.Function(self.module, ir.FunctionType(POINTER, [I64, I64, POINTER]), "pyflat_allocate")

    def _fill(self, pointer: Any, total: Any, value: Any, dtype: str) -> None:
        with counted(self.builder, total) as index:
            self.builder.store(value, element_at(self.builder, pointer, index, ELEMENTS[dtype]),
                               align=np.dtype(dtype).itemsize)
