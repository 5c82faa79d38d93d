"""Calls of compiled kernels with Python's objects, without Python in between.

    call(array or number or ...)  ->  the numbers of the result
                                      NotImplemented: the arguments are others
                                      Ellipsis: a fault, or a warning; written arrays are as before where they are saved

One machine function serves all kernels: it reads a table that says what the arguments must be, looks whether they are,
writes the kernel's slots, runs it without the GIL, and makes Python numbers of its results. It takes the place of
twenty microseconds of Python. The table is the object that the function is bound to, as `self` of a built-in method.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from llvmlite import ir

from pyflat.functions import libm
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.targets.numba.kernels.boxes import FAULTED
from pyflat.targets.numba.llvm import F64, I8, I32, I64, POINTER, counted, element_at, i64, phi_of, stack
from pyflat.targets.numba.python_objects import (
    ALIGNED,
    ARRAY,
    ARRAY_FLAGS,
    C_ORDER,
    COMMON,
    DATA,
    DESCR,
    NDARRAY,
    NONE,
    OBJECT,
    OTHER,
    RANK,
    SHAPE,
    STRIDES,
    TYPE,
    VAIN,
    WRITEABLE,
    Compiled,
    ObjectWriter,
    bound,
    compiled,
    supported,
)

ENTRY = "pyflat_call_kernel"
MOST_SAVED = 32 << 20
"""Bytes of written arrays that are saved here: more is for `runtime.saved_arrays`."""
CLOCK = getattr(time, "CLOCK_MONOTONIC", 0)
KINDS = {FLOAT: 0, INT: 1, BOOL: 2}
KERNEL, ARGUMENTS, SLOTS, RESULTS, NUMBERS, WATCH, RELEASE, LIMIT, MOST, HEAD = range(COMMON, COMMON + 10)
"""Words at the head of the table."""
AXES, LOOKED_AT, NEEDED, BYTES, SAVED, GAPS, ROWS, WIDTH = range(OBJECT + 1, OBJECT + 9)
"""Words for each array, behind what it is and its dtype: how many axes it has, the flags that are looked at and those
that it must have, its bytes an element, whether it is saved, whether there are gaps between its elements, so that the
kernel gets its strides, and whether there are none within a row."""
WORTH_RELEASING = 1 << 13
"""Bytes of arrays from which on other threads may run meanwhile: to wait for them takes longer than small calls."""


@dataclass(frozen=True, slots=True)
class BoxedArgument:
    """An argument: an array with the dtype `object_`, a number of that type, or that one object."""

    what: int
    object_: Any
    rank: int = 0
    written: bool = False
    saved: bool = False
    gaps: bool = False
    rows: bool = False

    def words(self) -> list[int]:
        head = [self.what, id(self.object_), self.rank]
        if self.what != ARRAY:
            return [*head, *[0] * (WIDTH - len(head))]
        needed = ALIGNED | (WRITEABLE if self.written else 0)
        return [*head, needed | C_ORDER, needed | (0 if self.gaps else C_ORDER), self.object_.itemsize, int(self.saved),
                int(self.gaps), int(self.rows)]


def boxed(machine: int, arguments: Sequence[BoxedArgument], slots: int, numbers: Sequence[Kind], unused: int, *,
          watch: int, release: bool, limit: float, kept: object) -> Callable[..., Any] | None:
    """The kernel at an address as a function of its arguments, which gives the numbers of the result, alone or as a
    tuple. None in a Python that is laid out differently.

    unused   words that the kernel writes behind its results
    watch    the bits of what the kernel gives that are for the long way, 0: none; then, flags of the processor are, too
    release  the kernel takes long, whatever the arrays are
    limit    seconds after which arrays of that size, and larger ones, are others: for several threads; 0: there is none
    kept     what must live as long as the kernel
    """
    if not supported():
        return None
    head = {KERNEL: machine, ARGUMENTS: len(arguments), SLOTS: slots, RESULTS: len(numbers) + unused,
            NUMBERS: len(numbers), WATCH: watch, RELEASE: int(release),
            LIMIT: int(limit * 1e9) if libm.library_symbol("clock_gettime") else 0, MOST: 2**63 - 1}
    words = [word for argument in arguments for word in argument.words()]
    return bound(_function(), head, [*words, *[KINDS[kind] for kind in numbers]],
                 (kept, [argument.object_ for argument in arguments]))


@cache
def _function() -> Compiled:
    return compiled(BoxedCallWriter().text(), ENTRY)


class BoxedCallWriter(ObjectWriter):
    """Writes the function that looks at the arguments, runs the kernel and gives its numbers."""

    def __init__(self) -> None:
        super().__init__(ENTRY)
        self.arguments = self._word(ARGUMENTS)
        self.slots, self.results = (self._room(self._word(at)) for at in (SLOTS, RESULTS))
        self.starts, self.sizes = self._room(self.arguments), self._room(self.arguments)
        """Where arrays are, and their bytes; 0 for other arguments."""
        self.at, self.all_bytes, self.saved = (stack(self.b, I64) for _ in range(3))
        """The next slot; the bytes of all arrays; of those that are saved."""

    def text(self) -> str:
        b = self.b
        for place in (self.at, self.all_bytes, self.saved):
            b.store(i64(0), place)
        self._need(self._equal(self.count, self.arguments))
        with counted(b, self.arguments, rolled=True) as k:
            self._argument(k)
        self._need(b.icmp_signed("<=", self._load(self.saved), i64(MOST_SAVED)))
        self._need(b.icmp_signed("<=", self._load(self.all_bytes), self._word(MOST)))
        copies = self._copies()
        good, bad = (self.function.append_basic_block(name) for name in ("good", "bad"))
        b.cbranch(self._run(), good, bad)
        b.position_at_end(bad)
        self._move_saved(copies, back=True)
        self._keep_spare(copies)
        self._returned(self._pointer_word(VAIN))
        b.position_at_end(good)
        self._keep_spare(copies)
        self._give()
        b.position_at_end(self.miss)
        self._returned(self._pointer_word(OTHER))
        return str(self.module)

    # --- arguments
    def _argument(self, k: Any) -> None:
        """Looks at one argument and writes its slots."""
        b = self.b
        known = self._behind(self.table, b.add(b.mul(k, i64(WIDTH)), i64(HEAD)))
        given = self._load(self._behind(self.given, k), POINTER)
        for place in (self.starts, self.sizes):
            b.store(i64(0), self._behind(place, k))
        self._ways(known, given, lambda: self._array(known, given, k))

    def _slot(self, value: Any) -> None:
        """The next word that the kernel gets."""
        at = self._load(self.at)
        self.b.store(value, self._behind(self.slots, at))
        self.b.store(self.b.add(at, i64(1)), self.at)

    def _array(self, known: Any, given: Any, k: Any) -> None:
        b, rank, size = self.b, self._word(AXES, known), self._word(BYTES, known)
        looked, needed = (b.trunc(self._word(at, known), I32) for at in (LOOKED_AT, NEEDED))
        self._need(self._equal(self._field(given, TYPE, I64), self._word(NDARRAY)))
        self._need(self._equal(self._field(given, DESCR, I64), self._word(OBJECT, known)))
        self._need(self._equal(b.zext(self._field(given, RANK, I32), I64), rank))
        self._need(self._equal(b.and_(self._field(given, ARRAY_FLAGS, I32), looked), needed))
        start, bytes_ = stack(b, I64), stack(b, I64)
        b.store(self._field(given, DATA, I64), start)
        b.store(size, bytes_)
        shape, strides = (self._field(given, at, POINTER) for at in (SHAPE, STRIDES))
        self._slot(self._load(start))
        with counted(b, rank, rolled=True) as axis:
            self._slot(self._load(self._behind(shape, axis)))
        with b.if_else(self._is_set(self._word(GAPS, known))) as (gaps, dense):
            with gaps:
                self._look_at_strides(known, rank, shape, strides)
                self._extend(rank, shape, strides, start, bytes_)
            with dense, counted(b, rank, rolled=True) as axis:
                b.store(b.mul(self._load(bytes_), self._load(self._behind(shape, axis))), bytes_)
        self._look_for_overlap(k, self._load(start), self._load(bytes_))
        self._add(self.all_bytes, self._load(bytes_))
        with b.if_then(self._is_set(self._word(SAVED, known))):
            self._add(self.saved, self._load(bytes_))

    def _look_at_strides(self, known: Any, rank: Any, shape: Any, strides: Any) -> None:
        """Writes the strides; elements must be apart, as they are where each axis steps over all that faster ones
        reach, in C's or Fortran's order of axes."""
        b, size, apart = self.b, self._word(BYTES, known), []
        with counted(b, rank, rolled=True) as axis:
            self._slot(self._load(self._behind(strides, axis)))
        last = self._load(self._behind(strides, b.sub(rank, i64(1))))
        self._need(b.or_(self._equal(self._word(ROWS, known), i64(0)), self._equal(last, size)))
        for backwards in (True, False):
            reached, good = stack(b, I64), stack(b, I64)
            b.store(size, reached)
            b.store(i64(1), good)
            with counted(b, rank, rolled=True) as number:
                axis = b.sub(b.sub(rank, i64(1)), number) if backwards else number
                extent, stride = (self._load(self._behind(place, axis)) for place in (shape, strides))
                with b.if_then(b.icmp_signed(">", extent, i64(1))):
                    step = b.select(b.icmp_signed("<", stride, i64(0)), b.neg(stride), stride)
                    over = b.icmp_signed(">=", step, self._load(reached))
                    b.store(b.and_(self._load(good), b.zext(over, I64)), good)
                    self._add(reached, b.mul(step, b.sub(extent, i64(1))))
            apart.append(self._load(good))
        self._need(self._is_set(b.or_(*apart)))

    def _extend(self, rank: Any, shape: Any, strides: Any, start: Any, bytes_: Any) -> None:
        """Where memory with gaps begins, and how far it reaches."""
        b = self.b
        with counted(b, rank, rolled=True) as axis:
            extent, stride = (self._load(self._behind(place, axis)) for place in (shape, strides))
            span = b.mul(stride, b.sub(extent, i64(1)))
            back = b.icmp_signed("<", span, i64(0))
            self._add(start, b.select(back, span, i64(0)))
            self._add(bytes_, b.select(back, b.neg(span), span))

    def _look_for_overlap(self, k: Any, start: Any, bytes_: Any) -> None:
        """Arrays before this one must have other memory."""
        b = self.b
        b.store(start, self._behind(self.starts, k))
        b.store(bytes_, self._behind(self.sizes, k))
        with counted(b, k, rolled=True) as other:
            begin, length = (self._load(self._behind(place, other)) for place in (self.starts, self.sizes))
            self._need(self._are_apart(start, bytes_, begin, length))

    # --- what may be put back
    def _copies(self) -> Any:
        """Memory with copies of the arrays that are saved; a null pointer where there are none."""
        b, before = self.b, self.b.block
        with b.if_then(self._is_set(self._load(self.saved))):
            made = self._spare_or_new(b.add(self._load(self.saved), i64(8)))
            self._move_saved(made, back=False)
            end = b.block
        return phi_of(b, (ir.Constant(POINTER, None), before), (made, end))

    def _spare_or_new(self, size: Any) -> Any:
        """Memory of at least that size, which its first word tells: what a call before has left, since new pages cost
        more than a copy."""
        b, place = self.b, stack(self.b, I64)
        b.store(b.atomic_rmw("xchg", self._spare, i64(0), "seq_cst"), place)
        found = self._load(place, POINTER)
        room = stack(b, I64)
        b.store(i64(0), room)
        with b.if_then(self._is_set(self._load(place))):
            b.store(self._load(found), room)
        with b.if_then(b.icmp_unsigned("<", self._load(room), size)):
            self._call("free", found)
            made = self._call("malloc", size)
            self._need(self._is_set(b.ptrtoint(made, I64)))
            b.store(size, made)
            b.store(made, place)
        return self._load(place, POINTER)

    def _keep_spare(self, copies: Any) -> None:
        """Leaves it to the next call; `free` takes what another thread has left meanwhile."""
        b = self.b
        with b.if_then(self._is_set(b.ptrtoint(copies, I64))):
            old = b.atomic_rmw("xchg", self._spare, b.ptrtoint(copies, I64), "seq_cst")
            self._call("free", b.inttoptr(old, POINTER))

    @property
    def _spare(self) -> Any:
        found = self.module.globals.get("spare")
        if found is None:
            found = ir.GlobalVariable(self.module, I64, "spare")
            found.linkage, found.initializer = "internal", i64(0)
        return found

    def _move_saved(self, copies: Any, *, back: bool) -> None:
        b, done = self.b, stack(self.b, I64)
        b.store(i64(8), done)
        with counted(b, self.arguments, rolled=True) as k:
            known = self._behind(self.table, b.add(b.mul(k, i64(WIDTH)), i64(HEAD)))
            size = self._load(self._behind(self.sizes, k))
            with b.if_then(b.and_(self._is_set(size), self._is_set(self._word(SAVED, known)))):
                array = self._load(self._behind(self.starts, k), POINTER)
                copy = element_at(b, copies, self._load(done), I8)
                self._call("memcpy", *((array, copy) if back else (copy, array)), size)
                self._add(done, size)

    # --- the kernel
    def _run(self) -> Any:
        """Whether it has done what the original would, without a warning."""
        b = self.b
        kernel = self._pointer_word(KERNEL)
        kernel.type = ir.PointerType(ir.FunctionType(I64, [I64, POINTER, POINTER]))
        long = b.or_(self._is_set(self._word(RELEASE)),
                     b.icmp_unsigned(">=", self._load(self.all_bytes), i64(WORTH_RELEASING)))
        timed = b.and_(long, self._is_set(self._word(LIMIT)))
        status, raised = self._without_gil(long, lambda: self._timed(timed, lambda: self._watched(kernel)))
        warned = b.or_(b.and_(status, self._word(WATCH)), b.zext(raised, I64))
        watched = b.select(self._is_set(self._word(WATCH)), warned, i64(0))
        return self._equal(b.or_(b.and_(status, i64(FAULTED)), watched), i64(0))

    def _timed(self, timed: Any, run: Callable[[], Any]) -> Any:
        """What `run` writes; arrays with which it takes too long are the last ones."""
        b, start, end = self.b, *(stack(self.b, ir.ArrayType(I64, 2)) for _ in range(2))
        with b.if_then(timed):
            self._call("clock_gettime", ir.Constant(I32, CLOCK), start)
        done = run()
        with b.if_then(timed):
            self._call("clock_gettime", ir.Constant(I32, CLOCK), end)
            seconds, rest = (b.sub(*(self._load(self._behind(at, i64(word))) for at in (end, start)))
                             for word in range(2))
            taken = b.add(b.mul(seconds, i64(1_000_000_000)), rest)
            with b.if_then(b.icmp_signed(">=", taken, self._word(LIMIT))):
                b.store(b.sub(self._load(self.all_bytes), i64(1)), self._behind(self.table, i64(MOST)))
        return done

    def _watched(self, kernel: Any) -> tuple[Any, Any]:
        """What the kernel says, and the flags of arithmetic that it has raised."""
        self._call("feclearexcept", ir.Constant(I32, libm.WATCHED))
        status = self.b.call(kernel, [i64(0), self.slots, self.results])
        return status, self._call("fetestexcept", ir.Constant(I32, libm.WATCHED))

    # --- results
    def _give(self) -> None:
        """None, a number, or a tuple of numbers."""
        b, count = self.b, self._word(NUMBERS)
        none, one, many = (self.function.append_basic_block(name) for name in ("none", "one", "many"))
        ways = b.switch(count, many)
        ways.add_case(i64(0), none)
        ways.add_case(i64(1), one)
        b.position_at_end(none)
        self._returned(self._pointer_word(NONE))
        b.position_at_end(one)
        b.ret(self._number(i64(0)))
        b.position_at_end(many)
        made = self._call("PyTuple_New", count)
        with b.if_then(self._equal(b.ptrtoint(made, I64), i64(0))):
            b.ret(made)  # MemoryError
        with counted(b, count, rolled=True) as k:
            self._call("PyTuple_SetItem", made, k, self._number(k))
        b.ret(made)

    def _number(self, k: Any) -> Any:
        b = self.b
        place = self._behind(self.results, k)
        kinds = self._behind(self.table, b.add(b.mul(self.arguments, i64(WIDTH)), i64(HEAD)))
        join, incoming = self.function.append_basic_block("made"), []
        blocks = [self.function.append_basic_block(name) for name in ("float", "int", "bool")]
        ways = b.switch(self._load(self._behind(kinds, k)), blocks[0])
        for kind, block, name in zip(KINDS.values(), blocks, ("PyFloat_FromDouble", "PyLong_FromLongLong",
                                                              "PyBool_FromLong"), strict=True):
            if kind:
                ways.add_case(i64(kind), block)
            b.position_at_end(block)
            incoming.append((self._call(name, self._load(place, F64 if kind == KINDS[FLOAT] else I64)), block))
            b.branch(join)
        b.position_at_end(join)
        return phi_of(b, *incoming)
