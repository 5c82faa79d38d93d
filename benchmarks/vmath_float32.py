"""The float32 functions on all float32 numbers, or on every n-th: `python -m benchmarks.vmath_float32 --every 257`.

The truth is the float64 function of this package, which is right to about 29 binary digits more than float32 holds.
Every number (`--every 1`) takes some minutes for each function.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from benchmarks import vmath_kernels
from pyflat.functions import vmath
from pyflat.functions.vmath.machine import F4, F8, NumpyMachine

_CHUNK = 1 << 22


def unary() -> list[str]:
    return [name for name, row in vmath.TABLE.items() if row.operands == 1]


def numbers(every: int, first: int = 0) -> Iterator[np.ndarray]:
    """Every n-th float32 number, infinities and nan among them, in pieces."""
    for start in range(first, 2**32, _CHUNK * every):
        bits = np.arange(start, min(start + _CHUNK * every, 2**32), every, dtype=np.uint64)
        yield bits.astype(np.uint32).view(np.float32)


def errors(name: str, x: np.ndarray) -> np.ndarray:
    """The error of each lane in ulp; infinite where only one of the functions has a value."""
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        got = vmath_kernels.library("f4").kernel(name)(x)
        true = vmath_kernels.library("f8").kernel(name)(wide)
        nearest = true.astype(np.float32)
        unit = np.where(np.isfinite(nearest), np.spacing(np.abs(nearest)), 2.0**104).astype(np.float64)
        limited = np.where(np.isinf(got), np.copysign(2.0**128, got), got.astype(np.float64))
        distance = np.abs(limited - np.clip(true, -(2.0**128), 2.0**128)) / unit
        # Both nan, or infinite where the true value rounds to infinity.
        right = (np.isnan(got) & np.isnan(true)) | (np.isinf(got) & (got == nearest))
        distance = np.where(right, 0.0, np.where(np.isnan(got) | np.isnan(true), np.inf, distance))
        far = vmath.TABLE[name].far
        if far is not None:
            distance[far(NumpyMachine(F4), x) | far(NumpyMachine(F8), wide)] = 0.0
    return distance


def largest_error(name: str, every: int, first: int = 0) -> tuple[float, float]:
    """The largest error, and where it is."""
    worst, place = 0.0, 0.0
    for x in numbers(every, first):
        found = errors(name, x)
        k = int(np.argmax(found))
        if found[k] > worst:
            worst, place = float(found[k]), float(x[k])
    return worst, place


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=257)
    parser.add_argument("--only", nargs="*", default=unary())
    options = parser.parse_args()
    for name in options.only:
        worst, place = largest_error(name, options.every)
        print(f"{name:6} {worst:.3f} ulp at {place!r}, one of {options.every} float32 numbers", flush=True)


if __name__ == "__main__":
    main()
