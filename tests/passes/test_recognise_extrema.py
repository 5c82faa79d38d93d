"""min, max and clamp: each rule holds on all edge values, and its mutants die."""

from __future__ import annotations

import pytest

from pyflat.passes.recognise_extrema import RULES, recognise_extrema
from tests.passes.rule_checks import counterexample, identity, survivors
from tests.passes.sweeps import exactly_right, stays, swept


def test_no_change():
    """Which operand comes first decides about nan and the sign of zero."""
    stays(recognise_extrema, "%a = le %x, %y : b\n%b = select %a, %x, %y : f8\nyield %b")
    stays(recognise_extrema, "%a = lt %x, %y : b\n%b = select %a, %i, %j : i8\nyield %b")


def test_what_becomes_what():
    assert swept(recognise_extrema, "%a = lt %y, %x : b\n%b = select %a, %y, %x : f8\nyield %b") == "%b = min %x, %y : f8\nyield %b"
    assert swept(recognise_extrema, "%a = max %x, 0.0 : f8\n%b = min %a, 1.0 : f8\nyield %b") == "%b = clamp %x, 0.0, 1.0 : f8\nyield %b"


def test_random_functions_keep_every_bit():
    exactly_right(recognise_extrema)


@pytest.mark.parametrize("rule", RULES, ids=identity)
def test_the_rule_holds(rule):
    assert counterexample(rule) is None


@pytest.mark.parametrize("rule", RULES, ids=identity)
def test_its_mutants_die(rule):
    assert survivors(rule) == []
