"""Canonical loops: one exit, right after the header. What `lower_exits` makes and every way out reads.

    loop @loop again @next (%s = %x) {
      ...header...                           blocks and nodes without exits
      if %go {
        ...rest...                           the same; yields what the next iteration starts with
        yield %s.1
      } else {
        exit @loop %s                        nothing else; the values are visible after the header
      } -> (%s.2)
      yield %s.2                             the results of the If, all of them and in order
    } -> (%result)

`LoopParts` is such a loop taken apart, and `join_parts` puts it together again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyflat.ir.nodes import Block, Exit, If, Item, Loop, Op, Param, Region, Value, Yield, walk


@dataclass(slots=True)
class LoopParts:
    """Header, condition and rest of a canonical loop; `rest` ends with a Yield of what comes `next`."""

    header: list[Item]
    go: Value
    rest: list[Item]
    leave: list[Value]
    """The results of the loop, seen after the header."""

    @property
    def next(self) -> list[Value]:
        """What the next iteration starts with, seen at the end of the rest."""
        return end_of(self.rest).values

    @property
    def last_header_block(self) -> Block:
        last = self.header[-1]
        assert isinstance(last, Block)
        return last


def end_of(items: list[Item]) -> Yield:
    """How control falls off a list that has no other way out."""
    last = items[-1]
    assert isinstance(last, Block)
    assert isinstance(last.end, Yield)
    return last.end


def take_apart(loop: Loop) -> LoopParts:
    """The parts of a canonical loop, its own lists."""
    parts = canonical_parts(loop)
    assert parts is not None
    return parts


def canonical_parts(loop: Loop) -> LoopParts | None:
    """The parts of a loop, None where it is not canonical; nested loops are not looked at."""
    if len(loop.body) < 3:
        return None
    test, last = loop.body[-2:]
    if not isinstance(test, If) or not isinstance(last, Block) or last.ops or not isinstance(last.end, Yield):
        return None
    if list(map(id, last.end.values)) != list(map(id, test.results)):
        return None
    leave, after = test.orelse[0], test.then[-1]
    if len(test.orelse) != 1 or not isinstance(leave, Block) or leave.ops or not isinstance(leave.end, Exit):
        return None
    if leave.end.label is not loop.label or not isinstance(after, Block) or not isinstance(after.end, Yield):
        return None
    return LoopParts(loop.body[:-2], test.cond, test.then, leave.end.values)


def join_parts(loop: Loop, params: Sequence[Param], inits: Sequence[Value], parts: LoopParts,
               results: Sequence[Param]) -> Loop:
    """A canonical loop with the labels of `loop`."""
    carried = [Param(value.kind, param.name) for param, value in zip(params, parts.next, strict=True)]
    test = If(parts.go, parts.rest, [Block([], Exit(loop.label, parts.leave))], carried)
    body = [*parts.header, test, Block([], Yield(carried))]
    return Loop(loop.label, loop.again, params, inits, body, results)


def is_exit_free(items: list[Item]) -> bool:
    """No Region, and no Exit but the one of each loop, which are all canonical."""
    exits = 0
    for item in walk(items):
        if isinstance(item, Region) or (isinstance(item, Loop) and canonical_parts(item) is None):
            return False
        if isinstance(item, Block) and isinstance(item.end, Exit):
            exits += 1
        elif isinstance(item, Loop):
            exits -= 1
    return exits == 0


def has_loop(items: list[Item]) -> bool:
    return any(isinstance(item, Loop) for item in walk(items))


def all_ops(items: list[Item]) -> Iterator[Op]:
    """Every operation, in the order of the text."""
    for item in walk(items):
        if isinstance(item, Block):
            yield from item.ops
