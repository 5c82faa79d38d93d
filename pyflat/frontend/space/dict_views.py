"""Dicts whose keys differ from lane to lane (`lane_dicts`), as what looks at them sees them: their entries are pairs,
and one that a lane does not have is a gap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any, TypeGuard

import libcst as cst

from pyflat.frontend.space import ragged
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import cells_of, entries_of, folded, lane, mapped, maybe_unbound
from pyflat.frontend.state.values import CONFLICT, UNBOUND, Abstract, DictRef, ListRef, Seq, Static
from pyflat.ir.build import const
from pyflat.ir.nodes import Value


def entries(s: Evaluator, ref: DictRef, node: cst.CSTNode | None) -> ListRef:
    found = entries_of(heap.contents_with_gaps(s, ref, node))
    assert found is not None
    return found


def is_of_lanes(value: object, s: Evaluator) -> TypeGuard[DictRef]:
    if not isinstance(value, DictRef):
        return False
    contents = s.state.heap[value]
    return contents is not CONFLICT and entries_of(contents) is not None


def rows(s: Evaluator, ref: DictRef, node: cst.CSTNode | None = None) -> tuple[Abstract, ...]:
    """The pairs, gaps included."""
    return heap.contents_with_gaps(s, entries(s, ref, node), node)


def length(s: Evaluator, ref: DictRef, node: cst.CSTNode | None) -> Abstract:
    return ragged.length(s, rows(s, ref, node))


def is_filled(s: Evaluator, ref: DictRef) -> Static | Value:
    return ragged.is_filled(s, rows(s, ref))


def view(s: Evaluator, ref: DictRef, what: str, node: cst.CSTNode | None) -> Iterator[Abstract]:
    """Keys, values or items, gaps included, as they are when the iteration reaches them."""
    pairs = entries(s, ref, node)
    first = before = s.state.heap[pairs]
    seen = rows(s, ref, node)
    for at in range(len(seen)):
        if (now := s.state.heap[pairs]) is not before:
            _check_keys(s, first, now, node)
            before, seen = now, rows(s, ref, node)
        yield mapped(seen[at], lambda row: _seen(row, what))
    _check_keys(s, first, s.state.heap[pairs], node)


def _seen(row: Abstract, what: str) -> Abstract:
    if not isinstance(row, Seq):
        return row
    return row if what == "items" else row.items[0 if what == "keys" else 1]


def _check_keys(s: Evaluator, first: Sequence[Abstract], now: Sequence[Abstract], node: Any) -> None:
    """Lanes in which the dict gets other keys while it is iterated over are the original's, which raises."""
    before, after = cells_of(first), cells_of(now)
    if before is not None and after is not None:
        _check_places(s, before, after, node)
        return
    if before is not None or after is not None:
        raise s.refuse("flatten/list-mutation", "a dict gets more or fewer keys while it is iterated over", node,
                       help="iterate over a copy: `for key in list(counts)`")
    for old, new in zip_longest(first, now, fillvalue=UNBOUND):
        if _presence(old) != _presence(new):
            _suspect(s, s.build.op("xor", *(lane(ragged.split_gap(s, row)[0]) for row in (old, new))), node)


def _check_places(s: Evaluator, before: Seq, after: Seq, node: Any) -> None:
    if before.items[0] is not after.items[0]:
        _suspect(s, lane(s.space.truth(s.space.compare("ne", before.items[0], after.items[0], node))), node)
    for at, (old, new) in enumerate(zip(before.items[1:], after.items[1:], strict=True)):
        if isinstance(old, Seq) and isinstance(new, Seq) and old.items[0] is not new.items[0]:
            there = s.build.op("gt", lane(before.items[0]), const(at))
            other = s.space.truth(s.space.compare("ne", old.items[0], new.items[0], node))
            _suspect(s, s.build.op("and", there, lane(other)), node)


def _suspect(s: Evaluator, changed: Value, node: Any) -> None:
    heap.suspect_if(s, changed, "a dict gets other keys while it is iterated over", node)


def _presence(row: Abstract) -> Any:
    return folded(row, maybe_unbound, lambda *parts: parts)
