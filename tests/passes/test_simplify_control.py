"""simplify_control: what it leaves alone, each rule, and that nothing changes its meaning."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyflat.ir.build import const
from pyflat.ir.edit.copying import Copier
from pyflat.ir.lists import same_lists
from pyflat.ir.nodes import Block, Op, walk
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.types import FLOAT
from pyflat.ir.validate import validate
from pyflat.passes.lower_exits import lower_exits
from pyflat.passes.simplify_control import simplify_control
from tests.passes.control_programs import decided
from tests.passes.structured_programs import StructuredPrograms, assert_same

Check = Callable[[str, str], None]


def wrapped(body: str) -> str:
    return f"func @f(%c: b, %x: f8, %n: i8) -> (f8) structured @return {{\n{body.strip()}\n}}\n"


@pytest.fixture
def check() -> Check:
    """Bodies before and after; a second run changes nothing; the input is left alone; the same in every lane."""

    def same(before: str, after: str) -> None:
        fn = parse_function(wrapped(before))
        validate(fn)
        text = format_function(fn)
        simple = simplify_control(fn)
        validate(simple)
        assert format_function(simple) == format_function(parse_function(wrapped(after)))
        assert format_function(fn) == text
        assert simplify_control(simple) is simple
        assert_same(fn, simple)

    return same


# --- no change


@pytest.mark.parametrize("body", [
    "%y = neg %x : f8\nyield %y",
    "if %c {\nyield 1.0\n} else {\nyield %x\n} -> (%r: f8)\nyield %r",
    "if %c {\nexit @return %x\n} else {\nyield\n}\nyield 1.0",
    "if %c {\nexit @return %x\n} else {\nexit @return 1.0\n}\nyield undefined:f8",
    "if %c {\n%y = neg %x : f8\nyield %y\n} else {\n%y.1 = abs %x : f8\nyield %y.1\n} -> (%r: f8)\nyield %r",
    "if %c {\nyield 0.0\n} else {\nyield -0.0\n} -> (%r: f8)\nyield %r",
    "region @r {\nif %c {\nexit @r\n} else {\nyield\n}\n%y = sqrt %x : f8\nyield\n}\nyield 1.0",
    "if %c {\nexit @fault ValueError()\n} else {\nexit @fault KeyError()\n}\nyield undefined:f8",
    "if %c {\nexit @fault ValueError(\"a\")\n} else {\nexit @fault ValueError(\"b\")\n}\nyield undefined:f8",
    "loop @l again @n () {\nif %c {\nexit @n\n} else {\nexit @l\n}\nyield\n}\nyield 1.0",
    "loop @l again @n () {\nif %c {\nexit @l\n} else {\nyield\n}\nyield\n}\nyield 1.0",
    "loop @l again @n () {\nif %c {\nexit @n\n} else {\nyield\n}\nexit @l\n}\nyield 1.0",
])
def test_live_control_flow_is_left_alone(body: str) -> None:
    fn = parse_function(wrapped(body))
    validate(fn)
    assert simplify_control(fn) is fn


@pytest.mark.parametrize("seed", range(30))
def test_a_second_run_changes_nothing(seed: int) -> None:
    simple = simplify_control(StructuredPrograms(seed, loops=True).function())
    assert simplify_control(simple) is simple


# --- If


def test_a_literal_condition_takes_its_arm(check: Check) -> None:
    body = "if {} {{\n%y = neg %x : f8\nyield %y\n}} else {{\n%z = abs %x : f8\nyield %z\n}} -> (%r: f8)\n%s = add %r, 1.0 : f8\nyield %s"
    check(body.format("true"), "%y = neg %x : f8\n%s = add %y, 1.0 : f8\nyield %s")
    check(body.format("false"), "%z = abs %x : f8\n%s = add %z, 1.0 : f8\nyield %s")
    check(body.format("undefined:b"), "%z = abs %x : f8\n%s = add %z, 1.0 : f8\nyield %s")


def test_an_arm_that_leaves_drops_what_follows(check: Check) -> None:
    check("if true {\nexit @return %x\n} else {\nyield\n}\n%y = sqrt %x : f8\nyield %y", "exit @return %x")


def test_nodes_inside_of_the_arm_stay_in_order(check: Check) -> None:
    inner = "%a = neg %x : f8\nif %c {\nyield %a\n} else {\nyield %x\n} -> (%b: f8)\n%d = abs %b : f8"
    check(f"if true {{\n{inner}\nyield %d\n}} else {{\nyield %x\n}} -> (%r: f8)\nyield %r", f"{inner}\nyield %d")


def test_equal_arms_are_one(check: Check) -> None:
    arm = "%y{0} = neg %x : f8\nregion @r{0} {{\nif %c {{\nexit @r{0} %y{0}\n}} else {{\nyield\n}}\nyield %x\n}} -> (%z{0}: f8)\nyield %z{0}"
    check(f"if %c {{\n{arm.format('')}\n}} else {{\n{arm.format('.1')}\n}} -> (%q: f8)\nyield %q",
          arm.format("").replace("yield %z", "yield %z"))


def test_empty_arms_vanish_and_the_condition_stays(check: Check) -> None:
    check("%q = floordiv 1, %n : i8\n%p = gt %q, 0 : b\nif %p {\nyield\n} else {\nyield\n}\nyield %x",
          "%q = floordiv 1, %n : i8\n%p = gt %q, 0 : b\nyield %x")


def test_arms_that_leave_alike_are_one(check: Check) -> None:
    check("if %c {\nexit @return %x\n} else {\nexit @return %x\n}\nyield 1.0", "exit @return %x")


def test_a_result_that_is_the_same_in_both_arms_is_that_value(check: Check) -> None:
    check("if %c {\nyield %x, 1.0\n} else {\n%y = sqrt %x : f8\nyield %x, %y\n} -> (%r: f8, %s: f8)\n%t = add %r, %s : f8\nyield %t",
          "if %c {\nyield 1.0\n} else {\n%y = sqrt %x : f8\nyield %y\n} -> (%s: f8)\n%t = add %x, %s : f8\nyield %t")


def test_a_result_that_only_one_arm_brings_is_its_value_where_that_is_visible(check: Check) -> None:
    check("if %c {\nexit @return %x\n} else {\nyield 1.0\n} -> (%r: f8)\nyield %r",
          "if %c {\nexit @return %x\n} else {\nyield\n}\nyield 1.0")
    inner = "if %c {\nexit @return %x\n} else {\n%y = neg %x : f8\nyield %y\n} -> (%r: f8)\nyield %r"
    fn = parse_function(wrapped(inner))
    assert simplify_control(fn) is fn


def test_what_follows_two_arms_that_leave_is_dropped(check: Check) -> None:
    check("if %c {\nexit @return %x\n} else {\nexit @return 1.0\n} -> (%r: f8)\n%y = sqrt %r : f8\nyield %y",
          "if %c {\nexit @return %x\n} else {\nexit @return 1.0\n}\nyield undefined:f8")


# --- Region, Loop


def test_a_region_without_exits_is_its_body(check: Check) -> None:
    check("region @r {\n%y = neg %x : f8\nyield %y\n} -> (%z: f8)\nyield %z", "%y = neg %x : f8\nyield %y")
    check("region @r {\n%y = neg %x : f8\nexit @r %y\n} -> (%z: f8)\nyield %z", "%y = neg %x : f8\nyield %y")
    check("region @r {\nyield\n}\nyield %x", "yield %x")


def test_a_region_that_leaves_the_function_ends_the_list(check: Check) -> None:
    check("region @r {\nexit @return %x\n}\n%y = sqrt %x : f8\nyield %y", "exit @return %x")


def test_a_loop_that_never_comes_around_is_its_body(check: Check) -> None:
    check("loop @l again @n (%i: i8 = %n, %s: f8 = %x) {\n%y = neg %s : f8\nexit @l %y, %i\n} -> (%r: f8, %j: i8)\n%t = to_float %j : f8\n%u = add %r, %t : f8\nyield %u",
          "%y = neg %x : f8\n%t = to_float %n : f8\n%u = add %y, %t : f8\nyield %u")


def test_a_loop_that_never_comes_around_but_is_left_early_is_a_region(check: Check) -> None:
    check("loop @l again @n (%s: f8 = %x) {\nif %c {\nexit @l %s\n} else {\nyield\n}\n%y = neg %s : f8\nexit @l %y\n} -> (%r: f8)\nyield %r",
          "region @l {\nif %c {\nexit @l %x\n} else {\nyield\n}\n%y = neg %x : f8\nyield %y\n} -> (%r: f8)\nyield %r")


def test_a_loop_stops_coming_around_when_its_dead_continue_goes(check: Check) -> None:
    check("loop @l again @n () {\nif false {\nexit @n\n} else {\nyield\n}\nexit @l\n}\nyield %x", "yield %x")


def test_what_follows_a_loop_without_a_way_out_is_dropped() -> None:
    fn = parse_function(wrapped("loop @l again @n () {\nyield\n}\n%y = sqrt %x : f8\nyield %y"))
    simple = simplify_control(fn)
    assert format_function(simple) == wrapped("  loop @l again @n () {\n    yield\n  }\n  yield undefined:f8").replace("{\nloop", "{\n  loop")
    assert simplify_control(simple) is simple


CANONICAL = """loop @l again @n (%i: i8 = 0, %s: f8 = %x) {{
  %go = lt %i, 3 : b
  if {} {{
    %j = add %i, 1 : i8
    yield %j, %x
  }} else {{
    exit @l %s
  }} -> (%j.1: i8, %s.1: f8)
  yield %j.1, %s.1
}} -> (%r: f8)
yield %r"""


@pytest.mark.parametrize("go", ["%go", "true"])
def test_the_test_of_a_canonical_loop_stays(go: str) -> None:
    fn = parse_function(wrapped(CANONICAL.format(go)))
    validate(fn, canonical=True)
    assert simplify_control(fn) is fn


def test_a_canonical_loop_that_is_never_entered_goes(check: Check) -> None:
    check(CANONICAL.format("false"), "%go = lt 0, 3 : b\nyield %x")


@pytest.mark.parametrize("seed", range(40))
def test_canonical_programs_stay_canonical(seed: int) -> None:
    fn = lower_exits(decided(seed))
    validate(fn, canonical=True)
    simple = simplify_control(fn)
    validate(simple, canonical=True)
    assert_same(fn, simple, 15)


# --- random programs


@pytest.mark.parametrize("seed", range(150))
def test_random_programs_compute_the_same(seed: int) -> None:
    fn = decided(seed)
    text = format_function(fn)
    simple = simplify_control(fn)
    validate(simple)
    assert format_function(fn) == text
    assert simplify_control(simple) is simple
    assert_same(fn, simple, 30)


def test_random_programs_get_smaller() -> None:
    sizes = [(sum(1 for _ in walk(fn.body)), sum(1 for _ in walk(simplify_control(fn).body))) for fn in map(decided, range(40))]
    assert sum(after for _, after in sizes) < 0.8 * sum(before for before, _ in sizes)


@pytest.mark.parametrize("seed", range(30))
def test_comparing_lists_knows_copies_and_sees_every_change(seed: int) -> None:
    fn = StructuredPrograms(seed, loops=True).function()
    assert same_lists(fn.body, Copier().items(fn.body))
    for at in range(sum(isinstance(item, Block) for item in walk(fn.body))):
        copy = Copier().items(fn.body)
        block = [item for item in walk(copy) if isinstance(item, Block)][at]
        block.ops.insert(0, Op("neg", [const(1.0)], FLOAT))
        assert not same_lists(fn.body, copy)
        del block.ops[0]
        if block.end is not None:
            block.end.values.append(const(1))
            assert not same_lists(fn.body, copy)
