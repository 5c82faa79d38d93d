"""Which operations of a flat function are needed, and where each value is used last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyflat.ir.nodes import Op, Value


def live_ops(ops: Sequence[Op], roots: Iterable[Value]) -> list[Op]:
    """The operations that `roots` depend on, in order."""
    needed: set[Value] = set(roots)
    kept = []
    for op in reversed(ops):
        if op in needed:
            kept.append(op)
            needed.update(op.args)
    kept.reverse()
    return kept


def last_uses(ops: Sequence[Op], roots: Iterable[Value]) -> list[list[Op]]:
    """For each of the live operations `ops` the operands that are not used after it; `roots` are used after all."""
    seen: set[Value] = set(roots)
    dying: list[list[Op]] = []
    for op in reversed(ops):
        ending = []
        for arg in op.args:
            if isinstance(arg, Op) and arg not in seen:
                seen.add(arg)
                ending.append(arg)
        dying.append(ending)
    dying.reverse()
    return dying
