"""The control-flow graph of a structured function: which blocks a block goes to, and which come to it.

    block before an If           -> first block of each arm
    block before Region, Loop    -> first block of the body
    Yield of an arm, of a Region -> block after the node
    Yield of a Loop, exit again  -> first block of the body (the header)
    exit label                   -> block after the node that owns it
    the function's Yield, exits to its label and to FAULT -> `end`, a block that stands in no list

A block that cannot be reached from the start has no outgoing edges. There are no critical edges (from a block with
two successors to one with two predecessors): only the block before an If has two successors, and both are first
blocks of arms, which nothing else goes to. `critical_edges` looks nevertheless.

`Dominators` are the blocks that every way from the start to a block goes through. Source: Cooper, Harvey, Kennedy, "A
simple, fast dominance algorithm" (2001).

`Cfg(fn)` computes the graph. `Cfg.relink` follows an edit: it looks at the changed blocks, and passes on what that
means for reachability. An edge back to a header says nothing about reachability (it comes from inside of the loop), and
without those edges the graph has no cycle, so that a change runs forward and stops where it makes no difference.
Counting conventions as in the seed document on NIR control flow.

`Tree` says where things stand in a structured function: the list of a block or node, the owner of a list or a label.
The nodes of `ir.nodes` know what they contain and not what contains them. A Tree knows the other direction, and
`ir.edit.editor` keeps it up to date.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from pyflat.errors import InternalError
from pyflat.ir.nodes import FAULT, Block, Exit, Function, If, Item, Label, Loop, Node, Op, Region, child_lists, walk
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


Edge = tuple[Block, Block]


class Cfg:
    """Predecessors and successors of the blocks of `fn`; `start` is its first block, `end` the fake one."""

    def __init__(self, fn: Function):
        self.fn = fn
        self.end = Block()
        self._targets: dict[Block, tuple[Block, ...]] = {}
        self._sources: dict[Block, dict[Block, None]] = {self.end: {}}
        self._headers: set[Block] = set()
        self._reachable: set[Block] = set()
        self._labels: dict[Label, Block] = {FAULT: self.end, fn.label: self.end}
        self._link(fn.body, self.end)
        for block in blocks_in(fn.body):
            self._sources.setdefault(block, {})
        self._connect()

    @property
    def start(self) -> Block:
        return _first(self.fn.body)

    @property
    def blocks(self) -> list[Block]:
        """Every block in the order of the text, and `end`."""
        return [*blocks_in(self.fn.body), self.end]

    def reachable(self, block: Block) -> bool:
        return block in self._reachable

    def successors(self, block: Block) -> tuple[Block, ...]:
        """Where control goes from `block`: then before else; nothing from an unreachable block."""
        return self._targets.get(block, ()) if block in self._reachable else ()

    def predecessors(self, block: Block) -> list[Block]:
        """The blocks from which control comes to `block`."""
        return [source for source in self._sources[block] if source in self._reachable]

    def edges(self) -> Iterator[Edge]:
        for block in self.blocks:
            for target in self.successors(block):
                yield block, target

    def critical_edges(self) -> list[Edge]:
        """Edges from a block with several successors to one with several predecessors: always none."""
        return [(a, b) for a, b in self.edges() if len(self.successors(a)) > 1 and len(self.predecessors(b)) > 1]

    def difference(self, other: Cfg) -> str:
        """How the graphs of the same function differ, "" when they do not."""
        ends = {self.end: other.end}
        for number, block in enumerate(self.blocks):
            twin = ends.get(block, block)
            here = {ends.get(b, b) for b in self.predecessors(block)}
            if here != set(other.predecessors(twin)):
                return f"block {number} has {len(here)} predecessors, not {len(other.predecessors(twin))}, or others"
            if tuple(ends.get(b, b) for b in self.successors(block)) != other.successors(twin):
                return f"block {number} has other successors"
            if self.reachable(block) != other.reachable(twin):
                return f"block {number} is {'' if self.reachable(block) else 'not '}reachable"
        if not set(self._targets) <= set(self.blocks):
            return "a block that is gone has edges"
        return ""

    # --- computing

    def _link(self, items: list[Item], after: Block) -> None:
        """The edges of a list; `after` is where its Yield goes."""
        for i, item in enumerate(items):
            match item:
                case Block(end=None):
                    self._targets[item] = entries(items[i + 1])
                case Block(end=Exit() as end):
                    self._targets[item] = (self._labels[end.label],)
                case Block():
                    self._targets[item] = (after,)
                case If():
                    self._link(item.then, _block(items[i + 1]))
                    self._link(item.orelse, _block(items[i + 1]))
                case Region():
                    self._labels[item.label] = _block(items[i + 1])
                    self._link(item.body, _block(items[i + 1]))
                case Loop():
                    header = _first(item.body)
                    self._headers.add(header)
                    self._labels[item.label], self._labels[item.again] = _block(items[i + 1]), header
                    self._link(item.body, header)

    def _connect(self) -> None:
        for block, targets in self._targets.items():
            for target in targets:
                self._sources[target][block] = None
        waiting = [self.start]
        while waiting:
            block = waiting.pop()
            if block not in self._reachable:
                self._reachable.add(block)
                waiting += self._targets.get(block, ())

    # --- following an edit

    def relink(self, tree: Tree, blocks: Iterable[Block]) -> None:
        """`blocks` are new, or go elsewhere than before: bring the graph up to date."""
        queue: deque[Block] = deque()
        for block in blocks:
            owner = tree.owner(block)
            if isinstance(owner, Loop) and owner.body[0] is block:
                self._headers.add(block)
            queue.append(block)
            queue += self._redirect(block, self._goes_to(tree, block))
        self._settle(queue)

    def forget(self, blocks: Iterable[Block]) -> None:
        """`blocks` are no longer part of the function, and nothing in it goes to them (after `relink`)."""
        queue: deque[Block] = deque()
        gone = list(blocks)
        for block in gone:
            queue += self._redirect(block, ())
        for block in gone:
            del self._sources[block], self._targets[block]
            self._reachable.discard(block)
            self._headers.discard(block)
        self._settle(deque(block for block in queue if block in self._sources))

    def _goes_to(self, tree: Tree, block: Block) -> tuple[Block, ...]:
        end = block.end
        if end is None:
            items, at = tree.position(block)
            return entries(items[at + 1])
        if isinstance(end, Exit):
            if end.label is FAULT:
                return (self.end,)
            owner = tree.label_owner[end.label]
        else:
            owner = tree.owner(block)
        if isinstance(owner, Function):
            return (self.end,)
        if isinstance(owner, Loop) and not (isinstance(end, Exit) and end.label is owner.label):
            return (_first(owner.body),)
        return (tree.following(owner),)

    def _redirect(self, block: Block, targets: tuple[Block, ...]) -> list[Block]:
        """Replace the edges from `block`; gives the blocks whose predecessors changed."""
        old = self._targets.get(block, ())
        self._sources.setdefault(block, {})
        self._targets[block] = targets
        for target in old:
            self._sources[target].pop(block, None)
        for target in targets:
            self._sources.setdefault(target, {})[block] = None
        return [*old, *targets]

    def _settle(self, queue: deque[Block]) -> None:
        """Pass changes of reachability on."""
        while queue:
            block = queue.popleft()
            now = block is self.start or any(self._forward(s, block) for s in self._sources[block])
            if now == (block in self._reachable):
                continue
            (self._reachable.add if now else self._reachable.remove)(block)
            queue += self._targets.get(block, ())

    def _forward(self, source: Block, target: Block) -> bool:
        """Control comes to `target` by this edge before it has been there."""
        return source in self._reachable and not (target in self._headers and source.end is not None)


def entries(node: Item) -> tuple[Block, ...]:
    """The blocks inside of a node that control comes to first."""
    match node:
        case If():
            return _first(node.then), _first(node.orelse)
        case Region() | Loop():
            return (_first(node.body),)
        case Block():
            raise InternalError("blocks and nodes do not alternate")


def _first(items: list[Item]) -> Block:
    return _block(items[0])


def _block(item: Item) -> Block:
    if not isinstance(item, Block):
        raise InternalError("blocks and nodes do not alternate")
    return item


# --- dominators: the tree of a structured function says most of this by itself; a graph algorithm is its check


class Dominators:
    """The dominator tree of a graph as it is now."""

    def __init__(self, cfg: Cfg):
        self.cfg = cfg
        order = _reverse_postorder(cfg)
        self._number = {block: i for i, block in enumerate(order)}
        self._parent: dict[Block, Block] = {cfg.start: cfg.start}
        changed = True
        while changed:
            changed = False
            for block in order[1:]:
                found = self._common(block)
                if self._parent.get(block) is not found:
                    self._parent[block] = found
                    changed = True

    def parent(self, block: Block) -> Block | None:
        """The closest other block that dominates `block`; None for the start and for unreachable blocks."""
        return self._parent.get(block) if block is not self.cfg.start else None

    def dominates(self, a: Block, b: Block) -> bool:
        """Every way to `b` goes through `a`; a block dominates itself. False where `b` is not reached."""
        at: Block | None = b if b in self._number else None
        while at is not None and at is not a:
            at = self.parent(at)
        return at is a

    def _common(self, block: Block) -> Block:
        """The closest common dominator of the predecessors that have one already."""
        known = [source for source in self.cfg.predecessors(block) if source in self._parent]
        found = known[0]
        for other in known[1:]:
            while found is not other:
                if self._number[found] > self._number[other]:
                    found = self._parent[found]
                else:
                    other = self._parent[other]
        return found


def _reverse_postorder(cfg: Cfg) -> list[Block]:
    """Every reachable block, before what it goes to except along edges back."""
    order: list[Block] = []
    seen = {cfg.start}
    stack = [(cfg.start, iter(cfg.successors(cfg.start)))]
    while stack:
        block, targets = stack[-1]
        target = next((t for t in targets if t not in seen), None)
        if target is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(target)
            stack.append((target, iter(cfg.successors(target))))
    order.reverse()
    return order
