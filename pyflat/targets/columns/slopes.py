"""Derivatives of selects: both arms are computed, and the slope of the one not taken must not be infinite or nan.

Before:                              After:
    t = sqrt(x)                          h = select(c, x, 1.0)
    y = select(c, t, 0.0)                t = sqrt(h)
                                         y = select(c, t, 0.0)

A select multiplies the slope of the arm not taken by 0, and 0 times infinity is nan. So its operands are replaced.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyflat.functions.records import RECORDS
from pyflat.ir.nodes import Const, Op, Value
from pyflat.ir.ops import ROUNDED
from pyflat.ir.types import FLOAT
from pyflat.targets.columns.printer import in_order
from pyflat.targets.columns.terms import Terms

_HARMLESS: dict[str, tuple[float | None, ...]] = {
    "truediv": (None, 1.0),
    **{record.name: record.harmless for record in RECORDS.values() if record.harmless is not None},
}
"""Operations whose slope may be infinite or nan, and operands at which it is not; None: that one does not matter."""

Conjunction = frozenset[tuple[Value, bool]]
ALWAYS: frozenset[Conjunction] = frozenset([frozenset()])
MANY = 8


class Slopes:
    """The results again, so that no slope of an arm not taken is infinite or nan.

    Conditions, and what is rounded, are computed as they are: no derivative goes through them. Everything else is made
    anew from operands that are harmless where no result depends on them (`needed`: a disjunction of conjunctions)."""

    def __init__(self, t: Terms, suspect: Value):
        self.t = t
        never = isinstance(suspect, Const) and not suspect.value
        self.start = ALWAYS if never else frozenset([frozenset([(suspect, False)])])
        self.needed: dict[Value, frozenset[Conjunction]] = {}
        self.rank: dict[Value, int] = {}

    def results(self, roots: Sequence[Value]) -> list[Value]:
        order = in_order(roots)
        self.rank = {term: k for k, term in enumerate([*order, *in_order(term for term, _ in self._started())])}
        for root in roots:
            self._need(root, self.start)
        for term in reversed(order):
            self._spread(term)
        new: dict[Value, Value] = {}
        for term in order:
            new[term] = self._again(term, new)
        return [new[root] for root in roots]

    def _started(self) -> Conjunction:
        return frozenset().union(*self.start)

    def _need(self, term: Value, where: frozenset[Conjunction]) -> None:
        self.needed[term] = _either(self.needed.get(term, frozenset()), where)

    def _spread(self, term: Value) -> None:
        where = self.needed.get(term)
        if where is None or not isinstance(term, Op) or not _is_smooth(term):
            return
        if term.opcode != "select":
            for arg in term.args:
                self._need(arg, where)
            return
        condition, then, otherwise = term.args
        self._need(then, _also(where, condition, True))
        self._need(otherwise, _also(where, condition, False))

    def _again(self, term: Value, new: dict[Value, Value]) -> Value:
        if not isinstance(term, Op) or not _is_smooth(term) or term not in self.needed:
            return term
        args = [new[arg] if arg.kind is FLOAT else arg for arg in term.args]
        harmless = _HARMLESS.get(term.opcode)
        where = self.needed[term]
        if harmless is not None and where != ALWAYS:
            condition = self._condition(where)
            args = [arg if value is None or isinstance(arg, Const) else self.t.raw("select", condition, arg, value)
                    for arg, value in zip(args, harmless, strict=True)]
        return self.t.raw(term.opcode, *args)

    def _condition(self, where: frozenset[Conjunction]) -> Value:
        t = self.t
        parts = []
        for ranked in sorted(sorted((self.rank[term], holds, term) for term, holds in each) for each in where):
            tests = [term if holds else t("not", term) for _, holds, term in ranked]
            parts.append(reduce(lambda a, b: t("and", a, b), tests))
        return reduce(lambda a, b: t("or", a, b), parts)


def _is_smooth(term: Op) -> bool:
    """A derivative goes through it."""
    return term.kind is FLOAT and term.opcode not in (*ROUNDED.values(), "to_float")


def _also(where: frozenset[Conjunction], condition: Value, holds: bool) -> frozenset[Conjunction]:
    return frozenset(each | {(condition, holds)} for each in where if (condition, not holds) not in each)


def _either(a: frozenset[Conjunction], b: frozenset[Conjunction]) -> frozenset[Conjunction]:
    """a or b, simplified; when there are many, what they have in common, which is needed at least as often."""
    found = set(a | b)
    changed = True
    while changed:
        changed = False
        for each in list(found):
            for condition, holds in each:
                rest = each - {(condition, holds)}
                if rest | {(condition, not holds)} in found and rest not in found:
                    found.add(rest)
                    changed = True
        found = {each for each in found if not any(other < each for other in found)}
    return frozenset(found) if len(found) <= MANY else frozenset([frozenset.intersection(*found)])
