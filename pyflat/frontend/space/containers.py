"""Tuples, lists, dicts and tables: building, indexing, iterating, membership.

Local lists and dicts have identity: their contents live on the heap of the current state. Captured containers are
read, never written, and what is read of them is guarded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import EnumMeta
from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.space import (
    array_items,
    arrays,
    characters,
    dict_views,
    growing,
    memories,
    ragged,
    scalars,
    unsigned,
    whole_arrays,
)
from pyflat.frontend.space.number_classes import classes_of
from pyflat.frontend.space.scalars import const_eval
from pyflat.frontend.state import derived, heap, lookup
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import (
    alternatives,
    describe,
    is_generator,
    lane,
    maybe_unbound,
    number_base,
    numeric_kind,
    per_alternative,
)
from pyflat.frontend.state.values import (
    Abstract,
    Arguments,
    Array,
    Axes,
    BoundMethod,
    Char,
    Chars,
    Derived,
    DictRef,
    GuardedUnion,
    IterRef,
    LaneSet,
    Lazy,
    ListRef,
    NumberText,
    ObjRef,
    OtherText,
    Ranges,
    Scratch,
    Seq,
    Slice,
    Static,
    Subscript,
    Unavailable,
    Unsigned,
    View,
)
from pyflat.ir.build import const
from pyflat.ir.nodes import TRUE, Value
from pyflat.ir.tables import table_of
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MAX, INT_MIN, Kind, kind_of

MAX_COLUMNS = 64
_ITERABLES: Any = (tuple, list, dict, np.ndarray, str, frozenset, set, EnumMeta, type({}.items()), type({}.keys()),
                   type({}.values()))


# --- building
def make_set(s: Evaluator, items: Sequence[Abstract], node: cst.CSTNode) -> Abstract:
    """A set of known values."""
    known = [v.value for v in items if isinstance(v, Static)]

    def build() -> set[Any]:
        made = set()
        for value in known:
            made.add(value)
        return made

    return const_eval(s, build)


def dict_entries(s: Evaluator, value: Abstract) -> dict[Any, Abstract]:
    if isinstance(value, DictRef):
        return dict(heap.contents(s, value))
    if isinstance(value, Static) and isinstance(value.value, dict):
        return {k: s.space.wrap(v) for k, v in value.value.items()}
    raise s.refuse("flatten/unsupported-expression", f"** needs a dict, not {describe(value)}")


# --- iterating
def items_now(s: Evaluator, value: Abstract, node: cst.CSTNode | None = None) -> list[Abstract]:
    return list(iterate(s, _made(s, value, node), node))


def items_or_gaps(s: Evaluator, value: Abstract, node: cst.CSTNode | None = None) -> list[Abstract]:
    """Like items_now; an item that a generator's `if` leaves out in some lanes is a GuardedUnion with UNBOUND."""
    return list(gaps_of(s, _made(s, value, node), node))


def _made(s: Evaluator, value: Abstract, node: cst.CSTNode | None) -> Abstract:
    """A list of the items of a generator, which are all asked for; anything else as it is."""
    if node is not None:
        value = s.space.iterator(value, node)
    return s.space.listed(value, node) if node is not None and is_generator(value) else value


def gaps_of(s: Evaluator, value: Abstract, node: cst.CSTNode | None = None) -> Iterator[Abstract]:
    """The items one by one, computed when they are asked for, gaps included."""
    if isinstance(value, Lazy):
        s.use_up(value, node)
        return value.start()
    if type(value) is ListRef:
        return _live(s, value, node)
    if characters.is_text(value):
        return iter(characters.items_of(s, value) or ())
    if isinstance(value, DictRef):
        return dict_view(s, value, {}, "keys", node)
    return iterate(s, value, node)


def _without_gaps(s: Evaluator, items: Iterator[Abstract], node: cst.CSTNode | None) -> Iterator[Abstract]:
    for item in items:
        if maybe_unbound(item):
            raise s.refuse("flatten/list-mutation", "the `if` of a generator depends on the data", node,
                           help="use it inside sum, min, max, any or all, or write a conditional expression")
        yield item


def iterate(s: Evaluator, value: Abstract, node: cst.CSTNode | None = None) -> Iterator[Abstract]:
    """The items, one by one; a local list is read live, so that changes in a loop body are seen as in Python."""
    match value:
        case Seq():
            return iter(value.items)
        case Scratch() if (listed := sequence_items(s, value, node)) is not None:
            return iter(listed)
        case Array() | GuardedUnion() if arrays.is_array(value):
            return (arrays.row(s, value, i, node) for i in range(arrays.shape_of(value)[0]))
        case IterRef():
            return _used_up(s, value, node)
        case ListRef():
            return _without_gaps(s, _live(s, value, node), node)
        case Char() | Chars() | NumberText() if characters.is_text(value):
            return _without_gaps(s, iter(characters.items_of(s, value) or ()), node)
        case DictRef():
            return _without_gaps(s, dict_view(s, value, {}, "keys", node), node)
        case Lazy():
            s.use_up(value, node)
            return _without_gaps(s, value.start(), node)
        case ObjRef() if node is not None and (method := lookup.method_of(value, "__iter__")) is not None:
            made = lookup.call_method(s, method, [value], node)
            if isinstance(made, ObjRef):
                raise s.refuse("flatten/iterable-not-static", f"__iter__ of {describe(value)} returns a custom "
                               "iterator", node, help="return iter(...) of a tuple or list")
            return iterate(s, made, node)
        case Derived() if (parts := derived.items(s, value, node)) is not None:
            return iter(parts)
        case Static():
            return iter(_static_items(s, value.value, node))
    if isinstance(value, LaneSet):
        raise s.refuse("flatten/iterable-not-static", "the order of a set of computed numbers", node,
                       why="it follows hashes, which depend on the data", help="iterate over sorted(...) of it")
    raise s.refuse("flatten/iterable-not-static", f"cannot iterate over {describe(value)}", node,
                   help=s.one_number if numeric_kind(value) is not None else "")


def dict_view(s: Evaluator, ref: DictRef | None, known: dict[Any, Abstract], view: str, node: cst.CSTNode | None
              ) -> Iterator[Abstract]:
    """Keys, values or items as they are when the iteration reaches them; RuntimeError when the size changes."""
    if ref is not None and dict_views.is_of_lanes(ref, s):
        yield from dict_views.view(s, ref, view, node)
        return
    size = len(known if ref is None else heap.contents(s, ref, node))
    for position in range(size):
        now_there = list(known.items()) if ref is None else list(heap.contents(s, ref, node))
        if len(now_there) != size:
            raise s.raised(RuntimeError, node)
        key, value = now_there[position]
        yield Static(key) if view == "keys" else value if view == "values" else heap.make_tuple([Static(key), value])
    if ref is not None and len(heap.contents(s, ref, node)) != size:
        raise s.raised(RuntimeError, node)


def _live(s: Evaluator, ref: ListRef, node: cst.CSTNode | None) -> Iterator[Abstract]:
    """The items of a list as they are when the iteration reaches them, gaps included. Where there are gaps, a position
    is no index: items may be added behind them, and no other changed."""
    if growing.is_growing(s, ref):
        before = s.state.heap[ref]
        for item in heap.contents_with_gaps(s, ref, node):
            yield item
            if s.state.heap[ref] is not before:
                raise growing.changed(s, node)
        return
    position, seen = 0, heap.contents_with_gaps(s, ref, node)
    while position < len(items := heap.contents_with_gaps(s, ref, node)):
        if items is not seen and (heap.has_gaps(items) or heap.has_gaps(seen)) and items[:len(seen)] != seen:
            break
        seen = items
        yield items[position]
        position += 1
    items = heap.contents_with_gaps(s, ref, node)
    if items is not seen and (heap.has_gaps(items) or heap.has_gaps(seen)) and items[:len(seen)] != seen:
        raise s.refuse("flatten/list-mutation", "a list is iterated over and changed, and its length "
                       "depends on the data", node, help="iterate over a copy: `for x in list(xs)`")


def _used_up(s: Evaluator, ref: IterRef, node: cst.CSTNode | None) -> Iterator[Abstract]:
    while left := heap.contents(s, ref, node):
        heap.rewrite(s, ref, left[1:], node)
        if isinstance(left[0], Unavailable):
            raise left[0].error
        yield left[0]


def _static_items(s: Evaluator, known: Any, node: cst.CSTNode | None) -> Sequence[Abstract] | Iterator[Abstract]:
    if isinstance(known, range):
        return (Static(i) for i in known)
    if isinstance(known, np.ndarray) and known.ndim == 0:
        raise s.raised(TypeError, node)
    if isinstance(known, _ITERABLES):
        return [s.space.wrap(v) for v in list(known)]
    raise s.refuse("flatten/iterable-not-static", f"cannot iterate over {describe(Static(known))}", node)


def sequence_items(s: Evaluator, value: Abstract, node: cst.CSTNode | None = None) -> tuple[Abstract, ...] | None:
    """The items of something with a length and an order, None for anything else."""
    match value:
        case IterRef():
            return None
        case Derived():
            return derived.items(s, value, node)
        case Seq() if number_base(value.cls) is not None:
            return None
        case Seq():
            return value.items
        case Array():
            return tuple(arrays.row(s, value, i, node) for i in range(len(value.places)))
        case ListRef():
            return heap.contents(s, value, node)
        case Scratch() if type(value.value) is list and node is not None:
            return tuple(s.space.scratch_item(value, Static(k), node) for k in range(len(value.value)))
        case Static(np.ndarray(ndim=0)):
            return None
        case Static() if isinstance(value.value, tuple | list | range | np.ndarray | str):
            return tuple(_static_items(s, value.value, node))
    return None


# --- indexing
def index(s: Evaluator, owner: Abstract, key: Subscript, node: cst.CSTNode) -> Abstract:
    """`owner[key]`."""
    if isinstance(owner, View) and whole_arrays.has_arrays(key):
        return whole_arrays.selected(s, owner, key, node)
    if isinstance(owner, View):
        return memories.index(s, owner, key, node)
    if not isinstance(owner, GuardedUnion):
        memories.require_known(s, key, node)
    owner = s.scratch.get(id(owner.value), owner) if s.scratch and isinstance(owner, Static) else owner
    if arrays.is_array(owner):
        return array_items.index(s, owner, key, node)
    if isinstance(owner, Ranges) and owner.at is not None and not isinstance(key, Slice | Axes) and (
            numeric_kind(key) is INT):
        return memories.load(s, owner.at(key))
    if isinstance(owner, GuardedUnion):
        return s.split(owner, lambda v: index(s, v, key, node))
    if isinstance(owner, Scratch) and not isinstance(key, Axes | Slice) and type(owner.value) in (list, dict):
        return s.space.scratch_item(owner, key, node)
    if isinstance(owner, ListRef) and growing.is_growing(s, owner) and not isinstance(key, Axes):
        return _index_growing(s, owner, key, node)
    if ragged.is_ragged(s, owner):
        return ragged.by_length(s, owner, lambda: index(s, owner, key, node), node)
    if isinstance(key, Axes):
        raise s.refuse("flatten/unsupported-expression", f"slices of several axes of {describe(owner)}", node)
    if characters.is_text(owner) and not isinstance(key, GuardedUnion):
        if isinstance(key, Slice) and key.start is not None:
            raise s.refuse("flatten/unsupported-expression", "a slice of a string at a computed index", node)
        chars = characters.items_of(s, owner) or ()
        if isinstance(key, Slice):
            return characters.part(s, chars, key.value, node)
        return characters.at(s, chars, key, node)
    if isinstance(key, Slice):
        return _window(s, owner, key, node) if key.start is not None else _slice(s, owner, key.value, node)
    if isinstance(key, GuardedUnion):
        return s.split(key, lambda v: index(s, owner, v, node))
    if dict_views.is_of_lanes(owner, s):
        return s.space.call(BoundMethod(owner, "__getitem__"), Arguments([key], {}), node)
    if isinstance(key, Static) and isinstance(owner, Static):
        return _static_index(s, owner.value, key.value, node)
    if isinstance(key, OtherText) and isinstance(owner, Static) and hasattr(type(owner.value), "__missing__"):
        raise s.refuse("flatten/unsupported-expression", f"{describe(key)} is a key that the dict may add", node)
    if isinstance(owner, DictRef) or isinstance(owner, Static) and isinstance(owner.value, dict):
        return _dict_index(s, dict_entries(s, owner), key, node)
    found = lookup.method_of(owner, "__getitem__")
    if found is not None:
        return lookup.call_method(s, found, [owner, key], node)
    position = lookup.method_of(key, "__index__")
    if position is not None:
        return index(s, owner, lookup.call_method(s, position, [key], node), node)
    if isinstance(owner, Static) and isinstance(key, Value) and (kind := _kind_of_all(owner.value)) is not None:
        return _table(s, owner.value, _position(s, key, node), kind)
    items = sequence_items(s, owner, node)
    if items is None:
        if numeric_kind(owner) is not None:
            if (part := _of_numpy_number(s, owner, key, node)) is not None:
                return part
            if s.widths.seen:
                raise s.fault("TypeError", "a number is not subscriptable", node)
            raise s.raised(TypeError, node, "a number is not subscriptable")
        raise s.refuse("flatten/unsupported-expression", f"{describe(owner)} cannot be indexed", node)
    if isinstance(key, Static):
        return _item(s, items, key.value, node)
    return lane_index(s, items, key, node)


def _of_numpy_number(s: Evaluator, owner: Abstract, key: Subscript, node: cst.CSTNode) -> Abstract | None:
    """A number of NumPy's is indexed as an array without axes: by () it is the number, by a bool an array of it, or of
    nothing."""
    if isinstance(key, Slice | Axes) or not isinstance(owner, Value) or not s.is_numpy(owner) or (
            np.ndarray in classes_of(s, owner)):
        return None
    if isinstance(key, Static) and type(key.value) is tuple and not key.value or isinstance(key, Seq) and not key.items:
        return owner
    if numeric_kind(key) is not BOOL:
        return None
    one = arrays.new(s, arrays.filled((1,), [owner]), node)
    none = arrays.new(s, arrays.filled((0,), []), node, owner.kind)
    if isinstance(key, Static):
        return one if key.value else none
    return GuardedUnion(lane(key), one, none)


@per_alternative("key")
def _index_growing(s: Evaluator, owner: ListRef, key: Abstract | Slice, node: cst.CSTNode) -> Abstract:
    if not isinstance(key, Slice):
        return growing.item(s, owner, key, node)
    if key.start is not None or key.bounds:
        raise s.refuse("flatten/list-mutation", "a slice at a computed index of a list that grows in a loop", node,
                       help="loop over the positions")
    return growing.part(s, owner, key.value, node)


def _static_index(s: Evaluator, owner: Any, key: Any, node: cst.CSTNode) -> Abstract:
    if isinstance(owner, tuple | str | range | bytes):
        return const_eval(s, lambda: owner[key])
    function = lookup.method_of(Static(owner), "__getitem__")
    if function is not None:
        return lookup.call_method(s, function, [Static(owner), Static(key)], node)
    found = const_eval(s, lambda: owner[key])
    assert isinstance(found, Static)
    return s.space.wrap(found.value)


def _item(s: Evaluator, items: tuple[Abstract, ...], key: Any, node: cst.CSTNode) -> Abstract:
    try:
        found: Abstract = items[key]
        return found
    except IndexError:
        raise s.raised(IndexError, node) from None
    except TypeError as error:
        raise s.fault("TypeError", str(error), node) from None


def _slice(s: Evaluator, owner: Abstract, part: slice, node: cst.CSTNode) -> Abstract:
    if isinstance(owner, Static):
        return const_eval(s, lambda: owner.value[part])
    items = sequence_items(s, owner, node)
    if items is None:
        raise s.refuse("flatten/unsupported-expression", f"{describe(owner)} cannot be sliced", node)
    return heap.new_list(s, items[part]) if isinstance(owner, ListRef) else heap.make_tuple(items[part])


def _window(s: Evaluator, owner: Abstract, part: Slice, node: cst.CSTNode) -> Abstract:
    """`xs[i : i + WIDTH]` inside the sequence; where it reaches outside, the lane is replayed."""
    items = sequence_items(s, owner, node)
    if items is None or part.start is None:
        raise s.refuse("flatten/unsupported-expression", f"{describe(owner)} cannot be sliced", node)
    build, start = s.build, part.start
    outside = build.op("or", build.op("lt", start, const(0)), build.op("gt", start, const(len(items) - part.width)))
    heap.fault_if(s, outside, "IndexError", "a slice reaches over the end", node)
    window = [lane_index(s, items, build.op("add", start, const(offset)), node) for offset in range(part.width)]
    cls = lookup.class_of(owner)
    if cls is tuple:
        return heap.make_tuple(window)
    if cls is not list:
        raise s.refuse("flatten/unsupported-expression", f"a slice of {describe(owner)} at a computed index", node)
    return heap.new_list(s, window) if isinstance(owner, ListRef) else Seq(cls, tuple(window))


def lane_index(s: Evaluator, items: tuple[Abstract, ...], key: Abstract, node: cst.CSTNode) -> Abstract:
    """`items[i]` with a lane index: a gather from a constant table, or selects over lane items."""
    position = _position(s, key, node)
    if not items:
        raise s.raised(IndexError, node)
    table = _gather(s, items, position)
    if table is not None:
        return table
    if any(isinstance(row, ListRef | DictRef | ObjRef) for row in items):
        return _choose_object(s, items, heap.check_index(s, position, len(items), node))
    if all(isinstance(v, Static) and numeric_kind(v) is None and not isinstance(v.value, tuple | list) for v in items):
        return _choose_object(s, items, heap.check_index(s, position, len(items), node))
    rows = [None if isinstance(v, Static) and isinstance(v.value, str) else sequence_items(s, v, node) for v in items]
    if all(r is not None and len(r) == len(rows[0] or ()) <= MAX_COLUMNS for r in rows):
        columns = [lane_index(s, tuple(r[i] for r in rows if r is not None), key, node)
                   for i in range(len(rows[0] or ()))]
        classes = {lookup.class_of(v) for v in items}
        cls = classes.pop() if len(classes) == 1 else None
        if cls is None or not issubclass(cls, tuple | list):
            return _choose_object(s, items, heap.check_index(s, position, len(items), node))
        return heap.make_tuple(columns) if cls is tuple else Seq(cls, tuple(columns))
    wrapped = heap.check_index(s, position, len(items), node)
    chosen = items[-1]
    for number, item in reversed(list(enumerate(items[:-1]))):
        chosen = scalars.choose(s, s.build.op("eq", wrapped, const(number)), item, chosen)
    return chosen


def _position(s: Evaluator, key: Abstract, node: cst.CSTNode) -> Value:
    kind = numeric_kind(key)
    if isinstance(key, Unsigned):
        return unsigned.as_int(s, key)
    if kind is FLOAT or kind is None or kind is BOOL and s.is_numpy(key):
        raise s.fault("TypeError", "indices must be integers", node)
    if kind is BOOL and s.may_be_numpy(key):
        raise s.refuse("flatten/not-yet", "an index that is Python's bool or NumPy's, which is a TypeError", node,
                       help="write int(flag)")
    return scalars.to_kind(s, lane(key), INT)


def _kind_of_all(values: Any) -> Kind | None:
    """The kind of a tuple of ints or of floats, None for anything else."""
    if type(values) is not tuple:
        return None
    if (table := table_of(values)) is not None:
        return table.kind if table.kind is not BOOL else None
    types = set(map(type, values))
    if types == {float}:
        return FLOAT
    if types == {int} and min(values) >= INT_MIN and max(values) <= INT_MAX:
        return INT
    return None


def _choose_object(s: Evaluator, items: tuple[Abstract, ...], position: Value) -> Abstract:
    """One of several objects: the choice keeps their identity, so that writing to it writes to the right one."""
    chosen = items[-1]
    for number, item in reversed(list(enumerate(items[:-1]))):
        chosen = GuardedUnion(s.build.op("eq", position, const(number)), item, chosen)
    return chosen


def _gather(s: Evaluator, items: tuple[Abstract, ...], position: Value) -> Abstract | None:
    known = [v.value for v in items if isinstance(v, Static)]
    if len(known) == len(items) and unsigned.is_table(known):
        return unsigned.gathered(s, known, position)
    kinds = {kind_of(v) for v in known}
    if len(known) != len(items) or None in kinds or kinds > {INT, FLOAT}:
        return None
    if len(kinds) == 1:
        return _table(s, known, position, kinds.pop())
    if kinds != {INT, FLOAT}:
        return None
    is_int = _table(s, [isinstance(v, int) for v in known], position, BOOL)
    return GuardedUnion(is_int, _table(s, [int(v) if isinstance(v, int) else 0 for v in known], position, INT),
                        _table(s, [float(v) for v in known], position, FLOAT))


def _table(s: Evaluator, values: Sequence[Any], position: Value, kind: Kind | None) -> Value:
    return s.build.op("gather", position, kind=kind, table=tuple(values))


def _dict_index(s: Evaluator, entries: dict[Any, Abstract], key: Abstract, node: cst.CSTNode) -> Abstract:
    if isinstance(key, Static):
        if key.value in entries:
            return entries[key.value]
        raise s.raised(KeyError, node)
    found = dict_lookup(s, entries, key, node)
    if found is None:
        raise s.raised(KeyError, node)
    hit, value = found
    missing = s.build.op("not", hit)
    heap.fault_if(s, missing, "KeyError", "", node)
    return value


def dict_lookup(s: Evaluator, entries: dict[Any, Abstract], key: Abstract, node: cst.CSTNode
                ) -> tuple[Value, Abstract] | None:
    """(is there, value) for a lane key among static keys; None when no key can match."""
    matches: list[tuple[Value, Abstract]] = []
    for known, same in key_matches(s, entries, key, node):
        if same is TRUE:
            return same, entries[known]
        matches.append((same, entries[known]))
    if not matches:
        return None
    hit, chosen = matches[-1]
    for same, value in reversed(matches[:-1]):
        chosen = scalars.choose(s, same, value, chosen)
        hit = s.build.op("or", same, hit)
    return hit, chosen


def key_matches(s: Evaluator, entries: dict[Any, Abstract], key: Abstract, node: cst.CSTNode
                ) -> list[tuple[Any, Value]]:
    """The known keys that a lane key may be, each with the lanes in which it is."""
    is_tuple = isinstance(key, Seq) and issubclass(key.cls, tuple)
    if numeric_kind(key) is None and not is_tuple and not isinstance(key, OtherText):
        raise s.refuse("flatten/lane-to-object", f"{describe(key)} is used as a dict key", node)
    matches: list[tuple[Any, Value]] = []
    for known in entries:
        if not isinstance(known, tuple if is_tuple else str if isinstance(key, OtherText) else int | float):
            continue
        same = s.space.truth(s.space.compare("eq", key, Static(known), node))
        if isinstance(same, Value):
            matches.append((known, same))
        elif same.value:
            return [(known, TRUE)]
    return matches


def starred_items(s: Evaluator, value: Abstract, node: cst.CSTNode) -> list[Abstract]:
    """The items of `f(*value)`. Alternatives of one length join item by item; one that has no items is Python's fault
    in its lanes."""
    if not isinstance(value, GuardedUnion):
        return items_now(s, value, node)
    found = [sequence_items(s, option, node) for option in alternatives(value) if not _is_single(option)]
    lengths = {-1 if items is None else len(items) for items in found}
    if len(lengths) != 1 or lengths == {-1}:
        return items_now(s, value, node)
    return items_to_unpack(s, value, lengths.pop(), node)


def _is_single(value: Abstract) -> bool:
    """None or a number: nothing to iterate over."""
    return numeric_kind(value) is not None or isinstance(value, Static) and value.value is None


def items_to_unpack(s: Evaluator, value: Abstract, count: int, node: cst.CSTNode) -> list[Abstract]:
    """The items; an alternative that cannot be unpacked is Python's fault in its lanes."""
    if isinstance(value, GuardedUnion):
        def one(part: Abstract) -> Abstract:
            items = items_to_unpack(s, part, count, node)
            if len(items) != count:
                raise s.raised(ValueError, node)
            return heap.make_tuple(items)

        return items_now(s, s.split(value, one), node)
    if _is_single(value):
        raise s.fault("TypeError", f"cannot unpack {describe(value)}", node)
    return items_now(s, value, node)
