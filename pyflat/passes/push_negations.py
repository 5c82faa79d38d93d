"""De Morgan: a `not` is pushed down to comparisons that have an opposite, where it disappears.

Before:                              After:
    %p = lt %i, %j : b                   %p = ge %i, %j : b
    %q = eq %x, %y : b                   %q = ne %x, %y : b
    %a = and %p, %q : b                  %r = or %p, %q : b
    %r = not %a : b                      yield %r
    yield %r

Only where nothing else uses what is negated, and where fewer operations are left. Exact: orderings of floats have no
opposite, because of nan; with `finite` (a part of fast math: there is no nan) they have.
"""

from __future__ import annotations

from pyflat.ir.nodes import Function, Op, Value
from pyflat.ir.types import BOOL
from pyflat.passes.record import STRAIGHT, Pass
from pyflat.passes.rules.logic import opposite
from pyflat.passes.rules.rewrite import Sweep, is_literal

_DUAL = {"and": "or", "or": "and"}


def push_negations(fn: Function, *, finite: bool = False) -> Function:
    """One sweep over a flat function; `fn` itself when no `not` goes."""
    pushing = _Pushing(fn, finite)
    for op in fn.flat_block.ops:
        if op.opcode == "not" and pushing.cost(op.args[0]) <= 0:
            pushing.sweep.replace(op, pushing.negated(op.args[0], op))
        else:
            pushing.sweep.keep(op)
    return pushing.sweep.result(fn)


class _Pushing:
    def __init__(self, fn: Function, finite: bool):
        self.sweep = Sweep(fn)
        self.finite = finite

    def cost(self, value: Value) -> int:
        """How many operations more there are when `value` is negated in place."""
        if not isinstance(value, Op):
            return 0 if is_literal(value) else 1
        alone = self.sweep.uses[value] == 1
        if value.opcode == "not":
            return -1 if alone else 0
        if opposite(value, finite=self.finite):
            return 0 if alone else 1
        if value.opcode in _DUAL and value.kind is BOOL and alone:
            return sum(map(self.cost, value.args))
        return 1

    def negated(self, value: Value, root: Op) -> Value:
        sweep = self.sweep
        if isinstance(value, Op):
            if value.opcode == "not":
                return sweep.read(value.args[0])
            if other := opposite(value, finite=self.finite):
                return sweep.emit(other, *map(sweep.read, value.args), origin=value.origin)
            if value.opcode in _DUAL and value.kind is BOOL and sweep.uses[value] == 1:
                parts = [self.negated(arg, root) for arg in value.args]
                return sweep.emit(_DUAL[value.opcode], *parts, origin=value.origin)
        return sweep.emit("not", sweep.read(value), origin=root.origin)


PASS = Pass(push_negations, needs_gone=STRAIGHT)
