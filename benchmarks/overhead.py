"""What a call costs beyond its computation: microseconds, beside np.hypot in the same process.

    python -m benchmarks.overhead [--calls]

The function has eight things that are looked at in each call, five numbers of its module and a function of another one
among them. Contenders take turns of some hundred calls; each has its shortest turn. `--calls` leaves out imports and
compiling, which take minutes (`benchmarks.startup` measures them).
"""

from __future__ import annotations

import argparse
import linecache
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import numpy as np

import pyflat

LOW, GAIN, SHIFT, SLOPE, HIGH, BASE = 0.5, 3.0, 0.25, 2.0, 8.0, 1.5
"""With `math`, math.sqrt and the code of the function itself these make its guards."""

CALLS, TURNS = 500, 200
MICRO = 1e-6
BEYOND_HYPOT = {1: 0.5 * MICRO, 100: 1.0 * MICRO}
"""Number of elements -> seconds."""
SCALAR, BEYOND_UFUNCS = 1.5 * MICRO, 1.0 * MICRO
MANY = (20, 40, 80)
PER_ARGUMENT = 0.15 * MICRO
BY_NAME, INTO = 0.3 * MICRO, 0.3 * MICRO
"""Seconds that keywords, and `out=` with its tests of overlap, may take beyond a call by position."""


def one(x: float) -> float:
    if x > LOW:
        return math.sqrt(x + SHIFT) * GAIN
    return (x * SLOPE + HIGH) * BASE


def two(x: float, y: float) -> float:
    if x > LOW:
        return math.sqrt(x + SHIFT) * GAIN + y
    return (y * SLOPE + HIGH) * BASE


def taking_turns(runs: Mapping[str, tuple[Callable[..., Any], tuple[Any, ...]]]) -> dict[str, float]:
    """Seconds of processor time for one call of each."""
    best = dict.fromkeys(runs, math.inf)
    for _ in range(TURNS):
        for name, (run, arguments) in runs.items():
            best[name] = min(best[name], _turn(run, arguments))
    return best


def _turn(run: Callable[..., Any], arguments: tuple[Any, ...]) -> float:
    rounds = range(CALLS)
    if len(arguments) == 1:
        (a,) = arguments
        start = time.thread_time()
        for _ in rounds:
            run(a)
        return (time.thread_time() - start) / CALLS
    if len(arguments) == 2:
        a, b = arguments
        start = time.thread_time()
        for _ in rounds:
            run(a, b)
        return (time.thread_time() - start) / CALLS
    start = time.thread_time()
    for _ in rounds:
        run()
    return (time.thread_time() - start) / CALLS


def _errstate() -> None:
    with np.errstate(all="ignore"):
        pass


def _nothing() -> None:
    pass


def goals() -> Iterator[tuple[str, float, float]]:
    """Subject, seconds for a call, and the seconds that are the goal."""
    yield from _numba()
    yield from _numpy()
    yield from _ways()
    yield from _many()
    yield from _kernels()


def smooth(a: Any, out: Any) -> None:
    for i in range(1, len(a) - 1):
        out[i] = (a[i - 1] + a[i] + a[i + 1]) / 3.0


def total(a: Any) -> Any:
    s = 0.0
    for x in a:
        s += x
    return s


def doubled(a: Any) -> Any:
    out = np.zeros(len(a))
    for i in range(len(a)):
        out[i] = 2.0 * a[i]
    return out


def _kernels() -> Iterator[tuple[str, float, float]]:
    """Kernels over 16 elements, beside numba.njit."""
    import numba

    runs: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}
    a = np.linspace(0.0, 1.0, 16)
    for function, arguments in ((smooth, (a, np.zeros(16))), (total, (a,)), (doubled, (a,))):
        runs[f"{function.__name__} njit"] = numba.njit(function), arguments
        runs[f"{function.__name__} twin"] = pyflat.twin(function, target="numba"), arguments
    for run, arguments in runs.values():
        for _ in range(3):
            run(*arguments)
    taken = taking_turns(runs)
    for name in ("smooth", "total", "doubled"):
        njit, own = taken[f"{name} njit"], f"njit ({taken[f'{name} njit'] / MICRO:.2f} µs) + 0.5 µs"
        yield f"call of a kernel, {name}, 16 elements: {own}", taken[f"{name} twin"], njit + 0.5 * MICRO


def _numba() -> Iterator[tuple[str, float, float]]:
    runs: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}
    for function, count in ((one, 1), (two, 2)):
        twin: Any = pyflat.twin(function, target="numba")
        for size in BEYOND_HYPOT:
            runs[f"{count} {size}"] = twin, (np.full(size, 2.0),) * count
            runs[f"hypot {size}"] = np.hypot, (np.full(size, 2.0),) * 2
        other: Any = pyflat.twin(function, target="numba", errors="nan")
        runs[f"{count} scalar"] = other, (2.0,) * count
    for run, arguments in runs.values():
        for _ in range(3):
            run(*arguments)
    taken = taking_turns(runs)
    for count in (1, 2):
        of = f"{count} argument{'s' * (count > 1)}"
        for size, beyond in BEYOND_HYPOT.items():
            elements = f"{size} element{'s' * (size > 1)}"
            hypot = taken[f"hypot {size}"]
            own = f"np.hypot ({hypot / MICRO:.2f} µs) + {beyond / MICRO:.1f} µs"
            yield f"call, numba engine, {of}, {elements}: {own}", taken[f"{count} {size}"], hypot + beyond
        yield f"call, numba engine, {of}, scalars", taken[f"{count} scalar"], SCALAR


def _numpy() -> Iterator[tuple[str, float, float]]:
    from pyflat.runtime.compiled import Built

    for function, count in ((one, 1), (two, 2)):
        twin: Any = pyflat.twin(function, target="numpy")
        arguments = (np.full(1, 2.0),) * count
        for _ in range(3):
            twin(*arguments)
        built: Built = twin._caller.compilations.last(twin.options.as_built)
        engine: Any = built.engine
        ufuncs = engine.entry_point([a.dtype for a in arguments]).ufuncs(*arguments)
        taken = taking_turns({"twin": (twin, arguments), "ufuncs": (ufuncs, ()), "errstate": (_errstate, ()),
                              "function": (_nothing, ())})
        errstate = taken["errstate"] - taken["function"]
        of = f"{count} argument{'s' * (count > 1)}"
        own = f"errstate ({errstate / MICRO:.2f} µs) + its ufuncs ({taken['ufuncs'] / MICRO:.2f} µs)"
        subject = f"call, NumPy engine, {of}, 1 element: {own} + {BEYOND_UFUNCS / MICRO:.1f} µs"
        yield subject, taken["twin"], errstate + taken["ufuncs"] + BEYOND_UFUNCS


def _ways() -> Iterator[tuple[str, float, float]]:
    """One call by position, by name, and into a given array."""
    x, y, out = np.full(1, 2.0), np.full(1, 3.0), np.empty(1)
    for target in ("numba", "numpy"):
        twin: Any = pyflat.twin(two, target=target)
        runs: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
            "position": (lambda t=twin: t(x, y), ()), "name": (lambda t=twin: t(y=y, x=x), ()),
            "out": (lambda t=twin: t(x, y, out=out), ()),
        }
        for run, _ in runs.values():
            for _ in range(3):
                run()
        taken = taking_turns(runs)
        own = f"by position ({taken['position'] / MICRO:.2f} µs)"
        for way, shown, beyond in (("name", "by name", BY_NAME), ("out", "out=", INTO)):
            subject = f"call, {target}, 2 arguments, 1 element, {shown}: {own} + {beyond / MICRO:.1f} µs"
            yield subject, taken[way], taken["position"] + beyond


def _of_many(count: int) -> Callable[..., Any]:
    """A function of an array and `count - 1` numbers, every fifth of them a tuple of three."""
    names = [f"p{k}" for k in range(1, count)]
    terms = " + ".join(f"{name}[0] * {name}[1] - {name}[2]" if k % 5 == 0 else name for k, name in enumerate(names))
    text = f"def many(x, {', '.join(names)}):\n    return x + {terms} if x > 0.0 else x\n"
    place, scope = f"<many {count}>", {"__name__": __name__}
    linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
    exec(compile(text, place, "exec"), scope)
    made: Any = scope["many"]
    return cast("Callable[..., Any]", made)


def _many() -> Iterator[tuple[str, float, float]]:
    """What one argument more takes, beyond a call with one."""
    runs: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}
    x = np.full(1, 2.0)
    for count in (1, *MANY):
        twin: Any = pyflat.twin(_of_many(count) if count > 1 else one, target="numba")
        given = [(1.0, 2.0, 3.0) if k % 5 == 0 else k if k % 2 else k / 2 for k in range(count - 1)]
        named = {sys.intern(f"p{k + 1}"): value for k, value in enumerate(given)}
        runs[f"{count} position"] = (lambda t=twin, given=given: t(x, *given), ())
        runs[f"{count} name"] = (lambda t=twin, named=named: t(x, **named), ())
    for run, _ in runs.values():
        for _ in range(3):
            run()
    taken = taking_turns(runs)
    for count in MANY:
        for way in ("position", "name"):
            each = (taken[f"{count} {way}"] - taken[f"1 {way}"]) / (count - 1)
            subject = f"call, numba, {count} arguments, numbers and tuples of three, by {way}: one argument more"
            yield subject, each, PER_ARGUMENT


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", action="store_true", help="only what a call costs")
    calls = parser.parse_args().calls
    for subject, taken, goal in goals():
        verdict = "holds" if taken <= goal else "does not hold"
        print(f"{subject}\n    {taken / MICRO:.2f} µs, goal {goal / MICRO:.2f} µs: {verdict}", flush=True)
    if calls:
        return
    from benchmarks.goals import start
    from benchmarks.kernels import KERNELS

    for line in start(list(KERNELS)):
        print(f"{line.subject}\n    {line.measured}, goal {line.goal}: {line.verdict}", flush=True)


if __name__ == "__main__":
    main()
