"""Which CPython's gamma is believed: this one; of builds that round a product and a sum together none."""

from __future__ import annotations

import math
import sys

import pytest

from pyflat.functions import gamma_check
from pyflat.functions.libm import same_bits
from pyflat.functions.vmath.fused import exact

known = pytest.mark.skipif(not gamma_check.is_known(), reason="needs a CPython whose gamma is known")

LANCZOS = 26
"""Products in Lanczos' sum, of its two polynomials in turn; the next is the last in gamma and lgamma."""


@pytest.fixture
def fresh():
    gamma_check.is_known.cache_clear()
    yield
    gamma_check.is_known.cache_clear()


@known
@pytest.mark.parametrize("x", [*gamma_check.POINTS, 0.1, 5.25, 7.25, 139.9, 140.1, -0.7, -1.2, -170.4])
def test_python_floats_have_the_bits(x):
    assert same_bits(gamma_check.gamma(x), math.gamma(x))
    assert same_bits(gamma_check.lgamma(x), math.lgamma(x))


@known
@pytest.mark.parametrize("function", [gamma_check.gamma, gamma_check.lgamma])
@pytest.mark.parametrize("fused", [{0}, {1}, {0, 1}])
def test_points_tell_a_polynomial_that_is_rounded_once(monkeypatch, function, fused):
    assert sum(_differs(monkeypatch, function, x, fused) for x in gamma_check.POINTS) >= 3


@known
def test_points_tell_a_last_sum_that_is_rounded_once(monkeypatch):
    assert sum(_differs(monkeypatch, gamma_check.lgamma, x, {2}) for x in gamma_check.POINTS) >= 3


def _differs(monkeypatch, function, x, fused):
    expected, count = function(x), iter(range(1000))

    def add_product(total, a, b):
        number = next(count)
        place = number % 2 if number < LANCZOS else 2
        return exact(a, b, total) if place in fused else total + a * b

    with monkeypatch.context() as patch:
        patch.setattr(gamma_check, "_add_product", add_product)
        return not same_bits(function(x), expected)


@known
def test_a_build_that_rounds_once_is_not_believed(monkeypatch, fresh):
    monkeypatch.setattr(gamma_check, "_add_product", lambda total, a, b: exact(a, b, total))
    assert not gamma_check.is_known()


@pytest.mark.parametrize("version", [(3, 10, 0), (3, 99, 0)])
def test_another_version_is_not_believed(monkeypatch, fresh, version):
    monkeypatch.setattr(sys, "version_info", version)
    assert not gamma_check.is_known()
