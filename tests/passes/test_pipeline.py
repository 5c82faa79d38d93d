"""The pipeline: its order, its hook, its cost in selects, and random structured programs through every pass."""

from __future__ import annotations

import pytest

from pyflat.errors import FlattenError, InternalError
from pyflat.ir.build import const
from pyflat.ir.nodes import Block, Function, If, Item, Label, Op, Param, Region, Yield, walk
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.types import BOOL, FLOAT
from pyflat.ir.validate import validate
from pyflat.passes import lower_exits
from pyflat.passes.pipelines import FLATTEN, flatten_ir
from tests.passes.structured_programs import StructuredPrograms, difference, lanes, strict
from tests.passes.test_lower_exits import unrolled

PROGRAMS = 300
LANES = 6


def test_every_need_is_met_by_an_earlier_pass() -> None:
    gone: set[type] = set()
    for each in FLATTEN:
        missing = each.needs_gone - gone
        assert not missing, f"{each.name} needs {missing} gone"
        gone |= each.removes
    assert gone == {Region}


def classes_in(fn: Function) -> set[type]:
    return {type(item) for item in walk(fn.body)}


def test_each_pass_removes_what_it_says() -> None:
    for seed in range(30):
        fn = StructuredPrograms(seed).function()
        gone: set[type] = set()
        for each in FLATTEN:
            fn = each.run(fn)
            gone |= each.removes
            assert not gone & classes_in(fn), each.name
        assert classes_in(fn) == {Block}


def test_the_hook_sees_each_pass_and_the_last_function() -> None:
    seen: list[tuple[str, Function]] = []
    flat = flatten_ir(unrolled(3), lambda name, fn: seen.append((name, fn)))
    assert [name for name, _ in seen] == [each.name for each in FLATTEN]
    assert seen[-1][1] is flat
    assert flat.form == "flat"


def test_the_environment_asks_for_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = parse_function("""
func @f(%x: f8) -> (f8) structured @return {
  yield %x
}
""")
    monkeypatch.delenv("PYFLAT_VALIDATE", raising=False)
    block = broken.body[0]
    assert isinstance(block, Block)
    block.end = Yield([const(1)])
    flatten_ir(broken)
    monkeypatch.setenv("PYFLAT_VALIDATE", "1")
    with pytest.raises(InternalError):
        flatten_ir(broken)


def nested(depth: int) -> Function:
    """An elif chain: an If in the else arm of an If, and so on."""
    x, label = Param(FLOAT, "x"), Label("return")
    items: list[Item] = [Block([], Yield([const(-1.0)]))]
    for i in range(depth):
        cond = Op("gt", [x, const(float(i))], BOOL)
        result = Param(FLOAT, "y")
        arms: tuple[list[Item], list[Item]] = [Block([], Yield([const(float(i))]))], items
        items = [Block([cond]), If(cond, *arms, [result]), Block([], Yield([result]))]
    return Function("f", [x], items, label, [FLOAT])


def test_an_elif_chain_of_hundreds_is_flattened() -> None:
    fn = nested(200)
    assert opcodes(flatten_ir(fn)).count("select") == 200


def test_nesting_beyond_the_recursion_limit_is_refused() -> None:
    with pytest.raises(FlattenError) as caught:
        flatten_ir(nested(20_000))
    assert caught.value.code == "flatten/too-large"


def opcodes(fn: Function) -> list[str]:
    return [op.opcode for op in fn.flat_block.ops]


def test_two_returns_are_one_select() -> None:
    fn = parse_function("""
func @f(%x: f8, %a: f8, %b: f8) -> (f8) structured @return {
  %0 = lt %x, 0.0 : b
  if %0 {
    exit @return %a
  } else {
    yield
  }
  exit @return %b
}
""")
    assert opcodes(flatten_ir(fn)) == ["lt", "select"]


@pytest.mark.parametrize("copies", [3, 40])
def test_a_break_is_one_select_per_copy_and_carried_value(copies: int) -> None:
    assert opcodes(flatten_ir(unrolled(copies))).count("select") == copies


@pytest.mark.parametrize("rungs", [0, 8])
def test_random_programs_mean_the_same_after_every_pass(rungs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lower_exits, "MAX_RUNGS", rungs)
    returned = 0
    for seed in range(PROGRAMS // 2 * bool(rungs), PROGRAMS - PROGRAMS // 2 * (not rungs)):
        fn = StructuredPrograms(seed).function()
        text = format_function(fn)
        stages: list[tuple[str, Function]] = []
        flatten_ir(fn, lambda name, after: stages.append((name, after)))
        for name, after in stages:
            validate(after)
        for args in lanes(fn, LANES, seed):
            expected = strict(fn, args)
            returned += expected is not None
            for name, after in stages:
                wrong = difference(fn, after, args)
                assert not wrong, f"seed {seed}, {name}: {wrong}\n{text}"
        assert format_function(fn) == text
    assert returned > PROGRAMS // 2 * LANES // 2
