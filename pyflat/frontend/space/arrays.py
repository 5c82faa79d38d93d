"""NumPy arrays of lane values: a known shape, elements of one kind (bool, int64, float64).

An `Array` is a view of a store on the abstract heap. NumPy itself works out shapes, views and broadcasting: on `places`
(which item of the store each element is), and on grids, object arrays whose elements are abstract numbers.
A captured array stays Static: it is read, never written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import libcst as cst
import numpy as np

from pyflat.errors import FlattenError
from pyflat.frontend.space import scalars, width_rules
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import alternatives, describe, is_number_union, lane, numeric_kind, per_alternative
from pyflat.frontend.state.values import (
    DTYPES,
    MAX_LENGTH,
    Abstract,
    Array,
    BoundMethod,
    Grid,
    GuardedUnion,
    ListRef,
    Seq,
    Static,
    StoreRef,
    WithoutAxes,
)
from pyflat.frontend.state.widths import OF_KIND, PYTHON
from pyflat.ir.nodes import Value
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MAX, INT_MIN, Kind, join_kinds

_KINDS: dict[Any, Kind] = {np.dtype(dtype): kind for kind, dtype in DTYPES.items()}
_PLAIN = (np.ndarray, np.memmap, np.recarray)


# --- what an array is
def is_array(value: Abstract) -> bool:
    """An array, or one of several of one shape and kind."""
    match value:
        case Array():
            return True
        case Static():
            return isinstance(value.value, np.ndarray) and value.value.ndim > 0
        case GuardedUnion():
            return is_array(value.then) and is_array(value.orelse) and shape_of(value.then) == shape_of(value.orelse) \
                and kind_of(value.then) is kind_of(value.orelse) is not None
    return False


def shape_of(value: Abstract) -> tuple[int, ...]:
    """The shape; of a number ()."""
    match value:
        case Array():
            return tuple(value.places.shape)
        case Static() if isinstance(value.value, np.ndarray):
            return tuple(value.value.shape)
        case GuardedUnion() if is_array(value):
            return shape_of(value.then)
    return ()


def require_forwards(s: Evaluator, operands: Sequence[Abstract], node: cst.CSTNode) -> None:
    """NumPy's vector code leaves arrays that run backwards to other code, with other bits."""
    for value in [one for operand in operands for one in alternatives(operand) if isinstance(one, Array)]:
        if kind_of(value) is FLOAT and value.places.size > 1 and min(value.places.strides) < 0:
            raise s.refuse("flatten/not-yet", "a function of an array that runs backwards", node,
                           why="NumPy computes it with other code than for other arrays",
                           help="make a copy first: v[::-1].copy()")


def kind_of(value: Abstract) -> Kind | None:
    """The kind of the elements, or of a number; None for a dtype that lanes do not have."""
    match value:
        case Array():
            return value.store.kind
        case Static() if isinstance(value.value, np.ndarray):
            return _KINDS.get(value.value.dtype)
        case GuardedUnion() if is_array(value):
            return kind_of(value.then)
    return numeric_kind(value)


def require_plain(s: Evaluator, value: Any, node: cst.CSTNode | None = None) -> None:
    """Subclasses of ndarray have operators and items of their own: products of matrices, masks that would be lost."""
    if not isinstance(value, np.ndarray) or type(value) in _PLAIN:
        return
    cls = type(value)
    raise s.refuse("flatten/unsupported-expression", f"an array that is a {cls.__module__}.{cls.__qualname__}", node,
                   why="its operators and items differ from those of a plain NumPy array",
                   help="convert it first: np.asarray(x), or x.filled(fill_value) for a masked array")


def known(s: Evaluator, value: Abstract) -> Any:
    """The value as an ndarray, number or other object if nothing in it is a lane; None otherwise."""
    match value:
        case Static():
            return value.value
        case Array():
            items = heap.contents(s, value.store)
            if not all(isinstance(v, Static) for v in items):
                return None
            flat = np.array([v.value for v in items], DTYPES[value.store.kind])
            return flat[value.places]
        case ListRef():
            return _known_items(s, heap.contents(s, value))
        case Seq() if value.cls in (tuple, list):
            return _known_items(s, value.items)
    return None


def _known_items(s: Evaluator, items: Sequence[Abstract]) -> list[Any] | None:
    found = [known(s, v) for v in items]
    return None if any(v is None for v in found) else found


# --- grids
def filled(shape: tuple[int, ...], items: Iterable[Abstract]) -> Grid:
    made = np.empty(shape, object)
    for position, item in enumerate(items):
        made.flat[position] = item
    return made


def grid(s: Evaluator, value: Abstract, node: cst.CSTNode) -> Grid:
    """The elements of an array as they are now; a number is a grid without axes."""
    match value:
        case Array():
            items = heap.contents(s, value.store, node)
            return filled(value.places.shape, [items[p] for p in value.places.flat])
        case Static() if isinstance(value.value, np.ndarray):
            _check(s, value.value, node)
            s.saw_turned |= value.value.ndim > 1 and not value.value.flags.c_contiguous
            return filled(value.value.shape, [Static(v) for v in value.value.flat])
        case GuardedUnion() if is_array(value):
            then, orelse = grid(s, value.then, node), grid(s, value.orelse, node)
            pairs = zip(then.flat, orelse.flat, strict=True)
            return filled(then.shape, [scalars.choose(s, value.cond, a, b) for a, b in pairs])
    return filled((), [value])


def _check(s: Evaluator, value: np.ndarray[Any, Any], node: cst.CSTNode | None) -> None:
    require_plain(s, value, node)
    if value.dtype not in _KINDS:
        raise s.refuse("flatten/unsupported-expression", f"an array of dtype {value.dtype}", node, needs_number=True,
                       help="use an array of float64, int64 or bool")
    if value.size > MAX_LENGTH:
        raise s.refuse("flatten/too-large", f"an array of {value.size} elements is taken apart into numbers", node,
                       help=f"up to {MAX_LENGTH} elements; larger arrays can be indexed, or given to np.interp")


def not_written(s: Evaluator, value: Abstract, node: cst.CSTNode, what: str, help: str) -> FlattenError:
    """The refusal of a write to an array whose elements are no lanes: a large one, one of another dtype, or one that is
    not made in the function. `what` says what happens to {}."""
    found = value.value if isinstance(value, Static) else None
    if isinstance(found, np.ndarray) and found.size > MAX_LENGTH:
        return s.refuse("flatten/too-large", what.format(f"an array of {found.size:,} elements"), node,
                        why=f"each element of an array that is written is a variable of the twin: {MAX_LENGTH} at most",
                        help="use a smaller array, or pass it as an argument: functions over arrays are kernels")
    if isinstance(found, np.ndarray) and found.dtype not in _KINDS:
        return s.refuse("flatten/effect", what.format(f"an array of dtype {found.dtype}"), node,
                        why="an element of an array that is written is a float64, int64 or bool",
                        help="use an array of float64, int64 or bool")
    return s.refuse("flatten/effect", what.format("an array that is not made in the function"), node, help=help)


def is_numeric(value: Abstract) -> bool:
    """An array, or a number in every lane."""
    return is_array(value) or is_number_union(value)


def as_grid(s: Evaluator, value: Abstract, node: cst.CSTNode) -> Grid:
    """The grid of what np.asarray takes: arrays, numbers, nested sequences of them."""
    if is_numeric(value):
        return grid(s, value, node)
    if isinstance(value, Static):
        made = scalars.const_eval(s, lambda: np.asarray(value.value))
        assert isinstance(made, Static)
        return grid(s, made, node)
    items = s.space.sequence_items(value, node) if isinstance(value, ListRef | Seq) else None
    if items is None:
        raise s.refuse("flatten/unsupported-expression", f"{describe(value)} is used as a NumPy array", node)
    rows = [as_grid(s, item, node) for item in items]
    if any(row.shape != rows[0].shape for row in rows):
        raise s.raised(ValueError, node)
    whole: Grid = np.stack(rows) if rows else filled((0,), [])
    if len({numeric_kind(v) for v in whole.flat}) > 1:
        kind = joined_kind(s, [whole], node)
        whole = filled(whole.shape, [cast(s, v, kind, node) for v in whole.flat])
    return whole


def joined_kind(s: Evaluator, grids: Iterable[Grid], node: cst.CSTNode | None) -> Kind:
    """The kind of an array of all these elements; of no elements, float."""
    items = [v for g in grids for v in g.flat]
    if len(items) > MAX_LENGTH:
        raise s.refuse("flatten/too-large", f"an array of {len(items)} computed numbers", node)
    kinds = {numeric_kind(v) for v in items}
    if None in kinds:
        odd = next(v for v in items if numeric_kind(v) is None)
        if is_number_union(odd):
            if FLOAT in kinds:
                return FLOAT
            raise s.refuse("flatten/mixed-join", "an array that has ints on some paths and floats on others", node,
                           help="write 0.0 instead of 0 if the number is meant to be a float")
        raise s.refuse("flatten/unsupported-expression", f"an array with {describe(odd)} in it", node,
                       why="its elements are numbers: bool, int or float", help="use nested lists or tuples")
    kind = BOOL if kinds else FLOAT
    for each in kinds:
        assert each is not None
        kind = join_kinds(kind, each)
    return kind


# --- making arrays
def new(s: Evaluator, elements: Grid, node: cst.CSTNode | None, kind: Kind | None = None, frozen: str = "") -> Array:
    """A fresh array of these elements, converted to one kind as NumPy promotes them."""
    s.widths.seen = True
    if kind is None:
        require_wide(s, elements, node, "an array", "name the dtype: np.array([...], dtype=np.float64)")
    kind = kind or joined_kind(s, [elements], node)
    store = StoreRef(kind, frozen, in_order=elements.ndim < 2 or not _some_turned(s))
    s.state.heap[store] = tuple(element(s, v, kind, node) for v in elements.flat)
    return Array(store, np.arange(elements.size).reshape(elements.shape))


def require_wide(s: Evaluator, elements: Grid, node: cst.CSTNode | None, what: str, help: str) -> None:
    """Arrays made of a kernel's numbers are of float64, int64 or bool."""
    if s.widths.kernel and dtype_of_numbers(s, elements) not in ("f8", "i8", "b1"):
        raise s.refuse("flatten/not-yet", f"{what} of numbers of NumPy's narrow dtypes", node, help=help)


def dtype_of_numbers(s: Evaluator, elements: Grid) -> str:
    """The dtype that NumPy gives an array of numbers of a kernel, whose own dtypes count; "" where one is not known."""
    found: set[np.dtype[Any]] = set()
    for value in elements.flat:
        kind, width = numeric_kind(value), s.widths.of(value) if isinstance(value, Value) else PYTHON
        if kind is None:
            return "f8"  # what is no number is refused elsewhere
        if "?" in width:
            return ""
        if isinstance(value, Static) and isinstance(value.value, np.generic):
            found.add(value.value.dtype)
        else:
            found.update(np.dtype(each or OF_KIND[kind]) for each in width)
    return np.result_type(*found).str[1:] if found else "f8"


def array(s: Evaluator, value: Abstract, node: cst.CSTNode, kind: Kind | None = None) -> Abstract:
    """np.asarray: an array as it is; a number is a number still."""
    if is_array(value) and kind in (None, kind_of(value)):
        return value
    found = as_grid(s, value, node)
    if found.shape:
        return new(s, found, node, kind)
    number: Abstract = found[()]
    return number if kind is None else element(s, number, kind, node)


def element(s: Evaluator, value: Abstract, kind: Kind, node: cst.CSTNode | None = None) -> Abstract:
    """A number as an element of an array of this kind."""
    made = cast(s, value, kind, node)
    if s.widths.kernel and isinstance(made, Value) and not s.widths.of(made) <= {None, OF_KIND[kind]}:
        return width_rules.as_dtype(s, s.widths, made, OF_KIND[kind])
    return s.mark_numpy(made, [value])


def cast(s: Evaluator, value: Abstract, kind: Kind, node: cst.CSTNode | None = None) -> Abstract:
    """NumPy's promotion, or its cast on assignment."""
    if not is_number_union(value):
        raise s.refuse("flatten/unsupported-expression", f"an element that is {describe(value)}", node)
    if isinstance(value, Static):
        if kind is INT and not INT_MIN <= value.value <= INT_MAX:
            raise s.refuse("flatten/int-too-large", f"the number {value.value} does not fit int64", node)
        return scalars.const_eval(s, lambda: DTYPES[kind](value.value))
    if kind is FLOAT:
        return scalars.as_float(s, value)
    if kind is BOOL:
        return lane(s.space.truth(value))
    return s.each(value, lambda one: scalars.to_kind(s, lane(one), kind))


def local(s: Evaluator, value: Abstract, sources: Iterable[Any] = ()) -> Abstract:
    """What a call on known values gives: a small new array is one that the code may write to."""
    if not isinstance(value, Static) or not isinstance(value.value, np.ndarray):
        return value
    found = value.value
    require_plain(s, found)
    if found.ndim == 0 and found.dtype in _KINDS:
        return WithoutAxes(found[()])
    shared = any(isinstance(other, np.ndarray) and np.shares_memory(found, other) for other in sources)
    if shared or found.dtype not in _KINDS or found.size > MAX_LENGTH:
        return value
    return new(s, filled(found.shape, [Static(v) for v in found.flat]), None, _KINDS[found.dtype])


# --- element by element
def apply(s: Evaluator, use: Callable[..., Abstract], operands: Sequence[Abstract], node: cst.CSTNode,
          kind: Kind | None = None) -> Abstract:
    """`use` on corresponding elements, broadcast; a number where no operand is an array."""
    if (made := s.split_first(operands, lambda *row: apply(s, use, row, node, kind),
                              lambda value: is_array(value) or _fits(value, operands))) is not None:
        return made
    try:
        columns = np.broadcast_arrays(*[grid(s, v, node) for v in operands])
    except ValueError:
        raise s.raised(ValueError, node) from None
    made = filled(columns[0].shape, [use(*row) for row in zip(*[c.flat for c in columns], strict=True)])
    if not made.shape:
        found: Abstract = made[()]
        return s.mark_numpy(found, operands)
    return new(s, made, node, kind or (None if made.size else _kind_of_none(operands)))


def _fits(value: Abstract, operands: Sequence[Abstract]) -> bool:
    """An int in some lanes, a float in others, beside floats: it is a float in every lane."""
    return is_number_union(value) and any(kind_of(v) is FLOAT for v in operands)


def _kind_of_none(operands: Sequence[Abstract]) -> Kind:
    kind = BOOL
    for value in operands:
        kind = join_kinds(kind, kind_of(value) or FLOAT)
    return kind


@per_alternative("value")
def row(s: Evaluator, value: Abstract, position: int, node: cst.CSTNode | None) -> Abstract:
    """`value[position]` while iterating: an element, or a view of a row."""
    match value:
        case Array() if value.places.ndim == 1:
            found: Abstract = heap.contents(s, value.store, node)[value.places[position]]
            return found
        case Array():
            return Array(value.store, value.places[position])
    assert isinstance(value, Static)
    return Static(value.value[position])


def attribute(owner: Array, name: str) -> Abstract:
    """`owner.name`: what the shape says, the transposed view, or a method."""
    match name:
        case "shape" | "size" | "ndim":
            return Static(getattr(owner.places, name))
        case "T":
            return Array(owner.store, owner.places.T)
        case "real":
            return owner
        case "dtype":
            return Static(np.dtype(DTYPES[owner.store.kind]))
    return BoundMethod(owner, name)


def laid_out(value: Array, like: np.ndarray[Any, Any]) -> Array:
    """The array with the strides of `like`: in which order BLAS adds depends on them."""
    steps = [stride // like.itemsize for stride in like.strides]
    if like.flags.c_contiguous or 0 in steps:
        return value
    reach = [step * (size - 1) for step, size in zip(steps, like.shape, strict=True)]
    low = sum(min(r, 0) for r in reach)
    memory = np.zeros(sum(max(r, 0) for r in reach) - low + 1, np.intp)
    places = np.lib.stride_tricks.as_strided(memory[-low:], like.shape, [step * memory.itemsize for step in steps])
    places[...] = value.places
    return Array(value.store, places)


def _some_turned(s: Evaluator) -> bool:
    """An array of another order than C's may be among the operands of what is made now."""
    stores = [ref for ref in list(s.state.heap) if isinstance(ref, StoreRef)]
    return s.saw_turned or any(store.has_views or not store.in_order for store in stores)


def is_plain(value: Abstract) -> bool:
    """The elements lie one after the other, last axis first."""
    match value:
        case Array():
            return bool(value.places.flags.c_contiguous) and value.store.in_order
        case Static() if isinstance(value.value, np.ndarray):
            return bool(value.value.flags.c_contiguous)
        case GuardedUnion():
            return is_plain(value.then) and is_plain(value.orelse)
    return True
