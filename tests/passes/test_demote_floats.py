"""A function of float64 becomes the same one of float32."""

from __future__ import annotations

import pytest

from pyflat.errors import FlattenError
from pyflat.ir.formats import F4
from pyflat.ir.interp import run
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.validate import validate
from pyflat.passes.accuracy.choose_float32_math import choose_float32_math
from pyflat.passes.demote_floats import demote_floats
from pyflat.targets.numba.costs import VECTOR_MATH
from pyflat.targets.numpy.costs import NUMPY_MATH
from pyflat.testing import same_bits
from tests.ir.test_formats import NARROW


def function(body: str, floats: str = "f8", form: str = "flat") -> str:
    lines = "".join(f"  {line.strip()}\n" for line in body.strip().splitlines())
    kind = form if floats == "f8" else f"{form} f4"
    return f"func @f(%x: {floats}, %y: {floats}, %i: i8) -> ({floats}) {kind} @return {{\n{lines}}}\n"


def narrowed(body: str) -> str:
    fn = demote_floats(parse_function(function(body)))
    validate(fn)
    return format_function(fn)


def test_a_function_of_float32_is_left_alone():
    fn = parse_function(function("yield %x", "f4"))
    assert demote_floats(fn) is fn


def test_literals_are_rounded():
    assert narrowed("%a = mul %x, 0.1 : f8\n%b = add %a, 1e300 : f8\nyield %b") == function(
        "%a = mul %x, 0.10000000149011612 : f4\n%b = add %a, inf : f4\nyield %b", "f4")
    assert narrowed("yield 0.3") == function("yield 0.30000001192092896", "f4")
    assert narrowed("yield undefined:f8") == function("yield undefined:f4", "f4")


def test_tables_are_rounded_and_tables_of_ints_are_not():
    assert narrowed("%a = gather %i {table = (0.5, 0.1)} : f8\nyield %a") == function(
        "%a = gather %i {table = (0.5, 0.10000000149011612)} : f4\nyield %a", "f4")
    assert "{table = (16777217, 2)}" in narrowed("%a = gather %i {table = (16777217, 2)} : i8\n%b = to_float %a : f8\nyield %b")


def test_literals_inside_of_loops_and_arms_are_rounded():
    text = """\
func @g(%x: f8) -> (f8) structured @return {
  loop @l again @next_l (%v: f8 = 0.1) {
    %0 = gt %v, 0.7 : b
    if %0 {
      exit @l %v
    } else {
      yield
    }
    %1 = add %v, 0.3 : f8
    yield %1
  } -> (%w: f8)
  yield %w
}
"""
    fn = demote_floats(parse_function(text))
    validate(fn)
    value, step = F4.rounded(0.1), F4.rounded(0.3)
    while value <= F4.rounded(0.7):
        value = F4.rounded(value + step)
    assert run(fn, (0.0,)).values == (value,)


def test_what_float64_itself_decides_is_refused():
    with pytest.raises(FlattenError, match="in float32"):
        demote_floats(parse_function(function("%a = np_dot %x, %y, %y, %x : f8\nyield %a")))


# --- the functions of vector math


@pytest.mark.parametrize("body", ["%a = add %x, %y : f4\nyield %a", "%a = exp 2.0 : f4\nyield %a", "%a = pow 2.0, 3.0 : f4\nyield %a"])
def test_what_calls_no_function_of_lanes_is_left_alone(body):
    fn = parse_function(function(body, "f4"))
    assert choose_float32_math(fn) is fn
    assert format_function(choose_float32_math(fn, VECTOR_MATH)) == format_function(fn)


def test_functions_are_those_of_the_target():
    fn = parse_function(function("%a = exp %x : f4\n%b = pow %a, %y : f4\nyield %b", "f4"))
    assert format_function(choose_float32_math(fn, VECTOR_MATH)) == function("%a = vec_exp %x : f4\n%b = vec_pow %a, %y : f4\nyield %b", "f4")
    assert format_function(choose_float32_math(fn, NUMPY_MATH)) == function("%a = np_exp %x : f4\n%b = np_powers %a, %y : f4\nyield %b", "f4")


@pytest.mark.parametrize("exponent", [2.0, 3.0, 4.0, -1.0, 0.5])
def test_small_powers_are_right_within_the_error_of_the_function(exponent):
    exact = parse_function(function(f"%a = pow %x, {exponent} : f4\nyield %a", "f4"))
    quick = choose_float32_math(exact, VECTOR_MATH)
    validate(quick)
    assert "pow" not in format_function(quick)
    for x in NARROW:
        (a,), (b,) = run(exact, (x, 0.0, 0)).values, run(quick, (x, 0.0, 0)).values
        assert same_bits(a, b) or abs(a - b) <= 2 * F4.rounded(abs(a)) * 2.0**-23 or max(abs(a), abs(b)) < 1e-44, (x, a, b)


def test_other_powers_are_the_fast_function():
    for exponent in ("-2.0", "2.5", "%y"):
        fn = parse_function(function(f"%a = pow %x, {exponent} : f4\nyield %a", "f4"))
        assert "vec_pow" in format_function(choose_float32_math(fn, VECTOR_MATH))
