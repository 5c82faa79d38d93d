"""The fact that a loop counts: printed, read back, checked, and kept through copies and edits."""

from __future__ import annotations

import pytest

from pyflat.errors import InternalError
from pyflat.ir.edit.copying import copy_function
from pyflat.ir.edit.editor import before_node, editing
from pyflat.ir.loops import replace_uses
from pyflat.ir.nodes import Function, Loop, Op
from pyflat.ir.parse import ParseError, parse_function
from pyflat.ir.print import format_function
from pyflat.ir.types import INT
from pyflat.ir.validate import validate

TEXT = """\
func @f(%n: i8, %x: i8) -> (i8) structured @return {
  loop @l again @m (%s: i8 = %x, %i: i8 = 1) counted(%i, 1, %n, 2) {
    %0 = lt %i, %n : b
    if %0 {
      yield
    } else {
      exit @l %s
    }
    %t = add %s, %i : i8
    %j = add %i, 2 : i8
    yield %t, %j
  } -> (%r: i8)
  yield %r
}
"""
FACT = " counted(%i, 1, %n, 2)"


def parsed(text: str) -> tuple[Function, Loop]:
    fn = parse_function(text)
    validate(fn)
    loop = fn.body[1]
    assert isinstance(loop, Loop)
    return fn, loop


def test_the_fact_is_read_and_printed():
    fn, loop = parsed(TEXT)
    assert loop.counted is loop.params[1]
    assert format_function(fn) == TEXT


@pytest.mark.parametrize("fact", ["(%s, 1, %n, 2)", "(%i, 0, %n, 2)", "(%i, 1, %x, 2)", "(%i, 1, %n, 1)", "(%i, 1, %n)"])
def test_a_wrong_fact_is_not_read(fact):
    with pytest.raises(ParseError, match="line 2: the loop does not count like that"):
        parse_function(TEXT.replace(FACT, " counted" + fact))


def test_a_fact_that_is_no_longer_true_is_invalid():
    fn, loop = parsed(TEXT)
    loop.body[2].ops[1].opcode = "mul"
    with pytest.raises(InternalError, match="invariant 9: the loop does not count on") as caught:
        validate(fn)
    assert "counted(%i) {    ; <-- invariant 9" in str(caught.value)


def test_a_fact_about_another_parameter_is_invalid():
    fn, loop = parsed(TEXT)
    loop.counted = loop.params[0]
    with pytest.raises(InternalError, match="invariant 9"):
        validate(fn)


def test_copies_keep_the_fact():
    fn, _ = parsed(TEXT)
    copy = copy_function(fn)
    validate(copy)
    assert format_function(copy) == TEXT


def test_edits_that_change_the_bounds_keep_it_true():
    fn, loop = parsed(TEXT)
    most = Op("neg", [fn.params[1]], INT, name="most")
    with editing(fn) as edit:
        edit.insert(before_node(loop), most)
        replace_uses(loop.body, {fn.params[0]: most})
    validate(fn)
    assert " counted(%i, 1, %most, 2) {" in format_function(fn)
