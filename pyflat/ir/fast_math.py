"""Which fast functions may stand for the C library's, and how far their values may be from CPython's.

A target's table says, for each operation of accuracy LIBM that it can compute faster, the fast operation and the
distance in ulp. The distance is to CPython's own value: the largest error of the fast function (2 ulp for the vector
math, 4 for NumPy's) and of the C library's together. The C library's is what the manual of the GNU C library lists
(section 19.7, "Known Maximum Errors in Math Functions"), the largest number of all its platforms for this function.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyflat.ir.ops import OPERATIONS, PRIMITIVES, Accuracy

VECTOR_ULPS = 2
NUMPY_ULPS = 4

LIBRARY_ULPS: dict[str, int] = {
    "exp": 1, "exp2": 1, "expm1": 2, "log": 1, "log2": 2, "log10": 2, "log1p": 2, "sin": 1, "cos": 1, "tan": 1,
    "asin": 1, "acos": 1, "atan": 1, "atan2": 1, "sinh": 3, "cosh": 2, "tanh": 3, "asinh": 3, "acosh": 3, "atanh": 3,
    "cbrt": 4, "erf": 1, "erfc": 5, "pow": 1,
}
"""How far the C library's functions are from the truth, at most."""

UNDERFLOWS = frozenset({"exp", "exp2", "pow", "erf", "erfc"})
"""Functions whose result may be subnormal, where an ulp is no relative error. The other functions are tiny for tiny
operands only, and both give the operand itself there."""


@dataclass(frozen=True, slots=True)
class Fast:
    """A fast operation, and its distance from CPython's value in ulp."""

    opcode: str
    ulps: int


FastMath = Mapping[str, Fast]
"""Opcode of accuracy LIBM -> what may stand for it."""

_NUMPY_NAMES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
                "atanh": "arctanh", "atan2": "arctan2", "pow": "powers"}


_NUMPY_OPCODES = {"np_" + _NUMPY_NAMES.get(name, name): name for name in LIBRARY_ULPS}
NUMPY_FUNCTIONS = {opcode: name for opcode, name in _NUMPY_OPCODES.items() if opcode in PRIMITIVES}
NUMPY_FUNCTIONS["np_power"] = "pow"
"""Operation of NumPy's own -> the function that it computes."""


def _table(prefix: str, names: Mapping[str, str], ulps: int) -> dict[str, Fast]:
    found = {}
    for row in PRIMITIVES.values():
        opcode = prefix + names.get(row.name, row.name)
        if row.accuracy is Accuracy.LIBM and opcode in OPERATIONS:
            found[row.name] = Fast(opcode, ulps + LIBRARY_ULPS[row.name])
    return found


NUMPY_MATH: FastMath = _table("np_", _NUMPY_NAMES, NUMPY_ULPS)
"""NumPy's own ufuncs: SIMD code where NumPy has some for this processor."""

VECTOR_MATH: FastMath = _table("vec_", {}, VECTOR_ULPS)
"""The vector math of the numba target."""
