"""Every rewrite rule: right on all edge values or in exact rationals, and every mutant of it dies."""

from __future__ import annotations

from collections import Counter

import pytest

from pyflat.passes import fold_fast, fold_identities, fuse_multiply_add, fuse_selects, recognise_extrema, recognise_lerp
from pyflat.passes.rules.patterns import Rule
from tests.passes.rule_checks import counterexample, mutants

RULES: tuple[Rule, ...] = (
    *fold_identities.RULES, *fuse_selects.RULES, *recognise_extrema.RULES, *fold_fast.RULES, *recognise_lerp.RULES,
    *fuse_multiply_add.rules("mad"), *fuse_multiply_add.rules("fma"),
)  # fmt: skip
IDS = [f"{rule.name}-{rule.kind}-{rule.after}".replace(" ", "_") for rule in RULES]


@pytest.mark.parametrize("rule", RULES, ids=IDS)
def test_the_rule_holds(rule):
    assert counterexample(rule) is None


@pytest.mark.parametrize("rule", RULES, ids=IDS)
def test_its_mutants_die(rule):
    made = list(mutants(rule))
    assert len(made) >= 3
    survivors = [f"{what}: {mutant.before} -> {mutant.after}" for what, mutant in made if _survives(mutant)]
    assert not survivors


def _survives(mutant: Rule) -> bool:
    try:
        return counterexample(mutant) is None
    except KeyError:  # a word that the left side does not bind
        return False


def test_rules_are_told_apart_by_name():
    assert [item for item, count in Counter((r.name, r.kind, r.part, r.after) for r in RULES).items() if count > 1] == []
