"""Long runs of the random program generator: `python -m benchmarks.fuzz --programs 20000`.

Each program is compared with its original on the NumPy engine; every `--numba-every`-th program also on numba, and
every `--stages-every`-th also at each stage of the flattener, in the interpreter (which takes longer than the rest
together), and with `math="fast"`, whose values are the interpreter's. With `--dtype float32` there is no original to
compare with: both engines and all stages against the interpreter in float32. With `--kept` each program is loaded
twice, and the second time its twins come from disk. With `--labels` results are strings, enum members and None too;
with `--counters` programs are about dicts and sets, and results are strings, lists, and objects beside numbers;
with `--generating` programs are about generator functions and what consumes them;
with `--turning` variables mean something else after a turn of a loop that stays one, or an `if`;
with `--shared` helpers are called from many places, with the same and with other signatures. With `--loops` programs
are loops that lanes leave at very different trips. Two of three programs run in ways that are forced
(`tests.generator.ways`), and code is made for all levels of x86-64 that the machine can run; with `--as-decided` they
run as they would for a user.
Failing programs are made small and printed. The exit status is 1 when a difference was found, or when more than a
tenth of the programs was refused.
"""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from tests.generator import Failure, Outcome, Program, check_program, generate, generate_labelled
from tests.generator.counters import generate_counters
from tests.generator.float32 import check_narrow, shrink_narrow
from tests.generator.generating import generate_generating
from tests.generator.kept import check_kept
from tests.generator.looping import generate_loops
from tests.generator.shrink import shrink
from tests.generator.turning import generate_turning
from tests.generator.ways import Run, check_loops, run_of

SORTS = {
    "labels": (generate_labelled, "programs with strings, enum members and None"),
    "counters": (generate_counters, "programs of dicts and sets, results of several kinds"),
    "generating": (generate_generating, "generator functions and what consumes them"),
    "turning": (generate_turning, "variables that mean something else after a turn of a loop"),
    "loops": (generate_loops, "loops that stay loops, on numba in forced ways"),
}
"""Other programs than those of `generate`: what makes one, and what they are about."""
REFUSED_SHARE = 0.10


@dataclass(frozen=True)
class Task:
    """What is done with one program."""

    seed: int
    numba: bool
    stages: bool
    narrow: str = ""
    """In float32: the math option."""
    kept: bool = False
    sort: str = ""
    """Which of `SORTS`."""
    forced: bool = True
    """In the ways of the seed."""

    @property
    def run(self) -> Run:
        """How twins run. Those from disk are made and taken from there, whatever the row says."""
        found = run_of(self.seed) if self.forced else Run()
        choices = {name: value for name, value in found.choices.items() if not self.kept or name != "origin"}
        return replace(found, choices=choices)

    @property
    def program(self) -> Program:
        return SORTS[self.sort][0](self.seed) if self.sort else generate(self.seed)


@dataclass
class Totals:
    """Counts over all programs of a run."""

    programs: int = 0
    numba: int = 0
    staged: int = 0
    lanes: int = 0
    raising: int = 0
    false_suspects: int = 0
    failures: int = 0
    refusals: collections.Counter[str] = field(default_factory=collections.Counter)

    def add(self, task: Task, outcome: Outcome) -> None:
        self.programs += 1
        self.numba += task.numba and not outcome.refusal
        self.staged += task.stages
        self.lanes += outcome.lanes
        self.raising += outcome.raising
        self.false_suspects += outcome.false_suspects
        self.failures += bool(outcome.failures)
        if outcome.refusal:
            self.refusals[outcome.refusal] += 1

    @property
    def refused(self) -> int:
        return sum(self.refusals.values())

    def report(self, seconds: float) -> str:
        refused = ", ".join(f"{code} {n}" for code, n in self.refusals.most_common())
        lanes = max(1, self.lanes)
        return (
            f"{self.programs:,} programs ({self.numba:,} on numba, {self.staged:,} at every stage), "
            f"{self.lanes:,} lanes in {seconds:.0f} s ({self.programs / max(seconds, 1e-9):.1f}/s); "
            f"refused {self.refused} ({self.refused / max(1, self.programs):.1%}{': ' + refused if refused else ''}); "
            f"raising lanes {self.raising / lanes:.1%}; suspected without need {self.false_suspects / lanes:.2%}; "
            f"failures {self.failures}"
        )


def _check(task: Task) -> tuple[Task, Outcome]:
    if task.sort == "loops":
        return task, check_loops(task.seed)
    with task.run.forced():
        return task, _checked(task, task.program)


def _checked(task: Task, program: Program) -> Outcome:
    if task.narrow:
        return check_narrow(program, numba=task.numba, stages=task.stages, math=task.narrow)
    if task.kept:
        return check_kept(program, numba=task.numba)
    return check_program(program, numba=task.numba, stages=task.stages)


def outcomes(tasks: Iterable[Task], processes: int) -> Iterator[tuple[Task, Outcome]]:
    """Outcomes in any order, from `processes` worker processes (0: in this process)."""
    if processes == 0:
        yield from map(_check, tasks)
        return
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    with context.Pool(processes, maxtasksperchild=200) as pool:
        yield from pool.imap_unordered(_check, tasks, chunksize=4)


def describe(program: Program, failure: Failure) -> str:
    """A failure as text that can be pasted into a test."""
    return f"seed {program.seed}, kinds {program.kinds}: {failure}\n--- program\n{program.source}---"


def _print_failure(task: Task, outcome: Outcome, checks: int) -> None:
    program, failure = task.program, outcome.failures[0]
    print(f"\nFAILURE seed {task.seed}: {failure}", flush=True)
    if task.sort == "loops":
        print(describe(program, failure), flush=True)
    elif checks:
        with task.run.forced():
            _print_smaller(task, program, failure, checks)


def _print_smaller(task: Task, program: Program, failure: Failure, checks: int) -> None:
    compiled = task.numba and failure.stage == "numba"
    if task.narrow:
        smaller, still = shrink_narrow(program, failure, numba=compiled, checks=checks, math=task.narrow)
    else:
        smaller, still = shrink(program, failure, numba=compiled, checks=checks)
    print(describe(smaller, still), flush=True)


def _math_of(seed: int) -> str:
    """A third of the programs of float32 with fast math."""
    return "fast" if seed % 3 == 0 else "exact"


def _every(count: int, seed: int) -> bool:
    """Of all sorts of programs, which take turns by four."""
    return bool(count) and seed // 4 % count == 0


def _seeds(first: int, programs: int, shared: bool) -> range:
    return range(4 * first + 1, 4 * (first + programs) + 1, 4) if shared else range(first, first + programs)


def parser() -> argparse.ArgumentParser:
    """The options of a run."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--programs", type=int, default=20_000)
    made.add_argument("--seed", type=int, default=0, help="the first seed")
    made.add_argument("--numba-every", type=int, default=10, help="0: never")
    made.add_argument("--stages-every", type=int, default=8, help="0: never")
    made.add_argument("--dtype", choices=("float64", "float32"), default="float64")
    made.add_argument("--as-decided", action="store_true", help="no ways are forced")
    made.add_argument("--kept", action="store_true", help="twins from disk")
    made.add_argument("--shared", action="store_true", help="programs whose helpers are called from many places")
    for sort, (_, about) in SORTS.items():
        made.add_argument(f"--{sort}", dest="sort", action="store_const", const=sort, default="", help=about)
    made.add_argument("--processes", type=int, default=2)
    made.add_argument("--stop-after", type=int, default=10, help="stop after so many failing programs")
    made.add_argument("--shrink", type=int, default=500, help="candidates to make a failing program small; 0: do not")
    made.add_argument("--refusals", action="store_true", help="print every refusal")
    return made


def tasks(options: argparse.Namespace) -> Iterator[Task]:
    """The programs of a run."""
    narrow = options.dtype == "float32"
    for seed in _seeds(options.seed, options.programs, options.shared):
        numba = options.sort == "loops" or _every(options.numba_every, seed)
        yield Task(seed, numba, _every(options.stages_every, seed),
                   _math_of(seed) if narrow else "", options.kept, options.sort, not options.as_decided)


def main(argv: list[str] | None = None) -> int:
    options = parser().parse_args(argv)
    totals, start, shown = Totals(), time.monotonic(), time.monotonic()
    for task, outcome in outcomes(tasks(options), options.processes):
        if options.refusals and outcome.refusal:
            print(f"\nrefused, seed {task.seed}: {outcome.refusal_text}", flush=True)
        totals.add(task, outcome)
        if outcome.failures:
            _print_failure(task, outcome, options.shrink)
            if totals.failures >= options.stop_after:
                break
        if time.monotonic() - shown > 30:
            shown = time.monotonic()
            print(totals.report(shown - start), flush=True)
    print(totals.report(time.monotonic() - start))
    if totals.failures or totals.refused > REFUSED_SHARE * totals.programs:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
