"""Index loops over arrays that others wrote for numba, as twins: bits against the plain functions, times against njit.

    make real-kernels REAL_KERNELS_ARGS='--draw all'     python -m benchmarks.real_kernels [--target numpy] [--only dtw]

The functions, drawn at random from installed packages, and their arguments are in `real_kernels.json`, which
`benchmarks.real_search` writes. Nobody looks at those of its last draw, the "fresh", while pyflat is changed. Callees
are plain functions too, as the twin has them; njit compiles all of them.

A twin takes turns with njit on large arguments, and the plain function runs once; the twin's bits must be the plain
function's there, and on small arguments of several layouts and dtypes everything that a caller can see: results, what
is written, exceptions, warnings. The exit status is 1 where a twin differs, or fails with an error that is no refusal.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import importlib.metadata
import json
import math
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import pyflat
from benchmarks.arrays import outputs, same_bits
from benchmarks.environment import ONE_THREAD, describe, pin
from benchmarks.measuring import geomean, keep_freed_memory
from benchmarks.real_arguments import copied
from benchmarks.real_search import Found, apart, installed, read
from benchmarks.report import markdown
from benchmarks.uncompiled import plain, uncompiled
from pyflat.errors import FlattenError
from tests.generator.differential import Slow, time_limit
from tests.generator.kernels.differential import Outcome, bits, compare, refusal

Arguments = tuple[Any, ...]
SIZES, ELEMENTS = (0, 1, 5, 12, 40), 20_000
"""To check with, and the elements that an array has at most there."""
TURNS, BUDGET, LONGEST, DEADLINE = 25, 2.0, 20.0, 240
"""Turns, seconds for them, of a call, and of all that is done with a kernel."""
SLOW = 0.8


@dataclass(frozen=True)
class Copies:
    """A set of arguments for the oracle: copies of these, with their layouts."""

    given: Arguments
    mode: str = "default"

    @property
    def text(self) -> str:
        return repr(self.given)

    def arguments(self) -> Arguments:
        return copied(self.given)


@dataclass
class Result:
    """Seconds are nan where there are none; `same`: whether njit has the twin's bits."""

    kernel: str
    draw: str
    status: str = "right"
    """"right", "refused", "wrong", "raw" (an error that is no refusal), "missing"."""
    what: str = ""
    njit: float = math.nan
    twin: float = math.nan
    python: float = math.nan
    first_njit: float = math.nan
    first_twin: float = math.nan
    same: bool = True
    warned: list[str] = field(default_factory=list)
    sets: int = 0
    refused: list[str] = field(default_factory=list)
    """Refusals of some layouts and dtypes."""

    @property
    def ratio(self) -> float:
        return self.njit / self.twin

    def cells(self) -> list[str]:
        if self.status != "right":
            return [self.kernel, self.status, "", "", "", "", "", self.what.split("\n")[0][:150]]
        times = [f"{seconds * 1e3:.3f}" for seconds in (self.njit, self.twin, self.python)]
        notes = "; ".join(self.warned[:1] + self.refused[:1])[:100]
        return [self.kernel, self.status, *times, f"{self.ratio:.2f}{'' if self.same else ' ~'}",
                f"{self.first_njit:.2f} {self.first_twin:.2f}", notes]


# --- bits


def variants(given: Arguments) -> list[Arguments]:
    """The arguments as they are, strided, in Fortran's order, with float32 for float64."""
    def each(change: Callable[[np.ndarray[Any, Any]], Any]) -> Arguments:
        return tuple(change(one) if isinstance(one, np.ndarray) else one for one in given)

    def narrow(one: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return one.astype(np.float32) if one.dtype == np.float64 else one

    arrays = [one for one in given if isinstance(one, np.ndarray)]
    found = [given, each(lambda one: np.repeat(one, 2, axis=0)[::2])]
    if any(one.ndim > 1 for one in arrays):
        found.append(each(np.asfortranarray))
    return [*found, each(narrow)] if any(one.dtype == np.float64 for one in arrays) else found


def check(kernel: Found, original: Callable[..., Any], target: str, result: Result) -> None:
    """The twin against the original on small arguments."""
    outcome, twin = Outcome(), pyflat.twin(original).with_options(target=target)
    for size in SIZES:
        made = kernel.arguments(size, seed=size)
        if size > 5 and max(np.size(one) for one in made) > ELEMENTS:
            break
        for given in variants(made):
            compare(original, twin, Copies(given), outcome)
            if outcome.failures:
                failure = outcome.failures[0]
                raw = failure.what in ("crash", "time") or failure.what == "error" and failure.expected == "None"
                result.status, result.what = "raw" if raw else "wrong", str(failure)
                return
    result.sets, result.refused = outcome.sets, list(dict.fromkeys(outcome.refusals))


# --- times


def measure(kernel: Found, value: Any, original: Callable[..., Any], target: str, result: Result) -> None:
    """First calls, turns, the plain function, and whether the twin has its bits on the large arguments."""
    import numba

    given = kernel.arguments(kernel.size)
    calls: dict[str, Callable[..., Any]] = {
        "njit": numba.njit(uncompiled(value)), "twin": pyflat.twin(original).with_options(target=target)}
    found, taken, seen = {}, collections.defaultdict(list), ()
    begun = time.perf_counter()
    for turn in range(TURNS):
        for name, call in calls.items():
            work = copied(given)
            with warnings.catch_warnings(record=True) as shown, time_limit(LONGEST):
                warnings.simplefilter("ignore" if turn > 3 else "always")
                start = time.perf_counter()
                returned = call(*work)
                taken[name].append(time.perf_counter() - start)
            if name == "twin":
                slow = [one for one in shown if issubclass(one.category, pyflat.PerformanceWarning)]
                result.warned += [str(one.message) for one in slow]
                seen = seen or (bits(returned), bits(work))
            if not turn:
                found[name] = outputs(returned, work)
        if turn > 3 and time.perf_counter() - begun > BUDGET + sum(first[0] for first in taken.values()):
            break
    (result.first_njit, *turns), (result.first_twin, *others) = taken["njit"], taken["twin"]
    result.njit, result.twin, result.same = min(turns), min(others), same_bits(found["njit"], found["twin"])
    work = copied(given)
    start = time.perf_counter()
    returned = original(*work)
    result.python = time.perf_counter() - start
    if (bits(returned), bits(work)) != seen:
        result.status, result.what = "wrong", "other bits on large arguments"


def examined(kernel: Found, target: str) -> Result:
    result = Result(kernel.name, kernel.draw)
    pin()
    try:
        value = getattr(importlib.import_module(kernel.module), kernel.attribute)
        original = plain(value)
    except Exception as error:  # noqa: BLE001 - modules of others raise anything
        result.status, result.what = "missing", f"{type(error).__name__}: {error}"
        return result
    keep_freed_memory()
    try:
        measure(kernel, value, original, target, result)
    except FlattenError as error:
        result.status, result.what = "refused", f"{refusal(error)}\n{error}"
        return result
    except Slow as error:
        result.status, result.what = "raw", f"on large arguments: {error}"
    except Exception as error:  # noqa: BLE001 - any other error is a finding
        result.status, result.what = "raw", f"{type(error).__name__}: {error}"
    if result.status == "right":
        check(kernel, original, target, result)
    return result


# --- the table


def summary(results: Sequence[Result]) -> str:
    there = [one for one in results if one.status != "missing"]
    right = [one for one in there if one.status == "right"]
    ratios = [one.ratio for one in right]
    head = ["function", "bits", "njit, ms", "twin, ms", "Python, ms", "times as fast", "first calls, s", "notes"]
    lines = [markdown([head, *(one.cells() for one in results)]), ""]
    counts = collections.Counter(one.status for one in there)
    lines.append(f"flattened {len(there) - counts['refused']} of {len(there)}, right {len(right)}, "
                 f"wrong {counts['wrong']}, raw {counts['raw']}")
    if right:
        lines.append(f"njit over twin: geomean {geomean(ratios):.2f}, median {statistics.median(ratios):.2f}; "
                     f"at least {SLOW}: {sum(ratio >= SLOW for ratio in ratios)} of {len(right)}")
    slowest = sorted(right, key=lambda one: one.ratio)
    lines += [f"below {SLOW}: {one.kernel} {one.ratio:.2f}" for one in slowest if one.ratio < SLOW]
    lines += [f"slower than Python: {one.kernel} {one.python / one.twin:.2f}, {'' if one.warned else 'not '}warned"
              for one in right if one.twin > one.python]
    return "\n".join(lines)


def recorded(path: Path | None) -> list[Result]:
    lines = path.read_text(encoding="utf-8").splitlines() if path and path.exists() else []
    return [Result(**{key: value for key, value in json.loads(line).items() if key != "where"}) for line in lines]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", choices=("seen", "fresh", "all"), default="seen")
    parser.add_argument("--target", choices=("numpy", "numba"), default="numba")
    parser.add_argument("--only", default="", help="functions whose module and name contain this")
    parser.add_argument("--out", type=Path, help="write a line of JSON for each function to this file")
    parser.add_argument("--go-on", action="store_true", help="keep what that file has")
    options = parser.parse_args(argv)
    wanted = [one for one in read() if options.draw in ("all", one.draw) and options.only in one.name]
    versions = {one.package: one.version for one in wanted}
    there = set(installed(list(versions)))
    if not there:
        print("no package of benchmarks/real_kernels.json is installed: pip install quantecon", file=sys.stderr)
        return 2
    if missing := sorted(set(versions) - there):
        print(f"not installed: {', '.join(missing)}")
    if others := [f"{name} {own} (drawn from {versions[name]})" for name in sorted(there)
                  if (own := importlib.metadata.version(name)) != versions[name]]:
        print(f"of another version: {', '.join(others)}")
    os.environ.update(ONE_THREAD, PYFLAT_CACHE="0")
    warnings.simplefilter("ignore")
    import numba  # before processes are made

    numba.config.reload_config()
    results = recorded(options.out) if options.go_on else []
    if options.out and not options.go_on:
        options.out.write_text("", encoding="utf-8")
    for kernel in wanted:
        if kernel.package not in there or any(one.kernel == kernel.name for one in results):
            continue
        result = apart(examined, kernel, options.target, seconds=DEADLINE)
        if isinstance(result, str):
            result = Result(kernel.name, kernel.draw, "raw", result)
        results.append(result)
        print(" ".join(result.cells()), flush=True)
        if options.out:
            with options.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**asdict(result), "where": describe()}) + "\n")
    print("\n" + summary(results))
    return int(any(one.status in ("wrong", "raw") for one in results))


if __name__ == "__main__":
    sys.exit(main())
