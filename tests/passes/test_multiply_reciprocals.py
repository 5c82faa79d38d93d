"""Products for quotients: what stays first, then literals, to the last bit almost everywhere, and shared divisors."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import pyflat
from pyflat.ir.formats import F4, F8, FloatFormat
from pyflat.ir.interp import run
from pyflat.ir.nodes import Function
from pyflat.ir.parse import parse_function
from pyflat.ir.validate import validate
from pyflat.passes.multiply_reciprocals import multiply_reciprocals, reciprocal_parts
from pyflat.testing import same_bits
from tests.passes.flat_programs import flat
from tests.passes.sweeps import lines, stays, swept
from tests.passes.test_demote_floats import function

OTHERS = (True, False, 3, 4)
LITERALS = (3.0, -3.0, 0.1, 12.92, 1.055, 6.0, 49.0, -1e-9, 7e200, 3e-200)
NARROW_LITERALS = (3.0, -3.0, F4.rounded(0.1), F4.rounded(12.92), 49.0)
EDGES = (0.0, -0.0, 1.0, -1.0, 49.0, 1e300, -1.7e308, 1e-300, 5e-324, -3e-310, math.inf, -math.inf, math.nan)
DIVISORS = (*EDGES, 2.0**-1022, 2.0**-1024, 2.0**-1025, 2.0**1022, 2.0**1023, -1.5 * 2.0**1023, 0.1, -3.0)
TWICE = "%a = truediv %x, %y : f8\n%b = truediv 2.0, %y : f8\nyield %a, %b"


def one(text: str, x: float, y: float = 0.0) -> tuple[Function, Function, tuple[object, ...]]:
    plain = flat(text)
    return plain, multiply_reciprocals(plain), (*OTHERS, x, y)


def within(found: float, wanted: float, ulps: float) -> bool:
    return same_bits(found, wanted) or (math.isnan(found) and math.isnan(wanted)) or (
        math.isfinite(found) and abs(Fraction(found) - Fraction(wanted)) <= Fraction(ulps * math.ulp(wanted)))


def test_what_divides_once_stays():
    stays(multiply_reciprocals, "%a = truediv %x, %y : f8\n%b = mul %a, %y : f8\nyield %b")
    stays(multiply_reciprocals, "%a = truediv %x, %y : f8\n%b = truediv %y, %x : f8\nyield %a, %b")


@pytest.mark.parametrize("literal", ["0.0", "inf", "nan", "5e-324", "1e300", "-1e-300"])
def test_a_literal_far_from_one_stays(literal):
    stays(multiply_reciprocals, f"%a = truediv %x, {literal} : f8\nyield %a")


def test_literals_become_a_product_and_a_fused_one():
    assert swept(multiply_reciprocals, "%a = truediv %x, 6.0 : f8\nyield %a") == lines(
        "%0 = mul %x, 9.25185853854297e-18 : f8\n%a = fma %x, 0.16666666666666666, %0 : f8\nyield %a")
    assert swept(multiply_reciprocals, "%a = truediv %x, -8.0 : f8\nyield %a") == lines(
        "%a = mul %x, -0.125 : f8\nyield %a")


def test_a_shared_divisor_becomes_a_reciprocal_where_that_is_normal():
    assert swept(multiply_reciprocals, TWICE) == lines("""
        %0 = truediv 1.0, %y : f8
        %1 = isnormal %0 : b
        %2 = mul %x, %0 : f8
        %3 = truediv %x, %y : f8
        %a = select %1, %2, %3 : f8
        %4 = mul 2.0, %0 : f8
        %5 = truediv 2.0, %y : f8
        %b = select %1, %4, %5 : f8
        yield %a, %b""")


def test_a_divisor_that_is_known_to_be_ordinary_needs_no_test():
    text = "%i.1 = mod %i, 5 : i8\n%f = to_float %i.1 : f8\n%d = add %f, SUM : f8\n" + TWICE.replace("%y", "%d")
    assert "isnormal" not in swept(multiply_reciprocals, text.replace("SUM", "1.0"))
    assert "isnormal" in swept(multiply_reciprocals, text.replace("SUM", "0.0"))
    assert "isnormal" in swept(multiply_reciprocals, text.replace("SUM", "-1.0"))


@pytest.mark.parametrize(("literal", "floats"), [*((each, F8) for each in LITERALS), *((each, F4) for each in NARROW_LITERALS)])
def test_the_parts_of_a_reciprocal(literal: float, floats: FloatFormat):
    high, low = reciprocal_parts(literal, floats)
    exact = 1 / Fraction(literal)
    assert floats.holds(high)
    assert floats.holds(low)
    assert math.copysign(1.0, high) == math.copysign(1.0, low)
    assert abs(Fraction(high)) < abs(exact)
    assert abs(Fraction(high) + Fraction(low) - exact) <= abs(exact) * Fraction(2) ** (1 - 2 * floats.digits)


@pytest.mark.parametrize("literal", LITERALS)
def test_quotients_by_literals_are_pythons_but_within_an_ulp_where_they_are_subnormal(literal):
    plain, quick, _ = one(f"%a = truediv %x, {literal!r} : f8\nyield %a", 0.0)
    validate(quick)
    random = np.random.default_rng(6)
    numbers = random.uniform(1.0, 2.0, 300) * 2.0 ** random.integers(-300, 300, 300)
    for x in [*EDGES, *numbers.tolist(), *map(float, range(-60, 60))]:
        (found,), (wanted,) = (run(fn, (*OTHERS, x, 0.0)).values for fn in (quick, plain))
        tiny = abs(wanted) < 1e-290 or 0.0 < abs(x) < 1e-290
        assert within(found, wanted, 1.0) if tiny else same_bits(found, wanted), (x, found, wanted)


def test_quotients_by_literals_of_float32():
    for literal in NARROW_LITERALS:
        plain = parse_function(function(f"%a = truediv %x, {literal!r} : f4\nyield %a", "f4"))
        quick = multiply_reciprocals(plain)
        assert quick is not plain
        for x in [*np.random.default_rng(7).normal(size=500).astype(np.float32).tolist(), 0.0, -0.0, math.inf, 49.0]:
            (found,), (wanted,) = (run(fn, (x, 0.0, 0)).values for fn in (quick, plain))
            assert same_bits(found, wanted), (x, literal)


def test_quotients_by_a_shared_divisor_are_within_two_ulp_and_special_ones_are_pythons():
    plain, quick, _ = one(TWICE, 0.0)
    validate(quick)
    random = np.random.default_rng(8)
    numbers = (random.normal(size=(300, 2)) * 2.0 ** random.integers(-400, 400, (300, 2))).tolist()
    for x, y in [*itertools.product(EDGES, DIVISORS), *numbers]:
        for found, wanted in zip(*(run(fn, (*OTHERS, x, y)).values for fn in (quick, plain)), strict=True):
            assert within(found, wanted, 1.5), (x, y, found, wanted)
            if not 2.0**-1022 <= abs(y) <= 2.0**1022 or x == 0.0:
                assert same_bits(found, wanted) or math.isnan(found), (x, y)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_lanes_with_any_divisor_on_numba(dtype):
    """Lanes whose reciprocal is no normal number stand beside others, and in gangs of their own."""
    pytest.importorskip("llvmlite")

    def quotients(x: float, y: float) -> float:
        if y == 0.0:
            return 0.0
        return x / y + abs(y) / y - (y - x) / y

    limits = np.finfo(dtype)
    special = np.array([1.0, -1.0, limits.tiny, limits.tiny / 8, limits.max, limits.max / 2, 0.0, np.inf, 3.0], dtype)
    x, y = (each.ravel() for each in np.meshgrid(special, special))
    mixed = np.where(np.arange(700) % 7 == 0, special[np.arange(700) % 9], np.linspace(0.5, 2.0, 700)).astype(dtype)
    with np.errstate(all="ignore"):
        for a, b in ((x, y), (mixed[::-1].copy(), mixed), (np.ones(64, dtype), np.full(64, limits.tiny / 8, dtype))):
            fast, exact = (pyflat.twin(quotients, target="numba", math=math, dtype="input")(a, b) for math in ("fast", "exact"))
            terms = np.abs(a / b) + 1 + np.abs((b - a) / b)
            ordinary = np.isfinite(exact) & np.isfinite(terms)
            assert (np.abs(fast - exact)[ordinary] <= (4 * limits.eps * terms + 2 * limits.smallest_subnormal)[ordinary]).all()
            assert np.array_equal(fast[~np.isfinite(exact)], exact[~np.isfinite(exact)], equal_nan=True)
