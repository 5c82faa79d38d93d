"""The nineteen kernels of `examples/kernels/`, with arguments: small ones to check bits, large ones to measure."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples" / "kernels"))

import algebra
import series
import stencils

Size = Literal["small", "large"]
Arguments = tuple[Any, ...]
Made = Callable[[np.random.Generator, bool], Arguments]


@dataclass(frozen=True)
class ArrayKernel:
    """`sizes` are what its C function is told beside its arguments; `result` what Python returns, where it does."""

    function: Callable[..., Any]
    made: Made
    sizes: Callable[..., tuple[int, ...]]
    result: Callable[..., np.ndarray[Any, Any]] | None = None

    @property
    def name(self) -> str:
        return self.function.__name__

    def arguments(self, size: Size) -> Arguments:
        """Made anew, always the same."""
        return self.made(np.random.default_rng(sum(map(ord, self.name))), size == "large")


def _jacobi_1d(r: np.random.Generator, large: bool) -> Arguments:
    n, steps = (40_000, 6_000) if large else (120, 20)
    return steps, r.random(n), r.random(n)


def _jacobi_2d(r: np.random.Generator, large: bool) -> Arguments:
    shape, steps = ((1_000, 1_003), 60) if large else ((30, 37), 5)
    return steps, r.random(shape), r.random(shape)


def _heat_3d(r: np.random.Generator, large: bool) -> Arguments:
    shape, steps = ((120, 120, 123), 20) if large else ((10, 12, 21), 3)
    return steps, r.random(shape), r.random(shape)


def _fdtd_2d(r: np.random.Generator, large: bool) -> Arguments:
    shape, steps = ((1_000, 1_003), 40) if large else ((30, 37), 5)
    return steps, r.random(shape), r.random(shape), r.random(shape), r.random(steps)


def _upwind(r: np.random.Generator, large: bool) -> Arguments:
    shape, steps = ((700, 703), 150) if large else ((30, 37), 5)
    c = r.random(shape)
    return steps, c, c.copy(), r.uniform(-1, 1, shape), r.uniform(-1, 1, shape), 0.3


def _hdiff(r: np.random.Generator, large: bool) -> Arguments:
    x, y, z = (192, 192, 64) if large else (8, 9, 19)
    return r.random((x + 4, y + 4, z)), np.zeros((x, y, z)), r.random((x, y, z))


def _thomas(r: np.random.Generator, large: bool) -> Arguments:
    shape = (80, 20_003) if large else (20, 37)
    lower, upper = r.uniform(-1, 1, (2, *shape))
    return lower, r.uniform(3, 4, shape), upper, r.random(shape), np.zeros(shape)


def _conv2d(r: np.random.Generator, large: bool) -> Arguments:
    count, rows, columns, channels, features = (8, 64, 64, 16, 32) if large else (1, 9, 8, 3, 11)
    images = r.normal(size=(count, rows, columns, channels))
    return images, r.normal(size=(3, 3, channels, features)), r.normal(size=features)


def _mm2(r: np.random.Generator, large: bool) -> Arguments:
    rows, middle, inner, columns = (400, 450, 420, 380) if large else (19, 21, 18, 23)
    return (1.5, 1.2, r.random((rows, inner)), r.random((inner, middle)), r.random((middle, columns)),
            r.random((rows, columns)))


def _softmax(r: np.random.Generator, large: bool) -> Arguments:
    return (r.normal(size=(8_000, 1_000) if large else (21, 67)) * 3.0,)


def _spmv(r: np.random.Generator, large: bool) -> Arguments:
    n, mean = (800_000, 15) if large else (200, 8)
    start = np.concatenate(([0], np.cumsum(r.poisson(mean, n)))).astype(np.int64)
    return start, r.integers(0, n, start[-1]), r.normal(size=start[-1]), r.normal(size=n), np.zeros(n)


def _floyd_warshall(r: np.random.Generator, large: bool) -> Arguments:
    n = 500 if large else 37
    distance = r.uniform(1, 1000, (n, n))
    np.fill_diagonal(distance, 0.0)
    return (distance,)


def _azimuthal(r: np.random.Generator, large: bool) -> Arguments:
    n, bins = (16_000_000, 1_000) if large else (3_000, 40)
    return r.random(n), r.uniform(-1, 1, n), r.uniform(-1, 1, n), 0.1, -0.05, bins / 1.2, bins


def _prefix(r: np.random.Generator, large: bool) -> Arguments:
    n, m = (8_003, 2_000) if large else (43, 70)
    return r.random((n, m)) * r.uniform(0.4, 2.5, (n, 1)), 0.4 * m, np.zeros((n, m)), np.zeros(n, np.int64)


def _go_fast(r: np.random.Generator, large: bool) -> Arguments:
    n, width = (4_000, 300) if large else (50, 3)
    return r.normal(size=(n, n)), width


def _mandelbrot(r: np.random.Generator, large: bool) -> Arguments:
    shape, limit = ((500, 603), 200) if large else ((21, 37), 50)
    return -2.0, 0.6, -1.2, 1.2, limit, np.zeros(shape, np.int64)


def _lcs(r: np.random.Generator, large: bool) -> Arguments:
    n, m = (5_000, 5_100) if large else (90, 101)
    return r.integers(0, 4, n).astype(np.int8), r.integers(0, 4, m).astype(np.int8)


def _seidel_2d(r: np.random.Generator, large: bool) -> Arguments:
    shape, steps = ((600, 603), 20) if large else ((25, 31), 4)
    return steps, r.random(shape)


def _crc16(r: np.random.Generator, large: bool) -> Arguments:
    return r.integers(0, 256, 6_000_000 if large else 700).astype(np.uint8), np.zeros(1, np.int64)


def _conv2d_result(images: np.ndarray[Any, Any], weights: np.ndarray[Any, Any], _: Any) -> np.ndarray[Any, Any]:
    count, rows, columns, _ = images.shape
    height, width, _, features = weights.shape
    return np.empty((count, rows - height + 1, columns - width + 1, features))


_EACH = (
    ArrayKernel(stencils.jacobi_1d, _jacobi_1d, lambda steps, a, b: a.shape),
    ArrayKernel(stencils.jacobi_2d, _jacobi_2d, lambda steps, a, b: a.shape),
    ArrayKernel(stencils.heat_3d, _heat_3d, lambda steps, a, b: a.shape),
    ArrayKernel(stencils.fdtd_2d, _fdtd_2d, lambda steps, ex, ey, hz, source: hz.shape),
    ArrayKernel(stencils.upwind, _upwind, lambda steps, c, *_: c.shape),
    ArrayKernel(stencils.hdiff, _hdiff, lambda field, out, strength: out.shape),
    ArrayKernel(algebra.thomas, _thomas, lambda lower, *_: lower.shape),
    ArrayKernel(algebra.conv2d, _conv2d, lambda x, weights, bias: (*x.shape, *weights.shape[:2], len(bias)),
                _conv2d_result),
    ArrayKernel(algebra.mm2, _mm2, lambda alpha, beta, a, b, c, d: (*a.shape, b.shape[1], c.shape[1])),
    ArrayKernel(algebra.softmax, _softmax, lambda x: x.shape, np.empty_like),
    ArrayKernel(series.azimuthal, _azimuthal, lambda data, *_: data.shape, lambda *given: np.empty(given[-1])),
    ArrayKernel(series.prefix, _prefix, lambda rows, *_: rows.shape),
    ArrayKernel(series.go_fast, _go_fast, lambda a, width: a.shape[:1], lambda a, width: np.empty_like(a)),
    ArrayKernel(algebra.spmv, _spmv, lambda *given: given[-1].shape),
    ArrayKernel(algebra.floyd_warshall, _floyd_warshall, lambda distance: distance.shape[:1]),
    ArrayKernel(series.mandelbrot, _mandelbrot, lambda *given: given[-1].shape),
    ArrayKernel(series.lcs, _lcs, lambda a, b: (*a.shape, *b.shape), lambda a, b: np.empty(len(a) + 1, np.int32)),
    ArrayKernel(stencils.seidel_2d, _seidel_2d, lambda steps, a: a.shape),
    ArrayKernel(series.crc16, _crc16, lambda data, out: data.shape),
)
ARRAY_KERNELS = {kernel.name: kernel for kernel in _EACH}
