"""From fault operations to the two slices that targets run and print.

Before:                           gather_suspects:              drop_faults:
    %a = eq %y, 0.0 : b               %a = eq %y, 0.0 : b           %b = truediv %x, %y : f8
    fault %a ZeroDivisionError()      %b = truediv %x, %y : f8      yield %b
    %b = truediv %x, %y : f8          yield %b, %a
    yield %b

`gather_suspects` makes the *fused* function of the engines: the result leaves and one more, the suspect bit,
true in every lane where some fault condition holds. `drop_faults` leaves the values alone: what the text shows.

A loop carries the bit in, on and out, and a suspect lane leaves it: its values mean nothing, so that its own
condition need never become false. Loops of a function that nothing suspects are left as they are. Where trips are
limited (`limit_trips`), one more leaf before the suspect bit says which lanes ran into the limit before anything
else; they are suspect too.
"""

from __future__ import annotations

from collections.abc import Callable

from pyflat.analysis.liveness import sliced
from pyflat.ir.build import const
from pyflat.ir.loops import LoopParts, all_ops, join_parts, take_apart
from pyflat.ir.nodes import FALSE, TRIP_LIMIT, Block, Const, Function, Item, Loop, Op, Param, Value, Yield
from pyflat.ir.types import BOOL, INT
from pyflat.ir.uses import rebuilt, results_of, with_body
from pyflat.passes.record import TOTAL, Construct, Pass


def gather_suspects(fn: Function, *, limited: bool = False, told: bool = True,
                    number: Callable[[Op], int] | None = None) -> Function:
    """`fn` in flat or masked form without fault operations and with one more bool result, the suspect bit, at the
    end; `limited`: before it one that says which lanes ran into a trip limit. Not `told`: without that result, so that
    suspect lanes leave loops and nothing else. With a `number` for each fault operation the result is an int."""
    bits = _Bits(_Union() if number is None else _First(number), _Union())
    items = _gathered(fn.body, bits)
    last = items[-1]
    assert isinstance(last, Block)
    results = results_of(fn)
    if limited:
        results = [*results, bits.limited.total(last)]
    if told:
        results = [*results, bits.suspect.total(last)]
    last.end = Yield(results)
    return with_body(fn, sliced(items, results))


def drop_faults(fn: Function) -> Function:
    """The values slice: `fn` without fault operations and what only they needed; `fn` itself when nothing goes."""
    pure = rebuilt(fn.body, lambda op: None if op.opcode == "fault" else op, lambda value: value)
    items = sliced(pure, results_of(fn))
    return fn if _count(items) == _count(fn.body) else with_body(fn, items)


def _count(items: list[Item]) -> int:
    return sum(1 for _ in all_ops(items))


def _gathered(items: list[Item], bits: _Bits) -> list[Item]:
    """A copy of a list in which fault operations are added to `bits`; its last block ends as before."""
    done: list[Item] = []
    block = Block()
    for item in items:
        match item:
            case Block():
                block = Block([], item.end)
                done.append(block)
                for op in item.ops:
                    if op.opcode == "fault":
                        bits.add(block, op)
                    else:
                        block.ops.append(op)
            case Loop():
                done.append(_gathered_loop(item, bits, block))
    return done


def _gathered_loop(loop: Loop, bits: _Bits, before: Block) -> Loop:
    """`before` is the block before the loop. A bit that the loop can set is carried; one that it cannot is read."""
    faults = [op for op in all_ops(loop.body) if op.opcode == "fault"]
    parts = take_apart(loop)
    suspect, limit = bits.suspect.total(before), bits.limited.total(before)
    params, inits = list(loop.params), list(loop.inits)
    inner = bits.fresh()
    inner.suspect.restart(suspect)
    inner.limited.restart(limit)
    carried: list[tuple[_Union | _First, _Union | _First]] = []
    for here, there, init, kinds in ((bits.suspect, inner.suspect, suspect, faults),
                                     (bits.limited, inner.limited, limit, list(filter(is_limit, faults)))):
        if kinds:
            params.append(Param(init.kind, there.name if there is inner.suspect else "limited"))
            inits.append(init)
            there.restart(params[-1])
            carried.append((here, there))
    header = _gathered(parts.header, inner)
    end = header[-1]
    assert isinstance(end, Block)
    stopped = inner.suspect.total(end)
    go = parts.go
    if not _is_false(stopped):
        end.ops.append(inner.suspect.none(stopped))
        end.ops.append(Op("and", (go, end.ops[-1]), BOOL))
        go = end.ops[-1]
    results, leave = list(loop.results), list(parts.leave)
    after = [there.total(end) for _, there in carried]
    for (here, _), value in zip(carried, after, strict=True):
        leave.append(value)
        results.append(Param(value.kind))
        here.restart(results[-1])
    inside = bits.fresh()
    rest = _gathered(parts.rest, inside)
    last = rest[-1]
    assert isinstance(last, Block)
    unions = {id(inner.suspect): inside.suspect, id(inner.limited): inside.limited}
    last.end = Yield([*parts.next, *[unions[id(there)].total(last) for _, there in carried]])
    return join_parts(loop, params, inits, LoopParts(header, go, rest, leave), results)


def is_limit(op: Op) -> bool:
    """A fault operation that says that a lane ran into a trip limit."""
    return bool(op.attr("fault") == TRIP_LIMIT)


def _is_false(value: Value) -> bool:
    return isinstance(value, Const) and not value.value


class _Bits:
    """The lanes that are suspect so far, and those of them whose first fault was a trip limit."""

    def __init__(self, suspect: _Union | _First, limited: _Union):
        self.suspect = suspect
        self.limited = limited

    def fresh(self) -> _Bits:
        """The same, of no lanes yet."""
        return _Bits(_First(self.suspect.number_of) if isinstance(self.suspect, _First) else _Union(), _Union())

    def add(self, block: Block, fault: Op) -> None:
        cond = fault.args[0]
        if is_limit(fault):
            earlier = self.suspect.total(block)
            first = cond
            if not _is_false(earlier):
                block.ops.append(Op("not", (earlier,), BOOL))
                block.ops.append(Op("and", (cond, block.ops[-1]), BOOL))
                first = block.ops[-1]
            self.limited.add(block, first)
        if isinstance(self.suspect, _First):
            self.suspect.number(block, fault)
        else:
            self.suspect.add(block, cond)


class _Union:
    """An OR over conditions in the order in which they come, without waiting for the last one.

    Two unions of equally many conditions become one as soon as both exist, as the digits of a binary counter
    carry: a tree of logarithmic depth, in which at most logarithmically many bools are waiting at any place.
    """

    name = "suspect"

    def __init__(self) -> None:
        self._waiting: list[tuple[int, Value]] = []
        self._seen: set[Value] = set()

    @staticmethod
    def none(total: Value) -> Op:
        """Whether it is false of a lane."""
        return Op("not", (total,), BOOL)

    def restart(self, cond: Value) -> None:
        """From now on `cond` stands for all that came before."""
        self._waiting = [] if _is_false(cond) else [(1, cond)]

    def add(self, block: Block, cond: Value) -> None:
        if _is_false(cond) or cond in self._seen:
            return
        self._seen.add(cond)
        size = 1
        while self._waiting and self._waiting[-1][0] == size:
            cond = _either(block, self._waiting.pop()[1], cond)
            size *= 2
        self._waiting.append((size, cond))

    def total(self, block: Block) -> Value:
        """The OR so far, computed at the end of `block` if it is not yet."""
        if not self._waiting:
            return FALSE
        total = self._waiting.pop()[1]
        while self._waiting:
            total = _either(block, self._waiting.pop()[1], total)
        self._waiting = [(1, total)]
        return total


class _First:
    """The number of the first fault, 0 where there is none; `number_of` gives that of a fault operation."""

    name = "fault"
    LONGEST = 6
    """Conditions in one chain of selects."""

    def __init__(self, number_of: Callable[[Op], int]) -> None:
        self.number_of = number_of
        self._before: Value = _ZERO
        self._waiting: list[tuple[Value, int]] = []

    @staticmethod
    def none(total: Value) -> Op:
        """Whether it is 0 in a lane."""
        return Op("eq", (total, _ZERO), BOOL)

    def restart(self, number: Value) -> None:
        """From now on `number` stands for all that came before."""
        self._before, self._waiting = number, []

    def number(self, block: Block, fault: Op) -> None:
        cond, number = fault.args[0], self.number_of(fault)
        if _is_false(cond):
            return
        if self._waiting and self._waiting[-1][1] == number:
            cond = _either(block, self._waiting.pop()[0], cond)
        elif len(self._waiting) == self.LONGEST:
            self.total(block)
        self._waiting.append((cond, number))

    def total(self, block: Block) -> Value:
        """The number so far, computed at the end of `block` if it is not yet."""
        if not self._waiting:
            return self._before
        chain: Value = _ZERO
        for cond, number in reversed(self._waiting):
            block.ops.append(Op("select", (cond, const(number), chain), INT))
            chain = block.ops[-1]
        if not _is_false(self._before):
            block.ops.append(self.none(self._before))
            block.ops.append(Op("select", (block.ops[-1], chain, self._before), INT))
            chain = block.ops[-1]
        chain.name = self.name
        self.restart(chain)
        return chain


_ZERO = const(0)


def _either(block: Block, a: Value, b: Value) -> Op:
    block.ops.append(Op("or", (a, b), BOOL))
    return block.ops[-1]


PASS = Pass(gather_suspects, needs_gone=TOTAL, removes=frozenset({Construct.FAULT}))
VALUES = Pass(drop_faults, needs_gone=TOTAL, removes=frozenset({Construct.FAULT}))
