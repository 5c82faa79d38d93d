"""Functions that others have written, over columns as they come: the numba target against numba's own loop.

    python -m benchmarks.real_functions taxes      the 37 functions of Tax-Calculator (pip install taxcalc) over its
                                                   own 280,005 records, against the loops that the package compiles
    python -m benchmarks.real_functions sample     100 functions of scientific packages that `pyflat survey` found,
                                                   chosen at random, against a loop under numba.njit

Both contenders run in one process and take turns; the ratio is of their shortest times: 2 is twice as fast as numba.
All lanes of both are compared bit by bit. In the sample some lanes are compared with the original too: numba computes
`x ** 0.5` and `x ** 3` otherwise than Python, and the twin does not.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.environment import describe, pin
from benchmarks.measuring import Run, geomean, keep_freed_memory, round_robin
from benchmarks.report import markdown

CHOSEN = Path("out/real_sample.json")
BELOW = 0.95
WORST = 12
"""Functions that are named."""


@dataclass(frozen=True, slots=True)
class Case:
    """A function over columns of so many lanes; both runs give a tuple of arrays."""

    name: str
    form: str
    """How the columns are given: "positional" or "keyword", and what is said of them."""
    lanes: int
    twin: Run
    loop: Run
    original: bool | None = None
    """Whether the twin has the original's bits in the lanes that were tried."""


@dataclass(frozen=True, slots=True)
class Result:
    name: str
    form: str
    lanes: int
    twin: float
    """Nanoseconds of a lane."""
    loop: float
    different: int
    """Lanes in which the two differ in a bit."""
    original: bool | None

    @property
    def ratio(self) -> float:
        return self.loop / self.twin


def different_lanes(found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> int:
    """Lanes that differ in a bit of any result; all nan are one. The second may have narrower dtypes."""
    wrong = np.zeros(len(expected[0]), np.bool_)
    for got, want in zip(found, expected, strict=True):
        cast = np.asarray(got).astype(want.dtype)
        bits = np.dtype(f"u{want.dtype.itemsize}")
        same = np.ascontiguousarray(cast).view(bits) == np.ascontiguousarray(want).view(bits)
        wrong |= ~(same | ((cast != cast) & (want != want)))
    return int(np.count_nonzero(wrong))


def measure(case: Case, repeats: int, budget: float) -> Result:
    different = different_lanes(case.twin(), case.loop())
    for _ in range(3):  # a twin's first calls learn how it is called
        case.twin()
    times = round_robin({"twin": case.twin, "loop": case.loop}, repeats, budget)
    each = {name: timing.best / case.lanes * 1e9 for name, timing in times.items()}
    return Result(case.name, case.form, case.lanes, each["twin"], each["loop"], different, case.original)


def cases(options: argparse.Namespace) -> Iterator[Case]:
    if options.what == "taxes":
        from benchmarks.real_taxes import tax_cases

        return tax_cases(widened=options.widened, out=options.out, chosen=options.only, math=options.math)
    from benchmarks.real_sample import sample_cases

    return sample_cases(options.functions, options.seed, options.part, options.only, CHOSEN, options.math)


def summary(results: Sequence[Result]) -> str:
    """A row for each form and number of lanes, and the slowest functions."""
    rows = [["called", "lanes", "functions", "geomean", f"below {BELOW}", "all lanes equal", "as the original"]]
    lines = []
    for form, lanes in dict.fromkeys((result.form, result.lanes) for result in results):
        these = [result for result in results if (result.form, result.lanes) == (form, lanes)]
        ratios = [result.ratio for result in these]
        known = [result.original for result in these if result.original is not None]
        rows.append([form, f"{lanes:,}", str(len(these)), f"{geomean(ratios):.2f}",
                     str(sum(ratio < BELOW for ratio in ratios)),
                     str(sum(result.different == 0 for result in these)), f"{sum(known)} of {len(known)}"])
        slowest = sorted(these, key=lambda result: result.ratio)[:WORST]
        lines.append(f"{form}, {lanes:,}: " + ", ".join(
            f"{result.name} {result.ratio:.2f} ({result.twin:.3g} to {result.loop:.3g} ns)" for result in slowest))
    title = "Slowest, times as fast as numba's loop (ns a lane of the twin and of the loop):"
    return "\n".join([markdown(rows), "", title, "", *lines])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("taxes", "sample"))
    parser.add_argument("--json", type=Path, help="add the results to this file, a line for each")
    parser.add_argument("--table", type=Path, help="measure nothing, print the table of such a file")
    parser.add_argument("--only", default="", help="functions whose name contains this")
    parser.add_argument("--math", default="exact", help="the twins' option; exact has the bits of the original")
    parser.add_argument("--widened", action="store_true", help="taxes: int64 and float64 columns")
    parser.add_argument("--out", action="store_true", help="taxes: the twin writes into columns, as the loop does")
    parser.add_argument("--functions", type=int, default=100, help="sample: how many")
    parser.add_argument("--seed", type=int, default=16, help="sample: of the random choice")
    parser.add_argument("--part", default="1/1", help="sample: one part of it, as 2/4")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--budget", type=float, default=0.3, help="seconds for each contender of a case")
    options = parser.parse_args()
    if options.table:
        rows = [json.loads(line) for line in options.table.read_text(encoding="utf-8").splitlines()]
        print(summary([Result(**row["result"]) for row in rows]))
        return
    pin()
    keep_freed_memory()
    warnings.simplefilter("ignore")
    results = []
    for case in cases(options):
        result = measure(case, options.repeats, options.budget)
        results.append(result)
        print(f"{result.name:<44} {result.form:<22} {result.lanes:>8,} {result.twin:9.3f} {result.loop:9.3f} "
              f"{result.ratio:6.2f}{'' if result.different == 0 else f'  {result.different} lanes differ'}", flush=True)
        if options.json:
            with options.json.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"result": asdict(result), "where": describe()}) + "\n")
    if not results:
        sys.exit("no function was measured")
    print("\n" + summary(results))


if __name__ == "__main__":
    main()
