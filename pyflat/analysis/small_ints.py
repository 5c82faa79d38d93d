"""Ints that cannot come near 64 bits: lengths of arrays, counters, and sums of these with literals.

A counter is what loops carry and only steps change, by less than `FACTOR` each: `n += 1` under an `if`, `n = 0`,
`at = i`. It would take 2**55 iterations, and years, to bring one to its end. Which are counters is the greatest answer:
all that is carried is one at first, and no longer where it turns out to grow otherwise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from pyflat.ir.loops import all_ops, recognise_counted
from pyflat.ir.nodes import Block, Const, Exit, Function, If, Item, Label, Loop, Op, Value, Yield, walk
from pyflat.ir.types import BOOL, INT

LITERAL = 2**31
FACTOR = 2**8


def small_ints(fn: Function, lengths: Iterable[Value]) -> set[Value]:
    """The ints of a structured function that are small where `lengths` are; also what a loop over a range that starts
    anywhere steps to by one, which is at most its bound."""
    small = set(lengths)
    ways, before = dict(_ways(fn)), -1
    while len(small) > before:
        before = len(small)
        for op in all_ops(fn.body):
            if op.kind is INT and _is_small(op, small):
                small.add(op)
        small |= _counters(ways, small)
    counts = [recognise_counted(item) for item in walk(fn.body) if isinstance(item, Loop)]
    ends = {counted.iv for counted in counts if counted is not None and abs(counted.step) == 1}
    return small | {value for param in ends for value in ways[param] if isinstance(value, Op) and param in value.args}


def _fits(value: Value, limit: int, small: set[Value]) -> bool:
    return value in small or isinstance(value, Const) and abs(int(value.value or 0)) < limit


def _is_small(op: Op, small: set[Value]) -> bool:
    match op.opcode:
        case "index":
            return True
        case "add" | "sub":
            return all(_fits(arg, LITERAL, small) for arg in op.args)
        case "mul":
            return all(_fits(arg, FACTOR, small) for arg in op.args) and any(isinstance(arg, Const) for arg in op.args)
        case "select":
            return all(_fits(arg, LITERAL, small) for arg in op.args[1:])
        case "floordiv" | "mod":
            by = op.args[1]
            return _fits(op.args[0], LITERAL, small) and isinstance(by, Const) and 0 < int(by.value or 0) < LITERAL
        case "to_int":
            return op.args[0].kind is BOOL
    return False


# --- counters
def _ways(fn: Function) -> Iterator[tuple[Value, list[Value]]]:
    """The ints that nodes carry or yield, and the values that each may be."""
    exits: defaultdict[Label, list[list[Value]]] = defaultdict(list)
    for item in walk(fn.body):
        if isinstance(item, Block) and isinstance(item.end, Exit):
            exits[item.end.label].append(item.end.values)
    for item in walk(fn.body):
        if isinstance(item, Block):
            continue
        if isinstance(item, If):
            yield from _ints(item.results, [*_yielded(item.then), *_yielded(item.orelse)])
        elif isinstance(item, Loop):
            yield from _ints(item.params, [item.inits, *_yielded(item.body), *exits[item.again]])
            yield from _ints(item.results, exits[item.label])
        else:
            yield from _ints(item.results, [*_yielded(item.body), *exits[item.label]])


def _yielded(items: list[Item]) -> list[list[Value]]:
    last = items[-1]
    return [last.end.values] if isinstance(last, Block) and isinstance(last.end, Yield) else []


def _ints(values: Iterable[Value], ways: list[list[Value]]) -> Iterator[tuple[Value, list[Value]]]:
    for k, value in enumerate(values):
        if value.kind is INT:
            yield value, [way[k] for way in ways]


def _counters(ways: dict[Value, list[Value]], small: set[Value]) -> set[Value]:
    found = ways.keys() - small
    while True:
        others = {value for value in found if not all(_is_stepped(way, found, small) for way in ways[value])}
        if not others:
            return found
        found -= others


def _is_stepped(value: Value, counters: set[Value], small: set[Value]) -> bool:
    """Whether a value is a counter, some steps on."""
    steps = [value]
    while steps:
        each = steps.pop()
        if each in counters or _fits(each, LITERAL, small):
            continue
        if not isinstance(each, Op) or each.opcode not in ("add", "sub", "select"):
            return False
        operands = each.args[1:] if each.opcode == "select" else list(each.args)
        if each.opcode != "select" and not any(map(_is_step, operands[each.opcode == "sub":])):
            return False
        steps += [arg for arg in operands if each.opcode == "select" or not _is_step(arg)]
    return True


def _is_step(value: Value) -> bool:
    if isinstance(value, Op) and value.opcode == "to_int":
        return value.args[0].kind is BOOL
    return isinstance(value, Const) and abs(int(value.value or 0)) < FACTOR
