"""Lists that grow in a loop that stays one: how many items a lane has, and a bounded number of places for them.

    out = []                      heap contents of `out`: (Seq(Cells, (count, place 0, place 1, ...)),)
    while n:                      the parameters of the loop are the count and the places
        out.append(n % 10)        place k = n % 10 where count == k; count = count + 1
        n //= 10

Items have no gaps between them, and their positions are indices; what is behind the last item of a lane means nothing.
A lane whose list gets longer than its places is left to the original. What has no operation of its own here reads the
list as one with gaps (`ragged`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import libcst as cst

from pyflat.errors import FlattenError
from pyflat.frontend.space import numbers as num
from pyflat.frontend.space import ragged, scalars, unsigned
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import cells_of, complex_parts, describe, lane, maybe_unbound, numeric_kind, opened
from pyflat.frontend.state.values import (
    CONFLICT,
    Abstract,
    Cells,
    Contents,
    GuardedUnion,
    ListRef,
    Ranges,
    Seq,
    Static,
    Unsigned,
)
from pyflat.ir.build import const
from pyflat.ir.nodes import FALSE, Value
from pyflat.ir.types import BOOL, FLOAT, INT

PLACES = 64
"""Items that such a list may get: an int has no more digits or prime factors."""


def is_growing(s: Evaluator, value: object) -> bool:
    """A local list that has grown in a loop."""
    if type(value) is not ListRef:
        return False
    contents = s.state.heap[value]
    return contents is not CONFLICT and cells_of(contents) is not None


def parts(s: Evaluator, ref: ListRef) -> tuple[Abstract, list[Abstract]]:
    """How many items a lane has, and the places."""
    cells = cells_of(s.state.heap[ref])
    assert cells is not None
    return cells.items[0], list(cells.items[1:])


def write(s: Evaluator, ref: ListRef, count: Abstract, places: Sequence[Abstract], node: cst.CSTNode | None) -> None:
    heap.rewrite(s, ref, (Seq(Cells, (count, *places)),), node)


def new(s: Evaluator, count: Abstract, places: Sequence[Abstract]) -> ListRef:
    ref = ListRef()
    s.state.heap[ref] = (Seq(Cells, (count, *places)),)
    return ref


def from_items(s: Evaluator, contents: Contents, sample: Abstract, node: cst.CSTNode) -> Contents:
    """The contents of a plain list as one that grows: a place more than it has, and as many as `PLACES` at least."""
    if cells_of(contents) is not None:
        return contents
    count: Abstract = Static(len(contents))
    if contents is CONFLICT:
        raise s.refuse("flatten/list-mutation", "a list that the paths before leave in different shapes grows in a "
                       "loop that stays a loop", node, help="make the list in the loop's own branch, or append under "
                       "one condition inside of the loop")
    if any(map(maybe_unbound, contents)):
        items, _, count = ragged.packed(s, contents, node)
        contents = tuple(items)
    places = len(contents) + PLACES
    filler = empty(s, sample, node)
    return (Seq(Cells, (count, *contents, *[filler] * (places - len(contents)))),)


def padded(items: list[Abstract], like: Contents) -> list[Abstract]:
    """The contents of a list with as many places as `like` has, if those are places: they keep what they had where
    there is no item."""
    cells, wanted = cells_of(items), cells_of(like)
    if wanted is None:
        return items
    row = [Static(len(items)), *items] if cells is None else list(cells.items)
    return [Seq(Cells, (*row, *wanted.items[len(row):]))]


def empty(s: Evaluator, sample: Abstract, node: cst.CSTNode) -> Abstract:
    """What a place has that no item was put into: something of the kind that will be there."""
    if isinstance(sample, GuardedUnion):
        return empty(s, sample.then if not maybe_unbound(sample.then) else sample.orelse, node)
    kind = numeric_kind(sample)
    if isinstance(sample, Unsigned):
        return Unsigned(const(0), FALSE)
    if kind is not None:
        return Static(False if kind is BOOL else 0.0 if kind is FLOAT else 0)
    if complex_parts(sample) is not None:
        return Static(0j)
    if isinstance(sample, Static) and isinstance(sample.value, tuple):
        return Seq(type(sample.value), tuple(empty(s, Static(item), node) for item in sample.value))
    if isinstance(sample, Seq):
        return Seq(sample.cls, tuple(empty(s, item, node) for item in sample.items))
    raise s.refuse("flatten/list-mutation", f"a list that contains {describe(sample)} grows or shrinks in a loop that "
                   "cannot be unrolled", node, help="give the loop a constant bound, or append numbers or tuples of "
                   "numbers")


def check_room(s: Evaluator, count: Abstract, places: int, node: cst.CSTNode) -> None:
    """A list with more items than places is the original's."""
    if isinstance(count, Static):
        if count.value <= places:
            return
        raise s.fault("Undecided", "a list exceeds the space reserved for it", node)
    heap.suspect_if(s, s.build.op("gt", lane(count), const(places)), f"a list of more than {places} items", node)


# --- one item
def append(s: Evaluator, ref: ListRef, value: Abstract, node: cst.CSTNode) -> None:
    count, places = parts(s, ref)
    longer = num.binary(s, "add", count, Static(1))
    check_room(s, longer, len(places), node)
    write(s, ref, longer, put(s, places, count, value), node)


def put(s: Evaluator, places: Sequence[Abstract], position: Abstract, value: Abstract) -> list[Abstract]:
    """The places with `value` at `position`."""
    if isinstance(position, Static):
        return [value if at == position.value else old for at, old in enumerate(places)]
    return [_select(s, s.build.op("eq", lane(position), const(at)), value, old)
            for at, old in enumerate(places)]


def _at(s: Evaluator, places: Sequence[Abstract], position: Abstract) -> Abstract:
    """The item at a position that the list has."""
    chosen = places[position.value if isinstance(position, Static) else -1]
    if isinstance(position, Static):
        return chosen
    for at in range(len(places) - 2, -1, -1):
        chosen = _select(s, s.build.op("eq", lane(position), const(at)), places[at], chosen)
    return chosen


def position_of(s: Evaluator, ref: ListRef, key: Abstract, node: cst.CSTNode) -> Abstract:
    """Python's index rule: negative counts from the end, outside is an IndexError."""
    if isinstance(key, Unsigned):
        key = unsigned.as_int(s, key)
    kind = numeric_kind(key)
    if kind is None or kind is FLOAT:
        raise s.fault("TypeError", "list indices must be integers", node)
    count, places = parts(s, ref)
    if isinstance(key, Static):
        wanted = int(key.value)
        if not -len(places) <= wanted < len(places):
            raise s.raised(IndexError, node)
        least = wanted + 1 if wanted >= 0 else -wanted
        _raise_where(s, num.compare(s, "lt", count, Static(least)), IndexError, node)
        return Static(wanted) if wanted >= 0 else num.binary(s, "add", count, Static(wanted))
    place = scalars.to_kind(s, lane(key), INT)
    below = s.build.op("lt", place, const(0))
    place = s.build.op("select", below, s.build.op("add", place, lane(count)), place)
    outside = s.build.op("or", s.build.op("lt", place, const(0)), s.build.op("ge", place, lane(count)))
    _raise_where(s, outside, IndexError, node)
    return place


def _raise_where(s: Evaluator, cond: Abstract, cls: type[BaseException], node: cst.CSTNode) -> None:
    if isinstance(cond, Static):
        if cond.value:
            raise s.raised(cls, node)
        return

    def raise_it() -> Abstract:
        raise s.raised(cls, node)

    s.branch(lane(cond), raise_it, lambda: None)


def item(s: Evaluator, ref: ListRef, key: Abstract, node: cst.CSTNode) -> Abstract:
    """`ref[key]`."""
    position = position_of(s, ref, key, node)
    return _at(s, parts(s, ref)[1], position)


def store(s: Evaluator, ref: ListRef, key: Abstract, value: Abstract, node: cst.CSTNode) -> None:
    """`ref[key] = value`."""
    position = position_of(s, ref, key, node)
    count, places = parts(s, ref)
    write(s, ref, count, put(s, places, position, value), node)


def take(s: Evaluator, ref: ListRef, key: Abstract, node: cst.CSTNode) -> Abstract:
    """`ref.pop(key)`: the items behind it move up."""
    position = position_of(s, ref, key, node)
    count, places = parts(s, ref)
    taken = _at(s, places, position)
    if not (isinstance(key, Static) and key.value == -1):
        moved = [num.compare(s, "ge", Static(at), position) for at in range(len(places) - 1)]
        places = [select_where(s, here, places[at + 1], places[at]) for at, here in enumerate(moved)] + places[-1:]
    write(s, ref, num.binary(s, "sub", count, Static(1)), places, node)
    return taken


def select_where(s: Evaluator, cond: Abstract, a: Abstract, b: Abstract) -> Abstract:
    """`a if cond else b` of items."""
    if isinstance(cond, Static):
        return a if cond.value else b
    return _select(s, lane(cond), a, b)


def _select(s: Evaluator, cond: Value, a: Abstract, b: Abstract) -> Abstract:
    """`a if cond else b`; tuples part by part."""
    if a is b:
        return a
    x, y = opened(a), opened(b)
    if isinstance(x, Seq) and isinstance(y, Seq) and x.cls is y.cls and len(x.items) == len(y.items):
        return Seq(x.cls, tuple(_select(s, cond, i, j) for i, j in zip(x.items, y.items, strict=True)))
    return scalars.choose(s, cond, a, b)


def insert(s: Evaluator, ref: ListRef, key: Abstract, value: Abstract, node: cst.CSTNode) -> None:
    """`ref.insert(key, value)`: a position outside means the nearer end."""
    kind = numeric_kind(key)
    if kind is None or kind is FLOAT:
        raise s.raised(TypeError, node)
    count, places = parts(s, ref)
    position = _clipped(s, key, count)
    longer = num.binary(s, "add", count, Static(1))
    check_room(s, longer, len(places), node)
    moved = []
    for at, old in enumerate(places):
        here = select_where(s, num.compare(s, "eq", position, Static(at)), value, old)
        behind = num.compare(s, "lt", position, Static(at))
        moved.append(select_where(s, behind, places[at - 1], here) if at else here)
    write(s, ref, longer, moved, node)


def _clipped(s: Evaluator, key: Abstract, count: Abstract) -> Abstract:
    """A position from the front, between 0 and `count`, as slices and `insert` take it."""
    if isinstance(key, Static) and isinstance(count, Static):
        return Static(slice(int(key.value), None).indices(count.value)[0])
    size = lane(count)
    place = scalars.to_kind(s, lane(key), INT)
    place = s.build.op("select", s.build.op("lt", place, const(0)), s.build.op("add", place, size), place)
    place = s.build.op("select", s.build.op("lt", place, const(0)), const(0), place)
    return s.build.op("select", s.build.op("gt", place, size), size, place)


def insert_sorted(s: Evaluator, ref: ListRef, value: Abstract, before: Callable[[Abstract, Abstract], Static | Value],
                  node: cst.CSTNode) -> None:
    """Put `value` into a sorted list, behind all items that it is not `before`."""
    count, places = parts(s, ref)
    behind: list[Static | Value] = []
    for at, old in enumerate(places):
        there = num.compare(s, "gt", count, Static(at))
        behind.append(s.space.truth(select_where(s, there, before(value, old), Static(True))))
    moved = [select_where(s, behind[0], value, places[0])]
    for at in range(1, len(places)):
        here = select_where(s, behind[at - 1], places[at - 1], value)
        moved.append(select_where(s, behind[at], here, places[at]))
    write(s, ref, num.binary(s, "add", count, Static(1)), moved, node)


# --- all items
def find(s: Evaluator, ref: ListRef, same: Callable[[Abstract], Abstract], node: cst.CSTNode) -> Abstract:
    """`ref.index(x)`: the first position whose item is the `same`; ValueError where there is none."""
    items = heap.contents_with_gaps(s, ref, node)
    found: Abstract = Static(-1)
    for at in range(len(items) - 1, -1, -1):
        held = heap.where_present(s, items[at], lambda one: s.space.truth(same(one)), lambda: Static(False))
        found = select_where(s, held, Static(at), found)
    _raise_where(s, num.compare(s, "lt", found, Static(0)), ValueError, node)
    return found


def count_of(s: Evaluator, ref: ListRef, same: Callable[[Abstract], Abstract], node: cst.CSTNode) -> Abstract:
    """`ref.count(x)`: how many items are the `same`."""
    total: Abstract = Static(0)
    for one in heap.contents_with_gaps(s, ref, node):
        held = heap.where_present(s, one, lambda one: s.space.truth(same(one)), lambda: Static(False))
        total = num.binary(s, "add", total, held)
    return total


def concatenated(s: Evaluator, a: ListRef, b: ListRef, node: cst.CSTNode) -> tuple[Abstract, list[Abstract]]:
    """The items of one behind those of the other."""
    (count, left), (other, right) = (_parts_of_any(s, each, node) for each in (a, b))
    together = num.binary(s, "add", count, other)
    size = max(len(left), len(right))
    filler = empty(s, [*left, *right][0], node)
    left, right = ([*row, *[filler] * (size - len(row))] for row in (left, right))
    check_room(s, together, size, node)
    behind = _shifted(s, right[::-1], count)[::-1]
    return together, [select_where(s, num.compare(s, "gt", count, Static(at)), x, y)
                      for at, (x, y) in enumerate(zip(left, behind, strict=True))]


def reverse(s: Evaluator, ref: ListRef) -> tuple[Abstract, list[Abstract]]:
    """The items from the last to the first."""
    count, places = parts(s, ref)
    return count, _shifted(s, places[::-1], num.binary(s, "sub", Static(len(places)), count))


def _shifted(s: Evaluator, places: Sequence[Abstract], by: Abstract) -> list[Abstract]:
    """Each place gets what was `by` places behind it (0 <= by <= their number), one bit of `by` after the other."""
    moved = list(places)
    if isinstance(by, Static):
        return [*moved[by.value:], *moved[:by.value]]
    for bit in range(len(moved).bit_length()):
        step = 1 << bit
        here = s.build.op("ne", s.build.op("and", lane(by), const(step)), const(0))
        moved = [_select(s, here, moved[at + step], old) if at + step < len(moved) else old
                 for at, old in enumerate(moved)]
    return moved


def part(s: Evaluator, ref: ListRef, wanted: slice, node: cst.CSTNode) -> ListRef:
    """`ref[a:b]` and `ref[::-1]`."""
    step = 1 if wanted.step is None else wanted.step
    if step == -1 and wanted.start is None and wanted.stop is None:
        return new(s, *reverse(s, ref))
    if step != 1:
        raise s.refuse("flatten/list-mutation", "a slice with a step of a list that grows in a loop", node,
                       help="write a loop over range(a, len(xs), step)")
    count, places = parts(s, ref)
    start = Static(0) if wanted.start is None else _clipped(s, Static(wanted.start), count)
    stop = count if wanted.stop is None else _clipped(s, Static(wanted.stop), count)
    length = num.binary(s, "sub", stop, start)
    none = num.compare(s, "lt", length, Static(0))
    return new(s, select_where(s, none, Static(0), length), _shifted(s, places, start))


def equal(s: Evaluator, a: ListRef, b: ListRef, same: Callable[[Abstract, Abstract], Abstract], node: cst.CSTNode
          ) -> Abstract:
    """`a == b`, item by item in the lanes where both have as many."""
    (count, left), (other, right) = (_parts_of_any(s, each, node) for each in (a, b))

    def compared() -> Abstract:
        found: Static | Value = Static(True)
        for at, (x, y) in enumerate(zip(left, right, strict=False)):
            here = num.compare(s, "gt", count, Static(at))

            def one(x: Abstract = x, y: Abstract = y) -> Static | Value:
                return s.space.truth(same(x, y))

            if isinstance(here, Static):
                held = one() if here.value else Static(True)
            else:
                held = s.space.truth(s.branch(lane(here), one, lambda: Static(True)))
            if not isinstance(held, Static):
                found = held if isinstance(found, Static) and found.value else s.build.op("and", lane(found), held)
            elif not held.value:
                found = Static(False)
        return found

    as_many = s.space.truth(num.compare(s, "eq", count, other))
    if isinstance(as_many, Static):
        return compared() if as_many.value else Static(False)
    return s.branch(as_many, compared, lambda: Static(False))


def _parts_of_any(s: Evaluator, ref: ListRef, node: cst.CSTNode) -> tuple[Abstract, list[Abstract]]:
    """How many items a lane has, and the places; of a plain list its length and items."""
    if is_growing(s, ref):
        return parts(s, ref)
    items = heap.contents(s, ref, node)
    return Static(len(items)), list(items)


# --- loops over the items
def as_range(s: Evaluator, value: Abstract, node: cst.CSTNode, *, live: bool = False) -> Abstract:
    """What iterates over a list that grows: a range of its positions, whose counter means the item. `live`: of the
    length that the list has at each iteration; else the list may not get longer or shorter meanwhile."""
    if not isinstance(value, ListRef) or not is_growing(s, value):
        return value
    before = parts(s, value)[0]

    def each(counter: Abstract) -> Abstract:
        if not is_growing(s, value):
            raise changed(s, node)
        count, places = parts(s, value)
        if not live and count is not before:
            raise changed(s, node)
        return _at(s, places, counter)

    def end() -> Abstract:
        if not is_growing(s, value):
            raise changed(s, node)
        return parts(s, value)[0]

    return Ranges(Static(0), before, 1, each, live=end if live else None)


def changed(s: Evaluator, node: cst.CSTNode | None) -> FlattenError:
    return s.refuse("flatten/list-mutation", "a list is iterated over and changed, and its length depends on "
                    "the data", node, help="iterate over a copy: `for x in list(xs)`")


def repeated(s: Evaluator, items: Sequence[Abstract], times: Abstract, node: cst.CSTNode) -> ListRef:
    """`[x] * n` with a lane n."""
    number = scalars.to_kind(s, lane(times), INT)
    number = s.build.op("select", s.build.op("lt", number, const(0)), const(0), number)
    number = s.build.op("select", s.build.op("gt", number, const(PLACES + 1)), const(PLACES + 1), number)
    count = num.binary(s, "mul", number, Static(len(items)))
    places = [items[at % len(items)] for at in range(PLACES)]
    check_room(s, count, len(places), node)
    return new(s, count, places)
