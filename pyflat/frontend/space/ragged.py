"""Lists whose length differs from lane to lane: an item that some lanes do not have is a gap, which reads as

    if x > 0.0:            heap contents of `out`: (..., GuardedUnion(x > 0.0, x, UNBOUND))
        out.append(x)

The items that a lane has are in its list's order; their positions are not indices. What asks for one item after the
other (`for`, sum, len, `in`) skips gaps. Everything else (an index, a slice, pop, ==) is done once for each length, in
the lanes that have it (`by_length`), on a list without gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import libcst as cst

from pyflat.frontend.space import scalars
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import bound_part, has_gap, lane, maybe_unbound
from pyflat.frontend.state.values import CONFLICT, UNBOUND, Abstract, ListRef, Static
from pyflat.ir.build import const
from pyflat.ir.nodes import Value

MAX_LENGTHS = 24
"""Lengths of a list for which something is done one by one: operations grow with the square."""


def is_ragged(s: Evaluator, value: object) -> bool:
    """A local list of several lengths."""
    if type(value) is not ListRef:
        return False
    items = s.state.heap[value]
    return items is not CONFLICT and heap.has_gaps(items)


def items_of(s: Evaluator, value: Abstract, node: cst.CSTNode | None = None) -> tuple[Abstract, ...]:
    """The items of what `is_ragged`, gaps included."""
    assert isinstance(value, ListRef)
    return heap.contents_with_gaps(s, value, node)


def split_gap(s: Evaluator, item: Abstract) -> tuple[Static | Value, Abstract]:
    """(which lanes have the item, the item)."""
    return _present(s, item), bound_part(item)


def _present(s: Evaluator, item: Abstract) -> Static | Value:
    if not has_gap(item):
        return Static(item is not UNBOUND)
    here, there = _present(s, item.then), _present(s, item.orelse)
    return s.build.op("select", item.cond, lane(here), lane(there))


def length(s: Evaluator, items: Sequence[Abstract]) -> Abstract:
    """How many items a lane has."""
    total: Abstract = Static(sum(not maybe_unbound(item) for item in items))
    for item in items:
        if maybe_unbound(item):
            total = scalars.binary(s, "add", total, split_gap(s, item)[0])
    return total


def is_filled(s: Evaluator, items: Sequence[Abstract]) -> Static | Value:
    """Whether a lane has any item."""
    if any(not maybe_unbound(item) for item in items):
        return Static(True)
    found: Static | Value = Static(False)
    for item in items:
        present, _ = split_gap(s, item)
        found = present if isinstance(found, Static) else s.build.op("or", found, lane(present))
    return found


def packed(s: Evaluator, items: Sequence[Abstract], node: cst.CSTNode) -> tuple[list[Abstract], int, Abstract]:
    """The items without gaps between them, how many every lane has, and how many a lane has: what is behind its last
    item means nothing."""
    if sum(map(maybe_unbound, items)) > MAX_LENGTHS:
        raise s.refuse("flatten/too-large", f"a list has one of more than {MAX_LENGTHS} lengths here", node,
                       why="this is done for each of them", help="ask for len, sum, min, max or `in` of it, or loop")
    out: list[Abstract] = []
    least = 0
    count: Abstract = Static(0)
    for item in items:
        present, value = split_gap(s, item)
        if value is UNBOUND:
            continue
        if isinstance(present, Static) and least == len(out):
            out.append(value)
            least, count = least + 1, Static(least + 1)
            continue
        out.append(value)
        for at in range(least, len(out) - 1):
            here = s.build.op("and", lane(present), s.build.op("eq", lane(count), const(at)))
            out[at] = scalars.choose(s, here, value, out[at])
        if isinstance(present, Static):
            least += 1
        count = scalars.binary(s, "add", count, present)
    return out, least, count


def by_length(s: Evaluator, ref: Abstract, use: Callable[[], Abstract | None], node: cst.CSTNode) -> Abstract:
    """`use()` for each length that the list may have, while its contents are the items of that many."""
    assert isinstance(ref, ListRef)
    before = heap.contents_with_gaps(s, ref, node)
    items, least, count = packed(s, before, node)

    def narrowed(size: int) -> Abstract | None:
        s.state.heap[ref] = plain = tuple(items[:size])
        value = use()
        if s.state.heap.get(ref) is plain:
            s.state.heap[ref] = before
        return value

    def of_size(size: int) -> Abstract | None:
        if size == len(items):
            return narrowed(size)
        here = s.build.op("eq", lane(count), const(size))
        return s.branch(here, lambda: narrowed(size), lambda: of_size(size + 1))

    return of_size(least) or Static(None)
