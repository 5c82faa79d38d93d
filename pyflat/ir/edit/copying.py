"""Copies of pieces of a function: fresh values and labels inside, the same ones outside.

A Copier remembers what stands for each value and label of the original. Seed it with `values` to substitute while
copying: `Copier({param: const(0)})` copies the body of a loop as its first iteration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyflat.ir.formats import FloatFormat
from pyflat.ir.nodes import Block, End, Exit, Function, If, Item, Label, Loop, Node, Op, Param, Region, Value, Yield


class Copier:
    """Copies operations, ends, nodes and lists; `values` and `labels` say what stands for what."""

    def __init__(self, values: Mapping[Value, Value] | None = None, labels: Mapping[Label, Label] | None = None):
        self.values: dict[Value, Value] = dict(values or {})
        self.labels: dict[Label, Label] = dict(labels or {})

    def read(self, value: Value) -> Value:
        return self.values.get(value, value)

    def read_all(self, values: Sequence[Value]) -> list[Value]:
        return [self.read(value) for value in values]

    def op(self, op: Op) -> Op:
        copy = Op(op.opcode, self.read_all(op.args), op.kind, name=op.name, attrs=op.attrs, origin=op.origin)
        copy.statement = op.statement
        self.values[op] = copy
        return copy

    def standing_for(self, op: Op) -> Sequence[Op]:
        """The operations in the place of one; `values` says which has its value."""
        return [self.op(op)]

    def end(self, end: End) -> End:
        values = self.read_all(end.values)
        if isinstance(end, Exit):
            return Exit(self.labels.get(end.label, end.label), values, end.fault)
        return Yield(values)

    def params(self, params: Sequence[Param]) -> list[Param]:
        """Fresh parameters or results."""
        fresh = [Param(p.kind, p.name) for p in params]
        self.values.update(zip(params, fresh, strict=True))
        return fresh

    def label(self, label: Label) -> Label:
        fresh = self.labels[label] = Label(label.name)
        return fresh

    def block(self, block: Block) -> Block:
        ops = [made for op in block.ops for made in self.standing_for(op)]
        return Block(ops, self.end(block.end) if block.end is not None else None)

    def items(self, items: Sequence[Item]) -> list[Item]:
        return [self.block(item) if isinstance(item, Block) else self.node(item) for item in items]

    def node(self, node: Node) -> Node:
        match node:
            case If():
                cond = self.read(node.cond)
                then, orelse = self.items(node.then), self.items(node.orelse)
                return If(cond, then, orelse, self.params(node.results), node.origin, node.hint)
            case Region():
                label = self.label(node.label)
                body = self.items(node.body)
                return Region(label, body, self.params(node.results))
            case Loop():
                return self.loop(node)

    def loop(self, loop: Loop) -> Loop:
        inits = self.read_all(loop.inits)
        label, again = self.label(loop.label), self.label(loop.again)
        params = self.params(loop.params)
        body = self.items(loop.body)
        counted = params[loop.params.index(loop.counted)] if loop.counted is not None else None
        return Loop(label, again, params, inits, body, self.params(loop.results), counted, loop.hint)

    def function(self, fn: Function, floats: FloatFormat | None = None) -> Function:
        params, label = self.params(fn.params), self.label(fn.label)
        return Function(fn.name, params, self.items(fn.body), label, fn.result_kinds, fn.form, floats or fn.floats)


def copy_function(fn: Function) -> Function:
    """A function that shares nothing with `fn` that editing could change."""
    return Copier().function(fn)
