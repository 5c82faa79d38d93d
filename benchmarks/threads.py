"""How calls scale with threads: `parallel=True` on 1, 2, ... cores against `parallel=False`: `make threads`.

Each kernel on both targets, with few and with many lanes, in one process; numbers of threads take turns. Times are of
the wall, because threads are for that: the machine should have nothing else to do. Results must be the same bits
whatever the number of threads; a kernel with others is named, and the exit status is 1.

    python -m benchmarks.threads [--kernels bs,hsv] [--types f8,f4] [--lanes 65536,1048576] [--docs]

`--docs` writes docs/contributors/threads.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

import pyflat
from benchmarks.contenders.twins import OPTIONS
from benchmarks.environment import ROOT, describe
from benchmarks.kernels import KERNELS, Kernel
from benchmarks.measuring import geomean, keep_freed_memory
from benchmarks.report import markdown
from benchmarks.row import TYPES, lanes_of

PAGE = ROOT / "docs" / "contributors" / "threads.md"
ENGINES = {"numba": "fast", "numpy": "numpy fast"}
"""Target -> what it is called among the contenders."""
LANES = (1 << 16, 1 << 20)
REPEATS, BUDGET = 9, 0.6
LEAST = 3
"""Turns of each number of threads, however long they take."""
Run = Callable[[], Any]
_Name = TypeVar("_Name")


@dataclass(frozen=True, slots=True)
class Scaling:
    """seconds: threads -> the shortest turn; same: whether all gave the same bits."""

    kernel: str
    target: str
    type: str
    lanes: int
    seconds: Mapping[int, float]
    same: bool

    def ratio(self, threads: int) -> float:
        """How many times as fast as on one thread."""
        return self.seconds[1] / self.seconds[threads]


def counts(cores: int) -> list[int]:
    """1, 2, 4, ... and all cores."""
    return sorted({1 << k for k in range(cores.bit_length()) if 1 << k <= cores} | {cores})


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def runs_of(kernel: Kernel, target: str, lanes: Sequence[np.ndarray], numbers: Sequence[int]) -> dict[int, Run]:
    """Threads -> a call on so many."""
    options = {**OPTIONS[ENGINES[target]]} | ({"dtype": "float32"} if lanes[0].dtype.itemsize == 4 else {})

    def run_on(threads: int) -> Run:
        twin = pyflat.twin(kernel.function, **options, parallel=threads > 1)

        def run() -> Any:
            os.environ["PYFLAT_NUM_THREADS"] = str(threads)
            return twin(*lanes)

        return run

    return {threads: run_on(threads) for threads in numbers}


def taken(runs: Mapping[_Name, Run], repeats: int, budget: float, clock: Callable[[], float] = time.perf_counter
          ) -> dict[_Name, float]:
    """The shortest turn of each; they take turns, `repeats` times, or fewer where that takes longer than `budget`."""
    best = dict.fromkeys(runs, float("inf"))
    start = clock()
    for turn in range(repeats):
        if turn >= LEAST and clock() - start > budget * len(runs):
            break
        for name, run in runs.items():
            before = clock()
            run()
            best[name] = min(best[name], clock() - before)
    return best


def measure(kernel: Kernel, target: str, kind: str, lanes: int, numbers: Sequence[int]) -> Scaling:
    runs = runs_of(kernel, target, lanes_of(kernel, kind, lanes), numbers)
    bits = {threads: np.asarray(run()).tobytes() for threads, run in runs.items()}
    seconds = taken(runs, REPEATS, BUDGET)
    again = {np.asarray(run()).tobytes() for run in runs.values()}
    return Scaling(kernel.name, target, kind, lanes, seconds, again | set(bits.values()) == {bits[numbers[0]]})


def measured(names: Sequence[str], kinds: Sequence[str], sizes: Sequence[int], numbers: Sequence[int]
             ) -> Iterator[Scaling]:
    for lanes in sizes:
        for kind in kinds:
            for name in names:
                for target in ENGINES:
                    yield measure(KERNELS[name], target, kind, lanes, numbers)


def table(found: Sequence[Scaling], numbers: Sequence[int]) -> str:
    """Of one type and size: milliseconds on one thread, and how many times as fast more of them are."""
    more = [threads for threads in numbers if threads > 1]
    head = ["kernel"]
    for target in ENGINES:
        head += [f"{target}, ms", *[f"{threads} threads" for threads in more]]
    lines = [head]
    for name in dict.fromkeys(one.kernel for one in found):
        line = [name]
        for target in ENGINES:
            one = next(one for one in found if (one.kernel, one.target) == (name, target))
            line += [f"{one.seconds[1] * 1e3:.2f}", *[f"{one.ratio(threads):.2f}" for threads in more]]
        lines.append(line)
    means = ["geomean"]
    for target in ENGINES:
        mine = [one for one in found if one.target == target]
        means += ["", *[f"{geomean([one.ratio(threads) for one in mine]):.2f}" for threads in more]]
    return markdown([*lines, means])


def different(found: Sequence[Scaling]) -> str:
    """Whose results depend on the number of threads; empty where none's do."""
    return ", ".join(f"{one.kernel} ({one.target}, {one.type}, {one.lanes:,} lanes)" for one in found if not one.same)


def page(found: Sequence[Scaling], numbers: Sequence[int], facts: Mapping[str, str]) -> str:
    about = """\
How many times as fast as on one thread a call with `parallel=True` is, by the wall: each kernel on the numba and on the
NumPy target with `math="fast"`, the shortest of several turns. A thread gets half a millisecond of work at least
([when threads are used](../explanation/performance.md#threads)), so that a call that takes about a millisecond stays on
one."""
    parts = ["# Threads", "<!-- written by `make threads`; do not edit -->", about,
             f"**Other bits: {different(found)}.**" if different(found) else
             "Results were the same bits on all numbers of threads."]
    for kind, lanes in dict.fromkeys((one.type, one.lanes) for one in found):
        chosen = [one for one in found if (one.type, one.lanes) == (kind, lanes)]
        parts += [f"## {kind}, {lanes:,} lanes", table(chosen, numbers)]
    parts += ["## Measured with", "\n".join(f"- {name}: {value}" for name, value in facts.items())]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", default=",".join(KERNELS))
    parser.add_argument("--types", default="f8", help=f"some of {','.join(TYPES)}")
    parser.add_argument("--lanes", default=",".join(map(str, LANES)))
    parser.add_argument("--docs", action="store_true", help="write docs/contributors/threads.md")
    options = parser.parse_args()
    if cores() < 2:
        sys.exit("one core: there is nothing to measure")
    numbers = counts(cores())
    facts = describe() | ({"load when it began": f"{os.getloadavg()[0]:.1f}"} if hasattr(os, "getloadavg") else {})
    keep_freed_memory()
    found = []
    for one in measured(options.kernels.split(","), options.types.split(","),
                        [int(lanes) for lanes in options.lanes.split(",")], numbers):
        found.append(one)
        ratios = " ".join(f"{threads} threads {one.ratio(threads):.2f}" for threads in numbers if threads > 1)
        print(f"{one.kernel} {one.target} {one.type} {one.lanes} {one.seconds[1] * 1e3:.2f} ms {ratios}", flush=True)
    text = page(found, numbers, facts)
    print(text)
    if options.docs:
        PAGE.write_text(text, encoding="utf-8")
    if different(found):
        sys.exit(f"results depend on the number of threads: {different(found)}")


if __name__ == "__main__":
    main()
