"""In which lanes a value of a flat function is needed: the conditions under which some result depends on it.

Both arms of a select are computed, and one is dropped. Read lazily, as Python would, a select needs its condition, and
then one arm; `and` and `or` need their first operand, and the second one where the first does not settle it. So

    d = x < t                 needed under p, and only there
    y = select(d, a, b)       needed under p
    r = select(p, y, 0.0)     needed

`ExecutionMasks.of(value)` is a disjunction of conjunctions of (bool value, whether it is true): `[frozenset()]` is
always, `[]` never. It may say more than is true, never less.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyflat.ir.nodes import Const, Function, Op, Value
from pyflat.ir.types import BOOL
from pyflat.ir.uses import results_of

Condition = tuple[Value, bool]
Conjunction = frozenset[Condition]
ALWAYS: list[Conjunction] = [frozenset()]
MAX_DISJUNCTS = 3
MAX_CONDITIONS = 6


class ExecutionMasks:
    """Where every value of `fn` is needed; computed once, from the end to the start."""

    def __init__(self, fn: Function):
        self._needs: dict[Value, list[Conjunction]] = {}
        for root in results_of(fn):
            self._need(root, ALWAYS)
        for op in reversed(fn.flat_block.ops):
            self._op(op)

    def of(self, value: Value) -> list[Conjunction]:
        return self._needs.get(value, [])

    def _op(self, op: Op) -> None:
        if op.opcode == "fault":
            self._need(op.args[0], ALWAYS)
            return
        needed = self.of(op)
        if not needed:
            return
        if op.opcode == "select":
            cond, then, orelse = op.args
            self._need(cond, needed)
            self._need(then, _under(needed, (cond, True)))
            self._need(orelse, _under(needed, (cond, False)))
        elif op.opcode in ("and", "or") and op.kind is BOOL:
            first, second = op.args
            self._need(first, needed)
            self._need(second, _under(needed, (first, op.opcode == "and")))
        else:
            for arg in op.args:
                self._need(arg, needed)

    def _need(self, value: Value, conjunctions: Sequence[Conjunction]) -> None:
        if isinstance(value, Const):
            return
        known = self._needs.get(value, [])
        for each in conjunctions:
            known = _with(known, each)
        if len(known) > MAX_DISJUNCTS:
            known = [frozenset.intersection(*known)]
        self._needs[value] = known


def _with(known: list[Conjunction], each: Conjunction) -> list[Conjunction]:
    """One more conjunction. One that differs from another in the sign of one condition makes one of the two."""
    for other in known:
        only, instead = other - each, each - other
        if len(only) == 1 == len(instead) and next(iter(only))[0] is next(iter(instead))[0]:
            return _with([rest for rest in known if rest is not other], each & other)
    if any(other <= each for other in known):
        return known
    return [other for other in known if not each <= other] + [each]


def _under(needed: Sequence[Conjunction], condition: Condition) -> list[Conjunction]:
    """`needed` and one more condition; none where it contradicts, the same where there are enough."""
    cond, outcome = condition
    while isinstance(cond, Op) and cond.opcode == "not":
        cond, outcome = cond.args[0], not outcome
    if isinstance(cond, Const):
        return list(needed) if bool(cond.value) is outcome else []
    return [each | {(cond, outcome)} if len(each) < MAX_CONDITIONS else each
            for each in needed if (cond, not outcome) not in each]

