"""Where the branches and loops of a structured function stand in the source, for reports."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from dataclasses import dataclass

from pyflat.errors import Span
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Block, Exit, Function, If, Item, Loop, Node, Op, Param, Region, Value, child_lists, walk


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of source, as a person would name it."""

    file: str
    line: int
    text: str


def source_line(span: Span | None) -> SourceLine | None:
    if span is None:
        return None
    return SourceLine(span.file, span.line, linecache.getline(span.file, span.line).strip())


def float_powers(fn: Function) -> list[SourceLine]:
    """Where a power of ints is a float in every lane, since its exponent may be negative in some."""
    by_place: dict[Span | None, set[str]] = {}
    for op in all_ops(fn.body):
        if op.opcode in ("pow", "ipow"):
            by_place.setdefault(op.span, set()).add(op.opcode)
    places = (source_line(span) for span, found in by_place.items() if len(found) == 2)
    return [place for place in places if place is not None]


@dataclass(frozen=True, slots=True)
class Branch:
    """An If of the source; `expression` is its condition where that is one operation on one line."""

    node: If
    place: SourceLine | None
    expression: str


@dataclass(frozen=True, slots=True)
class SourceLoop:
    """A loop that stayed a loop; `depth` counts the loops around it."""

    node: Loop
    place: SourceLine | None
    depth: int


class SourceMap:
    """The branches and loops of a structured function, in the order of the program."""

    def __init__(self, fn: Function):
        self._made: dict[Value, Node] = {}
        for item in walk(fn.body):
            if not isinstance(item, Block):
                self._made.update(dict.fromkeys(item.results, item))
        self.branches = [self._branch(item) for item in walk(fn.body) if isinstance(item, If) and not _added(item)]
        self.loops = list(self._loops(fn.body, 0))

    def _branch(self, node: If) -> Branch:
        span = self._tested(node)
        if node.origin is not None:
            return Branch(node, source_line(span), _expression(span))
        if isinstance(node.cond, Param) and node.cond not in self._made:  # a parameter of the function
            return Branch(node, source_line(span), node.cond.name)
        return Branch(node, source_line(span), _expression(span) if isinstance(node.cond, Op) else "")

    def _tested(self, node: If) -> Span | None:
        """Where the test of a branch was written."""
        if node.origin is not None and node.origin.span is not None:
            return node.origin.span
        return (None if _added(node) else self.span(node.cond)) or _first_span([*node.then, *node.orelse])

    def span(self, value: Value) -> Span | None:
        """Where a condition was written; a result of `and` or `or` stands where its first operand does."""
        if isinstance(value, Op):
            if value.origin is not None and value.origin.span is not None:
                return value.origin.span
            return next((span for arg in value.args if (span := self.span(arg)) is not None), None)
        node = self._made.get(value)
        return self._tested(node) if isinstance(node, If) else None

    def _loops(self, items: list[Item], depth: int) -> Iterator[SourceLoop]:
        for item in items:
            if isinstance(item, Block):
                continue
            if isinstance(item, Loop):
                yield SourceLoop(item, self._loop_line(item), depth)
            for inner in child_lists(item):
                yield from self._loops(inner, depth + isinstance(item, Loop))

    def _loop_line(self, loop: Loop) -> SourceLine | None:
        """A loop stands where its test does: the first branch that leaves it, otherwise its first operation."""
        for item in loop.body:
            if isinstance(item, If) and not _added(item) and (span := self._tested(item)) is not None:
                return source_line(span)
            if isinstance(item, Region):
                break
        return source_line(_first_span(loop.body))


def _added(node: If) -> bool:
    """A branch that tells the cases of a value apart, where the source tests nothing."""
    return node.origin is not None and node.origin.span is None


def _first_span(items: list[Item]) -> Span | None:
    """Where the first operation of a list was written."""
    spans = (op.origin.span for item in walk(items) if isinstance(item, Block)
             for op in item.ops if op.origin is not None)
    return next((span for span in spans if span is not None), None)


def _expression(span: Span | None) -> str:
    if span is None or span.line != span.end_line:
        return ""
    line = linecache.getline(span.file, span.line)
    return line[span.column:span.end_column]


def test_of(loop: Loop) -> If | None:
    """The loop's own test: the first branch that may leave it, where one of its arms does nothing else."""
    for item in loop.body:
        if isinstance(item, If) and any(_only_leaves(arm, loop) for arm in (item.then, item.orelse)):
            return item
        inside = [] if isinstance(item, Block) else [each for part in child_lists(item) for each in walk(part)]
        if any(isinstance(each, Block) and isinstance(each.end, Exit) for each in inside):
            return None
    return None


def _only_leaves(arm: list[Item], loop: Loop) -> bool:
    first = arm[0]
    return (len(arm) == 1 and isinstance(first, Block) and isinstance(first.end, Exit)
            and first.end.label is loop.label)
