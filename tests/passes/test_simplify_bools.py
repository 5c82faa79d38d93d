"""Predicates by their tables: those that stay first, then those that are simpler than written."""

from __future__ import annotations

import pytest

from pyflat.passes.simplify_bools import simplify_bools
from tests.passes.sweeps import dies, exactly_right, stays, swept
from tests.support.edits import Edit


def test_a_real_function_of_bools_stays():
    stays(simplify_bools, "%a = xor %p, %q : b\nyield %a")
    stays(simplify_bools, "%c = lt %x, %y : b\n%a = select %p, %q, %c : b\nyield %a")


def test_a_predicate_that_is_spread_over_operations():
    got = swept(simplify_bools, """
        %a = not %p : b
        %b = and %q, %a : b
        %c = ne %q, %b : b
        %d = or %c, %p : b
        yield %d
    """)  # fmt: skip
    assert got == "yield %p"


def test_a_tautology():
    assert swept(simplify_bools, "%a = not %p : b\n%b = and %q, %a : b\n%c = or %b, %p : b\n%d = not %q : b\n%e = or %c, %d : b\nyield %e") == "yield true"


def test_random_functions_keep_every_bit():
    exactly_right(simplify_bools)


MUTANTS = (
    ("_TABLES", "a ^ b ^ _ALL", "a ^ b"),
    ("_TABLES", "c & a | (c ^ _ALL) & b", "c & b | (c ^ _ALL) & a"),
    ("_simpler", "whole in (0, _ALL)", "whole & 1"),
    ("_simpler", "return TRUE if whole else FALSE", "return FALSE if whole else TRUE"),
)


@pytest.mark.parametrize("edit", MUTANTS)
def test_mutants_die(edit):
    dies(exactly_right, "simplify_bools", Edit(*edit))
