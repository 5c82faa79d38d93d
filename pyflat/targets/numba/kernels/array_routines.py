"""NumPy's functions of vectors that give vectors, or look into sorted ones, as loops of the kernel's own: no Python
object is touched, and memory is used again.

    np.bincount(x)     a loop that counts, and one before it for the largest
    np.histogram(x)    NumPy's way for bins of one width (numpy/lib/_histograms_impl.py)
    np.exp(x)          the loop of the ufunc, over the vector as NumPy runs it
    np.quantile(x, q)  sorted by NumPy's function, and its interpolation (numpy/lib/_function_base_impl.py)

A routine whose parts are asked for (`np.unique(x).shape[0]`, `np.unique(x)`) runs once, at its first part. Where a test
says that NumPy may do otherwise (nan, zeros of both signs, what raises) it is a call of Python's, as all others are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir

from pyflat.ir.nodes import Op
from pyflat.ir.types import FLOAT, MEMORY
from pyflat.targets.numba.emitter import Lane
from pyflat.targets.numba.kernels.places import ELEMENTS
from pyflat.targets.numba.kernels.reductions import Reducer, StridedVector
from pyflat.targets.numba.kernels.routine_calls import FITS, RoutineForm, limits_of, loop_of
from pyflat.targets.numba.llvm import F64, I1, I8, I32, I64, POINTER, counted, element_at, i64, stack
from pyflat.targets.numba.numpy_loops import over_vectors

if TYPE_CHECKING:
    from pyflat.targets.numba.kernels.operations import KernelOperations

_MOST = 2**40
_SILENT = frozenset({"bincount", "chosen", "flatnonzero", "histogram", "nonzero", "searchsorted", "sort", "unique"})
"""Functions that never warn, whatever the processor's flags say."""


@dataclass(frozen=True, slots=True)
class WrittenRoutine:
    """What has been written of a routine: whether it ran (None: always), and its vectors, by slots on the stack."""

    ran: Any
    vectors: Sequence[tuple[Any, Any]]


# --- the machine code
def write_routine_of_vectors(code: KernelOperations, op: Op, call: RoutineForm, arrays: Sequence[Sequence[Any]],
                             dtypes: Sequence[str], otherwise: Callable[[], Lane | None]) -> Lane | None:
    """What it gives; its number, None where it makes an array. `otherwise` writes the call of Python's."""
    leader = code.leaders.get(op, op)
    if leader is op:
        code.made[op] = ArrayRoutine(code, op, call, arrays, dtypes).written()
    made = code.made[leader]
    if made.ran is None:
        return _part(code, op, call, made)
    b, result = code.builder, None if op.kind is MEMORY else stack(code.builder, code.e.scalars[op.kind])
    with b.if_else(b.load(made.ran, typ=I1)) as (direct, called):
        for block in (direct, called):
            with block:
                found = _part(code, op, call, made) if block is direct else otherwise()
                if found is not None:
                    b.store(found.value, result)
    return None if result is None else Lane(code.e, op.kind, b.load(result, typ=code.e.scalars[op.kind]))


def _part(code: KernelOperations, op: Op, call: RoutineForm, made: WrittenRoutine) -> Lane | None:
    b, (data, count) = code.builder, made.vectors[call.part]
    if call.length:
        return Lane(code.e, op.kind, b.load(count, typ=I64))
    first = b.load(data, typ=POINTER)
    if op.kind is not MEMORY:
        return code.places.number(code.e, op.kind, b.load(first, typ=ELEMENTS[op.attr("dtype")]), op.attr("dtype"))
    place = code.places.of[op.attr("array")]
    b.store(b.load(count, typ=I64), place.extents[0])
    b.store(first, place.pointer)
    return None


class ArrayRoutine(Reducer):
    """Writes one such routine. A method gives its vectors, and notes before where it is none of ours."""

    def __init__(self, code: KernelOperations, op: Op, call: RoutineForm, arrays: Sequence[Sequence[Any]],
                 dtypes: Sequence[str]):
        super().__init__(code, op, dtypes[0] or "f8", 0)
        self.call, self.arrays, self.dtypes = call, arrays, dtypes
        self.tests: list[Any] = []

    def written(self) -> WrittenRoutine:
        b, call = self.b, self.call
        method = getattr(self, call.name) if call.name in FITS else self.ufunc
        (self.code.clear_flags if self.code.careful else self.code.note_flags)()
        prepare = getattr(self, f"before_{call.name}", None)
        if prepare is not None:
            prepare()
        count = 1 + (call.name in ("histogram", "unique"))
        slots = [(stack(b, POINTER), stack(b, I64)) for _ in range(count)]

        def write() -> None:
            for (data, length), vector in zip(slots, method(), strict=False):
                b.store(vector.first, data)
                b.store(vector.count, length)

        ran = None
        if self.tests:
            ran = stack(b, I1)
            b.store(reduce(b.and_, self.tests), ran)
            with b.if_then(b.load(ran, typ=I1)):
                write()
        else:
            write()
        if call.name in _SILENT:
            self.code.clear_flags()
        elif self.code.careful:
            self.code.note_flags()
        return WrittenRoutine(ran, slots)

    # --- parts
    def operand(self, number: int = 0) -> StridedVector:
        """An operand as a vector; a number has one element."""
        array = self.arrays[number]
        if self.dtypes[number]:
            return StridedVector(self._pointer(array), array[2], array[1])
        place = stack(self.b, array[0].type)
        self.b.store(array[0], place)
        return StridedVector(place, i64(0), i64(1))

    def named(self, key: str) -> int | None:
        return self.call.keys.index(key) if key in self.call.keys else None

    def memory(self, key: str, count: Any, type_: Any = I64) -> Any:
        """Room for so many elements, and one more."""
        size = 8 if type_ in (I64, F64) else self.size
        return self.code.room((self.op, key), self.b.mul(self.b.add(count, i64(1)), i64(size)))

    def at(self, pointer: Any, index: Any, type_: Any = I64) -> Any:
        return element_at(self.b, pointer, index, type_)

    def read(self, pointer: Any, index: Any, type_: Any = I64) -> Any:
        return self.b.load(self.at(pointer, index, type_), typ=type_, align=1 if type_ is I8 else None)

    def wide(self, value: Any, dtype: str) -> Any:
        """An element as an int64 or a float64."""
        return self.code.places.number(self.e, FLOAT, value, dtype).value

    def variable(self, value: Any) -> Any:
        place = stack(self.b, value.type)
        self.b.store(value, place)
        return place

    def test_plain(self) -> None:
        """No nan, and no zero with a sign: sorted in any way, the numbers have one order."""
        if self.dtype[0] != "f":
            return
        bits = ir.IntType(8 * self.size)
        negative = ir.Constant(bits, 1 << (8 * self.size - 1))

        def unclear(x: Any) -> Any:
            return self.b.or_(self.is_nan(x), self.b.icmp_unsigned("==", self.b.bitcast(x, bits), negative))

        self.tests.append(self.b.icmp_signed("==", self.counted(self.operand(), unclear), i64(0)))

    def sorted(self) -> StridedVector:
        copied = self.copy(self.operand(), lambda x: x)
        function = self._array_function("sort", I32, [POINTER, I64, POINTER])
        self.b.call(function, [copied.first, copied.count, ir.Constant(POINTER, None)], attrs=("nounwind",))
        return copied

    # --- vectors
    before_sort = before_unique = before_quantile = before_percentile = test_plain

    def sort(self) -> list[StridedVector]:
        return [self.sorted()]

    def unique(self) -> list[StridedVector]:
        b, rows, found = self.b, self.sorted(), self.variable(i64(0))
        counts = self.memory("counts", rows.count)
        with counted(b, rows.count) as k:
            value, number = self.read(rows.first, k, self.type), b.load(found, typ=I64)
            first = b.icmp_signed("==", number, i64(0))
            last = b.select(first, i64(0), b.sub(number, i64(1)))
            before = self.read(rows.first, last, self.type)
            other = (b.fcmp_ordered if self.dtype[0] == "f" else b.icmp_signed)("!=", value, before)
            new = b.or_(first, other)
            place = b.select(new, number, last)
            b.store(value, self.at(rows.first, place, self.type))
            b.store(b.select(new, i64(1), b.add(self.read(counts, last), i64(1))), self.at(counts, place))
            b.store(b.add(place, i64(1)), found)
        count = b.load(found, typ=I64)
        return [StridedVector(rows.first, i64(self.size), count), StridedVector(counts, i64(8), count)]

    def nonzero(self) -> list[StridedVector]:
        b, given, found = self.b, self.operand(), self.variable(i64(0))
        places = self.memory("places", given.count)
        with counted(b, given.count) as k:
            number = b.load(found, typ=I64)
            b.store(k, self.at(places, number))
            b.store(b.add(number, b.zext(self.is_set(self.element(given, k)), I64)), found)
        return [StridedVector(places, i64(8), b.load(found, typ=I64))]

    flatnonzero = nonzero

    def before_chosen(self) -> None:
        self.tests.append(self.b.icmp_signed("==", self.arrays[0][1], self.arrays[1][1]))

    def chosen(self) -> list[StridedVector]:
        b, given, mask, found = self.b, self.operand(), self.operand(1), self.variable(i64(0))
        room = self.memory("chosen", given.count, self.type)
        with counted(b, given.count) as k:
            number = b.load(found, typ=I64)
            b.store(self.element(given, k), self.at(room, number, self.type), align=self.size)
            there = b.load(element_at(b, mask.first, b.mul(k, mask.stride), I8), typ=I8)
            b.store(b.add(number, b.zext(b.icmp_unsigned("!=", there, ir.Constant(I8, 0)), I64)), found)
        return [StridedVector(room, i64(self.size), b.load(found, typ=I64))]

    def before_bincount(self) -> None:
        """The largest number, and whether there is a negative one."""
        b, given = self.b, self.operand()
        most, signs = self.variable(i64(-1)), self.variable(i64(0))
        with counted(b, given.count) as k:
            value, old = self.wide(self.element(given, k), self.dtype), b.load(most, typ=I64)
            b.store(b.select(b.icmp_signed(">", value, old), value, old), most)
            b.store(b.or_(b.load(signs, typ=I64), value), signs)
        self.bins = b.add(b.load(most, typ=I64), i64(1))
        self.tests.append(b.icmp_signed(">=", b.load(signs, typ=I64), i64(0)))
        least = self.named("minlength")
        if least is None and len(self.arrays) == 3:
            least = 2
        if least is not None:
            value = self.arrays[least][0]
            self.tests.append(b.icmp_signed(">=", value, i64(0)))
            self.bins = b.select(b.icmp_signed(">", value, self.bins), value, self.bins)
        self.tests.append(b.icmp_signed("<", self.bins, i64(_MOST)))
        self.weighted = len(self.arrays) > 1 and bool(self.dtypes[1])
        if self.weighted:
            self.tests.append(b.icmp_signed("==", self.arrays[1][1], given.count))

    def bincount(self) -> list[StridedVector]:
        b, given, type_ = self.b, self.operand(), F64 if self.weighted else I64
        bins = self._zeros("bins", self.bins, type_)
        weights = self.operand(1) if self.weighted else None
        with counted(b, given.count) as k:
            place = self.at(bins, self.wide(self.element(given, k), self.dtype), type_)
            if weights is None:
                b.store(b.add(b.load(place, typ=I64), i64(1)), place)
            else:
                more = b.load(element_at(b, weights.first, b.mul(k, weights.stride), I8), typ=F64, align=8)
                b.store(b.fadd(b.load(place, typ=F64), more), place)
        return [StridedVector(bins, i64(8), self.bins)]

    def _zeros(self, key: str, count: Any, type_: Any) -> Any:
        room = self.memory(key, count, type_)
        with counted(self.b, count) as k:
            self.b.store(ir.Constant(type_, 0), self.at(room, k, type_))
        return room

    def before_histogram(self) -> None:
        """Its edges, which must differ."""
        b, bins = self.b, self.arrays[1][0]
        known = b.and_(b.icmp_signed(">", bins, i64(0)), b.icmp_signed("<", bins, i64(_MOST)))
        self.bins = b.select(known, bins, i64(1))
        self.first, self.last = limits_of(self.call.options) or (0.0, 1.0)
        self.width = F64(self.last - self.first)
        step = b.fdiv(self.width, b.sitofp(self.bins, F64))
        self.edges, differ = self.spaced(F64(self.first), F64(self.last), step), self.variable(known)
        with counted(b, self.bins) as k:
            more = b.fcmp_ordered("<", *[self.read(self.edges, b.add(k, i64(j)), F64) for j in (0, 1)])
            b.store(b.and_(b.load(differ, typ=I1), more), differ)
        self.tests += [b.load(differ, typ=I1), b.fcmp_ordered("!=", step, F64(0.0))]

    def histogram(self) -> list[StridedVector]:
        b, given, bins = self.b, self.operand(), self.bins
        counts, last = self._zeros("bins", bins, I64), b.sub(bins, i64(1))
        with counted(b, given.count) as k:
            x = self.element(given, k)
            inside = b.and_(b.fcmp_ordered(">=", x, F64(self.first)), b.fcmp_ordered("<=", x, F64(self.last)))
            with b.if_then(inside):
                place = b.fptosi(b.fmul(b.fdiv(b.fsub(x, F64(self.first)), self.width), b.sitofp(bins, F64)), I64)
                place = b.select(b.icmp_signed("==", place, bins), last, place)
                lower = b.fcmp_ordered("<", x, self.read(self.edges, place, F64))
                place = b.sub(place, b.zext(lower, I64))
                higher = b.fcmp_ordered(">=", x, self.read(self.edges, b.add(place, i64(1)), F64))
                place = b.add(place, b.zext(b.and_(higher, b.icmp_signed("!=", place, last)), I64))
                b.store(b.add(self.read(counts, place), i64(1)), self.at(counts, place))
        return [StridedVector(counts, i64(8), bins), StridedVector(self.edges, i64(8), b.add(bins, i64(1)))]

    def before_arange(self) -> None:
        self.tests.append(self.b.icmp_unsigned("<", self.code.lane(self.op.args[0]).value, i64(_MOST)))

    def arange(self) -> list[StridedVector]:
        b, numbers = self.b, [array[0] for array in self.arrays]
        start = numbers[0] if len(numbers) > 1 else i64(0)
        step, count = numbers[2] if len(numbers) > 2 else i64(1), self.code.lane(self.op.args[0]).value
        room = self.memory("numbers", count)
        with counted(b, count) as k:
            b.store(b.add(start, b.mul(k, step)), self.at(room, k))
        return [StridedVector(room, i64(8), count)]

    def before_linspace(self) -> None:
        b, (first, last, count) = self.b, [array[0] for array in self.arrays]
        self.first, self.last = (b.sitofp(x, F64) if x.type is I64 else x for x in (first, last))
        several = b.icmp_unsigned("<", b.sub(count, i64(2)), i64(_MOST))
        self.bins = b.select(several, b.sub(count, i64(1)), i64(1))
        self.width = b.fdiv(b.fsub(self.last, self.first), b.sitofp(self.bins, F64))
        self.tests += [several, b.fcmp_ordered("!=", self.width, F64(0.0))]

    def linspace(self) -> list[StridedVector]:
        numbers = self.spaced(self.first, self.last, self.width)
        return [StridedVector(numbers, i64(8), self.b.add(self.bins, i64(1)))]

    def spaced(self, first: Any, last: Any, step: Any) -> Any:
        """What np.linspace gives: so many numbers as there are bins, and the last one."""
        b, room = self.b, self.memory("spaced", self.bins, F64)
        with counted(b, self.bins) as k:
            b.store(b.fadd(b.fmul(b.sitofp(k, F64), step), first), self.at(room, k, F64))
        b.store(last, self.at(room, self.bins, F64))
        return room

    def cumsum(self) -> list[StridedVector]:
        b, given = self.b, self.operand()
        sum_, add = self.variable(self.number(0)), b.fadd if self.dtype[0] == "f" else b.add
        room = self.memory("sums", given.count, self.type)
        with counted(b, given.count) as k:
            value = self.element(given, k)
            more = add(b.load(sum_, typ=self.type), value)
            more = b.select(b.icmp_signed("==", k, i64(0)), value, more)
            b.store(more, sum_)
            b.store(more, self.at(room, k, self.type), align=self.size)
        return [StridedVector(room, i64(self.size), given.count)]

    def diff(self) -> list[StridedVector]:
        b, given, subtract = self.b, self.operand(), self.b.fsub if self.dtype[0] == "f" else self.b.sub
        less = b.sub(given.count, i64(1))
        count = b.select(b.icmp_signed("<", less, i64(0)), i64(0), less)
        room = self.memory("differences", count, self.type)
        with counted(b, count) as k:
            value = subtract(self.element(given, b.add(k, i64(1))), self.element(given, k))
            b.store(value, self.at(room, k, self.type), align=self.size)
        return [StridedVector(room, i64(self.size), count)]

    def searchsorted(self) -> list[StridedVector]:
        """NumPy's bisection, with the bounds that the key before has left."""
        b, given, keys = self.b, self.operand(), self.operand(1)
        key_dtype = self.dtypes[1] or ("f8" if self.arrays[1][0].type is F64 else "i8")
        floats, right = "f" in (self.dtype[0], key_dtype[0]), "right" in self.call.options

        def number(vector: StridedVector, at: Any, dtype: str) -> Any:
            place = element_at(b, vector.first, b.mul(at, vector.stride), I8)
            value = b.load(place, typ=ELEMENTS[dtype], align=np.dtype(dtype).itemsize)
            value = self.wide(value, dtype)
            return b.sitofp(value, F64) if floats and value.type is I64 else value

        def less(x: Any, y: Any) -> Any:
            if not floats:
                return b.icmp_signed("<", x, y)
            return b.or_(b.fcmp_ordered("<", x, y), b.and_(self.is_nan(y), b.fcmp_ordered("ord", x, x)))

        def before(x: Any, y: Any) -> Any:
            return b.not_(less(y, x)) if right else less(x, y)

        room, low, high = self.memory("places", keys.count), self.variable(i64(0)), self.variable(given.count)
        with counted(b, keys.count) as k:
            key, last = (number(keys, at, key_dtype)
                         for at in (k, b.select(b.icmp_signed(">", k, i64(0)), b.sub(k, i64(1)), k)))
            above, top = before(last, key), b.load(high, typ=I64)
            more = b.select(b.icmp_signed("<", top, given.count), b.add(top, i64(1)), given.count)
            b.store(b.select(above, b.load(low, typ=I64), i64(0)), low)
            b.store(b.select(above, given.count, more), high)
            head, body, done = (b.append_basic_block(name) for name in ("bisect", "halve", "found"))
            b.branch(head)
            b.position_at_end(head)
            least, most = b.load(low, typ=I64), b.load(high, typ=I64)
            b.cbranch(b.icmp_signed("<", least, most), body, done)
            b.position_at_end(body)
            middle = b.add(least, b.lshr(b.sub(most, least), i64(1)))
            behind = before(number(given, middle, self.dtype), key)
            b.store(b.select(behind, b.add(middle, i64(1)), least), low)
            b.store(b.select(behind, most, middle), high)
            b.branch(head)
            b.position_at_end(done)
            b.store(least, self.at(room, k))
        return [StridedVector(room, i64(8), keys.count)]

    # --- numbers
    def quantile(self) -> list[StridedVector]:
        b, q = self.b, self.arrays[1][0]
        if self.call.name == "percentile":
            q = b.fdiv(b.sitofp(q, F64) if q.type is I64 else q, F64(100.0))
        rows = self.sorted()
        self.code.clear_flags()
        last = b.sub(rows.count, i64(1))
        if q.type is I64:
            self.code.leave_if(b.or_(b.icmp_signed("<", last, i64(0)), b.icmp_unsigned(">", q, i64(1))))
            return [StridedVector(element_at(b, rows.first, b.mul(last, q), F64), i64(8), i64(1))]
        at = b.fmul(b.sitofp(last, F64), q)
        self.code.leave_if(b.not_(b.and_(b.icmp_signed(">=", last, i64(0)), b.and_(
            b.fcmp_ordered(">=", q, F64(0.0)), b.fcmp_ordered("<=", q, F64(1.0))))))
        top = b.fcmp_ordered(">=", at, b.sitofp(last, F64))
        low = b.fptosi(at, I64)
        below, above = (self.read(rows.first, b.select(top, last, place), F64) for place in (low, b.add(low, i64(1))))
        t = b.fsub(at, b.sitofp(b.select(top, i64(-1), low), F64))
        between = b.fsub(above, below)
        lower = b.fadd(below, b.fmul(between, t))
        upper = b.fsub(above, b.fmul(between, b.fsub(F64(1.0), t)))
        return [StridedVector(self.variable(b.select(b.fcmp_ordered(">=", t, F64(0.5)), upper, lower)), i64(8), i64(1))]

    percentile = quantile

    # --- ufuncs
    def ufunc(self) -> list[StridedVector]:
        b, dtype = self.b, next(dtype for dtype in self.dtypes if dtype)
        loop = loop_of(self.call, self.dtypes, self.op.attr("dtype"))
        assert loop is not None
        count, size = self.code.lane(self.op.args[0]).value, np.dtype(self.op.attr("dtype")).itemsize
        given = []
        for number, array in enumerate(self.arrays):
            if not self.dtypes[number]:
                value = array[0]
                wide = b.sitofp(value, F64) if value.type is I64 and dtype[0] == "f" else value
                given.append(StridedVector(self.variable(self.code.places.narrowed(
                    Lane(self.e, FLOAT, wide), dtype)), i64(0), i64(1)))
                continue
            vector = self.operand(number)
            one = b.icmp_signed("==", vector.count, i64(1))
            given.append(StridedVector(vector.first, b.select(one, i64(0), vector.stride), vector.count))
        room = self.code.room(self.op, b.add(b.mul(count, i64(size)), i64(128)))
        over_vectors(self.e, self.call.name, loop, [each.first for each in given], [each.stride for each in given],
                     element_at(b, room, i64(64), I8), i64(size), count)
        return [StridedVector(element_at(b, room, i64(64), I8), i64(size), count)]
