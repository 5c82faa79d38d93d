"""mad and fma: each rule holds in exact rational arithmetic, and its mutants die."""

from __future__ import annotations

import pytest

from pyflat.passes.fuse_multiply_add import fuse_multiply_add, fusing
from tests.passes.rule_checks import counterexample, identity, survivors
from tests.passes.sweeps import rationally_right, stays, swept


def test_mad_is_for_products_that_nothing_else_uses():
    stays(fuse_multiply_add, "%a = mul %x, %y : f8\n%b = add %a, 1.0 : f8\nyield %b, %a")
    assert swept(fuse_multiply_add, "%a = mul %x, %y : f8\n%b = add 1.0, %a : f8\nyield %b", opcode="fma") == "%b = fma %x, %y, 1.0 : f8\nyield %b"


RULES = (*fusing("mad"), *fusing("fma"))


def test_random_functions_keep_their_rational_values():
    rationally_right(fuse_multiply_add)


@pytest.mark.parametrize("rule", RULES, ids=identity)
def test_the_rule_holds(rule):
    assert counterexample(rule) is None


@pytest.mark.parametrize("rule", RULES, ids=identity)
def test_its_mutants_die(rule):
    assert survivors(rule) == []
