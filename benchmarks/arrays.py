"""Index loops over arrays: the nineteen kernels of `examples/kernels/` as twins, against numba.njit, NumPy and C.

    make bench-arrays            python -m benchmarks.arrays [--kernels hdiff,lcs] [--contenders njit,"twin numba"]

All contenders of a kernel run in one process on one core and take turns on arguments made anew; the shortest turn of a
contender is its time. (Not in processor seconds, which some systems count in ticks of 4 ms.) Each must have the bits of
the Python loop on small arguments, and of njit on large ones: NumPy's sums have an order of their own, and where bits
differ a `~` stands at the ratio. Ratios are to njit: 2 is twice as fast. Arrays made inside cost their page faults, as
the C library happens to give memory. The first call is the whole of it, with compiling, on small arguments, without a
cache. A contender that is missing or fails is named with the reason.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import pyflat
from benchmarks.array_kernels import ARRAY_KERNELS, Arguments, ArrayKernel
from benchmarks.contenders import whole_arrays
from benchmarks.contenders.builds import built
from benchmarks.contenders.record import UnavailableError
from benchmarks.environment import ONE_THREAD, ROOT, describe, pin
from benchmarks.measuring import geomean
from benchmarks.report import markdown
from tests.generator.differential import Slow, time_limit

Call = Callable[..., Any]
SOURCE = ROOT / "benchmarks" / "native" / "arrays.c"
BASE = "njit"
LEAST = 0.95
PAGE = ROOT / "docs" / "contributors" / "array-kernels.md"
HEAD = """\
# Kernels over arrays

<!-- written by `make bench-arrays ARRAYS_ARGS=--docs`; do not edit -->

The nineteen index loops of `examples/kernels/`, unmodified, against numba.njit (1.0; more is faster), NumPy as one
writes it by hand, and the same loops in C (`-O3 -march=native -ffp-contract=off`); one process, one core, shortest
turns. `~`: other bits than the Python loop's. The goal is that no kernel is below 0.95 of njit, and that the geometric
mean is at least 1.3.

njit makes the temporaries of `hdiff` in new memory at each call, or in memory that was used before, as the C library
happens to decide in a process: its time is 7 ms or 22 ms, and the ratio follows it
([design](design/passes.md#an-array-is-computed-where-it-is-read): the twin has no temporaries there).
"""
LONGEST = 20.0
"""Seconds after which a call is given up."""


def _njit(kernel: ArrayKernel) -> Call:
    import numba

    compiled: Call = numba.njit(kernel.function)
    return compiled


def _numpy(kernel: ArrayKernel) -> Call:
    found: Call | None = getattr(whole_arrays, kernel.name, None)
    if found is None:
        raise UnavailableError("not written so")
    return found


def _twin(target: str) -> Callable[[ArrayKernel], Call]:
    return lambda kernel: pyflat.twin(kernel.function).with_options(target=target)


def _compiled(compiler: str) -> Callable[[ArrayKernel], Call]:
    """The C loops, called with the arguments of Python; what Python returns is made by NumPy."""
    def made(kernel: ArrayKernel) -> Call:
        flags = ("-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC")
        try:
            library = built(SOURCE, [(compiler, *flags, "-o", "OUT", str(SOURCE), "-lm")], compiler)
        except FileNotFoundError as error:
            raise UnavailableError(f"{compiler} is not installed") from error
        run = getattr(ctypes.CDLL(str(library)), kernel.name)
        run.restype = None

        def call(*given: Any) -> Any:
            result = kernel.result(*given) if kernel.result else None
            everything = (*given, *(() if result is None else (result,)), *map(int, kernel.sizes(*given)))
            run(*map(_for_c, everything))
            return result

        return call
    return made


def _for_c(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    return ctypes.c_double(value) if isinstance(value, float) else ctypes.c_int64(value)


CONTENDERS: Mapping[str, Callable[[ArrayKernel], Call]] = {
    BASE: _njit, "twin numba": _twin("numba"), "twin numpy": _twin("numpy"), "NumPy": _numpy,
    "clang": _compiled("clang"), "gcc": _compiled("gcc"),
}


@dataclass(slots=True)
class Result:
    """Of one contender on one kernel."""

    kernel: str
    contender: str
    seconds: float = math.nan
    first: float = math.nan
    exact: bool = False
    """Whether its bits are those of the Python loop on small arguments, and those of njit on large ones."""
    failed: str = ""


# --- bits


def outputs(returned: Any, given: Arguments) -> list[np.ndarray[Any, Any]]:
    """What a call returned and what it may have written."""
    results = [] if returned is None else list(returned) if isinstance(returned, tuple) else [returned]
    return [np.asarray(result) for result in results] + [one for one in given if isinstance(one, np.ndarray)]


def same_bits(found: Sequence[np.ndarray[Any, Any]], expected: Sequence[np.ndarray[Any, Any]]) -> bool:
    return len(found) == len(expected) and all(
        one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
        for one, other in zip(found, expected, strict=True))


# --- measuring


def _half(x: float) -> float:
    return 0.5 * x if x > 0.0 else x


def warm_up() -> None:
    """What the first use of a compiler costs, whatever it compiles, is no part of a kernel's first call."""
    import numba

    numba.njit(_half)(1.0)
    for target in ("numpy", "numba"):
        pyflat.twin(_half).with_options(target=target)(np.ones(8))


def prepared(kernel: ArrayKernel, name: str, result: Result) -> Call | None:
    """A contender that has run once; its first call and whether it has Python's bits go into the result."""
    given, reference = kernel.arguments("small"), kernel.arguments("small")
    expected = outputs(kernel.function(*reference), reference)
    try:
        call = CONTENDERS[name](kernel)
        start = time.perf_counter()
        returned = call(*given)
        result.first = time.perf_counter() - start
    except UnavailableError as error:
        result.failed = str(error)
        return None
    except Exception as error:  # noqa: BLE001 - any failure of a contender is reported beside the others
        result.failed = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:160]}"
        return None
    result.exact = same_bits(outputs(returned, given), expected)
    return call


def measure(kernel: ArrayKernel, names: Sequence[str], repeats: int, budget: float) -> list[Result]:
    """All contenders of a kernel in turns; fewer turns where those of one have taken more than `budget` seconds."""
    results = {name: Result(kernel.name, name) for name in names}
    calls = {name: call for name in names if (call := prepared(kernel, name, results[name])) is not None}
    fresh, work = kernel.arguments("large"), kernel.arguments("large")
    reference: list[np.ndarray[Any, Any]] | None = None
    spent = dict.fromkeys(calls, 0.0)
    for turn in range(repeats + 1):
        for name, call in calls.items():
            if results[name].failed or turn > 2 and spent[name] > budget:
                continue
            for one, original in zip(work, fresh, strict=True):
                if isinstance(one, np.ndarray):
                    np.copyto(one, original)
            start = time.perf_counter()
            try:
                with time_limit(LONGEST):
                    returned = call(*work)
            except Slow:
                results[name].failed = f"more than {LONGEST:.0f} s on large arguments"
                continue
            taken = time.perf_counter() - start
            spent[name] += taken
            if turn:
                results[name].seconds = min(taken, results[name].seconds) if turn > 1 else taken
                continue
            found = outputs(returned, work)
            if reference is None:
                reference = [one.copy() for one in found]
            results[name].exact &= same_bits(found, reference)
    return list(results.values())


# --- the table


def ratios(results: Sequence[Result], contender: str) -> dict[str, float]:
    """njit's time over the contender's, by kernel."""
    base = {result.kernel: result.seconds for result in results if result.contender == BASE}
    return {result.kernel: base.get(result.kernel, math.nan) / result.seconds
            for result in results if result.contender == contender and result.seconds == result.seconds}


def table(results: Sequence[Result], names: Sequence[str]) -> str:
    """Ratios by kernel, their geometric means, first calls, and what failed."""
    by = {(result.kernel, result.contender): result for result in results}
    kernels = list(dict.fromkeys(result.kernel for result in results))
    others = [name for name in names if name != BASE]
    compiled = [name for name in names if name == BASE or "twin" in name]
    rows = [["kernel", "njit, ms", *others, *(f"{name}: first call, s" for name in compiled)]]
    all_ratios = {name: ratios(results, name) for name in others}
    for kernel in kernels:
        base = by.get((kernel, BASE))
        cells = [_cell(by.get((kernel, name)), all_ratios[name].get(kernel)) for name in others]
        firsts = [_first(by.get((kernel, name))) for name in compiled]
        rows.append([kernel, f"{base.seconds * 1e3:.1f}" if base else "-", *cells, *firsts])
    rows.append(["geomean", "", *(f"{geomean(list(all_ratios[name].values())):.2f}" for name in others)])
    lines = [markdown([row + [""] * (len(rows[0]) - len(row)) for row in rows])]
    for name in others:
        below = [f"{kernel} {ratio:.2f}" for kernel, ratio in all_ratios[name].items() if ratio < LEAST]
        if "twin" in name:
            lines.append(f"\n{name}: below {LEAST} of njit: {', '.join(below) or 'none'}")
    failed = [f"- {result.kernel}, {result.contender}: {result.failed}" for result in results if result.failed]
    return "\n".join([*lines, *(["", "Not measured:", "", *failed] if failed else [])])


def _cell(result: Result | None, ratio: float | None) -> str:
    if result is None or ratio is None:
        return "-"
    return f"{ratio:.2f}{'' if result.exact else ' ~'}"


def _first(result: Result | None) -> str:
    return "-" if result is None or result.failed else f"{result.first:.2f}"


def read(path: Path) -> Iterator[Result]:
    """Results of a file; a later one of the same kernel and contender counts."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        result = Result(**json.loads(line)["result"])
        found[result.kernel, result.contender] = result
    yield from found.values()


def write_page(shown: str, where: Mapping[str, str]) -> None:
    versions = ", ".join(f"{name} {where[name]}" for name in ("python", "numpy", "numba") if name in where)
    text = f"{HEAD}\n{shown}\n\nMeasured {where['date']} on {where['processor']}; {versions}.\n"
    PAGE.write_text(text, encoding="utf-8")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", default=",".join(ARRAY_KERNELS))
    parser.add_argument("--contenders", default=",".join(CONTENDERS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--budget", type=float, default=1.5, help="seconds for each contender of a kernel")
    parser.add_argument("--json", type=Path, help="add the results to this file, a line for each")
    parser.add_argument("--table", type=Path, help="measure nothing, print the table of such a file")
    parser.add_argument("--docs", action="store_true", help="write docs/contributors/array-kernels.md")
    options = parser.parse_args(argv)
    names = options.contenders.split(",")
    if unknown := {*names} - {*CONTENDERS} | {*options.kernels.split(",")} - {*ARRAY_KERNELS}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    if options.table:
        shown = table(list(read(options.table)), names)
        print(shown)
        if options.docs:
            write_page(shown, [json.loads(line)["where"] for line in options.table.read_text().splitlines()][-1])
        return 0
    os.environ.update(ONE_THREAD, PYFLAT_CACHE="0")
    pin()
    warnings.simplefilter("ignore")
    warm_up()
    results: list[Result] = []
    for kernel in options.kernels.split(","):
        found = measure(ARRAY_KERNELS[kernel], names, options.repeats, options.budget)
        results += found
        for result in found:
            what = result.failed or f"{result.seconds * 1e3:9.2f} ms{'' if result.exact else ', other bits'}"
            print(f"{result.kernel:15} {result.contender:11} {what}", flush=True)
        if options.json:
            options.json.parent.mkdir(parents=True, exist_ok=True)
            with options.json.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps({"result": asdict(one), "where": describe()}) + "\n" for one in found)
    print("\n" + table(results, names))
    if options.docs:
        write_page(table(results, names), describe())
    return 1 if any(not one.exact for one in results if "twin" in one.contender and not one.failed) else 0


if __name__ == "__main__":
    sys.exit(main())
