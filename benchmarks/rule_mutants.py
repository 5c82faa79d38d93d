"""`python -m benchmarks.rule_mutants`: every rewrite rule of the backends, the mutants of it, and how many die.

Exit status 1 if a mutant survives, a rule does not hold, or a rule has fewer than three mutants.
"""

from __future__ import annotations

import sys

from pyflat.passes.rules.patterns import Rule
from tests.passes.rule_checks import counterexample, holds, mutants
from tests.passes.rules.test_rules import RULES


def killed(rule: Rule) -> tuple[int, int]:
    """Dead mutants and all."""
    made = [mutant for _, mutant in mutants(rule)]
    return sum(not holds(mutant) for mutant in made), len(made)


def main() -> int:
    wrong = dead = total = 0
    for rule in RULES:
        found, made = killed(rule)
        bad = found < made or made < 3 or counterexample(rule) is not None
        dead, total, wrong = dead + found, total + made, wrong + bad
        part = rule.part or "exact"
        print(f"{rule.kind!s:3} {part:24} {found:3} of {made:3}  {rule.before} -> {rule.after}"
              f"{'  WRONG' if bad else ''}")
    print(f"{len(RULES)} rules, {dead} of {total} mutants killed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
