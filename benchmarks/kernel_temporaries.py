"""Kernels with temporaries beside the same loops fused by hand: `python -m benchmarks.kernel_temporaries`.

    t = np.empty(n)                       for i in range(n):
    for i in range(n):                        x = a[i] * 2.0 + 1.0
        t[i] = a[i] * 2.0 + 1.0               out[i] = x * x
    for i in range(n):
        out[i] = t[i] * t[i]

Both run on one thread in one process, and take turns; the shortest turn of each is its time. The ratio of temporaries
to fused is to be at most `MOST`. Bits must be the same, and the original's; the exit status is 1 where they differ.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import pyflat
from benchmarks.environment import pin
from benchmarks.measuring import geomean, keep_freed_memory
from benchmarks.threads import taken
from tests.generator.kernels.differential import bits

MOST = 1.1
TARGETS = ("numba", "numpy")
SIZES = {"cache": 4_096, "memory": 1_000_000}
REPEATS, BUDGET = 300, 0.4
Column = np.ndarray[Any, Any]


# --- pairs: with temporaries, and fused


def one(a, b, out):
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = a[i] * 2.0 + 1.0
    for i in range(len(a)):
        out[i] = t[i] * t[i]


def one_fused(a, b, out):
    for i in range(len(a)):
        x = a[i] * 2.0 + 1.0
        out[i] = x * x


def three_zeros(a, b, out):
    t, u, v = np.zeros(len(a)), np.zeros(len(a)), np.zeros(len(a))
    for i in range(len(a)):
        t[i] += a[i] * b[i]
    for i in range(len(a)):
        u[i] += a[i] - b[i]
    for i in range(len(a)):
        v[i] += t[i] * u[i]
    for i in range(len(a)):
        out[i] = t[i] + u[i] * v[i]


def three_zeros_fused(a, b, out):
    for i in range(len(a)):
        x = 0.0 + a[i] * b[i]
        y = 0.0 + (a[i] - b[i])
        z = 0.0 + x * y
        out[i] = x + y * z


def chain(a, b, out):
    n = len(a)
    t0, t1, t2, t3, t4 = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    t5, t6, t7, t8, t9 = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        t0[i] = a[i] + b[i]
    for i in range(n):
        t1[i] = t0[i] * a[i]
    for i in range(n):
        t2[i] = t1[i] - b[i]
    for i in range(n):
        t3[i] = t2[i] * t0[i]
    for i in range(n):
        t4[i] = t3[i] + 0.5
    for i in range(n):
        t5[i] = t4[i] * t2[i]
    for i in range(n):
        t6[i] = t5[i] - a[i]
    for i in range(n):
        t7[i] = t6[i] * 0.25
    for i in range(n):
        t8[i] = t7[i] + t5[i]
    for i in range(n):
        t9[i] = t8[i] * b[i]
    for i in range(n):
        out[i] = t9[i] - t7[i]


def chain_fused(a, b, out):
    for i in range(len(a)):
        x0 = a[i] + b[i]
        x1 = x0 * a[i]
        x2 = x1 - b[i]
        x3 = x2 * x0
        x4 = x3 + 0.5
        x5 = x4 * x2
        x6 = x5 - a[i]
        x7 = x6 * 0.25
        x8 = x7 + x5
        x9 = x8 * b[i]
        out[i] = x9 - x7


def stencil_line(a, b, out):
    n = len(a)
    t = np.empty(n)
    for i in range(1, n - 1):
        t[i] = a[i - 1] - 2.0 * a[i] + a[i + 1]
    for i in range(2, n - 2):
        out[i] = t[i - 1] - 2.0 * t[i] + t[i + 1]


def _line(a, i):
    return a[i - 1] - 2.0 * a[i] + a[i + 1]


def stencil_line_fused(a, b, out):
    for i in range(2, len(a) - 2):
        out[i] = _line(a, i - 1) - 2.0 * _line(a, i) + _line(a, i + 1)


def stencil_plane(a, b, out):
    n, m = a.shape
    t = np.empty((n, m))
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            t[i, j] = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] - 4.0 * a[i, j]
    for i in range(2, n - 2):
        for j in range(2, m - 2):
            out[i, j] = t[i - 1, j] + t[i + 1, j] + t[i, j - 1] + t[i, j + 1] - 4.0 * t[i, j]


def _plane(a, i, j):
    return a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] - 4.0 * a[i, j]


def stencil_plane_fused(a, b, out):
    n, m = a.shape
    for i in range(2, n - 2):
        for j in range(2, m - 2):
            out[i, j] = (_plane(a, i - 1, j) + _plane(a, i + 1, j) + _plane(a, i, j - 1) + _plane(a, i, j + 1)
                         - 4.0 * _plane(a, i, j))


def stencil_space(a, b, out):
    n, m, k = a.shape
    t = np.empty((n, m, k))
    for x in range(1, n - 1):
        for y in range(1, m - 1):
            for z in range(1, k - 1):
                t[x, y, z] = (a[x - 1, y, z] + a[x + 1, y, z] + a[x, y - 1, z] + a[x, y + 1, z]
                              + a[x, y, z - 1] + a[x, y, z + 1])
    for x in range(2, n - 2):
        for y in range(2, m - 2):
            for z in range(2, k - 2):
                out[x, y, z] = t[x - 1, y, z] + t[x + 1, y, z] - t[x, y, z - 1] * 0.5


def _space(a, x, y, z):
    return a[x - 1, y, z] + a[x + 1, y, z] + a[x, y - 1, z] + a[x, y + 1, z] + a[x, y, z - 1] + a[x, y, z + 1]


def stencil_space_fused(a, b, out):
    n, m, k = a.shape
    for x in range(2, n - 2):
        for y in range(2, m - 2):
            for z in range(2, k - 2):
                out[x, y, z] = _space(a, x - 1, y, z) + _space(a, x + 1, y, z) - _space(a, x, y, z - 1) * 0.5


def whole(a, b, out):
    t = a * 2.0 + b
    u = t - a
    out[:] = t * u + b


def whole_fused(a, b, out):
    for i in range(len(a)):
        t = a[i] * 2.0 + b[i]
        out[i] = t * (t - a[i]) + b[i]


def _halved(x):
    s = np.empty(len(x))
    for k in range(len(x)):
        s[k] = x[k] * 0.5
    return s


def helper(a, b, out):
    t, u = _halved(a), _halved(b)
    for i in range(1, len(a)):
        out[i] = t[i] - t[i - 1] * u[i]


def helper_fused(a, b, out):
    for i in range(1, len(a)):
        out[i] = a[i] * 0.5 - a[i - 1] * 0.5 * (b[i] * 0.5)


def rows(a, b, out):
    n, m = a.shape
    s = np.zeros(n)
    for i in range(n):
        for j in range(m):
            s[i] += a[i, j] * b[i, j]
    for i in range(n):
        out[i, 0] = s[i] * 0.5


def rows_fused(a, b, out):
    n, m = a.shape
    for i in range(n):
        total = 0.0
        for j in range(m):
            total += a[i, j] * b[i, j]
        out[i, 0] = total * 0.5


def exponential(a, b, out):
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = math.exp(a[i])
    for i in range(len(a)):
        out[i] = t[i] * b[i] + t[i]


def exponential_fused(a, b, out):
    for i in range(len(a)):
        x = math.exp(a[i])
        out[i] = x * b[i] + x


Kernel = Callable[..., None]
PAIRS: dict[Kernel, tuple[Kernel, int]] = {
    one: (one_fused, 1), three_zeros: (three_zeros_fused, 1), chain: (chain_fused, 1),
    stencil_line: (stencil_line_fused, 1), stencil_plane: (stencil_plane_fused, 2),
    stencil_space: (stencil_space_fused, 3), whole: (whole_fused, 1), helper: (helper_fused, 1), rows: (rows_fused, 2),
    exponential: (exponential_fused, 1),
}
"""With temporaries -> fused, and the rank of the arrays."""


# --- both ways


@dataclass(frozen=True, slots=True)
class Found:
    """Nanoseconds an element of both ways; what became of the arrays; whether all have the original's bits; whether the
    original ran."""

    name: str
    target: str
    size: str
    temporaries: float
    fused: float
    modes: str
    same: bool
    replayed: bool = False

    @property
    def ratio(self) -> float:
        return self.temporaries / self.fused

    def __str__(self) -> str:
        return (f"{self.target:6} {self.size:6} {self.name:14} temporaries {self.temporaries:8.3f}  "
                f"fused {self.fused:8.3f}  ratio {self.ratio:6.2f}  {self.modes}{'  the original ran' * self.replayed}"
                f"{'' if self.same else '  OTHER BITS'}")


def arguments(rank: int, elements: int) -> list[Column]:
    """Two arrays of numbers from 0.5 to 1.5, and one of zeros."""
    rng = np.random.default_rng(rank)
    shape = (round(elements ** (1 / rank)),) * rank
    return [rng.random(shape) + 0.5, rng.random(shape) + 0.5, np.zeros(shape)]


def measure(kernel: Kernel, fused: Kernel, rank: int, target: str, size: str, elements: int) -> Found:
    twins = {each: pyflat.twin(each, target=target, parallel=False) for each in (kernel, fused)}
    small = arguments(rank, 216)
    kernel(*small)
    results = [small[-1], *(_result(twin, arguments(rank, 216)) for twin in twins.values())]
    given = arguments(rank, elements)
    larger = [_result(twin, [*given[:-1], np.zeros_like(given[-1])]) for twin in twins.values()]
    same = len({bits(each) for each in results}) == 1 == len({bits(each) for each in larger})
    for twin in twins.values():
        twin(*given)
    seconds = taken({each: lambda twin=twin: twin(*given) for each, twin in twins.items()}, REPEATS, BUDGET)
    modes = {array.kept.split(" ")[0].rstrip(";") for array in twins[kernel].explain().arrays if array.kept}
    return Found(kernel.__name__, target, size, *(seconds[each] / given[0].size * 1e9 for each in twins),
                 ", ".join(sorted(modes)), same, any(twin.stats.replayed for twin in twins.values()))


def _result(twin: Callable[..., None], given: Sequence[Column]) -> Column:
    twin(*given)
    return given[-1]


def measured(target: str) -> Iterator[Found]:
    for size, elements in SIZES.items():
        for kernel, (fused, rank) in PAIRS.items():
            yield measure(kernel, fused, rank, target, size, elements)


def table(found: Sequence[Found]) -> str:
    """Geometric mean, the largest ratio, what is above `MOST`, and where bits differ."""
    largest = max(found, key=lambda each: each.ratio)
    above = ", ".join(f"{each.name} ({each.size})" for each in found if each.ratio > MOST)
    other = ", ".join(f"{each.name} ({each.size})" for each in found if not each.same)
    return (f"{found[0].target}: {len(found)} pairs, geomean {geomean([each.ratio for each in found]):.2f}, "
            f"largest {largest.ratio:.2f} ({largest.name}, {largest.size})\n"
            f"above {MOST}: {above or 'none'}\nother bits: {other or 'none'}")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", default=",".join(TARGETS))
    options = parser.parse_args(argv)
    pin()
    keep_freed_memory()
    warnings.simplefilter("ignore")
    same = True
    for target in options.targets.split(","):
        found = list[Found]()
        for each in measured(target):
            print(each, flush=True)
            found.append(each)
        print(f"\n{table(found)}\n", flush=True)
        same &= all(each.same for each in found)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
