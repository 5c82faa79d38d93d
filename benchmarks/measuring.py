"""Timing contenders: they take turns, so that the noise of the machine falls on all alike.

The clock is the processor time of the whole process, which other processes do not run up, and which counts threads that
a library may have of its own. A contender's shortest turn is its time; median and quartiles say how noisy it was.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

import numpy as np

Run = Callable[[], Any]
SHORTEST = 2e-4
"""Seconds that a turn takes at least: shorter runs are repeated."""
TURNS = 3
"""However long they take."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Of one contender: seconds of a run, or of a lane."""

    best: float
    median: float
    low: float
    high: float
    turns: int

    @property
    def spread(self) -> float:
        """The distance of the quartiles, as a share of the median."""
        return (self.high - self.low) / self.median

    def over(self, count: int) -> Timing:
        return Timing(self.best / count, self.median / count, self.low / count, self.high / count, self.turns)


def keep_freed_memory() -> None:
    """Results of a few megabytes are then made in memory that the process has already. glibc gives such blocks back to
    the system when they are freed, and page faults for the next ones take longer than a cheap kernel, until it has seen
    a large block freed."""
    np.empty(31 << 20, np.uint8)[:] = 0


def timing(seconds: Sequence[float]) -> Timing:
    low, _, high = quantiles(seconds, n=4, method="inclusive") if len(seconds) > 1 else [seconds[0]] * 3
    return Timing(min(seconds), median(seconds), low, high, len(seconds))


def once(run: Run) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


PIECE = 1 << 14
"""Lanes that stay neighbours in a part of many lanes: what a loop costs depends on the lanes beside it."""


def part_of(column: np.ndarray, count: int) -> np.ndarray:
    """About `count` items, in pieces from everywhere, with the first and the last; a column that has no more is one."""
    total = len(column)
    if total <= count:
        return column
    starts = np.linspace(0, total - PIECE, max(2, count // PIECE)).astype(np.int64)
    return np.concatenate([column[start:start + PIECE] for start in starts])


def round_robin(runs: Mapping[str, Run], repeats: int, budget: float, turns: int = TURNS) -> dict[str, Timing]:
    """`repeats` turns of each; fewer, but `turns`, where those of a contender have taken more than `budget` seconds."""
    trial = {name: once(run) for name, run in runs.items()}
    calls = {name: max(1, math.ceil(SHORTEST / max(seconds, 1e-9))) for name, seconds in trial.items()}
    taken = {name: [seconds] if calls[name] == 1 else [] for name, seconds in trial.items()}
    for turn in range(repeats):
        for name, run in runs.items():
            if len(taken[name]) > turn:
                continue
            if turn >= turns and sum(taken[name]) * calls[name] > budget:
                continue
            start = time.process_time()
            for _ in range(calls[name]):
                run()
            taken[name].append((time.process_time() - start) / calls[name])
    return {name: timing(seconds) for name, seconds in taken.items()}


def geomean(numbers: Sequence[float]) -> float:
    """nan of none."""
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else math.nan
