"""The algebra of real numbers: each rule holds in exact rational arithmetic, and its mutants die."""

from __future__ import annotations

import pytest

from pyflat.passes.fold_fast import RULES, fold_fast
from tests.passes.rule_checks import counterexample, identity, survivors
from tests.passes.sweeps import stays, swept


def test_no_change():
    stays(fold_fast, "%a = add %x, 0.0 : f8\n%b = mul %y, 0.0 : f8\nyield %a, %b")
    stays(fold_fast, "%a = mul %y, 0.0 : f8\nyield %a", parts={"finite"})


def test_what_becomes_what():
    assert swept(fold_fast, "%a = add %x, 0.0 : f8\n%b = mul %a, 2.0 : f8\nyield %b", parts={"no_signed_zeros"}) == "%b = mul %x, 2.0 : f8\nyield %b"
    assert swept(fold_fast, "%a = pow %x, 0.5 : f8\nyield %a", parts={"approx"}) == "%a = sqrt %x : f8\nyield %a"


@pytest.mark.parametrize("rule", RULES, ids=identity)
def test_the_rule_holds(rule):
    assert counterexample(rule) is None


@pytest.mark.parametrize("rule", RULES, ids=identity)
def test_its_mutants_die(rule):
    assert survivors(rule) == []
