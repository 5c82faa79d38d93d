"""Kernels over arrays on several threads, beside numba's `prange`: `python -m benchmarks.kernel_threads`.

Each kernel on one and on two threads, of a twin and of `numba.njit`, in one process and in turns; the shortest turn of
each. The machine should have nothing else to do: the load is printed. Bits must be those of one thread.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import prange

import pyflat

TURNS = 15
RANDOM = np.random.default_rng(1)
ENGINES: dict[str, Callable[[Any], Any]] = {
    "twin": lambda f: pyflat.twin(f, target="numba", parallel=False),
    "twin, 2": lambda f: pyflat.twin(f, target="numba", parallel=True),
    "njit": numba.njit, "njit, 2": numba.njit(parallel=True),
}


def product(a, b, out):
    for i in prange(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            out[i, j] = s


def escape(out, most):
    for i in prange(out.shape[0]):
        for j in range(out.shape[1]):
            c, d = i / out.shape[0] * 3.0 - 2.0, j / out.shape[1] * 2.0 - 1.0
            x, y, n = 0.0, 0.0, 0
            while n < most and x * x + y * y < 4.0:
                x, y = x * x - y * y + c, 2.0 * x * y + d
                n += 1
            out[i, j] = n


def forces(mass, at, out):
    for i in prange(len(mass)):
        s = 0.0
        for j in range(len(mass)):
            d = at[j] - at[i]
            s += mass[j] * d / math.sqrt(d * d + 0.01) ** 3
        out[i] = s


def waves(a, out):
    for i in prange(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = math.exp(math.sin(a[i, j]))


def blur(a, out):
    for i in prange(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            out[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


def random(*shape: int) -> Any:
    return RANDOM.random(shape)


KERNELS: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...] = (
    (product, (random(500, 500), random(500, 500), np.zeros((500, 500)))), (escape, (np.zeros((900, 900)), 200)),
    (forces, (random(6000), random(6000), np.zeros(6000))), (waves, (random(1000, 2000), np.zeros((1000, 2000)))),
    (blur, (random(2000, 2000), np.zeros((2000, 2000)))))


def measured(function: Callable[..., Any], arguments: tuple[Any, ...]) -> dict[str, float]:
    """Engine -> seconds. ValueError where a twin on two threads has other bits."""
    runs, given = {}, {}
    for name, engine in ENGINES.items():
        runs[name] = engine(function)
        given[name] = [value.copy() if isinstance(value, np.ndarray) else value for value in arguments]
        for _ in range(2):
            runs[name](*given[name])
    pairs = zip(given["twin"], given["twin, 2"], strict=True)
    if any(np.asarray(a).tobytes() != np.asarray(b).tobytes() for a, b in pairs):
        raise ValueError(f"{function.__name__}: other bits on two threads")
    seconds = dict.fromkeys(runs, math.inf)
    for _ in range(TURNS):
        for name, run in runs.items():
            start = time.perf_counter()
            run(*given[name])
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    return seconds


def main() -> None:
    os.environ["PYFLAT_NUM_THREADS"] = "2"
    numba.set_num_threads(2)
    print("| kernel | twin, ms | 2 threads | njit, ms | prange, 2 threads | twin / prange, 2 threads | load |")
    print("|---" * 7 + "|")
    for function, arguments in KERNELS:
        took = measured(function, arguments)
        print(f"| {function.__name__} | {took['twin'] * 1e3:.2f} | {took['twin'] / took['twin, 2']:.2f} | "
              f"{took['njit'] * 1e3:.2f} | {took['njit'] / took['njit, 2']:.2f} | "
              f"{took['njit, 2'] / took['twin, 2']:.2f} | {os.getloadavg()[0]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
