"""The functions of math="fast": what calls none is left alone, and small powers are products."""

from __future__ import annotations

import math

import pytest

from pyflat.ir.formats import F4
from pyflat.ir.interp import run
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.validate import validate
from pyflat.passes.choose_fast_functions import choose_fast_functions
from pyflat.targets.numba.costs import VECTOR_MATH
from pyflat.targets.numpy.blocks import NUMPY_MATH
from pyflat.testing import same_bits
from tests.ir.test_formats import NARROW
from tests.passes.flat_programs import flat
from tests.passes.test_demote_floats import function

WIDE = (0.0, -0.0, 1.0, -1.5, 0.1, 3e-200, -7e-120, 1e-80, 2.5e150, -1e200, 4e307, 5e-324, math.inf, -math.inf, math.nan)


@pytest.mark.parametrize("body", ["%a = add %x, %y : f4\nyield %a", "%a = exp 2.0 : f4\nyield %a", "%a = pow 2.0, 3.0 : f4\nyield %a"])
def test_what_calls_no_function_of_lanes_is_left_alone(body):
    fn = parse_function(function(body, "f4"))
    assert choose_fast_functions(fn, {}) is fn
    assert format_function(choose_fast_functions(fn, VECTOR_MATH)) == format_function(fn)


def test_functions_are_those_of_the_target():
    fn = parse_function(function("%a = exp %x : f4\n%b = pow %a, %y : f4\nyield %b", "f4"))
    assert format_function(choose_fast_functions(fn, VECTOR_MATH)) == function("%a = vec_exp %x : f4\n%b = vec_pow %a, %y : f4\nyield %b", "f4")
    assert format_function(choose_fast_functions(fn, NUMPY_MATH)) == function("%a = np_exp %x : f4\n%b = np_powers %a, %y : f4\nyield %b", "f4")


@pytest.mark.parametrize("exponent", [2.0, 3.0, 4.0, -1.0, -2.0, 0.5])
def test_small_powers_are_right_within_the_error_of_the_function(exponent):
    exact = parse_function(function(f"%a = pow %x, {exponent} : f4\nyield %a", "f4"))
    quick = choose_fast_functions(exact, VECTOR_MATH)
    validate(quick)
    assert "pow" not in format_function(quick)
    for x in NARROW:
        (a,), (b,) = run(exact, (x, 0.0, 0)).values, run(quick, (x, 0.0, 0)).values
        assert same_bits(a, b) or abs(a - b) <= 2 * F4.rounded(abs(a)) * 2.0**-23 or max(abs(a), abs(b)) < 1e-44, (x, a, b)


@pytest.mark.parametrize("exponent", [2.0, 3.0, 4.0, -1.0, -2.0, 0.5])
def test_small_powers_of_float64_are_within_two_ulp_with_the_special_values(exponent):
    quick = choose_fast_functions(flat(f"%a = pow %x, {exponent} : f8\nyield %a"), VECTOR_MATH)
    for x in WIDE:
        try:
            wanted = x**exponent if x >= 0.0 or exponent != 0.5 or math.isinf(x) else math.nan
        except OverflowError:
            wanted = math.copysign(math.inf, x) if exponent in (3.0, -1.0) else math.inf
        except ZeroDivisionError:
            continue  # the fault says so
        (found,) = run(quick, (True, True, 0, 0, x, 0.0)).values
        assert same_bits(found, wanted) or abs(found - wanted) <= 2 * math.ulp(wanted), (x, found, wanted)


def test_other_powers_are_the_fast_function():
    for exponent in ("-3.0", "2.5", "%y"):
        fn = parse_function(function(f"%a = pow %x, {exponent} : f4\nyield %a", "f4"))
        assert "vec_pow" in format_function(choose_fast_functions(fn, VECTOR_MATH))
