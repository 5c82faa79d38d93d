"""Which float operations LLVM may remove, or move to where they run less often, though NumPy warns at them.

The status flags of the processor say whether a run may warn, and an operation that is not executed sets none. LLVM
keeps an operation whose value is *demanded* on every way from it: by an operation that cannot do without it, by a store
that nothing overwrites, by what is returned. All others are removable: the kernel adds their bits to a number that it
gives back, which is why their own operands are demanded.

Demand runs against control. What a loop carries is demanded where every next iteration, and the end, demand it: that is
assumed at first, and taken back where it turns out otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence, Set

from pyflat.ir.loops import all_ops, recognise_counted
from pyflat.ir.memory import may_warn
from pyflat.ir.nodes import (
    FAULT,
    Block,
    Const,
    Exit,
    Function,
    If,
    Item,
    Label,
    Loop,
    Op,
    Param,
    Region,
    Value,
    Yield,
    exits_to,
    walk,
)
from pyflat.ir.ops import COMPARISONS, ORDERS
from pyflat.ir.types import FLOAT, INT

_NEEDING = frozenset({"add", "sub", "mul", "divide", "rounded"})
"""Operations whose value LLVM cannot tell without that of a float operand, whatever it is."""
_OF_TWO = frozenset({"divide", "truediv", "mod", "pow", "np_power"})
Demanded = frozenset[Value] | None
"""None: everything, where the original runs instead."""
Removable = tuple[set[Op], frozenset[Param]]


def removable(fn: Function, inside: Collection[Op] = (), *, flat: bool = False) -> Removable:
    """The float operations that may warn and that nothing surely keeps, where the numbers are kept that some loops end
    with; and these: one is less than what each iteration adds to it. `inside`: indices that are not tested; `flat`: of
    flat functions, where no loop with a test of its own is written out, and what it carries may be kept, too."""
    alone = _Demanded(fn, inside, frozenset(), flat).removable()
    loops = {item: set(all_ops(item.body)) & alone for item in walk(fn.body) if isinstance(item, Loop)}
    numbers = {loop: [each for each in (*loop.results, *(loop.params if flat else ())) if each.kind is FLOAT]
               for loop, ops in loops.items() if ops}
    ends = frozenset(end for found in numbers.values() for end in found)
    while True:
        rest = _Demanded(fn, inside, ends, flat).removable()
        useful = frozenset(end for loop, found in numbers.items() if loops[loop] - rest for end in found if end in ends)
        if useful == ends:
            return rest, ends
        ends = useful


class _Demanded:
    """`ends`: results of loops that are kept."""

    def __init__(self, fn: Function, inside: Collection[Op], ends: Collection[Value], flat: bool):
        self.fn, self.inside, self.ends, self.flat = fn, inside, ends, flat
        self.kept: set[Value] = set()
        self.carried: dict[Label, Set[Value]] = {}
        """What of it is kept where a loop is left."""
        self.told: set[Label] = set()
        """Loops of which the result says when they are left."""
        self.doubted: set[Param] = set()
        """Parameters of loops that some way does not demand."""
        self.ways: dict[Label, tuple[Sequence[Value], Demanded]] = {fn.label: ((), frozenset())}
        """What a label takes, and what is demanded there."""
        self.stores = [op for op in all_ops(fn.body) if op.opcode == "store"]
        self.used = {arg for op in _surely_kept(fn.body) if _needs(op) for arg in op.args}
        """What operations need, wherever they are."""

    def removable(self) -> set[Op]:
        ops = {op for op in all_ops(self.fn.body) if op.kind is FLOAT and may_warn(op.opcode, op.kind)}
        doubted = -1
        while ops and len(self.doubted) > doubted:
            self.kept, doubted = set(), len(self.doubted)
            self.list(self.fn.body, frozenset(), frozenset(), None)
        return ops - self.kept

    def list(self, items: list[Item], after: Demanded, takes: Demanded, loop: Loop | None) -> Demanded:
        """What is demanded before a list. `after`: behind it, besides what it yields; `takes`: of what it yields."""
        wanted = after
        for item in reversed(items):
            match item:
                case Block():
                    wanted = self._block(item, wanted, takes, loop)
                case If():
                    wanted = self._if(item, wanted, loop)
                case Region():
                    self.ways[item.label] = item.results, wanted
                    wanted = self.list(item.body, wanted, _flow(item.results, item.body, wanted), loop)
                case Loop():
                    wanted = self._loop(item, wanted)
        return wanted

    def _block(self, block: Block, wanted: Demanded, takes: Demanded, loop: Loop | None) -> Demanded:
        if isinstance(block.end, Exit):
            wanted = self._behind(block.end)
        elif isinstance(block.end, Yield) and wanted is not None and takes is not None:
            wanted |= takes
        if isinstance(block.end, Yield) and block is self.fn.body[-1] and wanted is not None:
            wanted |= frozenset(block.end.values)
        for op in reversed(block.ops):
            if wanted is None:
                self.kept.add(op)
                continue
            if op in wanted:
                self.kept.add(op)
                wanted |= _behind(op)
                if self.flat:
                    wanted |= frozenset(_compared(op))
            wanted |= self._by(op, loop)
        return wanted

    def _behind(self, end: Exit) -> Demanded:
        if end.label is FAULT:
            return None
        if end.label is self.fn.label:
            return frozenset(end.values)
        taken, wanted = self.ways[end.label]
        if wanted is None:
            return None
        return wanted | self.carried.get(end.label, frozenset()) | {
            v for p, v in zip(taken, end.values, strict=True) if p in wanted}

    def _by(self, op: Op, loop: Loop | None) -> frozenset[Value]:
        """What an operation demands."""
        if _needs(op) or op.opcode == "index" and op not in self.inside:
            return frozenset(op.args)
        return frozenset(op.args[-1:]) if self._stays(op, loop) else frozenset()

    def _if(self, node: If, wanted: Demanded, loop: Loop | None) -> Demanded:
        arms = [self.list(items, wanted, _flow(node.results, items, wanted), loop)
                for items in (node.then, node.orelse)]
        both = [arm for arm in arms if arm is not None]
        found = None if not both else both[0] if len(both) == 1 else both[0] & both[1]
        if found is not None and any(_leaves(items) in self.told for items in (node.then, node.orelse)):
            return found | {node.cond, *(_compared(node.cond) if isinstance(node.cond, Op) else ())}
        if found is None or not isinstance(node.cond, Op) or not any(
                self._stays(op, loop) for items in (node.then, node.orelse) for item in items if isinstance(item, Block)
                for op in item.ops):
            return found
        return found | {node.cond, *_compared(node.cond)}

    def _loop(self, loop: Loop, after: Demanded) -> Demanded:
        if after is not None and _runs_through(loop):  # LLVM moves no loop: any use of what it has summed up will do
            after |= self.used.intersection(loop.results)
        if after is not None:
            after |= frozenset(self.ends).intersection(loop.results)
        if self.flat and after is not None and _tells(loop, after):
            self.told.add(loop.label)
        self.carried[loop.label] = frozenset(self.ends).intersection(loop.params)
        carried = frozenset(p for p in loop.params if p not in self.doubted)
        self.ways[loop.label] = loop.results, after
        self.ways[loop.again] = loop.params, carried
        before = self.list(loop.body, frozenset(), _flow(loop.params, loop.body, carried), loop)
        if before is None:
            return None
        self.doubted |= carried - before
        return before | {v for p, v in zip(loop.params, loop.inits, strict=True) if p in before}

    def _stays(self, op: Op, loop: Loop | None) -> bool:
        """A store that nothing overwrites: the only one to its array, or, in its loop, to another element at each
        iteration."""
        if op.opcode != "store":
            return False
        others = [each for each in self.stores if each.attr("array") == op.attr("array")]
        if loop is None:
            return len(others) == 1
        counted = recognise_counted(loop)
        if counted is None or isinstance(counted.lower, Const) and isinstance(counted.upper, Const):
            return False  # LLVM writes such a loop out
        inside = [each for each in all_ops(loop.body) if each.opcode == "store" and each in others]
        return len(inside) == 1 and any(
            _moves(place, counted.iv, self.fn.params) or _is_read(place, counted.iv, self.fn.params)
            for place in op.args[1:-1])


def _surely_kept(items: list[Item]) -> Iterator[Op]:
    """All operations but those in branches by a comparison of numbers that may be one: LLVM may know how it ends."""
    for item in items:
        match item:
            case Block():
                yield from item.ops
            case If():
                if not _may_be_decided(item.cond):
                    yield from _surely_kept([*item.then, *item.orelse])
            case Loop() | Region():
                yield from _surely_kept(item.body)


def _may_be_decided(condition: Value) -> bool:
    tests = [each for each in _sources(condition) if isinstance(each, Op) and each.opcode in COMPARISONS]
    return any(_sources(test.args[0]) & _sources(test.args[1]) for test in tests)


def _runs_through(loop: Loop) -> bool:
    """A counted loop that nothing leaves early, and that LLVM does not write out."""
    counted = recognise_counted(loop)
    if counted is None or isinstance(counted.lower, Const) and isinstance(counted.upper, Const):
        return False
    exits = [item.end for item in walk(loop.body) if isinstance(item, Block) and isinstance(item.end, Exit)]
    return sum(end.label is not FAULT for end in exits) == 1


def _leaves(items: list[Item]) -> Label | None:
    """Where a list goes that does not come to its end."""
    end = items[-1].end if isinstance(items[-1], Block) else None
    return end.label if isinstance(end, Exit) else None


def _tells(loop: Loop, wanted: Set[Value]) -> bool:
    """Whether something that is demanded behind a loop is another number at each trip."""
    last = loop.body[-1]
    following = last.end.values if isinstance(last, Block) and isinstance(last.end, Yield) else ()
    changing = {param for param, value in zip(loop.params, following, strict=False)
                if isinstance(value, Op) and not _sources(value).isdisjoint(loop.params)}
    return any(result in wanted and value in changing for end in exits_to(loop.label, loop.body)
               for result, value in zip(loop.results, end.values, strict=True))


def _flow(taken: Sequence[Value], items: list[Item], wanted: Demanded) -> Demanded:
    """What is demanded of what a list yields."""
    last = items[-1]
    if wanted is None or not isinstance(last, Block) or not isinstance(last.end, Yield):
        return wanted
    return frozenset(v for p, v in zip(taken, last.end.values, strict=True) if p in wanted)


def _needs(op: Op) -> bool:
    return op.opcode in _NEEDING and op.kind is FLOAT and not any(
        isinstance(arg, Const) and not math.isfinite(arg.value or 0.0) for arg in op.args)


def _behind(op: Op) -> frozenset[Value]:
    """What a demanded operation demands: LLVM knows no function of one number without it, and no quotient, remainder or
    power of two without both, where the second is not 0, which some decide at once."""
    if op.opcode == "select" and op.args[1] is op.args[2]:
        return frozenset(op.args[1:])
    one = len(op.args) == 1 and {op.kind, op.args[0].kind} <= {INT, FLOAT}
    two = op.opcode in _OF_TWO and all(arg.kind is FLOAT and (not isinstance(arg, Const) or arg.value)
                                       for arg in op.args)
    return frozenset(op.args) if one or two else frozenset()


def _compared(op: Op) -> tuple[Value, ...]:
    """The numbers of a test that LLVM cannot tell from their signs, or because they are one number: `x + x` and
    `x * 2.0`."""
    if op.opcode not in ORDERS:
        return ()
    numbers = [arg.value for arg in op.args if isinstance(arg, Const)]
    apart = bool(numbers) or not _sources(op.args[0]) & _sources(op.args[1])
    return op.args if apart and all(0.0 < (number or 0.0) < math.inf for number in numbers) else ()


def _sources(value: Value) -> frozenset[Value]:
    """What a number is computed from."""
    found, waiting = set[Value](), [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Const) or each in found:
            continue
        found.add(each)
        if isinstance(each, Op) and each.opcode != "load":
            waiting += each.args
    return frozenset(found)


def _moves(place: Value, iv: Param, given: Sequence[Value]) -> bool:
    """Whether an index differs from one iteration to the next: the counter, and what the kernel is given, added."""
    if not isinstance(place, Op):
        return place is iv
    first, second = place.args[0], place.args[-1]
    if place.opcode == "index":
        return _moves(first, iv, given)
    if place.opcode not in ("add", "sub", "mul"):
        return False
    return any(_moves(x, iv, given) and (isinstance(y, Const) and bool(y.value) or place.opcode != "mul" and (
        isinstance(y, Const) or y in given)) for x, y in ((first, second), (second, first)))


def _is_read(place: Value, iv: Param, given: Sequence[Value]) -> bool:
    """Whether an index comes from what is loaded at each iteration: LLVM cannot tell that it stays the same."""
    if not isinstance(place, Op):
        return False
    if place.opcode == "load":
        return any(_moves(index, iv, given) for index in place.args[1:])
    if place.opcode == "index" or len(place.args) == 1:
        return _is_read(place.args[0], iv, given)
    return _needs(place) and any(_is_read(arg, iv, given) for arg in place.args)
