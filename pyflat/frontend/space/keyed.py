"""What sets and dicts of lanes have in common: rows in the order of their making, of which no two have one key.

    counts[d] = counts.get(d, 0) + 1      the value of the row whose key is d; where no row has it, a row more

The rows are a list with gaps (`ragged`), or one that has grown in a loop (`growing`). A row of a set is its member, one
of a dict a pair. Each key is compared with all others, so that there are at most `MAX_ROWS`.

Dicts whose keys differ from lane to lane are counters, tables of what was seen.

    counts = {}                              heap contents of `counts`: ((ENTRIES, a list of its own),)
    for d in (a, b, c):
        counts[d] = counts.get(d, 0) + 1     the list has a pair of key and value for each key

A dict gets this form at its first key that differs by lane; `defaultdict` and `Counter` have it from the start.

Sets whose members differ from lane to lane have them in a list of their own.

    len({a, b, c})      a; b where it is not a; c where it is neither

Python's order of such a set goes by hashes, so that only what does not depend on an order is done with it.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from pyflat.frontend.space import characters, comparisons, dict_views, growing, ragged, scalars
from pyflat.frontend.space import numbers as num
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import (
    complex_parts,
    describe,
    entries_of,
    folded,
    has_gap,
    is_number_union,
    lane,
    lane_form,
    numeric_kind,
    per_alternative,
    present_in,
)
from pyflat.frontend.state.values import (
    ENTRIES,
    FACTORY,
    NONE,
    UNBOUND,
    Abstract,
    Arguments,
    DictRef,
    GuardedUnion,
    LaneSet,
    ListRef,
    OtherText,
    Seq,
    Static,
    Unsigned,
)
from pyflat.ir.build import const
from pyflat.ir.nodes import Value
from pyflat.ir.types import BOOL, FLOAT, INT

MAX_ROWS = 128
"""Rows of a set or dict in straight-line code; one that grows in a loop has `growing.PLACES`."""
Here = Static | Value
"""Which lanes: all, none, or by lane."""


def rows(s: Evaluator, ref: ListRef, node: cst.CSTNode | None = None) -> tuple[Abstract, ...]:
    return heap.contents_with_gaps(s, ref, node)


def key_of(row: Abstract, *, pairs: bool) -> Abstract:
    if not pairs:
        return row
    assert isinstance(row, Seq)
    return row.items[0]


def check_key(s: Evaluator, key: Abstract, what: str, node: cst.CSTNode) -> None:
    """Keys that can be compared with each other; nan is only equal to itself by identity."""
    if isinstance(key, ListRef):
        raise s.raised(TypeError, node)
    known = numeric_kind(key) is not None or complex_parts(key) is not None or characters.is_text(key)
    if not known and not isinstance(key, Seq | Static | Unsigned | OtherText | GuardedUnion):
        raise s.refuse("flatten/unsupported-expression", f"{what} with {describe(key)}", node)
    if numeric_kind(key) is FLOAT and isinstance(key, Value):
        heap.suspect_if(s, s.build.op("ne", key, key), f"nan in {what}", node)


def matches(s: Evaluator, ref: ListRef, key: Abstract, node: cst.CSTNode, *, pairs: bool
            ) -> list[tuple[Here, Abstract]]:
    """The lanes in which each row is there and has the key. In a lane at most one has it."""
    found: list[tuple[Here, Abstract]] = []
    for item in rows(s, ref, node):
        present, row = ragged.split_gap(s, item)
        if row is UNBOUND:
            found.append((Static(False), row))
            continue
        if pairs:  # alternative ones as one
            row = folded(row, lambda pair: pair, functools.partial(growing.select_where, s))
        there = key_of(row, pairs=pairs)
        found.append((both(s, present, _same(s, there, key, present, node)), row))
    return found


def _same(s: Evaluator, a: Abstract, b: Abstract, present: Here, node: cst.CSTNode) -> Here:
    """Equality in the lanes that have `a`; that of ints and bools cannot fail, and needs no branch."""
    def compare() -> Here:
        return s.space.truth(comparisons.same_element(s, a, b, node))

    plain = all(numeric_kind(each) not in (None, FLOAT) for each in (a, b))
    if plain or isinstance(present, Static):
        return compare()
    return s.space.truth(s.branch(present, compare, lambda: Static(False)))


def both(s: Evaluator, a: Here, b: Here) -> Here:
    if isinstance(a, Static):
        return b if a.value else a
    if isinstance(b, Static):
        return a if b.value else b
    return s.build.op("and", a, b)


def _negated(s: Evaluator, a: Here) -> Here:
    return Static(not a.value) if isinstance(a, Static) else s.build.op("not", a)


def any_of(s: Evaluator, held: Sequence[Here]) -> Here:
    if any(isinstance(each, Static) and each.value for each in held):
        return Static(True)
    found: Here = Static(False)
    for each in held:
        if not isinstance(each, Static):
            found = each if isinstance(found, Static) else s.build.op("or", found, each)
    return found


def add(s: Evaluator, ref: ListRef, row: Abstract, held: Sequence[Here], what: str, node: cst.CSTNode) -> None:
    """One row more, in the lanes in which no row is `held`."""
    new = _negated(s, any_of(s, held))
    if isinstance(new, Static) and not new.value:
        return
    if growing.is_growing(s, ref):
        count, places = growing.parts(s, ref)
        longer = num.binary(s, "add", count, new)
        growing.check_room(s, longer, len(places), node)
        last = [both(s, new, s.space.truth(num.compare(s, "eq", count, Static(at)))) for at in range(len(places))]
        written = [growing.select_where(s, here, row, old) for here, old in zip(last, places, strict=True)]
        growing.write(s, ref, longer, written, node)
        return
    there = rows(s, ref, node)
    if len(there) >= MAX_ROWS:
        raise s.refuse("flatten/too-large", f"{what} of computed numbers gets more than {MAX_ROWS} rows", node,
                       why="each key is compared with all others, and each comparison is an operation of the twin",
                       help="write numbers and loops instead; np.unique, before the call, for whole arrays; in a loop "
                       f"that stays a loop there may be any number of writes to {growing.PLACES} keys")
    heap.rewrite(s, ref, (*there, *present_in(new, row)), node)


def replace(s: Evaluator, ref: ListRef, held: Sequence[Here], change: Callable[[Abstract], Abstract],
            node: cst.CSTNode) -> None:
    """Other rows where they are `held`."""
    if growing.is_growing(s, ref):
        count, places = growing.parts(s, ref)
        written = [growing.select_where(s, here, change(old), old) for here, old in zip(held, places, strict=True)]
        growing.write(s, ref, count, written, node)
        return
    heap.rewrite(s, ref, tuple(_replaced(s, item, here, change)
                               for item, here in zip(rows(s, ref, node), held, strict=True)), node)


def _replaced(s: Evaluator, item: Abstract, here: Here, change: Callable[[Abstract], Abstract]) -> Abstract:
    if isinstance(here, Static) and not here.value:
        return item
    if has_gap(item):
        return GuardedUnion(item.cond, _replaced(s, item.then, here, change), _replaced(s, item.orelse, here, change))
    return item if item is UNBOUND else growing.select_where(s, here, change(item), item)


def drop(s: Evaluator, ref: ListRef, held: Sequence[Here], node: cst.CSTNode) -> None:
    """The rows without those that are `held`."""
    if growing.is_growing(s, ref):
        count, places = growing.parts(s, ref)
        moved: list[Abstract] = []
        behind: Here = Static(False)
        for at, old in enumerate(places):
            behind = any_of(s, [behind, held[at]])
            moved.append(growing.select_where(s, behind, places[at + 1], old) if at + 1 < len(places) else old)
        growing.write(s, ref, num.binary(s, "sub", count, any_of(s, held)), moved, node)
        return
    rest: list[Abstract] = []
    for item, here in zip(rows(s, ref, node), held, strict=True):
        present, row = ragged.split_gap(s, item)
        rest += present_in(both(s, present, _negated(s, here)), row)
    heap.rewrite(s, ref, tuple(rest), node)


def raise_where_missing(s: Evaluator, held: Sequence[Here], node: cst.CSTNode) -> None:
    """KeyError in the lanes in which no row is `held`."""
    missing = _negated(s, any_of(s, held))
    if not isinstance(missing, Static):
        heap.raise_if(s, missing, KeyError)
    elif missing.value:
        raise s.raised(KeyError, node)


def chosen(s: Evaluator, found: Sequence[tuple[Here, Abstract]], otherwise: Abstract | None) -> Abstract:
    """The item of the row that is held, `otherwise` where none is (None: there is always one)."""
    some = [(here, item) for here, item in found if not isinstance(here, Static) or here.value]
    for here, item in some:
        if isinstance(here, Static):
            return item
    result = otherwise
    for here, item in reversed(some):
        result = item if result is None else scalars.choose(s, lane(here), item, result)
    return const(0) if result is None else result


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
           ) -> tuple[ListRef, list[tuple[Here, Abstract]]]:
    """The list of the entries, and of each the lanes in which it has the key, and its value."""
    check_key(s, key, "a dict", node)
    entries = dict_views.entries(s, ref, node)
    found = matches(s, entries, key, node, pairs=True)
    return entries, [(here, row.items[1] if isinstance(row, Seq) else row) for here, row in found]


# --- operations
@per_alternative("key", unless=is_number_union)
def item(s: Evaluator, ref: DictRef, key: Abstract, node: cst.CSTNode) -> Abstract:
    """`ref[key]`."""
    entries, found = _found(s, ref, key, node)
    held = [here for here, _ in found]
    factory = dict(heap.contents_with_gaps(s, ref, node)).get(FACTORY)
    if issubclass(ref.cls, Counter):
        return chosen(s, found, Static(0))
    if factory is None or isinstance(factory, Static) and factory.value is None:
        raise_where_missing(s, held, node)
        return chosen(s, found, None)
    made = s.space.call(factory, Arguments([], {}), node)
    add(s, entries, Seq(tuple, (key, made)), held, "a dict", node)
    return chosen(s, found, made)


@per_alternative("key", unless=is_number_union)
def get(s: Evaluator, ref: DictRef, key: Abstract, default: Abstract, node: cst.CSTNode) -> Abstract:
    return chosen(s, _found(s, ref, key, node)[1], default)


@per_alternative("key", unless=is_number_union)
def contains(s: Evaluator, ref: DictRef, key: Abstract, node: cst.CSTNode) -> Abstract:
    return any_of(s, [here for here, _ in _found(s, ref, key, node)[1]])


@per_alternative("key", unless=is_number_union)
def store(s: Evaluator, ref: DictRef, key: Abstract, value: Abstract, node: cst.CSTNode) -> None:
    """`ref[key] = value`: an equal key that is there already stays, and so does its place."""
    entries, found = _found(s, ref, key, node)
    held = [here for here, _ in found]
    replace(s, entries, held, lambda row: Seq(tuple, (key_of(row, pairs=True), value)), node)
    add(s, entries, Seq(tuple, (key, value)), held, "a dict", node)


@per_alternative("key", unless=is_number_union)
def delete(s: Evaluator, ref: DictRef, key: Abstract, node: cst.CSTNode) -> None:
    entries, found = _found(s, ref, key, node)
    held = [here for here, _ in found]
    raise_where_missing(s, held, node)
    drop(s, entries, held, node)


@per_alternative("key", unless=is_number_union)
def pop(s: Evaluator, ref: DictRef, key: Abstract, default: Abstract | None, node: cst.CSTNode) -> Abstract:
    entries, found = _found(s, ref, key, node)
    held = [here for here, _ in found]
    if default is None:
        raise_where_missing(s, held, node)
    taken = chosen(s, found, default)
    drop(s, entries, held, node)
    return taken


@per_alternative("key", unless=is_number_union)
def setdefault(s: Evaluator, ref: DictRef, key: Abstract, value: Abstract, node: cst.CSTNode) -> Abstract:
    entries, found = _found(s, ref, key, node)
    add(s, entries, Seq(tuple, (key, value)), [here for here, _ in found], "a dict", node)
    return chosen(s, found, value)


def copied(s: Evaluator, ref: DictRef, node: cst.CSTNode, cls: type | None = None) -> DictRef:
    made = new(s, dict) if cls is dict else new(s, ref.cls, dict(heap.contents_with_gaps(s, ref, node)).get(FACTORY))
    s.state.heap[dict_views.entries(s, made, node)] = s.state.heap[dict_views.entries(s, ref, node)]
    return made


def make(s: Evaluator, items: Sequence[Abstract], node: cst.CSTNode) -> LaneSet:
    made = LaneSet(heap.new_list(s, ()))
    for item in items:
        add_member(s, made, item, node)
    return made


def members(s: Evaluator, value: LaneSet, node: cst.CSTNode | None = None) -> tuple[Abstract, ...]:
    return heap.contents_with_gaps(s, value.members, node)


def add_member(s: Evaluator, to: LaneSet, item: Abstract, node: cst.CSTNode) -> None:
    """A member that may be a gap itself."""
    heap.where_present(s, item, lambda value: _add_one(s, to, value, node), lambda: NONE)


@per_alternative("value", unless=is_number_union)
def _add_one(s: Evaluator, to: LaneSet, value: Abstract, node: cst.CSTNode) -> Abstract:
    check_key(s, value, "a set", node)
    held = [here for here, _ in matches(s, to.members, value, node, pairs=False)]
    add(s, to.members, value, held, "a set", node)
    return NONE


def unordered(s: Evaluator, value: Abstract, node: cst.CSTNode, key: Abstract, *, of_ints: bool = False
              ) -> list[Abstract] | None:
    """The members for what does not depend on their order: a sum of ints, an extreme without a key and nan. None for
    anything but a set of lanes."""
    if not isinstance(value, LaneSet):
        return None
    if not (isinstance(key, Static) and key.value is None):
        raise s.refuse("flatten/unsupported-expression", "a key= for a set of computed numbers", node,
                       why="which of equal keys comes first depends on the order of the set, and so on hashes")
    found = list(members(s, value, node))
    for item in found:
        present, there = ragged.split_gap(s, item)
        kind = numeric_kind(there)
        if of_ints and kind not in (INT, BOOL):
            raise s.refuse("flatten/unsupported-expression", "the sum of a set of floats", node,
                           why="it depends on the order of the set, and so on hashes", help="sum(sorted(...))")
        if kind not in (INT, BOOL) and not characters.is_text(there):
            nan = lane(s.space.truth(s.space.compare("ne", there, there, node)))
            heap.suspect_if(s, s.build.op("and", lane(present), nan), "nan in a set", node)
    return found


@per_alternative("item", unless=is_number_union)
def _drop(s: Evaluator, owner: LaneSet, item: Abstract, node: cst.CSTNode, *, required: bool) -> Abstract:
    held = [here for here, _ in matches(s, owner.members, item, node, pairs=False)]
    if required:
        raise_where_missing(s, held, node)
    drop(s, owner.members, held, node)
    return NONE


def method(s: Evaluator, owner: LaneSet, name: str, values: list[Abstract], node: cst.CSTNode) -> Abstract | None:
    match name:
        case "add" if len(values) == 1:
            add_member(s, owner, values[0], node)
        case "discard" if len(values) == 1:
            _drop(s, owner, values[0], node, required=False)
        case "remove" if len(values) == 1:
            _drop(s, owner, values[0], node, required=True)
        case "clear" if not values:
            drop(s, owner.members, [Static(True)] * len(members(s, owner, node)), node)
        case "copy" if not values:
            made = LaneSet(heap.new_list(s, ()))
            s.state.heap[made.members] = s.state.heap[owner.members]
            return made
        case _:
            return None
    return NONE
