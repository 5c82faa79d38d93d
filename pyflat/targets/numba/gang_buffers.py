"""Room for one gang of each operand of a kernel: what is strided, or too short for a gang, is copied there and back.

    for each operand:                        many of them: for k in range(operands of one size), which a table names
        for lane in range(gang): buffer[lane] = operand[start + min(lane, last)]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from pyflat.targets.numba.emitter import size_of
from pyflat.targets.numba.llvm import I8, I64, POINTER, constants, counted, element_at, i64, stack

FEW = 16
"""So many operands have code of their own. A product of matrices has 432, which were 871 blocks, and four seconds."""

Copy = Callable[[ir.Type, Any, Any, Any], None]
"""Of an operand with this element, place and stride, and its buffer."""


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand of the kernel by its number, and where it is."""

    number: int
    element: ir.Type
    place: Any
    stride: Any


class Buffers:
    """The buffers of the operands, `places` in their order; `args` are those of the function that NumPy calls."""

    def __init__(self, builder: ir.IRBuilder, args: Sequence[Any], lanes: int, operands: Sequence[Operand]):
        self.builder, self.args, self.lanes, self.operands = builder, args, lanes, operands
        self.rooms: list[tuple[Any, int]] = []
        if len(operands) <= FEW:
            self.rooms = [(stack(builder, each.element, lanes), 0) for each in operands]
        else:
            sizes = [size_of(each.element) for each in operands]
            rooms = {size: stack(builder, I8, size * lanes * sizes.count(size)) for size in dict.fromkeys(sizes)}
            self.rooms = [(rooms[size], sizes[:k].count(size)) for k, size in enumerate(sizes)]
        self.places = [element_at(builder, room, i64(k * lanes), each.element) if k else room
                       for (room, k), each in zip(self.rooms, operands, strict=True)]

    def copy_in(self, inputs: int, start: Any, count: Any) -> None:
        """The first `inputs` operands, from the lane `start` on. What lies behind the last lane is that lane again."""
        builder, last = self.builder, self.builder.sub(count, i64(1))

        def copy(element: ir.Type, place: Any, stride: Any, buffer: Any) -> None:
            first = self._at(place, start, stride)
            with counted(builder, i64(self.lanes), rolled=True) as k:
                index = builder.select(builder.icmp_signed("<", k, last), k, last)
                loaded = builder.load(self._at(first, index, stride), typ=element)
                builder.store(loaded, element_at(builder, buffer, k, element))

        self._each(range(inputs), copy)

    def copy_out(self, inputs: int, start: Any, count: Any) -> None:
        """The other operands."""
        builder = self.builder

        def copy(element: ir.Type, place: Any, stride: Any, buffer: Any) -> None:
            first = self._at(place, start, stride)
            with counted(builder, count, rolled=True) as k:
                loaded = builder.load(element_at(builder, buffer, k, element), typ=element)
                builder.store(loaded, self._at(first, k, stride))

        self._each(range(inputs, len(self.operands)), copy)

    def _each(self, chosen: range, copy: Copy) -> None:
        if len(self.operands) <= FEW:
            for k in chosen:
                each = self.operands[k]
                copy(each.element, each.place, each.stride, self.places[k])
            return
        for size in dict.fromkeys(size_of(self.operands[k].element) for k in chosen):
            self._all_of_size(size, [k for k in chosen if size_of(self.operands[k].element) == size], copy)

    def _all_of_size(self, size: int, chosen: Sequence[int], copy: Copy) -> None:
        """By a table of their numbers; in the buffers they follow each other."""
        builder, element = self.builder, ir.IntType(8 * size)
        numbers = constants(builder.module, I64, [self.operands[k].number for k in chosen])
        args, _, steps, _ = self.args
        room, first = self.rooms[chosen[0]]
        with counted(builder, i64(len(chosen)), rolled=True) as k:
            number = builder.load(element_at(builder, numbers, k, I64), typ=I64)
            place = builder.load(element_at(builder, args, number, POINTER), typ=POINTER)
            stride = builder.load(element_at(builder, steps, number, I64), typ=I64)
            lane = builder.mul(builder.add(k, i64(first)), i64(self.lanes))
            copy(element, place, stride, element_at(builder, room, lane, element))

    def _at(self, place: Any, start: Any, stride: Any) -> Any:
        return element_at(self.builder, place, self.builder.mul(start, stride), I8)
