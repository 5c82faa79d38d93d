"""Which operations the numba target computes by vector code with the C library's bits
(`pyflat.functions.vmath.glibc`)."""

from __future__ import annotations

from pyflat.functions.loaded_library import standing
from pyflat.functions.vmath import glibc
from pyflat.ir.nodes import Const, Op
from pyflat.targets.numba.jit import processor


def has_library_vectors() -> bool:
    """Whether there is vector code with the C library's bits: for the GNU C library, on processors that have a fused
    multiply-add."""
    return standing("exp") != "called" and multiplies_and_adds()


def multiplies_and_adds() -> bool:
    """Whether the processor has a fused multiply-add."""
    return "+fma" in processor().features.split(",")


def library_function(op: Op) -> str | None:
    """The name, in `functions.vmath.glibc`, of what computes an operation with the C library's bits by vector code."""
    name = op.opcode
    exponent = op.args[1] if name == "pow" else None
    if isinstance(exponent, Const) and exponent.value is not None and not isinstance(op.args[0], Const):
        name = glibc.POWERS.get(float(exponent.value), name)
    row = glibc.TABLE.get(name)
    return name if row is not None and multiplies_and_adds() and standing(row.name) != "called" else None
