"""Random kernels against their originals: `python -m benchmarks.kernels --programs 20000 --seed 0 --target numpy`.

Each kernel is called with several sets of arguments, three times with each, and compared in all that a caller can see:
bits of every array, the result, exception, message and line, what was written before it, warnings. Two of three run
in ways that are forced, for the levels of x86-64 that the machine can run (`tests.generator.ways`). A FlattenError is a
refusal, counted with its reason, and no failure; a read-only array that the kernel would write is a ValueError before
anything is written, and counted apart. Failing kernels are made small and printed. The exit status is 1 when
a difference was found.
"""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.generator.exported import check_built
from tests.generator.kernels import Kernel, check_kernel, generate
from tests.generator.kernels.differential import Difference, Outcome, reasons
from tests.generator.kernels.shrink import shrink
from tests.generator.ways import run_of


@dataclass
class Totals:
    """Counts over all kernels of a run."""

    kernels: int = 0
    refused: int = 0
    slow: int = 0
    sets: int = 0
    raising: int = 0
    warning: int = 0
    vain: int = 0
    read_only: int = 0
    failures: int = 0
    reasons: collections.Counter[str] = field(default_factory=collections.Counter)
    """The first refusal of each kernel that had one."""

    def add(self, outcome: Outcome) -> None:
        self.kernels += 1
        self.refused += bool(outcome.refusals)
        self.slow += outcome.slow
        self.sets += outcome.sets
        self.raising += outcome.raising
        self.warning += outcome.warning
        self.vain += outcome.vain
        self.read_only += outcome.read_only
        self.failures += bool(outcome.failures)
        self.reasons.update(outcome.refusals[:1])

    def report(self, seconds: float) -> str:
        sets = max(1, self.sets)
        return (f"{self.kernels:,} kernels in {seconds:.0f} s ({self.kernels / max(seconds, 1e-9):.1f}/s), "
                f"{self.sets:,} sets of arguments compared ({self.raising / sets:.0%} raise, "
                f"{self.warning / sets:.0%} warn, {self.vain / sets:.1%} run the original without need); "
                f"refused {self.refused:,} ({self.refused / max(1, self.kernels):.1%}); {self.read_only:,} sets have a "
                f"read-only array that is written; left out as slow {self.slow}; "
                f"failures {self.failures}")


def _check(target: str, ignored: Sequence[str], seed: int) -> tuple[int, Outcome]:
    with run_of(seed).forced():
        return seed, check_kernel(generate(seed), target, ignored)


def outcomes(seeds: Iterable[int], target: str, processes: int, ignored: Sequence[str] = ()
             ) -> Iterator[tuple[int, Outcome]]:
    """Outcomes in any order, from worker processes (0: in this process)."""
    check = partial(_check, target, ignored)
    if not processes:
        yield from map(check, seeds)
        return
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    with context.Pool(processes, maxtasksperchild=200) as pool:
        yield from pool.imap_unordered(check, seeds, chunksize=4)


def described(kernel: Kernel, failure: Difference) -> str:
    """A failure as text that can be pasted into a test."""
    return f"seed {kernel.seed}: {failure}\n--- kernel\n{kernel.source}---"


def _print_failure(seed: int, failure: Difference, target: str, checks: int) -> None:
    kernel = generate(seed)
    print(f"\nFAILURE seed {seed}: {failure.what}", flush=True)
    if checks:
        kernel, failure = shrink(kernel, failure, target, checks)
    print(described(kernel, failure), flush=True)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--target", choices=("numpy", "numba"), default="numpy")
    parser.add_argument("--processes", type=int, default=2, help="0: in this process")
    parser.add_argument("--stop-after", type=int, default=10, help="stop after so many failing kernels")
    parser.add_argument("--shrink", type=int, default=500, help="candidates to make a failing kernel small; 0: do not")
    parser.add_argument("--ignore", default="", help="parts that may differ, with commas: warned, line, shared, ...")
    parser.add_argument("--built", action="store_true", help="all in one extension of `pyflat build`, in this process")
    parser.add_argument("--show", type=int, metavar="SEED", help="print the kernel of a seed, and compare nothing")
    options = parser.parse_args(argv)
    if options.show is not None:
        kernel = generate(options.show)
        print(kernel.source, *(f"\n# arguments, warnings: {one.mode}\n{one.text}" for one in kernel.inputs), sep="")
        return 0
    if options.built:
        with tempfile.TemporaryDirectory() as folder:
            seeds = range(options.seed, options.seed + options.programs)
            counts, found = check_built(map(generate, seeds), Path(folder))
        print(reasons(counts), *[described(*each) for each in found], f"{len(found)} differences", sep="\n")
        return 1 if found else 0
    totals, start = Totals(), time.monotonic()
    shown = start
    seeds = range(options.seed, options.seed + options.programs)
    for seed, outcome in outcomes(seeds, options.target, options.processes, options.ignore.split(",")):
        totals.add(outcome)
        if outcome.failures:
            _print_failure(seed, outcome.failures[0], options.target, options.shrink)
            if totals.failures >= options.stop_after:
                break
        if time.monotonic() - shown > 30:
            shown = time.monotonic()
            print(totals.report(shown - start), flush=True)
    print(totals.report(time.monotonic() - start))
    if totals.reasons:
        print(f"first refusal of each refused kernel:\n{reasons(totals.reasons)}")
    return 1 if totals.failures else 0


if __name__ == "__main__":
    sys.exit(main())
