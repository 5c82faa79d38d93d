"""Sums and products: those that are short already first, then those that are collected."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from pyflat.ir.nodes import Function
from pyflat.ir.types import FLOAT, INT
from pyflat.passes.reassociate import reassociate
from tests.passes.sweeps import dies, exactly_right, rationally_right, stays, swept
from tests.support.edits import Edit

reals = partial(reassociate, kinds=(INT, FLOAT))


@pytest.mark.parametrize("body", [
    "%a = add %x, %y : f8\n%b = add %a, 1.0 : f8\nyield %b",
    "%a = mul %x, 2.0 : f8\n%b = add %a, %y : f8\nyield %b",
    "%a = add %x, 1.0 : f8\n%b = add %a, %y : f8\n%c = add %b, 2.0 : f8\nyield %c, %a",
    "%a = add %x, inf : f8\n%b = add %a, 1.0 : f8\n%c = add %b, 2.0 : f8\nyield %c",
])
def test_sums_that_are_short_already(body):
    stays(reassociate, body, kinds=(INT, FLOAT))


@pytest.mark.parametrize("body", [
    "%a = add %x, 1.0 : f8\n%b = add %a, 1.0 : f8\nyield %b",  # floats, without fast math
    "%a = add %i, %j : i8\n%b = add %a, 1 : i8\nyield %b",
    "%a = add %i, 3 : i8\n%b = add %a, %j : i8\n%c = add %b, 1 : i8\nyield %c, %a",
    # the check for overflow reads what would go
    "%a = add %i, 3 : i8\n%o = lt %a, %i : b\nfault %o OverflowError()\n%b = add %a, 1 : i8\nyield %b",
])
def test_sums_of_ints_that_stay(body):
    stays(reassociate, body)


@pytest.mark.parametrize(("body", "after"), [
    ("%a = add %i, 3 : i8\n%b = add %a, %j : i8\n%c = add %b, 1 : i8\n%d = add %c, %i : i8\nyield %d",
     "%0 = mul %i, 2 : i8\n%1 = add %0, %j : i8\n%d = add %1, 4 : i8\nyield %d"),
    ("%a = add %i, %j : i8\n%b = sub %a, %i : i8\nyield %b", "yield %j"),
    ("%a = sub 5, %i : i8\n%b = sub %a, 5 : i8\nyield %b", "%b = neg %i : i8\nyield %b"),
    ("%a = mul %i, 3 : i8\n%b = mul %a, %j : i8\n%c = mul %b, 5 : i8\nyield %c",
     "%0 = mul %i, %j : i8\n%c = mul %0, 15 : i8\nyield %c"),
    ("%a = add %i, 9223372036854775807 : i8\n%b = add %a, 1 : i8\nyield %b",
     "%b = add %i, -9223372036854775808 : i8\nyield %b"),  # modulo 2**64
])
def test_sums_of_ints_are_collected(body, after):
    assert swept(reassociate, body) == after


def test_sums_are_collected():
    got = swept(reals, """
        %a = add %x, 1.0 : f8
        %b = add %a, %y : f8
        %c = add %b, %x : f8
        %d = add %c, 2.0 : f8
        yield %d
    """)  # fmt: skip
    assert got == "%0 = mul %x, 2.0 : f8\n%1 = add %0, %y : f8\n%d = add %1, 3.0 : f8\nyield %d"


def test_products_are_powers():
    got = swept(reals, "%a = mul %x, %x : f8\n%b = mul %a, %x : f8\n%c = mul %b, %x : f8\nyield %c")
    assert got == "%a = mul %x, %x : f8\n%c = mul %a, %a : f8\nyield %c"


def test_terms_that_cancel():
    body = "%a = add %x, %y : f8\n%b = sub %a, %x : f8\nyield %b"
    assert swept(reals, body, finite=True) == "yield %y"
    stays(reals, body, no_signed_zeros=True)  # an infinite x gives nan
    body = "%a = sub %x, %y : f8\n%b = sub %a, %x : f8\nyield %b"
    assert swept(reals, body, finite=True) == "%b = neg %y : f8\nyield %b"
    body = "%a = add %x, 1.0 : f8\n%b = sub %a, 1.0 : f8\nyield %b"
    assert swept(reals, body, no_signed_zeros=True) == "yield %x"
    stays(reals, body, finite=True)  # -0.0 gives 0.0


def sums(fn: Function) -> Function:
    return reassociate(fn, (FLOAT,))


def test_random_functions_keep_every_bit():
    exactly_right(reassociate)


def collected(fn: Function, change: Any = reassociate) -> Function:
    return change(fn, (FLOAT,), finite=True, no_signed_zeros=True)


@pytest.mark.parametrize("change", [collected, sums], ids=lambda c: c.__name__)
def test_random_functions_keep_their_rational_values(change):
    rationally_right(change)


MUTANTS = (
    ("Sum.collect", '-scale if value.opcode == "sub" else scale', "scale"),
    ("Sum.collect", "self.constant + scale * value.value", "self.constant + value.value"),
    ("Sum.build", 'opcode = "sub" if scale < 0 else "add"', 'opcode = "add"'),
    ("Product.collect", "self.powers[value] = self.powers.get(value, 0) + 1", "self.powers[value] = 1"),
    ("Product.collect", "self.literal * value.value", "value.value"),
)


@pytest.mark.parametrize("edit", MUTANTS)
def test_mutants_die(edit):
    dies(lambda change: rationally_right(partial(collected, change=change)), "reassociate", Edit(*edit))
