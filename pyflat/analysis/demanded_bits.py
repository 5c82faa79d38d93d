"""Integers of which only low bits are used: hashes and linear congruential generators.

    h = (h * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFF

The sum and the product leave int64, but modulo 2**64 they have the low bits of Python's integers, and no other bit is
read. So they cannot fault. The operations through which low bits come only from low bits are + - * << (of the left
operand), negation, and the bitwise ones; a mask, a remainder of a power of two, or `low64` ends the chain.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Block, Const, Function, If, Item, Loop, Op, Value, Yield, power_of_two
from pyflat.ir.ops import LOW_BITS, OPERATIONS
from pyflat.ir.types import INT

_ENDS = frozenset({"and", "mod", "low64"})
"""What may read low bits only, and so begins a chain."""


def wrapping(fn: Function) -> set[Op]:
    """The operations that may leave int64 unobserved."""
    if not any(op.opcode in _ENDS and op.kind is INT for op in all_ops(fn.body)):
        return set()
    uses = _Uses(fn.body)
    found: set[Value] = set()
    for value in reversed(uses.order):
        if value.kind is not INT or value in uses.exact:
            continue
        if isinstance(value, Op) and value.opcode not in LOW_BITS | {"shl"}:
            continue
        readers = uses.readers.get(value, ())
        if readers and all(_reads_low_bits(reader, value, found) for reader in readers):
            found.add(value)
    return {op for op in found if isinstance(op, Op) and OPERATIONS[op.opcode].faults and _count_is_known(op)}


def _reads_low_bits(reader: Value, value: Value, found: set[Value]) -> bool:
    if not isinstance(reader, Op):
        return reader in found
    match reader.opcode:
        case "and" if _mask(reader.args[0]) or _mask(reader.args[1]):
            return True
        case "low64":
            return True
        case "mod":
            return reader.args[0] is value and reader.args[1] is not value and power_of_two(reader.args[1]) > 0
        case "shl":
            return reader in found and reader.args[1] is not value and _count_is_known(reader)
    return reader in found


def _mask(value: Value) -> bool:
    return isinstance(value, Const) and value.kind is INT and value.value is not None and value.value >= 0


def _count_is_known(op: Op) -> bool:
    return op.opcode != "shl" or isinstance(op.args[1], Const) and op.args[1].value in range(64)


class _Uses:
    """`order`: operations and results of ifs, in program order; `readers` of each: operations, and the results of an if
    that an arm gives it to; `exact`: what loops, exits and conditions read, which is not followed."""

    def __init__(self, items: Sequence[Item]):
        self.order: list[Value] = []
        self.readers: dict[Value, list[Value]] = {}
        self.exact: set[Value] = set()
        self._list(items)

    def _list(self, items: Sequence[Item], results: Sequence[Value] | None = None) -> None:
        """`results` are those of the if of which this is an arm."""
        for item in items:
            match item:
                case Block():
                    self._block(item, results if item is items[-1] else None)
                case If():
                    self.exact.add(item.cond)
                    self._list(item.then, item.results)
                    self._list(item.orelse, item.results)
                    self.order += item.results
                case Loop():
                    self.exact.update(item.inits)
                    self._list(item.body)

    def _block(self, block: Block, results: Sequence[Value] | None) -> None:
        for op in block.ops:
            self.order.append(op)
            for arg in op.args:
                self.readers.setdefault(arg, []).append(op)
        if results is not None and isinstance(block.end, Yield):
            for value, result in zip(block.end.values, results, strict=True):
                self.readers.setdefault(value, []).append(result)
        elif block.end is not None:
            self.exact.update(block.end.values)
