"""Functions of NumPy's that are routines on whole arrays of a kernel (`space.routines`): their options, and the shapes
of what they make."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.builtins.support import Given, bind_names
from pyflat.frontend.roles import OVER_ALL
from pyflat.frontend.space import arrays, memories, routines, width_rules
from pyflat.frontend.space import numbers as num
from pyflat.frontend.space.routines import Shape
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import describe, lane, numeric_kind
from pyflat.frontend.state.values import Abstract, Arguments, Static, View
from pyflat.ir.types import FLOAT, INT

Shaped = Callable[[Evaluator, Sequence[View], Mapping[str, Any], cst.CSTNode], Shape]
_REDUCING = "a axis dtype !out keepdims !initial !where"
_ALONG = "a axis dtype !out"
_SORTING = "a axis kind !order !stable"


@dataclass(frozen=True, slots=True)
class Routine:
    """A function of NumPy's. `parameters` as `bind_names` takes them: `operands`, and options, which are known;
    `shape` of what it makes, None: NumPy is asked, and so runs twice; `guarded`: how the first operand is written where
    NumPy would show a warning of its own for some lengths or elements."""

    parameters: str
    shape: Shaped | None = None
    operands: tuple[str, ...] = ("a",)
    guarded: str = "{}"


def _axes(views: Sequence[Any], options: Mapping[str, Any], default: Any = None) -> tuple[int, ...]:
    rank, axis = len(views[0].extents), options.get("axis", default)
    if axis is None:
        return tuple(range(rank))
    return tuple(each + rank if each < 0 else each for each in (axis if isinstance(axis, tuple) else (axis,)))


def _reduced(s: Evaluator, views: Sequence[View], options: Mapping[str, Any], node: cst.CSTNode) -> Shape:
    gone, keep = _axes(views, options), options.get("keepdims", False)
    one: Shape = (Static(1),) if keep else ()
    return tuple(part for axis, extent in enumerate(views[0].extents) for part in (one if axis in gone else (extent,)))


def _along(s: Evaluator, views: Sequence[View], options: Mapping[str, Any], node: cst.CSTNode) -> Shape:
    if options.get("axis") is not None or len(views[0].extents) == 1:
        return views[0].extents
    size = memories.attribute(s, views[0], "size", node)
    return (size,)


def _sorted(s: Evaluator, views: Sequence[View], options: Mapping[str, Any], node: cst.CSTNode) -> Shape:
    return views[0].extents if options.get("axis", -1) is not None else _along(s, views, options, node)


def _like_second(s: Evaluator, views: Sequence[View], options: Mapping[str, Any], node: cst.CSTNode) -> Shape:
    return views[1].extents if len(views) > 1 else ()


def _like_first(s: Evaluator, views: Sequence[View], options: Mapping[str, Any], node: cst.CSTNode) -> Shape:
    return views[0].extents


def _outer(s: Evaluator, views: Sequence[View], options: Mapping[str, Any], node: cst.CSTNode) -> Shape:
    if any(len(view.extents) != 1 for view in views):
        raise s.refuse("flatten/not-yet", "np.outer of arrays of more than one axis", node)
    return views[0].extents[0], views[1].extents[0]


def _shorter(s: Evaluator, views: Sequence[View], options: Mapping[str, Any], node: cst.CSTNode) -> Shape:
    axis = _axes(views, options, -1)[0]
    if not 0 <= axis < len(views[0].extents):
        raise s.raised(ValueError, node)
    less = num.binary(s, "sub", views[0].extents[axis], Static(1))
    empty = s.space.truth(num.compare(s, "lt", less, Static(0)))
    length = _choice(s, empty, Static(0), less)
    return tuple(length if at == axis else extent for at, extent in enumerate(views[0].extents))


def _choice(s: Evaluator, test: Abstract, then: Abstract, orelse: Abstract) -> Abstract:
    if isinstance(test, Static):
        return then if test.value else orelse
    return s.build.op("select", lane(test), lane(then), lane(orelse))


def _none(s: Evaluator, views: Sequence[View], options: Mapping[str, Any], node: cst.CSTNode) -> Shape:
    return ()


def _quantiles(s: Evaluator, views: Sequence[View], options: Mapping[str, Any], node: cst.CSTNode) -> Shape:
    return (*(views[1].extents if len(views) > 1 else ()), *_reduced(s, views, options, node))


def _convolved(s: Evaluator, views: Sequence[View], options: Mapping[str, Any], node: cst.CSTNode) -> Shape:
    if any(len(view.extents) != 1 for view in views) or len(views) != 2:
        raise s.raised(ValueError, node)
    a, b = (view.extents[0] for view in views)
    shorter = s.space.truth(num.compare(s, "lt", a, b))
    most, least = _choice(s, shorter, b, a), _choice(s, shorter, a, b)
    match options.get("mode", "full"):
        case "same":
            return (most,)
        case "valid":
            return (num.binary(s, "add", num.binary(s, "sub", most, least), Static(1)),)
    return (num.binary(s, "sub", num.binary(s, "add", a, b), Static(1)),)


_FILLED = "s.at_least({}, 1)"
_NUMBERS = "s.numbers({}, {least}, {axis})"
_BY_NAME: dict[str, Routine] = {
    **{name: Routine(_REDUCING, _reduced) for name in ("sum", "prod", "nansum", "nanprod")},
    **{name: Routine("a axis !out keepdims !initial !where", _reduced) for name in ("max", "min", "amax", "amin")},
    **{name: Routine("a axis !out keepdims !where", _reduced) for name in ("any", "all")},
    "ptp": Routine("a axis !out keepdims", _reduced), "count_nonzero": Routine("a axis keepdims", _reduced),
    **{name: Routine("a axis !out keepdims", _reduced) for name in ("argmax", "argmin")},
    "mean": Routine("a axis dtype !out keepdims !where", _reduced, guarded=_FILLED),
    **{name: Routine("a axis dtype !out ddof keepdims !where", _reduced, guarded="s.at_least({}, {least})")
       for name in ("std", "var")},
    "median": Routine("a axis !out !overwrite_input keepdims", _reduced, guarded=_FILLED),
    **{name: Routine("a axis !dtype !out ddof keepdims !where", _reduced, guarded=_NUMBERS)
       for name in ("nanvar", "nanstd")},
    "digitize": Routine("x bins right", _like_first, ("x", "bins")),
    "nanmean": Routine("a axis !dtype !out keepdims !where", _reduced, guarded=_NUMBERS),
    **{name: Routine("a axis !out keepdims !initial !where", _reduced, guarded=_NUMBERS)
       for name in ("nanmax", "nanmin")},
    **{name: Routine(_ALONG, _along) for name in ("cumsum", "cumprod")},
    **{name: Routine(_SORTING, _sorted) for name in ("sort", "argsort")},
    "diff": Routine("a !n axis", _shorter),
    **{name: Routine("a b !out", routines.product, ("a", "b")) for name in ("dot", "matmul")},
    "outer": Routine("a b !out", _outer, ("a", "b")),
    "searchsorted": Routine("a v side !sorter", _like_second, ("a", "v")),
    "where": Routine("condition x y", routines.broadcast, ("condition", "x", "y")),
    "clip": Routine("a a_min a_max !out", routines.broadcast, ("a", "a_min", "a_max")),
    "roll": Routine("a shift axis", _like_first, ("a", "shift")),
    "convolve": Routine("a v mode", _convolved, ("a", "v")),
    **{name: Routine("a q axis !out !overwrite_input method keepdims", _quantiles, ("a", "q"))
       for name in ("percentile", "quantile")},
    "average": Routine("a axis weights !returned keepdims", _reduced, ("a", "weights")),
    "unique": Routine("ar return_index return_inverse return_counts axis", None, ("ar",)),
    "histogram": Routine("a bins range !density !weights", None, ("a", "bins")),
    "bincount": Routine("x weights minlength", None, ("x", "weights", "minlength")),
    "repeat": Routine("a repeats axis", None, ("a", "repeats")), "tile": Routine("A reps", None, ("A",)),
    "nonzero": Routine("a"), "flatnonzero": Routine("a"), "argwhere": Routine("a"), "trace": Routine("a"),
    **{name: Routine("m k", _like_first, ("m",)) for name in ("triu", "tril")},
    "linalg.solve": Routine("a b", _like_second, ("a", "b")), "linalg.det": Routine("a", _none),
    "linalg.inv": Routine("a", _like_first), "linalg.cholesky": Routine("a !upper", _like_first),
    "linalg.norm": Routine("x ord axis keepdims", _reduced, ("x",)),
    "interp": Routine("x xp fp !left !right !period", _like_first, ("x", "xp", "fp")),
}
_OF_NUMBERS = {np.interp: slice(1, 3), np.quantile: slice(1), np.percentile: slice(1)}
"""Routines of numbers and lists, too, and which of their operands are not known there."""
_ROUTINES: dict[Any, tuple[str, Routine]] = {attrgetter(name)(np): (name, row) for name, row in _BY_NAME.items()}


def is_routine(fn: Any) -> bool:
    return fn in _ROUTINES


def call(s: Evaluator, fn: Any, arguments: Arguments, node: cst.CSTNode) -> Abstract | None:
    """The value of a routine of arrays in memory; None where it is no routine, or no operand is such an array."""
    found = _ROUTINES.get(fn)
    given = [*arguments.positional, *arguments.named.values()]
    if found is None or not any(memories.is_view(v) for v in given) and not (
            fn in _OF_NUMBERS and any(arrays.known(s, v) is None for v in given[_OF_NUMBERS[fn]])):
        return None
    if fn is np.where and len(arguments.positional) == 1:
        found = _ROUTINES[np.nonzero]
    name, routine = found
    bound = bind_names(s, f"np.{name}", routine.parameters, arguments, node)
    keys = [key for key in routine.operands if not _is_left_out(bound, key)]
    operands = [bound.value(key) for key in keys]
    options = {key: bound.static(key, None) for key in bound.named if key not in routine.operands
               and not _is_default(bound, key)}
    guarded = routine.guarded.replace("{least}", str(int(options.get("ddof", 0)) + 1)).replace(
        "{axis}", repr(options.get("axis")))
    order = routine.parameters.split()
    texts = [guarded, *["{}" if order[at] == key else f"{key}={{}}" for at, key in enumerate(keys[1:], 1)]]
    texts += [f"{key}={_option(s, value, bound)}" for key, value in options.items()]
    text = f"np.{name}({', '.join(texts)})"
    if routine.shape is not None:
        shaped = routine.shape
        return routines.made(s, text, operands, lambda views: shaped(s, views, options, node), node,
                             _axes(operands, options) if shaped is _reduced and isinstance(operands[0], View) else ())
    return routines.asked(s, text, operands, node)


def _is_left_out(given: Given, key: str) -> bool:
    return key not in given.named or _is_default(given, key)


def _is_default(given: Given, key: str) -> bool:
    value = given.named[key]
    return isinstance(value, Static) and value.value is None and key != "axis"


def _option(s: Evaluator, value: Any, given: Given) -> str:
    if isinstance(value, type | np.dtype):
        return repr(np.dtype(value).str)
    if value is not None and type(value) not in (bool, int, float, str, tuple):
        raise s.refuse("flatten/unsupported-expression", f"an option of {given.title}", given.node,
                       why=f"{describe(Static(value))} is not a number, text or dtype")
    return repr(value)


def method(s: Evaluator, name: str, owner: View, arguments: Arguments, node: cst.CSTNode) -> Abstract | None:
    """A method that is a routine; None where it is another one."""
    if name not in OVER_ALL:
        return None
    return call(s, getattr(np, name), Arguments([owner, *arguments.positional], arguments.named), node)


def progression(s: Evaluator, fn: Any, arguments: Arguments, dtype: str | None, node: cst.CSTNode) -> Abstract | None:
    """np.arange, np.linspace and np.eye of numbers that are not known; None for others."""
    given, named = arguments.positional, dict(arguments.named)
    if fn is np.linspace and len(given) == 2 and "num" in named:
        given = [*given, named.pop("num")]
    if named or all(isinstance(value, Static) for value in given) or not 1 <= len(given) <= 3 \
            or not all(numeric_kind(value) in (INT, FLOAT) for value in given):
        return None
    text = f"np.{fn.__name__}({', '.join(['{}'] * len(given))}{f', dtype={dtype!r}' if dtype else ''})"
    if fn is np.arange:
        return routines.made(s, text, given, lambda _: (_count(s, given, node),), node)
    if fn in (np.eye, np.identity) and len(given) == 1 and numeric_kind(given[0]) is INT:
        return routines.made(s, text, given, lambda _: (given[0], given[0]), node)
    if fn is not np.linspace or len(given) < 3 or numeric_kind(given[2]) is not INT:
        return None
    return routines.made(s, text, given, lambda _: (given[2],), node)


def _count(s: Evaluator, given: Sequence[Abstract], node: cst.CSTNode) -> Abstract:
    """How many numbers np.arange gives."""
    start, stop = (Static(0), given[0]) if len(given) == 1 else given[:2]
    step = given[2] if len(given) > 2 else Static(1)
    start, stop, step = (width_rules.python(s, s.widths, value) for value in (start, stop, step))
    span = num.binary(s, "sub", stop, start)
    if FLOAT in (numeric_kind(span), numeric_kind(step)):
        parts = num.binary(s, "truediv", span, step)
        count = s.space.call(Static(math.ceil), Arguments([parts], {}), node)
    else:
        count = num.unary(s, "neg", num.binary(s, "floordiv", num.unary(s, "neg", span), step))
    return _choice(s, s.space.truth(num.compare(s, "lt", count, Static(0))), Static(0), count)
