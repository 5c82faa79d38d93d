"""Vector math: elementary functions without a branch and without a call, for lanes side by side.

Each algorithm is written once, over a `Machine` (see `machine`), in float64 ("f8") and float32 ("f4"); LLVM's
vectoriser turns what the numba target emits into SIMD code, and `reference` computes the same bits with NumPy. The
largest errors measured are in docs/contributors/vmath.md, written by `python -m benchmarks.vmath_accuracy --docs`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyflat.functions.records import RECORDS
from pyflat.functions.vmath.machine import F4, F8, FORMATS, Machine, Number, NumpyMachine, ScalarMachine

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


def _found(path: str) -> Algorithm:
    """"power.cbrt" of this package."""
    module, _, name = path.partition(".")
    algorithm: Algorithm = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    return algorithm


TABLE: dict[str, VectorFunction] = {
    record.name: VectorFunction(record.name, _found(f"{record.vector.module}.{record.name}"), len(record.operands),
                                _found(record.vector.far) if record.vector.far else None)
    for record in RECORDS.values() if record.vector is not None
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
        return float(RECORDS[name].function()(*operands))
    except (ArithmeticError, ValueError):
        return float("nan")


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
