"""Loops over one range that follow each other run as one, where the later one reads what the earlier one has stored.

    t = np.empty(n)                     t = np.empty(n)
    for i in range(n):                  for i in range(n):
        t[i] = a[i] * 2.0                   t[i] = a[i] * 2.0
    for i in range(n):                      out[i] = t[i] + 1.0
        out[i] = t[i] + 1.0

A load behind a store is the number then (`forward_stores`), and an array that nothing reads goes (`prune_carried`). It
is done for arrays that are made inside. Whatever both loops touch, one of them storing, is the same element in the same
iteration only: on some axis both have one sum with the counter, which is not negative. Where something of the earlier
loop may raise, and the later one stores to arguments, the original would not have stored: `reordered` is told their
names, so that they are put back, or the loops stay apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from pyflat.analysis.parallel_loops import carries_memory_only
from pyflat.analysis.small_ints import small_ints
from pyflat.analysis.sure_indices import sure_indices
from pyflat.ir.affine import affine, places
from pyflat.ir.edit.copying import copy_function
from pyflat.ir.faults import can_fault
from pyflat.ir.loops import Counted, all_ops, definitions, end_of, recognise_counted, replace_uses, uses
from pyflat.ir.nodes import Block, Exit, Function, If, Item, Loop, Op, Value, Yield, raises, walk
from pyflat.passes.record import Pass


def fuse_loops(fn: Function, *, lengths: Sequence[int] = (), memories: Mapping[str, int] | None = None,
               tangled: Collection[str] = (), kept: Collection[str] = (), reordered: set[str] | None = None
               ) -> Function:
    """`fn` itself where no loops run as one. `lengths`: which parameters are lengths of axes; `memories`: the numbers
    of arguments, one number for those that overlap; in arrays that are `tangled` an element may have several places,
    and those that are `kept` stay in memory."""
    made = {op.attr("array") for op in all_ops(fn.body) if op.opcode == "alloc"}
    if not made or sum(isinstance(item, Loop) for item in walk(fn.body)) < 2:
        return fn
    copy = copy_function(fn)
    fuser = _Fuser(copy, lengths, memories or {}, made, {*tangled, *kept}, reordered)
    return copy if fuser.fuse(copy.body) else fn


PASS = Pass(fuse_loops)


class _Fuser:
    """`made`: arrays that are made inside."""

    def __init__(self, fn: Function, lengths: Sequence[int], memories: Mapping[str, int], made: Collection[str],
                 tangled: Collection[str], reordered: set[str] | None):
        self.memories, self.made, self.tangled, self.reordered = memories, made, tangled, reordered
        self.lengths: set[Value] = {fn.params[at] for at in lengths}
        given = [fn.params[at] for at in lengths]
        self.small = frozenset(small_ints(fn, given))
        self.sure = sure_indices(fn, given, self.small).here

    def fuse(self, items: list[Item]) -> bool:
        """Fuse what there is in a list; whether there was something."""
        found, at = False, 0
        while at < len(items):
            first = items[at]
            while isinstance(first, Loop) and at + 2 < len(items) and self._fused(items, at, first):
                found = True
            for inner in (() if isinstance(first, Block) else
                          (first.then, first.orelse) if isinstance(first, If) else (first.body,)):
                found |= self.fuse(inner)
            at += 1
        return found

    def _fused(self, items: list[Item], at: int, first: Loop) -> bool:
        """Let the loop at a place of a list do what the next one does as well."""
        before, between, second = items[at - 1], items[at + 1], items[at + 2]
        if not isinstance(before, Block) or not isinstance(between, Block) or not isinstance(second, Loop):
            return False
        one, two = recognise_counted(first), recognise_counted(second)
        if one is None or two is None or not _is_plain(first, one) or not _is_plain(second, two):
            return False
        ranges = [(each.step, affine(each.lower), affine(each.upper)) for each in (one, two)]
        movable = all(op.opcode not in ("load", "store", "routine", "call", "ufunc") for op in between.ops)
        if ranges[0] != ranges[1] or None in ranges[0] or not movable or not {*first.results}.isdisjoint(
                uses([between])):
            return False
        if not self._is_one_loop(first, one, second, two):
            return False
        before.ops += between.ops
        _join(first, one, second, two)
        del items[at + 1:at + 3]
        return True

    def _is_one_loop(self, first: Loop, one: Counted, second: Loop, two: Counted) -> bool:
        """Whether both are one loop, and better so."""
        own, other = (_accesses(loop) for loop in (first, second))
        stored = {op.attr("array") for op in own if op.opcode == "store"}
        if not any(op.opcode == "load" and op.attr("array") in stored & {*self.made} for op in other):
            return False
        visible = {op.attr("array") for op in other if op.opcode == "store"}.difference(self.made)
        moved = visible if visible and self._may_raise(first) else set[str]()
        if moved and self.reordered is None:
            return False
        inside = {*definitions([first, second])}
        if not all(self._are_apart(a, one, b, two, inside) for a in own for b in other
                   if "store" in (a.opcode, b.opcode) and self._memory(a) == self._memory(b)):
            return False
        if self.reordered is not None:
            self.reordered |= moved
        return True

    def _memory(self, access: Op) -> object:
        name = access.attr("array")
        return self.memories.get(name, name)

    def _may_raise(self, loop: Loop) -> bool:
        return raises(loop.body) or any(
            op.opcode in ("alloc", "routine", "call", "ufunc") or op.opcode == "index" and op not in self.sure
            or op.opcode != "index" and op not in self.small and can_fault(op) for op in all_ops(loop.body))

    def _are_apart(self, a: Op, one: Counted, b: Op, two: Counted, inside: Collection[Value]) -> bool:
        """Two accesses touch one element in one iteration only."""
        name = a.attr("array")
        if name != b.attr("array") or name in self.tangled:
            return False
        return any(self._with_counter(x, one, inside) == self._with_counter(y, two, inside) is not None
                   for x, y in zip(places(a), places(b), strict=True))

    def _with_counter(self, place: Value, counted: Counted, inside: Collection[Value]) -> object:
        """A sum with the counter, and what is the same in all iterations, that is not negative in any; None for
        others: -1 and the last index are one element."""
        form = affine(place)
        if form is None or counted.iv not in form[0]:
            return None
        rest = dict(form[0])
        factor, up = rest.pop(counted.iv), counted.step > 0
        first = (factor > 0) == up
        least = affine(counted.lower if first else counted.upper)
        if least is None or any(value in inside for value in rest):
            return None
        lowest = Counter(rest)
        for value, times in least[0].items():
            lowest[value] += factor * times
        number = form[1] + factor * (least[1] - (0 if first else 1 if up else -1))
        if number < 0 or any(times < 0 or times and value not in self.lengths for value, times in lowest.items()):
            return None
        return factor, rest, form[1]


def _accesses(loop: Loop) -> list[Op]:
    return [op for op in all_ops(loop.body) if op.opcode in ("load", "store")]


def _is_plain(loop: Loop, counted: Counted) -> bool:
    """An iteration ends at one place, the loop at its test, with what it carries, which is memory."""
    if not carries_memory_only(loop, counted) or any(op.opcode in ("routine", "call", "ufunc")
                                                    for op in all_ops(loop.body)):
        return False
    test, last = loop.body[1], loop.body[-1]
    assert isinstance(test, If)
    leave = test.orelse[0]
    exits = [item.end for item in walk(loop.body) if isinstance(item, Block) and isinstance(item.end, Exit)
             and item.end.label in (loop.label, loop.again)]
    return (len(exits) == 1 and isinstance(leave, Block) and not leave.ops and leave.end is exits[0]
            and all(value in loop.params for value in exits[0].values)
            and isinstance(last, Block) and isinstance(last.end, Yield))


def _join(first: Loop, one: Counted, second: Loop, two: Counted) -> None:
    """What both do, in `first`; the results of `second` are results of it."""
    body, rest = first.body, second.body[2:]
    now, leaving = end_of(body).values, _leave(first)
    after = dict(zip(first.results, leaving.values, strict=True))
    stands: dict[Value, Value] = {two.iv: one.iv}
    """What `second` carries -> what `first` carries in its place."""
    for param, init in zip(second.params, second.inits, strict=True):
        if param is not two.iv and init in after:
            stands[param] = after[init]
    at: dict[Value, int] = {param: k for k, param in enumerate(first.params)}
    reached: dict[Value, Value] = {value: now[at[stood]] for value, stood in [*after.items(), *stands.items()]
                                   if value is not two.iv}
    more = [k for k, param in enumerate(second.params) if param not in stands]
    replace_uses(body, {second.inits[k]: second.params[k] for k in more})  # memory that `first` only reads
    replace_uses(rest, {two.iv: one.iv, **reached})
    following: dict[Value, Value] = dict(zip(second.params, end_of(rest).values, strict=True))
    carried = {stood: following[param] for param, stood in stands.items() if param is not two.iv}
    values = [carried.get(param, value) for param, value in zip(first.params, now, strict=True)]
    first.params += [second.params[k] for k in more]
    first.inits += [second.inits[k] for k in more]
    leaving.values = [*leaving.values, *[stands.get(value, value) for value in _leave(second).values]]
    first.results += second.results
    last, head, final = body[-1], rest[0], rest[-1]
    assert isinstance(last, Block) and isinstance(head, Block) and isinstance(final, Block)
    final.end = Yield([*values, *[following[second.params[k]] for k in more]])
    last.ops, last.end = [*last.ops, *head.ops], head.end
    body += rest[1:]


def _leave(loop: Loop) -> Exit:
    test = loop.body[1]
    assert isinstance(test, If)
    block = test.orelse[0]
    assert isinstance(block, Block) and isinstance(block.end, Exit)
    return block.end
