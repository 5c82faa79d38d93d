"""De Morgan: what keeps its `not` first, then where it goes."""

from __future__ import annotations

import pytest

from pyflat.passes.push_negations import push_negations
from tests.passes.sweeps import dies, exactly_right, lines, stays, swept
from tests.support.edits import Edit


def test_orderings_of_floats_keep_their_not():
    stays(push_negations, "%a = lt %x, %y : b\n%b = gt %y, 1.0 : b\n%c = and %a, %b : b\n%d = not %c : b\nyield %d")


def test_a_predicate_that_is_used_elsewhere_stays():
    stays(push_negations, "%a = lt %i, %j : b\n%b = and %a, %p : b\n%c = not %b : b\nyield %c, %b")


def test_a_not_of_unknown_bools_stays():
    stays(push_negations, "%b = and %p, %q : b\n%c = not %b : b\nyield %c")


def test_negations_reach_comparisons():
    got = swept(push_negations, """
        %a = lt %i, %j : b
        %b = eq %x, %y : b
        %n = not %p : b
        %c = or %a, %b : b
        %d = and %c, %n : b
        %e = not %d : b
        yield %e
    """)  # fmt: skip
    assert got == lines("""
        %0 = ge %i, %j : b
        %1 = ne %x, %y : b
        %2 = and %0, %1 : b
        %e = or %2, %p : b
        yield %e
    """)


def test_finite_floats_have_opposites():
    body = "%a = lt %x, %y : b\n%b = gt %y, 1.0 : b\n%c = and %a, %b : b\n%d = not %c : b\nyield %d"
    assert swept(push_negations, body, finite=True) == lines("""
        %0 = ge %x, %y : b
        %1 = le %y, 1.0 : b
        %d = or %0, %1 : b
        yield %d
    """)


def test_random_functions_keep_every_bit():
    exactly_right(push_negations)


MUTANTS = (
    ("_Pushing.negated", "opposite(value, finite=self.finite)", "opposite(value, finite=True)"),
    ("_DUAL", "{'and': 'or', 'or': 'and'}", "{'and': 'and', 'or': 'or'}"),
    ("_Pushing.negated", "sweep.emit(other, *map(sweep.read, value.args), origin=value.origin)", "sweep.emit(value.opcode, *map(sweep.read, value.args), origin=value.origin)"),
    ("_Pushing.negated", "return sweep.read(value.args[0])", "return sweep.read(value)"),
)


@pytest.mark.parametrize("edit", MUTANTS)
def test_mutants_die(edit):
    dies(exactly_right, "push_negations", Edit(*edit))
