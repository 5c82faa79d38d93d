"""Selects of selects: each rule holds on all edge values, and its mutants die."""

from __future__ import annotations

import pytest

from pyflat.passes.fuse_selects import RULES, fuse_selects
from tests.passes.rule_checks import counterexample, identity, survivors
from tests.passes.sweeps import exactly_right, stays, swept


def test_no_change():
    stays(fuse_selects, "%a = select %p, %x, %y : f8\n%b = select %q, %a, %x : f8\nyield %b, %a")


def test_what_becomes_what():
    body = "%a = select %q, %x, 1.0 : f8\n%b = select %q, %y, 1.0 : f8\n%c = select %p, %a, %b : f8\nyield %c"
    assert swept(fuse_selects, body) == "%0 = select %p, %x, %y : f8\n%c = select %q, %0, 1.0 : f8\nyield %c"


def test_random_functions_keep_every_bit():
    exactly_right(fuse_selects)


@pytest.mark.parametrize("rule", RULES, ids=identity)
def test_the_rule_holds(rule):
    assert counterexample(rule) is None


@pytest.mark.parametrize("rule", RULES, ids=identity)
def test_its_mutants_die(rule):
    assert survivors(rule) == []
