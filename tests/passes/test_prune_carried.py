"""prune_carried: what has no use goes, what may fault or warn stays."""

from __future__ import annotations

import pytest

from pyflat.ir.interp import LaneFault, run
from pyflat.ir.nodes import Loop, walk
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.validate import validate
from pyflat.passes.prune_carried import prune_carried

LOOP = """func @f(%n: i8, %x: f8) -> (f8) structured @return {
  loop @l again @m (%i: i8 = 0, %seen: b = false, %s: f8 = 0.0) {
    %go = lt %i, %n : b
    if %go {
      yield
    } else {
      exit @l %seen, %s
    }
    %e = exp %x : f8
    %half = floor %x : f8
    %t = add %s, %x : f8
    %j = add %i, 1 : i8
    yield %j, true, %t
  } -> (%any: b, %r: f8)
  yield %r
}
"""


def pruned(text: str):
    fn = parse_function(text)
    validate(fn)
    found = prune_carried(fn)
    validate(found)
    return fn, found


def test_a_flag_without_a_use_goes():
    fn, found = pruned(LOOP)
    (loop,) = [item for item in walk(found.body) if isinstance(item, Loop)]
    assert [param.name for param in loop.params] == ["i", "s"]
    assert len(loop.results) == 1
    assert run(fn, [3, 1.5]).values == run(found, [3, 1.5]).values == (4.5,)


def test_what_may_fault_stays_and_what_cannot_goes():
    _, found = pruned(LOOP)
    text = format_function(found)
    assert "exp %x" in text and "floor" not in text
    with pytest.raises(LaneFault):
        run(found, [1, 1e9])


def test_what_has_nothing_to_prune_is_the_same_function():
    _, found = pruned(LOOP)
    assert prune_carried(found) is found


def test_the_branches_of_an_if_lose_what_is_not_taken():
    fn, found = pruned("""func @f(%c: b, %x: f8) -> (f8) structured @return {
  if %c {
    yield %x, 1
  } else {
    yield 2.0, 2
  } -> (%y: f8, %n: i8)
  yield %y
}
""")
    assert "%n" not in format_function(found)
    for c in (True, False):
        assert run(fn, [c, 5.0]).values == run(found, [c, 5.0]).values


def test_what_may_warn_stays():
    _, found = pruned("""func @f(%x: f8) -> (f8) structured @return {
  %y = divide %x, 0.0 : f8
  yield %x
}
""")
    assert "divide" in format_function(found)


def test_sums_of_lengths_go_and_indices_stay():
    fn = parse_function("""func @f(%n: i8, %k: i8) -> (i8) structured @return {
  %a = add %n, 1 : i8
  %b = add %k, 1 : i8
  %i = index %k, %n : i8
  yield %n
}
""")
    assert [text in format_function(prune_carried(fn, lengths=(0,))) for text in ("%a", "%b", "%i")] == [False, True, True]
    assert prune_carried(fn) is fn
