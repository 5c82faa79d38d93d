"""Calls of NumPy's routines from the machine code of a kernel: a callback with the GIL, and arrays made of addresses.

    i64 pyflat_routine(i64 context, i64 site, i64* slots)

`slots`, of 8 bytes: the lengths of the axes of what is made; then, of an array among the operands the address of its
first element, the length and the stride in bytes of each axis, of a number the number. What the routine gives comes
back in the first one, a number or the address of the array; 0 means that it has raised, or would have warned.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir

from pyflat.ir.memory import Operand, operands_of, routine_function
from pyflat.ir.nodes import Op
from pyflat.ir.types import BOOL, FLOAT, MEMORY, Kind
from pyflat.targets.numba.emitter import Lane
from pyflat.targets.numba.kernels.frame import slot
from pyflat.targets.numba.llvm import F64, I1, I64, POINTER, i64, stack

if TYPE_CHECKING:
    from pyflat.targets.numba.kernels.operations import KernelOperations


# --- the machine code
def write_routine(code: KernelOperations, op: Op) -> Lane | None:
    """The call; its number, None where it makes an array."""
    b = code.builder
    extents, operands = operands_of(op.args, op.attr("operands"))
    given = [code.lane(extent).value for extent in extents]
    for operand in operands:
        given += _array(code, operand) if operand.name else [code.lane(operand.numbers[0]).value]
    slots = stack(b, I64, max(len(given), 1))
    for number, value in enumerate(given):
        b.store(b.zext(value, I64) if value.type == I1 else value, slot(code.builder, slots, number, None))
    found = code.module.globals.get("pyflat_routine") or ir.Function(
        code.module, ir.FunctionType(I64, [I64, I64, POINTER]), "pyflat_routine")
    done = b.call(found, [code.context, i64(code.sites.index(op)), slots])
    code.leave_if(b.icmp_unsigned("==", done, i64(0)))
    if op.kind is MEMORY:
        place = code.places.of[op.attr("array")]
        b.store(slot(code.builder, slots, 0, POINTER), place.pointer)
        for extent, value in zip(place.extents, given, strict=False):
            b.store(value, extent)
        return None
    value = slot(code.builder, slots, 0, F64 if op.kind is FLOAT else I64)
    return Lane(code.e, op.kind, b.icmp_unsigned("!=", value, i64(0)) if op.kind is BOOL else value)


def _array(code: KernelOperations, operand: Operand) -> list[Any]:
    """Address, lengths and strides of an array or a part of it."""
    b, place = code.builder, code.places.of[operand.name]
    lengths = [b.load(extent, typ=I64) for extent in place.extents] if place.slots else place.extents
    strides, size = list(place.strides), np.dtype(place.dtype).itemsize
    if not strides:
        step: Any = i64(size)
        for length in reversed(lengths):
            strides.insert(0, step)
            step = b.mul(step, length)
    address = b.ptrtoint(b.load(place.pointer, typ=POINTER) if place.slots else place.pointer, I64)
    if operand.axes is None:
        return [address, *lengths, *strides]
    rank, bounds = operand.rank, [code.lane(value).value for value in operand.numbers]
    steps: list[Any] = [i64(0)] * rank
    for axis, start, step, stride in zip(operand.axes, bounds[rank::2], bounds[rank + 1::2], strides, strict=True):
        address = b.add(address, b.mul(start, stride))
        if axis is not None:
            steps[axis] = b.mul(step, stride)
    return [address, *bounds[:rank], *steps]


# --- the call
@dataclass(frozen=True, slots=True)
class RoutineSite:
    """What is called, with what: (dtype, rank) of an array, (dtype or "", its kind) of a number; and what it gives."""

    text: str
    operands: tuple[tuple[str, int | Kind], ...]
    dtype: str
    rank: int | None
    """Of the array that it makes."""

    def run(self, slots: int) -> tuple[Any, Any]:
        """The array that was made, if one was, and what comes back. Raises what NumPy raises, or shows as a warning."""
        rank = self.rank or 0
        integers = (ctypes.c_int64 * (rank + self._room)).from_address(slots)
        floats = (ctypes.c_double * (rank + self._room)).from_address(slots)
        at, given = rank, list[Any]()
        for dtype, more in self.operands:
            if isinstance(more, Kind):
                number: Any = floats[at] if more is FLOAT else bool(integers[at]) if more is BOOL else integers[at]
                given.append(np.dtype(dtype).type(number) if dtype else number)
                at += 1
                continue
            middle, end = at + 1 + more, at + 1 + 2 * more
            given.append(_at_address(integers[at], integers[at + 1:middle], integers[middle:end], np.dtype(dtype)))
            at = end
        made = routine_function(self.text)(*given)
        if self.rank is None:
            return None, made
        made = np.ascontiguousarray(made)
        if list(made.shape) != integers[:rank] or made.dtype != self.dtype:
            raise ValueError("the shape of what a routine makes is not the one that was expected")
        return made, None

    @property
    def _room(self) -> int:
        return sum(1 if isinstance(more, Kind) else 1 + 2 * more for _, more in self.operands) or 1


def routine_site(op: Op, dtypes: dict[str, str]) -> RoutineSite:
    """`dtypes`: of the arrays of the kernel."""
    extents, operands = operands_of(op.args, op.attr("operands"))
    kinds: list[tuple[str, int | Kind]] = [
        (dtypes[each.name], each.rank) if each.name else (each.dtype, each.numbers[0].kind) for each in operands]
    return RoutineSite(op.attr("routine"), tuple(kinds), op.attr("dtype"), len(extents) if op.kind is MEMORY else None)


def _at_address(address: int, shape: list[int], strides: list[int], dtype: np.dtype[Any]) -> Any:
    if 0 in shape:
        return np.empty(shape, dtype)
    reach = [(length - 1) * stride for length, stride in zip(shape, strides, strict=True)]
    low, high = sum(min(each, 0) for each in reach), sum(max(each, 0) for each in reach)
    memory: Any = (ctypes.c_char * (high - low + dtype.itemsize)).from_address(address + low)
    return np.ndarray(shape, dtype, memory, -low, strides)
