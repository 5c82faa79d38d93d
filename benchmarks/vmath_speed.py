"""The speed of the vector math against the C library's functions and NumPy's: `python -m benchmarks.vmath_speed`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from llvmlite import binding as llvm

from benchmarks import vmath_kernels
from benchmarks.vmath_points import DTYPES
from pyflat.functions import vmath
from pyflat.functions.vmath.machine import FORMATS

_NUMPY_NAMES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "pow": "power",
                "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}
_TIMED = {"asin": (-1, 1), "acos": (-1, 1), "atanh": (-0.99, 0.99), "acosh": (1, 20), "log": (0.01, 100),
          "log2": (0.01, 100), "log10": (0.01, 100), "log1p": (-0.9, 10), "erf": (-3, 3), "erfc": (-3, 5)}
_LANES = 1 << 14


def _fastest(call: Callable[..., object], lanes: list[np.ndarray], out: np.ndarray, repeats: int = 15) -> float:
    """Nanoseconds for each lane, without what a call costs that has one lane only."""

    def best(*operands: np.ndarray, into: np.ndarray) -> float:
        shortest = math.inf
        for _ in range(repeats):
            start = time.perf_counter()
            call(*operands, out=into)
            shortest = min(shortest, time.perf_counter() - start)
        return shortest

    return (best(*lanes, into=out) - best(*[a[:1] for a in lanes], into=out[:1])) / _LANES * 1e9


@dataclass(frozen=True, slots=True)
class Timed:
    """Nanoseconds for each lane: of the function here, of a loop around the C library's, of NumPy's ufunc."""

    name: str
    width: str
    own: float
    library: float
    numpy: float | None

    @property
    def versus_library(self) -> str:
        return f"{self.library / self.own:.1f}x"

    @property
    def versus_numpy(self) -> str:
        return f"{self.numpy / self.own:.1f}x" if self.numpy else ""


def timed(name: str, width: str) -> Timed:
    rng, row = np.random.default_rng(0), vmath.TABLE[name]
    low, high = _TIMED.get(name, (0.1, 8.0))
    lanes = [rng.uniform(low, high, _LANES).astype(DTYPES[width]) for _ in range(row.operands)]
    out = np.empty_like(lanes[0])
    ufunc = getattr(np, _NUMPY_NAMES.get(name, name), None)
    return Timed(name, width, _fastest(vmath_kernels.library(width).kernel(name), lanes, out),
                 _fastest(vmath_kernels.library_loop(name, width), lanes, out, 5),
                 _fastest(ufunc, lanes, out, 5) if ufunc else None)


def measure() -> list[Timed]:
    return [timed(name, width) for name in vmath.TABLE for width in FORMATS]


_PAGE = """
## Speed

One core of a processor that LLVM calls {processor}, {lanes:,} lanes, one process: nanoseconds for each lane, and how
many times faster that is than a compiled loop that calls the C library's function, and than the ufunc of NumPy {numpy},
whose errors are up to 4 ulp. `python -m benchmarks.vmath_speed`

| function | float64, ns | C library | NumPy | float32, ns | C library | NumPy |
|---|---|---|---|---|---|---|
"""


def page(rows: list[Timed]) -> str:
    lines = [_PAGE.format(processor=llvm.get_host_cpu_name(), lanes=_LANES, numpy=np.__version__)]
    for name in vmath.TABLE:
        cells = [f"{r.own:.2f} | {r.versus_library} | {r.versus_numpy}" for r in rows if r.name == name]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |\n")
    return "".join(lines)


if __name__ == "__main__":
    for row in measure():
        ratios = f"C library {row.versus_library:>6}   NumPy {row.versus_numpy}"
        print(f"{row.name:6} {row.width}  {row.own:7.3f} ns   {ratios}")
