"""Random edit scripts: steps on a random function, after each of which the graph must equal the one computed afresh."""

from __future__ import annotations

import random
from collections import Counter

from pyflat.errors import InternalError
from pyflat.ir.edit.cfg import Cfg, Tree, yielded_to
from pyflat.ir.edit.editor import (
    Cursor,
    Editing,
    after_block,
    after_node,
    after_op,
    before_block,
    before_node,
    before_op,
    editing,
)
from pyflat.ir.edit.repair import repair_ssa
from pyflat.ir.nodes import (
    FALSE,
    Block,
    Const,
    Exit,
    If,
    Item,
    Label,
    Loop,
    Node,
    Region,
    Yield,
    child_lists,
    walk,
)
from pyflat.ir.validate import validate
from tests.ir.structured_samples import StructuredPrograms


class EditScript:
    """The script of one seed: `EditScript(7).run()` does the same each time. `done` counts the steps by name."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.fn = StructuredPrograms(seed).function()
        self.done: Counter[str] = Counter()

    def run(self, steps: int = 10) -> None:
        with editing(self.fn) as edit:
            for _ in range(steps):
                name = self.random.choice(("move", "move", "clone", "delete", "insert", "end", "leave"))
                try:
                    getattr(self, name)(edit)
                    self.done[name] += 1
                except InternalError as error:
                    self.done[f"refused: {str(error)[:20]}"] += 1
                self.check(edit)
            for piece in edit.dangling:
                edit.delete(piece, undefine=True)
                self.check(edit)
        self.done["repaired"] += repair_ssa(self.fn, undefine=True) > 0
        assert repair_ssa(self.fn) == 0
        assert not edit.cfg.difference(Cfg(self.fn))
        validate(self.fn)

    def check(self, edit: Editing) -> None:
        assert not (wrong := edit.cfg.difference(Cfg(self.fn))), wrong
        assert not edit.cfg.critical_edges()
        fresh = Tree(self.fn)
        assert edit.tree.block_of == fresh.block_of
        assert edit.tree.label_owner == fresh.label_owner
        assert {k: id(v) for k, v in edit.tree.list_of.items()} == {k: id(v) for k, v in fresh.list_of.items()}

    # --- places

    def lists(self) -> list[list[Item]]:
        nodes = [item for item in walk(self.fn.body) if not isinstance(item, Block)]
        return [self.fn.body, *(items for node in nodes for items in child_lists(node))]

    def cursor(self, items: list[Item]) -> Cursor:
        item = self.random.choice(items)
        if not isinstance(item, Block):
            return self.random.choice((before_node, after_node))(item)
        places = [before_block(item), after_block(item)]
        for op in item.ops:
            places += [before_op(op), after_op(op)]
        return self.random.choice(places)

    def anywhere(self) -> Cursor:
        return self.cursor(self.random.choice(self.lists()))

    # --- steps

    def move(self, edit: Editing) -> None:
        items = self.random.choice(self.lists())
        piece = edit.extract(self.cursor(items), self.cursor(items))
        self.check(edit)
        edit.reinsert(piece, self.anywhere())

    def clone(self, edit: Editing) -> None:
        items = self.random.choice(self.lists())
        piece = edit.extract(self.cursor(items), self.cursor(items))
        copy = edit.clone(piece)
        edit.reinsert(copy, self.anywhere())
        self.check(edit)
        edit.reinsert(piece, self.anywhere())

    def delete(self, edit: Editing) -> None:
        nodes = [item for item in walk(self.fn.body) if not isinstance(item, Block)]
        if nodes:
            edit.remove(self.random.choice(nodes), undefine=True)

    def insert(self, edit: Editing) -> None:
        edit.insert(self.anywhere(), self.new_node())

    def new_node(self) -> Node:
        label, again = Label("new"), Label("again")
        match self.random.randrange(4):
            case 0:
                return If(FALSE, [Block(end=Yield())], [Block(end=Yield())])
            case 1:
                return Region(label, [Block(end=self.random.choice((Yield(), Exit(label))))])
            case 2:
                return Loop(label, again, [], [], [Block(end=self.random.choice((Yield(), Exit(label), Exit(again))))])
            case _:
                inner = Loop(label, again, [], [], [Block(end=Yield())])
                return If(FALSE, [Block(), inner, Block(end=Yield())], [Block(end=Yield())])

    def new_end(self, edit: Editing, items: list[Item]) -> Yield | Exit:
        block = items[-1]
        kinds = yielded_to(edit.tree.owner(block))
        if self.random.random() < 0.4:
            return Yield([Const(kind, None) for kind in kinds])
        label, kinds = self.random.choice(list(edit.tree.open_labels(block).items()))
        return Exit(label, [Const(kind, None) for kind in kinds])

    def end(self, edit: Editing) -> None:
        items = self.random.choice(self.lists())
        last = items[-1]
        assert isinstance(last, Block)
        edit.replace_end(last, self.new_end(edit, items))

    def leave(self, edit: Editing) -> None:
        items = self.random.choice(self.lists())
        edit.leave(self.cursor(items), self.new_end(edit, items), undefine=True)


def run_scripts(seeds: range) -> Counter[str]:
    """Run a script for each seed; gives how often each step was done. Raises AssertionError at the first difference."""
    done: Counter[str] = Counter()
    for seed in seeds:
        script = EditScript(seed)
        script.run()
        done += script.done
    return done
