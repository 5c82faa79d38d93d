"""Where things stand in a structured function: the list of a block or node, the owner of a list or a label.

The nodes of `ir.nodes` know what they contain and not what contains them. A Tree knows the other direction, and
`ir.edit.editor` keeps it up to date.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyflat.errors import InternalError
from pyflat.ir.nodes import FAULT, Block, Function, If, Item, Label, Loop, Node, Op, Region, child_lists, walk
from pyflat.ir.types import Kind

Owner = Node | Function


class Tree:
    """The way up from every block, node, operation and label of `fn`."""

    def __init__(self, fn: Function):
        self.fn = fn
        self.list_of: dict[Item, list[Item]] = {}
        self.block_of: dict[Op, Block] = {}
        self.label_owner: dict[Label, Owner] = {fn.label: fn}
        self._owner_of: dict[int, Owner] = {}
        self.add_list(fn.body, fn)

    # --- upkeep

    def add_list(self, items: list[Item], owner: Owner) -> None:
        self._owner_of[id(items)] = owner
        self.add(items, items)

    def add(self, items: Sequence[Item], into: list[Item]) -> None:
        """Register `items`, which stand in the list `into`, and all that they contain."""
        for item in items:
            self.list_of[item] = into
            if isinstance(item, Block):
                self.block_of.update((op, item) for op in item.ops)
                continue
            self.label_owner.update((label, item) for label in taken_by(item))
            for inner in child_lists(item):
                self.add_list(inner, item)

    def drop(self, items: Sequence[Item]) -> None:
        """Forget `items` and all that they contain."""
        for item in items:
            del self.list_of[item]
            if isinstance(item, Block):
                for op in item.ops:
                    del self.block_of[op]
                continue
            for label in taken_by(item):
                del self.label_owner[label]
            for inner in child_lists(item):
                self.drop(inner)
                del self._owner_of[id(inner)]

    # --- the way up

    def owner(self, item: Item) -> Owner:
        """The node (or the function) that the list of `item` belongs to."""
        return self._owner_of[id(self.list_of[item])]

    def position(self, item: Item) -> tuple[list[Item], int]:
        """The list in which `item` stands, and where."""
        items = self.list_of.get(item)
        if items is None:
            raise InternalError(f"{type(item).__name__} is not part of {self.fn.name}")
        return items, items.index(item)

    def preceding(self, node: Node) -> Block:
        """The block before a node: its padding block."""
        items, at = self.position(node)
        return _block(items[at - 1])

    def following(self, node: Node) -> Block:
        """The block after a node."""
        items, at = self.position(node)
        return _block(items[at + 1])

    def open_labels(self, item: Item) -> dict[Label, tuple[Kind, ...]]:
        """The labels that an exit in the list of `item` may name, and the kinds that they take."""
        labels: dict[Label, tuple[Kind, ...]] = {FAULT: (), self.fn.label: self.fn.result_kinds}
        owner = self.owner(item)
        while not isinstance(owner, Function):
            labels.update(taken_by(owner))
            owner = self.owner(owner)
        return labels


def taken_by(node: Node) -> dict[Label, tuple[Kind, ...]]:
    """The labels that a node owns, and the kinds of what an exit to each carries."""
    results = tuple(result.kind for result in node.results)
    match node:
        case If():
            return {}
        case Region():
            return {node.label: results}
        case Loop():
            return {node.label: results, node.again: tuple(param.kind for param in node.params)}


def yielded_to(owner: Owner) -> tuple[Kind, ...]:
    """The kinds of what the Yield of a list of `owner` carries."""
    match owner:
        case Function():
            return owner.result_kinds
        case Loop():
            return tuple(param.kind for param in owner.params)
        case _:
            return tuple(result.kind for result in owner.results)


def blocks_in(items: Sequence[Item]) -> Iterator[Block]:
    """Every block of a list, those inside of nodes included."""
    return (item for item in walk(list(items)) if isinstance(item, Block))


def _block(item: Item) -> Block:
    if not isinstance(item, Block):
        raise InternalError("blocks and nodes do not alternate")
    return item
