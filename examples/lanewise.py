"""Running an original lane by lane, comparing bits, and timing: shared by the demo and the benchmark."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def columns(result: Any) -> tuple[NDArray[Any], ...]:
    """A twin's result as a tuple of arrays, one for each item of a tuple result."""
    return tuple(result) if isinstance(result, tuple) else (result,)


def original_columns(function: Callable[..., Any], lanes: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], ...]:
    """What the original gives, called once for each lane with Python's own scalars."""
    rows = [function(*row) for row in zip(*(column.tolist() for column in lanes), strict=True)]
    if rows and isinstance(rows[0], tuple):
        return tuple(np.array(column) for column in zip(*rows, strict=True))
    return (np.array(rows),)


def differing_lanes(ours: Sequence[NDArray[Any]], theirs: Sequence[NDArray[Any]]) -> NDArray[np.intp]:
    """The lanes where a bit differs; every nan equals every nan. A join of int and float compares as float."""
    if len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} results against {len(theirs)}")
    differs = np.zeros(len(theirs[0]), bool)
    for mine, other in zip(ours, theirs, strict=True):
        if mine.dtype.kind != "f":
            if mine.dtype != other.dtype:
                raise TypeError(f"{mine.dtype} lanes where the original gives {other.dtype}")
            differs |= mine != other
            continue
        left, right = mine.astype(np.float64), other.astype(np.float64)
        both_nan = np.isnan(left) & np.isnan(right)
        differs |= (left.view(np.int64) != right.view(np.int64)) & ~both_nan
    return np.flatnonzero(differs)


def seconds(call: Callable[[], Any], repeats: int) -> float:
    """The shortest of `repeats` runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best
