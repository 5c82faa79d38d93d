"""Calls of a kernel with arrays that do not lie dense, without NumPy's iterator.

NumPy hands an inner loop one row after the other where arrays have no common stride, and copies what is not aligned
into buffers. Both cost more than a light kernel. Here Python looks at shapes and strides, once for each combination of
them, and machine code makes the calls:

    void walk(kernel, state, layout, tuple of inputs, results and a buffer)

one call where each array has one stride, otherwise one for each block of lanes, for which what has no single stride is
copied into the buffer, in C order. The kernel converts dtypes and reads what is not aligned (`feed`). `walk` is
compiled once, for all kernels. Where a tuple has its items and an array its data is part of Python's and NumPy's ABI.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from operator import mul
from struct import Struct
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from pyflat.targets.numba.conversions import copying
from pyflat.targets.numba.feed import CONVERSIONS, INTERRUPTED, LANES, SharedState
from pyflat.targets.numba.jit import MachineCode, compile_ir, made_once, processor
from pyflat.targets.numba.llvm import I8, I64, POINTER, counted, element_at, i64, internal_function

BLOCK = 2**13
"""Lanes in a block at most, as whole rows where these are not longer: so many rows of what lies in Fortran's order that
it is read by whole cache lines."""

_VOID = ir.VoidType()
_COUNT, _TOTAL, _BLOCK, _AXES, _LENGTHS = range(5)
_NO_BUFFER = np.empty(1, np.uint8)

Array = np.ndarray[Any, Any]


def caller(ufunc: np.ufunc, kernel: int, state: SharedState, inputs: Sequence[np.dtype[Any]],
           results: Sequence[np.dtype[Any]], own: Sequence[tuple[int, np.dtype[Any]]], *keep: object
           ) -> Callable[..., Any]:
    """A function of the shape of the results and the operands of a kernel, that gives what the kernel's ufunc gives.
    Its arrays are of the dtypes `inputs`, its results fresh ones. `own` are the parameters whose elements are lanes:
    those that are not aligned are copied by functions that are compiled at the first call."""
    walk: Any = None
    words, sizes = state.address, tuple([dtype.itemsize for dtype in (*inputs, *results)])

    def start() -> Any:
        for number, dtype in own:
            state.words[CONVERSIONS + number] = copying(dtype) | LANES
        return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.py_object)(_compiled().address)

    def call(shape: tuple[int, ...], *operands: Any) -> Any:
        nonlocal walk
        given = [np.asarray(operand, dtype) for operand, dtype in zip(operands, inputs, strict=True)]
        made = tuple([np.empty(shape, dtype) for dtype in results])
        layout = _layout(shape, *[(a.shape, a.strides) for a in given], sizes=sizes)
        if not layout.room and all(a.flags.aligned for a in given):
            return ufunc(*operands)
        walk = walk or start()
        buffer = np.empty(layout.room, np.uint8) if layout.room else _NO_BUFFER
        walk(kernel, words, layout.address, (*given, *made, buffer))
        return made if len(made) > 1 else made[0]

    call.__dict__["kept"] = keep
    return call


class _Layout(NamedTuple):
    """How the arrays of a call lie: numbers for `walk`, where they are, and bytes of the buffer."""

    numbers: Array
    address: int
    room: int


@lru_cache(maxsize=64)
def _layout(shape: tuple[int, ...], *arrays: tuple[tuple[int, ...], tuple[int, ...]], sizes: tuple[int, ...]
            ) -> _Layout:
    """Operands, lanes, lanes in a block, axes, the lengths of the axes from the last one on; then for each operand the
    bytes of an element, its stride (its own element's size where it has none and is copied), whether it is copied,
    where in the buffer, and its strides along the axes."""
    dense = [[size * step for step in itertools.accumulate(shape[:0:-1], mul, initial=1)]
             for size in sizes[len(arrays):]]
    lengths, strides = _merged(shape, [*[_broadcast(shape, *array) for array in arrays], *dense])
    total = math.prod(lengths)
    single = [_is_single(lengths, along) for along in strides]
    block = total if all(single) else min(total, BLOCK - BLOCK % lengths[0] if lengths[0] < BLOCK else BLOCK)
    numbers, used = [len(sizes), total, block, len(lengths), *lengths], 0
    for size, along, one in zip(sizes, strides, single, strict=True):
        numbers += [size, along[0] if one else size, not one, used, *along]
        used += 0 if one else -(-block * size // 64) * 64
    made = np.array(numbers, np.int64)
    return _Layout(made, made.ctypes.data, used)


def _broadcast(shape: tuple[int, ...], own: tuple[int, ...], strides: tuple[int, ...]) -> list[int]:
    """The strides of an array along all axes, the last one first."""
    along = [0 if length == 1 else stride for length, stride in zip(own[::-1], strides[::-1], strict=True)]
    return along + [0] * (len(shape) - len(own))


def _merged(shape: tuple[int, ...], strides: list[list[int]]) -> tuple[list[int], list[list[int]]]:
    """Lengths and strides of as few axes as there can be for all arrays, but one at least."""
    lengths: list[int] = []
    merged: list[list[int]] = [[] for _ in strides]
    for length, *steps in zip(shape[::-1], *strides, strict=True):
        if length == 1:
            continue
        if lengths and all(step == along[-1] * lengths[-1] for step, along in zip(steps, merged, strict=True)):
            lengths[-1] *= length
            continue
        lengths.append(length)
        for step, along in zip(steps, merged, strict=True):
            along.append(step)
    return (lengths, merged) if lengths else ([1], [[0] for _ in strides])


def _is_single(lengths: list[int], strides: list[int]) -> bool:
    """Whether lanes are a constant number of bytes apart."""
    return all(outer == inner * length for outer, inner, length in zip(strides[1:], strides, lengths, strict=False))


@made_once
def _compiled() -> MachineCode:
    module = ir.Module("pyflat")
    _write_walk(module, _write_gather(module, _write_copies(module)))
    return compile_ir(str(module), "walk", {}, processor())


def _write_walk(module: ir.Module, gather: ir.Function) -> None:
    function = ir.Function(module, ir.FunctionType(_VOID, [POINTER] * 4), "walk")
    kernel, state, layout, objects = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    typed = builder.select(ir.Constant(ir.IntType(1), 1), kernel, kernel)
    typed.type = ir.FunctionType(_VOID, [POINTER] * 4)  # for llvmlite, whose pointers do not say what they point to
    count, total, block, axes = (_get(builder, layout, i64(k)) for k in (_COUNT, _TOTAL, _BLOCK, _AXES))
    args, steps, size_at = (_room(builder, type_, n) for type_, n in ((POINTER, count), (I64, count), (I64, i64(1))))
    buffer = _data(builder, objects, count)
    first = builder.add(axes, i64(_LENGTHS))
    record = builder.add(axes, i64(4))
    with _while(builder, total) as (at, by):
        builder.store(block, by)
        left = builder.sub(total, at)
        size = builder.select(builder.icmp_signed("<", left, block), left, block)
        builder.store(size, size_at)
        with counted(builder, count, rolled=True) as k:
            own = element_at(builder, layout, builder.add(first, builder.mul(k, record)), I64)
            item, step, copied, room = (_get(builder, own, i64(j)) for j in range(4))
            data = _data(builder, objects, k)
            is_copied = builder.icmp_signed("!=", copied, i64(0))
            target = element_at(builder, buffer, room, I8)
            with builder.if_then(is_copied):
                lengths, strides = (element_at(builder, pointer, i64(n), I64)
                                    for pointer, n in ((layout, _LENGTHS), (own, 4)))
                builder.call(gather, [target, data, item, at, size, axes, lengths, strides])
            place = builder.select(is_copied, target, element_at(builder, data, builder.mul(at, step), I8))
            builder.store(place, element_at(builder, args, k, POINTER))
            builder.store(step, element_at(builder, steps, k, I64))
        builder.call(typed, [args, size_at, steps, state])
        with builder.if_then(builder.icmp_signed("!=", _get(builder, state, i64(INTERRUPTED)), i64(0)), likely=False):
            builder.ret_void()
    builder.ret_void()


def _write_gather(module: ir.Module, copies: ir.Function) -> ir.Function:
    """void gather(buffer, data, item, at, size, axes, lengths, strides): `size` lanes from lane `at` on, in C order, by
    pieces of whole rows, and parts of rows before and behind them."""
    types = [POINTER, POINTER, I64, I64, I64, I64, POINTER, POINTER]
    function = internal_function(module, ir.FunctionType(_VOID, types), "gather")
    buffer, data, item, at, size, axes, lengths, strides = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    offset_at, rest_at = (_room(builder, I64, i64(1)) for _ in range(2))
    row, along = _get(builder, lengths, i64(0)), _get(builder, strides, i64(0))
    several = builder.icmp_signed(">", axes, i64(1))
    next_axis = builder.select(several, i64(1), i64(0))
    rows, across = _get(builder, lengths, next_axis), _get(builder, strides, next_axis)
    with _while(builder, size) as (done, by):
        lane, left = builder.add(at, done), builder.sub(size, done)
        column, line = builder.urem(lane, row), builder.udiv(lane, row)
        builder.store(builder.mul(column, along), offset_at)
        builder.store(line, rest_at)
        with counted(builder, axes, 1, i64(1), rolled=True) as axis:
            rest, length = builder.load(rest_at, typ=I64), _get(builder, lengths, axis)
            step = builder.mul(builder.urem(rest, length), _get(builder, strides, axis))
            builder.store(builder.add(builder.load(offset_at, typ=I64), step), offset_at)
            builder.store(builder.udiv(rest, length), rest_at)
        behind = builder.sub(row, column)
        part = builder.select(builder.icmp_signed("<", left, behind), left, behind)
        ahead = builder.sub(rows, builder.urem(line, rows))
        whole = builder.udiv(left, row)
        whole = builder.select(builder.icmp_signed("<", whole, ahead), whole, ahead)
        by_rows = builder.and_(several, builder.and_(builder.icmp_signed("==", column, i64(0)),
                                                     builder.icmp_signed(">", whole, i64(1))))
        number, length = builder.select(by_rows, whole, i64(1)), builder.select(by_rows, row, part)
        target = element_at(builder, buffer, builder.mul(done, item), I8)
        source = element_at(builder, data, builder.load(offset_at, typ=I64), I8)
        builder.call(copies, [target, source, item, number, length, across, along])
        builder.store(builder.mul(number, length), by)
    builder.ret_void()
    return function


def _write_copies(module: ir.Module) -> ir.Function:
    """void copy(buffer, data, item, rows, length, across, along): rows of elements of 1, 2, 4 or 8 bytes. The inner
    loop goes where elements lie closer together."""
    types = [POINTER, POINTER, I64, I64, I64, I64, I64]
    function = internal_function(module, ir.FunctionType(_VOID, types), "copy")
    buffer, data, item, rows, length, across, along = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    move = ir.Function(module, ir.FunctionType(_VOID, [POINTER, POINTER, I64, ir.IntType(1)]),
                       "llvm.memcpy.p0.p0.i64")
    with builder.if_then(builder.icmp_signed("==", along, item)):
        with counted(builder, rows, rolled=True) as r:
            to = element_at(builder, buffer, builder.mul(r, builder.mul(length, item)), I8)
            origin = element_at(builder, data, builder.mul(r, across), I8)
            builder.call(move, [to, origin, builder.mul(length, item), ir.Constant(ir.IntType(1), 0)])
        builder.ret_void()
    for size in (1, 2, 4, 8):
        with builder.if_then(builder.icmp_signed("==", item, i64(size))):
            _write_copy(builder, function.args, ir.IntType(8 * size))
            builder.ret_void()
    builder.ret_void()
    return function


_STRIP = 16
"""Rows that are read together: a cache line of elements of 4 bytes."""


def _write_copy(builder: ir.IRBuilder, operands: Sequence[Any], element: ir.Type) -> None:
    buffer, data, _, rows, length, across, along = operands

    def one(r: Any, c: Any, far: Any) -> None:
        loaded = builder.load(far, typ=element, align=1)
        builder.store(loaded, element_at(builder, buffer, builder.add(builder.mul(r, length), c), element))

    fits = builder.icmp_signed("==", across, i64(element.width // 8))
    strips = builder.select(fits, builder.and_(rows, i64(-_STRIP)), i64(0))
    with counted(builder, strips, _STRIP, rolled=True) as r, counted(builder, length, rolled=True) as c:
        far = element_at(builder, data, builder.add(builder.mul(r, across), builder.mul(c, along)), I8)
        for k in range(_STRIP):
            one(builder.add(r, i64(k)), c, element_at(builder, far, i64(k), element))
    with counted(builder, rows, 1, strips, rolled=True) as r, counted(builder, length) as c:
        one(r, c, element_at(builder, data, builder.add(builder.mul(r, across), builder.mul(c, along)), I8))


@contextmanager
def _while(builder: ir.IRBuilder, count: Any) -> Iterator[tuple[Any, Any]]:
    """A loop around what is written inside, for a number below `count` which grows by what that stores."""
    at, by = _room(builder, I64, i64(1)), _room(builder, I64, i64(1))
    builder.store(i64(0), at)
    head, body, end = (builder.append_basic_block(name) for name in ("while", "do", "done"))
    builder.branch(head)
    builder.position_at_end(head)
    number = builder.load(at, typ=I64)
    builder.cbranch(builder.icmp_signed("<", number, count), body, end)
    builder.position_at_end(body)
    yield number, by
    builder.store(builder.add(number, builder.load(by, typ=I64)), at)
    builder.branch(head)
    builder.position_at_end(end)


def _get(builder: ir.IRBuilder, array: Any, index: Any, element: ir.Type = I64) -> Any:
    return builder.load(element_at(builder, array, index, element), typ=element)


def _data(builder: ir.IRBuilder, objects: Any, number: Any) -> Any:
    """Where the elements of an array of a tuple lie: the first field behind the header."""
    item = _get(builder, objects, builder.add(number, i64(tuple.__basicsize__ // 8)), POINTER)
    return _get(builder, item, i64(object.__basicsize__ // 8), POINTER)


def _room(builder: ir.IRBuilder, element: ir.Type, count: Any) -> Any:
    place = builder.alloca(element, count)
    place.type = POINTER
    return place


# --- the scalars of a call as one operand: the address of a block of memory that has them all
#
# NumPy makes an array of each scalar that a ufunc gets, which takes a tenth of a microsecond, and takes 64 operands
# at most. A call with eighty numbers writes them into a block instead, in one go, and a function around the kernel
# tells it where each is:
#
#     packed(data, dims, steps, state)        arrays, address of the block, results
#         kernel(data, dims, steps, state)    arrays and scalars in the order of the parameters, results

MANY_SCALARS = 3
"""So many scalars are packed."""

SLOT = 8
"""Bytes for a scalar."""

_FORMATS = {"f8": "d", "i8": "q", "f4": "f4x", "b1": "?7x"}

Block = tuple[bytearray, np.ndarray[Any, Any], object]
"""The memory, its address as an operand, and what keeps it in place."""


class Blocks:
    """Memory for the scalars of calls of one kind, a block for each call at a time."""

    __slots__ = ("_size", "free", "pack_into")

    def __init__(self, scalars: Sequence[np.dtype[Any]]):
        packing = Struct("=" + "".join(_FORMATS[dtype.str[1:]] for dtype in scalars))
        self.pack_into, self._size = packing.pack_into, packing.size
        """`pack_into(memory, 0, *scalars)`. struct.error, OverflowError or TypeError for what does not fit."""
        self.free: list[Block] = []
        """Who takes one off puts it back when the kernel is done."""

    def make(self) -> Block:
        """A block more."""
        memory = bytearray(self._size)
        held = ctypes.c_char.from_buffer(memory)
        return memory, np.array(ctypes.addressof(held), np.int64), held


def packed(kernel: int, pattern: Sequence[bool], results: int) -> MachineCode:
    """A loop for NumPy around the one at the address `kernel`; `pattern` says which of its operands are scalars."""
    count, arrays = len(pattern) + results, len(pattern) - sum(pattern)
    lines = [
        "declare void @kernel(ptr, ptr, ptr, ptr)",
        "define void @packed(ptr %data, ptr %dims, ptr %steps, ptr %state) {",
        f"  %places = alloca [{count} x ptr]", f"  %strides = alloca [{count} x i64]",
        f"  %operand = getelementptr ptr, ptr %data, i64 {arrays}", "  %address = load ptr, ptr %operand",
        "  %block = load ptr, ptr %address",
    ]
    given, slot = 0, 0
    for k, scalar in enumerate((*pattern, *[False] * results)):
        given += k == len(pattern)  # past the block's address
        if scalar:
            lines += [f"  %place{k} = getelementptr i8, ptr %block, i64 {SLOT * slot}", f"  %stride{k} = add i64 0, 0"]
            slot += 1
        else:
            lines += [
                f"  %from{k} = getelementptr ptr, ptr %data, i64 {given}", f"  %place{k} = load ptr, ptr %from{k}",
                f"  %step{k} = getelementptr i64, ptr %steps, i64 {given}", f"  %stride{k} = load i64, ptr %step{k}",
            ]
            given += 1
        lines += [
            f"  %put{k} = getelementptr ptr, ptr %places, i64 {k}", f"  store ptr %place{k}, ptr %put{k}",
            f"  %along{k} = getelementptr i64, ptr %strides, i64 {k}", f"  store i64 %stride{k}, ptr %along{k}",
        ]
    lines += ["  call void @kernel(ptr %places, ptr %dims, ptr %strides, ptr %state)", "  ret void", "}"]
    return compile_ir("\n".join(lines) + "\n", "packed", {"kernel": kernel}, processor())
