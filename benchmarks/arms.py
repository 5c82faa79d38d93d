"""Arms that cost, on mixes of lanes, against numba.vectorize of the branchy original: `python -m benchmarks.arms`.

Vector code computes an arm for all lanes of a register, or for none. A branch in scalar code computes what a lane
needs, and is guessed wrong where neighbours differ. Which is faster depends on the mix: all lanes in one arm, sorted,
in runs, at random, one in ten, one in a hundred. The unit is numba.vectorize of the unmodified function on the same
lanes: 1.0, more is faster. Branch predictors learn tens of thousands of outcomes by heart, so that calls go through
many sets of lanes before the first comes again. One process, one thread; contenders take turns on the same lanes, the
shortest run of each counts, in processor time. All are ufuncs. Every contender's result is compared with CPython's.
`again` is the unit a second time: what differs from 1.0 there is noise. `exact` and `fast` are the kinds of `math`.

    python -m benchmarks.arms [--size 32768] [--functions chain,cheap] [--repeats 7] [--docs]

`--docs` writes the tables into docs/contributors/arms.md.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

import pyflat
from benchmarks.kernels.arms import BRANCHY, Branchy

UNIT = "numba.vectorize"
PAGE = Path(__file__).resolve().parent.parent / "docs" / "contributors" / "arms.md"
START, END = "<!-- written by `python -m benchmarks.arms --docs` -->\n", "<!-- end -->\n"
CHECKED = 3_000
"""Lanes whose results are compared with CPython's."""
SETS = 24
"""Sets of lanes that calls go through."""
RUN = 64
"""Lanes in a run of neighbours that take the same arm."""

Ints = npt.NDArray[np.int64]


def mixes(arms: int, n: int, seed: int) -> dict[str, Ints]:
    """The arm of each lane."""
    random = np.random.default_rng(seed)
    rest = random.integers(1, arms, n)
    return {
        **{f"all in {k}": np.full(n, k) for k in range(arms)},
        "sorted": np.arange(n) * arms // n,
        f"runs of {RUN}": np.repeat(random.integers(0, arms, -(-n // RUN)), RUN)[:n],
        "random": random.integers(0, arms, n),
        "10 % in 0": np.where(random.random(n) < 0.1, 0, rest),
        "1 % in 0": np.where(random.random(n) < 0.01, 0, rest),
        "1 % out of 0": np.where(random.random(n) < 0.01, rest, 0),
        f"1 % in {arms - 1}": np.where(random.random(n) < 0.01, arms - 1, random.integers(0, arms - 1, n)),
    }


def contenders(branchy: Branchy) -> dict[str, Callable[..., Any]]:
    return {
        UNIT: numba.vectorize(["f8(f8,f8,f8)"])(branchy.function),
        "again": numba.vectorize(["f8(f8,f8,f8)"])(branchy.function),
        "exact": pyflat.twin(branchy.function, target="numba", parallel=False).ufunc,
        "fast": pyflat.twin(branchy.function, target="numba", math="fast", parallel=False).ufunc,
    }


def check(branchy: Branchy, name: str, found: npt.NDArray[np.float64], lanes: Sequence[npt.NDArray[np.float64]]
          ) -> None:
    """Exact math has CPython's bits, fast math 1e-11 of these results."""
    chosen = np.linspace(0, len(found) - 1, CHECKED).astype(int)
    wanted = np.array([branchy.function(*row) for row in zip(*[lane[chosen].tolist() for lane in lanes], strict=True)])
    near = np.array_equal if name == "exact" else lambda a, b: np.allclose(a, b, 1e-11, 1e-13)
    same = near(found[chosen], wanted)
    if not same:
        raise SystemExit(f"{branchy.function.__name__}: {name} differs from CPython")


def measure(branchy: Branchy, size: int, repeats: int) -> dict[str, dict[str, float]]:
    """Mix -> contender -> nanoseconds for each lane."""
    random = np.random.default_rng(11)
    x, y = random.uniform(0.1, 3.0, size), random.uniform(0.1, 3.0, size)
    calls = contenders(branchy)
    drawn = [mixes(branchy.arms, size, seed) for seed in range(SETS)]
    found: dict[str, dict[str, float]] = {}
    for mix in drawn[0]:
        arms = [each[mix].astype(np.float64) for each in drawn]
        for name, call in calls.items():
            check(branchy, name, call(arms[0], x, y), (arms[0], x, y))
        best = dict.fromkeys(calls, math.inf)
        for _ in range(repeats):
            for name, call in calls.items():
                best[name] = min(best[name], seconds(call, arms, x, y))
        found[mix] = {name: shortest / size / SETS * 1e9 for name, shortest in best.items()}
    return found


def seconds(call: Callable[..., Any], arms: Sequence[npt.NDArray[np.float64]], *others: npt.NDArray[np.float64]
            ) -> float:
    out = np.empty_like(others[0])
    start = time.thread_time()
    for arm in arms:
        call(arm, *others, out=out)
    return time.thread_time() - start


def rows(branchy: Branchy, found: dict[str, dict[str, float]]) -> list[list[str]]:
    ours = [name for name in next(iter(found.values())) if name != UNIT]
    lines = [[branchy.about, f"{UNIT}, ns", *ours]]
    for mix, times in found.items():
        lines.append([mix, f"{times[UNIT]:.2f}", *[f"{times[UNIT] / times[name]:.2f}" for name in ours]])
    lines.append(["least", "", *[f"{min(t[UNIT] / t[name] for t in found.values()):.2f}" for name in ours]])
    return lines


def text(lines: list[list[str]]) -> str:
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    return "\n".join("  ".join(cell.rjust(width) if k else cell.ljust(width)
                               for k, (cell, width) in enumerate(zip(line, widths, strict=True))) for line in lines)


def markdown(lines: list[list[str]]) -> str:
    rule = ["---", *["---:"] * (len(lines[0]) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in (lines[0], rule, *lines[1:])) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1 << 15, help="lanes")
    parser.add_argument("--functions", default=",".join(BRANCHY))
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--docs", action="store_true")
    options = parser.parse_args()
    tables = []
    for name in options.functions.split(","):
        tables.append(rows(BRANCHY[name], measure(BRANCHY[name], options.size, options.repeats)))
        print(text(tables[-1]) + "\n", flush=True)
    if options.docs:
        before, rest = PAGE.read_text(encoding="utf-8").split(START)
        _, after = rest.split(END)
        PAGE.write_text(before + START + "\n" + "\n".join(map(markdown, tables)) + END + after, encoding="utf-8")


if __name__ == "__main__":
    main()
