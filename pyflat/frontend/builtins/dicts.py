"""Methods of dicts whose keys differ from lane to lane, `defaultdict` and `Counter`."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import libcst as cst

from pyflat.frontend.builtins.support import only
from pyflat.frontend.library import stdlib
from pyflat.frontend.space import containers, dict_views, keyed, lane_dicts
from pyflat.frontend.space import numbers as num
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.values import Abstract, Arguments, DictRef, Slice, Static


def update(s: Evaluator, ref: DictRef, source: Abstract, node: cst.CSTNode) -> None:
    """`ref.update(source)`: of a dict or of pairs; a Counter adds, and counts what is no dict."""
    counts = issubclass(ref.cls, Counter)
    of_dict = isinstance(source, DictRef) or isinstance(source, Static) and isinstance(source.value, dict)
    items = s.space.call(s.space.getattr(source, "items", node), Arguments([], {}), node) if of_dict else source

    def one(each: Abstract) -> Abstract:
        key, value = (each, Static(1)) if counts and not of_dict else s.space.items(each, node)
        if counts:
            value = num.binary(s, "add", lane_dicts.get(s, ref, key, Static(0), node), value)
        lane_dicts.store(s, ref, key, value, node)
        return Static(None)

    for each in containers.items_or_gaps(s, items, node):
        heap.where_present(s, each, one, lambda: Static(None))


def method(s: Evaluator, ref: DictRef, name: str, arguments: Arguments, node: cst.CSTNode) -> Abstract | None:
    values = arguments.positional
    match name, len(values):
        case "get", 1 | 2:
            return lane_dicts.get(s, ref, values[0], values[1] if len(values) > 1 else Static(None), node)
        case "pop", 1 | 2:
            return lane_dicts.pop(s, ref, values[0], values[1] if len(values) > 1 else None, node)
        case "setdefault", 1 | 2:
            return lane_dicts.setdefault(s, ref, values[0], values[1] if len(values) > 1 else Static(None), node)
        case "update", 1 if not arguments.named:
            update(s, ref, values[0], node)
        case "clear", 0:
            keyed.drop(s, dict_views.entries(s, ref, node), [Static(True)] * len(dict_views.rows(s, ref, node)), node)
        case "copy", 0:
            return lane_dicts.copied(s, ref, node)
        case "total", 0 if issubclass(ref.cls, Counter):
            return s.space.call(Static(sum), Arguments([s.space.call(s.space.getattr(ref, "values", node), Arguments(
                [], {}), node)], {}), node)
        case "__getitem__", 1:
            return lane_dicts.item(s, ref, values[0], node)
        case "__contains__", 1:
            return lane_dicts.contains(s, ref, values[0], node)
        case "most_common", 0 | 1 if issubclass(ref.cls, Counter):
            ordered = s.space.call(Static(stdlib.by_count), Arguments([ref], {}), node)
            return s.space.getitem(ordered, Slice(slice(None, values[0].value)), node) if values and isinstance(
                values[0], Static) else ordered if not values else None
        case _:
            return None
    return Static(None)


# --- classes
def make_defaultdict(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    values = only(s, arguments, node, 0, 2)
    made = lane_dicts.new(s, defaultdict, values[0] if values else Static(None))
    if len(values) > 1:
        update(s, made, values[1], node)
    return made


def make_counter(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    values = only(s, arguments, node, 0, 1)
    made = lane_dicts.new(s, Counter)
    if values:
        update(s, made, values[0], node)
    return made


HANDLERS: dict[Any, Any] = {defaultdict: make_defaultdict, Counter: make_counter}
