"""Hints of control nodes: in the text, kept by every copy, and followed."""

from __future__ import annotations

import random

import pytest

from pyflat.errors import InternalError
from pyflat.ir.build import const
from pyflat.ir.edit.copying import copy_function
from pyflat.ir.edit.editor import editing
from pyflat.ir.edit.module import FunctionBuilder
from pyflat.ir.interp import run
from pyflat.ir.nodes import HINTS, Function, If, Loop, walk
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.types import FLOAT, INT
from pyflat.ir.validate import validate
from pyflat.passes.follow_hints import follow_hints
from pyflat.passes.lower_exits import lower_exits
from tests.passes.structured_programs import StructuredPrograms, assert_same

CHOICE = """
func @choice(%c: b, %x: f8) -> (f8) structured @return {
  if %c HINT {
    %y = mul %x, 2.0 : f8
    yield %y
  } else {
    %z = add %x, 1.0 : f8
    OTHER
    yield %z
  } -> (%r: f8)
  yield %r
}
"""
SUM = """
func @total(%x: f8) -> (f8, i8) structured @return {
  loop @l again @a (%i: i8 = 0, %s: f8 = %x) HINT {
    %go = lt %i, TIMES : b
    if %go {
      yield
    } else {
      exit @l %s, %i
    }
    %t = mul %s, 1.5 : f8
    %big = gt %t, 9.0 : b
    %j = add %i, 1 : i8
    if %big {
      exit @l %t, %i
    } else {
      exit @a %j, %t
    }
    yield %j, %t
  } -> (%r: f8, %n: i8)
  yield %r, %n
}
"""


def choice(hint: str, other: str = "") -> Function:
    return parse_function(CHOICE.replace("HINT", hint and f"hint({hint})").replace("OTHER", other))


def total(hint: str, times: int) -> Function:
    return parse_function(SUM.replace("HINT", hint and f"hint({hint})").replace("TIMES", str(times)))


def hints(fn: Function) -> list[str]:
    return [item.hint for item in walk(fn.body) if isinstance(item, If | Loop)]


def has(fn: Function, node: type) -> bool:
    return any(isinstance(item, node) for item in walk(fn.body))


def hinted(seed: int) -> Function:
    """A random program with random hints."""
    rng = random.Random(seed)
    fn = StructuredPrograms(seed, loops=True).function()
    for item in walk(fn.body):
        if isinstance(item, If | Loop):
            item.hint = rng.choice(HINTS[type(item)])
    return fn


@pytest.mark.parametrize("seed", range(40))
def test_hints_are_printed_and_read_back(seed):
    fn = hinted(seed)
    again = parse_function(format_function(fn))
    assert hints(again) == hints(fn)
    assert format_function(again) == format_function(fn)


@pytest.mark.parametrize("seed", range(20))
def test_hints_are_kept_by_copies(seed):
    fn = hinted(seed)
    assert hints(copy_function(fn)) == hints(fn)
    nodes = [item for item in fn.body if isinstance(item, If | Loop)]
    with editing(fn) as edit:
        assert [edit.clone_node(node).hint for node in nodes] == [node.hint for node in nodes]


def test_hints_outlast_the_lowering_of_exits():
    fn = lower_exits(total("unroll", 3))
    assert [item.hint for item in walk(fn.body) if isinstance(item, Loop)] == ["unroll"]
    assert "flatten" in hints(lower_exits(choice("flatten")))


@pytest.mark.parametrize(("node", "hint"), [(If, "unroll"), (Loop, "flatten"), (If, "?"), (Loop, "a b")])
def test_a_hint_of_another_node_is_refused(node, hint):
    fn = total("", 3)
    next(item for item in walk(fn.body) if isinstance(item, node)).hint = hint
    with pytest.raises(InternalError, match="invariant 11: no hint of this node is"):
        validate(fn)


def test_a_builder_takes_hints():
    f = FunctionBuilder("f", {"x": FLOAT}, [INT])
    with f.loop("l", {"i": const(0)}, {"r": INT}, hint="loop") as loop:
        with f.branch(f.op("ge", loop.params[0], const(3)), hint="branch") as arms, arms.then:
            f.leave(loop.label, loop.params[0])
        f.give(f.op("add", loop.params[0], const(1)))
    f.give(*loop.results)
    assert hints(f.finish()) == ["loop", "branch"]


@pytest.mark.parametrize(("hint", "many", "stays"), [
    ("", False, False), ("", True, True), ("flatten", False, False), ("flatten", True, False), ("branch", False, True)])
def test_arms_become_selects(hint, many, stays):
    fn = choice(hint, "\n".join(f"%w{i} = mul %x, {i}.0 : f8" for i in range(9)) if many else "")
    made = follow_hints(fn)
    assert has(made, If) is stays
    assert (made is fn) is stays
    for c in (True, False):
        assert run(made, [c, 3.0]).values == run(fn, [c, 3.0]).values


def test_an_arm_that_raises_stays_an_arm():
    fn = choice("flatten", "%q = truediv 1.0, %x : f8")
    assert follow_hints(fn) is fn


@pytest.mark.parametrize(("hint", "times", "stays"), [
    ("", 3, False), ("", 20, True), ("unroll", 20, False), ("loop", 3, True), ("loop", 0, True), ("", 0, False),
    ("unroll", 2**63 - 1, True)])
def test_loops_are_unrolled(hint, times, stays):
    fn = total(hint, times)
    made = follow_hints(fn)
    validate(made)
    assert has(made, Loop) is stays
    for x in (1.0, 4.0, 100.0):
        assert run(made, [x]).values == run(fn, [x]).values


@pytest.mark.parametrize("seed", range(150))
def test_random_programs_compute_the_same(seed):
    fn = hinted(seed)
    text = format_function(fn)
    made = follow_hints(fn)
    validate(made)
    assert format_function(fn) == text
    assert_same(fn, made, 8, seed)
