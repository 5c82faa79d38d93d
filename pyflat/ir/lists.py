"""Control-flow lists as values: joining and comparing them, how control leaves them, what they define and use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableSequence, Sequence

from pyflat.ir.build import undefined
from pyflat.ir.nodes import Block, Const, End, Exit, Function, If, Item, Label, Loop, Op, Region, Value, Yield, walk
from pyflat.ir.types import Kind


def last_block(items: Sequence[Item]) -> Block:
    last = items[-1]
    assert isinstance(last, Block)
    return last


def splice(into: list[Item], items: Sequence[Item]) -> End:
    """Append a finished list to one that is being built; gives the end of the former, which is taken off."""
    first, *rest = items
    block = last_block(into)
    assert isinstance(first, Block)
    block.ops += first.ops
    block.end = first.end
    into += rest
    block = last_block(into)
    end, block.end = block.end, None
    assert end is not None
    return end


def exits(items: Sequence[Item], label: Label) -> Iterator[Exit]:
    """The exits to `label`, in the order of the text."""
    for item in walk(list(items)):
        if isinstance(item, Block) and isinstance(item.end, Exit) and item.end.label is label:
            yield item.end


def never_ends(kinds: Sequence[Kind]) -> Yield:
    """The end of a list whose end is not reached."""
    return Yield([undefined(kind) for kind in kinds])


def same_value(a: Value, b: Value) -> bool:
    """One value, or literals with the same bits."""
    return a is b or (isinstance(a, Const) and isinstance(b, Const) and a.key == b.key)


def same_lists(a: Sequence[Item], b: Sequence[Item]) -> bool:
    """Whether two lists do the same: equal operations, nodes and ends, but for the identity of what they define."""
    return _Comparison().lists(a, b)


class _Comparison:
    """What in the second list stands for what in the first."""

    def __init__(self) -> None:
        self.twin: dict[object, object] = {}

    def pair(self, a: Sequence[object], b: Sequence[object]) -> bool:
        self.twin.update(zip(a, b, strict=False))
        return len(a) == len(b)

    def values(self, a: Sequence[Value], b: Sequence[Value]) -> bool:
        return len(a) == len(b) and all(
            self.twin.get(x, x) is y or same_value(x, y) for x, y in zip(a, b, strict=True)
        )

    def lists(self, a: Sequence[Item], b: Sequence[Item]) -> bool:
        return len(a) == len(b) and all(self.items(x, y) for x, y in zip(a, b, strict=True))

    def items(self, a: Item, b: Item) -> bool:
        match a, b:
            case Block(), Block():
                return len(a.ops) == len(b.ops) and all(map(self.ops, a.ops, b.ops)) and self.ends(a.end, b.end)
            case If(), If():
                same = self.values([a.cond], [b.cond]) and self.lists(a.then, b.then) and self.lists(a.orelse, b.orelse)
            case Region(), Region():
                same = self.pair([a.label], [b.label]) and self.lists(a.body, b.body)
            case Loop(), Loop():
                same = self.values(a.inits, b.inits) and self.pair([a.label, a.again], [b.label, b.again])
                same = same and self.pair(a.params, b.params) and self.lists(a.body, b.body)
            case _:
                return False
        return same and self.pair(a.results, b.results)

    def ops(self, a: Op, b: Op) -> bool:
        same = (a.opcode, a.kind, repr(a.attrs)) == (b.opcode, b.kind, repr(b.attrs)) and self.values(a.args, b.args)
        return same and self.pair([a], [b])

    def ends(self, a: End | None, b: End | None) -> bool:
        if a is None or b is None:
            return a is b
        if isinstance(a, Exit) and isinstance(b, Exit):
            named = self.twin.get(a.label, a.label) is b.label and a.fault == b.fault
            return named and self.values(a.values, b.values)
        return type(a) is type(b) and self.values(a.values, b.values)


# --- definitions and uses


def definitions(items: Sequence[Item]) -> Iterator[Value]:
    """Every value that a list defines: operations, parameters of its loops, results of its nodes."""
    for item in walk(list(items)):
        if isinstance(item, Block):
            yield from item.ops
            continue
        if isinstance(item, Loop):
            yield from item.params
        yield from item.results


def uses(items: Sequence[Item]) -> Iterator[Value]:
    """Every operand in a list, as often as it is used, literals included."""
    for item in walk(list(items)):
        match item:
            case Block():
                for op in item.ops:
                    yield from op.args
                if item.end is not None:
                    yield from item.end.values
            case If():
                yield item.cond
            case Loop():
                yield from item.inits


def used_outside(items: Sequence[Item], fn: Function) -> list[Value]:
    """What a detached list defines and `fn` uses."""
    defined = set(definitions(items))
    return [value for value in dict.fromkeys(uses(fn.body)) if value in defined] if defined else []


def replace_uses(items: Sequence[Item], new: Mapping[Value, Value]) -> None:
    """Let every operand in a list that is a key of `new` be its value instead."""
    for item in walk(list(items)):
        match item:
            case Block():
                for op in item.ops:
                    if any(arg in new for arg in op.args):
                        op.args = tuple(new.get(arg, arg) for arg in op.args)
                if item.end is not None:
                    _replace(item.end.values, new)
            case If():
                item.cond = new.get(item.cond, item.cond)
            case Loop():
                _replace(item.inits, new)


def _replace(values: MutableSequence[Value], new: Mapping[Value, Value]) -> None:
    values[:] = [new.get(value, value) for value in values]
