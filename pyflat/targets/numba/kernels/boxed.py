"""Calls of compiled kernels with Python's objects, without Python in between.

    call(array or number or ...)  ->  the numbers of the result
                                      NotImplemented: the arguments are others
                                      Ellipsis: a fault, or a warning; written arrays are as before where they are saved

One machine function serves all kernels: it reads a table that says what the arguments must be, looks whether they are,
writes the kernel's slots, runs it without the GIL, and makes Python numbers of its results. It takes the place of
twenty microseconds of Python. The table is the object that the function is bound to, as `self` of a built-in method.

The fields of ndarray, float, int and NumPy's scalars lie where the headers of CPython and NumPy put them
(`PyArrayObject_fields`, `PyFloatObject`, `PyDoubleScalarObject`); `supported` looks whether they do in this process.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir

from pyflat.functions import libm
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.targets.numba.jit import MachineCode, compile_ir, processor
from pyflat.targets.numba.kernels.frame import FAULTED
from pyflat.targets.numba.llvm import F64, I8, I32, I64, POINTER, counted, element_at, i64, stack

VOID = ir.VoidType()
ENTRY = "pyflat_call_kernel"
MOST_SAVED = 1 << 17
"""Bytes of written arrays that are saved here, in memory of malloc: more is for `runtime.saved_arrays`."""
FLAGS = 0x01 | 0x04 | 0x08
"""Of invalid operations, divisions by zero and overflows (x86; glibc's fenv.h)."""
TYPE, NUMBER, DATA, RANK, SHAPE, STRIDES, DESCR, ARRAY_FLAGS = 8, 16, 16, 24, 32, 40, 56, 64
"""Offsets of fields in bytes."""
KINDS = {FLOAT: 0, INT: 1, BOOL: 2}
C_ORDER, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
"""Of `array.flags.num`."""
RAW, INTEGER, TRUTH, SAME, ARRAY = range(5)
"""What an argument is: an object with a number of 8 bytes, a Python int, a Python bool, one object, an array."""
KERNEL, ARGUMENTS, SLOTS, RESULTS, NUMBERS, WATCH, RELEASE, NDARRAY, LONG, TRUE, FALSE, NONE, OTHER, VAIN, HEAD = range(
    15)
"""Words at the head of the table."""
WHAT, OBJECT, AXES, LOOKED_AT, NEEDED, BYTES, SAVED, GAPS, ROWS, WIDTH = range(10)
"""Words for each argument: what it is; its type, its dtype or itself; of an array how many axes it has, the flags that
are looked at and those that it must have, its bytes an element, whether it is saved, whether there are gaps between its
elements, so that the kernel gets its strides, and whether there are none within a row."""
WORTH_RELEASING = 1 << 13
"""Bytes of arrays from which on other threads may run meanwhile: to wait for them takes longer than small calls."""


@dataclass(frozen=True, slots=True)
class Given:
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


def boxed(machine: int, arguments: Sequence[Given], slots: int, numbers: Sequence[Kind], unused: int, *, watch: int,
          release: bool, kept: object) -> Callable[..., Any] | None:
    """The kernel at an address as a function of its arguments and, behind them, the number of a call under way: gives
    the numbers of the result, alone or as a tuple. None in a Python that is laid out differently.

    unused   words that the kernel writes behind its results
    watch    the bits of what the kernel gives that are for the long way, 0: none; then, flags of the processor are, too
    release  the kernel takes long, whatever the arrays are
    kept     what must live as long as the kernel
    """
    if not supported():
        return None
    head = {KERNEL: machine, ARGUMENTS: len(arguments), SLOTS: slots, RESULTS: len(numbers) + unused,
            NUMBERS: len(numbers), WATCH: watch, RELEASE: int(release), NDARRAY: id(np.ndarray), LONG: id(int),
            TRUE: id(True), FALSE: id(False), NONE: id(None), OTHER: id(NotImplemented), VAIN: id(...)}
    words = [head[at] for at in range(HEAD)]
    for argument in arguments:
        words += argument.words()
    table = np.array([*words, *[KINDS[kind] for kind in numbers]], np.int64).view(_Table)
    table.kept = kept, [argument.object_ for argument in arguments]
    make = ctypes.pythonapi["PyCFunction_NewEx"]
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    found: Callable[..., Any] = make(ctypes.addressof(_function()[1]), table, None)
    return found


class _Table(np.ndarray):
    """An array that keeps objects alive."""

    kept: object


@cache
def supported() -> bool:
    """Whether objects are laid out here as they are in the headers."""
    if object.__basicsize__ != 16 or libm.library_symbol("feclearexcept") == 0:
        return False
    array = np.zeros((3, 5), np.int32)
    known = {TYPE: id(np.ndarray), DATA: array.ctypes.data, DESCR: id(array.dtype)}
    fields = all(ctypes.c_size_t.from_address(id(array) + at).value == value for at, value in known.items())
    shape, strides = (ctypes.POINTER(ctypes.c_int64).from_address(id(array) + at) for at in (SHAPE, STRIDES))
    numbers: list[tuple[Any, Any]] = [(1.5, ctypes.c_double), (np.float64(2.5), ctypes.c_double),
                                      (np.int64(7), ctypes.c_int64)]
    return (fields and ctypes.c_int.from_address(id(array) + RANK).value == 2 and shape[:2] == [3, 5]
            and strides[:2] == [20, 4]
            and ctypes.c_int.from_address(id(array) + ARRAY_FLAGS).value == array.flags.num
            and all(kind.from_address(id(number) + NUMBER).value == number for number, kind in numbers))


def address_of(array: Any) -> int:
    """Where the elements of an array are; `array.ctypes.data` takes a microsecond."""
    found = ctypes.c_size_t.from_address(id(array) + DATA).value if supported() else array.ctypes.data
    return int(found)


class _Definition(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("text", ctypes.c_char_p)]


_FASTCALL = 0x80


@cache
def _function() -> tuple[MachineCode, _Definition]:
    text = _Writer().text()
    symbols = {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in _PYTHON}
    symbols |= {name: libm.library_symbol(name) for name in _C}
    code = compile_ir(text, ENTRY, symbols, processor())
    return code, _Definition(b"kernel", code.address, _FASTCALL, None)


_PYTHON = {"PyFloat_FromDouble": (POINTER, [F64]), "PyLong_FromLongLong": (POINTER, [I64]),
           "PyBool_FromLong": (POINTER, [I64]), "PyTuple_New": (POINTER, [I64]),
           "PyTuple_SetItem": (I32, [POINTER, I64, POINTER]), "PyLong_AsLongLongAndOverflow": (I64, [POINTER, POINTER]),
           "PyEval_SaveThread": (POINTER, []), "PyEval_RestoreThread": (VOID, [POINTER]),
           "Py_IncRef": (VOID, [POINTER])}
_C = {"feclearexcept": (I32, [I32]), "fetestexcept": (I32, [I32]), "malloc": (POINTER, [I64]),
      "free": (VOID, [POINTER]), "memcpy": (POINTER, [POINTER, POINTER, I64])}


class _Writer:
    """Writes `PyObject *call(PyObject *table, PyObject *const *arguments, Py_ssize_t count)`."""

    def __init__(self) -> None:
        self.module = ir.Module(ENTRY)
        self.function = ir.Function(self.module, ir.FunctionType(POINTER, [POINTER, POINTER, I64]), ENTRY)
        table, self.given, self.count = self.function.args
        self.b = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.miss = self.function.append_basic_block("miss")
        self.table = self._field(table, DATA, POINTER)
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
        self._need(b.icmp_signed(">=", self.count, self.arguments))
        with counted(b, self.arguments, rolled=True) as k:
            self._argument(k)
        self._need(b.icmp_signed("<=", self._load(self.saved), i64(MOST_SAVED)))
        copies = self._copies()
        good, bad = (self.function.append_basic_block(name) for name in ("good", "bad"))
        b.cbranch(self._run(), good, bad)
        b.position_at_end(bad)
        self._move_saved(copies, back=True)
        self._call("free", copies)
        self._returned(self._pointer_word(VAIN))
        b.position_at_end(good)
        self._call("free", copies)
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
        join = self.function.append_basic_block("next")
        ways = b.switch(self._word(WHAT, known), self.miss)
        for what, write in ((RAW, self._raw), (INTEGER, self._integer), (TRUTH, self._truth), (SAME, self._same),
                            (ARRAY, lambda known, given: self._array(known, given, k))):
            block = self.function.append_basic_block("way")
            ways.add_case(i64(what), block)
            b.position_at_end(block)
            write(known, given)
            b.branch(join)
        b.position_at_end(join)

    def _raw(self, known: Any, given: Any) -> None:
        self._need(self._equal(self._field(given, TYPE, I64), self._word(OBJECT, known)))
        self._slot(self._field(given, NUMBER, I64))

    def _integer(self, known: Any, given: Any) -> None:
        overflow = stack(self.b, I32)
        self._need(self._equal(self._field(given, TYPE, I64), self._word(OBJECT, known)))
        number = self._call("PyLong_AsLongLongAndOverflow", given, overflow)
        self._need(self._equal(self._load(overflow, I32), ir.Constant(I32, 0)))
        self._slot(number)

    def _truth(self, known: Any, given: Any) -> None:
        true, false = (self._equal(self.b.ptrtoint(given, I64), self._word(at)) for at in (TRUE, FALSE))
        self._need(self.b.or_(true, false))
        self._slot(self.b.zext(true, I64))

    def _same(self, known: Any, given: Any) -> None:
        self._need(self._equal(self.b.ptrtoint(given, I64), self._word(OBJECT, known)))

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
            before = b.icmp_unsigned("<=", b.add(begin, length), start)
            after = b.icmp_unsigned("<=", b.add(start, bytes_), begin)
            self._need(b.or_(before, after))

    def _slot(self, value: Any) -> None:
        """The next word that the kernel gets."""
        at = self._load(self.at)
        self.b.store(value, self._behind(self.slots, at))
        self.b.store(self.b.add(at, i64(1)), self.at)

    # --- what may be put back
    def _copies(self) -> Any:
        """Memory with copies of the arrays that are saved; a null pointer where there are none."""
        b, before = self.b, self.b.block
        with b.if_then(self._is_set(self._load(self.saved))):
            made = self._call("malloc", self._load(self.saved))
            self._need(self._is_set(b.ptrtoint(made, I64)))
            self._move_saved(made, back=False)
            end = b.block
        copies = b.phi(POINTER)
        copies.add_incoming(ir.Constant(POINTER, None), before)
        copies.add_incoming(made, end)
        return copies

    def _move_saved(self, copies: Any, *, back: bool) -> None:
        b, done = self.b, stack(self.b, I64)
        b.store(i64(0), done)
        with counted(b, self.arguments, rolled=True) as k:
            known = self._behind(self.table, b.add(b.mul(k, i64(WIDTH)), i64(HEAD)))
            size = self._load(self._behind(self.sizes, k))
            with b.if_then(b.and_(self._is_set(size), self._is_set(self._word(SAVED, known)))):
                array = b.inttoptr(self._load(self._behind(self.starts, k)), POINTER)
                copy = element_at(b, copies, self._load(done), I8)
                self._call("memcpy", *((array, copy) if back else (copy, array)), size)
                self._add(done, size)

    # --- the kernel
    def _run(self) -> Any:
        """Whether it has done what the original would, without a warning."""
        b, thread = self.b, stack(self.b, POINTER)
        context = self._context()
        kernel = self._pointer_word(KERNEL)
        kernel.type = ir.PointerType(ir.FunctionType(I64, [I64, POINTER, POINTER]))
        long = b.or_(self._is_set(self._word(RELEASE)),
                     b.icmp_unsigned(">=", self._load(self.all_bytes), i64(WORTH_RELEASING)))
        with b.if_then(long):
            b.store(self._call("PyEval_SaveThread"), thread)
        self._call("feclearexcept", ir.Constant(I32, FLAGS))
        status = b.call(kernel, [context, self.slots, self.results])
        raised = self._call("fetestexcept", ir.Constant(I32, FLAGS))
        with b.if_then(long):
            self._call("PyEval_RestoreThread", self._load(thread, POINTER))
        warned = b.or_(b.and_(status, self._word(WATCH)), b.zext(raised, I64))
        watched = b.select(self._is_set(self._word(WATCH)), warned, i64(0))
        return self._equal(b.or_(b.and_(status, i64(FAULTED)), watched), i64(0))

    def _context(self) -> Any:
        """The number of the call under way, where it is given."""
        b, before, overflow = self.b, self.b.block, stack(self.b, I32)
        with b.if_then(b.icmp_signed(">", self.count, self.arguments)):
            given = self._load(self._behind(self.given, self.arguments), POINTER)
            number, end = self._call("PyLong_AsLongLongAndOverflow", given, overflow), b.block
        context = b.phi(I64)
        context.add_incoming(i64(0), before)
        context.add_incoming(number, end)
        return context

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
        made = b.phi(POINTER)
        for value, block in incoming:
            made.add_incoming(value, block)
        return made

    def _returned(self, known: Any) -> None:
        self._call("Py_IncRef", known)
        self.b.ret(known)

    # --- small things
    def _need(self, condition: Any) -> None:
        """The call is for the long way unless this holds."""
        go = self.function.append_basic_block("go")
        self.b.cbranch(condition, go, self.miss)
        self.b.position_at_end(go)

    def _call(self, name: str, *arguments: Any) -> Any:
        returned, types = (_PYTHON | _C)[name]
        found = self.module.globals.get(name) or ir.Function(self.module, ir.FunctionType(returned, types), name)
        return self.b.call(found, arguments)

    def _room(self, words: Any) -> Any:
        place = self.b.alloca(I64, self.b.add(words, i64(1)))
        place.type = POINTER
        return place

    def _behind(self, pointer: Any, words: Any) -> Any:
        return element_at(self.b, pointer, words, I64)

    def _load(self, place: Any, type_: ir.Type = I64) -> Any:
        return self.b.load(place, typ=type_)

    def _field(self, pointer: Any, offset: int, type_: ir.Type) -> Any:
        return self._load(element_at(self.b, pointer, i64(offset), I8), type_)

    def _word(self, at: int, table: Any = None) -> Any:
        return self._load(self._behind(self.table if table is None else table, i64(at)))

    def _pointer_word(self, at: int) -> Any:
        return self.b.inttoptr(self._word(at), POINTER)

    def _add(self, place: Any, number: Any) -> None:
        self.b.store(self.b.add(self._load(place), number), place)

    def _equal(self, a: Any, b: Any) -> Any:
        return self.b.icmp_unsigned("==", a, b)

    def _is_set(self, number: Any) -> Any:
        return self.b.icmp_unsigned("!=", number, i64(0))
