"""The operations of a function in the order of its text, with the places where loops begin, are left and end.

A loop that was kept becomes a `while`. What it carries are variables: a statement before the loop gives each its first
value, one at the end of the body its next. On arrays all lanes stay in the loop until the last is done; `live` says
which still run, and the others keep their values:

    a number                            arrays
        k = 0                               k, live = np.int64(0), True
        while k < n:                        while np.any(live := live & (k < n)):
            k = k + 1                           k = np.where(live, k + 1, k)

A loop inside another starts with the lanes that run there. One in front of the condition of the other starts with all
that the other started with: what it computes is read after the other has ended, in lanes that were done before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pyflat.ir.loops import take_apart
from pyflat.ir.nodes import TRUE, Block, Function, Item, Loop, Op, Param, Value
from pyflat.ir.types import BOOL

LET = "let"
"""The opcode of a statement that gives a value another name; it is in texts alone."""


@dataclass(frozen=True, slots=True, eq=False)
class Begin:
    """A loop begins."""

    loop: Loop


@dataclass(frozen=True, slots=True, eq=False)
class Leave:
    """It goes on where `condition` holds: on arrays in any lane."""

    condition: Op


@dataclass(frozen=True, slots=True, eq=False)
class BodyEnd:
    """Its body ends."""


Step = Op | Begin | Leave | BodyEnd


@dataclass(eq=False)
class Steps:
    """`same`: values that are in a variable of another value. `level`: the loop that an operation is in, by its
    number, 0 for none. `pinned`: operations that are statements; of them `updates` give the variable of a loop its
    next value."""

    on_arrays: bool
    steps: list[Step] = field(default_factory=list)
    same: dict[Value, Value] = field(default_factory=dict)
    level: dict[Op, int] = field(default_factory=dict)
    pinned: set[Op] = field(default_factory=set)
    updates: set[Op] = field(default_factory=set)
    loops: int = 0

    def variable(self, value: Value) -> Value:
        """The value whose variable holds this one."""
        while value in self.same:
            value = self.same[value]
        return value

    def operations(self) -> Iterator[Op]:
        """All, with the conditions of loops."""
        for step in self.steps:
            if isinstance(step, Op | Leave):
                yield step.condition if isinstance(step, Leave) else step

    def add(self, items: Sequence[Item], level: int, entered: Value) -> None:
        """The items of a list; its loops start with the lanes that `entered`."""
        for item in items:
            if isinstance(item, Block):
                for op in item.ops:
                    self._put(op, level)
            else:
                assert isinstance(item, Loop)
                self._loop(item, level, entered)

    def _put(self, op: Op, level: int, *, pinned: bool = False) -> None:
        self.steps.append(op)
        self.level[op] = level
        if pinned:
            self.pinned.add(op)

    def _loop(self, loop: Loop, outside: int, entered: Value) -> None:
        parts = take_apart(loop)
        self.loops += 1
        level = self.loops
        for param, init in zip(loop.params, loop.inits, strict=True):
            self.same[param] = first = Op(LET, (init,), param.kind, name=param.name)
            self._put(first, outside, pinned=True)
        live: Value = TRUE
        if self.on_arrays:
            live = Op(LET, (entered,), BOOL, name="live")
            self._put(live, outside, pinned=True)
        self.steps.append(Begin(loop))
        self.add(parts.header, level, entered)
        self._leave(parts.go, level, live)
        self.same |= zip(loop.results, parts.leave, strict=True)
        self.add(parts.rest, level, live)
        for param, value in zip(loop.params, parts.next, strict=True):
            if value is not param:
                self._update(param, value, level, live)
        self.steps.append(BodyEnd())

    def _leave(self, go: Value, level: int, live: Value) -> None:
        condition = Op("and", (live, go), BOOL) if self.on_arrays else Op(LET, (go,), BOOL)
        if self.on_arrays:
            self.same[condition] = live
        self.level[condition] = level
        self.pinned.add(condition)
        self.steps.append(Leave(condition))

    def _update(self, param: Param, value: Value, level: int, live: Value) -> None:
        made = (Op("select", (live, value, param), param.kind, name=param.name) if self.on_arrays else
                Op(LET, (value,), param.kind, name=param.name))
        self.same[made] = param
        self._put(made, level, pinned=True)
        self.updates.add(made)


def steps_of(function: Function, *, on_arrays: bool) -> Steps:
    """The steps of a flat or masked function."""
    found = Steps(on_arrays)
    found.add(function.body, 0, TRUE)
    return found


def ends_of(steps: Sequence[Step]) -> dict[int, int]:
    """The numbers of the steps where loops begin, and where each ends."""
    found: dict[int, int] = {}
    inside: list[int] = []
    for number, step in enumerate(steps):
        if isinstance(step, Begin):
            inside.append(number)
        elif isinstance(step, BodyEnd):
            found[inside.pop()] = number
    return found
