"""Unrolling: a loop whose last trip is known becomes its trips.

Before:                              After:
    loop L (i = 0, s = 0):               s1 = s0 + a[0]
        if i < 2: yield                  region next: ... s2
        else: exit L(s)                  exit L(s2)
        ...
        yield i + 1, s + a[i]

The body is copied once for each trip, with what is literal at its start put in: `i + 1` and `i < 2` become literals,
arms not taken are not copied, and nested loops get bounds of their own. That ends when no way leads to a next trip: it
covers counted loops (`ir.loops`), `while` loops that can be simulated, and both with a `break` in lanes. Only exact
operations are computed here, by the operation table, and none that raises: it stays where it is.

A loop stays as it is when a trip was not decided by a literal condition, when it takes more than `limit` trips, or when
its copies have more than MAX_COPIED operations. A trip that some lanes leave by `continue` is a Region, and so is the
whole when lanes leave it early.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyflat.errors import InternalError
from pyflat.ir.edit.copying import Copier
from pyflat.ir.formats import F8, FloatFormat
from pyflat.ir.lists import exits, last_block, same_value, splice
from pyflat.ir.loops import recognise_counted
from pyflat.ir.nodes import (
    Block,
    Const,
    End,
    Exit,
    Function,
    If,
    Item,
    Label,
    Loop,
    Op,
    Param,
    Region,
    Value,
    Yield,
    walk,
)
from pyflat.ir.ops import PRIMITIVES, Accuracy, OutOfLane
from pyflat.ir.semantics import meaning
from pyflat.ir.types import kind_of
from pyflat.passes.record import Pass

MAX_TRIPS = 4096
MAX_COPIED = 500_000


def unroll_loops(fn: Function, limit: int = MAX_TRIPS) -> Function:
    """`fn` with every loop unrolled whose trips are known and at most `limit`; `fn` itself when there is none."""
    run = _Unrolling(limit, fn.floats)
    body = run.items(fn.body)
    if not run.unrolled:
        return fn
    return Function(fn.name, fn.params, body, fn.label, fn.result_kinds, fn.form, fn.floats)


PASS = Pass(unroll_loops)


class _Trips:
    """A loop that is being unrolled: the labels inside of it, and whether the current trip was decided."""

    def __init__(self, loop: Loop):
        self.inner = {loop.again}
        for item in walk(loop.body):
            if isinstance(item, Region):
                self.inner.add(item.label)
            elif isinstance(item, Loop):
                self.inner |= {item.label, item.again}
        self.decided = False


class _Unrolling:
    def __init__(self, limit: int, floats: FloatFormat = F8):
        self.limit = limit
        self.floats = floats
        self.copier = Copier()
        self.open: list[_Trips] = []
        self.copied = 0
        self.unrolled = False

    # --- copying with literals put in

    def items(self, items: Sequence[Item]) -> list[Item]:
        out: list[Item] = [Block()]
        for item in items:
            end = self.block(item, out) if isinstance(item, Block) else self.node(item, out)
            if end is not None:
                last_block(out).end = end
                return out
        raise InternalError("control fell off a list without an end")

    def block(self, block: Block, out: list[Item]) -> End | None:
        into = last_block(out).ops
        for op in block.ops:
            known = self.fold(op) if self.open else None
            if known is not None:
                self.copier.values[op] = known
            else:
                into.append(self.copier.op(op))
                self.copied += 1
        return self.copier.end(block.end) if block.end is not None else None

    def fold(self, op: Op) -> Const | None:
        """The literal that an operation on literals is."""
        args = self.copier.read_all(op.args)
        row = PRIMITIVES.get(op.opcode)
        if row is None or row.accuracy is not Accuracy.EXACT or op.opcode == "fault":
            return None
        literals = [arg.value for arg in args if isinstance(arg, Const) and arg.value is not None]
        if len(literals) < len(args):
            return None
        try:
            value = row.python(*literals, **dict(op.attrs))
            if self.floats is not F8:  # nothing that may be a fault is folded, whatever its value would be
                value = meaning(op.opcode, self.floats)(*literals, **dict(op.attrs))
        except (ArithmeticError, ValueError, IndexError, OutOfLane):
            return None
        return Const(op.kind, value) if kind_of(value) is op.kind else None

    def node(self, node: If | Region | Loop, out: list[Item]) -> End | None:
        match node:
            case If():
                cond = self.copier.read(node.cond)
                if isinstance(cond, Const) and cond.value is not None and self.open:
                    return self.decide(node, bool(cond.value), out)
                then, orelse = self.items(node.then), self.items(node.orelse)
                out += [If(cond, then, orelse, self.copier.params(node.results)), Block()]
            case Region():
                label = self.copier.label(node.label)
                body = self.items(node.body)
                out += [Region(label, body, self.copier.params(node.results)), Block()]
            case Loop():
                return self.loop(node, out)
        return None

    def decide(self, node: If, taken: bool, out: list[Item]) -> End | None:
        """The arm that is taken, in the place of the If."""
        for trips in self.open:
            trips.decided = trips.decided or _leaves(node.then, trips) or _leaves(node.orelse, trips)
        return self.inline(self.items(node.then if taken else node.orelse), node.results, out)

    def inline(self, items: list[Item], results: Sequence[Param], out: list[Item]) -> End | None:
        end = splice(out, items)
        if isinstance(end, Exit):
            return end
        self.copier.values.update(zip(results, end.values, strict=True))
        return None

    # --- loops

    def loop(self, loop: Loop, out: list[Item]) -> End | None:
        label = Label(loop.label.name)
        body = self.unroll(loop, label)
        if body is None:
            out += [self.rolled(loop), Block()]
            return None
        self.unrolled = True
        last = last_block(body)
        if isinstance(last.end, Exit) and last.end.label is label:
            last.end = Yield(last.end.values)
        if next(exits(body, label), None) is None:
            return self.inline(body, loop.results, out)
        out += [Region(label, body, self.copier.params(loop.results)), Block()]
        return None

    def rolled(self, loop: Loop) -> Loop:
        """A copy of the loop: its parameters are not known, what comes from outside of it may be."""
        inits = self.copier.read_all(loop.inits)
        label, again = self.copier.label(loop.label), self.copier.label(loop.again)
        params = self.copier.params(loop.params)
        body = self.items(loop.body)
        return Loop(label, again, params, inits, body, self.copier.params(loop.results))

    def unroll(self, loop: Loop, label: Label) -> list[Item] | None:
        """The trips of a loop, one after the other, that `label` leaves; None where it stays a loop."""
        counted = recognise_counted(loop)
        known = counted.trips if counted else None
        if known is not None and known > self.limit:
            return None
        trips = _Trips(loop)
        self.open.append(trips)
        body = self.trips(loop, label, trips)
        self.open.pop()
        return body

    def trips(self, loop: Loop, label: Label, trips: _Trips) -> list[Item] | None:
        start = self.copied
        values = self.copier.read_all(loop.inits)
        out: list[Item] = [Block()]
        for _ in range(self.limit + 1):
            again = Label(loop.again.name)
            self.copier.labels.update({loop.label: label, loop.again: again})
            self.copier.values.update(zip(loop.params, values, strict=True))
            trips.decided = False
            copy = self.items(loop.body)
            early = list(exits(copy, again))
            falls = isinstance(last_block(copy).end, Yield)
            if not early and not falls:
                last_block(out).end = splice(out, copy)
                return out
            if not trips.decided or self.copied - start > MAX_COPIED:
                return None
            values = self.next_trip(loop, again, copy, early, out)
        return None

    def next_trip(self, loop: Loop, again: Label, copy: list[Item], early: list[Exit], out: list[Item]) -> list[Value]:
        """Append a trip that goes on; gives what the next one starts with."""
        if not early:
            return list(splice(out, copy).values)
        last = last_block(copy).end
        ways: list[End] = [*early, last] if isinstance(last, Yield) else [*early]
        values: list[Value] = []
        results: list[Param] = []
        for param in loop.params:
            at = len(results)
            first = ways[0].values[at]
            if isinstance(first, Const) and all(same_value(first, way.values[at]) for way in ways):
                values.append(first)
                for way in ways:
                    del way.values[at]
                continue
            results.append(Param(param.kind, param.name))
            values.append(results[-1])

        out += [Region(again, copy, results), Block()]
        return values


def _leaves(items: Sequence[Item], trips: _Trips) -> bool:
    """Some way through the list leaves the loop."""
    ends = (item.end for item in walk(list(items)) if isinstance(item, Block))
    return any(isinstance(end, Exit) and end.label not in trips.inner for end in ends)


