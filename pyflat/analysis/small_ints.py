"""Ints that cannot come near 64 bits: lengths of arrays, counters, and sums of these with literals."""

from __future__ import annotations

from collections.abc import Iterable

from pyflat.ir.loops import all_ops, recognise_counted
from pyflat.ir.nodes import Const, Function, Loop, Op, Value, walk
from pyflat.ir.types import INT

LITERAL = 2**31
FACTOR = 2**8


def small_ints(fn: Function, lengths: Iterable[Value]) -> set[Value]:
    """The ints of a structured function that are small where `lengths` are; also what a counter steps to, which its
    bound is an int64 beyond."""
    small = set(lengths)
    for item in walk(fn.body):
        counted = recognise_counted(item) if isinstance(item, Loop) else None
        if counted is not None:
            small.add(counted.iv)
    for op in all_ops(fn.body):
        if op.kind is INT and _is_small(op, small):
            small.add(op)
    return small


def _is_small(op: Op, small: set[Value]) -> bool:
    def fits(value: Value, limit: int) -> bool:
        return value in small or isinstance(value, Const) and abs(int(value.value or 0)) < limit

    match op.opcode:
        case "index":
            return True
        case "add" | "sub":
            return all(fits(arg, LITERAL) for arg in op.args)
        case "mul":
            return all(fits(arg, FACTOR) for arg in op.args) and any(isinstance(arg, Const) for arg in op.args)
        case "select":
            return all(fits(arg, LITERAL) for arg in op.args[1:])
    return False
