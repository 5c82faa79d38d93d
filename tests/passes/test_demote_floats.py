"""A function of float64 becomes the same one of float32."""

from __future__ import annotations

import pytest

from pyflat.errors import FlattenError
from pyflat.ir.formats import F4
from pyflat.ir.interp import run
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.validate import validate
from pyflat.passes.demote_floats import demote_floats


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
