"""Every function within 2 ulp of mpmath on random and adversarial operands; the large version writes docs/contributors/vmath.md."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("mpmath")
pytest.importorskip("llvmlite")

from mpmath import mpf, workprec

from benchmarks import vmath_accuracy as accuracy
from benchmarks import vmath_fit, vmath_float32
from benchmarks.vmath_points import hard_angles, operands
from pyflat.functions import vmath

WIDTHS = ("f8", "f4")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", vmath.TABLE)
def test_within_two_ulp(name, width):
    found = accuracy.measure(name, width, 60, seed=1)
    assert found.points > 150
    assert found.largest < accuracy.LIMIT, f"{found.largest} ulp at {found.at}"


@pytest.mark.parametrize("name", vmath_float32.unary())
def test_float32_numbers_throughout_the_format(name):
    worst, place = vmath_float32.largest_error(name, every=100_003, first=77)
    assert 0.4 < worst < accuracy.LIMIT, f"{worst} ulp at {place}"


def test_a_wrong_float32_lane_is_seen(monkeypatch):
    """The comparison of whole formats: a lane that is off, one that is nan, one that is not."""
    x = np.array([1.0, 2.0, -1.0, 3.0e38], dtype=np.float32)
    assert (vmath_float32.errors("log", x) < 1).all()
    kernels = {"f4": lambda lanes: np.array([1e-7, np.nan, 1.0, np.inf], dtype=np.float32), "f8": lambda lanes: np.log(lanes)}
    with np.errstate(all="ignore"):
        class Library:
            def __init__(self, width):
                self.width = width

            def kernel(self, name):
                return kernels[self.width]

        monkeypatch.setattr(vmath_float32.vmath_kernels, "library", Library)
        found = vmath_float32.errors("log", x)
    assert (found > 100).all()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["cbrt", "log2", "exp2", "pow"])
def test_powers_of_two_are_exact(name, width):
    dtype = accuracy.DTYPES[width]
    info = np.finfo(dtype)
    n = np.arange(info.minexp - info.nmant, info.maxexp).astype(dtype)
    two_n = np.ldexp(np.ones(n.size, dtype), n.astype(int))
    thirds = n[np.abs(n * 3) < -info.minexp]
    cases = {"cbrt": ((np.exp2(thirds * 3),), np.exp2(thirds)), "log2": ((two_n,), n), "exp2": ((n,), two_n),
             "pow": ((np.full_like(n, 2), n), two_n)}
    args, expected = cases[name]
    assert np.array_equal(vmath.evaluate(name, *args), expected)


@workprec(100)
def test_the_measure_counts_units_in_the_last_place():
    assert accuracy.error_in_ulp(1.0, mpf(1), "f8") == 0
    assert accuracy.error_in_ulp(1.0 + 2.0**-52, mpf(1), "f8") == 1
    assert accuracy.error_in_ulp(0.5, mpf(0.5) + mpf(2) ** -55, "f8") == 0.25
    assert accuracy.error_in_ulp(5e-324, mpf(0), "f8") == 1
    assert accuracy.error_in_ulp(1.0, mpf(1) + mpf(2) ** -22, "f4") == 2
    assert accuracy.error_in_ulp(math.inf, mpf(2) ** 1024, "f8") == 0
    assert accuracy.error_in_ulp(math.inf, mpf(1.7976931348623157e308), "f8") == 1
    assert accuracy.error_in_ulp(-math.inf, mpf(2) ** 1024, "f8") == math.inf
    assert accuracy.error_in_ulp(math.nan, mpf(1), "f8") == math.inf
    assert accuracy.error_in_ulp(1.0, None, "f8") == math.inf
    assert accuracy.error_in_ulp(math.nan, None, "f8") == 0


@pytest.mark.parametrize("width", WIDTHS)
def test_the_operands_hold_the_hard_cases(width):
    """Angles whose sine or cosine is tiny; subnormals; neighbours of 1."""
    angles = hard_angles(width)
    assert len(angles) > {"f8": 60, "f4": 30}[width]
    for function in (math.sin, math.cos):
        assert min(abs(function(x)) for x in angles) < {"f8": 1e-16, "f4": 1e-8}[width]
    (angles,) = operands("sin", width, 50, 0)
    assert np.isin(np.array(hard_angles(width), dtype=angles.dtype), angles).all()
    (x,) = operands("log", width, 50, 0)
    x = x[np.isfinite(x)]
    assert (np.abs(x) < np.finfo(x.dtype).tiny).sum() > 3
    assert (np.abs(x - 1) < 10 * np.finfo(x.dtype).eps).sum() > 20


def test_the_coefficients_are_those_that_the_fit_computes():
    assert vmath_fit.PAGE.read_text(encoding="utf-8") == vmath_fit.page()


def test_the_page_has_every_function_below_the_limit():
    """docs/contributors/vmath.md is up to date: a row for each function and format, with what was measured."""
    rows = [line.split("|") for line in accuracy.PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    measured = {(row[1].strip(" `"), row[2].strip()): float(row[4]) for row in rows if row[2].strip() in ("float64", "float32")}
    assert set(measured) == {(name, kind) for name in vmath.TABLE for kind in ("float64", "float32")}
    assert max(measured.values()) < accuracy.LIMIT
