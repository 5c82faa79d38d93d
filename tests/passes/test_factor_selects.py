"""Selects of two operations: those that stay first, then what is taken out."""

from __future__ import annotations

import pytest

from pyflat.passes.factor_selects import factor_selects
from tests.passes.sweeps import dies, exactly_right, lines, stays, swept
from tests.support.edits import Edit


@pytest.mark.parametrize("body", [
    "%a = mul %x, 2.0 : f8\n%b = add %x, 3.0 : f8\n%c = select %p, %a, %b : f8\nyield %c",
    "%a = mul %x, %y : f8\n%b = mul %y, 3.0 : f8\n%c = select %p, %a, %b : f8\nyield %c, %b",
    "%a = sub %x, %y : f8\n%b = sub %y, %x : f8\n%c = select %p, %a, %b : f8\nyield %c",
    "%a = mul %x, 2.0 : f8\n%b = mul %y, 3.0 : f8\n%c = select %p, %a, %b : f8\nyield %c",
])
def test_selects_that_cannot_be_factored(body):
    stays(factor_selects, body)


def test_tables_must_be_equal():
    body = "%a = gather %i {table = (1.0, 2.0)} : f8\n%b = gather %j {table = (1.0, 3.0)} : f8\n%c = select %p, %a, %b : f8\nyield %c"
    stays(factor_selects, body)


def test_a_common_operand_is_taken_out():
    body = "%a = mul %x, 2.0 : f8\n%b = mul 3.0, %x : f8\n%c = select %p, %a, %b : f8\nyield %c"
    assert swept(factor_selects, body) == lines("""
        %0 = select %p, 2.0, 3.0 : f8
        %c = mul %x, %0 : f8
        yield %c
    """)


def test_chains_are_factored_at_once():
    body = ("%a = sin %x : f8\n%b = cos %a : f8\n%c = mul %b, 2.0 : f8\n%d = sin %y : f8\n%e = cos %d : f8\n"
            "%f = mul 2.0, %e : f8\n%g = select %p, %c, %f : f8\nyield %g")
    want = "%0 = select %p, %x, %y : f8\n%1 = sin %0 : f8\n%2 = cos %1 : f8\n%g = mul %2, 2.0 : f8\nyield %g"
    assert swept(factor_selects, body) == want


def test_arms_of_one_operand():
    body = "%a = sin %x : f8\n%b = sin %y : f8\n%c = select %p, %a, %b : f8\nyield %c"
    assert swept(factor_selects, body) == "%0 = select %p, %x, %y : f8\n%c = sin %0 : f8\nyield %c"


def test_random_functions_keep_every_bit():
    exactly_right(factor_selects)


MUTANTS = (
    ("_factored", "k == place", "k != place"),
    ("_step", "return a, place, first, first[place], second[place]", "return a, place, first, second[place], first[place]"),
    ("_aligned", "len(places) == 1", "len(places) >= 1"),
    ("_step", "not (isinstance(a, Op) and isinstance(b, Op)) or a.opcode != b.opcode or a.attrs != b.attrs", "not (isinstance(a, Op) and isinstance(b, Op)) or a.opcode != b.opcode"),
    ("_aligned", "a.opcode in COMMUTATIVE", "len(a.args) == 2"),
)


@pytest.mark.parametrize("edit", MUTANTS)
def test_mutants_die(edit):
    dies(exactly_right, "factor_selects", Edit(*edit))
