"""NumPy's functions of an array that give a number, by NumPy's own loops: no Python object is touched.

    np.sum      the loop of np.add over the elements, from 0.0, as np.add.reduce runs it
    np.dot      the function that np.dot has for two vectors of a dtype, and that asks BLAS
    np.std      the sum of a copy without the mean, squared, as numpy/_core/_methods.py writes it
    np.nanmean  the sum of a copy with 0.0 for nan, as numpy/lib/_nanfunctions_impl.py writes it

In which order a loop adds is NumPy's, and so are the bits. A vector is given with any stride; of more axes an array
whose elements lie one after the other, which NumPy takes for a vector, or a part of one for a function that copies.
What is otherwise, and a function that is not here, is a call of Python's (`routines`).
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir

from pyflat.ir.nodes import Op
from pyflat.ir.types import FLOAT, MEMORY
from pyflat.targets.numba.emitter import Lane
from pyflat.targets.numba.kernels.places import ELEMENTS
from pyflat.targets.numba.llvm import F64, I8, I32, I64, POINTER, counted, element_at, i64, stack
from pyflat.targets.numba.numpy_loops import reduced
from pyflat.targets.numba.symbols import array_function

if TYPE_CHECKING:
    from pyflat.targets.numba.kernels.operations import KernelOperations

_LETTERS = {"f8": "d", "f4": "f", "i8": "l"}
_TEXT = re.compile(r"np\.(?:linalg\.)?(\w+)\((?:s\.\w+\(\{\}[^{}]*\)|\{\})(, \{\})?"
                   r"((?:, (?:axis|ddof)=(?:None|-?\d+))*)\)|\{\} @ \{\}")


@dataclass(frozen=True, slots=True)
class StridedVector:
    """Elements in memory: the first one, the bytes from one to the next, how many."""

    first: Any
    stride: Any
    count: Any


class Reducer:
    """Writes one such function. Values are of the operand's element type."""

    def __init__(self, code: KernelOperations, op: Op, dtype: str, ddof: int):
        self.code, self.op, self.e, self.b, self.dtype, self.ddof = code, op, code.e, code.builder, dtype, ddof
        self.type, self.size = ELEMENTS[dtype], np.dtype(dtype).itemsize

    # --- parts
    def vector(self, array: Sequence[Any], name: str) -> tuple[Callable[[], StridedVector], Any] | None:
        """What writes the elements as a vector, and the test that they are one, None where they are. None where an
        array has too many axes."""
        b, rank = self.b, len(array) // 2
        lengths, strides = array[1:1 + rank], array[1 + rank:]
        if rank == 1:
            test = None
            if name in _COPYING:  # np.dot copies what BLAS does not take
                whole = b.icmp_signed("==", b.and_(strides[0], i64(self.size - 1)), i64(0))
                test = b.and_(whole, b.icmp_signed(">=", strides[0], i64(0)))
            return lambda: StridedVector(self._pointer(array), strides[0], lengths[0]), test
        if rank != 2:
            return None
        size, count = i64(self.size), b.mul(*lengths)
        if name in _OF_COPIES or name in _IN_ANY_ORDER:  # NumPy's copy has the elements in their order in memory
            test = None if name in _IN_ANY_ORDER else b.and_(
                b.icmp_signed(">=", strides[0], strides[1]), b.icmp_signed(">", strides[1], i64(0)))
            return lambda: self._flat(array, lengths, strides), test
        dense = b.and_(b.icmp_signed("==", strides[1], size), b.icmp_signed("==", strides[0], b.mul(lengths[1], size)))
        return lambda: StridedVector(self._pointer(array), size, count), dense

    def _pointer(self, array: Sequence[Any]) -> Any:
        return self.b.inttoptr(array[0], POINTER)

    def _flat(self, array: Sequence[Any], lengths: Sequence[Any], strides: Sequence[Any]) -> StridedVector:
        """The rows of a part of an array behind each other."""
        b, count = self.b, self.b.mul(*lengths)
        room = self.code.room((self.op, "rows"), b.mul(count, i64(self.size)))
        with counted(b, lengths[0]) as row:
            start = element_at(b, self._pointer(array), b.mul(row, strides[0]), I8)
            target = element_at(b, room, b.mul(row, lengths[1]), self.type)
            with counted(b, lengths[1]) as k:
                value = self.element(StridedVector(start, strides[1], lengths[1]), k)
                b.store(value, element_at(b, target, k, self.type), align=self.size)
        return StridedVector(room, i64(self.size), count)

    def loop(self, name: str, start: Any, vector: StridedVector) -> Any:
        return reduced(self.e, name, _LETTERS[self.dtype], start, vector.first, vector.stride, vector.count)

    def number(self, value: float) -> Any:
        return ir.Constant(self.type, value if self.dtype[0] == "f" else int(value))

    def element(self, vector: StridedVector, at: Any) -> Any:
        return self.b.load(element_at(self.b, vector.first, self.b.mul(at, vector.stride), I8),
                           typ=self.type, align=self.size)

    def as_number(self, count: Any) -> Any:
        return self.b.sitofp(count, self.type)

    def filled(self, vector: StridedVector, least: int = 1) -> None:
        """The original runs where there are fewer elements."""
        self.code.leave_if(self.b.icmp_signed("<", vector.count, i64(least)))

    def copy(self, vector: StridedVector, each: Callable[[Any], Any]) -> StridedVector:
        """The elements changed, one after the other in memory of their own."""
        room = self.code.room(self.op, self.b.mul(vector.count, i64(self.size)))
        with counted(self.b, vector.count) as k:
            self.b.store(each(self.element(vector, k)), element_at(self.b, room, k, self.type), align=self.size)
        return StridedVector(room, i64(self.size), vector.count)

    def counted(self, vector: StridedVector, holds: Callable[[Any], Any]) -> Any:
        """How many elements there are for which a test holds."""
        return self.added(vector, lambda x: self.b.zext(holds(x), I64))

    def added(self, vector: StridedVector, each: Callable[[Any], Any]) -> Any:
        """The sum of ints, which wraps around as NumPy's does."""
        b, found = self.b, stack(self.b, I64)
        b.store(i64(0), found)
        with counted(b, vector.count) as k:
            b.store(b.add(b.load(found, typ=I64), each(self.element(vector, k))), found)
        return b.load(found, typ=I64)

    def is_set(self, x: Any) -> Any:
        zero = self.number(0)
        return self.b.fcmp_unordered("!=", x, zero) if self.dtype[0] == "f" else self.b.icmp_unsigned("!=", x, zero)

    def is_nan(self, x: Any) -> Any:
        return self.b.fcmp_unordered("uno", x, x)

    # --- functions of any dtype
    def count_nonzero(self, vector: StridedVector) -> Any:
        return self.counted(vector, self.is_set)

    def any(self, vector: StridedVector) -> Any:
        return self.b.icmp_signed(">", self.count_nonzero(vector), i64(0))

    def all(self, vector: StridedVector) -> Any:
        return self.b.icmp_signed("==", self.count_nonzero(vector), vector.count)

    def _arg(self, which: str, vector: StridedVector) -> Any:
        self.filled(vector)
        place = stack(self.b, I64)
        function = self._array_function(which, ir.VoidType(), [POINTER, I64, POINTER, POINTER])
        dense = self.dense(vector)
        self.b.call(function, [dense.first, dense.count, place, ir.Constant(POINTER, None)], attrs=("nounwind",))
        return self.b.load(place, typ=I64)

    def argmax(self, vector: StridedVector) -> Any:
        return self._arg("argmax", vector)

    def argmin(self, vector: StridedVector) -> Any:
        return self._arg("argmin", vector)

    def dense(self, vector: StridedVector) -> StridedVector:
        """The elements without gaps."""
        if getattr(vector.stride, "constant", None) == self.size:
            return vector
        b, first, gaps = self.b, stack(self.b, POINTER), self.b.icmp_signed("!=", vector.stride, i64(self.size))
        b.store(vector.first, first)
        with b.if_then(gaps):
            b.store(self.copy(vector, lambda x: x).first, first)
        return StridedVector(b.load(first, typ=POINTER), i64(self.size), vector.count)

    def _array_function(self, which: str, result: Any, operands: Sequence[Any]) -> Any:
        name = f"pyflat_array_{which}_{self.dtype}"
        self.e.symbols.add_array_function(name, self.dtype, which)
        known = self.b.module.globals.get(name)
        return known or ir.Function(self.b.module, ir.FunctionType(result, operands), name)

    # --- functions of floats, some of ints
    def sum(self, vector: StridedVector) -> Any:
        if self.dtype == "b1":
            return self.count_nonzero(vector)
        return self.added(vector, lambda x: x) if self.dtype == "i8" else self.loop("add", self.number(0), vector)

    def prod(self, vector: StridedVector) -> Any:
        return self.loop("multiply", self.number(1), vector)

    def _extreme(self, name: str, vector: StridedVector) -> Any:
        """The first element and the loop over the others."""
        self.filled(vector)
        if not self.code.careful:  # right here: LLVM sinks what is computed before into blocks behind
            self.code.note_flags()
        others = StridedVector(element_at(self.b, vector.first, vector.stride, I8), vector.stride,
                               self.b.sub(vector.count, i64(1)))
        return self.loop(name, self.element(vector, i64(0)), others)

    def max(self, vector: StridedVector) -> Any:
        return self._extreme("maximum", vector)

    def min(self, vector: StridedVector) -> Any:
        return self._extreme("minimum", vector)

    def nanmax(self, vector: StridedVector) -> Any:
        return self._some_number(self._extreme("fmax", vector))

    def nanmin(self, vector: StridedVector) -> Any:
        return self._some_number(self._extreme("fmin", vector))

    def _some_number(self, value: Any) -> Any:
        self.code.leave_if(self.is_nan(value))
        return value

    def median(self, vector: StridedVector) -> Any:
        """The mean of what is in the middle after sorting; nan where the last one is."""
        self.filled(vector)
        b, half = self.b, self.b.lshr(vector.count, i64(1))
        copied, last = self.copy(vector, lambda x: x), b.sub(vector.count, i64(1))
        function = self._array_function("sort", I32, [POINTER, I64, POINTER])
        b.call(function, [copied.first, vector.count, ir.Constant(POINTER, None)], attrs=("nounwind",))
        even = b.icmp_unsigned("==", b.and_(vector.count, i64(1)), i64(0))
        upper = b.fadd(self.element(copied, half), self.number(0.0))
        both = b.fadd(self.element(copied, b.select(even, b.sub(half, i64(1)), half)), upper)
        middle = b.select(even, b.fdiv(both, self.number(2.0)), upper)
        return b.select(self.is_nan(self.element(copied, last)), self.element(copied, last), middle)

    def ptp(self, vector: StridedVector) -> Any:
        return self.b.fsub(self.max(vector), self.min(vector))

    def mean(self, vector: StridedVector) -> Any:
        self.filled(vector)
        return self.b.fdiv(self.sum(vector), self.as_number(vector.count))

    def var(self, vector: StridedVector) -> Any:
        self.filled(vector, self.ddof + 1)
        mean = self.mean(vector)
        return self.b.fdiv(self.sum(self.copy(vector, lambda x: self._square(self.b.fsub(x, mean)))),
                           self.as_number(self.b.sub(vector.count, i64(self.ddof))))

    def std(self, vector: StridedVector) -> Any:
        return self._root(self.var(vector))

    def _square(self, x: Any) -> Any:
        return self.b.fmul(x, x)

    def _root(self, x: Any) -> Any:
        name = "llvm.sqrt.f64" if self.type == F64 else "llvm.sqrt.f32"
        return self.e.llvm(name, self.type, x)

    # --- without nan
    def _instead(self, x: Any, number: float) -> Any:
        return self.b.select(self.is_nan(x), self.number(number), x)

    def _numbers(self, vector: StridedVector) -> Any:
        return self.counted(vector, lambda x: self.b.not_(self.is_nan(x)))

    def nansum(self, vector: StridedVector) -> Any:
        return self.sum(self.copy(vector, lambda x: self._instead(x, 0.0)))

    def nanprod(self, vector: StridedVector) -> Any:
        return self.prod(self.copy(vector, lambda x: self._instead(x, 1.0)))

    def nanmean(self, vector: StridedVector) -> Any:
        count = self._numbers(vector)
        self.code.leave_if(self.b.icmp_signed("<", count, i64(1)))
        return self.b.fdiv(self.nansum(vector), self.as_number(count))

    def nanvar(self, vector: StridedVector) -> Any:
        b, mean = self.b, self.nanmean(vector)
        count = b.sub(self._numbers(vector), i64(self.ddof))
        self.code.leave_if(b.icmp_signed("<", count, i64(1)))
        rest = self.copy(vector, lambda x: b.select(self.is_nan(x), self.number(0.0), self._square(b.fsub(x, mean))))
        return b.fdiv(self.sum(rest), self.as_number(count))

    def nanstd(self, vector: StridedVector) -> Any:
        return self._root(self.nanvar(vector))

    # --- products
    def dot(self, x: StridedVector, y: StridedVector) -> Any:
        self.code.leave_if(self.b.icmp_unsigned("!=", x.count, y.count))
        place = stack(self.b, self.type)
        function = self._array_function("dotfunc", ir.VoidType(), [POINTER, I64, POINTER, I64, POINTER, I64, POINTER])
        self.b.call(function, [x.first, x.stride, y.first, y.stride, place, x.count, ir.Constant(POINTER, None)],
                    attrs=("nounwind",))
        return self.b.load(place, typ=self.type)

    def matmul(self, x: StridedVector, y: StridedVector) -> Any:
        return self.dot(x, y)

    def norm(self, vector: StridedVector) -> Any:
        dense = self.dense(vector)
        return self._root(self.dot(dense, dense))


_NAMES = {"amax": "max", "amin": "min", None: "matmul"}
_OF_ALL = frozenset({"count_nonzero", "any", "all", "argmax", "argmin"})
_OF_INTS = frozenset({"sum", "prod", "max", "min"})
_IN_ANY_ORDER = frozenset({"count_nonzero", "any", "all"})
_OF_COPIES = frozenset({"nansum", "nanprod", "nanmean", "nanvar", "nanstd"})
_SILENT = frozenset({"dot", "matmul", "norm"})
_COPYING = frozenset({"dot"})


def function_of(op: Op, dtypes: Sequence[str]) -> tuple[str, int] | None:
    """The function of a routine of arrays of these dtypes, and its ddof; None where it is not one of these."""
    found = _TEXT.fullmatch(op.attr("routine"))
    if found is None or op.kind is MEMORY or len(set(dtypes)) != 1:
        return None
    name, dtype = _NAMES.get(found[1], found[1]), dtypes[0]
    options = dict(each.split("=") for each in (found[3] or "").split(", ")[1:])
    if not callable(getattr(Reducer, name, None)):
        return None
    if dtype == "b1":
        fits = name in _OF_ALL or name == "sum"
    elif name in _OF_ALL:
        fits = dtype in ELEMENTS and dtype != "u8"
    else:
        fits = dtype == op.attr("dtype") and (dtype in ("f8", "f4") or dtype == "i8" and name in _OF_INTS)
    if not fits or name in _SILENT and not _is_known(dtype) or name == "norm" and options.get("axis", "None") != "None":
        return None
    return name, int(options.get("ddof", 0))


def write_reduction(code: KernelOperations, op: Op, found: tuple[str, int], arrays: Sequence[Sequence[Any]],
                    dtype: str, otherwise: Callable[[], Lane]) -> Lane:
    """The number that a function gives for arrays: of each the address, the lengths and the strides. `otherwise` writes
    the call of Python's."""
    b, reducer = code.builder, Reducer(code, op, dtype, found[1])
    vectors = [vector for array in arrays if (vector := reducer.vector(array, found[0])) is not None]
    if len(vectors) < len(arrays):
        return otherwise()
    tests = [test for _, test in vectors if test is not None]
    if not tests:
        return _written(code, op, reducer, found[0], [vector for vector, _ in vectors])
    result = stack(b, code.e.scalars[op.kind])
    with b.if_else(reduce(b.and_, tests)) as (direct, called):
        with direct:
            made = _written(code, op, reducer, found[0], [vector for vector, _ in vectors])
            b.store(made.value, result)
        with called:
            b.store(otherwise().value, result)
    return Lane(code.e, op.kind, b.load(result, typ=code.e.scalars[op.kind]))


def _written(code: KernelOperations, op: Op, reducer: Reducer, name: str, vectors: Sequence[Any]) -> Lane:
    """NumPy's loops raise the processor's flags where it warns; those for extremes clear them. Products never warn."""
    if code.careful:
        code.clear_flags()
    value = getattr(reducer, name)(*[vector() for vector in vectors])
    if code.careful and name not in _SILENT:
        code.note_flags()
    return Lane(code.e, op.kind, code.builder.fpext(value, F64) if op.kind is FLOAT and value.type != F64 else value)


@cache
def _is_known(dtype: str) -> bool:
    """Whether the function of a dtype gives what np.dot and `@` give for two vectors, in this NumPy."""
    step = np.dtype(dtype).itemsize
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p, ctypes.c_ssize_t] * 3, ctypes.c_void_p)(
        array_function(dtype, "dotfunc"))
    random, found = np.random.default_rng(0), np.zeros(1, dtype)
    for count in (0, 1, 2, 3, 7, 8, 15, 16, 31, 33, 64, 100, 257, 1000):
        for stride in (1, 2, -1):
            x, y = (random.normal(size=2 * count + 1).astype(dtype)[::stride][:count] for _ in range(2))
            function(x.ctypes.data, stride * step, y.ctypes.data, stride * step, found.ctypes.data, count, None)
            same = {(x @ y).tobytes()} if stride < 0 else {(x @ y).tobytes(), np.dot(x, y).tobytes()}
            if same != {found[0].tobytes()}:
                return False
    return True
