"""Names of the values in the text: the user's where they are free, fresh ones otherwise.

Values live from their statement to the last statement that reads them; in a loop, to its end. Two values may share a
name when they do not live at the same time, so that `x = x * 2` stays what it was; a value whose name is still needed
by another one gets a suffix (`x_1`). Values without a name are temporaries: c0, c1, ... for conditions, t0, t1, ... for
numbers.
"""

from __future__ import annotations

import heapq
import keyword
from collections.abc import Iterable, Sequence

from pyflat.ir.nodes import Op, Param, Value
from pyflat.ir.types import BOOL
from pyflat.targets.text.plan import Plan
from pyflat.targets.text.steps import Begin, BodyEnd, Leave, ends_of


class TextNames:
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
        base = base if base.isidentifier() else (base.split() or ["value"])[0]  # "range 3", the place of an iterator
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


def assign_names(plan: Plan, params: dict[Param, tuple[str, str]], names: TextNames) -> dict[Value, str]:
    """The text of each parameter leaf and statement. `params` gives (variable, text): ("p", "p.x") for a field."""
    dying = _LastReads(plan)
    result: dict[Value, str] = {}
    variables: dict[Value, str] = {}
    for param, (variable, text) in params.items():
        result[param] = text
        if param in dying.read:
            variables[param] = variable
            names.hold(variable)
    for number, step in enumerate(plan.steps):
        for value in dying.after(number):
            names.release(variables[value])
        if isinstance(step, Op) and plan.variable(step) is step:
            result[step] = variables[step] = names.variable(step.name) if step.name else names.temporary(_prefix(step))
    return result


def _prefix(op: Op) -> str:
    return "c" if op.kind is BOOL else "t"


class _LastReads:
    """For each step, the values whose variables no later step needs; the return comes last."""

    def __init__(self, plan: Plan):
        self.read = last_reads(plan)
        self._by_step: dict[int, list[Value]] = {}
        for value, number in self.read.items():
            self._by_step.setdefault(number, []).append(value)

    def after(self, number: int) -> Sequence[Value]:
        return self._by_step.get(number, ())


def last_reads(plan: Plan) -> dict[Value, int]:
    """For each variable the number of the last step that reads it. What is stored before a loop and read in it is read
    by the next iteration too, up to the end of the loop."""
    ends = ends_of(plan.steps)
    stored: dict[Value, int] = {}
    last: dict[Value, int] = {}
    inside: list[int] = []
    for number, step in enumerate(plan.steps):
        if isinstance(step, Begin):
            inside.append(number)
        elif isinstance(step, BodyEnd):
            inside.pop()
        else:
            op = step.condition if isinstance(step, Leave) else step
            for value in plan.reads(plan.expressions[op]):
                around = next((begin for begin in inside if begin > stored.get(value, -1)), None)
                last[value] = max(last.get(value, -1), number if around is None else ends[around])
            stored.setdefault(plan.variable(op), number)
    for value in plan.reads(plan.final):
        last[value] = len(plan.steps)
    return last
