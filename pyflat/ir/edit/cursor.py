"""Cursors: places between operations, said by what stands next to them.

A cursor names its neighbour and not a position, so that it keeps its meaning while the function is edited around it.
Every cursor is a place in a block before the block's end: nothing can be put behind an exit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from pyflat.errors import InternalError
from pyflat.ir.nodes import Block, Item, Node, Op


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
