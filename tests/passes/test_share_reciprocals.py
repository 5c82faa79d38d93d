"""Quotients: one stays, several by one divisor share its reciprocal."""

from __future__ import annotations

import pytest

from pyflat.passes.share_reciprocals import share_reciprocals
from tests.passes.sweeps import dies, rationally_right, stays, swept
from tests.support.edits import Edit


def test_one_quotient_stays():
    stays(share_reciprocals, "%a = truediv %x, %y : f8\n%b = truediv %x, 3.0 : f8\n%c = truediv %y, 3.0 : f8\nyield %a, %b, %c")


def test_a_shared_reciprocal():
    body = "%a = truediv %x, %y : f8\n%b = truediv 1.0, %y : f8\nyield %a, %b"
    assert swept(share_reciprocals, body) == "%b = recip %y : f8\n%a = mul %x, %b : f8\nyield %a, %b"


def test_random_functions_keep_their_rational_values():
    rationally_right(share_reciprocals)


MUTANTS = (
    ("share_reciprocals", "sweep.read(op.args[1])", "sweep.read(op.args[0])"),
    ("share_reciprocals", "sweep.read(dividend)", "sweep.read(op.args[1])"),
    ("share_reciprocals", "dividend.value == 1.0", "dividend.value != 1.0"),
)


@pytest.mark.parametrize("edit", MUTANTS)
def test_mutants_die(edit):
    dies(rationally_right, "share_reciprocals", Edit(*edit))
