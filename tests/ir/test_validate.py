"""Each invariant of the IR, broken once for each way to break it, is caught and its line is marked."""

from __future__ import annotations

import pytest

from pyflat.errors import InternalError
from pyflat.ir.build import const
from pyflat.ir.nodes import FAULT, Block, Const, Exit, Fault, Function, If, Label, Loop, Op, Param, Region, Yield
from pyflat.ir.parse import parse_function
from pyflat.ir.types import BOOL, FLOAT, INT, VOID
from pyflat.ir.validate import validate
from tests.ir.structured_samples import StructuredPrograms

SAMPLE = """
func @f(%c: b, %x: f8, %n: i8) -> (f8) structured @return {
  %y = mul %x, 2.0 : f8
  if %c {
    region @inner {
      exit @inner %y
    } -> (%z: f8)
    yield %z
  } else {
    exit @fault ValueError("no")
  } -> (%r: f8)
  loop @l again @a (%i: i8 = %n) {
    %j = add %i, 1 : i8
    yield %j
  } -> (%k: f8)
  exit @return %r
}
"""


def sample() -> Function:
    fn = parse_function(SAMPLE)
    validate(fn)
    return fn


def flat() -> Function:
    fn = parse_function("func @f(%x: f8) -> (f8) flat @return {\n%y = neg %x : f8\nyield %y\n}")
    validate(fn)
    return fn


def rejected(fn: Function, number: int, message: str, line: str) -> None:
    with pytest.raises(InternalError) as caught:
        validate(fn)
    text = str(caught.value)
    marked = [row for row in text.splitlines()[1:] if "; <-- " in row]
    assert len(marked) == 1, text
    assert f"invariant {number}: {message}" in marked[0]
    assert marked[0].strip().startswith(line)


def parts(fn: Function) -> tuple[If, Region, Loop]:
    branch, loop = fn.body[1], fn.body[3]
    assert isinstance(branch, If)
    region = branch.then[1]
    assert isinstance(region, Region)
    assert isinstance(loop, Loop)
    return branch, region, loop


def first_block(items: list) -> Block:
    assert isinstance(items[0], Block)
    return items[0]


@pytest.mark.parametrize("seed", range(150))
def test_valid_functions_pass(seed):
    validate(StructuredPrograms(seed).function())


def test_a_list_that_ends_in_a_node():
    fn = sample()
    fn.body.pop()
    rejected(fn, 1, "a list starts and ends with a block", "func @f")


def test_an_empty_list():
    fn = sample()
    branch, _, _ = parts(fn)
    branch.orelse = []
    rejected(fn, 1, "a list starts and ends with a block", "if %c")


def test_two_blocks_in_a_row():
    fn = sample()
    fn.body[1:2] = [Block()]
    rejected(fn, 1, "blocks and nodes must alternate", "; block")


def test_two_nodes_in_a_row():
    fn = sample()
    fn.body[2:3] = [Region(Label("x"), [Block(end=Yield())])]
    rejected(fn, 1, "blocks and nodes must alternate", "region @x")


def test_a_node_in_two_places():
    fn = sample()
    node = Region(Label("x"), [Block(end=Yield())])
    fn.body[1:1] = [node, Block(), node, Block()]
    with pytest.raises(InternalError, match="invariant 1: it is in two places"):
        validate(fn)


def test_an_end_before_a_node():
    fn = sample()
    first_block(fn.body).end = Yield([const(1.0)])
    rejected(fn, 2, "a block before a node has no end", "yield 1.0")


def test_no_end_at_the_end():
    fn = sample()
    last = fn.body[-1]
    assert isinstance(last, Block)
    last.end = None
    rejected(fn, 2, "the last block of a list needs an end", "; block")


def test_an_exit_to_a_label_that_does_not_enclose_it():
    fn = sample()
    _, region, _ = parts(fn)
    last = fn.body[-1]
    assert isinstance(last, Block)
    last.end = Exit(region.label, [const(1.0)])
    rejected(fn, 3, "no enclosing node has the label inner", "exit @inner 1.0")


def test_an_exit_to_the_again_label_from_outside():
    fn = sample()
    _, _, loop = parts(fn)
    last = fn.body[-1]
    assert isinstance(last, Block)
    last.end = Exit(loop.again, [const(1)])
    rejected(fn, 3, "no enclosing node has the label a", "exit @a 1")


def test_an_exit_with_too_few_values():
    fn = sample()
    _, region, _ = parts(fn)
    first_block(region.body).end = Exit(region.label, [])
    rejected(fn, 3, "it carries () where (f8) is taken", "exit @inner")


def test_an_exit_with_a_value_of_another_kind():
    fn = sample()
    _, region, _ = parts(fn)
    first_block(region.body).end = Exit(region.label, [const(1)])
    rejected(fn, 3, "it carries (i8) where (f8) is taken", "exit @inner 1")


def test_a_return_of_another_kind():
    fn = sample()
    fn.result_kinds = (INT,)
    rejected(fn, 3, "it carries (f8) where (i8) is taken", "exit @return %r")


def test_a_yield_that_does_not_fit_its_if():
    fn = sample()
    branch, _, _ = parts(fn)
    branch.results.append(Param(INT, "more"))
    rejected(fn, 3, "it carries (f8) where (f8, i8) is taken", "yield %z")


def test_a_yield_that_does_not_fit_the_loop_parameters():
    fn = sample()
    _, _, loop = parts(fn)
    first_block(loop.body).end = Yield([const(1.0)])
    rejected(fn, 3, "it carries (f8) where (i8) is taken", "yield 1.0")


def test_inits_that_do_not_fit_the_loop_parameters():
    fn = sample()
    _, _, loop = parts(fn)
    loop.inits.append(const(1))
    rejected(fn, 3, "it carries (i8, i8) where (i8) is taken", "loop @l")


def test_a_raise_that_carries_a_value():
    fn = sample()
    branch, _, _ = parts(fn)
    first_block(branch.orelse).end = Exit(FAULT, [const(1)])
    rejected(fn, 3, "it carries (i8) where () is taken", "exit @fault 1")


def test_an_exit_that_raises_and_returns():
    fn = sample()
    _, region, _ = parts(fn)
    first_block(region.body).end = Exit(region.label, [const(1.0)], Fault("ValueError"))
    rejected(fn, 3, "only an exit to fault names an exception", "exit @inner 1.0 ValueError()")


def test_a_label_with_two_owners():
    fn = sample()
    _, region, _ = parts(fn)
    region.label = fn.label
    rejected(fn, 3, "the label return has two owners", "region @return")


def test_a_use_before_the_definition():
    fn = sample()
    block = first_block(fn.body)
    block.ops.insert(0, Op("neg", block.ops[:1], FLOAT, name="early"))
    rejected(fn, 4, "the operand Op(mul, f8, 'y') is not defined here", "%early = neg %y")


def test_a_use_of_what_an_arm_defines():
    fn = sample()
    _, region, _ = parts(fn)
    last = fn.body[-1]
    assert isinstance(last, Block)
    last.end = Yield(region.results)
    rejected(fn, 4, "the operand Param(f8, 'z') is not defined here", "yield %z")


def test_a_use_in_the_other_arm():
    fn = sample()
    branch, region, _ = parts(fn)
    first_block(branch.orelse).ops.append(Op("neg", region.results, FLOAT))
    rejected(fn, 4, "the operand Param(f8, 'z') is not defined here", "%0 = neg %z")


def test_a_use_of_a_loop_parameter_after_the_loop():
    fn = sample()
    _, _, loop = parts(fn)
    last = fn.body[-1]
    assert isinstance(last, Block)
    last.ops.append(Op("neg", loop.params, INT))
    rejected(fn, 4, "the operand Param(i8, 'i') is not defined here", "%0 = neg %i")


def test_a_loop_init_that_uses_the_loop_parameter():
    fn = sample()
    _, _, loop = parts(fn)
    loop.inits = list(loop.params)
    rejected(fn, 4, "the operand Param(i8, 'i') is not defined here", "loop @l")


def test_a_use_of_the_results_inside_of_the_node():
    fn = sample()
    branch, _, _ = parts(fn)
    first_block(branch.then).ops.append(Op("neg", branch.results, FLOAT))
    rejected(fn, 4, "the operand Param(f8, 'r') is not defined here", "%0 = neg %r")


def test_a_condition_from_another_function():
    fn = sample()
    branch, _, _ = parts(fn)
    branch.cond = Param(BOOL, "c")
    rejected(fn, 4, "the operand Param(b, 'c') is not defined here", "if %?c {")


def test_an_operation_that_stands_twice():
    fn = sample()
    block = first_block(fn.body)
    block.ops += block.ops
    with pytest.raises(InternalError, match=r"invariant 5: the value Op\(mul, f8, 'y'\) is defined twice"):
        validate(fn)


def test_a_result_that_is_a_parameter():
    fn = sample()
    branch, _, _ = parts(fn)
    branch.results = [fn.params[1]]
    rejected(fn, 5, "the value Param(f8, 'x') is defined twice", "if %c")


def test_an_unknown_operation():
    fn = sample()
    first_block(fn.body).ops[0].opcode = "frobnicate"
    rejected(fn, 5, "there is no operation frobnicate", "%y = frobnicate")


def test_operands_of_wrong_kinds():
    fn = sample()
    op = first_block(fn.body).ops[0]
    op.args = (fn.params[1], const(2))
    rejected(fn, 5, "mul does not take (f8, i8) and give f8", "%y = mul %x, 2")


def test_a_result_of_a_wrong_kind():
    fn = sample()
    first_block(fn.body).ops[0].kind = INT
    rejected(fn, 5, "mul does not take (f8, f8) and give i8", "%y = mul")


def test_a_literal_that_is_not_of_its_kind():
    fn = sample()
    first_block(fn.body).ops[0].args = (fn.params[1], Const(FLOAT, 2))
    rejected(fn, 5, "the literal Const(f8, 2) is not of its kind", "%y = mul %x, 2")


def test_a_literal_beyond_64_bits():
    fn = sample()
    _, _, loop = parts(fn)
    loop.inits = [Const(INT, 2**63)]
    rejected(fn, 5, "the literal Const(i8, 9223372036854775808) is not of its kind", "loop @l")


def test_an_undefined_literal_of_no_kind():
    fn = sample()
    first_block(fn.body).ops[0].args = (Const(VOID, None), fn.params[1])
    rejected(fn, 5, "the literal Const(none, None) is not of its kind", "%y = mul")


def test_a_parameter_that_holds_nothing():
    fn = sample()
    fn.params.append(Param(VOID, "v"))
    rejected(fn, 5, "Param(none, 'v') holds nothing", "func @f")


@pytest.mark.parametrize("attrs", [(), (("table", (1.0,)), ("x", 1)), (("fault", Fault("E")),)])
def test_a_gather_with_wrong_attrs(attrs):
    fn = sample()
    first_block(fn.body).ops.append(Op("gather", [fn.params[2]], FLOAT, attrs=attrs))
    rejected(fn, 5, "gather does not take the attrs", "%0 = gather %n")


@pytest.mark.parametrize("table", [(), (1.0, 2), [1.0], (1.0, None)])
def test_a_gather_with_a_wrong_table(table):
    fn = sample()
    first_block(fn.body).ops.append(Op("gather", [fn.params[2]], FLOAT, attrs=(("table", table),)))
    rejected(fn, 5, "the table is not a tuple of f8 with at least one item", "%0 = gather %n")


def test_a_fault_that_does_not_say_which():
    fn = sample()
    first_block(fn.body).ops.append(Op("fault", [fn.params[0]], VOID, attrs=(("fault", "ValueError"),)))
    rejected(fn, 5, "the attr of fault is a Fault", "fault %c")


def test_a_condition_that_is_no_bool():
    fn = sample()
    branch, _, _ = parts(fn)
    branch.cond = fn.params[2]
    rejected(fn, 6, "the condition is i8", "if %n")


def test_a_flat_form_with_a_node():
    fn = sample()
    fn.form = "flat"
    rejected(fn, 7, "the flat form is one block", "func @f")


def test_a_flat_form_with_an_exit():
    fn = flat()
    fn.flat_block.end = Exit(fn.label, [const(1.0)])
    rejected(fn, 7, "the flat form ends in a yield", "; block")


def test_an_unknown_form():
    fn = flat()
    fn.form = "round"
    rejected(fn, 7, "there is no form 'round'", "func @f")


@pytest.mark.parametrize("operand", [None, 2.0, "x", Label("x")])
@pytest.mark.parametrize("place", ["operation", "yield", "exit", "condition", "init"])
def test_an_operand_that_is_no_value(operand, place):
    fn = sample()
    block, branch, _, loop, last = fn.body
    match place:
        case "operation":
            block.ops[0].args = (operand, block.ops[0].args[1])
        case "yield":
            loop.body[0].end.values[0] = operand
        case "exit":
            last.end.values[0] = operand
        case "condition":
            branch.cond = operand
        case "init":
            loop.inits[0] = operand
    with pytest.raises(InternalError, match="is not a value of the IR"):
        validate(fn)
