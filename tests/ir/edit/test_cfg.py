"""The control-flow graph: exact counts of the seed documents' examples, and that it follows every edit."""

from __future__ import annotations

import pytest

from pyflat.frontend.specialise import specialise
from pyflat.ir.edit.cfg import Cfg, Dominators, Tree, blocks_in
from pyflat.ir.edit.editor import after_block, editing
from pyflat.ir.nodes import TRUE, Block, Exit, Function, If, Item, Label, Loop, Region, Yield
from pyflat.ir.parse import parse_function
from pyflat.ir.shape import Leaf
from pyflat.ir.types import BOOL, INT
from pyflat.ir.validate import validate
from tests.ir.edit.edit_scripts import run_scripts
from tests.ir.structured_samples import StructuredPrograms

NIR_EXAMPLE = """
func @main(%foo: b, %bar: b, %baz: b) -> () structured @return {
  if %foo {
    exit @return
  } else {
    yield
  }
  loop @loop again @next () {
    %0 = not %bar : b
    if %0 {
      exit @loop
    } else {
      yield
    }
    if %baz {
      exit @next
    } else {
      yield
    }
    yield
  }
  yield
}
"""


def parsed(text: str) -> Function:
    fn = parse_function(text)
    validate(fn)
    return fn


def named(fn: Function) -> dict[str, Block]:
    """The blocks of the NIR example by the names of the seed document."""
    blocks = list(blocks_in(fn.body))
    names = ("start", "then1", "else1", "pre_loop", "header", "then2", "else2", "middle", "then3", "else3", "loop_end", "post_loop")
    return dict(zip(names, blocks, strict=True))


def in_counts(fn: Function) -> list[int]:
    """The number of predecessors of every block in the order of the text, that of `end` last."""
    cfg = Cfg(fn)
    assert not cfg.critical_edges()
    return [len(cfg.predecessors(block)) for block in cfg.blocks]


# --- the example of the NIR document


def test_the_nir_example_has_13_blocks_and_15_edges():
    cfg = Cfg(parsed(NIR_EXAMPLE))
    assert len(cfg.blocks) == 13
    assert len(list(cfg.edges())) == 15
    assert cfg.critical_edges() == []


def test_the_nir_example_has_the_predecessors_of_the_document():
    fn = parsed(NIR_EXAMPLE)
    cfg, b = Cfg(fn), named(fn)
    expected = {
        "start": (), "then1": ("start",), "else1": ("start",), "pre_loop": ("else1",),
        "header": ("pre_loop", "then3", "loop_end"), "then2": ("header",), "else2": ("header",), "middle": ("else2",),
        "then3": ("middle",), "else3": ("middle",), "loop_end": ("else3",), "post_loop": ("then2",),
    }
    for name, sources in expected.items():
        assert set(cfg.predecessors(b[name])) == {b[source] for source in sources}, name
    assert set(cfg.predecessors(cfg.end)) == {b["then1"], b["post_loop"]}
    assert cfg.start is b["start"]


def nir_in_python(foo, bar, baz, x):
    if foo:
        return x
    while bar > x:
        if baz:
            continue
        x = x + 1
    return x


def test_the_nir_example_from_python_has_the_same_graph():
    kinds = {"foo": Leaf(BOOL), "bar": Leaf(INT), "baz": Leaf(BOOL), "x": Leaf(INT)}
    fn = specialise(nir_in_python, kinds, loops="masked").function
    cfg = Cfg(fn)
    assert len(cfg.blocks) == 13
    assert len(list(cfg.edges())) == 15
    assert sorted(in_counts(fn)) == sorted(in_counts(parsed(NIR_EXAMPLE)))


# --- small functions


def function(*body: Item) -> Function:
    return Function("f", [], list(body), Label("return"), ())


def arms(then: Block, orelse: Block) -> If:
    return If(TRUE, [then], [orelse])


def test_an_empty_function_is_one_block_that_goes_to_the_end():
    fn = function(Block(end=Yield()))
    assert in_counts(fn) == [0, 1]


def test_inserting_an_if_and_removing_it():
    fn = function(Block(end=Yield()))
    node = arms(Block(end=Yield()), Block(end=Yield()))
    with editing(fn) as edit:
        edit.insert(after_block(edit.cfg.start), node)
        assert len(edit.cfg.blocks) == 4 + 1
        assert len(list(edit.cfg.edges())) == 5
        edit.remove(node)
        assert len(edit.cfg.blocks) == 1 + 1
        assert list(edit.cfg.edges()) == [(edit.cfg.start, edit.cfg.end)]


def test_a_loop_that_breaks_at_once():
    loop = Loop(label := Label("l"), Label("n"), [], [], [Block(end=Exit(label))])
    fn = function(Block(), loop, Block(end=Yield()))
    assert in_counts(fn) == [0, 1, 1, 1]


def test_deleting_the_break_makes_the_rest_unreachable():
    loop = Loop(label := Label("l"), Label("n"), [], [], [Block(end=Exit(label))])
    fn = function(Block(), loop, Block(end=Yield()))
    with editing(fn) as edit:
        header = loop.body[0]
        edit.replace_end(header, Yield())
        assert set(edit.cfg.predecessors(header)) == {fn.body[0], header}
        assert edit.cfg.predecessors(fn.body[2]) == []
        assert edit.cfg.predecessors(edit.cfg.end) == []
        assert edit.cfg.successors(fn.body[2]) == ()
        edit.replace_end(header, Exit(label))
        assert in_counts(fn) == [len(edit.cfg.predecessors(b)) for b in edit.cfg.blocks] == [0, 1, 1, 1]


# --- the inbound edges of the Tint document


@pytest.mark.parametrize(
    ("then", "orelse", "merge", "end"),
    [("yield", "yield", 2, 1), ("exit @return", "yield", 1, 2), ("yield", "exit @return", 1, 2), ("exit @return", "exit @return", 0, 2)],
)
def test_inbound_edges_of_the_merge_and_of_the_end(then, orelse, merge, end):
    fn = parsed(f"func @f(%c: b) -> () structured @return {{\nif %c {{\n{then}\n}} else {{\n{orelse}\n}}\nyield\n}}")
    assert in_counts(fn) == [0, 1, 1, merge, end]


def test_an_unreachable_merge_has_no_outgoing_edge():
    fn = function(Block(), arms(Block(end=Exit(label := Label("r"))), Block(end=Exit(label))), Block(end=Yield()))
    fn.label = label
    cfg = Cfg(fn)
    merge = fn.body[2]
    assert not cfg.reachable(merge)
    assert cfg.successors(merge) == ()
    assert len(cfg.predecessors(cfg.end)) == 2


def test_an_unreachable_loop_has_no_edge_at_all():
    loop = Loop(Label("l"), Label("n"), [], [], [Block(end=Yield())])
    fn = function(Block(), arms(Block(end=Exit(label := Label("r"))), Block(end=Exit(label))), Block(), loop, Block(end=Yield()))
    fn.label = label
    assert in_counts(fn) == [0, 1, 1, 0, 0, 0, 2]


def test_a_region_is_entered_once_and_left_by_all_its_exits():
    region = Region(label := Label("r"), [Block(), arms(Block(end=Exit(label)), Block(end=Yield())), Block(end=Yield())])
    assert in_counts(function(Block(), region, Block(end=Yield()))) == [0, 1, 1, 1, 1, 2, 1]


def test_a_raise_goes_to_the_end():
    fn = parsed("func @f() -> () structured @return {\nexit @fault ValueError()\n}")
    assert in_counts(fn) == [0, 1]


# --- random functions


@pytest.mark.parametrize("seed", range(100))
def test_random_functions_have_no_critical_edge(seed):
    cfg = Cfg(StructuredPrograms(seed).function())
    assert cfg.critical_edges() == []
    for a, b in cfg.edges():
        assert a in cfg.predecessors(b)
    for block in cfg.blocks:
        assert cfg.reachable(block) or not cfg.successors(block)


def test_the_checker_of_critical_edges_finds_one():
    fn = function(Block(), node := arms(Block(end=Yield()), Block(end=Yield())), Block(end=Yield()))
    cfg = Cfg(fn)
    cfg._redirect(fn.body[0], (node.then[0], fn.body[2]))
    assert cfg.critical_edges() == [(fn.body[0], fn.body[2])]


@pytest.mark.parametrize("chunk", range(6))
def test_random_edit_scripts_keep_the_graph(chunk):
    done = run_scripts(range(50 * chunk, 50 * chunk + 50))
    assert all(done[step] > 20 for step in ("move", "clone", "delete", "insert", "end", "leave"))


def test_a_wrong_graph_is_told():
    fn = function(Block(), arms(Block(end=Yield()), Block(end=Yield())), Block(end=Yield()))
    cfg = Cfg(fn)
    fn.body[1].then[0].end = Exit(fn.label)
    assert "successors" in cfg.difference(Cfg(fn)) or "predecessors" in cfg.difference(Cfg(fn))


# --- dominance


def test_dominators_of_the_nir_example():
    fn = parsed(NIR_EXAMPLE)
    dominators, b = Dominators(Cfg(fn)), named(fn)
    parents = {"then1": "start", "else1": "start", "pre_loop": "else1", "header": "pre_loop", "then2": "header", "else2": "header",
               "middle": "else2", "then3": "middle", "else3": "middle", "loop_end": "else3", "post_loop": "then2"}
    assert {name: b[parent] for name, parent in parents.items()} == {name: dominators.parent(b[name]) for name in parents}
    assert dominators.parent(dominators.cfg.end) is b["start"]
    assert dominators.dominates(b["header"], b["post_loop"])
    assert not dominators.dominates(b["then1"], dominators.cfg.end)


@pytest.mark.parametrize("seed", range(60))
def test_what_is_visible_dominates(seed):
    """In a valid function the block of a definition dominates the blocks of its uses, where they are reached."""
    fn = StructuredPrograms(seed).function()
    tree, cfg = Tree(fn), Cfg(fn)
    dominators = Dominators(cfg)
    for block in blocks_in(fn.body):
        for op in block.ops:
            for arg in op.args:
                if arg in tree.block_of and cfg.reachable(block):
                    assert dominators.dominates(tree.block_of[arg], block)
