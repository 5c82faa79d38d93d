"""Dicts whose keys differ from lane to lane: counters, tables of what was seen.

    counts = {}                              heap contents of `counts`: ((ENTRIES, a list of its own),)
    for d in (a, b, c):
        counts[d] = counts.get(d, 0) + 1     the list has a pair of key and value for each key (`keyed`)

A dict gets this form at its first key that differs by lane; `defaultdict` and `Counter` have it from the start.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import libcst as cst

from pyflat.frontend.space import dict_views, keyed
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import entries_of, is_number_union, lane_form, per_alternative
from pyflat.frontend.state.values import ENTRIES, FACTORY, Abstract, Arguments, DictRef, ListRef, Seq, Static


def new(s: Evaluator, cls: type, factory: Abstract | None = None) -> DictRef:
    ref = DictRef(cls)
    parts: tuple[Any, ...] = () if factory is None else ((FACTORY, factory),)
    s.state.heap[ref] = (*parts, (ENTRIES, heap.new_list(s, ())))
    return ref


def of_pairs(s: Evaluator, pairs: Sequence[tuple[Abstract, Abstract]], node: cst.CSTNode) -> DictRef:
    """A dict of these items; of known keys it is an ordinary one."""
    if all(isinstance(key, Static) for key, _ in pairs):
        return heap.new_dict(s, {key.value: value for key, value in pairs if isinstance(key, Static)})
    made = new(s, dict)
    for key, value in pairs:
        store(s, made, key, value, node)
    return made


def to_lanes(s: Evaluator, ref: DictRef, node: cst.CSTNode) -> None:
    """The dict with keys of lanes, if it is not one already."""
    contents = heap.contents_with_gaps(s, ref, node)
    if entries_of(contents) is None:
        heap.rewrite(s, ref, lane_form(s.state, ref, contents), node)


def _found(s: Evaluator, ref: DictRef, key: Abstract, node: cst.CSTNode
           ) -> tuple[ListRef, list[tuple[keyed.Here, Abstract]]]:
    """The list of the entries, and of each the lanes in which it has the key, and its value."""
    keyed.check_key(s, key, "a dict", node)
    entries = dict_views.entries(s, ref, node)
    found = keyed.matches(s, entries, key, node, pairs=True)
    return entries, [(here, row.items[1] if isinstance(row, Seq) else row) for here, row in found]


# --- operations
@per_alternative("key", unless=is_number_union)
def item(s: Evaluator, ref: DictRef, key: Abstract, node: cst.CSTNode) -> Abstract:
    """`ref[key]`."""
    entries, found = _found(s, ref, key, node)
    held = [here for here, _ in found]
    factory = dict(heap.contents_with_gaps(s, ref, node)).get(FACTORY)
    if issubclass(ref.cls, Counter):
        return keyed.chosen(s, found, Static(0))
    if factory is None or isinstance(factory, Static) and factory.value is None:
        keyed.raise_where_missing(s, held, node)
        return keyed.chosen(s, found, None)
    made = s.space.call(factory, Arguments([], {}), node)
    keyed.add(s, entries, Seq(tuple, (key, made)), held, "a dict", node)
    return keyed.chosen(s, found, made)


@per_alternative("key", unless=is_number_union)
def get(s: Evaluator, ref: DictRef, key: Abstract, default: Abstract, node: cst.CSTNode) -> Abstract:
    return keyed.chosen(s, _found(s, ref, key, node)[1], default)


@per_alternative("key", unless=is_number_union)
def contains(s: Evaluator, ref: DictRef, key: Abstract, node: cst.CSTNode) -> Abstract:
    return keyed.any_of(s, [here for here, _ in _found(s, ref, key, node)[1]])


@per_alternative("key", unless=is_number_union)
def store(s: Evaluator, ref: DictRef, key: Abstract, value: Abstract, node: cst.CSTNode) -> None:
    """`ref[key] = value`: an equal key that is there already stays, and so does its place."""
    entries, found = _found(s, ref, key, node)
    held = [here for here, _ in found]
    keyed.replace(s, entries, held, lambda row: Seq(tuple, (keyed.key_of(row, pairs=True), value)), node)
    keyed.add(s, entries, Seq(tuple, (key, value)), held, "a dict", node)


@per_alternative("key", unless=is_number_union)
def delete(s: Evaluator, ref: DictRef, key: Abstract, node: cst.CSTNode) -> None:
    entries, found = _found(s, ref, key, node)
    held = [here for here, _ in found]
    keyed.raise_where_missing(s, held, node)
    keyed.drop(s, entries, held, node)


@per_alternative("key", unless=is_number_union)
def pop(s: Evaluator, ref: DictRef, key: Abstract, default: Abstract | None, node: cst.CSTNode) -> Abstract:
    entries, found = _found(s, ref, key, node)
    held = [here for here, _ in found]
    if default is None:
        keyed.raise_where_missing(s, held, node)
    taken = keyed.chosen(s, found, default)
    keyed.drop(s, entries, held, node)
    return taken


@per_alternative("key", unless=is_number_union)
def setdefault(s: Evaluator, ref: DictRef, key: Abstract, value: Abstract, node: cst.CSTNode) -> Abstract:
    entries, found = _found(s, ref, key, node)
    keyed.add(s, entries, Seq(tuple, (key, value)), [here for here, _ in found], "a dict", node)
    return keyed.chosen(s, found, value)


def copied(s: Evaluator, ref: DictRef, node: cst.CSTNode, cls: type | None = None) -> DictRef:
    made = new(s, dict) if cls is dict else new(s, ref.cls, dict(heap.contents_with_gaps(s, ref, node)).get(FACTORY))
    s.state.heap[dict_views.entries(s, made, node)] = s.state.heap[dict_views.entries(s, ref, node)]
    return made
