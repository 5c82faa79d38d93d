"""Whether the engine has become slower: `make gate` (under a minute).

Four kernels in float64, 64k lanes, in one process on one core: `math="vector"` on the numba target against
numba.vectorize of the unmodified function, both checked first. Ratios hardly depend on the speed of a machine and its
load, and the best of several rounds counts; a floor in benchmarks/floors.json is what one machine measured, times a
margin, because processors differ. Exit status 1 when a ratio is below its floor.

    python -m benchmarks.gate              compare
    python -m benchmarks.gate --write      measure new floors
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.contenders import UNIT
from benchmarks.environment import describe, pin
from benchmarks.kernels import KERNELS
from benchmarks.measuring import keep_freed_memory
from benchmarks.report import markdown
from benchmarks.row import Limits, measure

FLOORS = Path(__file__).resolve().parent / "floors.json"
CHOSEN = ("bs", "hsv", "mand32", "noise")
ENGINE = "vector"
LANES = 1 << 16
ROUNDS = 5
MARGIN = 0.6
"""What of a measured ratio must remain: other processors have other ratios."""
LIMITS = Limits(repeats=15, budget=0.5)


class GateError(Exception):
    """There is no ratio to compare: the engine did not run, or computed something else."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """floor None: none is known for the kernel, which is no pass."""

    kernel: str
    ratio: float
    floor: float | None

    @property
    def holds(self) -> bool:
        return self.floor is not None and self.ratio >= self.floor


def compare(ratios: Mapping[str, float], floors: Mapping[str, float]) -> list[Verdict]:
    return [Verdict(kernel, ratio, floors.get(kernel)) for kernel, ratio in ratios.items()]


def text(verdicts: list[Verdict]) -> str:
    rows = [["kernel", "times as fast as numba.vectorize", "floor", ""]]
    for verdict in verdicts:
        floor = "none" if verdict.floor is None else f"{verdict.floor:.2f}"
        rows.append([verdict.kernel, f"{verdict.ratio:.2f}", floor, "holds" if verdict.holds else "BELOW"])
    return markdown(rows)


def measured(rounds: int = ROUNDS) -> dict[str, float]:
    """The best ratio of each kernel. Raises `GateError`."""
    best = dict.fromkeys(CHOSEN, 0.0)
    for _ in range(rounds):
        for name in CHOSEN:
            found = measure(KERNELS[name], "f8", LANES, (UNIT, ENGINE), LIMITS)
            if found["notes"]:
                raise GateError(f"{name}: {found['notes']}")
            seconds = found["seconds"]
            best[name] = max(best[name], seconds[UNIT]["best"] / seconds[ENGINE]["best"])
    return best


def floors_of(ratios: Mapping[str, float], provenance: Mapping[str, str]) -> dict[str, Any]:
    return {
        "provenance": {**provenance, "command": "python -m benchmarks.gate --write"},
        "engine": ENGINE, "lanes": LANES, "margin": MARGIN,
        "measured": {name: round(ratio, 3) for name, ratio in ratios.items()},
        "floors": {name: round(ratio * MARGIN, 3) for name, ratio in ratios.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="measure, and write benchmarks/floors.json")
    options = parser.parse_args()
    pin()
    keep_freed_memory()
    start = time.perf_counter()
    try:
        ratios = measured()
    except GateError as error:
        sys.exit(f"no ratio for {error}")
    if options.write:
        FLOORS.write_text(json.dumps(floors_of(ratios, describe()), indent=2) + "\n", encoding="utf-8")
    stored = json.loads(FLOORS.read_text(encoding="utf-8"))
    verdicts = compare(ratios, stored["floors"])
    print(text(verdicts))
    where = stored["provenance"]
    print(f"\nfloors: {stored['margin']} of what {where['processor']} measured on {where['date']} ({where['commit']}); "
          f"{time.perf_counter() - start:.0f} s")
    if not all(verdict.holds for verdict in verdicts):
        sys.exit(f"slower than its floor: {', '.join(verdict.kernel for verdict in verdicts if not verdict.holds)}")


if __name__ == "__main__":
    main()
