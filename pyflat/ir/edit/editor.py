"""Editing a structured function in place, through cursors; the tree and the control-flow graph follow every step.

    with editing(fn) as edit:
        piece = edit.extract(before_node(loop), after_node(loop))
        edit.reinsert(piece, end_of(branch.then))

What is guaranteed after each step: lists alternate (blocks are split and joined as needed), both arms exist, ends stand
at the end of lists, exits name an enclosing label and carry what it takes, `edit.cfg` is the graph of the function.
What is not: SSA. An operand may end up where its definition does not reach it; `ir.edit.repair.repair_ssa` repairs
that, and `ir.validate` finds it. The caveats, each an InternalError:

  - an exit cannot be moved out of the node whose label it names, nor a piece into another function;
  - results belong to their node, and parameters to their loop: extraction starts after them by construction;
  - what was extracted must be reinserted or deleted before the `with` block ends;
  - what is deleted must not be used elsewhere, unless its uses may become undefined (`undefine=True`).

The first block of an edited list always stays, so that a loop's header and the start block keep their identity.
Source: the seed document on NIR control flow (cursors, extract, reinsert, delete, clone, and their caveats).

Cursors are places between operations, said by what stands next to them. A cursor names its neighbour and not a
position, so that it keeps its meaning while the function is edited around it. Every cursor is a place in a block before
the block's end: nothing can be put behind an exit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

from pyflat.errors import InternalError
from pyflat.ir.build import undefined
from pyflat.ir.edit.cfg import Cfg, Tree, blocks_in, taken_by, yielded_to
from pyflat.ir.edit.copying import Copier
from pyflat.ir.loops import definitions, replace_uses, used_outside
from pyflat.ir.nodes import Block, End, Exit, Function, Item, Label, Node, Op, child_lists
from pyflat.ir.types import Kind


class Side(Enum):
    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place `side` of `anchor`; before (after) a block is before its first (after its last) operation."""

    side: Side
    anchor: Op | Block | Node

    def __repr__(self) -> str:
        return f"{self.side.value} {self.anchor!r}"


def before_op(op: Op) -> Cursor:
    return Cursor(Side.BEFORE, op)


def after_op(op: Op) -> Cursor:
    return Cursor(Side.AFTER, op)


def before_block(block: Block) -> Cursor:
    """Before the first operation; what a node before the block gives stays with the node."""
    return Cursor(Side.BEFORE, block)


def after_block(block: Block) -> Cursor:
    """After the last operation and before the block's end."""
    return Cursor(Side.AFTER, block)


def before_node(node: Node) -> Cursor:
    """At the end of the padding block before a node."""
    return Cursor(Side.BEFORE, node)


def after_node(node: Node) -> Cursor:
    """At the start of the block after a node."""
    return Cursor(Side.AFTER, node)


def start_of(items: Sequence[Item]) -> Cursor:
    """The start of a control-flow list."""
    return before_block(_block(items[0]))


def end_of(items: Sequence[Item]) -> Cursor:
    """The end of a control-flow list, before its Yield or Exit."""
    return after_block(_block(items[-1]))


def _block(item: Item) -> Block:
    if not isinstance(item, Block):
        raise InternalError("a list starts and ends with a block")
    return item


Labels = dict[Label, tuple[Kind, ...]]


class Extracted:
    """A piece of a function that stands nowhere: a list whose last block has no end."""

    def __init__(self, items: list[Item], home: Editing):
        self.items = items
        self.home = home
        self.settled = False


@contextmanager
def editing(fn: Function) -> Iterator[Editing]:
    """Edit `fn`; at the end every extracted piece must have been reinserted or deleted."""
    edit = Editing(fn)
    yield edit
    edit.close()


class Editing:
    """The operations on one function. `cfg` and `tree` are those of the function as it is now."""

    def __init__(self, fn: Function):
        self.fn = fn
        self.tree = Tree(fn)
        self.cfg = Cfg(fn)
        self._pieces: list[Extracted] = []

    @property
    def dangling(self) -> list[Extracted]:
        """The extracted pieces that were neither reinserted nor deleted."""
        return [piece for piece in self._pieces if not piece.settled]

    def close(self) -> None:
        """Editing is done: raises InternalError when a piece is left dangling."""
        if self.dangling:
            raise InternalError(f"{len(self.dangling)} extracted lists of {self.fn.name} are left dangling")

    # --- operations

    def insert(self, cursor: Cursor, *new: Op | Node) -> None:
        """Insert operations and newly made nodes, in order; the second after the first."""
        items: list[Item] = [Block()]
        for each in new:
            if isinstance(each, Op):
                last = items[-1]
                assert isinstance(last, Block)
                last.ops.append(each)
            else:
                items += [each, Block()]
        self._check_new(items)
        self._graft(cursor, items)

    def move(self, op: Op, cursor: Cursor) -> None:
        """Take one operation away and put it elsewhere; the graph stays as it is."""
        source = self._block_of(op)
        if cursor.anchor is op:
            return
        source.ops.remove(op)
        block, at = self.locate(cursor)
        block.ops.insert(at, op)
        self.tree.block_of[op] = block

    def replace_end(self, block: Block, end: End) -> None:
        """Let the last block of a list leave it otherwise: this is how exits are made and removed."""
        items, at = self.tree.position(block)
        if at != len(items) - 1:
            raise InternalError("only the last block of a list has an end")
        _check_end(end, yielded_to(self.tree.owner(block)), self.tree.open_labels(block))
        block.end = end
        self.cfg.relink(self.tree, [block])

    def leave(self, cursor: Cursor, end: End, *, undefine: bool = False) -> None:
        """End the list at the cursor; what followed in the list is deleted."""
        block, _ = self.locate(cursor)
        items = self.tree.list_of[block]
        _check_end(end, yielded_to(self.tree.owner(block)), self.tree.open_labels(block))
        piece = self.extract(cursor, end_of(items))
        last = items[-1]
        assert isinstance(last, Block)
        self.replace_end(last, end)
        self.delete(piece, undefine=undefine)

    # --- pieces

    def extract(self, start: Cursor, end: Cursor) -> Extracted:
        """Take out what stands between two places of one list; the end of the list stays."""
        first, i = self.locate(start)
        last, j = self.locate(end)
        items, a = self.tree.position(first)
        if self.tree.list_of[last] is not items:
            raise InternalError("an extracted piece starts and ends in the same list")
        b = items.index(last)
        if (b, j) < (a, i):
            raise InternalError("an extracted piece ends before it starts")
        if first is last:
            return self._extracted(self._cut_ops(first, i, j))
        taken = self._cut_ops(first, i, len(first.ops))
        first.ops += last.ops[j:]
        first.end, last.end = last.end, None
        self.tree.block_of.update((op, first) for op in last.ops[j:])
        del last.ops[j:]
        gone = items[a + 1 : b + 1]
        del items[a + 1 : b + 1]
        self.tree.drop(gone)
        self.cfg.relink(self.tree, [first])
        self.cfg.forget(blocks_in(gone))
        return self._extracted([*taken, *gone])

    def reinsert(self, piece: Extracted, cursor: Cursor) -> None:
        """Put an extracted (or cloned) piece back, anywhere in its function where its exits have their labels."""
        self._check_open(piece)
        self._graft(cursor, piece.items)
        piece.settled = True

    def delete(self, *pieces: Extracted, undefine: bool = False) -> None:
        """Drop extracted pieces. With `undefine`, what still uses their values reads undefined ones."""
        for piece in pieces:
            self._check_open(piece)
        used = used_outside([item for piece in pieces for item in piece.items], self.fn)
        if used and not undefine:
            raise InternalError(f"a deleted value is still used: {used[0]!r}")
        if used:
            replace_uses(self.fn.body, {value: undefined(value.kind) for value in used})
        for piece in pieces:
            piece.settled = True

    def clone(self, piece: Extracted) -> Extracted:
        """A copy of an extracted piece, with values and labels of its own."""
        self._check_open(piece)
        return self._extracted(Copier().items(piece.items))

    def clone_node(self, node: Node) -> Node:
        """A copy of a node that stays where it is, to be inserted somewhere."""
        self.tree.position(node)
        return Copier().node(node)

    def remove(self, node: Node, *, undefine: bool = False) -> None:
        """Delete a node; the blocks around it become one."""
        piece = self.extract(before_node(node), after_node(node))
        self.delete(piece, undefine=undefine)

    # --- places

    def locate(self, cursor: Cursor) -> tuple[Block, int]:
        """The block of a cursor, and before which of its operations it stands."""
        anchor, before = cursor.anchor, cursor.side is Side.BEFORE
        if isinstance(anchor, Op):
            block = self._block_of(anchor)
            return block, block.ops.index(anchor) + (not before)
        if isinstance(anchor, Block):
            self.tree.position(anchor)
            return anchor, 0 if before else len(anchor.ops)
        if not before:
            return self.tree.following(anchor), 0
        block = self.tree.preceding(anchor)
        return block, len(block.ops)

    def _block_of(self, op: Op) -> Block:
        block = self.tree.block_of.get(op)
        if block is None:
            raise InternalError(f"{op!r} is not part of {self.fn.name}")
        return block

    # --- splitting and joining

    def _cut_ops(self, block: Block, i: int, j: int) -> list[Item]:
        taken = Block(block.ops[i:j])
        del block.ops[i:j]
        for op in taken.ops:
            del self.tree.block_of[op]
        return [taken]

    def _extracted(self, items: list[Item]) -> Extracted:
        piece = Extracted(items, self)
        self._pieces.append(piece)
        return piece

    def _graft(self, cursor: Cursor, piece: Sequence[Item]) -> None:
        """Split the block at the cursor and join its halves with the ends of `piece`."""
        block, at = self.locate(cursor)
        self._check_labels(piece, block)
        head, *rest = piece
        assert isinstance(head, Block)
        self.tree.block_of.update((op, block) for op in head.ops)
        if not rest:
            block.ops[at:at] = head.ops
            return
        tail = rest[-1]
        assert isinstance(tail, Block)
        tail.ops += block.ops[at:]
        tail.end, block.end = block.end, None
        block.ops[at:] = head.ops
        items, index = self.tree.position(block)
        items[index + 1 : index + 1] = rest
        self.tree.add(rest, items)
        self.cfg.relink(self.tree, [block, *blocks_in(rest)])

    # --- checks

    def _check_open(self, piece: Extracted) -> None:
        if piece.home is not self:
            raise InternalError("a piece cannot be moved to another function")
        if piece.settled:
            raise InternalError("the piece was reinserted or deleted before")

    def _check_new(self, items: Sequence[Item]) -> None:
        """Nothing of what is inserted stands in the function already."""
        for value in definitions(items):
            if isinstance(value, Op) and value in self.tree.block_of:
                raise InternalError(f"{value!r} stands in {self.fn.name} already")
        for item in items:
            if item in self.tree.list_of:
                raise InternalError(f"{type(item).__name__} stands in {self.fn.name} already")

    def _check_labels(self, piece: Sequence[Item], place: Block) -> None:
        labels = self.tree.open_labels(place)
        for item in piece:
            if not isinstance(item, Block):
                _check_node(item, labels)


def _check_node(node: Node, labels: Labels) -> None:
    inner = {**labels, **taken_by(node)}
    for items in child_lists(node):
        if len(items) % 2 == 0:
            raise InternalError("a list starts and ends with a block")
        for i, item in enumerate(items):
            if isinstance(item, Block) != (i % 2 == 0):
                raise InternalError("blocks and nodes do not alternate")
            if isinstance(item, Block):
                _check_block(item, i == len(items) - 1, yielded_to(node), inner)
            else:
                _check_node(item, inner)


def _check_block(block: Block, last: bool, taken: tuple[Kind, ...], labels: Labels) -> None:
    if (block.end is not None) != last:
        raise InternalError("the last block of a list has an end, and no other")
    if block.end is not None:
        _check_end(block.end, taken, labels)


def _check_end(end: End, taken: tuple[Kind, ...], labels: Labels) -> None:
    if isinstance(end, Exit):
        if end.label not in labels:
            raise InternalError(f"an exit to {end.label.name} outside of its node")
        taken = labels[end.label]
    if tuple(value.kind for value in end.values) != taken:
        raise InternalError(f"{type(end).__name__} carries other kinds than are taken")
