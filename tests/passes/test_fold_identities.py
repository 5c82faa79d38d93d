"""Exact identities: each rule holds on all edge values, and its mutants die."""

from __future__ import annotations

import pytest

from pyflat.passes.fold_identities import RULES, fold_identities
from tests.passes.rule_checks import counterexample, identity, survivors
from tests.passes.sweeps import exactly_right, stays, swept


def test_no_change():
    stays(fold_identities, "%a = add %x, 0.0 : f8\n%b = mul %a, 0.0 : f8\n%c = sub %b, %b : f8\nyield %c")
    stays(fold_identities, "%a = add %i, %j : i8\nyield %a")


def test_what_becomes_what():
    assert swept(fold_identities, "%a = neg %y : f8\n%b = add %x, %a : f8\nyield %b") == "%b = sub %x, %y : f8\nyield %b"
    assert swept(fold_identities, "%a = add %i, 3 : i8\n%b = add %a, 4 : i8\nyield %b") == "%b = add %i, 7 : i8\nyield %b"


def test_random_functions_keep_every_bit():
    exactly_right(fold_identities)


@pytest.mark.parametrize("rule", RULES, ids=identity)
def test_the_rule_holds(rule):
    assert counterexample(rule) is None


@pytest.mark.parametrize("rule", RULES, ids=identity)
def test_its_mutants_die(rule):
    assert survivors(rule) == []
