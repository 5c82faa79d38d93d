"""Editing: what each function does to the text, and that the caveats of the NIR document are enforced."""

from __future__ import annotations

import random

import pytest

from pyflat.errors import InternalError
from pyflat.ir.edit.cfg import Cfg, Tree
from pyflat.ir.edit.copying import Copier, copy_function
from pyflat.ir.edit.editor import (
    after_block,
    after_node,
    after_op,
    before_block,
    before_node,
    before_op,
    editing,
    end_of,
    start_of,
)
from pyflat.ir.edit.repair import repair_ssa
from pyflat.ir.nodes import TRUE, Block, Exit, Function, If, Label, Loop, Op, Param, Region, Yield, walk
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.types import FLOAT, INT
from pyflat.ir.validate import validate
from tests.ir.structured_samples import StructuredPrograms as Samples
from tests.passes.structured_programs import StructuredPrograms, assert_same

BRANCH = """\
func @f(%c: b, %x: f8) -> (f8) structured @return {
  %a = neg %x : f8
  %b = abs %x : f8
  if %c {
    %y = mul %x, 2.0 : f8
    yield %y
  } else {
    yield %x
  } -> (%r: f8)
  %z = add %r, 1.0 : f8
  yield %z
}
"""


def parsed(text: str) -> Function:
    fn = parse_function(text)
    validate(fn)
    return fn


def op_named(fn: Function, name: str) -> Op:
    return next(op for item in walk(fn.body) if isinstance(item, Block) for op in item.ops if op.name == name)


def lines(fn: Function) -> list[str]:
    return [line.strip() for line in format_function(fn).splitlines()[1:-1]]


def loop_with_break() -> tuple[Function, Loop, If]:
    fn = parsed("""
func @f(%c: b) -> () structured @return {
  loop @l again @n () {
    if %c {
      exit @l
    } else {
      yield
    }
    yield
  }
  yield
}
""")
    loop = fn.body[1]
    assert isinstance(loop, Loop)
    branch = loop.body[1]
    assert isinstance(branch, If)
    return fn, loop, branch


# --- cursors and operations


@pytest.mark.parametrize(
    ("cursor", "at"),
    [
        (lambda fn: before_op(op_named(fn, "a")), 0),
        (lambda fn: after_op(op_named(fn, "a")), 1),
        (lambda fn: before_op(op_named(fn, "b")), 1),
        (lambda fn: start_of(fn.body), 0),
        (lambda fn: before_block(fn.body[0]), 0),
        (lambda fn: after_block(fn.body[0]), 2),
        (lambda fn: before_node(fn.body[1]), 2),
        (lambda fn: after_node(fn.body[1]), 8),
        (lambda fn: end_of(fn.body), 9),
        (lambda fn: start_of(fn.body[1].then), 3),
        (lambda fn: end_of(fn.body[1].then), 4),
        (lambda fn: end_of(fn.body[1].orelse), 6),
    ],
)
def test_an_operation_is_inserted_at_the_cursor(cursor, at):
    fn = parsed(BRANCH)
    with editing(fn) as edit:
        edit.insert(cursor(fn), Op("abs", [fn.params[1]], FLOAT, name="new"))
    validate(fn)
    assert lines(fn)[at] == "%new = abs %x : f8"


def test_operations_and_nodes_are_inserted_in_order():
    fn = parsed(BRANCH)
    first, last = (Op("abs", [fn.params[1]], FLOAT, name=name) for name in ("first", "last"))
    node = Region(Label("r"), [Block(end=Yield())])
    with editing(fn) as edit:
        edit.insert(after_op(op_named(fn, "a")), first, node, last)
        assert edit.tree.block_of[first] is edit.tree.preceding(node)
        assert edit.tree.block_of[last] is edit.tree.following(node) is edit.tree.block_of[op_named(fn, "b")]
    validate(fn)
    assert lines(fn)[:6] == ["%a = neg %x : f8", "%first = abs %x : f8", "region @r {", "yield", "}", "%last = abs %x : f8"]


def test_an_operation_is_moved():
    fn = parsed(BRANCH)
    with editing(fn) as edit:
        a = op_named(fn, "a")
        edit.move(a, start_of(fn.body[1].then))
        assert edit.tree.block_of[a] is fn.body[1].then[0]
        edit.move(a, before_op(a))
    validate(fn)
    assert lines(fn)[1:3] == ["if %c {", "%a = neg %x : f8"]


def test_what_follows_the_cursor_is_dropped_by_leave():
    fn = parsed(BRANCH)
    with editing(fn) as edit:
        edit.leave(after_op(op_named(fn, "b")), Exit(fn.label, [op_named(fn, "b")]))
        assert not edit.cfg.difference(Cfg(fn))
    validate(fn)
    assert lines(fn) == ["%a = neg %x : f8", "%b = abs %x : f8", "exit @return %b"]


# --- extract, reinsert, delete, clone


def test_a_piece_goes_out_and_comes_back():
    fn = parsed(BRANCH)
    with editing(fn) as edit:
        piece = edit.extract(before_op(op_named(fn, "b")), after_op(op_named(fn, "z")))
        assert [type(item) for item in piece.items] == [Block, If, Block]
        assert lines(fn) == ["%a = neg %x : f8", "yield %?z"]
        edit.reinsert(piece, after_op(op_named(fn, "a")))
    validate(fn)
    assert format_function(fn) == BRANCH


def test_an_if_moves_into_an_arm_with_its_results():
    fn = parsed(BRANCH)
    branch = fn.body[1]
    other = If(fn.params[0], [Block(end=Yield())], [Block(end=Yield())])
    with editing(fn) as edit:
        edit.insert(after_block(fn.body[0]), other)
        piece = edit.extract(before_node(branch), after_node(branch))
        edit.reinsert(piece, end_of(other.then))
        assert edit.tree.owner(branch) is other
        assert not edit.cfg.difference(Cfg(fn))
    assert len(other.then) == 3
    assert branch.results[0].name == "r"


def test_extraction_starts_after_the_results_of_the_node_before():
    fn = parsed(BRANCH)
    branch = fn.body[1]
    with editing(fn) as edit:
        piece = edit.extract(before_block(fn.body[2]), end_of(fn.body))
        assert [op.name for op in piece.items[0].ops] == ["z"]
        assert branch.results[0].name == "r"
        edit.reinsert(piece, after_node(branch))
    assert format_function(fn) == BRANCH


def test_extraction_starts_after_the_parameters_of_a_loop():
    fn, loop, _ = loop_with_break()
    with editing(fn) as edit:
        header = loop.body[0]
        edit.delete(edit.extract(start_of(loop.body), end_of(loop.body)))
        assert loop.body == [header]
        assert set(edit.cfg.predecessors(header)) == {fn.body[0], header}
    validate(fn)


def test_a_clone_has_values_and_labels_of_its_own():
    fn = parsed("""
func @f(%x: f8) -> (f8) structured @return {
  region @r {
    %y = neg %x : f8
    exit @r %y
  } -> (%z: f8)
  %w = abs %z : f8
  yield %w
}
""")
    with editing(fn) as edit:
        piece = edit.extract(before_node(fn.body[1]), after_op(op_named(fn, "w")))
        copy = edit.clone(piece)
        edit.reinsert(piece, start_of(fn.body))
        edit.reinsert(copy, start_of(fn.body))
    validate(fn)
    assert lines(fn) == [
        "region @r {", "%y = neg %x : f8", "exit @r %y", "} -> (%z: f8)", "%w = abs %z : f8",
        "region @r.1 {", "%y.1 = neg %x : f8", "exit @r.1 %y.1", "} -> (%z.1: f8)", "%w.1 = abs %z.1 : f8", "yield %w.1",
    ]


def test_a_cloned_node_is_inserted_elsewhere():
    fn, loop, branch = loop_with_break()
    with editing(fn) as edit:
        edit.insert(end_of(loop.body), edit.clone_node(branch))
        assert not edit.cfg.difference(Cfg(fn))
    validate(fn)
    assert sum(isinstance(item, If) for item in walk(fn.body)) == 2


def test_deleting_an_unused_node_joins_the_blocks_around_it():
    fn, loop, branch = loop_with_break()
    with editing(fn) as edit:
        edit.remove(branch)
        edit.remove(loop)
    validate(fn)
    assert lines(fn) == ["yield"]


def test_deleted_values_become_undefined_on_request():
    fn = parsed(BRANCH)
    with editing(fn) as edit:
        edit.remove(fn.body[1], undefine=True)
    validate(fn)
    assert lines(fn)[2] == "%z = add undefined:f8, 1.0 : f8"


# --- caveats


def caught(message: str):
    return pytest.raises(InternalError, match=message)


def test_an_exit_does_not_leave_its_loop():
    fn, _, branch = loop_with_break()
    before = format_function(fn)
    with editing(fn) as edit:
        piece = edit.extract(before_node(branch), after_node(branch))
        with caught("an exit to l outside of its node"):
            edit.reinsert(piece, start_of(fn.body))
        edit.reinsert(piece, start_of(edit.tree.label_owner[branch.then[0].end.label].body))
    assert format_function(fn) == before


def test_a_new_node_cannot_exit_to_a_label_that_does_not_enclose_it():
    fn, loop, _ = loop_with_break()
    with editing(fn) as edit, caught("an exit to l outside of its node"):
        edit.insert(start_of(fn.body), Region(Label("r"), [Block(end=Exit(loop.label))]))


def test_an_end_cannot_exit_to_a_label_that_does_not_enclose_it():
    fn, loop, _ = loop_with_break()
    with editing(fn) as edit, caught("an exit to l outside of its node"):
        edit.replace_end(fn.body[2], Exit(loop.label))


def test_an_end_carries_what_is_taken():
    fn = parsed(BRANCH)
    with editing(fn) as edit:
        with caught("Exit carries other kinds than are taken"):
            edit.replace_end(fn.body[2], Exit(fn.label))
        with caught("Yield carries other kinds than are taken"):
            edit.leave(start_of(fn.body), Yield([TRUE]))
    assert format_function(fn) == BRANCH


def test_only_the_last_block_of_a_list_has_an_end():
    fn = parsed(BRANCH)
    with editing(fn) as edit, caught("only the last block of a list has an end"):
        edit.replace_end(fn.body[0], Exit(fn.label, [fn.params[1]]))


def test_a_piece_does_not_move_to_another_function():
    fn, other = parsed(BRANCH), parsed(BRANCH)
    with editing(fn) as edit, editing(other) as elsewhere:
        piece = edit.extract(start_of(fn.body), after_op(op_named(fn, "a")))
        with caught("to another function"):
            elsewhere.reinsert(piece, start_of(other.body))
        edit.reinsert(piece, start_of(fn.body))


def test_a_cursor_of_another_function_is_no_place():
    fn, other = parsed(BRANCH), parsed(BRANCH)
    with editing(fn) as edit:
        for cursor in (start_of(other.body), before_op(op_named(other, "a")), before_node(other.body[1])):
            with caught("is not part of f"):
                edit.insert(cursor, Op("neg", [fn.params[1]], FLOAT))


def test_an_extracted_list_must_not_be_left_dangling():
    fn = parsed(BRANCH)
    with caught("1 extracted lists of f are left dangling"), editing(fn) as edit:
        edit.extract(start_of(fn.body), after_op(op_named(fn, "a")))


def test_an_error_inside_is_not_hidden_by_a_dangling_list():
    fn = parsed(BRANCH)

    def fail():
        with editing(fn) as edit:
            edit.extract(start_of(fn.body), after_op(op_named(fn, "a")))
            raise KeyError

    with pytest.raises(KeyError):
        fail()


def test_validate_sees_what_a_dangling_list_defined():
    fn = parsed(BRANCH)
    with editing(fn) as edit:
        piece = edit.extract(before_node(fn.body[1]), after_node(fn.body[1]))
        with caught("invariant 4: the operand Param"):
            validate(fn)
        edit.reinsert(piece, after_op(op_named(fn, "b")))


def test_a_piece_is_reinserted_once():
    fn = parsed(BRANCH)
    with editing(fn) as edit:
        piece = edit.extract(start_of(fn.body), after_op(op_named(fn, "a")))
        edit.reinsert(piece, start_of(fn.body))
        for again in (lambda: edit.reinsert(piece, start_of(fn.body)), lambda: edit.delete(piece), lambda: edit.clone(piece)):
            with caught("reinserted or deleted before"):
                again()


def test_a_used_value_is_not_deleted():
    fn = parsed(BRANCH)
    with editing(fn) as edit:
        piece = edit.extract(before_node(fn.body[1]), after_node(fn.body[1]))
        with caught("a deleted value is still used: Param"):
            edit.delete(piece)
        edit.reinsert(piece, after_op(op_named(fn, "b")))
    assert format_function(fn) == BRANCH


def test_a_piece_lies_in_one_list_and_runs_forward():
    fn = parsed(BRANCH)
    a, b, y = (op_named(fn, name) for name in "aby")
    with editing(fn) as edit:
        with caught("in the same list"):
            edit.extract(before_op(a), after_op(y))
        with caught("ends before it starts"):
            edit.extract(after_op(b), before_op(a))


def test_what_stands_in_the_function_is_not_inserted():
    fn = parsed(BRANCH)
    with editing(fn) as edit:
        with caught("stands in f already"):
            edit.insert(end_of(fn.body), op_named(fn, "a"))
        with caught("stands in f already"):
            edit.insert(end_of(fn.body), fn.body[1])


@pytest.mark.parametrize(
    ("then", "message"),
    [
        ([], "a list starts and ends with a block"),
        ([Block(), Block(end=Yield())], "a list starts and ends with a block"),
        ([Block(), Block(), Block(end=Yield())], "do not alternate"),
        ([Block()], "the last block of a list has an end"),
        ([Block(end=Yield()), Region(Label("r"), [Block(end=Yield())]), Block(end=Yield())], "and no other"),
        ([Block(end=Yield([TRUE]))], "carries other kinds"),
    ],
)
def test_a_new_node_must_be_well_formed(then, message):
    fn = parsed(BRANCH)
    with editing(fn) as edit, caught(message):
        edit.insert(start_of(fn.body), If(TRUE, then, [Block(end=Yield())]))


# --- copies


@pytest.mark.parametrize("seed", range(40))
def test_a_copied_function_is_the_same_text_and_shares_nothing(seed):
    fn = Samples(seed).function()
    copy = copy_function(fn)
    validate(copy)
    assert format_function(copy) == format_function(fn)
    assert not set(walk(copy.body)) & set(walk(fn.body))
    assert not {*Tree(copy).block_of, *Tree(copy).label_owner} & {*Tree(fn).block_of, *Tree(fn).label_owner}


def test_a_copier_puts_values_in():
    x = Param(INT, "x")
    op = Op("add", [x, x], INT)
    assert Copier({x: TRUE}).op(op).args == (TRUE, TRUE)


# --- SSA


def repaired(text: str, edit_it, **options) -> list[str]:
    fn = parse_function(text)
    with editing(fn) as edit:
        edit_it(fn, edit)
    count = repair_ssa(fn, **options)
    validate(fn)
    assert repair_ssa(fn) == 0
    assert not edit.cfg.difference(Cfg(fn))
    return [count, *lines(fn)]


def test_valid_functions_are_left_alone():
    fn = parsed(BRANCH)
    assert repair_ssa(fn) == 0
    assert format_function(fn) == BRANCH


MOVED = """
func @f(%c: b, %x: f8) -> (f8) structured @return {
  %y = neg %x : f8
  if %c {
    yield
  } else {
    yield
  }
  %z = mul %y, 2.0 : f8
  yield %z
}
"""


def test_a_definition_moved_into_an_arm_comes_out_as_a_result():
    found = repaired(MOVED, lambda fn, edit: edit.move(op_named(fn, "y"), start_of(fn.body[1].then)))
    assert found == [
        1, "if %c {", "%y = neg %x : f8", "yield %y", "} else {", "yield undefined:f8", "} -> (%y.1: f8)",
        "%z = mul %y.1, 2.0 : f8", "yield %z",
    ]


def test_a_definition_moved_into_a_loop_is_carried_around_when_it_is_used_before():
    text = """
func @f(%c: b, %x: f8) -> () structured @return {
  %y = neg %x : f8
  loop @l again @n () {
    %z = abs %y : f8
    if %c {
      exit @l
    } else {
      yield
    }
    yield
  }
  yield
}
"""
    found = repaired(text, lambda fn, edit: edit.move(op_named(fn, "y"), end_of(fn.body[1].body)))
    assert found[:3] == [1, "loop @l again @n (%y: f8 = undefined:f8) {", "%z = abs %y : f8"]
    assert found[-4:] == ["%y.1 = neg %x : f8", "yield %y.1", "}", "yield"]


def test_a_use_without_any_definition_before_it_is_an_error():
    fn = parse_function(MOVED)
    with editing(fn) as edit:
        edit.move(op_named(fn, "y"), end_of(fn.body))
    with caught("no definition of .* reaches a use of it"):
        repair_ssa(fn)
    assert repair_ssa(fn, undefine=True) == 0
    validate(fn)
    assert "%z = mul undefined:f8, 2.0 : f8" in format_function(fn)


def test_a_use_of_a_foreign_value_is_an_error():
    fn = parse_function(MOVED)
    op_named(fn, "z").args = (Param(FLOAT, "lost"), fn.params[1])
    with caught("Param.*'lost'.* is used and defined nowhere in f"):
        repair_ssa(fn)


def wrap(fn: Function, seed: int) -> int:
    """Put random pieces of a function into nodes that run them exactly once; gives how many."""
    r, wrapped = random.Random(seed), 0
    with editing(fn) as edit:
        for _ in range(4):
            lists = [fn.body, *(items for n in walk(fn.body) if not isinstance(n, Block) for items in edit_lists(n))]
            items = r.choice(lists)
            a, b = sorted(r.sample(range(len(items)), 2)) if len(items) > 1 else (0, 0)
            start = before_block(items[a]) if a % 2 == 0 else after_block(items[a - 1])
            end = after_block(items[b]) if b % 2 == 0 else after_node(items[b])
            piece = edit.extract(start, end)
            body = [Block(end=Yield())]
            node, inside = once(r, body)
            edit.insert(start, node)
            edit.reinsert(piece, start_of(inside))
            wrapped += 1
        assert not edit.cfg.difference(Cfg(fn))
    return wrapped


def edit_lists(node):
    return (node.then, node.orelse) if isinstance(node, If) else (node.body,)


def once(r: random.Random, body: list):
    """A node that runs `body` once."""
    label = Label("once")
    match r.randrange(4):
        case 0:
            return Region(label, body), body
        case 1:
            body[0].end = Exit(label)
            return Loop(label, Label("again"), [], [], body), body
        case 2:
            return If(TRUE, body, [Block(end=Yield())]), body
        case _:
            return If(TRUE, [Block(), Region(label, body), Block(end=Yield())], [Block(end=Yield())]), body


@pytest.mark.parametrize("seed", range(80))
def test_pieces_put_into_nodes_that_run_once_compute_the_same_after_repair(seed):
    fn = StructuredPrograms(seed, loops=seed % 2 == 1).function()
    changed = copy_function(fn)
    assert wrap(changed, seed) == 4
    repair_ssa(changed)
    validate(changed)
    assert_same(fn, changed, 25)
