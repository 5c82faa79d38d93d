"""convert_ifs: one select per result, predicates on faults, and the same values in every lane that returns."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyflat.errors import InternalError, Span
from pyflat.ir.build import Builder, const
from pyflat.ir.faults import FAULT_TYPES, RULES
from pyflat.ir.interp import run
from pyflat.ir.nodes import Function, Label, Origin, Param, Yield
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.types import FLOAT
from pyflat.ir.validate import validate
from pyflat.passes.convert_ifs import convert_ifs
from tests.passes.structured_programs import assert_same

Check = Callable[[str, str], None]


@pytest.fixture
def check() -> Check:
    """Text before and after; a second run changes nothing; the input is left alone; the same in every lane."""

    def same(before: str, after: str) -> None:
        fn = parse_function(before)
        validate(fn)
        text = format_function(fn)
        flat = convert_ifs(fn)
        validate(flat)
        assert format_function(flat) == after.lstrip("\n")
        assert format_function(fn) == text
        assert convert_ifs(flat) is flat
        assert_same(fn, flat)

    return same


def test_straight_line_code_keeps_its_operations(check: Check) -> None:
    body = """
  %y = mul %x, %x : f8
  yield %y
}
"""
    check("\nfunc @f(%x: f8) -> (f8) structured @return {" + body, "\nfunc @f(%x: f8) -> (f8) flat @return {" + body)


def test_one_select_per_result_with_the_name_of_the_variable(check: Check) -> None:
    check("""
func @f(%x: f8, %c: b) -> (f8, f8) structured @return {
  if %c {
    %y = neg %x : f8
    %y.1 = mul %y, %y : f8
    yield %y.1, %x
  } else {
    yield 1.0, %x
  } -> (%y.2: f8, %z: f8)
  yield %y.2, %z
}
""", """
func @f(%x: f8, %c: b) -> (f8, f8) flat @return {
  %y = neg %x : f8
  %y.1 = mul %y, %y : f8
  %y.2 = select %c, %y.1, 1.0 : f8
  yield %y.2, %x
}
""")


def test_an_undefined_side_is_the_other_side(check: Check) -> None:
    check("""
func @f(%x: f8, %c: b) -> (f8) structured @return {
  if %c {
    fault true ValueError("no")
    yield undefined:f8
  } else {
    %y = neg %x : f8
    yield %y
  } -> (%z: f8)
  yield %z
}
""", """
func @f(%x: f8, %c: b) -> (f8) flat @return {
  fault %c ValueError("no")
  %y = neg %x : f8
  yield %y
}
""")


def test_faults_happen_under_the_predicate_of_their_place(check: Check) -> None:
    check("""
func @f(%x: f8, %c: b, %d: b) -> (f8) structured @return {
  if %c {
    if %d {
      yield 1.0
    } else {
      %y = sqrt %x : f8
      %z = truediv %y, %x : f8
      yield %z
    } -> (%z.1: f8)
    yield %z.1
  } else {
    %y.1 = sqrt %x : f8
    yield %y.1
  } -> (%z.2: f8)
  %u = truediv 1.0, %z.2 : f8
  yield %u
}
""", """
func @f(%x: f8, %c: b, %d: b) -> (f8) flat @return {
  %y = sqrt %x : f8
  %0 = lt %x, 0.0 : b
  %1 = not %d : b
  %2 = and %c, %1 : b
  %3 = and %2, %0 : b
  fault %3 ValueError()
  %z = truediv %y, %x : f8
  %4 = eq %x, 0.0 : b
  %5 = and %2, %4 : b
  fault %5 ZeroDivisionError()
  %z.1 = select %d, 1.0, %z : f8
  %y.1 = sqrt %x : f8
  %6 = lt %x, 0.0 : b
  %7 = not %c : b
  %8 = and %7, %6 : b
  fault %8 ValueError()
  %z.2 = select %c, %z.1, %y.1 : f8
  %u = truediv 1.0, %z.2 : f8
  %9 = eq %z.2, 0.0 : b
  fault %9 ZeroDivisionError()
  yield %u
}
""")


def test_nested_predicates_are_conjunctions_and_shared(check: Check) -> None:
    check("""
func @f(%x: f8, %c: b, %d: b) -> (f8) structured @return {
  if %c {
    if %d {
      %y = sqrt %x : f8
      %z = truediv %y, %x : f8
      yield %z
    } else {
      yield undefined:f8
    } -> (%z.1: f8)
    if %d {
      yield %z.1
    } else {
      yield 2.0
    } -> (%u: f8)
    yield %u
  } else {
    yield 1.0
  } -> (%v: f8)
  yield %v
}
""", """
func @f(%x: f8, %c: b, %d: b) -> (f8) flat @return {
  %y = sqrt %x : f8
  %0 = lt %x, 0.0 : b
  %1 = and %c, %d : b
  %2 = and %1, %0 : b
  fault %2 ValueError()
  %z = truediv %y, %x : f8
  %3 = eq %x, 0.0 : b
  %4 = and %1, %3 : b
  fault %4 ZeroDivisionError()
  %u = select %d, %z, 2.0 : f8
  %v = select %c, %u, 1.0 : f8
  yield %v
}
""")


def test_a_negated_condition_swaps_the_arms(check: Check) -> None:
    check("""
func @f(%x: f8, %c: b) -> (f8) structured @return {
  %0 = not %c : b
  if %0 {
    %1 = truediv 1.0, %x : f8
    yield %1
  } else {
    yield %x
  } -> (%y: f8)
  yield %y
}
""", """
func @f(%x: f8, %c: b) -> (f8) flat @return {
  %0 = not %c : b
  %1 = truediv 1.0, %x : f8
  %2 = eq %x, 0.0 : b
  %3 = and %0, %2 : b
  fault %3 ZeroDivisionError()
  %y = select %c, %x, %1 : f8
  yield %y
}
""")


def test_a_constant_condition_takes_its_arm(check: Check) -> None:
    check("""
func @f(%x: f8) -> (f8) structured @return {
  if false {
    %y = sqrt %x : f8
    yield %y
  } else {
    yield %x
  } -> (%y.1: f8)
  yield %y.1
}
""", """
func @f(%x: f8) -> (f8) flat @return {
  yield %x
}
""")


@pytest.mark.parametrize("then", ["%c", "%p", "true", "false"])
@pytest.mark.parametrize("orelse", ["%c", "%q", "true", "false"])
@pytest.mark.parametrize("cond", ["%c", "%n"])
def test_selects_of_flags_are_boolean_algebra(then: str, orelse: str, cond: str) -> None:
    fn = parse_function(f"""
func @f(%c: b, %p: b, %q: b) -> (b) structured @return {{
  %n = not %c : b
  if {cond} {{
    yield {then}
  }} else {{
    yield {orelse}
  }} -> (%r: b)
  yield %r
}}
""")
    flat = convert_ifs(fn)
    validate(flat)
    assert_same(fn, flat, 40)
    if (then, orelse) != ("%p", "%q"):
        assert all(op.opcode != "select" for op in flat.flat_block.ops)


def test_nan_and_signed_zero_pass_through_a_select(check: Check) -> None:
    fn = parse_function("""
func @f(%x: f8) -> (f8) structured @return {
  %0 = isnan %x : b
  if %0 {
    yield -0.0
  } else {
    yield 0.0
  } -> (%y: f8)
  yield %y
}
""")
    flat = convert_ifs(fn)
    assert str(run(flat, [float("nan")]).values[0]) == "-0.0"
    assert str(run(flat, [1.0]).values[0]) == "0.0"


def test_regions_are_an_internal_error() -> None:
    fn = parse_function("""
func @f(%x: f8) -> (f8) structured @return {
  region @frame {
    yield %x
  } -> (%y: f8)
  yield %y
}
""")
    with pytest.raises(InternalError, match="region"):
        convert_ifs(fn)


def test_fault_conditions_have_the_place_but_no_source() -> None:
    span = Span("a.py", 3, 4, 3, 9)
    build, x = Builder(), Param(FLOAT, "x")
    with build.detached() as body:
        build.origin = Origin(span, "the node", 2)
        division = build.op("truediv", const(1.0), x, name="y")
        division.statement = Origin(span, "the statement")
        build.end(Yield([division]))
    flat = convert_ifs(Function("f", [x], body, Label("return"), [FLOAT]))
    copy, zero, fault = flat.flat_block.ops
    assert (copy.name, copy.origin, copy.statement) == ("y", division.origin, division.statement)
    assert zero.origin == fault.origin == Origin(span, None, 2)
    assert fault.attr("fault").type == "ZeroDivisionError"
    assert fault.attr("fault").span == span


def test_fault_types_are_of_existing_rules() -> None:
    assert set(FAULT_TYPES) <= set(RULES)
