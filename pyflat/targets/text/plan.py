"""Which operations get a statement of their own, and which are folded into the expression that reads them.

Operations are pure, so that order is free: an operation that is read once is written where it is read, unless it
is a variable of the user's, or the expression would become too deep or too wide. A variable that is read once, by
the select that merges the same variable, is folded as well: `if c: y = x * 2` becomes `y = select(c, x * 2, y)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pyflat.ir.nodes import Const, Op, Value
from pyflat.targets.text.expr import Expr, Hole, depth, holes, own_width

MAX_DEPTH = 20
MAX_WIDTH = 200
MAX_OPERAND = 100
MAX_MERGED = 60
"""Nesting of one expression; its characters; those of a folded operand; those of a folded variable."""


@dataclass(eq=False)
class Plan:
    """The statements in order, the expression of each printed operation, and what the final return reads."""

    final: Expr
    expressions: dict[Op, Expr] = field(default_factory=dict)
    statements: list[Op] = field(default_factory=list)
    folded: set[Value] = field(default_factory=set)

    def reads(self, expr: Expr) -> list[Value]:
        """The named values that a statement reads, through what is folded into it."""
        found: list[Value] = []
        todo = holes(expr)
        while todo:
            value = todo.pop().value
            if value in self.folded and isinstance(value, Op):
                todo += holes(self.expressions[value])
            elif not isinstance(value, Const):
                found.append(value)
        return found


def plan(ops: Sequence[Op], final: Expr, expression: Callable[[Op], Expr]) -> Plan:
    """The plan of a block of pure operations; what nothing reads is left out."""
    result = Plan(final)
    uses: dict[Value, int] = {}
    _count(final, uses)
    for op in reversed(ops):
        if uses.get(op):
            result.expressions[op] = found = expression(op)
            _count(found, uses)
    _Folding(result, uses).run([op for op in ops if op in result.expressions])
    return result


def _count(expr: Expr, uses: dict[Value, int]) -> None:
    for hole in holes(expr):
        uses[hole.value] = uses.get(hole.value, 0) + 1


class _Folding:
    """Decides, consumer by consumer, which operands are written in place."""

    def __init__(self, result: Plan, uses: dict[Value, int]):
        self.plan = result
        self.uses = uses
        self.width: dict[Value, int] = {}
        self.depth: dict[Value, int] = {}

    def run(self, ops: list[Op]) -> None:
        for op in ops:
            self.fold_into(self.plan.expressions[op], op)
        self.fold_into(self.plan.final, None)
        self.plan.statements = [op for op in ops if op not in self.plan.folded]

    def fold_into(self, expr: Expr, consumer: Op | None) -> None:
        inside = holes(expr)
        own = depth(expr)
        width = own_width(expr)
        taken: list[Op] = []
        for hole in inside:
            if self._can_fold(hole, consumer, own):
                assert isinstance(hole.value, Op)
                taken.append(hole.value)
            else:
                width += len(hole.value.name) or 2
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

    def _can_fold(self, hole: Hole, consumer: Op | None, own: int) -> bool:
        value = hole.value
        if not isinstance(value, Op) or self.uses[value] != 1:
            return False
        widest = MAX_WIDTH if consumer is None else MAX_OPERAND
        if own + self.depth[value] > MAX_DEPTH or self.width[value] > widest:
            return False
        if not value.name:
            return True
        merges = consumer is not None and consumer.opcode == "select" and consumer.name == value.name
        return merges and self.width[value] <= MAX_MERGED

