"""Vector math: elementary functions without a branch and without a call, for lanes side by side.

Each algorithm is written once, over a `Machine` (see `machine`), in float64 ("f8") and float32 ("f4"); LLVM's
vectoriser turns what the numba target emits into SIMD code, and `reference` computes the same bits with NumPy. The
largest errors measured are in docs/vmath.md, written by `python -m benchmarks.vmath_accuracy --docs`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyflat.functions.vmath import (
    error,
    exponential,
    gamma,
    hyperbolic,
    inverse,
    logarithm,
    power,
    remainder,
    trigonometric,
)
from pyflat.functions.vmath.machine import F4, F8, FORMATS, Machine, Number, NumpyMachine
from pyflat.functions.vmath.scalar import ScalarMachine

Algorithm = Callable[..., Number]
_MACHINES: dict[np.dtype[Any], Machine] = {np.dtype(np.float64): NumpyMachine(F8),
                                           np.dtype(np.float32): NumpyMachine(F4)}


@dataclass(frozen=True, slots=True)
class VectorFunction:
    """A function of this package: its algorithm takes a machine and `operands` numbers.

    Where `far` holds, of the same operands, the algorithm does not reach: those lanes are for the C library's
    function (in float32: of the widened operands, its result rounded).
    """

    name: str
    algorithm: Algorithm
    operands: int = 1
    far: Algorithm | None = None


TABLE: dict[str, VectorFunction] = {
    function.name: function
    for function in (
        VectorFunction("exp", exponential.exp),
        VectorFunction("exp2", exponential.exp2),
        VectorFunction("expm1", exponential.expm1),
        VectorFunction("log", logarithm.log),
        VectorFunction("log2", logarithm.log2),
        VectorFunction("log10", logarithm.log10),
        VectorFunction("log1p", logarithm.log1p),
        VectorFunction("pow", power.pow, 2),
        VectorFunction("cbrt", power.cbrt),
        VectorFunction("sin", trigonometric.sin, far=trigonometric.beyond_limit),
        VectorFunction("cos", trigonometric.cos, far=trigonometric.beyond_limit),
        VectorFunction("tan", trigonometric.tan, far=trigonometric.beyond_limit),
        VectorFunction("asin", inverse.asin),
        VectorFunction("acos", inverse.acos),
        VectorFunction("atan", inverse.atan),
        VectorFunction("atan2", inverse.atan2, 2),
        VectorFunction("sinh", hyperbolic.sinh),
        VectorFunction("cosh", hyperbolic.cosh),
        VectorFunction("tanh", hyperbolic.tanh),
        VectorFunction("asinh", hyperbolic.asinh),
        VectorFunction("acosh", hyperbolic.acosh),
        VectorFunction("atanh", hyperbolic.atanh),
        VectorFunction("erf", error.erf),
        VectorFunction("erfc", error.erfc),
        VectorFunction("gamma", gamma.gamma),
        VectorFunction("lgamma", gamma.lgamma, far=gamma.is_negative),
        VectorFunction("fmod", remainder.fmod, 2, far=remainder.large_quotient),
    )
}
"""Name, as in `math`, -> the function."""


def evaluate(name: str, *args: np.ndarray) -> np.ndarray:
    """The function on arrays of one shape, all float64 or all float32: the bits that compiled code computes."""
    row, machine = TABLE[name], _MACHINES[args[0].dtype]
    with np.errstate(all="ignore"):
        result: np.ndarray = row.algorithm(machine, *args)
        if row.far is None:
            return result
        far = row.far(machine, *args)
    if far.any():
        result = result.copy()
        result[far] = [_total(name, operands) for operands in zip(*[a[far].tolist() for a in args], strict=True)]
    return result


def _total(name: str, operands: tuple[float, ...]) -> float:
    """CPython's function, nan where it raises."""
    try:
        return float(getattr(math, name)(*operands))
    except (ArithmeticError, ValueError):
        return math.nan


def reference(name: str, format: str = "f8") -> Callable[..., float]:
    """The function on Python floats: the bits of float64, or of float32 ("f4")."""
    row, machine = TABLE[name], ScalarMachine(FORMATS[format])
    scalar = np.float64 if format == "f8" else np.float32

    def call(*args: float) -> float:
        numbers = [scalar(x) for x in args]
        with np.errstate(all="ignore"):
            if row.far is not None and row.far(machine, *numbers):
                return float(scalar(_total(name, args)))
            return float(row.algorithm(machine, *numbers))

    call.__name__ = call.__qualname__ = f"vec_{name}"
    return call
