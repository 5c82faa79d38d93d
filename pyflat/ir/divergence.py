"""Which values differ from lane to lane, and where only some of the lanes are: divergence of a structured function.

Lanes run together. Where a condition varies, some of them take an arm and the others wait: the predicate of the arm
is varying. They meet again behind the If, unless some have left by an exit: then what follows is under a varying
predicate up to the end of the node whose label they took. So after `if c: continue` the rest of the body is divergent
and the next iteration is not; after `if c: break` all later iterations are, and what follows the loop is not.

    values   varying if an operand varies; results of an If if its condition varies and the arms differ; what a node
             gives if lanes leave it by different ways or at different times; parameters of a loop, if anything
             brought to them varies. `lane_any` is uniform: it is one answer for the block of lanes.
    places   a block is divergent if its predicate varies.

Everything is taken as varying that cannot be shown to be uniform. Source: the seed document on NIR control flow
(convergence), with its two examples as tests.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from pyflat.ir.nodes import Block, Const, Exit, Function, If, Item, Label, Loop, Node, Param, Region, Value, same_value
from pyflat.ir.ops import CONVERGENT


@dataclass(slots=True)
class Divergence:
    """`varying` values and `divergent` blocks of a function."""

    varying: set[Value] = field(default_factory=set)
    divergent: set[Block] = field(default_factory=set)

    def uniform(self, value: Value) -> bool:
        return isinstance(value, Const) or value not in self.varying


def divergence(fn: Function, uniform: Collection[Param] = ()) -> Divergence:
    """What varies in `fn` when its parameters do, except for those in `uniform`."""
    analysis = _Analysis()
    analysis.varying.update(param for param in fn.params if param not in uniform)
    analysis.exits[fn.label] = []
    analysis.walk(fn.body, False)
    return Divergence(analysis.varying, analysis.divergent)


class _Analysis:
    """`gone` are the labels by which some lanes, and not all, have left: they are away until the label's node ends."""

    def __init__(self) -> None:
        self.varying: set[Value] = set()
        self.divergent: set[Block] = set()
        self.gone: set[Label] = set()
        self.exits: dict[Label, list[list[Value]]] = {}

    def vary(self, values: Sequence[Value]) -> None:
        self.varying.update(v for v in values if not isinstance(v, Const))

    def varies(self, value: Value) -> bool:
        return value in self.varying

    def walk(self, items: list[Item], under: bool) -> list[Value] | None:
        """Analyse a list under a predicate that varies or not; gives what it yields, None when it exits."""
        for item in items:
            if not isinstance(item, Block):
                self.node(item, under)
                continue
            partial = under or bool(self.gone)
            if partial:
                self.divergent.add(item)
            for op in item.ops:
                if op.opcode not in CONVERGENT and any(map(self.varies, op.args)):
                    self.varying.add(op)
            if isinstance(item.end, Exit):
                self.exits.setdefault(item.end.label, []).append(item.end.values)
                if partial:
                    self.gone.add(item.end.label)
                return None
            if item.end is not None:
                return item.end.values
        return None

    def node(self, node: Node, under: bool) -> None:
        match node:
            case If():
                self.branch(node, under)
            case Region():
                self.exits[node.label] = []
                fall = self.walk(node.body, under)
                self.leave(node.label, node.results, fall)
            case Loop():
                self.loop(node, under)

    def branch(self, node: If, under: bool) -> None:
        split = self.varies(node.cond)
        before = set(self.gone)
        then = self.walk(node.then, under or split)
        after_then, self.gone = self.gone, set(before)
        orelse = self.walk(node.orelse, under or split)
        self.gone |= after_then
        ways = [way for way in (then, orelse) if way is not None]
        self.join(node.results, ways, split)

    def leave(self, label: Label, results: list[Param], fall: list[Value] | None) -> None:
        """The end of a node: who left by its label is back."""
        split = label in self.gone
        self.gone.discard(label)
        ways = self.exits[label] + ([fall] if fall is not None else [])
        self.join(results, ways, split)

    def loop(self, loop: Loop, under: bool) -> None:
        """Until nothing changes: what varies, and who is away, at the start of the next iteration."""
        self.join(loop.params, [loop.inits], False)
        while True:
            size = len(self.varying), len(self.gone), len(self.divergent)
            self.exits[loop.label], self.exits[loop.again] = [], []
            fall = self.walk(loop.body, under)
            self.leave(loop.again, loop.params, fall)
            if size == (len(self.varying), len(self.gone), len(self.divergent)):
                break
        split = loop.label in self.gone
        self.leave(loop.label, loop.results, None)
        if split:
            self.vary(loop.results)

    def join(self, targets: list[Param], ways: list[list[Value]], split: bool) -> None:
        """`targets` take the operands of one of `ways`, of which different lanes take different ones if `split`."""
        for i, target in enumerate(targets):
            brought = [way[i] for way in ways]
            if any(map(self.varies, brought)) or (split and not _all_same(brought)):
                self.varying.add(target)


def _all_same(values: Sequence[Value]) -> bool:
    return all(same_value(value, values[0]) for value in values[1:])
