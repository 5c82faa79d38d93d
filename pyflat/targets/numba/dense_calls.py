"""Calls of a twin's kernel with arrays of one shape and numbers, without NumPy's ufunc around it.

    call(array or number for each operand..., out or None)  ->  the result, or a tuple of results
                                                               NotImplemented: the arguments are others
                                                               Ellipsis: lanes are suspect, or a signal has come

One machine function serves all kernels: it looks whether all arrays have the dtypes of a table and one shape, have one
axis, or lie dense in the same order of axes, makes the results with NumPy's own allocation, and runs the kernel once,
on all lanes. It takes a third of the time that NumPy takes for a ufunc and Python for asking an array for its dtype and
shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import CellType
from typing import Any

import numpy as np
from llvmlite import ir

from pyflat.functions import ways
from pyflat.targets.numba.feed import INTERRUPTED, SUSPECTS
from pyflat.targets.numba.jit import made_once
from pyflat.targets.numba.llvm import I32, I64, POINTER, counted, i64, stack
from pyflat.targets.numba.python_objects import (
    ALIGNED,
    ARRAY,
    ARRAY_FLAGS,
    C_ORDER,
    COMMON,
    DATA,
    DESCR,
    FORTRAN,
    INTEGER,
    NDARRAY,
    NONE,
    OBJECT,
    OTHER,
    RANK,
    RAW,
    SHAPE,
    STRIDES,
    TRUTH,
    TYPE,
    VAIN,
    VOID,
    WRITEABLE,
    Compiled,
    ObjectWriter,
    bound,
    compiled,
    supported,
)

ENTRY = "pyflat_call_dense"
KERNEL, STATE, OPERANDS, RESULTS, MOST, HEAD = range(COMMON, COMMON + 6)
"""Words at the head of the table."""
BYTES, WIDTH = range(OBJECT + 1, OBJECT + 3)
"""Words for each operand, and behind these for each result: behind what it is and its dtype or type, the bytes of an
element."""
PATIENCE = 50
"""Calls before the first one that is made here in a process."""
MANY = 500
"""Lanes beyond which other threads may run meanwhile, as in NumPy."""

_NUMBERS = {float: (RAW, "f8"), np.float64: (RAW, "f8"), int: (INTEGER, "i8"), np.int64: (RAW, "i8"),
            bool: (TRUTH, "b1"), np.bool_: (RAW, "b1")}
"""How scalars are read, and the lanes that they are."""


def dense_call(kernel: int, state: int, operands: Sequence[tuple[type | None, np.dtype[Any]]],
               results: Sequence[np.dtype[Any]], most: int, kept: object) -> Later | None:
    """The kernel at an address as a function of its operands, which are scalars of a type or (None) arrays of a dtype
    with `most` elements at most and one stride, and of the array for its result. None where a scalar would be
    converted, where there is no array, and in a Python that is laid out differently."""
    if not supported() or all(cls is not None for cls, _ in operands) or ways.DENSE.forced == "ufunc":
        return None
    words, objects = [], []
    for cls, dtype in operands:
        what, lane = (ARRAY, "") if cls is None else _NUMBERS.get(cls, (ARRAY, "none"))
        if cls is not None and dtype.str[1:] != lane:
            return None
        objects.append(dtype if cls is None else cls)
        words += [what, id(objects[-1]), dtype.itemsize]
    for dtype in results:
        words += [ARRAY, id(dtype), dtype.itemsize]
    head = {KERNEL: kernel, STATE: state, OPERANDS: len(operands), RESULTS: len(results), MOST: most}
    ways.DENSE.of("direct")
    return Later(lambda: bound(_function(), head, words, (kept, objects, results)))


class Later:
    """Stands for a call until there have been some: the function that all share takes a tenth of a second to compile,
    and a hundredth to load, for half a microsecond less in each call. `cell` has this, or the call in its place."""

    __slots__ = ("_calls", "_make", "cell")

    def __init__(self, make: Callable[[], Callable[..., Any]]) -> None:
        self.cell, self._make, self._calls = CellType(self), make, 0

    def __call__(self, *arguments: Any) -> Any:
        self._calls += 1
        patience = PATIENCE if ways.DENSE.forced is None else 0
        if self._calls < patience and not _function.__wrapped__.cache_info().currsize:  # type: ignore[attr-defined]
            return NotImplemented
        self.cell.cell_contents = call = self._make()
        return call(*arguments)


@made_once
def _function() -> Compiled:
    return compiled(_DenseWriter().text(), ENTRY)


class _DenseWriter(ObjectWriter):
    """Writes that function."""

    def __init__(self) -> None:
        super().__init__(ENTRY)
        self.operands, self.results = self._word(OPERANDS), self._word(RESULTS)
        self.all = self.b.add(self.operands, self.results)
        self.places, self.steps, self.numbers = (self._room(self.all) for _ in range(3))
        """Where each operand is, how far its elements are apart, and scalars."""
        self.made = self._room(self.results)
        self.first, self.lanes, self.flags = stack(self.b, I64), stack(self.b, I64), stack(self.b, I32)
        """An array, 0 before there is one; its elements; the flags that all have."""
        self.at: Any = None
        """The operand that is looked at."""

    def text(self) -> str:
        b = self.b
        b.store(i64(0), self.first)
        b.store(i64(1), self.lanes)
        b.store(ir.Constant(I32, -1), self.flags)
        self._need(self._equal(self.count, b.add(self.operands, i64(1))))
        with counted(b, self.operands, rolled=True) as k:
            self.at, known, given = k, self._known(k), self._load(self._behind(self.given, k), POINTER)
            b.store(i64(0), self._behind(self.steps, k))
            self._ways(known, given, partial(self._array, known, given, k))
        self._need(self._is_set(self._rank(self._first())))
        flags, dense = self._load(self.flags, I32), ir.Constant(I32, C_ORDER | FORTRAN)
        self._need(self._has(flags, ALIGNED))
        self._need(self._is_set(b.zext(b.and_(flags, dense), I64)))
        self._need(self._is_set(self._load(self.lanes)))
        self._need(b.icmp_signed("<=", self._load(self.lanes), self._word(MOST)))
        out = self._load(self._behind(self.given, self.operands), POINTER)
        fresh = self._equal(b.ptrtoint(out, I64), self._word(NONE))
        with b.if_else(fresh) as (none, given_out):
            with none:
                self._make()
            with given_out:
                self._take(out)
        self._run()
        self._give(fresh, out)
        b.position_at_end(self.miss)
        self._returned(self._pointer_word(OTHER))
        return str(self.module)

    def _known(self, k: Any) -> Any:
        return self._behind(self.table, self.b.add(self.b.mul(k, i64(WIDTH)), i64(HEAD)))

    def _has(self, flags: Any, flag: int) -> Any:
        wanted = ir.Constant(I32, flag)
        return self._equal(self.b.and_(flags, wanted), wanted)

    # --- operands
    def _slot(self, value: Any) -> None:
        place = self._behind(self.numbers, self.at)
        self.b.store(value, place)
        self.b.store(place, self._behind(self.places, self.at))

    def _array(self, known: Any, given: Any, k: Any) -> None:
        b = self.b
        self._need(self._equal(self._field(given, TYPE, I64), self._word(NDARRAY)))
        self._need(self._equal(self._field(given, DESCR, I64), self._word(OBJECT, known)))
        row = self._equal(self._rank(given), i64(1))
        dense = b.select(row, ir.Constant(I32, C_ORDER | FORTRAN), ir.Constant(I32, 0))
        flags = b.or_(self._field(given, ARRAY_FLAGS, I32), dense)
        b.store(b.and_(self._load(self.flags, I32), flags), self.flags)
        b.store(self._field(given, DATA, I64), self._behind(self.places, k))
        b.store(self._word(BYTES, known), self._behind(self.steps, k))
        with b.if_then(row):
            b.store(self._load(self._field(given, STRIDES, POINTER)), self._behind(self.steps, k))
        with b.if_else(self._is_set(self._load(self.first))) as (another, first):
            with another:
                self._need_same_shape(given)
            with first:
                b.store(b.ptrtoint(given, I64), self.first)
                shape = self._field(given, SHAPE, POINTER)
                with counted(b, self._rank(given), rolled=True) as axis:
                    b.store(b.mul(self._load(self.lanes), self._load(self._behind(shape, axis))), self.lanes)

    def _rank(self, array: Any) -> Any:
        return self.b.zext(self._field(array, RANK, I32), I64)

    def _first(self) -> Any:
        return self._load(self.first, POINTER)

    def _need_same_shape(self, array: Any) -> None:
        first = self._first()
        self._need(self._equal(self._rank(array), self._rank(first)))
        ours, other = self._field(array, SHAPE, POINTER), self._field(first, SHAPE, POINTER)
        with counted(self.b, self._rank(first), rolled=True) as axis:
            self._need(self._equal(*(self._load(self._behind(shape, axis)) for shape in (ours, other))))

    # --- results
    def _make(self) -> None:
        """Fresh arrays; without memory for them it is for the long way to say so."""
        b, first = self.b, self._first()
        c_order = self._has(self._load(self.flags, I32), C_ORDER)
        fortran = b.zext(b.not_(c_order), I32)
        with counted(b, self.results, rolled=True) as k:
            known = self._known(b.add(self.operands, k))
            dtype = self._pointer_word(OBJECT, known)
            self._call("Py_IncRef", dtype)  # PyArray_Empty keeps it
            made = self._call("PyArray_Empty", self._field(first, RANK, I32), self._field(first, SHAPE, POINTER), dtype,
                              fortran)
            with b.if_then(self._equal(b.ptrtoint(made, I64), i64(0)), likely=False):
                self._drop(k)
                b.ret(ir.Constant(POINTER, None))  # MemoryError
            b.store(made, self._behind(self.made, k))
            self._place(k, made, known)

    def _place(self, k: Any, array: Any, known: Any) -> None:
        at = self.b.add(self.operands, k)
        self.b.store(self._field(array, DATA, I64), self._behind(self.places, at))
        self.b.store(self._word(BYTES, known), self._behind(self.steps, at))

    def _drop(self, count: Any) -> None:
        with counted(self.b, count, rolled=True) as k:
            self._call("Py_DecRef", self._load(self._behind(self.made, k), POINTER))

    def _take(self, out: Any) -> None:
        """The array that was given for the only result: as a fresh one would be, and apart from all operands."""
        b, known = self.b, self._known(self.operands)
        self._need(self._equal(self.results, i64(1)))
        self._need(self._equal(self._field(out, TYPE, I64), self._word(NDARRAY)))
        self._need(self._equal(self._field(out, DESCR, I64), self._word(OBJECT, known)))
        flags = self._field(out, ARRAY_FLAGS, I32)
        self._need(self._has(flags, ALIGNED | WRITEABLE))
        both = b.and_(b.and_(flags, self._load(self.flags, I32)), ir.Constant(I32, C_ORDER | FORTRAN))
        self._need(self._is_set(b.zext(both, I64)))
        self._need_same_shape(out)
        self._place(i64(0), out, known)
        start, size = self._field(out, DATA, I64), b.mul(self._load(self.lanes), self._word(BYTES, known))
        with counted(b, self.operands, rolled=True) as k:
            step, item = self._load(self._behind(self.steps, k)), self._word(BYTES, self._known(k))
            span = b.mul(step, b.sub(self._load(self.lanes), i64(1)))
            back = b.icmp_signed("<", span, i64(0))
            first = b.add(self._load(self._behind(self.places, k)), b.select(back, span, i64(0)))
            length = b.add(item, b.select(back, b.neg(span), span))
            self._need(self._are_apart(start, size, first, length))

    # --- the kernel
    def _run(self) -> None:
        b, kernel, state = self.b, self._pointer_word(KERNEL), self._pointer_word(STATE)
        kernel.type = ir.PointerType(ir.FunctionType(VOID, [POINTER] * 4))
        many = b.icmp_unsigned(">", self._load(self.lanes), i64(MANY))
        self._without_gil(many, lambda: b.call(kernel, [self.places, self.lanes, self.steps, state]))

    def _give(self, fresh: Any, out: Any) -> None:
        """What the caller gets; nothing where the state says that something has come up."""
        b, state = self.b, self._pointer_word(STATE)
        good, bad, given, one, many = (self.function.append_basic_block(name)
                                       for name in ("good", "bad", "given", "one", "many"))
        come_up = b.or_(*(self._load(self._behind(state, i64(word))) for word in (SUSPECTS, INTERRUPTED)))
        b.cbranch(self._is_set(come_up), bad, good)
        b.position_at_end(bad)
        with b.if_then(fresh):
            self._drop(self.results)
        self._returned(self._pointer_word(VAIN))
        b.position_at_end(good)
        made = self.function.append_basic_block("made")
        b.cbranch(fresh, made, given)
        b.position_at_end(given)
        self._returned(out)
        b.position_at_end(made)
        b.cbranch(self._equal(self.results, i64(1)), one, many)
        b.position_at_end(one)
        b.ret(self._load(self._behind(self.made, i64(0)), POINTER))
        b.position_at_end(many)
        items = self._call("PyTuple_New", self.results)
        with b.if_then(self._equal(b.ptrtoint(items, I64), i64(0)), likely=False):
            self._drop(self.results)
            b.ret(items)  # MemoryError
        with counted(b, self.results, rolled=True) as k:
            self._call("PyTuple_SetItem", items, k, self._load(self._behind(self.made, k), POINTER))
        b.ret(items)
