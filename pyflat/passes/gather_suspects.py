"""From fault operations to the two slices that targets run and print.

Before:                           gather_suspects:              drop_faults:
    %a = eq %y, 0.0 : b               %a = eq %y, 0.0 : b           %b = truediv %x, %y : f8
    fault %a ZeroDivisionError()      %b = truediv %x, %y : f8      yield %b
    %b = truediv %x, %y : f8          yield %b, %a
    yield %b

`gather_suspects` makes the *fused* function of the engines: the result leaves and one more, the suspect bit,
true in every lane where some fault condition holds. `drop_faults` leaves the values alone: what the text shows.
"""

from __future__ import annotations

from pyflat.ir.nodes import FALSE, Const, Function, If, Loop, Op, Region, Value
from pyflat.ir.types import BOOL
from pyflat.ir.uses import live_ops, results_of, with_block
from pyflat.passes.record import Pass


def gather_suspects(fn: Function) -> Function:
    """`fn` in flat form without fault operations and with one more bool result, the suspect bit, at the end."""
    suspects = _Union()
    seen: set[Value] = set()
    for op in fn.flat_block.ops:
        if op.opcode != "fault":
            suspects.ops.append(op)
        elif op.args[0] not in seen:
            seen.add(op.args[0])
            suspects.add(op.args[0])
    results = [*results_of(fn), suspects.total()]
    live = live_ops(suspects.ops, results)
    return with_block(fn, [op for op in suspects.ops if op in live], results)


def drop_faults(fn: Function) -> Function:
    """The values slice: `fn` without fault operations and what only they needed; `fn` itself when nothing goes."""
    pure = [op for op in fn.flat_block.ops if op.opcode != "fault"]
    live = live_ops(pure, results_of(fn))
    if len(live) == len(fn.flat_block.ops):
        return fn
    return with_block(fn, [op for op in pure if op in live], results_of(fn))


class _Union:
    """An OR over conditions in the order in which they come, without waiting for the last one.

    Two unions of equally many conditions become one as soon as both exist, as the digits of a binary counter
    carry: a tree of logarithmic depth, in which at most logarithmically many bools are waiting at any place.
    """

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self._waiting: list[tuple[int, Value]] = []

    def add(self, cond: Value) -> None:
        if isinstance(cond, Const) and not cond.value:
            return
        size = 1
        while self._waiting and self._waiting[-1][0] == size:
            cond = self._either(self._waiting.pop()[1], cond)
            size *= 2
        self._waiting.append((size, cond))

    def total(self) -> Value:
        if not self._waiting:
            return FALSE
        total = self._waiting.pop()[1]
        while self._waiting:
            total = self._either(self._waiting.pop()[1], total)
        return total

    def _either(self, a: Value, b: Value) -> Op:
        self.ops.append(Op("or", (a, b), BOOL))
        return self.ops[-1]


PASS = Pass(gather_suspects, needs_gone=frozenset({If, Loop, Region}))
