"""Which operations the numba target computes by vector code with the C library's bits
(`pyflat.functions.vmath.exact`, `pyflat.functions.vmath.glibc`)."""

from __future__ import annotations

from pyflat.functions.libm import from_library, is_gnu_library
from pyflat.functions.vmath import exact, glibc
from pyflat.ir.nodes import Const, Op
from pyflat.targets.numba.jit import processor


def has_library_vectors() -> bool:
    """Whether there is vector code with the C library's bits: for the GNU C library, on processors that have a fused
    multiply-add."""
    return is_gnu_library() and "+fma" in processor().features.split(",")


def library_function(op: Op) -> str | None:
    """The name, for `exact.kernel_for`, of what computes an operation with the C library's bits by vector code."""
    name = op.opcode
    exponent = op.args[1] if name == "pow" else None
    if isinstance(exponent, Const) and exponent.value is not None and not isinstance(op.args[0], Const):
        name = glibc.POWERS.get(float(exponent.value), name)
    if not (name in glibc.TABLE or name in exact.TABLE) or not has_library_vectors():
        return None
    row = exact.kernel_for(name)
    return name if row is not None and from_library(row.name) else None
