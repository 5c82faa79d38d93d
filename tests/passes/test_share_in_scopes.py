"""share_in_scopes: what was computed before in this list or around it is used again, memory by memory."""

from __future__ import annotations

import pytest

from pyflat.ir.interp import LaneFault, run
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.validate import validate
from pyflat.passes.share_in_scopes import share_in_scopes

ARMS = """func @f(%c: b, %x: f8, %n: i8) -> (f8) structured @return {
  if %c {
    %a = mul %x, %x : f8
    yield %a
  } else {
    %b = mul %x, %x : f8
    %d = mul %x, %x : f8
    %e = add %b, %d : f8
    yield %e
  } -> (%r: f8)
  %g = mul %x, %x : f8
  loop @l again @m (%i: i8 = 0, %s: f8 = %r) {
    %go = lt %i, %n : b
    if %go {
      yield
    } else {
      exit @l %s
    }
    %h = mul %x, %x : f8
    %t = add %s, %h : f8
    %j = add %i, 1 : i8
    yield %j, %t
  } -> (%q: f8)
  %k = add %q, %g : f8
  yield %k
}
"""
MEMORY = """func @f(%a: mem, %k: i8, %n: i8) -> (mem) structured @return {
  %i = index %k, %n : i8
  %x = load %a, %i {array = "a"} {dtype = "f8"} : f8
  %j = index %k, %n : i8
  %y = load %a, %j {array = "a"} {dtype = "f8"} : f8
  %z = add %x, %y : f8
  %b = store %a, %i, %z {array = "a"} {dtype = "f8"} : mem
  %w = load %b, %i {array = "a"} {dtype = "f8"} : f8
  %v = mul %w, %x : f8
  %c = store %b, %j, %v {array = "a"} {dtype = "f8"} : mem
  %p = alloc %n, 0.0 {array = "p"} {dtype = "f8"} : mem
  %q = alloc %n, 0.0 {array = "p"} {dtype = "f8"} : mem
  yield %c
}
"""


def shared(text: str):
    fn = parse_function(text)
    validate(fn)
    found = share_in_scopes(fn)
    validate(found)
    return fn, found


@pytest.mark.parametrize("flag", [False, True])
def test_arms_and_loops_see_what_is_around_them_and_nothing_else(flag):
    fn, found = shared(ARMS)
    assert format_function(found).count("mul ") == 3  # one in each arm, one after them for the loop too
    assert run(fn, [flag, 1.5, 3]).values == run(found, [flag, 1.5, 3]).values


def test_loads_of_one_memory_are_one_and_those_after_a_store_are_not():
    text = format_function(shared(MEMORY)[1])
    assert [text.count(f" {opcode} ") for opcode in ("index", "load", "store", "alloc")] == [1, 2, 2, 2]


def test_the_first_of_equal_operations_faults():
    fn, found = shared("""func @f(%x: f8) -> (f8) structured @return {
  %a = sqrt %x : f8
  %b = sqrt %x : f8
  %c = add %a, %b : f8
  yield %c
}
""")
    assert format_function(found).count("sqrt") == 1
    assert run(fn, [4.0]).values == run(found, [4.0]).values == (4.0,)
    with pytest.raises(LaneFault):
        run(found, [-1.0])


def test_a_function_without_repetitions_is_the_same_function():
    _, found = shared(ARMS)
    assert share_in_scopes(found) is found
