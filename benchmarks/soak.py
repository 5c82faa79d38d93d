"""Random programs and kernels that go on where the last run stopped: `python -m benchmarks.soak --minutes 30`.

Each sort of `benchmarks.fuzz` and `benchmarks.kernel_fuzz` gets the same time. soak.json beside this module has, for
each sort, the next seed, and the sums of all runs: programs, lanes (of kernels: sets of arguments), refusals, failures,
seconds. The exit status is 1 when a difference was found; its seed is printed, and is not run again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

from benchmarks import fuzz, kernel_fuzz

FILE = Path(__file__).with_name("soak.json")
SORTS = {
    "programs": "--numba-every 2", "strings and None": "--labels --numba-every 2",
    "dicts": "--counters --numba-every 2", "variables that change": "--turning --numba-every 2",
    "shared helpers": "--shared --numba-every 2", "loops": "--loops", "twins from disk": "--kept --numba-every 2",
    "float32": "--dtype float32 --numba-every 2", "kernels, numpy": "numpy", "kernels, numba": "numba",
}
"""What each is for `benchmarks.fuzz`; of kernels the target."""
BATCH = 40
FAR = 10**6
"""Where seeds start: the tests and single runs have those below."""


@dataclass
class Sum:
    """Of one sort."""

    next: int = FAR
    programs: int = 0
    lanes: int = 0
    refused: int = 0
    failures: int = 0
    seconds: float = 0.0
    date: str = ""

    @property
    def rate(self) -> float:
        """Programs in a second."""
        return self.programs / max(self.seconds, 1e-9)


def read() -> dict[str, Sum]:
    """What the runs so far have come to."""
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    return {sort: Sum(**known.get(sort, {})) for sort in SORTS}


def batch(sort: str, first: int, processes: int) -> Iterator[tuple[int, int, bool, str]]:
    """For each of some programs from a seed on: the seed, its lanes, whether it was refused, and what failed."""
    if sort.startswith("kernels"):
        for seed, kernel in kernel_fuzz.outcomes(range(first, first + BATCH), SORTS[sort], processes):
            yield seed, kernel.sets, bool(kernel.refusals), str(kernel.failures[0]) if kernel.failures else ""
        return
    options = fuzz.parser().parse_args([*SORTS[sort].split(), "--seed", str(first), "--programs", str(BATCH)])
    for task, outcome in fuzz.outcomes(fuzz.tasks(options), processes):
        yield task.seed, outcome.lanes, bool(outcome.refusal), str(outcome.failures[0]) if outcome.failures else ""


def run(sort: str, total: Sum, seconds: float, processes: int) -> int:
    """Batches until the time is over; how many programs failed."""
    start, failed = time.monotonic(), 0
    while time.monotonic() - start < seconds:
        began = time.monotonic()
        for seed, lanes, refused, failure in batch(sort, total.next, processes):
            total.programs += 1
            total.lanes += lanes
            total.refused += refused
            if failure:
                failed += 1
                print(f"FAILURE {sort}, seed {seed}: {failure}", flush=True)
        total.next += BATCH
        total.seconds = round(total.seconds + time.monotonic() - began, 1)
    total.failures, total.date = total.failures + failed, date.today().isoformat()
    return failed


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0, help="for all sorts together")
    parser.add_argument("--only", default="", help="the sorts with this in their names")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(argv)
    totals, failed = read(), 0
    chosen = [sort for sort in SORTS if options.only in sort]
    for sort in chosen:
        failed += run(sort, totals[sort], 60.0 * options.minutes / len(chosen), options.processes)
        FILE.write_text(json.dumps({name: asdict(total) for name, total in totals.items()}, indent=1) + "\n")
    for sort, total in totals.items():
        print(f"{sort:18} {total.programs:8,} programs, {total.lanes:11,} lanes, refused {total.refused:6,}, "
              f"failures {total.failures:4,}; {total.rate:5.1f} a second")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
