"""Items of NumPy arrays: reading and writing with known and with lane indices.

A known index is applied by NumPy itself, to `places`: slices are views of the same store, lists of indices make copies.
A lane index chooses among what each of its values would give: a gather from a captured table, selects over elements,
or one of several views, which keeps their identity.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.space import arrays, scalars
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import describe, lane, numeric_kind, per_alternative
from pyflat.frontend.state.values import Abstract, Array, Axes, GuardedUnion, ListRef, Seq, Slice, Static
from pyflat.ir.build import const
from pyflat.ir.nodes import Value
from pyflat.ir.types import BOOL, FLOAT, INT, Kind

_MAX_COMBINATIONS = 4096
_TAKES_TURNS = "it takes turns with another array in a loop that stays a loop, and another name may mean the same one"
Key = Any
"""An index that NumPy takes: int, slice, None, Ellipsis, array, or a tuple of these."""


@dataclass(frozen=True, slots=True)
class _LaneSubscript:
    """A subscript with lane ints in it, which have these sizes."""

    parts: tuple[Abstract, ...]
    positions: tuple[Value, ...]
    sizes: tuple[int, ...]

    @property
    def is_basic(self) -> bool:
        """Beside the lanes there are only ints and slices."""
        return all(isinstance(p.value, int | slice | None) for p in self.parts if isinstance(p, Static))

    def key(self, numbers: Sequence[Any]) -> Key:
        """The subscript for these values of the lanes."""
        rest = iter(numbers)
        return tuple(part.value if isinstance(part, Static) else next(rest) for part in self.parts)

    def choices(self, s: Evaluator, node: cst.CSTNode) -> list[Key]:
        count = int(np.prod(self.sizes))
        if count > _MAX_COMBINATIONS:
            raise s.refuse("flatten/too-large", f"computed indices into an array of {count:,} elements", node)
        return [self.key(numbers) for numbers in itertools.product(*map(range, self.sizes))]


# --- reading
@per_alternative("subscript")
def index(s: Evaluator, owner: Abstract, subscript: Any, node: cst.CSTNode) -> Abstract:
    """`owner[subscript]` of an array."""
    if isinstance(subscript, Slice) and subscript.start is not None:
        return _window(s, owner, subscript, node)
    parts = _parts(s, subscript, node)
    if all(isinstance(part, Static) for part in parts):
        return _known(s, owner, _key(parts), node)
    if len(parts) == 1 and isinstance(parts[0], Array):
        return _by_array(s, owner, parts[0], node)
    if isinstance(owner, GuardedUnion):
        return s.split(owner, lambda v: index(s, v, subscript, node))
    found = _lanes(s, parts, arrays.shape_of(owner), node)
    if isinstance(owner, Static) and arrays.kind_of(owner) is not None and found.is_basic:
        return _gathered(s, owner, found, node)
    return _choose(s, owner, found.choices(s, node), _flat(s, found), node)


@per_alternative("owner")
def _known(s: Evaluator, owner: Abstract, key: Key, node: cst.CSTNode) -> Abstract:
    match owner:
        case Static():
            taken = scalars.const_eval(s, lambda: owner.value[key])
            is_part = isinstance(taken, Static) and isinstance(taken.value, np.ndarray)
            return taken if is_part else arrays.local(s, taken)
    assert isinstance(owner, Array)
    try:
        places: Any = owner.places[key]
    except IndexError:
        raise s.raised(IndexError, node) from None
    items = heap.contents(s, owner.store, node)
    if not isinstance(places, np.ndarray):
        found: Abstract = items[places]
        return found
    if np.shares_memory(places, owner.places) or not places.size:
        return Array(owner.store, places)
    return arrays.new(s, arrays.filled(places.shape, [items[p] for p in places.flat]), node, owner.store.kind)


def _choose(s: Evaluator, owner: Abstract, keys: Sequence[Key], position: Value, node: cst.CSTNode) -> Abstract:
    """What `keys[position]` gives; `position` is known to be inside."""
    if isinstance(owner, Array):
        shape = np.shape(owner.places[keys[0]])
        if shape:
            return _one_of(s, [Array(owner.store, owner.places[key]) for key in keys], position)
    else:
        assert isinstance(owner, Static)
        shape = np.shape(owner.value[keys[0]])
    whole = arrays.grid(s, owner, node)
    if not shape:
        return s.mark_numpy(_pick(s, [whole[key] for key in keys], position))
    rows = [whole[key] for key in keys]
    cells = [_pick(s, column, position) for column in zip(*[r.flat for r in rows], strict=True)]
    made = arrays.new(s, arrays.filled(shape, cells), node, arrays.kind_of(owner),
                      frozen="it is a row of a captured array")
    return arrays.laid_out(made, owner.value[keys[0]]) if isinstance(owner, Static) else made


def _gathered(s: Evaluator, owner: Static, lanes: _LaneSubscript, node: cst.CSTNode) -> Abstract:
    """Gathers from a captured table of any size: one for each element of what is taken."""
    whole = owner.value[lanes.key([slice(None)] * len(lanes.sizes))]
    kept = [part for part in lanes.parts if not (isinstance(part, Static) and isinstance(part.value, int))]
    axes = [axis for axis, part in enumerate(kept) if not isinstance(part, Static)]
    columns = np.moveaxis(whole, axes, range(len(axes)))
    extent = columns.shape[len(axes):]
    columns = columns.reshape(int(np.prod(lanes.sizes)), -1)
    position, kind = _flat(s, lanes), arrays.kind_of(owner)
    cells: list[Abstract] = [s.build.op("gather", position, kind=kind, table=tuple(column.tolist()))
                             for column in columns.T]
    if not extent:
        return s.mark_numpy(cells[0])
    made = arrays.new(s, arrays.filled(extent, cells), node, kind, frozen="it is a row of a captured array")
    return arrays.laid_out(made, owner.value[lanes.key([0] * len(lanes.sizes))])


def _pick(s: Evaluator, items: Sequence[Abstract], position: Value) -> Abstract:
    if all(isinstance(v, Static) for v in items):
        table = tuple(v.value.item() for v in items if isinstance(v, Static))
        kind: Kind = {bool: BOOL, int: INT, float: FLOAT}[type(table[0])]
        return s.build.op("gather", position, kind=kind, table=table)
    chosen = items[-1]
    for number in range(len(items) - 2, -1, -1):
        chosen = scalars.choose(s, s.build.op("eq", position, const(number)), items[number], chosen)
    return chosen


def _one_of(s: Evaluator, views: Sequence[Abstract], position: Value) -> Abstract:
    chosen = views[-1]
    for number in range(len(views) - 2, -1, -1):
        chosen = GuardedUnion(s.build.op("eq", position, const(number)), views[number], chosen)
    return chosen


@per_alternative("owner")
def _window(s: Evaluator, owner: Abstract, part: Slice, node: cst.CSTNode) -> Abstract:
    """`v[i : i + WIDTH]` inside the array; where it reaches outside, the lane is replayed."""
    build, start, last = s.build, part.start, arrays.shape_of(owner)[0] - part.width
    assert start is not None
    outside = build.op("or", build.op("lt", start, const(0)), build.op("gt", start, const(last)))
    heap.fault_if(s, outside, "IndexError", "a slice reaches over the end", node)
    if last < 0:
        raise s.fault("IndexError", "a slice reaches over the end", node)
    if isinstance(owner, Static) and owner.value.ndim == 1 and arrays.kind_of(owner) is not None:
        table = tuple(owner.value.tolist())
        cells = [build.op("gather", build.op("add", start, const(offset)), kind=arrays.kind_of(owner), table=table)
                 for offset in range(part.width)]
        return arrays.new(s, arrays.filled((part.width,), cells), node, arrays.kind_of(owner),
                          frozen="it is a part of a captured array")
    return _choose(s, owner, [slice(at, at + part.width) for at in range(last + 1)], start, node)


def _by_array(s: Evaluator, owner: Abstract, indices: Array, node: cst.CSTNode) -> Abstract:
    if indices.store.kind is BOOL:
        raise s.refuse("flatten/lane-to-object", "a mask that depends on the data picks the elements of an array",
                       node, why="the number of elements would depend on the data",
                       help="use np.where(mask, values, 0.0), or sum(mask * values)")
    if len(arrays.shape_of(owner)) != 1:
        raise s.refuse("flatten/not-yet", "an array of computed indices into an array of several axes", node,
                       help="index with one int for each axis")
    return arrays.apply(s, lambda i: index(s, owner, i, node), [indices], node)


# --- subscripts
def _parts(s: Evaluator, subscript: Any, node: cst.CSTNode) -> list[Abstract]:
    """The subscript axis by axis; what is known as Static."""
    match subscript:
        case Slice():
            return [Static(subscript.value)]
        case Axes():
            return [part for each in subscript.parts for part in _parts(s, each, node)]
        case Static() if isinstance(subscript.value, tuple):
            return [Static(v) for v in subscript.value]
        case Seq() if subscript.cls is tuple:
            return [part for each in subscript.items for part in _parts(s, each, node)]
        case Static():
            return [subscript]
        case Array() | ListRef():
            value = arrays.known(s, subscript)
            return [arrays.array(s, subscript, node) if value is None else Static(value)]
    if numeric_kind(subscript) is FLOAT:
        raise s.raised(IndexError, node)
    if numeric_kind(subscript) is BOOL:
        raise s.refuse("flatten/lane-to-object", "a bool is used as the index of an array", node,
                       help="write np.where(...), or int(...) for an index")
    if numeric_kind(subscript) is None:
        raise s.refuse("flatten/unsupported-expression", f"{describe(subscript)} is used as the index of an array",
                       node)
    return [subscript]


def _key(parts: Sequence[Abstract]) -> Key:
    values = tuple(part.value for part in parts if isinstance(part, Static))
    return values[0] if len(values) == 1 else values


def _lanes(s: Evaluator, parts: list[Abstract], shape: tuple[int, ...], node: cst.CSTNode) -> _LaneSubscript:
    used = sum(not (isinstance(p, Static) and (p.value is None or p.value is ...)) for p in parts)
    if used > len(shape):
        raise s.raised(IndexError, node)
    full: list[Abstract] = []
    for part in parts:
        dots = isinstance(part, Static) and part.value is ...
        full += [Static(slice(None))] * (len(shape) - used) if dots else [part]
    axis, positions, sizes = 0, [], []
    for part in full:
        if isinstance(part, Array | GuardedUnion):
            raise s.refuse("flatten/not-yet", "an array of computed indices combined with other indices", node,
                           help="index with one int for each axis")
        if isinstance(part, Value):
            if not shape[axis]:
                raise s.raised(IndexError, node)
            positions.append(heap.check_index(s, scalars.to_kind(s, part, INT), shape[axis], node))
            sizes.append(shape[axis])
        axis += not (isinstance(part, Static) and part.value is None)

    return _LaneSubscript(tuple(full), tuple(positions), tuple(sizes))


def _flat(s: Evaluator, lanes: _LaneSubscript) -> Value:
    """The number of the combination, in the order of `choices`."""
    flat = lanes.positions[0]
    for position, size in zip(lanes.positions[1:], lanes.sizes[1:], strict=True):
        flat = s.build.op("add", s.build.op("mul", flat, const(size)), position)
    return flat


# --- writing
@per_alternative("owner", "subscript")
def store(s: Evaluator, owner: Abstract, subscript: Any, value: Abstract, node: cst.CSTNode) -> None:
    """`owner[subscript] = value`."""
    if isinstance(owner, Static):
        raise arrays.not_written(s, owner, node, "an item of {} is written",
                                 "make a copy in the function: w = np.array(TABLE)")
    assert isinstance(owner, Array)
    if isinstance(subscript, Slice) and subscript.start is not None:
        raise s.refuse("flatten/not-yet", "a slice of an array is written at a computed index", node,
                       help="write the elements one by one in a loop")
    parts = _parts(s, subscript, node)
    if all(isinstance(part, Static) for part in parts):
        write(s, owner, _targets(s, owner, _key(parts), node), value, node)
    elif len(parts) == 1 and isinstance(parts[0], Array):
        _store_masked(s, owner, parts[0], value, node)
    else:
        found = _lanes(s, parts, owner.places.shape, node)
        flat = _flat(s, found)
        for number, key in enumerate(found.choices(s, node)):
            write(s, owner, owner.places[key], value, node, s.build.op("eq", flat, const(number)))


def _targets(s: Evaluator, owner: Array, key: Key, node: cst.CSTNode) -> Any:
    try:
        return owner.places[key]
    except IndexError:
        raise s.raised(IndexError, node) from None


def _store_masked(s: Evaluator, owner: Array, mask: Array, value: Abstract, node: cst.CSTNode) -> None:
    if mask.store.kind is not BOOL or mask.places.shape != owner.places.shape or arrays.is_array(value):
        raise s.refuse("flatten/not-yet", "this assignment by an array of computed indices", node,
                       help="write w = np.where(mask, value, w)")
    conditions = arrays.grid(s, mask, node)
    for place, cond in zip(owner.places.flat, conditions.flat, strict=True):
        decided = s.space.truth(cond)
        if not isinstance(decided, Static):
            write(s, owner, place, value, node, decided)
        elif decided.value:
            write(s, owner, place, value, node)


def write(s: Evaluator, owner: Array, targets: Any, value: Abstract, node: cst.CSTNode, where: Value | None = None
          ) -> None:
    """Put `value`, cast and broadcast, into these places of the store; only in the lanes of `where`."""
    if owner.store in s.shared:
        heap.rewrite(s, owner.store, (), node)
    if owner.store.frozen or owner.store in s.frozen:
        raise s.refuse("flatten/list-mutation", "an array is written in place", node,
                       why=owner.store.frozen or _TAKES_TURNS, help="work on a copy: v = v.copy()")
    shape = np.shape(targets)
    whole = arrays.as_grid(s, value, node)
    while whole.ndim > len(shape) and whole.shape[0] == 1:
        whole = whole[0]
    try:
        elements = np.broadcast_to(whole, shape)
    except ValueError:
        raise s.raised(ValueError, node) from None
    changed = list(heap.contents(s, owner.store, node))
    for place, item in zip(np.ravel(targets), elements.flat, strict=True):
        cast = arrays.element(s, item, owner.store.kind, node)
        if where is None:
            changed[place] = cast
        else:
            changed[place] = s.mark_numpy(s.build.op("select", where, lane(cast), lane(changed[place])))
    s.state.heap[owner.store] = tuple(changed)


def update(s: Evaluator, owner: Array, value: Abstract, node: cst.CSTNode) -> None:
    """The end of `owner += ...`: the result of the operator goes into the array's own memory."""
    kinds = (arrays.kind_of(value), owner.store.kind)
    if arrays.shape_of(value) not in ((), owner.places.shape):
        raise s.raised(ValueError, node)
    if kinds[0] is FLOAT and kinds[1] is not FLOAT or kinds[0] is INT and kinds[1] is BOOL:
        raise s.raised(TypeError, node)
    write(s, owner, owner.places, value, node)
