"""The arrays of a kernel in memory: where an element is, and what is loaded from it and stored in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from pyflat.analysis.kernels import Kernel
from pyflat.ir.memory import ArrayArgument
from pyflat.ir.nodes import Op
from pyflat.ir.types import FLOAT, INT, Kind
from pyflat.targets.numba.emitter import Emitter, Lane
from pyflat.targets.numba.llvm import F32, F64, I8, I32, I64, POINTER, element_at, i64

ELEMENTS: dict[str, ir.Type] = {"b1": I8, "i1": I8, "u1": I8, "i2": ir.IntType(16), "u2": ir.IntType(16), "i4": I32,
                                "u4": I32, "i8": I64, "u8": I64, "f4": F32, "f8": F64}
CONTIGUOUS, ROWS, STRIDED, OVERLAPPING = "C", "R", "S", "O"
"""How an array lies: C's order without gaps; the elements of a row one after the other; anyhow; so that an element has
several indices."""


@dataclass(slots=True)
class ArrayPlace:
    """An array in memory: the slots on the stack that have its address and strides, or the values themselves."""

    dtype: str
    layout: str
    pointer: Any
    extents: list[Any]
    strides: list[Any]
    slots: bool = False
    ring: int = 0
    """So many rows are kept, one in place of another; 0: all."""


class ArrayPlaces:
    """Array -> its place; addresses and elements, for one lane and for many."""

    def __init__(self, builder: ir.IRBuilder, e: Emitter):
        self.builder, self.e = builder, e
        self.of: dict[str, ArrayPlace] = {}

    def address(self, array: str, position: Sequence[Lane], *, surely: bool = True) -> Any:
        """Where an element is; `surely`: there is one."""
        b, place = self.builder, self.of[array]
        pointer = b.load(place.pointer, typ=POINTER) if place.slots else place.pointer
        extents = [b.load(extent, typ=I64) for extent in place.extents] if place.slots else place.extents
        element = ELEMENTS[place.dtype]
        if place.layout == CONTIGUOUS:
            flat: Any = i64(0)
            if place.ring:
                position = [Lane(self.e, INT, b.urem(position[0].value, i64(place.ring))), *position[1:]]
            for number, extent in zip(position, extents, strict=True):
                flat = number.value if flat.type is I64 and getattr(flat, "constant", None) == 0 else b.add(
                    b.mul(flat, extent, flags=["nsw"]), number.value, flags=["nsw"])
            return self.step(pointer, flat, element, surely=surely)
        last = len(position) - 1
        for axis, number in enumerate(position):
            if axis == last and place.layout == ROWS:
                return self.step(pointer, number.value, element, surely=surely)
            pointer = self.step(pointer, b.mul(number.value, place.strides[axis], flags=["nsw"]), I8)
        return pointer

    def step(self, pointer: Any, index: Any, element: ir.Type, *, surely: bool = True) -> Any:
        """The address so many elements behind one."""
        found = self.builder.gep(pointer, [index], inbounds=surely, source_etype=element)
        found.type = POINTER
        return found

    def has_gaps(self, array: str) -> bool:
        """The elements of a row do not lie one after the other."""
        return self.of[array].layout in (STRIDED, OVERLAPPING)

    def addresses(self, e: Emitter, array: str, position: Sequence[Lane]) -> Any:
        """Where the elements of many lanes are."""
        b, place, flat = self.builder, self.of[array], e.const(INT, 0).value
        pointer = b.load(place.pointer, typ=POINTER) if place.slots else place.pointer
        steps = place.extents if place.layout == CONTIGUOUS else place.strides
        for number, step in zip(position, steps, strict=False):
            each = e.broadcast(INT, b.load(step, typ=I64) if place.slots else step).value
            if place.layout == CONTIGUOUS:
                flat = b.add(b.mul(flat, each), number.value)
            else:
                flat = b.add(flat, b.mul(number.value, each))
        return element_at(b, pointer, flat, ELEMENTS[place.dtype] if place.layout == CONTIGUOUS else I8)

    @staticmethod
    def element(dtype: str) -> tuple[ir.Type, int]:
        """The type of an element in memory, and its bytes."""
        return ELEMENTS[dtype], np.dtype(dtype).itemsize

    def number(self, e: Emitter, kind: Kind, value: Any, dtype: str) -> Lane:
        """What was loaded, as lanes of the emitter."""
        b = self.builder
        match dtype[0]:
            case "b":
                value = b.icmp_unsigned("!=", value, e.splat(ir.Constant(I8, 0)))
            case "f":
                value = b.fpext(value, e.types[FLOAT]) if dtype == "f4" else value
            case sign if dtype[1] != "8":
                value = b.sext(value, e.types[INT]) if sign == "i" else b.zext(value, e.types[INT])
        return Lane(e, kind, value)

    def narrowed(self, lane: Lane, dtype: str) -> Any:
        """The element of this dtype that numbers are stored as."""
        element = lane.emit.widened(ELEMENTS[dtype])
        if dtype == "b1":
            return self.builder.zext(lane.value, element)
        if dtype[0] == "f":
            return self.builder.fptrunc(lane.value, element) if dtype == "f4" else lane.value
        return lane.value if ELEMENTS[dtype] is I64 else self.builder.trunc(lane.value, element)


# --- which arrays of a kernel share no element, told to LLVM: else it tests before each loop whether they do
#
# Arguments that overlap have one memory (`ir.memory`), all others are apart. In LLVM's words each memory is a scope,
# and an access belongs to one of them and to none of the others.

def kernel_memories(kernel: Kernel, sites: Sequence[Op]) -> dict[str, object]:
    """Array -> what it has in common with those that overlap it."""
    arguments = {name: a.memory for name, a in kernel.arguments.items() if isinstance(a, ArrayArgument)}
    return {**arguments, **{op.attr("array"): op.attr("array") for op in sites}}


class Apart:
    """Marks loads and stores with the memory that they are of."""

    def __init__(self, module: ir.Module, memories: Mapping[str, object]):
        self.module, self.memories = module, memories
        domain = self._own_node()
        scopes = {memory: self._own_node(domain) for memory in dict.fromkeys(memories.values())}
        self._own = {memory: self._node([scope]) for memory, scope in scopes.items()}
        self._others = {memory: self._node([each for other, each in scopes.items() if other != memory])
                        for memory in scopes}

    def _node(self, operands: Sequence[Any]) -> Any:
        return ir.values.MDValue(self.module, operands, name=str(len(self.module.metadata)))

    def _own_node(self, *operands: Any) -> Any:
        """A node that names itself first, which makes it one of its kind."""
        node = self._node([])
        node.operands = (node, *operands)
        return node

    def mark(self, access: Any, array: str) -> None:
        memory = self.memories[array]
        access.set_metadata("alias.scope", self._own[memory])
        access.set_metadata("noalias", self._others[memory])
