"""What NumPy's functions do in a kernel, whose arrays are in memory: making arrays, and casts of scalars."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.builtins import kernel_routines, kernel_views
from pyflat.frontend.builtins.support import Given, bind_names
from pyflat.frontend.space import arrays, memories, routines, uint64, whole_arrays, width_rules
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import alternatives, lane, numeric_kind
from pyflat.frontend.state.values import (
    NONE,
    Abstract,
    Arguments,
    Array,
    BoundMethod,
    GuardedUnion,
    ListRef,
    Seq,
    Static,
    Unsigned,
    View,
)
from pyflat.frontend.state.widths import OF_KIND, PYTHON
from pyflat.functions import narrow_functions
from pyflat.ir.nodes import FALSE, Value
from pyflat.ir.types import BOOL, FLOAT, INT, Kind

_SHAPED = "shape dtype !order !device !like"
_LIKE = "a dtype !order !subok !shape !device"
_MAKERS: dict[Any, tuple[str, Any]] = {
    np.zeros: (_SHAPED, 0), np.empty: (_SHAPED, None), np.ones: (_SHAPED, 1),
    np.full: ("shape fill_value dtype !order !device !like", ...),
    np.zeros_like: (_LIKE, 0), np.empty_like: (_LIKE, None), np.ones_like: (_LIKE, 1),
    np.full_like: ("a fill_value dtype !order !subok !shape !device", ...),
}
_COPIES: dict[Any, str] = {np.array: "a dtype", np.copy: "a"}
_DTYPES: dict[Any, str] = {getattr(np, name): np.dtype(name).str[1:] for name in (
    "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")}
_PROGRESSIONS = (np.arange, np.linspace, np.eye, np.identity)
_COUNTS = (np.count_nonzero, np.argmax, np.argmin, np.searchsorted)
_WIDE = frozenset({None, "i8", "f8", "b1"})
_PREDICATES: set[Any] = {np.isnan, np.isinf, np.isfinite}
_WIDE_ENOUGH: set[Any] = _PREDICATES | {
    np.floor, np.ceil, np.trunc, np.rint, np.abs, np.fabs, np.minimum, np.maximum, np.fmin, np.fmax, np.sqrt,
    np.copysign, np.sign}
"""Functions of which a float32 has the same digits as the float64 that it is, or that one rounded."""
_OF_INTS: set[Any] = {np.floor, np.ceil, np.trunc, np.abs, np.minimum, np.maximum, np.fmin, np.fmax, np.sign}
"""Functions with loops for ints, whose values are those of int64 where they fit."""


def call(s: Evaluator, fn: Any, arguments: Arguments, node: cst.CSTNode) -> Abstract | None:
    """The value of a call in a kernel, None where it is as elsewhere."""
    if is_cast(fn):
        return _cast(s, fn, arguments, node)
    if not isinstance(fn, np.ufunc) and callable(fn) and _is_maker(fn):
        return _made(s, fn, arguments, node)
    if fn is np.where and s.widths.narrow and (made := _where(s, arguments, node)) is not None:
        return made
    if s.widths.narrow and kernel_routines.is_routine(fn):
        arguments = Arguments([_narrow(s, v, node) or v for v in arguments.positional], arguments.named)
    if (made := kernel_routines.call(s, fn, arguments, node)) is not None:
        return made
    if (made := kernel_views.call(s, fn, arguments, node)) is not None:
        return made
    if isinstance(fn, np.ufunc):
        if (made := whole_arrays.function(s, fn, arguments, node)) is not None:
            return made
        return _of_narrow(s, fn, arguments, node)
    if fn not in _PROGRESSIONS:
        return None
    named = {name: value for name, value in arguments.named.items() if name != "dtype"}
    dtype = _dtype(s, Given(s, f"np.{fn.__name__}", arguments.named, node), node)
    return kernel_routines.progression(s, fn, Arguments(arguments.positional, named), dtype, node)


def of_known_dtype(s: Evaluator, fn: Any, arguments: Arguments, made: Abstract, node: cst.CSTNode) -> Abstract:
    """`made`, the result of a NumPy function that is not a ufunc. Most handle float64, int64 and bool only, and mark
    their results as these; of numbers of other dtypes that would be wrong."""
    widths = s.widths
    if not widths.narrow or isinstance(fn, np.ufunc) or fn in _COUNTS or "dtype" in arguments.named:
        return made
    given = list(_numbers(s, [*arguments.positional, *arguments.named.values()]))
    if any(not widths.of(v) <= _WIDE for v in given) and any(
            v.kind is not BOOL and widths.of(v) <= _WIDE for v in _numbers(s, [made])):
        raise s.refuse("flatten/not-yet", f"np.{fn.__name__} of a NumPy scalar other than float64", node,
                       help=f"convert it first: np.{fn.__name__}(float(x))")
    return made


def _numbers(s: Evaluator, values: Iterable[Abstract]) -> Iterator[Value]:
    for value in (one for each in values for one in alternatives(each)):
        if isinstance(value, Value):
            yield value
        elif isinstance(value, Seq):
            yield from _numbers(s, value.items)
        elif isinstance(value, Array | ListRef):
            yield from _numbers(s, heap.contents(s, value.store if isinstance(value, Array) else value))


def is_cast(fn: Any) -> bool:
    """The type of a NumPy scalar."""
    return isinstance(fn, type) and fn in _DTYPES


def _is_maker(fn: Any) -> bool:
    try:
        return fn in _MAKERS or fn in _COPIES
    except TypeError:
        return False


def _cast(s: Evaluator, fn: Any, arguments: Arguments, node: cst.CSTNode) -> Abstract | None:
    value, widths = arguments.positional[0] if arguments.positional else NONE, s.widths
    if arguments.named or len(arguments.positional) != 1:
        return None
    if isinstance(value, GuardedUnion):
        return s.split(value, lambda v: s.space.call(Static(fn), Arguments([v], {}), node))
    if isinstance(value, Unsigned):
        return uint64.cast(s, widths, value, _DTYPES[fn])
    if not isinstance(value, Value):
        return None
    return uint64.made(s, widths, value) if fn is np.uint64 else width_rules.as_dtype(s, widths, value, _DTYPES[fn])


def _of_narrow(s: Evaluator, fn: np.ufunc, arguments: Arguments, node: cst.CSTNode) -> Abstract | None:
    """Functions of NumPy's narrow scalars: what is computed in float64 has that function's digits, few others have."""
    widths = s.widths
    given = [value for value in arguments.positional if isinstance(value, Value)]
    wide = all(widths.of(value) <= _WIDE for value in given)
    kinds = {numeric_kind(value) for value in arguments.positional}
    if wide and not (widths.narrow and FLOAT in kinds and any(value.kind is not FLOAT for value in given)):
        return None
    for at, value in enumerate(arguments.positional):
        if not arguments.named and width_rules.is_one_of(widths, value):
            def of_one(one: Value, at: int = at) -> Abstract:
                return s.space.call(Static(fn), Arguments([*arguments.positional[:at], one,
                                                           *arguments.positional[at + 1:]], {}), node)

            return width_rules.by_dtype(s, widths, value, of_one, plain=fn in _WIDE_ENOUGH)
    loop = None if arguments.named else _loop(s, fn, arguments.positional)
    if wide and (loop is None or loop.operands != "f8"):
        return None
    if loop is None:
        raise s.refuse("flatten/not-yet", f"np.{fn.__name__} of a NumPy scalar other than float64", node,
                       help=f"convert it first: np.{fn.__name__}(float(x))")
    operands = loop.operands
    if operands == "f4" and fn.__name__ in narrow_functions.NAMES:
        made: Abstract = s.build.op("narrow", *(width_rules.operand(s, widths, v, "f4") for v in arguments.positional),
                                    function=fn.__name__)
        return widths.mark(lane(made), frozenset({"f4"}))
    if operands == "f8":
        floats = Arguments([v if isinstance(v, Static) else width_rules.as_dtype(s, widths, v, "f8")
                            for v in arguments.positional], {})
        return s.space.call(Static(fn), floats, node)
    return _in_loop(s, fn, (), arguments.positional, loop, node)


def _where(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract | None:
    """np.where of numbers, one of them narrow: in the dtype in which NumPy compares the two."""
    cond, *given = arguments.positional
    if arguments.named or len(given) != 2 or all(
            s.widths.of(value) <= _WIDE for value in given if isinstance(value, Value)):
        return None
    loop = _loop(s, np.maximum, given)
    return None if loop is None else _in_loop(s, np.where, (cond,), given, loop, node)


def _in_loop(s: Evaluator, fn: Any, first: Sequence[Abstract], given: Sequence[Abstract],
             loop: width_rules.OperatorLoop, node: cst.CSTNode) -> Abstract:
    """`fn` of numbers that are converted as for NumPy's loop, and what that gives."""
    operands, result, _ = loop
    numbers = [width_rules.operand(s, s.widths, value, operands) for value in given]
    plain = [s.widths.mark(s.build.op("select", FALSE, v, v), frozenset({None})) for v in numbers]
    made = s.space.call(Static(fn), Arguments([*first, *plain], {}), node)
    return made if result == "b1" or not isinstance(made, Value) else width_rules.cast(s, s.widths, made, result)


def _loop(s: Evaluator, fn: np.ufunc, given: Sequence[Abstract]) -> width_rules.OperatorLoop | None:
    """The dtypes of NumPy's loop for these numbers; None where its digits are not known here."""
    known = s.widths
    numbers: list[tuple[str | None, Kind]] = []
    for value in given:
        kind, width = numeric_kind(value), known.of(value) if isinstance(value, Value) else PYTHON
        if kind is None or len(width) > 1 or "?" in width:
            return None
        numbers.append((next(iter(width)), kind))
    loop = width_rules.resolved(fn, numbers) if len(given) == fn.nin and fn.nout == 1 else None
    if loop is None or loop is width_rules.NONE:
        return None
    operands, result, _ = loop
    if operands == result == "f8":
        return loop
    if operands == "f4":
        own = fn is getattr(np, fn.__name__, None) and fn.__name__ in narrow_functions.NAMES
        return loop if (own or fn in _WIDE_ENOUGH) and result == ("b1" if fn in _PREDICATES else "f4") else None
    return loop if operands == result and operands != "b1" and fn in _OF_INTS else None


# --- making arrays
def _made(s: Evaluator, fn: Any, arguments: Arguments, node: cst.CSTNode) -> Abstract | None:
    if fn in _COPIES:
        first = arguments.positional[0] if arguments.positional else None
        if isinstance(first, Seq | ListRef) and len(arguments.positional) == 1 and not arguments.named:
            return _narrow(s, first, node)
        if not isinstance(first, View):
            return None
        given = bind_names(s, f"np.{fn.__name__}", _COPIES[fn], arguments, node)
        return _copy_in_order(s, first, _dtype(s, given, node) or first.dtype, node)
    parameters, fill = _MAKERS[fn]
    given = bind_names(s, f"np.{fn.__name__}", parameters, arguments, node)
    model = given.named.get("a")
    if model is not None and not isinstance(model, View):
        return None
    extents = model.extents if model is not None else _shape(s, given.value("shape"), node)
    wanted = _dtype(s, given, node)
    if wanted in (None, "f8", "i8", "b1") and _is_small(s, extents):
        return None
    filling: Abstract | None = given.value("fill_value") if fill is ... else None if fill is None else Static(fill)
    dtype = wanted or (model.dtype if model is not None else _dtype_of(s, filling) if fill is ... else "f8")
    made = memories.allocated(s, extents, dtype, filling, node)
    if model is not None:
        memories.remember_order(s, made, [model])
    return made


def _narrow(s: Evaluator, values: Abstract, node: cst.CSTNode) -> Abstract | None:
    """An array of NumPy's narrow numbers, which have to be in memory; None for others."""
    items = s.space.sequence_items(values, node) if isinstance(values, ListRef | Seq) else None
    if not s.widths.narrow or items is None or any(map(memories.is_view, items)):
        return None
    dtype = arrays.dtype_of_numbers(s, arrays.as_grid(s, values, node))
    return None if dtype in ("f8", "i8", "b1", "") else routines.in_memory(s, values, node, dtype)


def _is_small(s: Evaluator, extents: Sequence[Abstract]) -> bool:
    """Whether an array is taken apart into numbers, as in other functions."""
    known = [extent.value for extent in extents if isinstance(extent, Static)]
    return len(known) == len(extents) and int(np.prod(known)) <= s.max_unroll


def _shape(s: Evaluator, shape: Abstract, node: cst.CSTNode) -> tuple[Abstract, ...]:
    if numeric_kind(shape) is INT:
        return (_plain(s, shape),)
    items = s.space.sequence_items(shape, node) if isinstance(shape, Seq | ListRef | Static) else None
    if items is None:
        raise s.raised(TypeError, node)
    return tuple(_plain(s, item) for item in items)


def _plain(s: Evaluator, value: Abstract) -> Abstract:
    return width_rules.python(s, s.widths, value)


def _dtype(s: Evaluator, given: Given, node: cst.CSTNode) -> str | None:
    wanted = given.static("dtype", None)
    if wanted is None:
        return None
    dtype: str = np.dtype(wanted).str[1:]
    if dtype not in _DTYPES.values():
        raise s.refuse("flatten/unsupported-expression", f"an array of dtype {np.dtype(wanted)}", node,
                       help="arrays of kernels hold bool, ints, float32 and float64")
    return dtype


def _dtype_of(s: Evaluator, value: Abstract | None) -> str:
    kind = None if value is None else numeric_kind(value)
    if kind is None:
        raise s.refuse("flatten/not-yet", "an array is filled with something that is not a number")
    width = s.widths.of(value) if isinstance(value, Value) else frozenset({None})
    return OF_KIND[kind] if width <= {None, OF_KIND[kind]} else str(next(iter(width)))


def _copy_in_order(s: Evaluator, source: View, dtype: str, node: cst.CSTNode) -> View:
    made = copy(s, source, dtype, node)
    memories.remember_order(s, made, [source])
    return made


def copy(s: Evaluator, source: View, dtype: str, node: cst.CSTNode) -> View:
    """A new array with the same elements, in C's order."""
    return memories.whole_copy(s, source, node, dtype)


# --- methods
def _fill(s: Evaluator, owner: View, values: Sequence[Abstract], node: cst.CSTNode) -> Abstract:
    memories.assign(s, owner, values[0], node)
    return NONE


def _astype(s: Evaluator, owner: View, values: Sequence[Abstract], node: cst.CSTNode) -> Abstract:
    given = Given(s, ".astype", {"dtype": values[0]}, node)
    return _copy_in_order(s, owner, _dtype(s, given, node) or owner.dtype, node)


def _sort(s: Evaluator, owner: View, values: Sequence[Abstract], node: cst.CSTNode) -> Abstract:
    memories.assign(s, owner, s.space.call(Static(np.sort), Arguments([owner], {}), node), node)
    return NONE


def _item(s: Evaluator, owner: View, values: Sequence[Abstract], node: cst.CSTNode) -> Abstract:
    from pyflat.frontend.state import heap

    found = memories.index(s, owner, heap.make_tuple(values), node)
    return width_rules.python(s, s.widths, found)


_METHODS: dict[str, tuple[int, Callable[..., Abstract]]] = {
    "copy": (0, lambda s, owner, values, node: copy(s, owner, owner.dtype, node)), "sort": (0, _sort),
    "fill": (1, _fill), "astype": (1, _astype), "item": (2, _item),
}


def method(s: Evaluator, bound: BoundMethod, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """A method of an array in memory."""
    assert isinstance(bound.receiver, View)
    if (made := kernel_routines.method(s, bound.name, bound.receiver, arguments, node)) is not None:
        return made
    if (made := kernel_views.method(s, bound.name, bound.receiver, arguments, node)) is not None:
        return made
    count, handler = _METHODS.get(bound.name, (-1, None))
    if handler is None or arguments.named or len(arguments.positional) > max(count, len(bound.receiver.extents)):
        raise s.refuse("flatten/not-yet", f"the method .{bound.name} of an array of a kernel", node,
                       help="write the loop over the elements")
    return handler(s, bound.receiver, arguments.positional, node)
