"""Exact identities: each rule holds on all edge values, and its mutants die."""

from __future__ import annotations

import pytest

from pyflat.passes.fold_identities import RULES, fold_identities
from tests.passes.rule_checks import counterexample, identity, survivors
from tests.passes.sweeps import exactly_right, stays


def test_no_change():
    stays(fold_identities, "%a = add %x, 0.0 : f8\n%b = mul %a, 0.0 : f8\n%c = sub %b, %b : f8\nyield %c")
    stays(fold_identities, "%a = add %i, %j : i8\nyield %a")


def test_random_functions_keep_every_bit():
    exactly_right(fold_identities)


@pytest.mark.parametrize("rule", RULES, ids=identity)
def test_the_rule_holds(rule):
    assert counterexample(rule) is None


@pytest.mark.parametrize("rule", RULES, ids=identity)
def test_its_mutants_die(rule):
    assert survivors(rule) == []
