"""Which values and nodes of a function become part of the graph: what results, faults, stores and loops read.

A dead operation that may raise stays, because Python raises there too. A loop always stays: it may not end.
"""

from __future__ import annotations

from pyflat.ir.loops import Counted, LoopParts, recognise_counted, take_apart, uses
from pyflat.ir.nodes import Block, Const, Exit, Function, If, Item, Loop, Op, Param, Value, Yield, walk
from pyflat.ir.ops import OPERATIONS
from pyflat.ir.types import VOID

WIDTH_RULES = frozenset({"", "add", "sub", "mul", "int_min"})
"""Fault rules that are about 64 bits only: there Python computes on, and so does the simulator."""


class Needed:
    """`node in needed`, `value in needed`: for the nodes and values that must be lowered."""

    def __init__(self, fn: Function):
        loops = [item for item in walk(fn.body) if isinstance(item, Loop)]
        self.loops: dict[Loop, LoopParts] = {loop: take_apart(loop) for loop in loops}
        self.streams: dict[Loop, Counted | None] = {loop: _stream(loop, parts) for loop, parts in self.loops.items()}
        self.values: set[Value] = set()
        self.nodes: set[If | Loop] = set()
        self._reads: dict[Value, list[Value]] = {}
        self._owner: dict[Value, If] = {}
        self._todo: list[Value] = []
        self._link(fn.body)
        self._find_roots(fn.body)
        self._todo += list_end(fn.body).values
        self._spread()

    def __contains__(self, item: Value | If | Loop) -> bool:
        return item in (self.values if isinstance(item, Value) else self.nodes)

    def _link(self, items: list[Item]) -> None:
        """What each value is made from."""
        for item in walk(items):
            match item:
                case Block():
                    self._reads.update((op, list(op.args)) for op in item.ops)
                case If():
                    ends = list_end(item.then), list_end(item.orelse)
                    for index, result in enumerate(item.results):
                        self._reads[result] = [end.values[index] for end in ends if not isinstance(end, Exit)]
                        self._owner[result] = item
                case Loop():
                    self._link_loop(item)

    def _link_loop(self, loop: Loop) -> None:
        parts, counted = self.loops[loop], self.streams[loop]
        for param, init, next in zip(loop.params, loop.inits, parts.next, strict=True):
            self._reads[param] = [init, next]
        if counted is not None:
            self._reads[counted.iv] = [counted.lower, counted.upper]
        for result, value in zip(loop.results, parts.leave, strict=True):
            self._reads[result] = [value]

    def _find_roots(self, items: list[Item]) -> bool:
        """Whether the list does something that must happen; what such things read is needed."""
        acts = False
        for item in items:
            match item:
                case Block():
                    for op in item.ops:
                        if must_happen(op):
                            acts = True
                            self._todo.append(op)
                case If():
                    both = [self._find_roots(item.then), self._find_roots(item.orelse)]
                    if any(both):
                        acts = True
                        self._need_if(item)
                case Loop():
                    acts = True
                    self.nodes.add(item)
                    self._find_roots(item.body)
                    self._need_loop(item)
        return acts

    def _need_loop(self, loop: Loop) -> None:
        counted = self.streams[loop]
        self._todo += [self.loops[loop].go] if counted is None else [counted.lower, counted.upper]

    def _need_if(self, node: If) -> None:
        if node not in self.nodes:
            self.nodes.add(node)
            self._todo.append(node.cond)

    def _spread(self) -> None:
        while self._todo:
            value = self._todo.pop()
            if isinstance(value, Const) or value in self.values:
                continue
            self.values.add(value)
            self._todo += self._reads.get(value, [])
            if isinstance(value, Param) and value in self._owner:
                self._need_if(self._owner[value])


def _stream(loop: Loop, parts: LoopParts) -> Counted | None:
    """How a loop counts whose indices come from a stream and not from the arithmetic of its body: nothing in its header
    may raise. What else the header computes is computed where it is read: in the body, and once after the loop."""
    counted, ops = recognise_counted(loop), parts.last_header_block.ops
    if counted is None or not isinstance(parts.go, Op) or parts.go not in ops or parts.go.args[0] is not counted.iv:
        return None
    return None if any(map(must_happen, ops)) else counted


def header_reads(parts: LoopParts, items: list[Item], values: list[Value]) -> list[Op]:
    """The operations of a stream loop's header, without its condition, that `items` and `values` read."""
    read = {*values, *uses(items)}
    found: list[Op] = []
    for op in reversed(parts.last_header_block.ops):
        if op in read and op is not parts.go:
            found.insert(0, op)
            read.update(op.args)
    return found


def list_end(items: list[Item]) -> Yield | Exit:
    """How a list is left."""
    last = items[-1]
    assert isinstance(last, Block) and isinstance(last.end, Yield | Exit)
    return last.end


def must_happen(op: Op) -> bool:
    """Python may raise here, or memory is read or changed."""
    if op.kind is VOID:
        return True
    row = OPERATIONS.get(op.opcode)
    return row is None or row.faults not in WIDTH_RULES
