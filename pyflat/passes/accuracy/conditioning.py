"""How far the last digits of elementary functions may move the results of a lane.

With `math="vector"` a twin's results differ from the original's by what a few ulp in each function come to: little in
most lanes, much where terms cancel. What it may be in a lane is found by running it again and again in the interpreter
with all functions moved at random (N. Higham, Accuracy and Stability of Numerical Algorithms, 2002, chapter 1: the
condition, estimated by samples).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from pyflat.ir.interp import run
from pyflat.ir.nodes import Function
from pyflat.ir.ops import PRIMITIVES
from pyflat.passes.accuracy.fast_functions import LIBRARY_ULPS, VECTOR_ULPS

TRIES = 16
"""Samples of a lane."""

FACTOR = 4.0
"""The largest difference of so few samples is short of what is possible."""


def allowed_differences(exact: Function, row: Sequence[Any]) -> list[float]:
    """For each result of a lane: how far one with faster functions may be from the exact one; 0.0 for ints and bools,
    and where no function is involved. `exact` is the flat function with the C library's functions."""
    wanted = run(exact, row).values
    most = [0.0] * len(wanted)
    random = Random(repr(row))
    moved = {name: _moved(PRIMITIVES[name].python, VECTOR_ULPS + ulps, random) for name, ulps in LIBRARY_ULPS.items()}
    for _ in range(TRIES):
        for place, (value, other) in enumerate(zip(wanted, run(exact, row, elementary=moved).values, strict=True)):
            if isinstance(value, float) and math.isfinite(value) and math.isfinite(other):
                most[place] = max(most[place], FACTOR * abs(other - value))
    return most


def _moved(function: Callable[..., Any], ulps: int, random: Random) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        value = function(*args)
        return value + random.randint(-ulps, ulps) * math.ulp(value) if math.isfinite(value) else value

    return call
