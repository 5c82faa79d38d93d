"""The IR's text: exact, deterministic, and read back without loss."""

from __future__ import annotations

import math
import struct

import pytest

from pyflat.ir.build import const, undefined
from pyflat.ir.nodes import Block, Const, Fault, Function, If, Label, Op, Origin, Param, Yield
from pyflat.ir.parse import ParseError, parse_function
from pyflat.ir.print import format_function
from pyflat.ir.types import BOOL, FLOAT, INT, VOID, Kind
from pyflat.ir.validate import validate
from tests.ir.structured_samples import StructuredPrograms

EVERYTHING = """\
func @f(%x: f8, %n: i8, %"p.0": b) -> (f8, i8) structured @return {
  %0 = gt %x, 0.0 : b
  if %0 {
    %y = mul %x, 2.0 : f8
    yield %y
  } else {
    exit @fault ValueError("not \\"positive\\"")
  } -> (%y.1: f8)
  region @next_0 {
    exit @next_0
  }
  loop @l again @n (%i: i8 = 0, %s: f8 = %y.1) {
    %1 = lt %i, %n : b
    if %1 {
      yield
    } else {
      exit @l %s
    }
    %i.1 = add %i, 1 : i8
    %2 = gather %i {table = (1.0, -0.0, nan, -inf)} : f8
    fault %"p.0" pkg.mod.Error()
    %x.1 = add %s, %2 : f8
    exit @n %i.1, %x.1
  } -> (%r: f8)
  exit @return %r, undefined:i8
}
"""


def flat(*ops: Op, result: Op | Const) -> Function:
    return Function("f", [], [Block(ops, Yield([result]))], Label("return"), (result.kind,), "flat")


def test_every_construct_is_printed_as_it_is_written():
    fn = parse_function(EVERYTHING)
    validate(fn)
    assert format_function(fn) == EVERYTHING


@pytest.mark.parametrize("seed", range(150))
def test_random_structured_functions_come_back(seed):
    fn = StructuredPrograms(seed).function()
    text = format_function(fn)
    again = parse_function(text)
    validate(again)
    assert format_function(again) == text


FLOATS = [0.0, -0.0, 0.1, 1e16, 1e-7, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, math.nan, -1.5, 123456789.0]
INTS = [0, -1, 2**63 - 1, -(2**63)]


@pytest.mark.parametrize("value", [*FLOATS, *INTS, True, False], ids=repr)
def test_constants_come_back_bit_for_bit(value):
    again = parse_function(format_function(flat(result=const(value)))).flat_block.end.values[0]
    assert type(again.value) is type(value)
    pack = "d" if isinstance(value, float) else "q"
    assert struct.pack(pack, again.value) == struct.pack(pack, value)


@pytest.mark.parametrize("kind", [BOOL, INT, FLOAT])
def test_the_undefined_constant_comes_back(kind: Kind):
    again = parse_function(format_function(flat(result=undefined(kind)))).flat_block.end.values[0]
    assert again.value is None
    assert again.kind is kind


@pytest.mark.parametrize("name", ["x", "größe", "p.0", "x.1", "", "0", "a b", 'q"\\', "yield", "true", "new\nline"])
def test_user_names_come_back(name):
    op = Op("neg", [const(1.0)], FLOAT, name=name)
    twice = Op("neg", [op], FLOAT, name=name)
    text = format_function(flat(op, twice, result=twice))
    block = parse_function(text).flat_block
    assert [o.name for o in block.ops] == [name, name]
    assert block.ops[1].args == (block.ops[0],)


@pytest.mark.parametrize("name", ["f", "<lambda>", "Class.method", "fault"])
def test_function_and_label_names_come_back(name):
    fn = Function(name, [], [Block(end=Yield())], Label(name), ())
    again = parse_function(format_function(fn))
    assert again.name == name
    assert again.label.name == name


@pytest.mark.parametrize(
    "fault", [Fault("ValueError", "a; b"), Fault("E"), Fault("not a word", 'x"\\\n'), Fault("a.b.C", "%d")], ids=str
)
def test_faults_come_back(fault):
    op = Op("fault", [const(True)], VOID, attrs=(("fault", fault),))
    again = parse_function(format_function(flat(op, result=const(1))))
    assert again.flat_block.ops[0].attr("fault") == fault


def test_names_do_not_depend_on_how_it_was_built():
    x = Param(FLOAT, "x")
    second = Op("neg", [x], FLOAT, name="y")
    first = Op("abs", [x], FLOAT, name="y")
    fn = Function("f", [x], [Block([first, second], Yield([second]))], Label("return"), (FLOAT,), "flat")
    assert "%y = abs %x" in format_function(fn)
    assert "%y.1 = neg %x" in format_function(fn)


def test_origins_are_not_printed():
    op = Op("neg", [const(1.0)], FLOAT)
    plain = format_function(flat(op, result=op))
    op.origin = op.statement = Origin(node=object())
    assert format_function(flat(op, result=op)) == plain


def test_an_operand_that_is_not_defined_is_shown():
    op = Op("neg", [Param(FLOAT, "lost")], FLOAT)
    assert "%0 = neg %?lost : f8" in format_function(flat(op, result=op))


def test_marks_stand_behind_their_line():
    x = Param(BOOL, "x")
    node = If(x, [Block(end=Yield())], [Block(end=Yield())])
    fn = Function("f", [x], [Block(), node, Block(end=Yield())], Label("return"), ())
    text = format_function(fn, {node: "look here"})
    assert "  if %x {    ; <-- look here\n" in text
    assert format_function(parse_function(text)) == format_function(fn)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%y = neg %z : f8", "line 2: %z is not defined"),
        ("%x = neg %x : f8", "line 2: %x is defined twice"),
        ("%y = frob %x : f8", "line 2: there is no operation frob"),
        ("%y = neg %x : f9", "line 2: expected a kind, found 'f9'"),
        ("%y = neg %x", "line 2: expected ':', found '\\n'"),
        ("%y neg %x : f8", "line 2: expected '=', found 'neg'"),
        ("exit @nowhere", "line 2: there is no label @nowhere"),
        ("region @return {", "line 2: @return is defined twice"),
        ("&", "line 2: unexpected '&'"),
        ("yield %x yield", "line 2: expected '\\n', found 'yield'"),
    ],
)
def test_wrong_text_is_refused_with_its_line(line, message):
    with pytest.raises(ParseError) as caught:
        parse_function(f"func @f(%x: f8) -> (f8) flat @return {{\n{line}\nyield %x\n}}")
    assert str(caught.value) == message


def test_text_after_the_function_is_refused():
    with pytest.raises(ParseError, match="expected the end of the text"):
        parse_function("func @f() -> () flat @return {\nyield\n}\nyield")
