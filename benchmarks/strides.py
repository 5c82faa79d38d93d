"""What operands with gaps between them cost at least: C beside the twin, each over dense arrays and over such operands.

    python -m benchmarks.strides [--sizes 1000,20000,280000]

For a cheap function the caches decide: an operand whose elements lie 24 bytes apart is three times as much memory to
read. C by gcc with the distance as a constant shows how much of the time over dense arrays that is; the twin is
compared with both. Functions and layouts are those of `benchmarks.dtypes`; all write into an array that is there.
"""

from __future__ import annotations

import argparse
import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import pyflat
from benchmarks.contenders.builds import built
from benchmarks.dtypes import columns, fee, fields, native, numbers, total
from benchmarks.environment import describe
from benchmarks.measuring import Run, round_robin
from benchmarks.report import markdown

SOURCE = Path(__file__).resolve().parent / "native" / "strides.c"
Array = np.ndarray[Any, Any]


def library(stride: int) -> ctypes.CDLL:
    flags = ["-O3", "-march=native", "-ffp-contract=off", f"-DSTRIDE={stride}", "-fPIC", "-shared"]
    command = ["gcc", *flags, str(SOURCE), "-o", "OUT"]
    return ctypes.CDLL(str(built(SOURCE, [command], f"gcc with a stride of {stride}")))


def every_third(count: int) -> list[Array]:
    return [a[::3] for a in numbers(3 * count, "f8")]


def in_c(run: Any, operands: Sequence[Array], out: Array) -> Run:
    """A call whose addresses are known."""
    given = [ctypes.c_void_p(a.ctypes.data) for a in (*operands, out)]
    count = ctypes.c_int64(out.size)
    return lambda: run(*given, count)


LAYOUTS: dict[str, tuple[Callable[..., float], Callable[[int], list[Array]], int]] = {
    "float64, every third": (fee, every_third, 3), "columns of a matrix": (fee, columns, 4),
    "fields of a table": (total, fields, 1)}
"""The function, its operands for a number of lanes, and the distance of their elements where C takes a constant."""


def contenders(name: str, lanes: int) -> dict[str, Run]:
    """Over dense arrays and over operands with gaps; all give the same lanes."""
    function, arguments, stride = LAYOUTS[name]
    apart = arguments(lanes)
    dense = native(apart)
    of_rows = function is total
    known, plain = library(stride), library(1)
    first = [apart[0].base] if of_rows else apart
    outs = [np.empty(lanes) for _ in range(4)]
    twin = pyflat.twin(function, target="numba", parallel=False)
    found = {
        "C dense": in_c(plain.total if of_rows else plain.fee, dense, outs[0]),
        "C": in_c(known.total_of_rows if of_rows else known.fee, first, outs[1]),
        "twin dense": lambda: twin(*dense, out=outs[2]), "twin": lambda: twin(*apart, out=outs[3])}
    for run in found.values():
        for _ in range(60):  # a twin has its shortest way then
            run()
    assert all(np.array_equal(out, outs[0]) for out in outs)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", default="1000,20000,280000")
    sizes = [int(size) for size in parser.parse_args().sizes.split(",")]
    rows = [["operands", "lanes", "C: time over dense", "twin: time over dense", "twin over C"]]
    for name in LAYOUTS:
        for lanes in sizes:
            best = {who: timing.best for who, timing in round_robin(contenders(name, lanes), 60, 10.0).items()}
            rows.append([name, f"{lanes:,}", f"{best['C'] / best['C dense']:.2f}",
                         f"{best['twin'] / best['twin dense']:.2f}", f"{best['twin'] / best['C']:.2f}"])
    print(markdown(rows))
    print(", ".join(f"{name}: {fact}" for name, fact in describe().items()))


if __name__ == "__main__":
    main()
