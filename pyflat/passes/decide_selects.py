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

In which lanes a value of a flat function is needed, `ExecutionMasks` says: the conditions under which some result
depends on it. Both arms of a select are computed, and one is dropped. Read lazily, as Python would, a select needs its
condition, and then one arm; `and` and `or` need their first operand, and the second one where the first does not settle
it. So

    d = x < t                 needed under p, and only there
    y = select(d, a, b)       needed under p
    r = select(p, y, 0.0)     needed

`ExecutionMasks.of(value)` is a disjunction of conjunctions of (bool value, whether it is true): `[frozenset()]` is
always, `[]` never. It may say more than is true, never less.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from pyflat.ir.nodes import Const, Function, Op, Value
from pyflat.ir.opaque_calls import has_effect, is_barrier, is_guarded
from pyflat.ir.types import BOOL
from pyflat.ir.uses import results_of
from pyflat.passes.record import STRAIGHT, Pass
from pyflat.passes.rules.rewrite import Sweep

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
