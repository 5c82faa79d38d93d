"""lower_exits: what it leaves alone, how exits become ladders and chunks, and that nothing changes its meaning."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from pyflat.errors import Span
from pyflat.ir.build import Builder, const
from pyflat.ir.nodes import Block, Exit, Function, If, Item, Label, Op, Origin, Param, Region, Yield, count_ops, walk
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.types import FLOAT
from pyflat.ir.validate import validate
from pyflat.passes import lower_exits as module
from pyflat.passes.lower_exits import lower_exits
from tests.passes.structured_programs import assert_same

Check = Callable[[str, str], None]


@pytest.fixture
def check() -> Check:
    """Text before and after; a second run changes nothing; the input is left alone; the same in every lane."""

    def same(before: str, after: str) -> None:
        fn = parse_function(before)
        validate(fn)
        text = format_function(fn)
        lowered = lower_exits(fn)
        validate(lowered)
        assert format_function(lowered) == after.lstrip("\n")
        assert format_function(fn) == text
        assert lower_exits(lowered) is lowered
        assert_same(fn, lowered)

    return same


@pytest.fixture
def chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """No ladders: what lists with many early exits get."""
    monkeypatch.setattr(module, "MAX_RUNGS", 0)


def nesting(items: list[Item]) -> int:
    inner = [item for item in items if isinstance(item, If)]
    return max((1 + max(nesting(item.then), nesting(item.orelse)) for item in inner), default=0)


# --- no change


def test_straight_line_code_is_left_alone() -> None:
    fn = parse_function("""
func @f(%x: f8) -> (f8) structured @return {
  %y = mul %x, %x : f8
  yield %y
}
""")
    assert lower_exits(fn) is fn


def test_ifs_without_exits_are_left_alone() -> None:
    fn = parse_function("""
func @f(%x: f8, %c: b) -> (f8) structured @return {
  if %c {
    %y = neg %x : f8
    yield %y
  } else {
    yield %x
  } -> (%y.1: f8)
  yield %y.1
}
""")
    assert lower_exits(fn) is fn


# --- ladders


TWO_RETURNS = """
func @f(%x: f8, %a: f8, %b: f8) -> (f8) structured @return {
  %0 = lt %x, 0.0 : b
  if %0 {
    exit @return %a
  } else {
    yield
  }
  exit @return %b
}
"""


def test_two_returns_keep_no_mask(check: Check) -> None:
    check(TWO_RETURNS, """
func @f(%x: f8, %a: f8, %b: f8) -> (f8) structured @return {
  %0 = lt %x, 0.0 : b
  if %0 {
    yield %a
  } else {
    yield %b
  } -> (%1: f8)
  yield %1
}
""")


LADDER = """
func @f(%x: f8, %y: f8) -> (f8) structured @return {
  region @loop {
    %u = add %x, %y : f8
    %0 = gt %u, 4.0 : b
    if %0 {
      exit @loop %u
    } else {
      yield
    }
    %v = mul %u, %y : f8
    %1 = gt %v, 4.0 : b
    if %1 {
      yield
    } else {
      exit @loop %v
    }
    %w = sub %v, %u : f8
    yield %w
  } -> (%s: f8)
  %2 = neg %s : f8
  yield %2
}
"""


def test_few_exits_nest_and_leave_no_mask_behind(check: Check) -> None:
    check(LADDER, """
func @f(%x: f8, %y: f8) -> (f8) structured @return {
  %u = add %x, %y : f8
  %0 = gt %u, 4.0 : b
  if %0 {
    yield %u
  } else {
    %v = mul %u, %y : f8
    %1 = gt %v, 4.0 : b
    if %1 {
      %w = sub %v, %u : f8
      yield %w
    } else {
      yield %v
    } -> (%s: f8)
    yield %s
  } -> (%s.1: f8)
  %2 = neg %s.1 : f8
  yield %2
}
""")


def test_a_return_inside_a_region_keeps_the_mask_of_the_function_only(check: Check) -> None:
    check("""
func @f(%x: f8, %y: f8) -> (f8) structured @return {
  region @loop {
    %0 = gt %x, 4.0 : b
    if %0 {
      exit @return %y
    } else {
      yield
    }
    %w = sub %x, %y : f8
    yield %w
  } -> (%s: f8)
  %1 = neg %s : f8
  yield %1
}
""", """
func @f(%x: f8, %y: f8) -> (f8) structured @return {
  %0 = gt %x, 4.0 : b
  if %0 {
    yield true, %y, false, undefined:f8
  } else {
    %w = sub %x, %y : f8
    yield false, undefined:f8, true, %w
  } -> (%1: b, %2: f8, %3: b, %s: f8)
  %4 = not %1 : b
  if %4 {
    %5 = neg %s : f8
    yield %5
  } else {
    yield %2
  } -> (%6: f8)
  yield %6
}
""")


def test_regions_that_keep_their_exits_to_themselves_are_no_rungs() -> None:
    """A function of many inlined callees with early returns, and one early return of its own: no mask."""
    regions = "".join(f"""
  region @frame.{i} {{
    if %c {{
      exit @frame.{i} {i}.0
    }} else {{
      yield
    }}
    yield %x
  }} -> (%r.{i}: f8)""" for i in range(1, 20))
    fn = parse_function(f"""
func @f(%x: f8, %c: b, %d: b) -> (f8) structured @return {{{regions}
  if %d {{
    exit @return %x
  }} else {{
    yield
  }}
  yield %r.7
}}
""")
    lowered = lower_exits(fn)
    validate(lowered)
    assert_same(fn, lowered)
    assert count_ops(lowered) == 0


def test_an_exit_with_two_values_has_an_accumulator_for_each(check: Check) -> None:
    check("""
func @f(%x: f8, %c: b, %d: b) -> (f8) structured @return {
  region @frame {
    if %c {
      if %d {
        exit @frame %x, 2.0
      } else {
        yield
      }
      yield
    } else {
      yield
    }
    yield 3.0, 4.0
  } -> (%a: f8, %b: f8)
  %0 = sub %a, %b : f8
  yield %0
}
""", """
func @f(%x: f8, %c: b, %d: b) -> (f8) structured @return {
  if %c {
    if %d {
      yield true, %x, 2.0
    } else {
      yield false, undefined:f8, undefined:f8
    } -> (%0: b, %a: f8, %b: f8)
    yield %0, %a, %b
  } else {
    yield false, undefined:f8, undefined:f8
  } -> (%1: b, %a.1: f8, %b.1: f8)
  %2 = not %1 : b
  if %2 {
    yield 3.0, 4.0
  } else {
    yield %a.1, %b.1
  } -> (%a.2: f8, %b.2: f8)
  %3 = sub %a.2, %b.2 : f8
  yield %3
}
""")


# --- chunks


@pytest.mark.usefixtures("chunks")
def test_chunks_are_siblings_and_export_what_later_ones_use(check: Check) -> None:
    check(LADDER, """
func @f(%x: f8, %y: f8) -> (f8) structured @return {
  %u = add %x, %y : f8
  %0 = gt %u, 4.0 : b
  if %0 {
    yield true, %u
  } else {
    yield false, undefined:f8
  } -> (%1: b, %s: f8)
  %2 = not %1 : b
  if %2 {
    %v = mul %u, %y : f8
    %3 = gt %v, 4.0 : b
    if %3 {
      yield false, undefined:f8
    } else {
      yield true, %v
    } -> (%4: b, %s.1: f8)
    yield %4, %s.1, %v
  } else {
    yield %1, %s, undefined:f8
  } -> (%5: b, %s.2: f8, %v.1: f8)
  %6 = not %5 : b
  if %6 {
    %w = sub %v.1, %u : f8
    yield %w
  } else {
    yield %s.2
  } -> (%s.3: f8)
  %7 = neg %s.3 : f8
  yield %7
}
""")


def test_an_arm_that_only_sometimes_returns_wraps_what_follows(check: Check) -> None:
    check("""
func @f(%x: f8, %c: b, %d: b) -> (f8) structured @return {
  if %c {
    if %d {
      exit @return 1.0
    } else {
      yield
    }
    yield
  } else {
    yield
  }
  %t = mul %x, 2.0 : f8
  yield %t
}
""", """
func @f(%x: f8, %c: b, %d: b) -> (f8) structured @return {
  if %c {
    if %d {
      yield true, 1.0
    } else {
      yield false, undefined:f8
    } -> (%0: b, %1: f8)
    yield %0, %1
  } else {
    yield false, undefined:f8
  } -> (%2: b, %3: f8)
  %4 = not %2 : b
  if %4 {
    %t = mul %x, 2.0 : f8
    yield %t
  } else {
    yield %3
  } -> (%5: f8)
  yield %5
}
""")


@pytest.mark.usefixtures("chunks")
def test_a_later_exit_to_another_label_is_not_taken_by_lanes_that_left_before(check: Check) -> None:
    check("""
func @f(%x: f8, %c: b, %d: b) -> (f8) structured @return {
  region @next {
    if %c {
      exit @next 1.0
    } else {
      yield
    }
    if %d {
      exit @return 2.0
    } else {
      yield
    }
    yield 3.0
  } -> (%s: f8)
  %t = add %x, %s : f8
  yield %t
}
""", """
func @f(%x: f8, %c: b, %d: b) -> (f8) structured @return {
  if %c {
    yield true, 1.0
  } else {
    yield false, undefined:f8
  } -> (%0: b, %s: f8)
  %1 = not %0 : b
  if %1 {
    if %d {
      yield true, 2.0
    } else {
      yield false, undefined:f8
    } -> (%2: b, %3: f8)
    yield %2, %3
  } else {
    yield false, undefined:f8
  } -> (%4: b, %5: f8)
  %6 = or %0, %4 : b
  %7 = not %6 : b
  if %7 {
    yield true, 3.0
  } else {
    yield %0, %s
  } -> (%8: b, %s.1: f8)
  %9 = not %4 : b
  if %9 {
    %t = add %x, %s.1 : f8
    yield %t
  } else {
    yield %5
  } -> (%10: f8)
  yield %10
}
""")


def unrolled(copies: int) -> Function:
    """A loop of `copies` with a break in each."""
    build, x, label, loop = Builder(), Param(FLOAT, "x"), Label("return"), Label("loop")
    with build.detached() as outer:
        with build.detached() as body:
            s: Param | Op = x
            for _ in range(copies):
                s = build.op("add", s, x, name="s")
                cond = build.op("gt", s, const(40.0))
                with build.detached() as then:
                    build.end(Exit(loop, [s]))
                with build.detached() as orelse:
                    build.end(Yield())
                build.node(If(cond, then, orelse))
            build.end(Yield([build.op("neg", s, name="s")]))
        build.node(Region(loop, body, [result := Param(FLOAT, "s")]))
        build.end(Yield([result]))
    return Function("f", [x], outer, label, [FLOAT])


def test_many_breaks_do_not_nest_and_cost_the_same_each() -> None:
    sizes = []
    for copies in (100, 200, 1000):
        fn = unrolled(copies)
        lowered = lower_exits(fn)
        validate(lowered)
        assert nesting(lowered.body) <= 2
        sizes.append(count_ops(lowered))
        assert_same(fn, lowered, 12)
    assert sizes[2] - sizes[1] == 8 * (sizes[1] - sizes[0])


# --- faults and dead code


def test_a_raise_is_an_operation_and_the_other_arm_decides_the_join(check: Check) -> None:
    check("""
func @f(%x: f8) -> (f8) structured @return {
  %0 = lt %x, 0.0 : b
  if %0 {
    exit @fault ValueError("negative")
  } else {
    yield %x
  } -> (%y: f8)
  %1 = add %y, 1.0 : f8
  yield %1
}
""", """
func @f(%x: f8) -> (f8) structured @return {
  %0 = lt %x, 0.0 : b
  if %0 {
    fault true ValueError("negative")
    yield undefined:f8
  } else {
    yield %x
  } -> (%y: f8)
  %1 = add %y, 1.0 : f8
  yield %1
}
""")


def test_a_raise_against_a_return_leaves_no_mask(check: Check) -> None:
    check("""
func @f(%x: f8, %c: b) -> (f8) structured @return {
  region @frame {
    if %c {
      exit @fault ValueError
    } else {
      exit @frame %x
    } -> (%y: f8)
    yield %y
  } -> (%z: f8)
  %1 = add %z, 1.0 : f8
  yield %1
}
""".replace("ValueError", "ValueError()"), """
func @f(%x: f8, %c: b) -> (f8) structured @return {
  if %c {
    fault true ValueError()
    yield undefined:f8
  } else {
    yield %x
  } -> (%z: f8)
  %0 = add %z, 1.0 : f8
  yield %0
}
""")


def test_code_after_a_certain_exit_is_dropped(check: Check) -> None:
    check("""
func @f(%x: f8, %c: b) -> (f8) structured @return {
  if %c {
    exit @return 1.0
  } else {
    exit @fault ValueError()
  }
  %dead = sqrt %x : f8
  yield %dead
}
""", """
func @f(%x: f8, %c: b) -> (f8) structured @return {
  if %c {
    yield 1.0
  } else {
    fault true ValueError()
    yield undefined:f8
  } -> (%0: f8)
  yield %0
}
""")


def test_a_function_that_always_raises(check: Check) -> None:
    check("""
func @f(%x: f8) -> (f8) structured @return {
  region @frame {
    exit @fault ValueError("always")
  } -> (%y: f8)
  %1 = add %y, 1.0 : f8
  yield %1
}
""", """
func @f(%x: f8) -> (f8) structured @return {
  fault true ValueError("always")
  yield undefined:f8
}
""")


# --- what operations carry


def test_copies_keep_name_origin_statement_and_attrs() -> None:
    span = Span("a.py", 3, 4, 3, 9)
    build, i, label, joined = Builder(), Param(FLOAT, "i"), Label("return"), Param(FLOAT, "j")
    build.origin = Origin(span, "the node", 2)
    with build.detached() as body:
        build.node(Region(Label("R"), [Block((), Yield([i]))], [joined]))
        index = build.op("floor_int", joined)
        table = build.op("gather", index, kind=FLOAT, name="t", table=(1.0, 2.0))
        table.statement = Origin(span, "the statement")
        build.end(Exit(label, [table]))
    lowered = lower_exits(Function("f", [i], body, label, [FLOAT]))
    (block,) = lowered.body
    assert isinstance(block, Block)
    copy = block.ops[1]
    assert block.ops[0].args == (i,)
    assert copy is not table
    assert (copy.name, copy.origin, copy.statement, copy.attrs) == (table.name, table.origin, table.statement, table.attrs)


def test_the_place_of_a_raise_is_kept() -> None:
    span = Span("a.py", 3, 4, 3, 9)
    fn = parse_function("""
func @f(%x: f8) -> (f8) structured @return {
  exit @fault ValueError("no")
}
""")
    (block,) = fn.body
    assert isinstance(block, Block)
    assert isinstance(block.end, Exit)
    assert block.end.fault is not None
    block.end.fault = dataclasses.replace(block.end.fault, span=span)
    (fault,) = [op for item in walk(lower_exits(fn).body) if isinstance(item, Block) for op in item.ops]
    assert fault.attr("fault").span == span
    assert fault.origin == Origin(span)
