"""The algebra of real numbers: each rule holds in exact rational arithmetic, and its mutants die."""

from __future__ import annotations

import pytest

from pyflat.passes.fold_fast import RULES, fold_fast
from tests.passes.rule_checks import counterexample, identity, survivors
from tests.passes.sweeps import stays


def test_no_change():
    stays(fold_fast, "%a = add %x, 0.0 : f8\n%b = mul %y, 0.0 : f8\nyield %a, %b")
    stays(fold_fast, "%a = mul %y, 0.0 : f8\nyield %a", parts={"finite"})


@pytest.mark.parametrize("rule", RULES, ids=identity)
def test_the_rule_holds(rule):
    assert counterexample(rule) is None


@pytest.mark.parametrize("rule", RULES, ids=identity)
def test_its_mutants_die(rule):
    assert survivors(rule) == []
