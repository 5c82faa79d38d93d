"""Dominators: which blocks every way from the start to a block goes through.

The tree of a structured function says most of this by itself; a graph algorithm that does not look at the tree is its
check, and what passes over the graph use. Source: Cooper, Harvey, Kennedy, "A simple, fast dominance algorithm" (2001).
"""

from __future__ import annotations

from pyflat.ir.edit.cfg import Cfg
from pyflat.ir.nodes import Block


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
