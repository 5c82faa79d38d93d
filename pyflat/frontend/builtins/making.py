"""Making NumPy arrays: constructors, copies, and functions that only move elements."""

from __future__ import annotations

from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.builtins.support import Given
from pyflat.frontend.space import arrays, scalars
from pyflat.frontend.space.number_classes import may_lack_axes
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.values import DTYPES, Abstract, Array, Grid, GuardedUnion, Static
from pyflat.ir.build import const
from pyflat.ir.types import FLOAT, Kind

_VIEWS = {np.ravel, np.reshape, np.transpose, np.squeeze, np.atleast_1d, np.atleast_2d, np.expand_dims, np.flip,
          np.fliplr, np.flipud, np.swapaxes, np.moveaxis, np.rot90}


def dtype_of(s: Evaluator, given: Given, node: cst.CSTNode) -> Kind | None:
    """The kind that dtype= asks for; None where it is left out."""
    wanted = given.static("dtype", None)
    if wanted is None:
        return None
    found = scalars.const_eval(s, lambda: np.dtype(wanted))
    assert isinstance(found, Static)
    kind = next((k for k, dtype in DTYPES.items() if np.dtype(dtype) == found.value), None)
    if kind is None:
        raise s.refuse("flatten/unsupported-expression", f"{given.title} with dtype {found.value}", node,
                       help="use float, int or bool")
    return kind


def _fresh(s: Evaluator, value: Abstract, node: cst.CSTNode, kind: Kind | None) -> Abstract:
    """A copy of an array; a number as it is."""
    found = arrays.as_grid(s, value, node)
    if found.shape:
        made = arrays.new(s, found, node, kind or (arrays.kind_of(value) if arrays.is_array(value) else None))
        made.store.in_order |= not arrays.is_array(value)
        return made
    number: Abstract = found[()]
    return number if kind is None else arrays.element(s, number, kind, node)


def array(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    """np.array copies an array, np.asarray does not."""
    value, kind = given.value("a"), dtype_of(s, given, node)
    if isinstance(value, GuardedUnion) and not arrays.is_numeric(value):
        return s.split(value, lambda v: array(s, Given(s, given.title, {**given.named, "a": v}, node), node))
    copies = given.static("copy", True if given.title == "np.array" else None)
    copies = _COPY_MODES[copies] if isinstance(copies, np._CopyMode) else copies
    if copies is not None and not copies:
        _require_no_copy(s, given.title, value, kind, node)
    if copies or isinstance(value, Static) and arrays.is_array(value):
        return s.mark_numpy(_fresh(s, value, node, kind), [value])
    return s.mark_numpy(arrays.array(s, value, node, kind), [value])


_COPY_MODES = {np._CopyMode.ALWAYS: True, np._CopyMode.IF_NEEDED: None, np._CopyMode.NEVER: False}


def _require_no_copy(s: Evaluator, title: str, value: Abstract, kind: Kind | None, node: cst.CSTNode) -> None:
    """copy=False: NumPy raises ValueError for what is no array of that kind."""
    if may_lack_axes(s, value) or isinstance(value, GuardedUnion):
        raise s.refuse("flatten/unsupported-expression", f"{title}(..., copy=False) of a NumPy result", node,
                       why="it raises for numbers, which pyflat does not distinguish from arrays without axes",
                       help="leave copy= out")
    if not arrays.is_array(value) or kind not in (None, arrays.kind_of(value)):
        raise s.raised(ValueError, node)


def copy(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    return s.mark_numpy(_fresh(s, given.value("a"), node, None), [given.value("a")])


def full(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    shape, value = given.static("shape", ()), given.value("fill_value")
    return _spread(s, shape, value, dtype_of(s, given, node), node)


def _spread(s: Evaluator, shape: Any, value: Abstract, kind: Kind | None, node: cst.CSTNode) -> Abstract:
    found = arrays.as_grid(s, value, node)
    try:
        spread: Grid = np.broadcast_to(found, shape)
    except ValueError:
        raise s.raised(ValueError, node) from None
    if not spread.shape:
        number: Abstract = spread[()]
        return number if kind is None else arrays.element(s, number, kind, node)
    return arrays.new(s, spread, node, kind)


def like(fill: int) -> Any:
    """np.zeros_like and np.ones_like of an array or number."""

    def handler(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
        return _like(s, given, Static(fill), node)

    return handler


def full_like(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    return _like(s, given, given.value("fill_value"), node)


def _like(s: Evaluator, given: Given, fill: Abstract, node: cst.CSTNode) -> Abstract:
    model = given.value("a")
    if isinstance(model, GuardedUnion) and not arrays.is_array(model):
        return s.split(model, lambda v: _like(s, Given(s, given.title, {**given.named, "a": v}, node), fill, node))
    found = arrays.as_grid(s, model, node)
    kind = dtype_of(s, given, node) or (arrays.kind_of(model) if arrays.is_array(model)
                                        else arrays.joined_kind(s, [found], node))
    return _spread(s, found.shape, fill, kind, node)


def linspace(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    """NumPy's formula for lane ends; the step is taken before it is multiplied, unless it is zero."""
    start, stop = (scalars.as_float(s, given.value(name)) for name in ("start", "stop"))
    count, endpoint = given.static("num", 50), bool(given.static("endpoint", True))
    steps = count - 1 if endpoint else count
    gap = s.build.op("sub", stop, start)
    items: list[Abstract] = []
    for position in range(count):
        at = const(float(position))
        if steps > 0:
            step = s.build.op("truediv", gap, const(float(steps)))
            slow = s.build.op("mul", s.build.op("truediv", at, const(float(steps))), gap)
            offset = s.build.op("select", s.build.op("eq", step, const(0.0)), slow, s.build.op("mul", at, step))
        else:
            offset = s.build.op("mul", at, gap)
        items.append(s.build.op("add", offset, start))
    if endpoint and count > 1:
        items[-1] = stop
    return arrays.new(s, arrays.filled((count,), items), node, FLOAT)


def diag(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    value, offset = arrays.array(s, given.value("v"), node), given.static("k", 0)
    found = arrays.grid(s, value, node)
    if found.ndim == 2:
        return copied_view(s, value, np.diag(found, offset), node, "np.diag returns a read-only view")
    places = np.diag(np.arange(1, found.size + 1), offset)
    zero = Static(0)
    items = [found[p - 1] if p else zero for p in places.flat]
    return arrays.new(s, arrays.filled(places.shape, items), node, arrays.kind_of(value))


# --- moving elements
def joined(fn: Any) -> Any:
    """np.concatenate and its kin: all elements get one kind."""

    def handler(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
        found = s.space.items(given.value("arrays"), node)
        parts = [arrays.array(s, v, node) for v in found]
        grids = [arrays.grid(s, v, node) for v in parts]
        named = {k: given.static(k, None) for k in ("axis",) if k in given.named}
        made = _moved(s, lambda: fn(grids, **named), node)
        return arrays.new(s, made, node, None if made.size else FLOAT)

    return handler


def append(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    grids = [arrays.as_grid(s, given.value(name), node) for name in ("arr", "values")]
    axis = given.static("axis", None)
    made = _moved(s, lambda: np.append(grids[0], grids[1], axis), node)
    return arrays.new(s, made, node)


def _moved(s: Evaluator, move: Any, node: cst.CSTNode) -> Any:
    try:
        return move()
    except np.exceptions.AxisError:
        raise s.raised(np.exceptions.AxisError, node) from None
    except (ValueError, IndexError) as error:
        raise s.raised(type(error), node) from None


def moved(fn: Any) -> Any:
    """A function that moves the elements of one array: applied to places it shows whether NumPy makes a view."""

    def handler(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
        value = arrays.array(s, given.value("a"), node)
        rest = {k: given.static(k, None) for k in given.named if k != "a"}
        if isinstance(value, GuardedUnion) and arrays.is_array(value) and fn in _VIEWS:
            return s.split(value, lambda v: handler(s, Given(s, given.title, {**given.named, "a": v}, node), node))
        positional = list(rest.values())
        if isinstance(value, Array) and fn in _VIEWS:
            places = _moved(s, lambda: fn(value.places, *positional), node)
            if places.ndim and np.shares_memory(places, value.places):
                return Array(value.store, places)
        found = arrays.grid(s, value, node)
        made = _moved(s, lambda: fn(found, *positional), node)
        if not np.shape(made):
            number: Any = made[()] if isinstance(made, np.ndarray) else made
            return s.mark_numpy(number, [value])
        if fn is np.broadcast_to:
            return copied_view(s, value, made, node, "np.broadcast_to returns a read-only view")
        return arrays.new(s, made, node, arrays.kind_of(value))

    return handler


def copied_view(s: Evaluator, value: Abstract, made: Grid, node: cst.CSTNode, why: str) -> Abstract:
    """A copy for what is a view of `value` in NumPy: neither may be written to any more."""
    if isinstance(value, Array):
        s.frozen.add(value.store)
    return arrays.new(s, made, node, arrays.kind_of(value), why)


def astype(s: Evaluator, value: Abstract, kind: Kind, node: cst.CSTNode) -> Abstract:
    return arrays.new(s, arrays.grid(s, value, node), node, kind)
