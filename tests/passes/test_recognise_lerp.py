"""Linear interpolation: each rule holds in exact rational arithmetic, and its mutants die."""

from __future__ import annotations

import pytest

from pyflat.passes.recognise_lerp import RULES, recognise_lerp
from tests.passes.rule_checks import counterexample, identity, survivors
from tests.passes.sweeps import stays


def test_no_change():
    stays(recognise_lerp, "%a = mul %x, %y : f8\n%b = add %a, %x : f8\nyield %b")


@pytest.mark.parametrize("rule", RULES, ids=identity)
def test_the_rule_holds(rule):
    assert counterexample(rule) is None


@pytest.mark.parametrize("rule", RULES, ids=identity)
def test_its_mutants_die(rule):
    assert survivors(rule) == []
