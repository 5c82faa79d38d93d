"""Chains of selects: those that decide something first, then the one select that is left."""

from __future__ import annotations

import pytest

from pyflat.passes.decide_selects import decide_selects
from tests.passes.sweeps import dies, exactly_right, lines, stays, swept
from tests.support.edits import Edit

DECIDED = "%a = add %x, 1.0 : f8\n%b = select %p, %a, %x : f8\n"


@pytest.mark.parametrize("body", [
    DECIDED + "yield %b",
    DECIDED + "%c = mul %b, %y : f8\n%d = select %q, %c, %x : f8\nyield %d",  # another condition
    DECIDED + "%c = mul %b, %y : f8\n%d = select %p, %c, %x : f8\nyield %d, %b",  # read elsewhere
    DECIDED + "%c = mul %b, %y : f8\n%d = select %p, %c, %x : f8\n%e = lt %b, %y : b\nfault %e ValueError()\nyield %d",
    DECIDED + "%c = mul %b, %y : f8\n%d = select %p, %c, %b : f8\nyield %d",  # ir.logic has it: an arm that is a select
    "%a = lt %x, %y : b\n%b = and %p, %a : b\n%c = select %b, %x, %y : f8\nyield %c",
])
def test_selects_that_decide_something(body):
    stays(decide_selects, body)


def test_one_select_is_left_of_a_chain():
    body = DECIDED + "%c = mul %b, %y : f8\n%d = select %p, %c, %x : f8\nyield %d"
    assert swept(decide_selects, body) == lines("""
        %a = add %x, 1.0 : f8
        %c = mul %a, %y : f8
        %d = select %p, %c, %x : f8
        yield %d
    """)


def test_the_other_arm_of_a_chain():
    body = DECIDED + "%c = mul %b, %y : f8\n%d = select %p, %y, %c : f8\nyield %d"
    assert swept(decide_selects, body) == "%c = mul %x, %y : f8\n%d = select %p, %y, %c : f8\nyield %d"


def test_a_chain_of_choices():
    body = """
        %a = lt %x, 9.0 : b
        %b = and %p, %a : b
        %c = select %b, %x, 9.0 : f8
        %d = lt %y, %c : b
        %e = and %p, %d : b
        %f = select %e, %y, %c : f8
        yield %f
    """  # fmt: skip
    once = swept(decide_selects, body)
    assert swept(decide_selects, once) == lines("""
        %a = lt %x, 9.0 : b
        %c = select %a, %x, 9.0 : f8
        %d = lt %y, %c : b
        %0 = select %d, %y, %c : f8
        %f = select %p, %0, 9.0 : f8
        yield %f
    """)


def test_random_functions_keep_every_bit():
    exactly_right(decide_selects)


MUTANTS = (
    ("_Deciding.only_under", "all((any((_says(known, held, cond, outcome) for known, held in conditions)) for conditions in needed))", "any((any((_says(known, held, cond, outcome) for known, held in conditions)) for conditions in needed))"),
    ("_says", "held and any((part is cond for part, _ in _parts(known)))", "any((part is cond for part, _ in _parts(known)))"),
    ("_Deciding.simpler", "((True, then), (False, orelse))", "((True, orelse), (False, then))"),
    ("_Deciding.simpler", "self.select(select, known, self.select(select, rest, then, orelse), below)", "self.select(select, known, self.select(select, rest, then, orelse), orelse.args[1])"),
    ("_Deciding.simpler", "return self.select(select, rest, then, orelse)", "return self.select(select, known, then, orelse)"),
)


@pytest.mark.parametrize("edit", MUTANTS)
def test_mutants_die(edit):
    dies(exactly_right, "decide_selects", Edit(*edit))
