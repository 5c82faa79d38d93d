"""Speed of branchy scalar functions over arrays, against what people use instead: `make bench`.

One process, one thread; contenders take turns (round-robin) on the same lanes, and the shortest of each one's runs
counts, so that the noise of the machine falls on all alike; what counts is the thread's processor time. Each
contender's result is compared with the original's first; all give a new array. The unit is numba.vectorize of the
unmodified function: 1.0, more is faster. np.vectorize runs on a sample.

    python -m benchmarks.lanes [--size 262144] [--kernels bs,srgb] [--contenders numba,vector] [--repeats 9]
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numba
import numpy as np

import pyflat
from benchmarks.kernels import KERNELS, Kernel
from benchmarks.kernels.where import WHERE

SAMPLE = 2_000
"""Lanes for np.vectorize, and for the comparison with the original."""

UNIT = "numba.vectorize"
SHORTEST = 2e-4
"""Seconds that a measurement takes at least: shorter runs are repeated."""

Run = Callable[[], Any]


def compiled(function: Callable[..., Any]) -> Any:
    """numba.njit of the unmodified function, and of the plain Python helpers that it names."""
    return numba.njit(_with_compiled_helpers(function))


def _with_compiled_helpers(function: Any) -> FunctionType:
    scope = dict(function.__globals__)
    for name in function.__code__.co_names:
        if isinstance(scope.get(name), FunctionType):
            scope[name] = compiled(scope[name])
    return FunctionType(function.__code__, scope, function.__name__, function.__defaults__)


def _vectorize(kernel: Kernel, lanes: Sequence[np.ndarray]) -> Run:
    result = np.asarray(kernel.function(*[column[0].item() for column in lanes])).dtype
    signature = numba.from_dtype(result)(*[numba.from_dtype(column.dtype) for column in lanes])
    run = numba.vectorize([signature])(_with_compiled_helpers(kernel.function))
    return lambda: run(*lanes)


def _loop(kernel: Kernel, lanes: Sequence[np.ndarray]) -> Run:
    names = ", ".join(f"a{k}" for k in range(len(lanes)))
    items = ", ".join(f"a{k}[i]" for k in range(len(lanes)))
    scope = {"fn": compiled(kernel.function)}
    exec(f"def run({names}, out):\n    for i in range(len(out)):\n        out[i] = fn({items})\n", scope)
    run = numba.njit(scope["run"])
    dtype = np.asarray(kernel.function(*[column[0].item() for column in lanes])).dtype

    def call() -> np.ndarray:
        out = np.empty(len(lanes[0]), dtype)
        run(*lanes, out)
        return out

    return call


def _np_vectorize(kernel: Kernel, lanes: Sequence[np.ndarray]) -> Run:
    run = np.vectorize(kernel.function)
    return lambda: run(*lanes)


def _where(kernel: Kernel, lanes: Sequence[np.ndarray]) -> Run | None:
    run = WHERE.get(kernel.name)
    if run is None:
        return None

    def call() -> Any:
        with np.errstate(all="ignore"):
            return run(*lanes)

    return call


def _twin(**options: Any) -> Callable[[Kernel, Sequence[np.ndarray]], Run | None]:
    def make(kernel: Kernel, lanes: Sequence[np.ndarray]) -> Run | None:
        twin = pyflat.twin(kernel.function, **options)
        return lambda: twin(*lanes)

    return make


CONTENDERS: dict[str, Callable[[Kernel, Sequence[np.ndarray]], Run | None]] = {
    UNIT: _vectorize,
    "numba loop": _loop,
    "np.vectorize": _np_vectorize,
    "np.where": _where,
    "numpy": _twin(target="numpy"),
    "numba": _twin(target="numba"),
    "vector": _twin(target="numba", math="vector"),
}
"""`numba` and `numpy` are our targets with the C library's functions, `vector` is our numba target with its own."""

SAMPLED = {"np.vectorize"}


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds for one lane, of each contender that ran and agreed."""

    kernel: str
    seconds: dict[str, float]
    notes: dict[str, str]

    def ratio(self, contender: str) -> float | None:
        mine = self.seconds.get(contender)
        return None if mine is None else self.seconds[UNIT] / mine


def agrees(found: Any, wanted: np.ndarray) -> bool:
    """Equal ints; floats within 1e-9 but for a lane in a thousand, where a trip more or less is right as well."""
    values = np.asarray(found)
    if values.shape != wanted.shape:
        return False
    close = np.isclose(values.astype(float), wanted.astype(float), rtol=1e-9, atol=1e-9, equal_nan=True)
    return bool(close.mean() >= 0.999)


def measure(kernel: Kernel, size: int, names: Sequence[str], repeats: int, budget: float) -> Measured:
    lanes = kernel.lanes(size)
    few = [column[:SAMPLE] for column in lanes]
    wanted = np.array([kernel.function(*row) for row in zip(*[column.tolist() for column in few], strict=True)])
    runs: dict[str, tuple[Run, int]] = {}
    notes: dict[str, str] = {}
    for name in names:
        columns = few if name in SAMPLED else lanes
        try:
            run = CONTENDERS[name](kernel, columns)
            if run is None:
                continue
            found = np.asarray(run())[: len(wanted)]
        except (pyflat.FlattenError, numba.core.errors.NumbaError, TypeError, ValueError) as error:
            notes[name] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
            continue
        if not agrees(found, wanted):
            notes[name] = "wrong results"
            continue
        runs[name] = run, len(columns[0])
    seconds = round_robin({name: run for name, (run, _) in runs.items()}, repeats, budget)
    return Measured(kernel.name, {name: seconds[name] / count for name, (_, count) in runs.items()}, notes)


def round_robin(runs: dict[str, Run], repeats: int, budget: float) -> dict[str, float]:
    """The shortest time of each; `budget` seconds for all turns of one contender."""
    best = dict.fromkeys(runs, math.inf)
    calls: dict[str, int] = {}
    for name, run in runs.items():
        start = time.thread_time()
        run()
        calls[name] = max(1, int(SHORTEST / max(time.thread_time() - start, 1e-9)))
    spent = dict.fromkeys(runs, 0.0)
    for turn in range(repeats):
        for name, run in runs.items():
            if turn >= 3 and spent[name] > budget:
                continue
            start = time.thread_time()
            for _ in range(calls[name]):
                run()
            elapsed = time.thread_time() - start
            spent[name] += elapsed
            best[name] = min(best[name], elapsed / calls[name])
    return best


def geomean(numbers: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else math.nan


def table(rows: Sequence[Measured], names: Sequence[str]) -> str:
    """Ratios to the unit, and their geometric means."""
    head = ["kernel", "ns/lane", *[name for name in names if name != UNIT]]
    lines = [head]
    for row in rows:
        ratios = [row.ratio(name) for name in head[2:]]
        cells = ["-" if r is None else f"{r:.2f}" for r in ratios]
        lines.append([row.kernel, f"{row.seconds[UNIT] * 1e9:.2f}", *cells])
    for label, core in (("eleven", True), ("others", False)):
        chosen = [row for row in rows if KERNELS[row.kernel].core == core]
        if chosen:
            means = [geomean([r for row in chosen if (r := row.ratio(name)) is not None]) for name in head[2:]]
            lines.append([f"{label}, geomean", "", *[f"{mean:.2f}" for mean in means]])
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1 << 18, help="lanes")
    parser.add_argument("--kernels", default=",".join(KERNELS))
    parser.add_argument("--contenders", default=",".join(CONTENDERS))
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--budget", type=float, default=1.0, help="seconds for each contender and kernel")
    parser.add_argument("--json", help="append the numbers to this file, one line for each kernel")
    options = parser.parse_args()
    names = [UNIT, *[name for name in options.contenders.split(",") if name != UNIT]]
    rows = []
    for name in options.kernels.split(","):
        row = measure(KERNELS[name], options.size, names, options.repeats, options.budget)
        rows.append(row)
        ratios = {k: f"{r:.2f}" for k in names if (r := row.ratio(k)) is not None}
        print(name, f"{row.seconds[UNIT] * 1e9:.2f} ns", ratios, row.notes or "", flush=True)
        if options.json:
            record = {"kernel": name, "size": options.size, "seconds": row.seconds, "notes": row.notes}
            with open(options.json, "a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
    print(table(rows, names))


if __name__ == "__main__":
    main()
