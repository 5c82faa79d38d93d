"""Machine code that is called with Python's objects: built-in methods that are bound to a table.

    PyObject *call(PyObject *table, PyObject *const *arguments, Py_ssize_t count)

The table says what the arguments must be, so that one function serves all that are called in its way. The fields of
ndarray, float, int and NumPy's scalars lie where the headers of CPython and NumPy put them (`PyArrayObject_fields`,
`PyFloatObject`, `PyDoubleScalarObject`); `supported` looks whether they do in this process.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir

from pyflat.functions import libm
from pyflat.targets.numba.jit import MachineCode, compile_ir, processor
from pyflat.targets.numba.llvm import F64, I8, I32, I64, POINTER, element_at, i64, stack

VOID = ir.VoidType()
TYPE, NUMBER, DATA, RANK, SHAPE, STRIDES, DESCR, ARRAY_FLAGS = 8, 16, 16, 24, 32, 40, 56, 64
"""Offsets of fields in bytes."""
C_ORDER, FORTRAN, ALIGNED, WRITEABLE = 0x1, 0x2, 0x100, 0x400
"""Bits of `array.flags.num`."""
RAW, INTEGER, TRUTH, SAME, ARRAY = range(5)
"""What an argument is: an object with a number of 8 bytes, a Python int, a Python bool, one object, an array."""
NDARRAY, TRUE, FALSE, NONE, OTHER, VAIN, COMMON = range(7)
"""Words at the head of every table."""
WHAT, OBJECT = range(2)
"""The first words for each argument: what it is, and its type, its dtype or itself."""

_FUNCTIONS: dict[str, tuple[ir.Type, list[ir.Type]]] = {
    "PyFloat_FromDouble": (POINTER, [F64]), "PyLong_FromLongLong": (POINTER, [I64]),
    "PyBool_FromLong": (POINTER, [I64]), "PyTuple_New": (POINTER, [I64]),
    "PyTuple_SetItem": (I32, [POINTER, I64, POINTER]),
    "PyLong_AsLongLongAndOverflow": (I64, [POINTER, POINTER]), "PyEval_SaveThread": (POINTER, []),
    "PyEval_RestoreThread": (VOID, [POINTER]), "Py_IncRef": (VOID, [POINTER]), "Py_DecRef": (VOID, [POINTER]),
    "PyArray_Empty": (POINTER, [I32, POINTER, POINTER, I32]),
    "PyArray_NewFromDescr": (POINTER, [POINTER, POINTER, I32, POINTER, POINTER, POINTER, I32, POINTER]),
    "PyGILState_Ensure": (I32, []), "PyGILState_Release": (VOID, [I32]), "PyErr_Clear": (VOID, []),
    "PyErr_Occurred": (POINTER, []),
    "PyObject_Vectorcall": (POINTER, [POINTER, POINTER, I64, POINTER]),
    "PyFloat_AsDouble": (F64, [POINTER]), "PyLong_AsLongLong": (I64, [POINTER]), "PyObject_IsTrue": (I32, [POINTER]),
    "feclearexcept": (I32, [I32]), "fetestexcept": (I32, [I32]), "malloc": (POINTER, [I64]), "free": (VOID, [POINTER]),
    "memcpy": (POINTER, [POINTER, POINTER, I64]), "clock_gettime": (I32, [I32, POINTER])}
_FASTCALL = 0x80
_VERSION = 0
_OF_NUMPY = {"PyArray_Empty": 184, "PyArray_NewFromDescr": 94}
"""Places of these and of PyArray_GetNDArrayCVersion in NumPy's table of C functions."""


@cache
def supported() -> bool:
    """Whether objects are laid out here as they are in the headers."""
    if object.__basicsize__ != 16 or libm.library_symbol("feclearexcept") == 0:
        return False
    version = ctypes.CFUNCTYPE(ctypes.c_uint)(libm.numpy_functions("_ARRAY_API")[_VERSION])() >> 24
    if version != 2:
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


Compiled = tuple[MachineCode, _Definition]


def compiled(text: str, name: str) -> Compiled:
    """The function of this name in LLVM's IR, as a method of tables."""
    code = compile_ir(text, name, {used: _address_of(used) for used in _FUNCTIONS}, processor())
    return code, _Definition(name.encode(), code.address, _FASTCALL, None)


def _address_of(name: str) -> int:
    if name in _OF_NUMPY:
        return int(libm.numpy_functions("_ARRAY_API")[_OF_NUMPY[name]])
    if name.startswith("Py"):
        return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
    return libm.library_symbol(name)


class _Table(np.ndarray):
    """An array that keeps objects alive."""

    kept: object


def bound(function: Compiled, head: Mapping[int, int], words: Sequence[int], kept: object) -> Callable[..., Any]:
    """The function as a method of a table: `head` are the words at its head beside the common ones, `words` what
    follows; `kept` must live as long."""
    common = {NDARRAY: id(np.ndarray), TRUE: id(True), FALSE: id(False), NONE: id(None), OTHER: id(NotImplemented),
              VAIN: id(...)}
    every = {**common, **head}
    table = np.array([*[every[at] for at in range(len(every))], *words], np.int64).view(_Table)
    table.kept = function, kept
    make = ctypes.pythonapi["PyCFunction_NewEx"]
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    found: Callable[..., Any] = make(ctypes.addressof(function[1]), table, None)
    return found


def call_python(builder: ir.IRBuilder, symbols: dict[str, int], name: str, *arguments: Any) -> Any:
    """A call of one of these functions of Python's or NumPy's, which the code finds by its name."""
    symbols[name] = _address_of(name)
    return declared_call(builder, name, *arguments)


def declared_call(builder: ir.IRBuilder, name: str, *arguments: Any) -> Any:
    returned, types = _FUNCTIONS[name]
    module = builder.module
    return builder.call(module.globals.get(name) or ir.Function(module, ir.FunctionType(returned, types), name),
                        arguments)


class ObjectWriter:
    """Writes such a function. `self.miss` is where it goes with arguments of other kinds; a subclass gives it its
    instructions, says with `_slot` where the numbers of arguments go, and positions `self.b`."""

    def __init__(self, name: str) -> None:
        self.module = ir.Module(name)
        self.function = ir.Function(self.module, ir.FunctionType(POINTER, [POINTER, POINTER, I64]), name)
        table, self.given, self.count = self.function.args
        self.b = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.miss = self.function.append_basic_block("miss")
        self.table = self._field(table, DATA, POINTER)

    # --- arguments that are numbers
    def _slot(self, value: Any) -> None:
        """Takes the number of an argument."""
        raise NotImplementedError

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

    def _ways(self, known: Any, given: Any, array: Callable[[], None]) -> None:
        """What is done with an argument, by what it is; `array` says what with an array."""
        ways = {RAW: lambda: self._raw(known, given), INTEGER: lambda: self._integer(known, given),
                TRUTH: lambda: self._truth(known, given), SAME: lambda: self._same(known, given), ARRAY: array}
        join = self.function.append_basic_block("next")
        switch = self.b.switch(self._word(WHAT, known), self.miss)
        for what, write in ways.items():
            block = self.function.append_basic_block("way")
            switch.add_case(i64(what), block)
            self.b.position_at_end(block)
            write()
            self.b.branch(join)
        self.b.position_at_end(join)

    # --- small things
    def _need(self, condition: Any) -> None:
        """The call is for the long way unless this holds."""
        go = self.function.append_basic_block("go")
        self.b.cbranch(condition, go, self.miss)
        self.b.position_at_end(go)

    def _returned(self, known: Any) -> None:
        """An object that others own."""
        self._call("Py_IncRef", known)
        self.b.ret(known)

    def _call(self, name: str, *arguments: Any) -> Any:
        return declared_call(self.b, name, *arguments)

    def _without_gil(self, long: Any, run: Callable[[], Any]) -> Any:
        """What `run` writes; where it takes long, other threads may run meanwhile."""
        thread = stack(self.b, POINTER)
        with self.b.if_then(long):
            self.b.store(self._call("PyEval_SaveThread"), thread)
        done = run()
        with self.b.if_then(long):
            self._call("PyEval_RestoreThread", self._load(thread, POINTER))
        return done

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

    def _pointer_word(self, at: int, table: Any = None) -> Any:
        """Loaded as a pointer: text that makes one of a number is not kept on disk (`jit.compile_ir`)."""
        return self._load(self._behind(self.table if table is None else table, i64(at)), POINTER)

    def _add(self, place: Any, number: Any) -> None:
        self.b.store(self.b.add(self._load(place), number), place)

    def _equal(self, a: Any, b: Any) -> Any:
        return self.b.icmp_unsigned("==", a, b)

    def _is_set(self, number: Any) -> Any:
        return self.b.icmp_unsigned("!=", number, i64(0))

    def _are_apart(self, start: Any, size: Any, other: Any, length: Any) -> Any:
        """Whether two pieces of memory have no byte in common."""
        before = self.b.icmp_unsigned("<=", self.b.add(other, length), start)
        return self.b.or_(before, self.b.icmp_unsigned("<=", self.b.add(start, size), other))
