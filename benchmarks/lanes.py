"""Speed of branchy scalar functions over arrays, against what people use instead: `make bench`, `make ratios`.

Seventeen kernels, in float64 and float32, 4k / 256k / 16M lanes. Each row of the table (a kernel, a type, a size) is
measured in a process of its own, pinned to one core; contenders take turns there (`benchmarks.measuring`), after each
one's result has been checked (`benchmarks.agreement`). All make a new array. The unit is numba.vectorize of the
unmodified function: 1.0, more is faster. np.vectorize runs on a sample. Contenders that are not installed are left
out with a note (`pip install '.[bench]'`, gcc, clang, an LLVM library for Dr.Jit), and so is who ends the process.

With 16M lanes there are fewer turns. Who works on a lane from beginning to end, and would take more than half a second,
is timed on a million lanes from everywhere; others are left out where one call would take more than two seconds.

    python -m benchmarks.lanes [--sizes 4096,262144,16777216] [--types f8,f4] [--kernels bs,srgb]
                               [--contenders numba,vector] [--out FILE] [--go-on] [--minutes 10] [--plot FILE] [--docs]
    python -m benchmarks.lanes --report FILE [--plot FILE] [--docs]    what an earlier run has written

`--out` gets a JSON object for each row as it is measured, with versions, processor, date and commit. `--go-on` leaves
the rows that FILE has from these sources and this processor: the next run finishes one that was interrupted, or has
spent its `--minutes`. `--docs` writes docs/contributors/benchmarks.md from all rows of FILE.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path

from benchmarks import bars, page
from benchmarks.contenders import CONTENDERS, UNIT
from benchmarks.environment import ONE_THREAD, ROOT, processor, sources
from benchmarks.kernels import KERNELS
from benchmarks.report import Row, parse, read, report
from benchmarks.row import TYPES, Limits

CORE = frozenset(name for name, kernel in KERNELS.items() if kernel.core)
SIZES = (4096, 262144, 16777216)


class RowError(Exception):
    """A process ended without a record, and not because of a contender."""


def row(kernel: str, kind: str, lanes: int, names: Sequence[str], limits: Limits, seconds: float | None = None) -> str:
    """The record of one row as JSON. A contender that ends the process, or is running when so many seconds are over, is
    left out of the next try. A kernel that is none of the seventeen is a drawn function.

    Raises `RowError` where no contender was running, or the unit itself was.
    """
    remaining, lost = list(names), {}
    module = "benchmarks.row" if kernel in KERNELS else "benchmarks.drawn"
    while True:
        done = ended(
            [sys.executable, "-m", module, kernel, kind, str(lanes), "--contenders", ",".join(remaining),
             *[part for name, value in asdict(limits).items() for part in (f"--{name}", str(value))]], seconds)
        lines = done.stdout.splitlines()
        for line in lines:
            if line.startswith("result "):
                record = json.loads(line.removeprefix("result "))
                record["notes"] |= lost
                return json.dumps(record)
        started = [line.removeprefix("start ") for line in lines if line.startswith("start ")]
        if not started or started[-1] == UNIT and kernel in KERNELS:
            raise RowError(f"{kernel} {kind} {lanes}: {done.stderr[-2000:] or f'exit status {done.returncode}'}")
        remaining.remove(started[-1])
        lost[started[-1]] = (f"ended the process (status {done.returncode})" if done.returncode is not None
                             else f"takes more than {seconds:.0f} s")


def ended(command: Sequence[str], seconds: float | None) -> subprocess.CompletedProcess[str]:
    """A process that has ended, or was ended after so many seconds: then it has no status."""
    try:
        return subprocess.run(command, cwd=ROOT, env=os.environ | ONE_THREAD, capture_output=True, text=True,
                              check=False, timeout=seconds)
    except subprocess.TimeoutExpired as late:
        text = late.stdout.decode() if isinstance(late.stdout, bytes) else late.stdout or ""
        return subprocess.CompletedProcess(command, None, text, "")  # type: ignore[arg-type]


Key = tuple[int, str, str]


def measured(keys: Sequence[Key], names: Sequence[str], limits: Limits, seconds: float = math.inf,
             longest: float | None = None) -> Iterator[str]:
    """Records of (lanes, type, kernel), each as soon as it is there; no new one after so many seconds. None takes
    longer than `longest` seconds."""
    end = time.monotonic() + seconds
    for lanes, kind, kernel in keys:
        if time.monotonic() >= end:
            return
        yield row(kernel, kind, lanes, names, limits, longest)


def finished(rows: Sequence[Row], names: Sequence[str], here: Mapping[str, str]) -> set[Key]:
    """The rows that need not be measured again: with all of these contenders, and all facts `here` as they are now."""
    return {(found.lanes, found.type, found.kernel) for found in rows
            if found.asked >= set(names) and all(found.environment.get(name) == fact for name, fact in here.items())}


def keep(path: Path, line: str) -> None:
    """Append a record to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def summary(found: Row) -> str:
    unit = found.seconds.get(UNIT)
    if unit is None:
        return f"{found.kernel} {found.type} {found.lanes}: no {UNIT}: {found.notes.get(UNIT)}"
    ratios = [f"{name} {unit.best / mine.best:.2f}" for name, mine in found.seconds.items() if name != UNIT]
    return f"{found.kernel} {found.type} {found.lanes} {unit.best * 1e9:.2f} ns " + " ".join(ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="lanes")
    parser.add_argument("--types", default=",".join(TYPES))
    parser.add_argument("--kernels", default=",".join(KERNELS))
    parser.add_argument("--contenders", default=",".join(CONTENDERS))
    for limit, default in asdict(Limits()).items():
        parser.add_argument(f"--{limit}", type=type(default), default=default)
    parser.add_argument("--out", help="append the records to this file")
    parser.add_argument("--go-on", action="store_true", help="leave the rows that are there already")
    parser.add_argument("--minutes", type=float, default=math.inf, help="start no row after so many")
    parser.add_argument("--report", help="print the tables of this file, measure nothing")
    parser.add_argument("--plot", help="draw each function against numba.vectorize, as SVG")
    parser.add_argument("--docs", action="store_true", help="write docs/contributors/benchmarks.md")
    options = parser.parse_args()
    stored = options.report or options.out
    if (options.go_on or options.docs) and not stored:
        parser.error("there is no file to go on with, or to show")
    rows = read(stored) if stored and Path(stored).exists() else []
    keys = list(product(map(int, options.sizes.split(",")), options.types.split(","), options.kernels.split(",")))
    if not options.report:
        names = [UNIT, *[name for name in options.contenders.split(",") if name != UNIT]]
        done = finished(rows, names, {"sources": sources(), "processor": processor()}) if options.go_on else set()
        left = [key for key in keys if key not in done]
        print(f"{len(left)} of {len(keys)} rows to measure", flush=True)
        lines: list[str] = []
        limits = Limits(options.repeats, options.budget, options.longest)
        for line in measured(left, names, limits, options.minutes * 60):
            lines.append(line)
            print(summary(parse([line])[0]), flush=True)
            if options.out:
                keep(Path(options.out), line)
        print(f"{len(left) - len(lines)} of them are left", flush=True)
        rows = read(options.out) if options.go_on or options.docs else parse(lines)
    print(report(rows, CORE))
    if options.plot:
        Path(options.plot).write_text(bars.functions(bars.chosen(rows)), encoding="utf-8")
    if options.docs:
        page.write(rows, CORE, product(SIZES, TYPES, KERNELS))


if __name__ == "__main__":
    main()
