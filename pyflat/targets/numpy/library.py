"""The C library's functions on the NumPy target: ufuncs that call them lane by lane, and after many lanes ufuncs by
vector code with the same bits, where the numba target has some (`targets.numba.library`).

Making those takes as long as the library takes for some million lanes; the next process finds them on disk. Who
computes less never waits for a compiler, nor imports one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from pyflat.functions import libm
from pyflat.functions.vmath import exact, glibc

PATIENCE = 1 << 21
"""Lanes that a function computes before it is compiled."""

SHORT = 512
"""Calls with fewer lanes do not count."""

Call = Callable[..., Any]


class LibraryFunction:
    """A function of float64 arrays and a result array; `uniform` says which operands have one number for all lanes.
    Where there is a literal `exponent`, it is no operand."""

    __slots__ = ("_call", "_exponent", "_lanes", "_opcode", "_plain", "_uniform")

    def __init__(self, opcode: str, exponent: float | None, uniform: tuple[bool, ...]):
        plain = libm.ufunc(opcode)
        self._opcode, self._exponent, self._uniform, self._lanes = opcode, exponent, uniform, 0
        self._plain: Call = plain if exponent is None else lambda x, out: plain(x, exponent, out)
        self._call: Call = self._count

    def __call__(self, *args: Any) -> Any:
        return self._call(*args)

    def _count(self, *args: Any) -> Any:
        n = args[-1].size
        if n >= SHORT:
            self._lanes += n
            if self._lanes > PATIENCE:
                self._call = compiled(self._opcode, self._exponent, self._uniform) or self._plain
                return self._call(*args)
        return self._plain(*args)


@cache
def library_function(opcode: str, exponent: float | None, uniform: tuple[bool, ...]) -> LibraryFunction:
    """One for all twins, which count their lanes together."""
    return LibraryFunction(opcode, exponent, uniform)


def literal_exponent(opcode: str, exponent: float | None) -> float | None:
    """The exponent of a power with a function of its own; None for all else."""
    return exponent if opcode == "pow" and exponent in glibc.POWERS else None


def has_vectors(opcode: str) -> bool:
    """Whether there may be vector code."""
    return opcode in glibc.TABLE or opcode in exact.TABLE


def compiled(opcode: str, exponent: float | None, uniform: tuple[bool, ...]) -> Call | None:
    """Vector code with the same bits; None where there is none for this processor and library."""
    from pyflat.targets.numba import engine as numba_target

    return numba_target.library_ufunc(opcode, exponent, uniform)
