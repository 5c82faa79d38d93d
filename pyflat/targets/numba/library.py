"""Which operations the numba target computes by vector code with the C library's bits
(`pyflat.functions.vmath.exact`, `pyflat.functions.vmath.glibc`)."""

from __future__ import annotations

from collections.abc import Iterable

from pyflat.functions.loaded_library import standing
from pyflat.functions.vmath import exact, glibc, rounding
from pyflat.functions.vmath.glibc import LibraryFunction
from pyflat.ir.nodes import Const, Op, Value
from pyflat.ir.ops import VECTOR


def has_library_vectors() -> bool:
    """Whether there is vector code with the C library's bits: for the GNU C library, on processors that have a fused
    multiply-add."""
    return standing("exp") != "called" and multiplies_and_adds()


def multiplies_and_adds() -> bool:
    """Whether the processor has a fused multiply-add. Only llvmlite can say; who does not ask does not import it."""
    from pyflat.targets.numba.jit import processor

    return "+fma" in processor().features.split(",")


def paired_angles(ops: Iterable[Op]) -> set[Value]:
    """The values of which both sine and cosine are taken, by code that has a reduction for both."""
    sines, cosines = ({op.args[0] for op in ops if op.opcode == name and exact.is_followed(name)}
                      for name in ("sin", "cos"))
    return sines & cosines


def _named(op: Op) -> str:
    """A power with a literal exponent may have a name of its own."""
    exponent = op.args[1] if op.opcode == "pow" else None
    if isinstance(exponent, Const) and exponent.value is not None and not isinstance(op.args[0], Const):
        return glibc.POWERS.get(float(exponent.value), op.opcode)
    return op.opcode


def is_vector_function(op: Op) -> bool:
    """Whether vector code computes an operation, within 2 ulp or with the C library's bits."""
    return op.opcode in VECTOR or op.opcode in exact.TABLE


def float32_function(op: Op) -> LibraryFunction | None:
    """What computes an operation of float32 lanes as the C library's function of the widened operands, rounded."""
    row = rounding.TABLE.get(_named(op))
    return row if row is not None and multiplies_and_adds() and standing(row.name) != "called" else None


def library_function(op: Op) -> str | None:
    """The name, for `exact.kernel_for`, of what computes an operation with the C library's bits by vector code."""
    name = _named(op)
    known = name in glibc.TABLE or name in exact.TABLE
    return name if known and multiplies_and_adds() and exact.kernel_for(name) is not None else None
