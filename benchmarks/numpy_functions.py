"""NumPy's functions in compiled twins: `python -m benchmarks.numpy_functions`.

Nanoseconds for each of 16,384 lanes, the shortest of many calls: the numba twin of one call of the function, the same
kernel with one lane at a time (a call of NumPy's loop for each), and NumPy's ufunc on the whole array.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import numpy as np

from pyflat.ir.build import Builder
from pyflat.ir.formats import F4, F8, FloatFormat
from pyflat.ir.nodes import FALSE, Function, Label, Param, Yield
from pyflat.ir.ops import NUMPY_LOOPS, PRIMITIVES
from pyflat.ir.types import BOOL, FLOAT
from pyflat.targets.numba import compilation
from pyflat.targets.numba import engine as numba
from pyflat.targets.numba.kernel import Shape

LANES, CALLS = 1 << 14, 40


def kernel(opcode: str, floats: FloatFormat) -> Function:
    """One operation of as many arguments as it takes."""
    build = Builder()
    params = [Param(FLOAT, name) for name, _ in zip("xy", PRIMITIVES[opcode].signatures[0][0], strict=False)]
    build.end(Yield([build.op(opcode, *params), FALSE]))
    return Function("one", params, build.items, Label("return"), [FLOAT, BOOL], "flat", floats)


def shortest(call: Callable[[], Any]) -> float:
    """Nanoseconds a lane."""
    times = []
    for _ in range(CALLS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times) / LANES * 1e9


def timed(opcode: str, floats: FloatFormat) -> tuple[float, float, float]:
    """In gangs, one by one, and NumPy's own."""
    fn, dtype = kernel(opcode, floats), np.float64 if floats is F8 else np.float32
    random = np.random.default_rng(1)
    low = 1.05 if opcode == "np_arccosh" else 0.05
    lanes = [random.uniform(low, low + 0.9, LANES).astype(dtype) for _ in fn.params]
    gangs, single, out = numba.compile(fn), numba.compile(fn), np.empty(LANES, dtype)
    gangs(lanes, LANES)
    with mock.patch.object(compilation, "choose_shape", return_value=Shape(1, 1)):
        single(lanes, LANES)
    ufunc = getattr(np, NUMPY_LOOPS[opcode])
    calls: Sequence[Callable[[], Any]] = (
        lambda: gangs(lanes, LANES), lambda: single(lanes, LANES), lambda: ufunc(*lanes, out=out))
    in_gangs, one_by_one, whole = map(shortest, calls)
    return in_gangs, one_by_one, whole


def main() -> None:
    print("| function | float64, ns | one by one | NumPy | float32, ns | one by one | NumPy |")
    print("|---|---|---|---|---|---|---|")
    for opcode in sorted(NUMPY_LOOPS.keys() - {"np_powers"}):
        found = [f"{number:.2f}" for floats in (F8, F4) for number in timed(opcode, floats)]
        print(f"| `{opcode.replace('np_', 'np.')}` | " + " | ".join(found) + " |")


if __name__ == "__main__":
    main()
