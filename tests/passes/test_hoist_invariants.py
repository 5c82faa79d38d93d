"""hoist_invariants: what stays in the loop, what goes to the padding block, and that nothing changes its meaning."""

from __future__ import annotations

import pytest

from pyflat.ir.nodes import Block, Function, Loop, walk
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.validate import validate
from pyflat.passes.hoist_invariants import hoist_invariants
from tests.passes.structured_programs import StructuredPrograms, assert_same


def looped(body: str, before: str = "") -> str:
    return f"""func @f(%c: b, %a: f8, %b: f8, %n: i8) -> (f8) structured @return {{
{before}
  loop @l again @m (%i: i8 = 0, %s: f8 = 0.0) {{
    %go = lt %i, 3 : b
    if %go {{
      yield
    }} else {{
      exit @l %s
    }}
{body}
    %j = add %i, 1 : i8
    yield %j, %t
  }} -> (%r: f8)
  yield %r
}}
"""


def parsed(text: str) -> Function:
    fn = parse_function(text)
    validate(fn)
    return fn


def check(before: str, after: str) -> None:
    fn = parsed(before)
    text = format_function(fn)
    hoisted = hoist_invariants(fn)
    validate(hoisted)
    assert format_function(hoisted) == format_function(parsed(after))
    assert format_function(fn) == text
    assert hoist_invariants(hoisted) is hoisted
    assert_same(fn, hoisted)


# --- no change


@pytest.mark.parametrize("body", [
    "%t = add %s, %a : f8",
    "%q = truediv %a, %b : f8\n%t = add %s, %q : f8",
    "%q = sqrt %a : f8\n%t = add %s, %q : f8",
    "%k = add %n, 1 : i8\n%q = to_float %k : f8\n%t = add %s, %q : f8",
    "%p = lane_any %c : b\n%t = select %p, %s, %a : f8",
    "fault %c ValueError()\n%t = add %s, %a : f8",
    "%q = to_float %i : f8\n%t = add %s, %q : f8",
])
def test_what_varies_or_may_fault_stays(body):
    if "lane_any" in body:
        fn = parse_function(looped(body))
    else:
        fn = parsed(looped(body))
    assert hoist_invariants(fn) is fn


def test_code_without_loops_is_left_alone():
    fn = parsed("func @f(%x: f8) -> (f8) structured @return {\n%y = neg %x : f8\nyield %y\n}")
    assert hoist_invariants(fn) is fn


# --- hoisting


def test_an_invariant_operation_moves_to_the_padding_block():
    check(looped("%k = mul %a, %b : f8\n%t = add %s, %k : f8"), looped("%t = add %s, %k : f8", "%k = mul %a, %b : f8"))


def test_chains_move_in_order_and_behind_what_was_there():
    check(
        looped("%k = mul %x, %b : f8\n%m = neg %k : f8\n%t = add %s, %m : f8", "%x = abs %a : f8"),
        looped("%t = add %s, %m : f8", "%x = abs %a : f8\n%k = mul %x, %b : f8\n%m = neg %k : f8"),
    )


def test_an_operation_moves_out_of_an_arm_inside_of_the_loop():
    body = "if %c {{\n{}\nyield %k\n}} else {{\nyield %a\n}} -> (%w: f8)\n%t = add %s, %w : f8"
    check(looped(body.format("%k = mul %a, %b : f8")), looped(body.format(""), "%k = mul %a, %b : f8"))


def test_an_operation_moves_past_one_that_may_fault():
    check(
        looped("%q = truediv %a, %b : f8\n%k = mul %a, %b : f8\n%u = add %q, %k : f8\n%t = add %s, %u : f8"),
        looped("%q = truediv %a, %b : f8\n%u = add %q, %k : f8\n%t = add %s, %u : f8", "%k = mul %a, %b : f8"),
    )


def test_a_division_by_a_literal_cannot_fault():
    check(looped("%q = truediv %a, 2.0 : f8\n%t = add %s, %q : f8"), looped("%t = add %s, %q : f8", "%q = truediv %a, 2.0 : f8"))


NESTED = """func @f(%a: f8, %b: f8) -> (f8) structured @return {{
  {outer}
  loop @l again @m (%i: i8 = 0, %s: f8 = 0.0) {{
    %go = lt %i, 2 : b
    if %go {{
      yield
    }} else {{
      exit @l %s
    }}
    {middle}
    loop @k again @o (%j: i8 = 0, %u: f8 = %s) {{
      %on = lt %j, 2 : b
      if %on {{
        yield
      }} else {{
        exit @k %u
      }}
      {inner}
      %v = add %u, %h : f8
      %x = add %v, %g : f8
      %jj = add %j, 1 : i8
      yield %jj, %x
    }} -> (%w: f8)
    %ii = add %i, 1 : i8
    yield %ii, %w
  }} -> (%r: f8)
  yield %r
}}
"""


def test_operations_go_out_as_far_as_they_can():
    g, h = "%g = mul %a, %b : f8", "%h = neg %s : f8"
    check(NESTED.format(outer="", middle="", inner=f"{h}\n{g}"), NESTED.format(outer=g, middle=h, inner=""))


# --- random programs


def in_loops(fn: Function) -> int:
    loops = [item for item in walk(fn.body) if isinstance(item, Loop)]
    return sum(len(item.ops) for loop in loops for item in walk(loop.body) if isinstance(item, Block))


@pytest.mark.parametrize("seed", range(120))
def test_random_programs_compute_the_same(seed):
    fn = StructuredPrograms(seed, loops=True).function()
    hoisted = hoist_invariants(fn)
    validate(hoisted)
    assert hoist_invariants(hoisted) is hoisted
    assert_same(fn, hoisted, 25)


def test_random_loops_get_smaller():
    programs = [StructuredPrograms(seed, loops=True).function() for seed in range(40)]
    assert sum(in_loops(hoist_invariants(fn)) for fn in programs) < 0.95 * sum(map(in_loops, programs))
