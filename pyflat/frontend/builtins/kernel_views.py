"""Functions and methods of a kernel's arrays that give them in another shape, and joined: `np.flip`, `np.transpose`,
`np.asarray`, `.ravel`, `.reshape`, `np.concatenate`, `np.ndindex`.

Where NumPy gives a view or a copy by how the array lies (`.ravel`, `.reshape`, `np.ascontiguousarray`), the kernel has
a copy, and neither that nor the array may be written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.builtins.support import Given, bind_names
from pyflat.frontend.space import memories, routines
from pyflat.frontend.space import numbers as num
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import numeric_kind
from pyflat.frontend.state.values import Abstract, Arguments, Axes, ListRef, Pending, Ranges, Seq, Slice, Static, View
from pyflat.ir.types import INT

_WHOLE = Slice(slice(None))


def call(s: Evaluator, fn: Any, arguments: Arguments, node: cst.CSTNode) -> Abstract | None:
    """The value of such a function, None where it is another one or no operand is an array of a kernel."""
    found = _VIEWS.get(fn)
    if found is not None:
        if not any(isinstance(value, View | Pending) for value in [*arguments.positional, *arguments.named.values()]):
            return None
        given = bind_names(s, f"np.{fn.__name__}", found[0], arguments, node)
        array = given.value("a")
        return found[1](s, memories.computed(s, array, node) if isinstance(array, Pending) else array, given, node)
    if fn in _JOINS:
        return _joined(s, fn, arguments, node)
    if fn is np.ndindex:
        return _indices(s, arguments, node)
    return None


def method(s: Evaluator, name: str, owner: View, arguments: Arguments, node: cst.CSTNode) -> Abstract | None:
    """`a.reshape(n, m)`, `a.transpose()` and the like; None where it is another one."""
    if name not in _METHODS:
        return None
    given = arguments.positional
    if name in ("reshape", "transpose") and given and numeric_kind(given[0]) is INT:
        given = [heap.make_tuple(given)]
    return call(s, _METHODS[name], Arguments([owner, *given], arguments.named), node)


# --- views
def _flip(s: Evaluator, a: View, given: Given, node: cst.CSTNode) -> Abstract:
    axes = _axes(s, a, given.static("axis", None), node)
    return memories.index(s, a, Axes(tuple(
        Slice(slice(None, None, -1)) if axis in axes else _WHOLE for axis in range(len(a.extents)))), node)


def _flip_axis(axis: int) -> Callable[..., Abstract]:
    return lambda s, a, given, node: _flip(s, a, Given(s, given.title, {"axis": Static(axis)}, node), node)


def _axes(s: Evaluator, a: View, axis: Any, node: cst.CSTNode) -> list[int]:
    rank = len(a.extents)
    axes = range(rank) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if not all(-rank <= each < rank for each in axes):
        raise s.raised(ValueError, node)
    return [each % rank for each in axes]


def _transpose(s: Evaluator, a: View, given: Given, node: cst.CSTNode) -> Abstract:
    axes = given.static("axes", None)
    order = _axes(s, a, axes, node)
    if sorted(order) != [*range(len(a.extents))]:
        raise s.raised(ValueError, node)
    return memories.permuted(a, order[::-1] if axes is None else order)


def _swapped(s: Evaluator, a: View, given: Given, node: cst.CSTNode) -> Abstract:
    order = [*range(len(a.extents))]
    one, other = _axes(s, a, (given.static("axis1", 0), given.static("axis2", 0)), node)
    order[one], order[other] = order[other], order[one]
    return memories.permuted(a, order)


def _expanded(s: Evaluator, a: View, given: Given, node: cst.CSTNode) -> Abstract:
    rank, axis = len(a.extents) + 1, given.static("axis", 0)
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise s.refuse("flatten/not-yet", "np.expand_dims with this axis", node)
    at = axis % rank
    return memories.index(s, a, Axes((*[_WHOLE] * at, Static(None), *[_WHOLE] * (rank - 1 - at))), node)


# --- the array itself, or a copy
def _as_array(s: Evaluator, a: View, given: Given, node: cst.CSTNode) -> Abstract:
    wanted = given.static("dtype", None)
    if wanted is not None and np.dtype(wanted).str[1:] != a.dtype:
        return s.space.call(s.space.getattr(a, "astype", node), Arguments([Static(wanted)], {}), node)
    return a


def _contiguous(s: Evaluator, a: View, given: Given, node: cst.CSTNode) -> Abstract:
    made = _as_array(s, a, given, node)
    if made is not a or _is_in_c_order(s, a):
        return made
    return _either(s, a, memories.whole_copy(s, a, node))


def _is_in_c_order(s: Evaluator, a: View) -> bool:
    """An array that the kernel has made, as a whole."""
    return a.whole and not a.array.isidentifier() and a.array not in s.widths.models


def _either(s: Evaluator, source: View, made: View) -> View:
    s.widths.copies[made.memory] = source.memory
    return made


def _ravel(s: Evaluator, a: View, given: Given, node: cst.CSTNode) -> Abstract:
    if len(a.extents) == 1 and _is_in_c_order(s, a):
        return memories.index(s, a, _WHOLE, node)
    return _either(s, a, _flattened(s, a, given, node))


def _flattened(s: Evaluator, a: View, given: Given, node: cst.CSTNode) -> View:
    if given.static("order", "C") != "C":
        raise s.refuse("flatten/not-yet", f"{given.title} in another order than C's", node)
    made = routines.made(s, "{}.flatten()", [a], lambda _: (memories.attribute(s, a, "size", node),), node)
    assert isinstance(made, View)
    return made


def _reshaped(s: Evaluator, a: View, given: Given, node: cst.CSTNode) -> Abstract:
    if given.static("order", "C") != "C":
        raise s.refuse("flatten/not-yet", f"{given.title} in another order than C's", node)
    shape = given.value("shape")
    parts = [shape] if numeric_kind(shape) is INT else s.space.items(shape, node)
    unknown = [at for at, part in enumerate(parts) if isinstance(part, Static) and part.value == -1]
    if len(unknown) > 1:
        raise s.raised(ValueError, node)
    if unknown:
        rest: Abstract = Static(1)
        for part in (each for each in parts if each is not parts[unknown[0]]):
            rest = num.binary(s, "mul", rest, part)
        size = memories.attribute(s, a, "size", node)
        known = isinstance(rest, Static) and rest.value == 1
        parts[unknown[0]] = size if known else num.binary(s, "floordiv", size, rest)
    places = ", ".join(["{}"] * len(parts))
    made = routines.made(s, f"{{}}.flatten().reshape(({places},))", [a, *parts], lambda _: tuple(parts), node,
                         example=np.empty((1,) * len(parts), a.dtype))
    assert isinstance(made, View)
    return _either(s, a, made)


def _attribute(name: str) -> Callable[..., Abstract]:
    return lambda s, a, given, node: memories.attribute(s, a, name, node)


def _numbered(s: Evaluator, a: View, given: Given, node: cst.CSTNode) -> Abstract:
    """`np.ndenumerate(a)`, which is iterated over."""
    def item(counter: Abstract) -> Abstract:
        at = memories.places(s, a.extents, counter)
        return heap.make_tuple([heap.make_tuple(at), memories.load(s, memories.part_at(s, a, at))])

    return Ranges(Static(0), memories.attribute(s, a, "size", node), 1, once=True, item=item)


_VIEWS: dict[Any, tuple[str, Callable[..., Abstract]]] = {
    np.flip: ("a axis", _flip), np.flipud: ("a", _flip_axis(0)), np.fliplr: ("a", _flip_axis(1)),
    np.transpose: ("a axes", _transpose), np.swapaxes: ("a axis1 axis2", _swapped),
    np.expand_dims: ("a axis", _expanded),
    np.asarray: ("a dtype !order", _as_array), np.asanyarray: ("a dtype !order", _as_array),
    np.ascontiguousarray: ("a dtype", _contiguous),
    np.ravel: ("a order", _ravel), np.reshape: ("a shape order", _reshaped),
}
_VIEWS |= {fn: ("a", _attribute(fn.__name__)) for fn in (np.shape, np.ndim, np.size)}
_VIEWS[np.ndarray.flatten] = ("a order", _flattened)
_VIEWS[np.ndenumerate] = ("a", _numbered)
_METHODS: dict[str, Any] = {"transpose": np.transpose, "swapaxes": np.swapaxes, "ravel": np.ravel,
                            "reshape": np.reshape, "flatten": np.ndarray.flatten}


# --- joining
def _joined(s: Evaluator, fn: Any, arguments: Arguments, node: cst.CSTNode) -> Abstract | None:
    title = f"np.{fn.__name__}"
    if fn is np.append:
        given = bind_names(s, title, "arr values axis", arguments, node)
        parts = [given.value("arr"), given.value("values")]
    else:
        given = bind_names(s, title, "tup axis !out !dtype" if fn in _AXES else "tup !dtype", arguments, node)
        if not isinstance(given.value("tup"), Seq | ListRef):
            return None
        parts = s.space.items(given.value("tup"), node)
    if not any(isinstance(part, View | Pending) for part in parts):
        return None
    axis = given.static("axis", None if fn is np.append else 0) if fn in _AXES else None
    views = [_part(s, fn, part, node) for part in parts]
    places = ", ".join(["{}"] * len(views))
    option = f", axis={axis}" if fn in _AXES else ""
    text = f"{title}({places}{option})" if fn is np.append else f"{title}(({places},){option})"
    return routines.made(s, text, views, lambda _: _shape(s, fn, [view.extents for view in views], axis, node), node)


def _part(s: Evaluator, fn: Any, value: Abstract, node: cst.CSTNode) -> View:
    if isinstance(value, Pending):
        return memories.computed(s, value, node)
    if isinstance(value, View):
        return value
    if numeric_kind(value) is not None:
        if fn is np.concatenate:
            raise s.raised(ValueError, node)
        value = heap.make_tuple([value])
    return routines.in_memory(s, value, node)


def _shape(s: Evaluator, fn: Any, shapes: Sequence[routines.Shape], axis: int | None, node: cst.CSTNode
           ) -> routines.Shape:
    """Where parts do not fit, NumPy raises, and so does the original."""
    if fn is np.append and axis is None or fn is np.concatenate and axis is None:
        shapes, axis = [(_product(s, each),) for each in shapes], 0
    elif fn is np.stack:
        rank = len(shapes[0]) + 1
        at = int(axis or 0) % rank
        return (*shapes[0][:at], Static(len(shapes)), *shapes[0][at:])
    elif fn is np.vstack:
        shapes, axis = [(Static(1), *each) if len(each) == 1 else each for each in shapes], 0
    elif fn is np.column_stack:
        shapes, axis = [(*each, Static(1)) if len(each) == 1 else each for each in shapes], 1
    elif fn is np.hstack:
        axis = min(1, len(shapes[0]) - 1)
    assert axis is not None
    rank = len(shapes[0])
    if any(len(each) != rank for each in shapes) or not -rank <= axis < rank:
        raise s.raised(ValueError, node)
    length = shapes[0][axis]
    for each in shapes[1:]:
        length = num.binary(s, "add", length, each[axis])
    return tuple(length if at == axis % rank else extent for at, extent in enumerate(shapes[0]))


def _product(s: Evaluator, extents: Sequence[Abstract]) -> Abstract:
    size: Abstract = Static(1)
    for extent in extents:
        size = extent if isinstance(size, Static) and size.value == 1 else num.binary(s, "mul", size, extent)
    return size


_AXES = (np.concatenate, np.stack, np.append)
_JOINS = (*_AXES, np.vstack, np.hstack, np.column_stack)


# --- indices
def _indices(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract | None:
    """`np.ndindex(a.shape)`, which is iterated over."""
    given = arguments.positional
    if arguments.named or not given:
        return None
    extents = s.space.items(given[0], node) if len(given) == 1 and numeric_kind(given[0]) is None else given
    if not all(numeric_kind(extent) is INT for extent in extents) or not extents:
        return None
    return Ranges(Static(0), _product(s, extents), 1, once=True,
                  item=lambda counter: heap.make_tuple(memories.places(s, extents, counter)))
