"""Writing to items of local lists, dicts and arrays; captured containers are never written."""

from __future__ import annotations

from typing import Any

import libcst as cst

from pyflat.frontend.space import (
    array_items,
    arrays,
    containers,
    dict_views,
    growing,
    keyed,
    memories,
    ragged,
    scalars,
    scratch,
    whole_arrays,
)
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import describe, lane, numeric_kind
from pyflat.frontend.state.values import (
    Abstract,
    Axes,
    Complex,
    DictRef,
    GuardedUnion,
    IterRef,
    ListRef,
    Ranges,
    Scratch,
    Seq,
    Slice,
    Static,
    Subscript,
    Text,
    Unsigned,
    View,
)
from pyflat.ir.build import const
from pyflat.ir.nodes import Value
from pyflat.ir.types import FLOAT, INT


def store_item(s: Evaluator, owner: Abstract, key: Subscript, value: Abstract, node: cst.CSTNode
               ) -> None:
    """`owner[key] = value` on a local list, dict or array."""
    if isinstance(owner, View) and whole_arrays.has_arrays(key):
        whole_arrays.store_selected(s, owner, key, value, node)
        return
    if isinstance(owner, View):
        memories.store(s, owner, key, value, node)
        return
    if isinstance(owner, Ranges) and owner.at is not None and not isinstance(key, Slice | Axes) and (
            numeric_kind(key) is INT):
        memories.assign(s, owner.at(key), value, node)
        return
    if not isinstance(owner, GuardedUnion):
        memories.require_known(s, key, node)
    if arrays.is_array(owner):
        array_items.store(s, owner, key, value, node)
        return
    if isinstance(key, Axes):
        raise s.refuse("flatten/unsupported-expression", f"slices of several axes of {describe(owner)}", node)
    if isinstance(owner, ListRef) and growing.is_growing(s, owner) and not isinstance(key, Slice | GuardedUnion):
        growing.store(s, owner, key, value, node)
        return
    if ragged.is_ragged(s, owner):
        ragged.by_length(s, owner, lambda: store_item(s, owner, key, value, node), node)
        return
    match owner:
        case GuardedUnion():
            s.split(owner, lambda v: store_item(s, v, key, value, node))
        case ListRef() if isinstance(key, Slice):
            changed = list(heap.contents(s, owner, node))
            changed[key.value] = s.space.items(value, node)
            heap.rewrite(s, owner, tuple(changed), node)
        case ListRef() if not isinstance(key, Slice):
            _store_list(s, owner, key, value, node)
        case DictRef() if dict_views.is_of_lanes(owner, s) and not isinstance(key, Slice):
            keyed.store(s, owner, key, value, node)
        case DictRef() if isinstance(key, Static):
            entries = dict(heap.contents(s, owner, node))
            entries[key.value] = value
            heap.rewrite(s, owner, tuple(entries.items()), node)
        case DictRef() if not isinstance(key, Slice | Axes):
            _store_at_lane(s, owner, key, value, node)
        case Static() | Scratch() if type(owner.value) in (list, dict) and not isinstance(key, Slice):
            scratch.set_item(s, owner.value, key, value, node)
        case Static() if not isinstance(owner.value, bool | int | float | str | tuple | type(None)):
            raise s.refuse("flatten/effect", "the flattened function writes to a captured object", node)
        case Seq() if issubclass(owner.cls, list):
            raise s.refuse("flatten/effect", f"an item of {describe(owner)} is written", node, help="use a local list")
        case Static() | Seq() | Value():
            raise s.raised(TypeError, node)
        case _:
            raise s.refuse("flatten/unsupported-statement", f"cannot assign to an item of {describe(owner)}", node)


def delete_item(s: Evaluator, owner: Abstract, key: Subscript, node: cst.CSTNode) -> None:
    """`del owner[key]` on a local list or dict."""
    if isinstance(owner, ListRef) and growing.is_growing(s, owner) and isinstance(key, Static | Value):
        growing.take(s, owner, key, node)
        return
    if ragged.is_ragged(s, owner):
        ragged.by_length(s, owner, lambda: delete_item(s, owner, key, node), node)
        return
    if type(owner) is ListRef and isinstance(key, Value):
        take_item(s, owner, key, node)
        return
    if isinstance(owner, DictRef) and not isinstance(key, Slice | Axes) and (
            dict_views.is_of_lanes(owner, s) or not isinstance(key, Static)):
        keyed.to_lanes(s, owner, node)
        keyed.delete(s, owner, key, node)
        return
    if isinstance(key, Slice) and key.start is None:
        position: Any = key.value
    elif isinstance(key, Static):
        position = key.value
    else:
        raise s.refuse("flatten/list-mutation", "which item is deleted depends on the data", node)
    if isinstance(owner, ListRef) and not isinstance(owner, IterRef):
        items = list(heap.contents(s, owner, node))
        try:
            del items[position]
        except IndexError:
            raise s.raised(IndexError, node) from None
        heap.rewrite(s, owner, tuple(items), node)
    elif isinstance(owner, DictRef):
        entries = dict(heap.contents(s, owner, node))
        if position not in entries:
            raise s.raised(KeyError, node)
        del entries[position]
        heap.rewrite(s, owner, tuple(entries.items()), node)
    else:
        raise s.refuse("flatten/effect", f"an item of {describe(owner)} is deleted", node, help="use a local list")


def _store_at_lane(s: Evaluator, ref: DictRef, key: Abstract, value: Abstract, node: cst.CSTNode) -> None:
    """An entry of a dict with known keys, of which a lane with another key is left to the original; a dict without such
    keys gets keys of lanes."""
    entries = dict(heap.contents(s, ref, node))
    if isinstance(key, GuardedUnion):
        s.split(key, lambda one: store_item(s, ref, one, value, node))
        return
    if isinstance(key, Text | Unsigned | Complex):
        keyed.to_lanes(s, ref, node)
        keyed.store(s, ref, key, value, node)
        return
    hits = containers.key_matches(s, entries, key, node)
    if not hits:
        keyed.to_lanes(s, ref, node)
        keyed.store(s, ref, key, value, node)
        return
    found: Value = const(False)
    for known, hit in hits:
        entries[known] = scalars.choose(s, hit, value, entries[known])
        found = s.build.op("or", found, hit)
    heap.suspect_if(s, s.build.op("not", found), "a new key of a dict", node)
    heap.rewrite(s, ref, tuple(entries.items()), node)


def take_item(s: Evaluator, ref: ListRef, key: Abstract, node: cst.CSTNode) -> Abstract:
    """`owner.pop(key)`: the items behind it move up."""
    items = heap.contents(s, ref, node)
    if not items:
        raise s.raised(IndexError, node)
    position = _checked(s, key, len(items), node)
    if isinstance(position, Static):
        taken: Abstract = items[position.value]
        heap.rewrite(s, ref, (*items[:position.value], *items[position.value + 1:]), node)
        return taken
    taken = s.space.getitem(heap.make_tuple(items), position, node)
    rest = [scalars.choose(s, s.build.op("gt", position, const(at)), items[at], items[at + 1])
            for at in range(len(items) - 1)]
    heap.rewrite(s, ref, tuple(rest), node)
    return taken


def insert_item(s: Evaluator, ref: ListRef, key: Abstract, value: Abstract, node: cst.CSTNode) -> None:
    """`owner.insert(key, value)`: a position outside means the nearer end."""
    items = list(heap.contents(s, ref, node))
    kind = numeric_kind(key)
    if kind is None or kind is FLOAT:
        raise s.raised(TypeError, node)
    if isinstance(key, Static):
        items.insert(key.value, value)
    else:
        position = scalars.to_kind(s, lane(key), INT)
        size = const(len(items))
        below = s.build.op("lt", position, const(-len(items)))
        from_end = s.build.op("select", below, const(0), s.build.op("add", size, s.build.op(
            "select", below, const(0), position)))
        position = s.build.op("select", s.build.op("lt", position, const(0)), from_end, position)
        moved = [*items, value]
        for at in range(len(items), -1, -1):
            before, after = s.build.op("lt", position, const(at)), s.build.op("gt", position, const(at))
            kept = scalars.choose(s, after, items[at], value) if at < len(items) else value
            moved[at] = scalars.choose(s, before, items[at - 1], kept) if at else kept
        items = moved
    heap.rewrite(s, ref, tuple(items), node)


def _checked(s: Evaluator, key: Abstract, size: int, node: cst.CSTNode) -> Static | Value:
    """The index of an item, from the front."""
    kind = numeric_kind(key)
    if kind is None or kind is FLOAT:
        raise s.raised(TypeError, node)
    if isinstance(key, Static):
        if not -size <= key.value < size:
            raise s.raised(IndexError, node)
        return Static(key.value % size)
    return heap.check_index(s, scalars.to_kind(s, lane(key), INT), size, node)


def _store_list(s: Evaluator, ref: ListRef, key: Abstract, value: Abstract, node: cst.CSTNode) -> None:
    items = list(heap.contents(s, ref, node))
    if isinstance(key, Static):
        if not isinstance(key.value, int) or not -len(items) <= key.value < len(items):
            raise s.raised(IndexError, node)
        items[key.value] = value
    else:
        kind = numeric_kind(key)
        if kind is None or kind is FLOAT:
            raise s.fault("TypeError", "list indices must be integers", node)
        position = heap.check_index(s, scalars.to_kind(s, lane(key), INT), len(items), node)
        items = [scalars.choose(s, s.build.op("eq", position, const(i)), value, item) for i, item in enumerate(items)]
    heap.rewrite(s, ref, tuple(items), node)
