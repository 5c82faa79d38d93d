"""Counted loops: `for iv in range(lower, upper, step)` recognised in a Loop.

    loop @loop again @next (%i = lower, ...) {
      %go = lt %i, upper                     gt where the step is negative
      if %go { ... } else { ... exit @loop }
      ...                                    every way to the next iteration brings add %i, step

The condition stands right at the header, and its false arm does not go on. Whatever else leaves the loop (a `break`)
may do so: the trip count is the most that there can be.

`Loop.counted` is the claim that a loop is one, printed as `counted(%i, lower, upper, step)`. It names the parameter and
nothing else, so that no edit can make bounds and loop disagree; `ir.validate` checks it by recognising the loop again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pyflat.ir.nodes import Block, Const, Exit, Function, If, Item, Loop, Op, Param, Value, Yield, walk
from pyflat.ir.types import INT
from pyflat.ir.values import definitions


@dataclass(frozen=True, slots=True)
class Counted:
    """The induction variable, a parameter of the loop; where it starts and stops; and by what it grows."""

    iv: Param
    lower: Value
    upper: Value
    step: int

    @property
    def operands(self) -> tuple[Value, ...]:
        """iv, lower, upper and step, as they are printed."""
        return self.iv, self.lower, self.upper, Const(INT, self.step)

    @property
    def trips(self) -> int | None:
        """How often the body runs at most, None where the bounds are not literals."""
        if not isinstance(self.lower, Const) or not isinstance(self.upper, Const):
            return None
        if self.lower.value is None or self.upper.value is None:
            return None
        return len(range(int(self.lower.value), int(self.upper.value), self.step))


def recognise_counted(loop: Loop) -> Counted | None:
    """How `loop` counts, None where it does not (or not in this form)."""
    test = loop.body[1] if len(loop.body) > 1 else None
    if not isinstance(test, If) or not _leaves(test.orelse, loop):
        return None
    cond = test.cond
    if not isinstance(cond, Op) or cond.opcode not in ("lt", "gt"):
        return None
    mirrored = cond.args[0] not in loop.params
    iv, upper = reversed(cond.args) if mirrored else cond.args
    sign = 1 if (cond.opcode == "lt") != mirrored else -1
    if not isinstance(iv, Param) or iv not in loop.params or iv.kind is not INT:
        return None
    if upper in loop.params or upper in set(definitions(loop.body)):
        return None
    at = loop.params.index(iv)
    steps = {_step(_through(test, values[at]), iv) for values in _around(loop)}
    step = steps.pop() if len(steps) == 1 else None
    if step is None or step * sign <= 0:
        return None
    return Counted(iv, loop.inits[at], upper, step)


def _leaves(items: list[Item], loop: Loop) -> bool:
    """No way through the list leads to the next iteration."""
    ends = [item.end for item in walk(items) if isinstance(item, Block)]
    return isinstance(ends[-1], Exit) and all(not isinstance(e, Exit) or e.label is not loop.again for e in ends)


def _around(loop: Loop) -> Iterator[list[Value]]:
    """What each way to the next iteration brings."""
    last = loop.body[-1]
    if isinstance(last, Block) and isinstance(last.end, Yield):
        yield last.end.values
    for item in walk(loop.body):
        if isinstance(item, Block) and isinstance(item.end, Exit) and item.end.label is loop.again:
            yield item.end.values


def _through(test: If, value: Value) -> Value:
    """What the true arm yields for a result of `test`, whose other arm leaves the loop."""
    last = test.then[-1]
    if value in test.results and isinstance(last, Block) and isinstance(last.end, Yield):
        return last.end.values[test.results.index(value)]
    return value


def _step(value: Value, iv: Param) -> int | None:
    match value:
        case Op(opcode="add", args=(Const(value=int(step)), other)) if other is iv:
            return step
        case Op(opcode="add", args=(other, Const(value=int(step)))) if other is iv:
            return step
        case Op(opcode="sub", args=(other, Const(value=int(step)))) if other is iv:
            return -step
    return None


def mark_counted(fn: Function) -> int:
    """Let every loop of `fn` that counts claim it; gives how many do. Changes nothing but the claims."""
    loops = [item for item in walk(fn.body) if isinstance(item, Loop)]
    for loop in loops:
        found = recognise_counted(loop)
        loop.counted = found.iv if found else None
    return sum(loop.counted is not None for loop in loops)
