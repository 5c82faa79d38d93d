"""The two shapes of loops that passes and targets read: canonical loops and counted ones.

Canonical loops have one exit, right after the header. `lower_exits` makes them, and every way out reads them.

    loop @loop again @next (%s = %x) {
      ...header...                           blocks and nodes without exits
      if %go {
        ...rest...                           the same; yields what the next iteration starts with
        yield %s.1
      } else {
        exit @loop %s                        nothing else; the values are visible after the header
      } -> (%s.2)
      yield %s.2                             the results of the If, all of them and in order
    } -> (%result)

`LoopParts` is such a loop taken apart, and `join_parts` puts it together again.

Counted loops: `for iv in range(lower, upper, step)` recognised in a Loop.

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

import itertools
from collections.abc import Iterator, Mapping, MutableSequence, Sequence
from dataclasses import dataclass

from pyflat.ir.nodes import Block, Const, End, Exit, Function, If, Item, Loop, Op, Param, Region, Value, Yield, walk
from pyflat.ir.types import INT

# --- control-flow lists as values: how control leaves them, what they define and use

# --- definitions and uses


def definitions(items: Sequence[Item]) -> Iterator[Value]:
    """Every value that a list defines: operations, parameters of its loops, results of its nodes."""
    for item in walk(list(items)):
        if isinstance(item, Block):
            yield from item.ops
            continue
        if isinstance(item, Loop):
            yield from item.params
        yield from item.results


def uses(items: Sequence[Item]) -> Iterator[Value]:
    """Every operand in a list, as often as it is used, literals included."""
    for item in walk(list(items)):
        match item:
            case Block():
                for op in item.ops:
                    yield from op.args
                if item.end is not None:
                    yield from item.end.values
            case If():
                yield item.cond
            case Loop():
                yield from item.inits


def used_outside(items: Sequence[Item], fn: Function) -> list[Value]:
    """What a detached list defines and `fn` uses."""
    defined = set(definitions(items))
    return [value for value in dict.fromkeys(uses(fn.body)) if value in defined] if defined else []


def replace_uses(items: Sequence[Item], new: Mapping[Value, Value]) -> None:
    """Let every operand in a list that is a key of `new` be its value instead."""
    for item in walk(list(items)):
        match item:
            case Block():
                for op in item.ops:
                    if any(arg in new for arg in op.args):
                        op.args = tuple(new.get(arg, arg) for arg in op.args)
                if item.end is not None:
                    _replace(item.end.values, new)
            case If():
                item.cond = new.get(item.cond, item.cond)
            case Loop():
                _replace(item.inits, new)


def _replace(values: MutableSequence[Value], new: Mapping[Value, Value]) -> None:
    values[:] = [new.get(value, value) for value in values]


@dataclass(slots=True)
class LoopParts:
    """Header, condition and rest of a canonical loop; `rest` ends with a Yield of what comes `next`."""

    header: list[Item]
    go: Value
    rest: list[Item]
    leave: list[Value]
    """The results of the loop, seen after the header."""

    @property
    def next(self) -> list[Value]:
        """What the next iteration starts with, seen at the end of the rest."""
        return end_of(self.rest).values

    @property
    def last_header_block(self) -> Block:
        last = self.header[-1]
        assert isinstance(last, Block)
        return last


def end_of(items: list[Item]) -> Yield:
    """How control falls off a list that has no other way out."""
    end = last_end(items)
    assert isinstance(end, Yield)
    return end


def last_end(items: Sequence[Item]) -> End:
    """How the last block of a list ends."""
    last = items[-1]
    assert isinstance(last, Block) and last.end is not None
    return last.end


def take_apart(loop: Loop) -> LoopParts:
    """The parts of a canonical loop, its own lists."""
    parts = canonical_parts(loop)
    assert parts is not None
    return parts


def canonical_parts(loop: Loop) -> LoopParts | None:
    """The parts of a loop, None where it is not canonical; nested loops are not looked at."""
    if len(loop.body) < 3:
        return None
    test, last = loop.body[-2:]
    if not isinstance(test, If) or not isinstance(last, Block) or last.ops or not isinstance(last.end, Yield):
        return None
    if list(map(id, last.end.values)) != list(map(id, test.results)):
        return None
    leave, after = test.orelse[0], test.then[-1]
    if len(test.orelse) != 1 or not isinstance(leave, Block) or leave.ops or not isinstance(leave.end, Exit):
        return None
    if leave.end.label is not loop.label or not isinstance(after, Block) or not isinstance(after.end, Yield):
        return None
    return LoopParts(loop.body[:-2], test.cond, test.then, leave.end.values)


def join_parts(loop: Loop, params: Sequence[Param], inits: Sequence[Value], parts: LoopParts,
               results: Sequence[Param]) -> Loop:
    """A canonical loop with the labels of `loop`."""
    carried = [Param(value.kind, param.name) for param, value in zip(params, parts.next, strict=True)]
    test = If(parts.go, parts.rest, [Block([], Exit(loop.label, parts.leave))], carried)
    body = [*parts.header, test, Block([], Yield(carried))]
    return Loop(loop.label, loop.again, params, inits, body, results, hint=loop.hint)


def is_exit_free(items: list[Item]) -> bool:
    """No Region, and no Exit but the one of each loop, which are all canonical."""
    exits = 0
    for item in walk(items):
        if isinstance(item, Region) or (isinstance(item, Loop) and canonical_parts(item) is None):
            return False
        if isinstance(item, Block) and isinstance(item.end, Exit):
            exits += 1
        elif isinstance(item, Loop):
            exits -= 1
    return exits == 0


def has_loop(items: list[Item]) -> bool:
    return any(isinstance(item, Loop) for item in walk(items))


def all_ops(items: list[Item]) -> Iterator[Op]:
    """Every operation, in the order of the text."""
    return itertools.chain.from_iterable(item.ops for item in walk(items) if isinstance(item, Block))


# --- counted loops


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
        values = range(int(self.lower.value), int(self.upper.value), self.step)
        return (values[-1] - values[0]) // self.step + 1 if values else 0


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
    own = itertools.chain(loop.params, definitions(loop.body))
    if not isinstance(upper, Const) and any(value is upper for value in own):
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
