"""The scalars of a call as one operand: the address of a block of memory that has them all.

NumPy makes an array of each scalar that a ufunc gets, which takes a tenth of a microsecond, and takes 64 operands at
most. A call with eighty numbers writes them into a block instead, in one go, and a function around the kernel tells it
where each is:

    packed(data, dims, steps, state)        arrays, address of the block, results
        kernel(data, dims, steps, state)    arrays and scalars in the order of the parameters, results
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from struct import Struct
from typing import Any

import numpy as np

from pyflat.targets.numba.jit import MachineCode, compile_ir, processor

WORTH = 3
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
