"""Lists that get more or fewer items in a loop that stays a loop become ones that grow (`space.growing`).

What is found at a back edge, a list with another number of items than before the iteration, is put right before the
loop: there the list gets a count and its places, and the body is built again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyflat.frontend.space import growing
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import alternatives, cells_of, entries_of, lane_form
from pyflat.frontend.state.values import (
    CONFLICT,
    UNBOUND,
    Abstract,
    Contents,
    DictRef,
    IncomingEdge,
    ListRef,
    Ref,
    Seq,
    State,
    Static,
)
from pyflat.frontend.syntax.loop_layouts import Owned


def grow(s: Evaluator, entry: State, start: State, edges: Sequence[IncomingEdge], owned: Owned, node: Any) -> set[Ref]:
    """Lists of `entry` that the edges have made longer or shorter get places there: which they are."""
    found: set[Ref] = set()
    of_body, s.state = s.state, entry
    for ref, before in start.heap.items():
        if type(ref) is DictRef and ref not in owned and ref in entry.heap and s.grows:
            found |= _other_keys(s, ref, entry, before, edges, node)
        if type(ref) is not ListRef or ref in owned or ref not in entry.heap:
            continue
        if cells_of(before) is not None:
            _put_in_places(edges, ref, before)
            continue
        changed = [after for edge in edges if _other_length(after := edge.state.heap.get(ref, before), before)]
        if changed and s.grows and before is not CONFLICT:
            entry.heap[ref] = growing.from_items(s, entry.heap[ref], _sample(entry.heap[ref], changed), node)
            found.add(ref)
    s.state = of_body
    return found


def _other_keys(s: Evaluator, ref: DictRef, entry: State, before: Contents, edges: Sequence[IncomingEdge], node: Any
                ) -> set[Ref]:
    """A dict that gets keys gets places for them before the loop."""
    after = [(edge.state, edge.state.heap.get(ref, before)) for edge in edges]
    if entries_of(before) is not None or any(each is CONFLICT for each in (before, *(found for _, found in after))):
        return set()
    keys = [key for key, _ in before]
    changed = [(state, found) for state, found in after if [key for key, _ in found] != keys]
    if not changed:
        return set()
    entry.heap[ref] = lane_form(entry, ref, entry.heap[ref])
    pairs = entry.heap[ref.entries]
    samples = [state.heap[lane_form(state, ref, found)[-1][1] if (other := entries_of(found)) is None else other]
               for state, found in changed]
    sample = _sample(pairs, samples, Seq(tuple, (Static(0), Static(0))))
    entry.heap[ref.entries] = growing.from_items(s, pairs, sample, node)
    return {ref, ref.entries}


def _other_length(after: Contents, before: Contents) -> bool:
    return after is not CONFLICT and (len(after) != len(before) or heap.has_gaps(after))


def _put_in_places(edges: Sequence[IncomingEdge], ref: ListRef, before: Contents) -> None:
    """A list that was made anew, as `xs[:] = []` does, goes on in the places that it has."""
    for edge in edges:
        after = edge.state.heap.get(ref, before)
        if after is not CONFLICT and not heap.has_gaps(after):
            edge.state.heap[ref] = tuple(growing.padded(list(after), before))


def _sample(before: Contents, changed: Sequence[Contents], other: Abstract | None = None) -> Abstract:
    """An item of the list: the kind of what its places will have."""
    for contents in (*changed, before):
        cells = cells_of(contents)
        for item in reversed(contents if cells is None else cells.items[1:]):
            for each in alternatives(item):
                if each is not UNBOUND:
                    return each
    return other or Static(0)
