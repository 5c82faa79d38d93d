"""Conjunctions of conditions: which of them are computed already, so that a mask is made from what is there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyflat.ir.nodes import Op, Value
from pyflat.ir.types import BOOL

MOST_LITERALS = 8
"""Conditions of a mask that is known to be the same as another."""

Literals = frozenset[tuple[Value, bool]]
"""Conditions, and whether each has to hold or not to."""


class Conjunctions:
    """What has to hold where a bool does, and where it does not: an arm may have conditions that are known already."""

    def __init__(self) -> None:
        self._literals: dict[tuple[Value, bool], Literals] = {}
        self._known: dict[Literals, Op] = {}

    def note(self, op: Op) -> None:
        if op.kind is not BOOL or op.opcode not in ("and", "or", "not"):
            return
        if op.opcode == "not":
            holds, fails = self._where(op.args, False), self._where(op.args, True)
        else:
            holds, fails = frozenset({(op, True)}), frozenset({(op, False)})
            if op.opcode == "and":
                holds = self._where(op.args, True)
            else:
                fails = self._where(op.args, False)
        if max(len(holds), len(fails)) <= MOST_LITERALS:
            self._literals |= {(op, True): holds, (op, False): fails}
            self._known[holds] = op

    def _where(self, values: Iterable[Value], wanted: bool) -> Literals:
        return frozenset[tuple[Value, bool]]().union(
            *[self._literals.get((value, wanted), frozenset({(value, wanted)})) for value in values])

    def cover(self, conditions: Sequence[tuple[Value, bool]]) -> list[tuple[Value, bool]]:
        """The same conditions, with what is computed already for as many of them together as there are."""
        left, found = set(conditions), list[tuple[Value, bool]]()
        for literals, op in sorted(self._known.items(), key=lambda each: -len(each[0])):
            if literals <= left and (len(literals) > 1 or (op, True) not in literals):
                found.append((op, True))
                left -= literals
        return found + [each for each in conditions if each in left]
