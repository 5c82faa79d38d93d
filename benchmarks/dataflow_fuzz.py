"""Random nested loops on the dataflow target: every firing order gives Python's result and leaves nothing behind.

    python benchmarks/dataflow_fuzz.py                        # 2,000 programs, 20 firing orders each
    python benchmarks/dataflow_fuzz.py --programs 200 --seed 5000

Each program runs in one fixed and otherwise random orders. Wrong: the result is not Python's. Residue: a token left,
a node not at rest, or another number of done tokens than 1. Signature: the number of tokens on every port, which no
order may change. The same programs with the literal rules of the specification, once each, show what is wrong there.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pyflat.errors import FlattenError
from pyflat.inspection import dataflow
from tests.targets.dataflow.loop_programs import LoopPrograms, arguments_for, load

MAX_FIRINGS = 200_000


@dataclass
class Score:
    """Counts of programs; `bad` has the seeds with something wrong, `literal` what the literal rules do."""

    programs: int = 0
    runs: int = 0
    firings: int = 0
    loops: int = 0
    wrong: int = 0
    residue: int = 0
    signatures: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    bad: list[int] = field(default_factory=list)
    literal: Counter[str] = field(default_factory=Counter)


def check(seed: int, orders: int, score: Score) -> None:
    """One program in `orders` firing orders, and once by the literal rules."""
    fn, arguments = load(LoopPrograms(seed).source()), arguments_for(seed)
    expected = fn(*arguments)
    try:
        program = dataflow.lower(fn, arguments)
    except FlattenError as refusal:
        score.refused[refusal.code] += 1
        return
    score.programs += 1
    score.loops += len(program.graph.loops)
    reports = [program.run(seed=order or None, max_firings=MAX_FIRINGS) for order in range(orders)]
    score.runs += len(reports)
    score.firings += sum(report.firings for report in reports)
    wrong = any(report.fault or program.value(report) != expected for report in reports)
    residue = any(not report.clean for report in reports)
    differing = any(report.tokens() != reports[0].tokens() for report in reports)
    score.wrong += wrong
    score.residue += residue
    score.signatures += differing
    if wrong or residue or differing:
        score.bad.append(seed)
    score.literal[by_literal_rules(fn, arguments, expected)] += 1


def by_literal_rules(fn: object, arguments: list[int], expected: object) -> str:
    program = dataflow.lower(fn, arguments, literal=True)  # type: ignore[arg-type]
    report = program.run(max_firings=MAX_FIRINGS)
    if report.fault or report.deadlock:
        return "deadlock or fault"
    if program.value(report) != expected:
        return "wrong result"
    return "right" if report.clean else "right result, tokens left or done missing"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="fuzz the dataflow target")
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--orders", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    given = parser.parse_args(arguments)
    score, started = Score(), time.perf_counter()
    for seed in range(given.seed, given.seed + given.programs):
        check(seed, given.orders, score)
    print(f"{score.programs} programs with {score.loops} loops, {score.runs} runs, {score.firings:,} firings, "
          f"{time.perf_counter() - started:.0f} s")
    print(f"wrong {score.wrong}, residue {score.residue}, differing signatures {score.signatures}, "
          f"refused {dict(score.refused)}")
    print(f"literal rules: {dict(score.literal)}")
    if score.bad:
        print(f"seeds to look at: {score.bad[:20]}")
    return int(bool(score.bad))


if __name__ == "__main__":
    raise SystemExit(main())
