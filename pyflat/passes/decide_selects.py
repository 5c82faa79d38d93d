"""A select is one of its arms where everything that reads it is needed under its condition only.

Before:                                   After:
    %a = add %n, 1.0 : f8                     %a = add %n, 1.0 : f8
    %b = select %p, %a, %x : f8               %c = mul %a, %n : f8
    %c = mul %b, %n : f8                      %r = select %p, %c, %x : f8
    %r = select %p, %c, %x : f8               yield %r
    yield %r

A loop with `if p: acc = f(acc)`, unrolled, is such a chain of selects, and one of them is enough. In the same lanes a
condition `and p, q` is q. Where f is a choice itself, the chain has become `select (and p, q), x, y` with such a y
(`passes.rules.logic`): that is taken apart again, so that y has a condition less.

Exact: no lane that takes the other arm reads what has changed. An opaque call that sees other lanes, or has an effect,
reads its operands in every lane: a function with one is left alone.
"""

from __future__ import annotations

from collections import defaultdict

from pyflat.analysis.execution_masks import ExecutionMasks
from pyflat.ir.nodes import Function, Op, Value
from pyflat.ir.opaque_calls import has_effect, is_barrier, is_guarded
from pyflat.passes.record import STRAIGHT, Pass
from pyflat.passes.rules.rewrite import Sweep


def decide_selects(fn: Function) -> Function:
    """One sweep over a flat function; `fn` itself when no select and no condition gets simpler."""
    ops = fn.flat_block.ops
    if any(op.opcode == "call" and (has_effect(op) or is_barrier(op) or is_guarded(op)) for op in ops):
        return fn
    run = _Deciding(fn)
    return run.sweep.over(fn, lambda op: run.simpler(op) if op.opcode == "select" else None)


class _Deciding:
    def __init__(self, fn: Function):
        self.masks = ExecutionMasks(fn)
        self.sweep = Sweep(fn)
        self.readers: dict[Value, list[Op]] = defaultdict(list)
        for op in fn.flat_block.ops:
            for arg in op.args:
                self.readers[arg].append(op)

    def simpler(self, select: Op) -> Value | None:
        cond, then, orelse = select.args
        for outcome, arm in ((True, then), (False, orelse)):
            if self.only_under(select, cond, outcome):
                return self.sweep.read(arm)
        for known, rest in _parts(cond):
            if self.only_under(select, known, True):
                return self.select(select, rest, then, orelse)
            below = _below(orelse, known)
            if below is not orelse and self.sweep.uses[cond] == 1 and self.is_link(orelse, select, known):
                return self.select(select, known, self.select(select, rest, then, orelse), below)
        return None

    def select(self, like: Op, *args: Value) -> Op:
        return self.sweep.emit("select", *map(self.sweep.read, args), origin=like.origin)

    def only_under(self, value: Value, cond: Value, outcome: bool) -> bool:
        """Where `cond` has not this outcome, no result depends on `value`."""
        needed = self.masks.of(value)
        return bool(needed) and all(any(_says(known, held, cond, outcome) for known, held in conditions)
                                    for conditions in needed)

    def is_link(self, value: Value, root: Op, cond: Value) -> bool:
        """What else reads `value` than `root` does so under `cond` only."""
        readers = [op for op in self.readers[value] if op is not root]
        return self.sweep.uses[value] == len(readers) + 1 and all(self.only_under(op, cond, True) for op in readers)


def _says(known: Value, held: bool, cond: Value, outcome: bool) -> bool:
    """Where `known` is `held`, `cond` has this outcome."""
    return held is outcome and (known is cond or held and any(part is cond for part, _ in _parts(known)))


def _parts(cond: Value) -> tuple[tuple[Value, Value], ...]:
    """Each operand of an `and`, with the other one."""
    if not isinstance(cond, Op) or cond.opcode != "and":
        return ()
    first, second = cond.args
    return (first, second), (second, first)


def _below(value: Value, cond: Value) -> Value:
    """What a chain of selects is where `cond` does not hold."""
    while isinstance(value, Op) and value.opcode == "select":
        test = value.args[0]
        if test is not cond and cond not in [known for known, _ in _parts(test)]:
            break
        value = value.args[2]
    return value


PASS = Pass(decide_selects, needs_gone=STRAIGHT)
