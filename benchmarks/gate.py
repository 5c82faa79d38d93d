"""Whether the engine has become slower: `make gate` (seconds, a minute where it fails), part of continuous integration.

Five kernels in float64, 64k lanes, in one process on one core: `math="fast"` on the numba target against
numba.vectorize of the unmodified function, both checked first. Ratios hardly depend on the speed of a machine and its
load; they do depend on the processor. benchmarks/floors.json has what families of processors were measured to reach,
and `MARGIN` of that must remain. Any other processor must reach `ANYWHERE`, as an engine does that has its vectors;
without AVX2 nothing is measured, and the gate says so. A ratio below its floor is measured again before it counts. Exit
status 1 when one stays below.

    python -m benchmarks.gate                     compare
    python -m benchmarks.gate --write             measure, and write what this family of processors reaches
    python -m benchmarks.gate --without-vectors   compare with one lane at a time, which must fail
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.contenders import UNIT
from benchmarks.environment import describe, pin, processor_family
from benchmarks.kernels import KERNELS
from benchmarks.measuring import keep_freed_memory
from benchmarks.report import markdown
from benchmarks.row import Limits, measure
from pyflat.targets.numba import compilation
from pyflat.targets.numba.jit import processor
from pyflat.targets.numba.kernel import Shape

FLOORS = Path(__file__).resolve().parent / "floors.json"
CHOSEN = ("bs", "hsv", "mand32", "noise", "raymarch")
ENGINE = "fast"
LANES = 1 << 16
ROUNDS = 3
AGAIN = 3
"""Times that a ratio below its floor is measured again, after a pause."""
PAUSE = 5.0
MARGIN = 0.6
"""What of a measured ratio must remain: processors of a family differ, and so do loads."""
WIDTHS = {64: "AVX-512", 32: "AVX2"}
ANYWHERE: Mapping[str, Mapping[str, float]] = {
    "AVX-512": {"bs": 1.8, "mand32": 3.0, "noise": 1.8, "raymarch": 1.5},
    "AVX2": {"bs": 1.2, "mand32": 1.6, "noise": 1.8, "raymarch": 1.0},
}
"""Floors for processors that have not been measured. Eight or four lanes run together where numba.vectorize runs
one, and elementary functions without calls beside that. A Zen 5 reached 6.1, 9.8, 7.7, 6.0 with AVX-512, restricted
to AVX2 2.7, 3.0, 11.4, 2.4, and with one lane at a time 0.7, 0.9, 1.2, 0.4. Of hsv nothing is known: numba.vectorize
was six times slower there on one of them than on the other."""
LIMITS = Limits(repeats=15, budget=0.5)
Ratios = dict[str, float]


class GateError(Exception):
    """There is no ratio to compare: the engine did not run, or computed something else."""


@dataclass(frozen=True, slots=True)
class Verdict:
    kernel: str
    ratio: float
    floor: float

    @property
    def holds(self) -> bool:
        return self.ratio >= self.floor


@dataclass(frozen=True, slots=True)
class Floors:
    """What the ratios of a processor are compared with, and where that comes from."""

    of: Mapping[str, float]
    source: str


def family() -> str:
    """The processor that the engine compiles for, as floors are kept: its family, and the widest vectors. "" where the
    environment names another one than the machine has."""
    if os.environ.get("NUMBA_CPU_NAME") or os.environ.get("NUMBA_CPU_FEATURES"):
        return ""
    return ", ".join(part for part in (processor_family(), WIDTHS.get(processor().vector_bytes, "")) if part)


def choose(stored: Mapping[str, Any], name: str, vector_bytes: int) -> Floors | None:
    """The floors of a family, or else those of all processors with such vectors; None where there are none."""
    found = stored["families"].get(name)
    if found is not None:
        where = found["provenance"]
        return Floors({kernel: ratio * MARGIN for kernel, ratio in found["measured"].items()},
                      f"{MARGIN} of what {where['processor']} measured on {where['date']} ({where['commit']})")
    width = WIDTHS.get(vector_bytes)
    if width is None:
        return None
    return Floors(ANYWHERE[width], f"for any processor with {width}: {name or 'this one'} has not been measured")


def compare(ratios: Mapping[str, float], floors: Floors) -> list[Verdict]:
    """KeyError where there is a floor without a ratio."""
    return [Verdict(kernel, ratios[kernel], floor) for kernel, floor in floors.of.items()]


def judge(floors: Floors, measured: Callable[[Sequence[str]], Ratios], pause: Callable[[], None]) -> list[Verdict]:
    """The best ratio of each kernel counts; those below their floors are measured up to `AGAIN` times more."""
    best = measured(tuple(floors.of))
    for _ in range(AGAIN):
        below = [verdict.kernel for verdict in compare(best, floors) if not verdict.holds]
        if not below:
            break
        pause()
        best |= {kernel: max(best[kernel], ratio) for kernel, ratio in measured(below).items()}
    return compare(best, floors)


def text(verdicts: list[Verdict]) -> str:
    rows = [["kernel", "times as fast as numba.vectorize", "floor", ""]]
    rows += [[verdict.kernel, f"{verdict.ratio:.2f}", f"{verdict.floor:.2f}", "holds" if verdict.holds else "BELOW"]
             for verdict in verdicts]
    return markdown(rows)


def ratios(kernels: Sequence[str] = CHOSEN, rounds: int = ROUNDS) -> Ratios:
    """The best ratio of each kernel. Raises `GateError`."""
    best = dict.fromkeys(kernels, 0.0)
    for _ in range(rounds):
        for name in kernels:
            found = measure(KERNELS[name], "f8", LANES, (UNIT, ENGINE), LIMITS)
            if found["notes"]:
                raise GateError(f"{name}: {found['notes']}")
            seconds = found["seconds"]
            best[name] = max(best[name], seconds[UNIT]["best"] / seconds[ENGINE]["best"])
    return best


def with_family(stored: Mapping[str, Any], name: str, found: Mapping[str, float], provenance: Mapping[str, str]
                ) -> dict[str, Any]:
    """The contents of floors.json with what a family has now been found to reach."""
    entry = {"provenance": {**provenance, "command": "python -m benchmarks.gate --write"},
             "measured": {kernel: round(ratio, 3) for kernel, ratio in found.items()}}
    return {**stored, "engine": ENGINE, "lanes": LANES, "families": {**stored["families"], name: entry}}


def without_vectors() -> None:
    """From now on kernels are compiled for one lane at a time, as if the engine had lost its vectors."""
    os.environ["PYFLAT_CACHE"] = "0"
    compilation.choose_shape = lambda kernel, vector_bytes: Shape(1, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="measure, and write benchmarks/floors.json")
    parser.add_argument("--without-vectors", action="store_true", help="with one lane at a time: this must fail")
    options = parser.parse_args()
    pin()
    keep_freed_memory()
    start = time.perf_counter()
    stored = json.loads(FLOORS.read_text(encoding="utf-8"))
    if options.write and not family():
        sys.exit("the environment names another processor than this one")
    if options.without_vectors:
        without_vectors()
    try:
        if options.write:
            stored = with_family(stored, family(), ratios(), describe())
            FLOORS.write_text(json.dumps(stored, indent=2) + "\n", encoding="utf-8")
        floors = choose(stored, family(), processor().vector_bytes)
        if floors is None:
            print(f"the gate was skipped: there are no floors for {family() or 'this processor'}, which has no AVX2")
            return
        verdicts = judge(floors, ratios, lambda: time.sleep(PAUSE))
    except GateError as error:
        sys.exit(f"no ratio for {error}")
    print(text(verdicts))
    print(f"\nfloors: {floors.source}; {time.perf_counter() - start:.0f} s")
    if not all(verdict.holds for verdict in verdicts):
        sys.exit(f"slower than its floor: {', '.join(verdict.kernel for verdict in verdicts if not verdict.holds)}")


if __name__ == "__main__":
    main()
