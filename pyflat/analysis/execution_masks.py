"""In which lanes a value of a flat or masked function is needed: the conditions under which some result depends on it.

Both arms of a select are computed, and one is dropped. Read lazily, as Python would, a select needs its condition, and
then one arm; `and` and `or` need their first operand, and the second one where the first does not settle it. So

    d = x < t                 needed under p, and only there
    y = select(d, a, b)       needed under p
    r = select(p, y, 0.0)     needed

`ExecutionMasks.of(value)` is a disjunction of conjunctions of (bool value, whether it is true): `[frozenset()]` is
always, `[]` never. It may say more than is true, never less. The order of the operands of an `and` is free, and
chosen so that those in `doubtful` come last. What only the rest of a loop's body reads of its parameters is needed
where there is a next trip: where the flags that its condition is a conjunction of hold.

For which lanes this is enough: let some bools be wrong, and `near` be true wherever one is. If every such bool b comes
with the alarm `near(b) and of(b)`, a lane in which a result is wrong has an alarm. Proof: evaluate the results lazily
with the right values; before the first wrong bool that this comes to, all conditions on the way were right, so that
the wrong values give the same conditions, and `of(b)` holds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from pyflat.ir.lists import uses
from pyflat.ir.loops import LoopParts, all_ops, end_of, take_apart
from pyflat.ir.nodes import FALSE, TRUE, Block, Const, Function, Item, Loop, Op, Param, Value
from pyflat.ir.types import BOOL

Condition = tuple[Value, bool]
Conjunction = frozenset[Condition]
ALWAYS: list[Conjunction] = [frozenset()]
MAX_DISJUNCTS = 3
MAX_CONDITIONS = 6


class ExecutionMasks:
    """Where every value of `fn` is needed; computed once, from the end to the start."""

    def __init__(self, fn: Function, doubtful: Collection[Value]):
        self._doubtful = doubtful
        self._places = {value: place for place, value in enumerate([*fn.params, *all_ops(fn.body)])}
        self._needs: dict[Value, list[Conjunction]] = {}
        self._list(fn.body, end_of(fn.body).values)

    def of(self, value: Value) -> list[Conjunction]:
        return self._needs.get(value, [])

    def condition(self, value: Value, visible: Mapping[Value, Value], emit: Callable[..., Value]) -> Value:
        """The same as a value, made by `emit(opcode, *operands)` of what is `visible`; in the order of the program, as
        sets come in another one in each process."""
        total: Value = FALSE
        for conjunction in self.of(value):
            part: Value = TRUE
            for cond, outcome in sorted(conjunction, key=lambda each: (self._places.get(each[0], -1), each[1])):
                if cond not in visible:
                    continue
                holds = visible[cond] if outcome else emit("not", visible[cond])
                part = holds if part is TRUE else emit("and", part, holds)
            if part is TRUE:
                return TRUE
            total = part if total is FALSE else emit("or", total, part)
        return total

    def _next(self, loop: Loop, parts: LoopParts) -> None:
        """The rest of a loop. What only the rest of the next trip reads is needed where there is one."""
        at_once = {*parts.leave, *uses(parts.header)}
        after = dict(zip(loop.params, parts.next, strict=True))
        flags = [after[value] for value in conjuncts(parts.go) if isinstance(value, Param) and value in after]
        goes_on = ALWAYS
        for flag in flags:
            goes_on = _under(goes_on, (flag, True))
        for param, value in after.items():
            self._need(value, ALWAYS if param in at_once or value in flags else goes_on)
        self._list(parts.rest, ())

    def _list(self, items: Sequence[Item], roots: Sequence[Value]) -> None:
        """`roots` are needed always: what a list gives is used somewhere else."""
        for root in roots:
            self._need(root, ALWAYS)
        for item in reversed(items):
            match item:
                case Block():
                    for op in reversed(item.ops):
                        self._op(op)
                case Loop():
                    parts = take_apart(item)
                    self._next(item, parts)
                    self._list(parts.header, [parts.go, *parts.leave])
                    for init in item.inits:
                        self._need(init, ALWAYS)

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
            first, second = sorted(op.args, key=lambda arg: arg in self._doubtful)
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


def conjuncts(value: Value) -> Iterator[Value]:
    """What has to hold for a conjunction to hold."""
    if isinstance(value, Op) and value.opcode == "and":
        for arg in value.args:
            yield from conjuncts(arg)
    else:
        yield value


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


def depending(fn: Function, decisions: set[Op]) -> set[Value]:
    """Bools that depend on one of `decisions` by boolean algebra alone."""
    found: set[Value] = set(decisions)
    for op in all_ops(fn.body):
        if op.kind is BOOL and any(arg in found for arg in op.args):
            found.add(op)
    return found
