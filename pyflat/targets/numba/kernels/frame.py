"""The frame of a kernel's machine code: what it is called with, and what it says when it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from pyflat.analysis.kernels import Kernel
from pyflat.ir.memory import ArrayArgument
from pyflat.targets.numba.kernels.places import CONTIGUOUS
from pyflat.targets.numba.llvm import I64, POINTER, i64

FAULTED, WARNED, WRAPPED, WAITED = 1, 2, 4, 8
"""What a kernel gives: it has met a fault; something at which NumPy may warn; an overflow of uint64; with `FAULTED`:
lanes that perhaps never end, and that the original may never come to."""
ENTRY = "pyflat_kernel"


@dataclass(frozen=True, slots=True)
class Slot:
    """What an argument slot has: "pointer", "extent", "stride" of an axis of an array, or "value"."""

    what: str
    name: str
    axis: int = 0


def argument_slots(kernel: Kernel, layouts: Mapping[str, str]) -> list[Slot]:
    slots: list[Slot] = []
    for name, argument in kernel.arguments.items():
        if isinstance(argument, ArrayArgument):
            axes = range(argument.rank)
            slots += [Slot("pointer", name), *[Slot("extent", name, axis) for axis in axes]]
            slots += [Slot("stride", name, axis) for axis in axes] if layouts[name] != CONTIGUOUS else []
        elif hasattr(argument, "kind") or hasattr(argument, "dtype"):
            slots.append(Slot("value", name))
    return slots


def slot(builder: ir.IRBuilder, block: Any, number: int, type_: ir.Type | None) -> Any:
    """The address of a slot of 8 bytes, or what it has, as this type."""
    place = builder.gep(block, [i64(number)], source_etype=I64)
    place.type = POINTER
    return place if type_ is None else builder.load(place, typ=type_)
