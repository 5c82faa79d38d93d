"""The low 32 bits of whole float32 numbers, of any size, without int64.

A hash of a lattice point needs no more of it than these. AVX-512 converts half a register of float32 to int64 at a time
and takes that apart again: six operations for a register. What is left of a number by the nearest multiple of 2**32 is
exact and within int32, where its low bits are those of the number: four.
"""

from __future__ import annotations

from llvmlite import ir

from pyflat.ir.types import INT
from pyflat.targets.numba.emitter import Emitter, Lane
from pyflat.targets.numba.jit import processor
from pyflat.targets.numba.llvm import I32

_LANES = 16


def takes_low_bits(emit: Emitter) -> bool:
    """Whether `low_bits` is for these lanes: registers of AVX-512."""
    return emit.narrow and emit.width == _LANES and processor().vector_bytes == 64


def low_bits(short: Emitter, number: Lane) -> Lane:
    """The low bits of a whole number as int32; of infinity and nan some int."""
    emit = number.emit
    multiple = emit.intrinsic("llvm.rint", number * 2.0**-32)
    rest = emit.intrinsic("llvm.fma", multiple, emit.lift(-(2.0**32), number.kind), number)
    # LLVM's own conversion says nothing of 2**31, which gives the right bits by this instruction.
    name, type_ = "llvm.x86.avx512.mask.cvttps2dq.512", short.types[INT]
    mask, nearest = ir.Constant(ir.IntType(_LANES), -1), ir.Constant(I32, 4)
    return Lane(short, INT, emit.llvm(name, type_, rest.value, ir.Constant(type_, None), mask, nearest))
