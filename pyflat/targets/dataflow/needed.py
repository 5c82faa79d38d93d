"""Which values and nodes of a function become part of the graph: what results, faults, stores and loops read.

A dead operation that may raise stays, because Python raises there too. A loop always stays: it may not end.
"""

from __future__ import annotations

from pyflat.ir.nodes import Block, Const, Exit, Function, If, Item, Loop, Param, Value, walk
from pyflat.targets.dataflow.canonical import Canonical, list_end, must_happen, read_counted, read_loop


class Needed:
    """`node in needed`, `value in needed`: for the nodes and values that must be lowered."""

    def __init__(self, fn: Function):
        self.loops: dict[Loop, Canonical] = {item: read_loop(item) for item in walk(fn.body) if isinstance(item, Loop)}
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
                    self._link_loop(self.loops[item])

    def _link_loop(self, parts: Canonical) -> None:
        counted = read_counted(parts)
        for param, init, next in zip(parts.loop.params, parts.loop.inits, parts.feedback, strict=True):
            self._reads[param] = [init, next]
        if counted is not None:
            self._reads[counted.counter] = [counted.start, counted.stop]
        for result, value in zip(parts.loop.results, parts.exit.values, strict=True):
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
        parts = self.loops[loop]
        counted = read_counted(parts)
        self._todo += [parts.go] if counted is None else [counted.start, counted.stop]

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
