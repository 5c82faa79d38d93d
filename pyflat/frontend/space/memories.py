"""Arrays of a kernel, which are in memory: their items, slices, rows and attributes.

A `View` says where its elements are; reading one is a `load` of the memory as it is now, writing one a `store`, after
which the heap has the next memory. Indices follow Python: negative ones count from the end, what is outside raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst
import numpy as np

from pyflat.errors import FlattenError
from pyflat.frontend.space import numbers as num
from pyflat.frontend.space import scalars, uint64, unsigned, width_rules
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import alternatives, describe, is_number_union, lane, numeric_kind, per_alternative
from pyflat.frontend.state.values import (
    NONE,
    Abstract,
    Array,
    Axes,
    BoundMethod,
    GuardedUnion,
    ListRef,
    MemoryRef,
    Pending,
    Ranges,
    Seq,
    Slice,
    Static,
    Stored,
    Unsigned,
    View,
)
from pyflat.frontend.state.widths import PYTHON
from pyflat.ir.kernel_results import Model
from pyflat.ir.memory import ArrayArgument
from pyflat.ir.nodes import Const, Param, Value
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MAX, MEMORY

Part = Abstract | Slice


def whole(memory: MemoryRef, array: str, dtype: str, extents: Sequence[Abstract], *, settled: bool) -> View:
    """An array, element by element."""
    stored = tuple(Stored(Static(0), axis, Static(1)) for axis in range(len(extents)))
    return View(memory, array, dtype, tuple(extents), stored, settled, whole=True)


def argument(s: Evaluator, shape: ArrayArgument, name: str, params: list[Param], memories: dict[int, MemoryRef]
             ) -> View:
    """The array that a parameter is; `memories` are those of the arguments before it, by their numbers."""
    if shape.memory not in memories:
        memory = memories[shape.memory] = MemoryRef()
        params.append(Param(MEMORY, name))
        s.state.heap[memory] = (params[-1],)
    extents = [Param(INT, f"{name}_{axis}") for axis in range(shape.rank)]
    params += extents
    for extent in extents:
        s.widths.mark(extent, PYTHON)
    s.widths.narrow |= shape.dtype not in ("f8", "i8")
    s.widths.native &= shape.native
    return whole(memories[shape.memory], name, shape.dtype, extents, settled=True)


def allocated(s: Evaluator, extents: Sequence[Abstract], dtype: str, fill: Abstract | None, node: cst.CSTNode) -> View:
    """A new array; `fill` is what the elements are, None: not known."""
    sizes = [_length(s, extent, node) for extent in extents]
    s.counter += 1
    array, memory = f"array {s.counter}", MemoryRef()
    kind = width_rules.kind_of(dtype)
    first: Value = Const(kind, None) if fill is None else element(s, fill, dtype, node)
    s.state.heap[memory] = (s.build.op("alloc", *map(lane, sizes), first, array=array, dtype=dtype),)
    s.widths.narrow |= dtype not in ("f8", "i8")
    return whole(memory, array, dtype, sizes, settled=s.round == 0)


def _length(s: Evaluator, extent: Abstract, node: cst.CSTNode) -> Abstract:
    if numeric_kind(extent) not in (INT, BOOL):
        raise s.raised(TypeError, node)
    negative = s.space.truth(num.compare(s, "lt", extent, Static(0)))
    if isinstance(negative, Static):
        if negative.value:
            raise s.raised(ValueError, node)
    else:
        heap.raise_if(s, negative, ValueError)
    return extent


# --- reading and writing
def index(s: Evaluator, owner: View, subscript: Any, node: cst.CSTNode) -> Abstract:
    """`owner[subscript]`: an element, or a view."""
    found = _taken(s, owner, subscript, node)
    return load(s, found) if not found.extents else found


@per_alternative("value")
def store(s: Evaluator, owner: View, subscript: Any, value: Abstract, node: cst.CSTNode) -> None:
    """`owner[subscript] = value`."""
    assign(s, _taken(s, owner, subscript, node), value, node)


def assign(s: Evaluator, target: View, value: Abstract, node: cst.CSTNode) -> None:
    """Put a number into all elements of a view, or the elements of another one, broadcast as NumPy does."""
    if not target.extents:
        if isinstance(value, View | Pending):
            raise s.refuse("flatten/not-yet", "an array is put into an element", node)
        put(s, target, element(s, value, target.dtype, node))
        return
    if isinstance(value, View | Pending):
        require_shape(s, target.extents, value.extents, node)
        value = _apart(s, target, value, node)
    elif numeric_kind(value) is None:
        from pyflat.frontend.space import routines

        value = routines.in_memory(s, value, node)
        require_shape(s, target.extents, value.extents, node)
    # A number is converted once, for an empty view too: NumPy raises where it does not fit.
    number = None if isinstance(value, View | Pending) else element(s, value, target.dtype, node)

    def put_row(at: tuple[Abstract, ...]) -> None:
        put(s, part_at(s, target, at), number or element(s, value_at(s, value, at), target.dtype, node))

    over(s, target.extents, put_row, node)


def over(s: Evaluator, extents: Sequence[Abstract], use: Callable[[tuple[Abstract, ...]], object], node: cst.CSTNode,
         at: tuple[Abstract, ...] = ()) -> None:
    """A nest of loops over all indices."""
    if len(at) == len(extents):
        use(at)
        return
    s.space.repeat(node, Ranges(Static(0), extents[len(at)], 1),
                   lambda _, counter: over(s, extents, use, node, (*at, counter)))


def _apart(s: Evaluator, target: View, value: View | Pending, node: cst.CSTNode) -> View | Pending:
    """The value, copied where it may overlap with what is written, as NumPy does."""
    return computed(s, value, node) if overlaps(target, value) else value


def computed(s: Evaluator, value: View | Pending, node: cst.CSTNode) -> View:
    """A new array with these elements."""
    made = allocated(s, value.extents, value.dtype, None, node)
    order = s.widths.models.get(value.array)
    if isinstance(value, Pending) and order is not None:
        s.widths.models[made.array] = order
    assign(s, made, value, node)
    return made


def whole_copy(s: Evaluator, source: View, node: cst.CSTNode, dtype: str = "") -> View:
    """A new array with the same elements, in C's order."""
    made = allocated(s, source.extents, dtype or source.dtype, None, node)
    assign(s, made, source, node)
    return made


def overlaps(target: View, value: Any) -> bool:
    """Whether an element may be read after it is written, where they are put in order."""
    if isinstance(value, Pending):
        return any(overlaps(target, operand) for operand in value.operands)
    return isinstance(value, View) and value.memory is target.memory and not _is_same(target, value)


def reads(value: Any, owner: View) -> bool:
    """Whether an element of an array's memory is one of the value's."""
    if isinstance(value, Pending):
        return any(reads(operand, owner) for operand in value.operands)
    return isinstance(value, View) and value.memory is owner.memory


def _is_same(a: View, b: View) -> bool:
    pairs = [*zip(a.extents, b.extents, strict=False)]
    for one, other in zip(a.stored, b.stored, strict=False):
        pairs += [(one.start, other.start), (one.step, other.step), (Static(one.axis), Static(other.axis))]
    return a.array == b.array and len(a.extents) == len(b.extents) and all(
        one is other or isinstance(one, Static) and isinstance(other, Static) and one.value == other.value
        for one, other in pairs)


def value_at(s: Evaluator, value: Any, at: Sequence[Abstract]) -> Abstract:
    """The element of an array, or of an expression of them, at indices of what it is broadcast to; or the number."""
    match value:
        case View():
            return load(s, part_at(s, value, at))
        case Pending():
            own = at[len(at) - len(value.extents):]
            found: Abstract = value.each([value_at(s, operand, own) for operand in value.operands])
            return found
    number: Abstract = value
    return number


def broadcast(s: Evaluator, shapes: Sequence[Sequence[Abstract]], node: cst.CSTNode) -> tuple[Abstract, ...]:
    """The shape of arrays together. Lengths of which it is not known that they agree: the original decides."""
    rank = max(map(len, shapes))
    found: list[Abstract] = [Static(1)] * rank
    for shape in shapes:
        for axis, extent in enumerate(shape, rank - len(shape)):
            if _is_one(found[axis]):
                found[axis] = extent
            elif not _is_one(extent):
                _require_equal(s, found[axis], extent, node)
    return tuple(found)


def require_shape(s: Evaluator, extents: Sequence[Abstract], given: Sequence[Abstract], node: cst.CSTNode) -> None:
    """An array of the shape `given` is put into one of `extents`."""
    lead = len(extents) - len(given)
    if lead < 0:
        raise s.refuse("flatten/not-yet", "an array of more axes is put into one of fewer", node)
    for own, other in zip(extents[lead:], given, strict=True):
        if not _is_one(other):
            _require_equal(s, own, other, node)


def require_equal(s: Evaluator, extents: Sequence[Abstract], given: Sequence[Abstract], node: cst.CSTNode) -> None:
    """A mask of the shape `given` is for the first axes of an array."""
    for own, other in zip(extents, given, strict=False):
        _require_equal(s, own, other, node)


def _is_one(extent: Abstract) -> bool:
    return isinstance(extent, Static) and extent.value == 1


def _require_equal(s: Evaluator, a: Abstract, b: Abstract, node: cst.CSTNode) -> None:
    differ = s.space.truth(num.compare(s, "ne", a, b))
    if not isinstance(differ, Static):
        heap.suspect_if(s, differ, "arrays of different shapes", node)
    elif differ.value:
        raise s.raised(ValueError, node)


def remember_order(s: Evaluator, made: View | Pending, operands: Sequence[View | Pending]) -> None:
    """NumPy gives a new array the order of axes in memory that those have which it is made of."""
    rank = len(made.extents)
    if rank < 2:
        return
    models: list[Model] = []
    for view in operands:
        axes: list[int | None] = [None] * rank
        lead = rank - len(view.extents)
        stored = [axis.axis for axis in view.stored] if isinstance(view, View) else range(len(view.extents))
        for number, axis in enumerate(stored):
            if axis is not None and not _is_one(view.extents[axis]):
                axes[lead + axis] = number
        models.append((view.array, tuple(axes)))
    s.widths.models[made.array] = tuple(models)


def part_at(s: Evaluator, view: View, at: Sequence[Abstract]) -> View:
    """The element of an array at indices of what it is broadcast to, which are inside."""
    own = at[len(at) - len(view.extents):]
    return _element(s, view, [Static(0) if _is_one(extent) else place
                              for extent, place in zip(view.extents, own, strict=True)])


def load(s: Evaluator, place: View) -> Abstract:
    """The element that a view without axes is."""
    value = load_bits(s, place)
    return unsigned.of_bits(s.widths, value) if place.dtype == "u8" else value


def load_bits(s: Evaluator, place: View) -> Value:
    """The element as it is in memory."""
    (memory,) = s.state.heap[place.memory]
    kind = width_rules.kind_of(place.dtype)
    value = s.build.op("load", memory, *_position(place), kind=kind, array=place.array, dtype=place.dtype)
    return s.widths.mark(value, frozenset({place.dtype}))


def put(s: Evaluator, place: View, value: Value) -> None:
    copies = s.widths.copies
    if copies and (place.memory in copies or place.memory in copies.values()):
        raise s.refuse("flatten/not-yet", "an array is written that may share memory with another one",
                       why="whether .ravel, .reshape and np.ascontiguousarray copy depends on the array's layout",
                       help="use .flatten() or .copy()")
    (memory,) = s.state.heap[place.memory]
    s.state.heap[place.memory] = (s.build.op("store", memory, *_position(place), value, array=place.array,
                                             dtype=place.dtype),)


def _position(place: View) -> list[Value]:
    return [lane(axis.start) for axis in place.stored]


def element(s: Evaluator, value: Abstract, dtype: str, node: cst.CSTNode) -> Value:
    """A number as it is put into an array of a dtype."""
    if isinstance(value, Unsigned):
        if s.widths.of(value.bits) != {"u8"} or dtype not in ("u8", "f8"):
            value = unsigned.as_int(s, value)
        elif dtype == "u8":
            return unsigned.exact(s, value)
        else:
            value = uint64.as_float(s, s.widths, value)
    if isinstance(value, GuardedUnion) and is_number_union(value):
        return lane(s.split(value, lambda v: element(s, v, dtype, node)))
    if numeric_kind(value) is None:
        raise s.refuse("flatten/unsupported-expression", f"{describe(value)} is put into an array of {np.dtype(dtype)}",
                       node, why="its elements are numbers")
    kind = width_rules.kind_of(dtype)
    if kind is BOOL:
        return lane(s.space.truth(value))
    if kind is FLOAT:
        if dtype == "f8" or isinstance(value, Value) and s.widths.of(value) == {dtype}:
            return scalars.as_float(s, value)
        return width_rules.as_float32(s, s.widths, value)
    if isinstance(value, Static) and not -(2**63) <= value.value <= INT_MAX:
        raise s.fault("OverflowError", "a number leaves int64", node)
    number = scalars.to_kind(s, lane(value), INT)
    if dtype == "i8" or isinstance(value, Value) and s.widths.of(value) == {dtype}:
        return number
    return s.build.op("fitted", number, dtype=dtype)


# --- subscripts
def _taken(s: Evaluator, owner: View, subscript: Any, node: cst.CSTNode) -> View:
    """The part of the array that a subscript means."""
    return _selected(s, owner, split_subscript(s, subscript, node, len(owner.extents)), node)


def split_subscript(s: Evaluator, subscript: Any, node: cst.CSTNode, rank: int) -> list[Part]:
    """The parts of a subscript, with slices for all axes that it does not name. A mask is for all of its axes."""
    parts = _parts(s, subscript, node)
    given = sum(_axes_of(part) for part in parts)
    if given > rank:
        raise s.raised(IndexError, node)
    full: list[Part] = []
    for part in parts:
        dots = isinstance(part, Static) and part.value is ...
        full += [Slice(slice(None))] * (rank - given) if dots else [part]
    return [*full, *[Slice(slice(None))] * (rank - sum(map(_axes_of, full)))]


def _axes_of(part: Part) -> int:
    if isinstance(part, View | Pending) and part.dtype == "b1":
        return len(part.extents)
    return int(not (isinstance(part, Static) and (part.value is None or part.value is ...)))


def _parts(s: Evaluator, subscript: Any, node: cst.CSTNode) -> list[Part]:
    match subscript:
        case Axes():
            return [part for each in subscript.parts for part in _parts(s, each, node)]
        case Static() if isinstance(subscript.value, tuple):
            return [Static(v) for v in subscript.value]
        case Seq() if subscript.cls is tuple:
            return [part for each in subscript.items for part in _parts(s, each, node)]
        case Slice():
            return [subscript]
        case Static() if subscript.value is None or subscript.value is ...:
            return [subscript]
        case View() | Pending() | Array() | ListRef() | Static(value=np.ndarray()):
            return [subscript]
    kind = INT if isinstance(subscript, Unsigned) else numeric_kind(subscript)
    if kind is FLOAT:
        raise s.raised(IndexError, node)
    if kind is not INT:
        what = "a bool" if kind is BOOL else describe(subscript)
        raise s.refuse("flatten/not-yet", f"an array is indexed with {what}", node,
                       help="index with one int for each axis, in a loop")
    return [subscript]


def _selected(s: Evaluator, owner: View, parts: Sequence[Part], node: cst.CSTNode) -> View:
    extents: list[Abstract] = []
    starts: list[tuple[Abstract, int | None, Abstract]] = []
    axis = 0
    for part in parts:
        if isinstance(part, Static) and part.value is None:
            extents.append(Static(1))
            continue
        extent = owner.extents[axis]
        if isinstance(part, Slice):
            start, count, step = _slice(s, part, extent, node)
            starts.append((start, len(extents), step))
            extents.append(count)
        else:
            starts.append((checked(s, part, extent, node), None, Static(0)))
        axis += 1
    stored = tuple(_through(s, each, starts) for each in owner.stored)
    return View(owner.memory, owner.array, owner.dtype, tuple(extents), stored)


def _through(s: Evaluator, stored: Stored, starts: Sequence[tuple[Abstract, int | None, Abstract]]) -> Stored:
    """An axis of memory, of which a view has been taken."""
    if stored.axis is None:
        return stored
    start, axis, step = starts[stored.axis]
    return Stored(_plus(s, stored.start, _times(s, stored.step, start)), axis, _times(s, stored.step, step))


def _element(s: Evaluator, view: View, at: Sequence[Abstract]) -> View:
    """The element at these indices, which are inside."""
    stored = tuple(each if each.axis is None else
                   Stored(_plus(s, each.start, _times(s, each.step, at[each.axis])), None, Static(0))
                   for each in view.stored)
    return View(view.memory, view.array, view.dtype, (), stored)


def _plus(s: Evaluator, a: Abstract, b: Abstract) -> Abstract:
    if isinstance(a, Static) and a.value == 0:
        return b
    return a if isinstance(b, Static) and b.value == 0 else num.binary(s, "add", a, b)


def _times(s: Evaluator, a: Abstract, b: Abstract) -> Abstract:
    if isinstance(a, Static) and a.value == 1:
        return b
    return a if isinstance(b, Static) and b.value == 1 else num.binary(s, "mul", a, b)


def checked(s: Evaluator, position: Abstract, extent: Abstract, node: cst.CSTNode) -> Abstract:
    """Python's rule for an index of an axis: negative ones count from the end, outside raises."""
    if isinstance(position, Unsigned):
        position = unsigned.as_int(s, position)
    if isinstance(position, Static) and isinstance(extent, Static):
        if not -extent.value <= position.value < extent.value:
            raise s.raised(IndexError, node)
        return Static(position.value % extent.value)
    if isinstance(position, Static) and not -(2**63) <= position.value <= INT_MAX:
        raise s.raised(IndexError, node)
    plain = width_rules.python(s, s.widths, scalars.to_kind(s, lane(position), INT))
    return width_rules.python(s, s.widths, s.build.op("index", lane(plain), lane(extent)))


def _slice(s: Evaluator, part: Slice, extent: Abstract, node: cst.CSTNode) -> tuple[Abstract, Abstract, Abstract]:
    """Start, length and step, as `slice.indices` gives them."""
    if part.start is not None:
        bounds: tuple[Abstract, ...] = (part.start, num.binary(s, "add", part.start, Static(part.width)), NONE)
    else:
        bounds = part.bounds or (Static(part.value.start), Static(part.value.stop), Static(part.value.step))
    step = Static(1) if bounds[2] is NONE or isinstance(bounds[2], Static) and bounds[2].value is None else bounds[2]
    if numeric_kind(step) is not INT:
        raise s.raised(TypeError, node)
    if not isinstance(step, Static):
        heap.suspect_if(s, lane(num.compare(s, "lt", step, Static(1))), "a slice whose step is not positive", node)
    elif step.value == 0:
        raise s.raised(ValueError, node)
    forward = not isinstance(step, Static) or step.value > 0
    low: Abstract = Static(0) if forward else Static(-1)
    high = extent if forward else num.binary(s, "sub", extent, Static(1))
    first, last = (low, high) if forward else (high, low)
    start = _clamped(s, bounds[0], first, low, high, extent, node)
    stop = _clamped(s, bounds[1], last, low, high, extent, node)
    if forward:
        span = num.binary(s, "sub", _unclamped(s, bounds[1], stop, extent, end=True),
                          _unclamped(s, bounds[0], start, extent, end=False))
    else:
        span = num.binary(s, "sub", start, stop)
    size = Static(abs(step.value)) if isinstance(step, Static) else width_rules.python(s, s.widths, step)
    if not _is_one(size):
        span = num.binary(s, "floordiv", num.binary(s, "add", span, num.binary(s, "sub", size, Static(1))), size)
    return start, _larger(s, span, Static(0)), size if forward else step


def _unclamped(s: Evaluator, bound: Abstract, clamped: Abstract, extent: Abstract, *, end: bool) -> Abstract:
    """A literal bound for the length of a slice, which is no less than zero: that it starts at the end, or stops at the
    start, need not be seen to."""
    if not isinstance(bound, Static) or bound.value is None or (bound.value < 0) != end or abs(bound.value) > 2**31:
        return clamped
    return num.binary(s, "add", extent, bound) if end else bound


@per_alternative("bound")
def _clamped(s: Evaluator, bound: Abstract, default: Abstract, low: Abstract, high: Abstract, extent: Abstract,
             node: cst.CSTNode) -> Abstract:
    if isinstance(bound, Static) and bound.value is None:
        return default
    if isinstance(bound, Unsigned):
        bound = unsigned.as_int(s, bound)
    if numeric_kind(bound) is not INT:
        raise s.raised(TypeError, node)
    if isinstance(bound, Static) and bound.value >= 0 and isinstance(low, Static) and low.value == 0:
        return bound if bound.value == 0 else _smaller(s, bound, high)
    if isinstance(bound, Static) and bound.value < 0:
        return _larger(s, num.binary(s, "add", extent, bound), low)
    negative = s.space.truth(num.compare(s, "lt", bound, Static(0)))
    wrapped = num.binary(s, "add", bound, extent)
    if isinstance(negative, Static):
        return _smaller(s, wrapped if negative.value else bound, high)
    return scalars.choose(s, negative, _larger(s, wrapped, low), _smaller(s, bound, high))


def _larger(s: Evaluator, a: Abstract, b: Abstract) -> Abstract:
    test = s.space.truth(num.compare(s, "lt", a, b))
    return (b if test.value else a) if isinstance(test, Static) else scalars.choose(s, test, b, a)


def _smaller(s: Evaluator, a: Abstract, b: Abstract) -> Abstract:
    test = s.space.truth(num.compare(s, "lt", b, a))
    return (b if test.value else a) if isinstance(test, Static) else scalars.choose(s, test, b, a)


# --- attributes and iteration
def not_native(s: Evaluator, what: str, node: cst.CSTNode | None = None) -> FlattenError:
    """The refusal of what shows the byte order of arrays."""
    return s.refuse("flatten/not-yet", f"{what}, where arguments have another byte order than the machine", node,
                    help="pass a.astype(a.dtype.newbyteorder('='))")


def attribute(s: Evaluator, owner: View, name: str, node: cst.CSTNode) -> Abstract:
    match name:
        case "shape":
            return heap.make_tuple(owner.extents)
        case "ndim":
            return Static(len(owner.extents))
        case "dtype":
            if not s.widths.native:
                raise not_native(s, "the dtype of an array", node)
            return Static(np.dtype(owner.dtype))
        case "flat":
            return _flat(s, owner, node)
        case "itemsize":
            return Static(np.dtype(owner.dtype).itemsize)
        case "size":
            size: Abstract = Static(1)
            for extent in owner.extents:
                size = _times(s, size, extent)
            return size
        case "T":
            return permuted(owner, range(len(owner.extents))[::-1])
    if callable(getattr(np.ndarray, name, None)):
        return BoundMethod(owner, name)
    raise s.refuse("flatten/not-yet", f"the attribute .{name} of an array of a kernel", node)


def permuted(owner: View, order: Sequence[int]) -> View:
    """The view whose axes are those of `owner` with these numbers."""
    stored = tuple(Stored(x.start, None if x.axis is None else order.index(x.axis), x.step) for x in owner.stored)
    return View(owner.memory, owner.array, owner.dtype, tuple(owner.extents[axis] for axis in order), stored)


def is_view(value: Abstract) -> bool:
    """An array of a kernel, or one of several."""
    return all(isinstance(one, View) for one in alternatives(value))


def rows(s: Evaluator, owner: Abstract, node: cst.CSTNode) -> Ranges:
    """What iterating over an array gives."""
    return Ranges(Static(0), _rows_of(s, owner, node), 1, item=lambda counter: s.space.getitem(owner, counter, node))


def unpacked(s: Evaluator, owner: View, count: int, node: cst.CSTNode) -> list[Abstract]:
    """`x, y = a[i]`: the elements, or rows, of an array that has as many."""
    other = s.space.truth(num.compare(s, "ne", _rows_of(s, owner, node), Static(count)))
    if not isinstance(other, Static):
        heap.raise_if(s, other, ValueError)
    elif other.value:
        raise s.raised(ValueError, node)
    return [s.space.getitem(owner, Static(k), node) for k in range(count)]


def _flat(s: Evaluator, owner: View, node: cst.CSTNode) -> Ranges:
    """`a.flat`, which is iterated over and indexed: the elements in C's order."""
    size = attribute(s, owner, "size", node)

    def place(counter: Abstract) -> View:
        return part_at(s, owner, places(s, owner.extents, counter))

    return Ranges(Static(0), size, 1, item=lambda counter: load(s, place(counter)),
                  at=lambda key: place(checked(s, key, size, node)))


def places(s: Evaluator, extents: Sequence[Abstract], counter: Abstract) -> list[Abstract]:
    """The indices of an element, of which `counter` are before it in C's order."""
    found: list[Abstract] = []
    for extent in extents[:0:-1]:
        found.insert(0, num.binary(s, "mod", counter, extent))
        counter = num.binary(s, "floordiv", counter, extent)
    return [counter, *found]


@per_alternative("owner")
def _rows_of(s: Evaluator, owner: Abstract, node: cst.CSTNode) -> Abstract:
    assert isinstance(owner, View)
    if not owner.extents:
        raise s.raised(TypeError, node)
    return owner.extents[0]


def require_known(s: Evaluator, key: Any, node: cst.CSTNode) -> None:
    """Refuse a slice whose bounds are not known, of what is no array in memory."""
    parts = key.parts if isinstance(key, Axes) else (key,)
    if any(isinstance(part, Slice) and part.bounds for part in parts):
        raise s.refuse("flatten/lane-to-object", "a slice bound depends on the data", node,
                       why="so would the number of items, and lists and arrays here have a known length")
