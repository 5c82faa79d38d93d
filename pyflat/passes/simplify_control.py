"""Dead control flow: arms never taken, code never reached, nodes that do nothing.

Before:                              After:
    if true -> y:                        a = x + 1.0
        a = x + 1.0                      exit return(a)
        yield a
    else:
        yield x
    loop L (s = y):
        exit L(s)
    -> r
    region R -> t:
        yield r
    exit return(t)
    b = t + t

  - an If with a literal condition is its arm, an If with two equal arms is one of them; a result that is the same
    whichever arm is taken is that value;
  - what follows a node that control never falls out of, or an arm that leaves, is dropped;
  - a Loop that never comes around is a Region, a Region that no exit leaves early is its body; a canonical loop
    (`ir.loops`) stays canonical.

An operation that is reached stays, needed or not: it may fault. What is dead after that is found in another round;
each round takes something away.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyflat.errors import InternalError
from pyflat.ir.edit.copying import Copier
from pyflat.ir.lists import definitions, exits, last_block, never_ends, replace_uses, same_lists, same_value, splice
from pyflat.ir.loops import canonical_parts
from pyflat.ir.nodes import Block, Const, End, Exit, Function, If, Item, Label, Loop, Param, Region, Value, Yield
from pyflat.ir.types import Kind
from pyflat.passes.record import Pass


def simplify_control(fn: Function) -> Function:
    """`fn` without dead control flow; `fn` itself when there is none."""
    while True:
        run = _Simplification()
        body = run.items(fn.body, fn.result_kinds)
        if not run.changed:
            return fn
        fn = Function(fn.name, fn.params, body, fn.label, fn.result_kinds, fn.form, fn.floats)


PASS = Pass(simplify_control)

_NOWHERE = Yield()
"""The end of a list that is not reached."""


class _Simplification:
    def __init__(self) -> None:
        self.copier = Copier()
        self.changed = False
        self.tests: set[Item] = set()
        """The tests of canonical loops, which stay as they are, so that the loops stay canonical."""

    def items(self, items: Sequence[Item], takes: Sequence[Kind]) -> list[Item]:
        """A simplified copy of a list whose Yield carries `takes`."""
        out: list[Item] = [Block()]
        for at, item in enumerate(items):
            end = self.block(item, out) if isinstance(item, Block) else self.node(item, out)
            if end is None:
                continue
            rest = items[at + 1 :]
            self.changed |= bool(rest) and not (end is _NOWHERE and _is_unreached(rest))
            last_block(out).end = never_ends(takes) if end is _NOWHERE else end
            return out
        raise InternalError("control fell off a list without an end")

    def block(self, block: Block, out: list[Item]) -> End | None:
        copy = self.copier.block(block)
        last_block(out).ops += copy.ops
        return copy.end

    def node(self, node: If | Region | Loop, out: list[Item]) -> End | None:
        """Append what a node becomes; gives the end of the list, when the node turned out to be that."""
        match node:
            case If():
                return self.branch(node, out)
            case Region():
                label = self.copier.label(node.label)
                return self.region(label, self.items(node.body, _kinds(node.results)), node.results, out)
            case Loop():
                return self.loop(node, out)

    # --- If

    def branch(self, node: If, out: list[Item]) -> End | None:
        takes = _kinds(node.results)
        cond = self.copier.read(node.cond)
        kept = node in self.tests
        if isinstance(cond, Const) and not (kept and cond.value):
            return self.inline(self.items(node.then if cond.value else node.orelse, takes), node.results, out)
        then, orelse = self.items(node.then, takes), self.items(node.orelse, takes)
        if not kept and same_lists(then, orelse):
            return self.inline(then, node.results, out)
        results = node.results if kept else self.drop_equal(node, then, orelse)
        out += [If(cond, then, orelse, self.copier.params(results)), Block()]
        falls = any(isinstance(last_block(arm).end, Yield) for arm in (then, orelse))
        return None if falls else _NOWHERE

    def drop_equal(self, node: If, then: list[Item], orelse: list[Item]) -> list[Param]:
        """Take away the results that do not depend on the arm; gives those that stay."""
        ends = [end for end in (last_block(then).end, last_block(orelse).end) if isinstance(end, Yield)]
        if not ends:
            self.changed |= bool(node.results)
            return []
        inside = {*definitions(then), *definitions(orelse)} if node.results else set()
        stay: list[Param] = []
        for i, result in reversed(list(enumerate(node.results))):
            first, *others = (end.values[i] for end in ends)
            if first in inside or not all(same_value(first, other) for other in others):
                stay.insert(0, result)
                continue
            self.replace(result, first)
            for end in ends:
                del end.values[i]
        return stay

    # --- Region, Loop

    def region(self, label: Label, body: list[Item], results: Sequence[Param], out: list[Item]) -> End | None:
        last = last_block(body)
        if isinstance(last.end, Exit) and last.end.label is label:
            self.changed = True
            last.end = Yield(last.end.values)
        if not _has_exit(body, label):
            return self.inline(body, results, out)
        out += [Region(label, body, self.copier.params(results)), Block()]
        return None

    def loop(self, loop: Loop, out: list[Item]) -> End | None:
        inits = self.copier.read_all(loop.inits)
        label, again = self.copier.label(loop.label), self.copier.label(loop.again)
        params = self.copier.params(loop.params)
        if canonical_parts(loop) is not None:
            self.tests.add(loop.body[-2])
        body = self.items(loop.body, _kinds(loop.params))
        if isinstance(last_block(body).end, Exit) and not _has_exit(body, again):
            self.changed = True
            replace_uses(body, dict(zip(params, inits, strict=True)))
            return self.region(label, body, loop.results, out)
        out += [Loop(label, again, params, inits, body, self.copier.params(loop.results)), Block()]
        return None if _has_exit(body, label) else _NOWHERE

    # --- replacing

    def inline(self, items: list[Item], results: Sequence[Param], out: list[Item]) -> End | None:
        """The list in the place of its node: its end, unless it falls off and gives the results."""
        self.changed = True
        end = splice(out, items)
        if isinstance(end, Exit):
            return end
        for result, value in zip(results, end.values, strict=True):
            self.replace(result, value)
        return None

    def replace(self, result: Param, value: Value) -> None:
        self.changed = True
        self.copier.values[result] = value


def _kinds(params: Sequence[Param]) -> list[Kind]:
    return [param.kind for param in params]


def _has_exit(items: list[Item], label: Label) -> bool:
    return next(exits(items, label), None) is not None


def _is_unreached(items: Sequence[Item]) -> bool:
    """What this pass leaves behind a node that control does not fall out of: an empty block that yields nothing."""
    block, *others = items
    if others or not isinstance(block, Block) or block.ops or not isinstance(block.end, Yield):
        return False
    return all(isinstance(value, Const) and value.value is None for value in block.end.values)
