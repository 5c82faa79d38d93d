"""Sixteen twins that go wrong when they are written by hand with NumPy or left to numba or JAX, beside the original and
pyflat.

    python examples/wrong_twins.py

The cases of JAX are shown where it is installed.

Each case is a plain function, the usual way to run it over arrays, and lanes where that way gives another value than
Python, or raises, warns, or stays silent where Python does not.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

import pyflat

Lanes = tuple[np.ndarray[Any, Any], ...]


@dataclass(frozen=True)
class Case:
    """One function, the wrong twin of it, and the lanes that show it."""

    title: str
    tool: str
    original: Callable[..., Any]
    wrong: Callable[..., Any]
    lanes: Lanes


def clipped_log(x):
    return math.log(x) if x > 0.0 else 0.0


def clipped_log_where(x):
    return np.where(x > 0.0, np.log(x), 0.0)


def clipped_log_blended(x):
    return (x > 0.0) * np.log(x)


def inverse(x):
    return 1.0 / x


def square(n):
    return n * n


def step_sign(x):
    if x > 0.0:
        sign = 1.0
    if x < 0.0:
        sign = -1.0
    return sign


def bucket(x):
    return int(x)


def smaller(x, limit):
    return min(x, limit)


def smaller_numpy(x, limit):
    return np.minimum(x, limit)


def cents(x):
    return round(x, 2)


def cents_numpy(x):
    return np.round(x, 2)


def is_limit(n, x):
    return n == x


def is_limit_numpy(n, x):
    return n == x


def next_collatz(n):
    return 3 * n + 1


def next_collatz_numpy(n):
    return np.int32(3) * n + np.int32(1)


def outside(x, high):
    if not x <= high:
        return 1.0
    return 0.0


def outside_where(x, high):
    return np.where(x > high, 1.0, 0.0)


RATE = 2.0


def converted(x):
    return x * RATE


def converted_stale(x):
    """numba keeps the value that a global had when it compiled."""
    global RATE  # noqa: PLW0603 - what the case is about
    before, RATE = RATE, 5.0
    compiled = numba.vectorize(converted)
    compiled(x)
    RATE = before
    return compiled(x)


def step_table(level):
    return STEPS[level]


def share(total, parts):
    return total // parts


def tail(x):
    return (x + 1.0) - x


def halved(x):
    return x * 0.5


STEPS = (0.5, 1.5, 2.5)


def column(*values: Any, dtype: Any = np.float64) -> np.ndarray[Any, Any]:
    return np.array(values, dtype=dtype)


def cases() -> list[Case]:
    """The cases; numba compiles its twins here."""
    return [
        Case("the arm not taken warns", "np.where", clipped_log, clipped_log_where, (column(2.0, 0.0),)),
        Case("the arm not taken poisons a blend", "mask * value", clipped_log, clipped_log_blended,
             (column(2.0, 0.0),)),
        Case("division by zero becomes inf", "numba.vectorize", inverse, numba.vectorize(inverse), (column(4.0, 0.0),)),
        Case("an int overflows in silence", "numba.vectorize", square, numba.vectorize(square),
             (column(3, 2**32 + 1, dtype=np.int64),)),
        Case("a name that is not bound is a number", "numba.vectorize", step_sign, numba.vectorize(step_sign),
             (column(3.0, 0.0),)),
        Case("the int of nan is a number", "numba.vectorize", bucket, numba.vectorize(bucket),
             (column(2.5, math.nan),)),
        Case("min follows nan", "np.minimum", smaller, smaller_numpy,
             (column(1.0, 1.0), column(0.5, math.nan))),
        Case("round decides decimal ties twice", "np.round", cents, cents_numpy, (column(1.25, 2.675),)),
        Case("an int is compared as a float", "numpy ==", is_limit, is_limit_numpy,
             (column(3, 2**53 + 1, dtype=np.int64), column(3.0, 2.0**53))),
        Case("a small int type wraps", "np.int32", next_collatz, next_collatz_numpy,
             (column(7, 2**30, dtype=np.int32),)),
        Case("not (x <= y) is written x > y", "np.where", outside, outside_where,
             (column(2.0, math.nan), column(1.0, 1.0))),
        Case("a changed constant is not seen", "numba.vectorize", converted, converted_stale,
             (column(1.0, 3.0),)),
    ]


def jax_cases() -> list[Case]:
    """The cases of JAX, compiled for the processor; none where it is not installed."""
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        return []
    table = jnp.array(STEPS)
    cpu = jax.devices("cpu")[0]

    def compiled(fn: Callable[..., Any]) -> Callable[..., Any]:
        traced = jax.jit(fn)

        def run(*lanes: Any) -> np.ndarray[Any, Any]:
            with jax.default_device(cpu):
                return np.asarray(traced(*lanes))

        return run

    def wide(fn: Callable[..., Any]) -> Callable[..., Any]:
        def run(*lanes: Any) -> np.ndarray[Any, Any]:
            with jax.enable_x64(True):
                return compiled(fn)(*lanes)

        return run

    ints = column(1, 7, dtype=np.int32)
    return [
        Case("an index beyond the table is its end", "jax.jit", step_table, compiled(lambda level: table[level]),
             (ints,)),
        Case("an int divided by zero is a number", "jax.jit", share, compiled(share),
             (column(7, 7, dtype=np.int32), column(2, 0, dtype=np.int32))),
        Case("float64 becomes float32", "jax.jit", tail, compiled(tail), (column(1.0, 1e9),)),
        Case("subnormal numbers become zero", "jax.jit, x64", halved, wide(halved), (column(1.0, 1e-310),)),
    ]


def python_outcomes(case: Case) -> list[str]:
    """The original, lane by lane."""
    found = []
    for row in zip(*(lane.tolist() for lane in case.lanes), strict=True):
        try:
            found.append(repr(case.original(*row)))
        except (ArithmeticError, ValueError, LookupError, UnboundLocalError) as error:
            found.append(f"raises {type(error).__name__}")
    return found


def wrong_outcomes(case: Case) -> tuple[list[str], str]:
    """What the wrong twin gives in each lane, and its warning ("" when it is silent)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        values = case.wrong(*case.lanes).tolist()
    return list(map(repr, values)), str(caught[0].message) if caught else ""


def twin_outcomes(case: Case, target: str) -> list[str]:
    """pyflat's twin on all lanes at once, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values, faults = pyflat.twin(case.original, target=target, math="exact", errors="mask")(*case.lanes)
    return [f"raises {faults[i].type.__name__}" if faults[i] else repr(v) for i, v in enumerate(values.tolist())]


def table(number: int, case: Case) -> str:
    """One case as text."""
    rows = [", ".join(map(repr, row)) for row in zip(*(lane.tolist() for lane in case.lanes), strict=True)]
    wrong, warning = wrong_outcomes(case)
    columns = [rows, python_outcomes(case), wrong, twin_outcomes(case, "numpy"), twin_outcomes(case, "numba")]
    titles = ["arguments", "Python", case.tool, "pyflat numpy", "pyflat numba"]
    lines: list[Sequence[str]] = [titles, *zip(*columns, strict=True)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(titles))]
    text = [f"{number}. {case.title}" + (f" (RuntimeWarning: {warning})" if warning else "")]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        text.append("   " + "  ".join(cells).rstrip())
    return "\n".join(text)


def main() -> None:
    for number, case in enumerate(cases() + jax_cases(), 1):
        print(table(number, case), end="\n\n")


if __name__ == "__main__":
    main()
