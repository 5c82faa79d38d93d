"""The complex library as plain Python against CPython itself: operators, abs and cmath, scalar by scalar, bit for
bit."""

from __future__ import annotations

import cmath
import itertools
import math
import operator
import struct
from collections.abc import Callable
from typing import Any

import pytest

from pyflat.frontend.library import complex_library as library

EDGES = (0.0, 1.0, 0.5, 2.0, 0.75, 1.2, 1.9, 5e-324, 1e-310, 2.2250738585072014e-308, 1e-200, 1.5e-154, 1e-8, 3.0, 7.25,
         100.0, 700.0, 708.5, 709.0, 710.0, 720.0, 1000.0, 1e15, 1e153, 6.7e153, 1e154, 1e300, 4e307, 5e307,
         1.7976931348623157e308, math.inf, math.nan, 0.7071067811865476, 1.0000000000000002, 0.9999999999999999,
         math.pi / 2, math.pi)
GRID = [sign * x for x in EDGES for sign in (1.0, -1.0)]
FEWER = [sign * x for x in (0.0, 1.0, 2.5, 1e-310, 1e-160, 1e160, 1e308, math.inf, math.nan, 100.0, 1 / 3)
         for sign in (1.0, -1.0)]
EXPONENTS = [sign * x for x in (0.0, 1.0, 2.0, 3.0, 7.0, 64.0, 99.0, 100.0, 101.0, 0.5, 1 / 3, 1e300, math.inf, math.nan)
             for sign in (1.0, -1.0)]


def bits(value: Any) -> Any:
    """A value by its bits; any nan is any other."""
    if isinstance(value, complex):
        return bits((value.real, value.imag))
    if isinstance(value, tuple):
        return tuple(map(bits, value))
    if isinstance(value, float):
        return "nan" if math.isnan(value) else struct.pack("<d", value)
    return value


def outcome(fn: Callable[..., Any], *args: Any) -> Any:
    try:
        return bits(fn(*args))
    except Exception as error:  # noqa: BLE001 - the exception is what is compared
        return type(error).__name__, str(error)


FUNCTIONS = ("sqrt", "exp", "log", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan",
             "asinh", "acosh", "atanh", "phase", "polar", "isnan", "isinf")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_the_bits_and_errors_of_cmath(name: str) -> None:
    ours, theirs = getattr(library, name), getattr(cmath, name)
    for x, y in itertools.product(GRID, repeat=2):
        assert outcome(ours, x, y) == outcome(theirs, complex(x, y)), (x, y)


def test_rect() -> None:
    for r, phi in itertools.product(GRID, repeat=2):
        assert outcome(library.rect, r, phi) == outcome(cmath.rect, r, phi), (r, phi)


def test_logarithms_to_a_base() -> None:
    for row in itertools.product(FEWER[::2], repeat=4):
        expected = outcome(cmath.log, complex(*row[:2]), complex(*row[2:]))
        assert outcome(library.log_base, *row) == expected, row


@pytest.mark.parametrize(("ours", "theirs"), [(library.product, operator.mul), (library.quotient, operator.truediv)])
def test_operators(ours: Callable[..., Any], theirs: Callable[..., Any]) -> None:
    for row in itertools.product(FEWER, repeat=4):
        assert outcome(ours, *row) == outcome(theirs, complex(*row[:2]), complex(*row[2:])), row


def test_real_operands_are_complex_with_a_positive_zero() -> None:
    for x, re, im in itertools.product(FEWER, repeat=3):
        z = complex(re, im)
        assert outcome(library.product, x, 0.0, re, im) == outcome(operator.mul, x, z)
        assert outcome(library.quotient, x, 0.0, re, im) == outcome(operator.truediv, x, z)
        assert outcome(library.quotient, re, im, x, 0.0) == outcome(operator.truediv, z, x)


def test_powers() -> None:
    """Where a step of the library overflows, it may raise although CPython does not: those lanes are replayed."""
    replayed = 0
    for row in itertools.product(FEWER, FEWER, EXPONENTS, (0.0, -0.0, 1.0, -2.5, 300.0, math.inf, math.nan)):
        expected, found = outcome(operator.pow, complex(*row[:2]), complex(*row[2:])), outcome(library.power, *row)
        if found == ("OverflowError", "(34, 'Numerical result out of range')") or \
                found == ("OverflowError", "absolute value too large"):
            replayed += 1
            continue
        assert found == expected, row
    assert 0 < replayed < 25_000


def test_magnitude_is_abs_and_infinite_where_abs_overflows() -> None:
    for x, y in itertools.product(GRID, repeat=2):
        expected = outcome(abs, complex(x, y))
        wanted = bits(math.inf) if expected == ("OverflowError", "absolute value too large") else expected
        assert outcome(library.magnitude, x, y) == wanted


def test_isclose() -> None:
    for row in itertools.product(FEWER[::2], repeat=4):
        for tolerances in ({}, {"rel_tol": 0.5}, {"abs_tol": 1e300}):
            expected = outcome(lambda row, t: cmath.isclose(complex(*row[:2]), complex(*row[2:]), **t), row, tolerances)
            given = {"rel_tol": 1e-9, "abs_tol": 0.0, **tolerances}
            assert outcome(library.isclose, *row, *given.values()) == expected, (row, tolerances)
