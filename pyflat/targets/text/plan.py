"""Which operations get a statement of their own, and which are folded into the expression that reads them.

Operations are pure, so that order is free: an operation that is read once, in the same loop, is written where it is
read, unless it is a variable of the user's, or the expression would become too deep or too wide. A variable that is
read once, by the select that merges the same variable, is folded as well: `if c: y = x * 2` becomes
`y = select(c, x * 2, y)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from pyflat.ir.nodes import Const, Op, Value
from pyflat.targets.text.expr import Expr, Hole, depth, holes, own_width
from pyflat.targets.text.steps import LET, Step, Steps

MAX_DEPTH = 20
MAX_WIDTH = 200
MAX_OPERAND = 100
MAX_MERGED = 60
"""Nesting of one expression; its characters; those of a folded operand; those of a folded variable."""


@dataclass(eq=False)
class Plan:
    """The steps that are printed, the expression of each operation, and what the final return reads. `variable` gives
    the value whose variable holds a value."""

    final: Expr
    variable: Callable[[Value], Value]
    expressions: dict[Op, Expr] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    folded: set[Value] = field(default_factory=set)

    def reads(self, expr: Expr) -> list[Value]:
        """The variables that a statement reads, through what is folded into it, as the values they hold."""
        found: list[Value] = []
        todo = holes(expr)
        while todo:
            value = self.variable(todo.pop().value)
            if value in self.folded and isinstance(value, Op):
                todo += holes(self.expressions[value])
            elif not isinstance(value, Const):
                found.append(value)
        return found


def plan(steps: Steps, final: Expr, expression: Callable[[Op], Expr]) -> Plan:
    """The plan of the steps of a function; what nothing reads is left out."""
    result = Plan(final, steps.variable)
    uses: dict[Value, int] = {}

    def count(expr: Expr) -> None:
        for hole in holes(expr):
            value = steps.variable(hole.value)
            uses[value] = uses.get(value, 0) + 1

    count(final)
    for op in reversed(list(steps.operations())):
        if uses.get(op) or op in steps.pinned:
            result.expressions[op] = found = expression(op)
            count(found)
    _Folding(result, uses, steps).run()
    result.steps = list(_in_order(result, steps))
    return result


def _in_order(found: Plan, steps: Steps) -> Iterator[Step]:
    """The steps with a statement of their own. Those at the end of a loop, which give its variables their next values,
    come in an order in which none changes what another still reads; where there is none, as in a swap, one value is
    kept under a name of its own."""
    updates: list[Op] = []
    for step in steps.steps:
        if isinstance(step, Op) and step in steps.updates:
            updates.append(step)
            continue
        while updates:
            chosen = next((op for op in updates if not _is_read(found, op, updates)), None)
            if chosen is None:
                yield _kept(found, updates[0])
            else:
                updates.remove(chosen)
                yield chosen
        if not isinstance(step, Op) or (step in found.expressions and step not in found.folded):
            yield step


def _is_read(found: Plan, update: Op, updates: Sequence[Op]) -> bool:
    """One of the others reads the variable that this one changes."""
    own = found.variable(update)
    return any(own in found.reads(found.expressions[other]) for other in updates if other is not update)


def _kept(found: Plan, update: Op) -> Op:
    """A statement with the next value of `update`, which reads that from now on."""
    place = len(update.args) // 2
    value = update.args[place]
    kept = Op(LET, (value,), value.kind)
    found.expressions[kept] = Hole(value)
    for hole in holes(found.expressions[update]):
        if hole.value is value:
            hole.value = kept
    return kept


class _Folding:
    """Decides, consumer by consumer, which operands are written in place."""

    def __init__(self, result: Plan, uses: dict[Value, int], steps: Steps):
        self.plan = result
        self.uses = uses
        self.steps = steps
        self.width: dict[Value, int] = {}
        self.depth: dict[Value, int] = {}

    def run(self) -> None:
        for op in self.steps.operations():
            if op in self.plan.expressions:
                self.fold_into(self.plan.expressions[op], op)
        self.fold_into(self.plan.final, None)

    def fold_into(self, expr: Expr, consumer: Op | None) -> None:
        own = depth(expr)
        width = own_width(expr)
        taken: list[Op] = []
        for value in (self.plan.variable(hole.value) for hole in holes(expr)):
            if isinstance(value, Op) and self._can_fold(value, consumer, own):
                taken.append(value)
            else:
                width += len(value.name) or 2
        taken.sort(key=lambda op: self.width[op])
        deepest = 0
        for operand in taken:
            if consumer is not None and width + self.width[operand] > MAX_WIDTH:
                width += 2
                continue
            width += self.width[operand]
            deepest = max(deepest, self.depth[operand])
            self.plan.folded.add(operand)
        if consumer is not None:
            self.width[consumer] = width
            self.depth[consumer] = own + deepest

    def _can_fold(self, value: Op, consumer: Op | None, own: int) -> bool:
        level = self.steps.level[consumer] if consumer is not None else 0
        if self.uses[value] != 1 or value in self.steps.pinned or self.steps.level[value] != level:
            return False
        widest = MAX_WIDTH if consumer is None else MAX_OPERAND
        if own + self.depth[value] > MAX_DEPTH or self.width[value] > widest:
            return False
        if not value.name:
            return True
        merges = consumer is not None and consumer.opcode in ("select", LET) and consumer.name == value.name
        return merges and self.width[value] <= MAX_MERGED
