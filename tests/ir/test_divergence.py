"""Convergence: what varies from lane to lane, where some lanes are missing, and that validate refuses lane_any
there."""

from __future__ import annotations

import pytest

from pyflat.errors import InternalError
from pyflat.ir.divergence import divergence
from pyflat.ir.interp import run
from pyflat.ir.nodes import Block, Function, Op, walk
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.validate import validate


def sample(body: str) -> Function:
    """A function of the varying %v, %x and the uniform %u, %k."""
    return parse_function(f"func @f(%v: b, %u: b, %x: i8, %k: i8) -> () structured @return {{\n{body}\nyield\n}}")


def named(fn: Function, name: str) -> Op:
    return next(op for item in walk(fn.body) if isinstance(item, Block) for op in item.ops if op.name == name)


def here(fn: Function, name: str) -> tuple[bool, bool]:
    """Whether the operation varies, and whether some lanes are missing where it stands."""
    found = divergence(fn, (fn.params[1], fn.params[3]))
    op = named(fn, name)
    block = next(item for item in walk(fn.body) if isinstance(item, Block) and op in item.ops)
    return not found.uniform(op), block in found.divergent


@pytest.mark.parametrize(
    ("line", "varies"),
    [("%a = neg %x : i8", True), ("%a = neg %k : i8", False), ("%a = add %k, %x : i8", True), ("%a = neg 3 : i8", False),
     ("%a = lane_any %v : b", False), ("%a = lane_any %u : b", False)],
)
def test_an_operation_varies_with_its_operands(line, varies):
    assert here(sample(line), "a") == (varies, False)


@pytest.mark.parametrize(("cond", "then", "orelse", "varies", "divergent"), [
    ("%v", "1", "2", True, True), ("%v", "1", "1", False, True), ("%u", "1", "2", False, False), ("%u", "1", "%x", True, False),
])
def test_an_if_splits_the_lanes_where_its_condition_varies(cond, then, orelse, varies, divergent):
    fn = sample(f"""if {cond} {{
      %inner = neg %k : i8
      yield {then}
    }} else {{
      yield {orelse}
    }} -> (%r: i8)
    %after = neg %r : i8""")
    assert here(fn, "inner") == (False, divergent)
    assert here(fn, "after") == (varies, False)


def loop(body: str, *, carried: str = "%i: i8 = 0", bring: str = "%i", leave: str = "%i") -> Function:
    return sample(f"""
  loop @l again @n ({carried}) {{
    %head = neg %i : i8
    {body.replace("LEAVE", "exit @l " + leave).replace("AGAIN", "exit @n " + bring)}
    %rest = neg %k : i8
    yield {bring}
  }} -> (%r: i8)
  %after = neg %r : i8""")


def test_continue_parts_the_lanes_until_the_next_iteration():
    """The first loop of the document: (B) is not in uniform control flow if bar is divergent."""
    fn = loop("if %v {\nAGAIN\n} else {\nyield\n}\n%b = neg %k : i8\nif %u {\nLEAVE\n} else {\nyield\n}")
    assert here(fn, "b") == (False, True)
    assert here(fn, "rest") == (False, True)


def test_a_uniform_continue_divides_no_lanes():
    fn = loop("if %u {\nAGAIN\n} else {\nyield\n}")
    assert here(fn, "rest") == (False, False)
    assert here(fn, "head") == (False, False)


def test_lanes_meet_again_behind_an_inner_loop():
    """The second loop of the document: control flow reconverges after the inner loop, so (B) is in uniform control
    flow."""
    fn = loop("""loop @inner again @m () {
      %a = neg %k : i8
      if %v {
        yield
      } else {
        exit @inner
      }
      yield
    }
    %b = neg %k : i8
    if %u {
      LEAVE
    } else {
      yield
    }""")
    assert here(fn, "a") == (False, True)
    assert here(fn, "b") == (False, False)
    assert here(fn, "after") == (False, False)


def test_after_a_break_of_some_lanes_all_iterations_are_divergent_and_what_they_give_varies():
    fn = loop("if %v {\nLEAVE\n} else {\nyield\n}", bring="%head")
    assert here(fn, "head") == (False, True)
    assert here(fn, "rest") == (False, True)
    assert here(fn, "after") == (True, False)


def test_after_a_return_of_some_lanes_the_rest_of_the_function_is_divergent():
    fn = loop("if %v {\nexit @return\n} else {\nyield\n}\nif %u {\nLEAVE\n} else {\nyield\n}")
    assert here(fn, "after")[1]


def test_a_parameter_varies_when_a_later_iteration_brings_it_something_that_varies():
    fn = loop("if %u {\nLEAVE\n} else {\nyield\n}", bring="%x")
    assert here(fn, "head") == (True, False)
    assert here(fn, "after") == (True, False)


def test_a_parameter_varies_when_lanes_continue_with_different_values():
    fn = loop("if %u {\nLEAVE\n} else {\nyield\n}\nif %v {\nexit @n 1\n} else {\nyield\n}", bring="2")
    assert here(fn, "head") == (True, False)


def test_a_uniform_break_where_some_lanes_are_missing_parts_them():
    fn = loop("if %v {\nAGAIN\n} else {\nyield\n}\nif %u {\nLEAVE\n} else {\nyield\n}")
    assert here(fn, "head") == (False, True)


def test_a_region_brings_the_lanes_together():
    fn = sample("""region @r {
      if %v {
        exit @r 1
      } else {
        yield
      }
      %rest = neg %k : i8
      yield 2
    } -> (%r: i8)
    %after = neg %r : i8""")
    assert here(fn, "rest") == (False, True)
    assert here(fn, "after") == (True, False)


def test_a_condition_of_lane_any_divides_no_lanes():
    fn = loop("%go = lane_any %v : b\nif %go {\nyield\n} else {\nLEAVE\n}")
    assert here(fn, "rest") == (False, False)
    validate(fn)


# --- lane_any


ANY = "%a = lane_any %v : b"


def test_lane_any_is_printed_and_read_back_and_is_its_operand_in_one_lane():
    fn = parse_function("func @f(%v: b) -> (b) structured @return {\n  %a = lane_any %v : b\n  yield %a\n}\n")
    validate(fn)
    assert format_function(parse_function(format_function(fn))) == format_function(fn)
    assert [run(fn, [v]).values for v in (False, True)] == [(False,), (True,)]


@pytest.mark.parametrize("body", [
    f"if %v {{\n{ANY}\nyield\n}} else {{\nyield\n}}",
    f"if %v {{\nyield\n}} else {{\nregion @r {{\n{ANY}\nyield\n}}\nyield\n}}",
    f"if %v {{\nexit @return\n}} else {{\nyield\n}}\n{ANY}",
    f"if %v {{\nexit @fault\n}} else {{\nyield\n}}\n{ANY}",
    f"loop @l again @n () {{\n{ANY}\nif %v {{\nexit @l\n}} else {{\nyield\n}}\nyield\n}}",
])
def test_validate_refuses_lane_any_under_a_varying_predicate(body):
    with pytest.raises(InternalError, match="invariant 8: lane_any under a varying predicate") as caught:
        validate(sample(body))
    assert "%a = lane_any %v : b    ; <-- " in str(caught.value)


def test_lane_any_under_a_uniform_condition_is_valid_when_it_is_said_to_be_uniform():
    fn = sample(f"if %u {{\n{ANY}\nyield\n}} else {{\nyield\n}}")
    validate(fn, uniform=[fn.params[1]])
    with pytest.raises(InternalError, match="invariant 8"):
        validate(fn)
