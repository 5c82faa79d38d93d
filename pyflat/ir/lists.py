"""Control-flow lists as values: how control leaves them, what they define and use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableSequence, Sequence

from pyflat.ir.nodes import Block, Const, Function, If, Item, Loop, Value, walk


def same_value(a: Value, b: Value) -> bool:
    """One value, or literals with the same bits."""
    return a is b or (isinstance(a, Const) and isinstance(b, Const) and a.key == b.key)


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
