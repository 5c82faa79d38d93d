"""Whether a number that a kernel returns is NumPy's, where that depends on the run.

`s = 0.0`, then `s += a[i]` in a loop: a float of Python's after no iteration, a NumPy scalar after one. Where such a
number is returned, a bool goes with it through the nodes that it comes from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyflat.frontend.state.widths import PYTHON, Widths
from pyflat.ir.nodes import (
    FALSE,
    TRUE,
    Block,
    Const,
    End,
    Exit,
    Function,
    If,
    Label,
    Loop,
    Op,
    Param,
    Region,
    Value,
    walk,
)
from pyflat.ir.types import BOOL, FLOAT, INT


def add_flags(fn: Function, widths: Widths, positions: Sequence[int]) -> None:
    """Put the bool behind each result at `positions`, in place of what stands there."""
    if not positions:
        return
    flags = _Flags(fn, widths)
    for end in flags.ends_of(fn.label):
        for position in positions:
            end.values[position + 1] = flags.of(end.values[position])


class _Flags:
    def __init__(self, fn: Function, widths: Widths):
        self.fn, self.widths = fn, widths
        self.known: dict[Value, Value] = {}
        self.blocks: dict[Op, Block] = {}
        self.owners: dict[Param, tuple[If | Region | Loop, bool, int]] = {}
        """The node of a parameter, whether it is one of its results, and which."""
        for item in walk(fn.body):
            if isinstance(item, Block):
                self.blocks.update(dict.fromkeys(item.ops, item))
                continue
            self.owners.update((p, (item, True, k)) for k, p in enumerate(item.results))
            if isinstance(item, Loop):
                self.owners.update((p, (item, False, k)) for k, p in enumerate(item.params))

    def ends_of(self, label: Label) -> list[End]:
        found: list[End] = [item.end for item in walk(self.fn.body)
                            if isinstance(item, Block) and isinstance(item.end, Exit) and item.end.label is label]
        last = self.fn.body[-1]
        if label is self.fn.label:
            found += _yield_of(last)
        return found

    def of(self, value: Value) -> Value:
        if isinstance(value, Const):
            return FALSE
        width = self.widths.of(value)
        if width == PYTHON or not width & {None, "?"}:
            return FALSE if width == PYTHON else TRUE
        if value not in self.known:
            self.known[value] = FALSE
            self.known[value] = self._of_param(value) if isinstance(value, Param) else self._of_op(value)
        return self.known[value]

    def _of_op(self, op: Value) -> Value:
        assert isinstance(op, Op)
        block = self.blocks[op]
        if op.opcode == "select":
            parts = [self.of(arg) for arg in op.args[1:]]
            made = Op("select", (op.args[0], *parts), BOOL)
        else:
            first, *rest = [self.of(arg) for arg in op.args if arg.kind in (INT, FLOAT)] or [FALSE]
            if not rest:
                return first
            made = Op("or", (first, rest[0]), BOOL)
        block.ops.insert(block.ops.index(op) + 1, made)
        self.blocks[made] = block
        return made

    def _of_param(self, param: Param) -> Value:
        owner = self.owners.get(param)
        if owner is None:
            return FALSE
        node, is_result, position = owner
        flag = self.known[param] = Param(BOOL)
        if is_result:
            node.results.append(flag)
            for end in self._ends_to(node):
                end.values.append(self.of(end.values[position]))
            return flag
        assert isinstance(node, Loop)
        node.params.append(flag)
        node.inits.append(self.of(node.inits[position]))
        for end in self._around(node):
            end.values.append(self.of(end.values[position]))
        return flag

    def _ends_to(self, node: If | Region | Loop) -> Iterator[End]:
        match node:
            case If():
                for items in (node.then, node.orelse):
                    yield from _yield_of(items[-1])
            case Region():
                yield from _yield_of(node.body[-1])
                yield from self.ends_of(node.label)
            case Loop():
                yield from self.ends_of(node.label)

    def _around(self, loop: Loop) -> Iterator[End]:
        yield from _yield_of(loop.body[-1])
        yield from self.ends_of(loop.again)


def _yield_of(item: object) -> Iterator[End]:
    if isinstance(item, Block) and item.end is not None and not isinstance(item.end, Exit):
        yield item.end
