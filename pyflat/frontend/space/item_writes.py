"""Writing to items of local lists, dicts and arrays; captured containers are never written."""

from __future__ import annotations

from typing import Any

import libcst as cst

from pyflat.frontend.space import array_items, arrays, memories, scalars, scratch, whole_arrays
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import describe, lane, numeric_kind
from pyflat.frontend.state.values import (
    Abstract,
    Axes,
    DictRef,
    GuardedUnion,
    IterRef,
    ListRef,
    Scratch,
    Seq,
    Slice,
    Static,
    Subscript,
    View,
)
from pyflat.ir.build import const
from pyflat.ir.nodes import Value
from pyflat.ir.types import FLOAT, INT


def store_item(s: Evaluator, owner: Abstract, key: Subscript, value: Abstract, node: cst.CSTNode
               ) -> None:
    """`owner[key] = value` on a local list, dict or array."""
    if isinstance(owner, View) and isinstance(key, View):
        whole_arrays.store_selected(s, owner, key, value, node)
        return
    if isinstance(owner, View):
        memories.store(s, owner, key, value, node)
        return
    if not isinstance(owner, GuardedUnion):
        memories.require_known(s, key, node)
    if arrays.is_array(owner):
        array_items.store(s, owner, key, value, node)
        return
    if isinstance(key, Axes):
        raise s.refuse("flatten/unsupported-expression", f"slices of several axes of {describe(owner)}", node)
    match owner:
        case GuardedUnion():
            s.split(owner, lambda v: store_item(s, v, key, value, node))
        case ListRef() if isinstance(key, Slice):
            changed = list(heap.contents(s, owner, node))
            changed[key.value] = s.space.items(value, node)
            heap.rewrite(s, owner, tuple(changed), node)
        case ListRef() if not isinstance(key, Slice):
            _store_list(s, owner, key, value, node)
        case DictRef() if isinstance(key, Static):
            entries = dict(heap.contents(s, owner, node))
            entries[key.value] = value
            heap.rewrite(s, owner, tuple(entries.items()), node)
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
    if isinstance(key, Slice) and key.start is None:
        position: Any = key.value
    elif isinstance(key, Static):
        position = key.value
    else:
        raise s.refuse("flatten/list-mutation", "which item is deleted differs from lane to lane", node)
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
