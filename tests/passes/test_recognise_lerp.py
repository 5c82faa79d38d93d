"""Linear interpolation: each rule holds in exact rational arithmetic, and its mutants die."""

from __future__ import annotations

import pytest

from pyflat.passes.recognise_lerp import RULES, recognise_lerp
from tests.passes.rule_checks import counterexample, identity, survivors
from tests.passes.sweeps import stays, swept


def test_no_change():
    stays(recognise_lerp, "%a = mul %x, %y : f8\n%b = add %a, %x : f8\nyield %b")


def test_what_becomes_what():
    body = "%z = sin %x : f8\n%a = sub 1.0, %z : f8\n%b = mul %x, %a : f8\n%c = mul %y, %z : f8\n%d = add %b, %c : f8\nyield %d"
    assert swept(recognise_lerp, body) == "%z = sin %x : f8\n%d = lerp %x, %y, %z : f8\nyield %d"


@pytest.mark.parametrize("rule", RULES, ids=identity)
def test_the_rule_holds(rule):
    assert counterexample(rule) is None


@pytest.mark.parametrize("rule", RULES, ids=identity)
def test_its_mutants_die(rule):
    assert survivors(rule) == []
