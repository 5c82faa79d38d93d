"""Loops through lower_exits and convert_ifs: the canonical form, the masked form, and that nothing changes meaning."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from pyflat.errors import InternalError
from pyflat.ir.interp import run
from pyflat.ir.loops import all_ops, canonical_parts, has_loop, take_apart
from pyflat.ir.nodes import Function, Loop, walk
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.validate import validate
from pyflat.passes import lower_exits as module
from pyflat.passes.convert_ifs import convert_ifs
from pyflat.passes.fold_constants import fold_constants
from pyflat.passes.gather_suspects import drop_faults, gather_suspects
from pyflat.passes.lower_exits import lower_exits
from pyflat.passes.pipelines import FLATTEN, flatten_ir
from pyflat.passes.prune_dead import prune_dead
from pyflat.passes.share_subexpressions import share_subexpressions
from tests.passes.structured_programs import StructuredPrograms, bits, difference, lanes, strict

PROGRAMS = 250
LANES = 8

HALVE = """
func @f(%n: i8, %x: f8) -> (i8) structured @return {
  loop @loop again @next (%k: i8 = 0, %y: f8 = %x) {
    %0 = gt %y, 1.0 : b
    if %0 {
      yield
    } else {
      exit @loop %k
    }
    %k.1 = add %k, 1 : i8
    %y.1 = mul %y, 0.5 : f8
    yield %k.1, %y.1
  } -> (%k.2: i8)
  yield %k.2
}
"""

RETURNS = """
func @f(%n: i8, %x: f8) -> (i8) structured @return {
  loop @loop again @next (%k: i8 = 0) {
    %0 = lt %k, 10 : b
    if %0 {
      yield
    } else {
      exit @loop %k
    }
    %k.1 = add %k, 1 : i8
    %1 = eq %k, %n : b
    if %1 {
      exit @return 100
    } else {
      yield
    }
    %2 = to_float %k : f8
    %3 = gt %2, %x : b
    if %3 {
      exit @loop -1
    } else {
      exit @next %k.1
    }
    yield %k.1
  } -> (%k.2: i8)
  yield %k.2
}
"""


def lowered(text: str) -> Function:
    fn = parse_function(text)
    validate(fn)
    done = lower_exits(fn)
    validate(done, canonical=True)
    assert lower_exits(done) is done
    for args in lanes(fn, 100, 0):
        if all(map(math.isfinite, args)):  # halving an infinity takes for ever
            assert not (wrong := difference(fn, done, args)), wrong
    return done


def only_loop(fn: Function) -> Loop:
    (loop,) = (item for item in walk(fn.body) if isinstance(item, Loop))
    return loop


def test_a_canonical_loop_is_left_alone() -> None:
    fn = lowered(HALVE)
    assert lower_exits(fn) is fn


def test_the_test_at_the_start_becomes_the_header() -> None:
    assert format_function(lowered(HALVE)) == """
func @f(%n: i8, %x: f8) -> (i8) structured @return {
  loop @loop again @next (%k: i8 = 0, %y: f8 = %x) {
    %0 = gt %y, 1.0 : b
    if %0 {
      %k.1 = add %k, 1 : i8
      %y.1 = mul %y, 0.5 : f8
      yield %k.1, %y.1
    } else {
      exit @loop %k
    } -> (%k.2: i8, %y.2: f8)
    yield %k.2, %y.2
  } -> (%k.3: i8)
  yield %k.3
}
""".lstrip()


def test_a_test_that_leaves_when_it_holds_is_negated() -> None:
    opposite = HALVE.replace("gt %y", "le %y")
    fn = lowered(opposite.replace("yield\n    } else {\n      exit @loop %k", "exit @loop %k\n    } else {\n      yield"))
    assert [op.opcode for op in all_ops(fn.body)][:2] == ["le", "not"]


def test_break_and_return_are_carried_to_the_header() -> None:
    fn = lowered(RETURNS)
    loop = only_loop(fn)
    parts = take_apart(loop)
    assert [op.opcode for op in all_ops(parts.header)] == ["lt", "and"]
    assert [p.kind.value for p in loop.params] == ["i8", "b", "i8", "b", "i8"]
    assert len(loop.results) == 5


def test_a_header_that_may_fault_is_not_run_by_lanes_that_left() -> None:
    fn = lowered(RETURNS.replace("%0 = lt %k, 10 : b", "%9 = floordiv 40, %k : i8\n    %0 = gt %9, 4 : b"))
    assert not list(all_ops(take_apart(only_loop(fn)).header))


def test_a_loop_that_never_repeats_is_no_loop() -> None:
    fn = lowered(HALVE.replace("yield %k.1, %y.1", "exit @loop %k.1"))
    assert not has_loop(fn.body)


def test_a_loop_that_nothing_leaves_but_a_raise() -> None:
    fn = parse_function("""
func @f(%n: i8) -> (i8) structured @return {
  loop @loop again @next (%k: i8 = 0) {
    %0 = gt %k, 5 : b
    if %0 {
      exit @fault ValueError()
    } else {
      yield
    }
    %1 = add %k, 1 : i8
    yield %1
  }
  yield %n
}
""")
    masked = convert_ifs(lower_exits(fn))
    validate(masked)
    assert run(masked, [3]).suspect


@pytest.mark.parametrize(("old", "new"), [
    ("yield %k.2, %y.2\n", "yield %k.2, %y\n"),
    ("exit @loop %k\n", "%8 = neg %y : f8\n      exit @loop %k\n"),
])
def test_validate_knows_the_canonical_form(old: str, new: str) -> None:
    text = format_function(lowered(HALVE))
    assert old in text
    fn = parse_function(text.replace(old, new))
    validate(fn)
    assert canonical_parts(only_loop(fn)) is None
    with pytest.raises(InternalError, match="not canonical"):
        validate(fn, canonical=True)


def test_validate_knows_the_masked_form() -> None:
    masked = convert_ifs(lowered(RETURNS))
    text = format_function(masked)
    assert "masked @return" in text
    assert format_function(parse_function(text)) == text
    validate(parse_function(text))
    *lines, end, brace, _ = text.split("\n")
    wrong = "\n".join([*lines, "  if true {", "    yield", "  } else {", "    yield", "  }", end, brace, ""])
    with pytest.raises(InternalError, match="no if but"):
        validate(parse_function(wrong))


def test_a_loop_in_an_arm_gets_the_predicate() -> None:
    fn = parse_function("""
func @f(%c: b, %x: f8) -> (f8) structured @return {
  if %c {
    loop @loop again @next (%y: f8 = %x) {
      %0 = gt %y, 1.0 : b
      if %0 {
        yield
      } else {
        exit @loop %y
      }
      %y.1 = truediv %y, %x : f8
      %y.2 = mul %y.1, 0.5 : f8
      yield %y.2
    } -> (%r: f8)
    yield %r
  } else {
    yield %x
  } -> (%z: f8)
  yield %z
}
""")
    masked = convert_ifs(lower_exits(fn))
    validate(masked)
    assert [op.opcode for op in all_ops(take_apart(only_loop(masked)).header)] == ["gt", "and"]
    assert run(masked, [False, float("inf")]).values == (float("inf"),)


def test_suspect_lanes_leave() -> None:
    """The division by zero gives some value with which the loop would never end."""
    fn = parse_function("""
func @f(%n: i8) -> (i8) structured @return {
  %0 = floordiv 10, %n : i8
  loop @loop again @next (%k: i8 = %0) {
    %1 = ge %k, 0 : b
    if %1 {
      yield
    } else {
      exit @loop %k
    }
    %2 = mod %k, %k : i8
    %3 = sub %2, 1 : i8
    yield %3
  } -> (%r: i8)
  yield %r
}
""")
    masked = flatten_ir(fn)
    assert run(masked, [0], max_trips=10).suspect
    fused = gather_suspects(masked)
    validate(fused)
    assert not any(op.opcode == "fault" for op in all_ops(fused.body))
    assert [run(fused, [n], max_trips=10).values[-1] for n in (0, 20, 3)] == [True, True, False]


@pytest.mark.parametrize("change", [fold_constants, share_subexpressions, prune_dead, drop_faults])
def test_passes_over_the_masked_form_settle(change: Callable[[Function], Function]) -> None:
    for seed in range(40):
        fn = convert_ifs(lower_exits(StructuredPrograms(seed, loops=True).function()))
        once = change(fn)
        validate(once)
        assert change(once) is once


def test_dead_loops_and_parameters_go() -> None:
    text = HALVE.replace("%k.1 = add", "%9 = mul %x, %y : f8\n    %k.1 = and").replace("yield %k.2", "yield %n")
    assert not has_loop(prune_dead(convert_ifs(lowered(text))).body)
    kept = prune_dead(convert_ifs(lowered(HALVE.replace("%k.1 = add %k, 1", "%9 = mul %x, %y : f8\n    %k.1 = and 3, 1"))))
    assert [op.opcode for op in all_ops(kept.body)] == ["gt", "and", "mul"]


def test_what_a_loop_computes_is_shared_inside_only() -> None:
    text = HALVE.replace("yield %k.2\n", "%8 = mul %x, 2.0 : f8\n  %9 = gt %8, 0.0 : b\n  %7 = to_int %9 : i8\n  yield %7\n")
    text = text.replace("%k.1 = add %k, 1 : i8", "%5 = mul %x, 2.0 : f8\n    %6 = gt %5, 0.0 : b\n    %k.1 = to_int %6 : i8")
    validate(share_subexpressions(convert_ifs(lowered(text))))


@pytest.mark.parametrize("rungs", [0, 8])
def test_random_programs_mean_the_same_after_every_pass(rungs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_RUNGS", rungs)
    returned = rolled = 0
    for seed in range(PROGRAMS // 2 * bool(rungs), PROGRAMS - PROGRAMS // 2 * (not rungs)):
        fn = StructuredPrograms(seed, loops=True).function()
        validate(fn)
        text = format_function(fn)
        stages: list[tuple[str, Function]] = []
        flat = flatten_ir(fn, lambda name, after: stages.append((name, after)))
        for _, after in stages:
            validate(after, canonical=True)
        fused = gather_suspects(flat)
        validate(fused)
        rolled += has_loop(flat.body)
        for args in lanes(fn, LANES, seed):
            expected = strict(fn, args)
            returned += expected is not None
            for name, after in stages:
                wrong = difference(fn, after, args)
                assert not wrong, f"seed {seed}, {name}: {wrong}\n{text}"
            *values, suspect = run(fused, args).values
            assert suspect == (expected is None), f"seed {seed}, {args}"
            assert expected is None or list(map(bits, values)) == list(map(bits, expected.values)), f"seed {seed}"
        assert format_function(fn) == text
    assert returned > PROGRAMS // 2 * LANES // 2
    assert rolled > PROGRAMS // 4
    assert len(stages) == len(FLATTEN)
