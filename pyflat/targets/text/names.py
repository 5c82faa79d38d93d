"""Names of the values in the text: the user's where they are free, fresh ones otherwise.

Values live from their statement to the last statement that reads them. Two values may share a name when they do
not live at the same time, so that `x = x * 2` stays what it was; a value whose name is still needed by another one
gets a suffix (`x_1`). Values without a name are temporaries: c0, c1, ... for conditions, t0, t1, ... for numbers.
"""

from __future__ import annotations

import heapq
import keyword
from collections.abc import Iterable, Sequence

from pyflat.ir.nodes import Op, Param, Value
from pyflat.ir.types import BOOL
from pyflat.targets.text.plan import Plan


class Names:
    """Names in use. `reserved` are words that the text itself uses, `known` the user's own names."""

    def __init__(self, reserved: Iterable[str], known: Iterable[str]):
        self.reserved = frozenset(reserved)
        self.known = frozenset(known)
        self._busy: dict[str, int] = {}
        self._next: dict[str, int] = {}
        self._freed: dict[str, list[tuple[int, str]]] = {}

    def hold(self, name: str) -> None:
        """One more live value is called `name`."""
        self._busy[name] = self._busy.get(name, 0) + 1

    def release(self, name: str) -> None:
        self._busy[name] -= 1
        base, _, number = name.rpartition("_")
        if self._busy[name] or name in self.known:
            return
        if base in self._next and number.isdigit() and int(number) < self._next[base]:
            heapq.heappush(self._freed.setdefault(base, []), (int(number), name))

    def variable(self, base: str) -> str:
        """`base` itself if no live value has it, otherwise the first free of base_1, base_2, ..."""
        name = base if self._usable(base) else self._suffixed(base)
        self.hold(name)
        return name

    def temporary(self, prefix: str) -> str:
        """A name that is used once: c0, c1, ..."""
        while True:
            number = self._next.get(prefix, 0)
            self._next[prefix] = number + 1
            name = f"{prefix}{number}"
            if name not in self.reserved and name not in self.known:
                self.hold(name)
                return name

    def _usable(self, name: str) -> bool:
        return (name.isidentifier() and not keyword.iskeyword(name) and name not in self.reserved
                and not self._busy.get(name))

    def _suffixed(self, base: str) -> str:
        base = base if base.isidentifier() else "value"
        freed = self._freed.get(base, [])
        while freed:
            _, name = heapq.heappop(freed)
            if not self._busy.get(name):
                return name
        while True:
            number = self._next.get(base, 1)
            self._next[base] = number + 1
            name = f"{base}_{number}"
            if name not in self.reserved and name not in self.known:
                return name


def assign_names(plan: Plan, params: dict[Param, tuple[str, str]], names: Names) -> dict[Value, str]:
    """The text of each parameter leaf and statement. `params` gives (variable, text): ("p", "p.x") for a field."""
    dying = _LastReads(plan)
    result: dict[Value, str] = {}
    variables: dict[Value, str] = {}
    for param, (variable, text) in params.items():
        result[param] = text
        if param in dying.read:
            variables[param] = variable
            names.hold(variable)
    for number, op in enumerate(plan.statements):
        for value in dying.after(number):
            names.release(variables[value])
        result[op] = variables[op] = names.variable(op.name) if op.name else names.temporary(_prefix(op))
    return result


def _prefix(op: Op) -> str:
    return "c" if op.kind is BOOL else "t"


class _LastReads:
    """For each statement, the values that no later statement reads; the return comes last."""

    def __init__(self, plan: Plan):
        last: dict[Value, int] = {}
        for number, op in enumerate(plan.statements):
            for value in plan.reads(plan.expressions[op]):
                last[value] = number
        for value in plan.reads(plan.final):
            last[value] = len(plan.statements)
        self.read = last
        self._by_statement: dict[int, list[Value]] = {}
        for value, number in last.items():
            self._by_statement.setdefault(number, []).append(value)

    def after(self, number: int) -> Sequence[Value]:
        return self._by_statement.get(number, ())
