"""NumPy's routines on whole arrays of a kernel: `np.sum(a, axis=0)`, `a @ b`, `np.exp(a)`, `np.sort(a)`.

How they add, multiply and round is NumPy's own, and depends on shapes and strides. So each is one operation, `routine`,
that calls NumPy on the arrays in memory, as the original does: a loop over the elements has other bits.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.builtins.support import Given, bind_names
from pyflat.frontend.roles import OVER_ALL
from pyflat.frontend.space import arrays, memories, width_rules
from pyflat.frontend.space import numbers as num
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import describe, lane, numeric_kind
from pyflat.frontend.state.values import Abstract, Arguments, Array, ListRef, MemoryRef, Pending, Seq, Static, View
from pyflat.frontend.state.widths import OF_KIND, PYTHON
from pyflat.ir.build import const
from pyflat.ir.memory import routine_function
from pyflat.ir.nodes import Op, Value
from pyflat.ir.types import FLOAT, INT, MEMORY, Kind

Shape = tuple[Abstract, ...]
Shaped = Callable[[Evaluator, Sequence[View], Mapping[str, Any], cst.CSTNode], Shape]
_REDUCING = "a axis dtype !out keepdims !initial !where"
_ALONG = "a axis dtype !out"
_SORTING = "a axis kind !order !stable"


@dataclass(frozen=True, slots=True)
class Routine:
    """A function of NumPy's. `parameters` as `bind_names` takes them: `operands`, and options, which are known;
    `shape` of what it makes; `guarded`: how the first operand is written where NumPy would show a warning of its own for
    some lengths or elements."""

    parameters: str
    shape: Shaped
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


def _broadcast(s: Evaluator, views: Sequence[View], options: Mapping[str, Any], node: cst.CSTNode) -> Shape:
    return memories.broadcast(s, [view.extents for view in views], node)


def _product(s: Evaluator, views: Sequence[View], options: Mapping[str, Any], node: cst.CSTNode) -> Shape:
    ranks = [len(view.extents) for view in views]
    if len(ranks) != 2 or not all(1 <= rank <= 2 for rank in ranks):
        raise s.refuse("flatten/not-yet", "a product of arrays of other than one or two axes", node,
                       help="write the loop over the others")
    return (*views[0].extents[:-1], *(views[1].extents[1:] if ranks[1] == 2 else ()))


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


_FILLED, _SOME = "s.at_least(1, {})", "s.at_least(1, s.no_nans_only({}))"
_BY_NAME: dict[str, Routine] = {
    **{name: Routine(_REDUCING, _reduced) for name in ("sum", "prod", "nansum", "nanprod")},
    **{name: Routine("a axis !out keepdims !initial !where", _reduced) for name in ("max", "min", "amax", "amin")},
    **{name: Routine("a axis !out keepdims !where", _reduced) for name in ("any", "all")},
    "ptp": Routine("a axis !out keepdims", _reduced), "count_nonzero": Routine("a axis keepdims", _reduced),
    **{name: Routine("a axis !out keepdims", _reduced) for name in ("argmax", "argmin")},
    "mean": Routine("a axis dtype !out keepdims !where", _reduced, guarded=_FILLED),
    **{name: Routine("a axis dtype !out ddof keepdims !where", _reduced, guarded="s.at_least({ddof} + 1, {})")
       for name in ("std", "var")},
    "median": Routine("a axis !out !overwrite_input keepdims", _reduced, guarded=_FILLED),
    **{name: Routine("a axis !dtype !out !ddof keepdims !where", _reduced, guarded="s.at_least(1, s.numbers({}))")
       for name in ("nanvar", "nanstd")},
    "digitize": Routine("x bins right", _like_first, ("x", "bins")),
    "nanmean": Routine("a axis !dtype !out keepdims !where", _reduced, guarded="s.at_least(1, s.numbers({}))"),
    **{name: Routine("a !axis !out keepdims !initial !where", _reduced, guarded="s.numbers({})")
       for name in ("nanmax", "nanmin")},
    **{name: Routine(_ALONG, _along) for name in ("cumsum", "cumprod")},
    **{name: Routine(_SORTING, _sorted) for name in ("sort", "argsort")},
    "diff": Routine("a !n axis", _shorter),
    **{name: Routine("a b !out", _product, ("a", "b")) for name in ("dot", "matmul")},
    "outer": Routine("a b !out", _outer, ("a", "b")),
    "searchsorted": Routine("a v side !sorter", _like_second, ("a", "v")),
    "where": Routine("condition x y", _broadcast, ("condition", "x", "y")),
    "clip": Routine("a a_min a_max !out", _broadcast, ("a", "a_min", "a_max")),
    "interp": Routine("x xp fp !left !right !period", _like_first, ("x", "xp", "fp")),
}
_ROUTINES: dict[Any, tuple[str, Routine]] = {getattr(np, name): (name, row) for name, row in _BY_NAME.items()}


def call(s: Evaluator, fn: Any, arguments: Arguments, node: cst.CSTNode) -> Abstract | None:
    """The value of a routine of arrays in memory; None where it is no routine, or no operand is such an array."""
    found = _ROUTINES.get(fn)
    if found is None or not any(memories.is_view(v) for v in [*arguments.positional, *arguments.named.values()]):
        return None
    name, routine = found
    given = bind_names(s, f"np.{name}", routine.parameters, arguments, node)
    operands = [given.value(key) for key in routine.operands]
    options = {key: given.static(key, None) for key in given.named if key not in routine.operands
               and not _is_default(given, key)}
    guarded = routine.guarded.replace("{ddof}", str(int(options.get("ddof", 0))))
    texts = [guarded, *["{}"] * (len(operands) - 1)]
    texts += [f"{key}={_option(s, value, given)}" for key, value in options.items()]
    return _made(s, f"np.{name}({', '.join(texts)})", operands,
                 lambda views: routine.shape(s, views, options, node), node,
                 _axes(operands, options) if routine.shape is _reduced and isinstance(operands[0], View) else ())


def _is_default(given: Given, key: str) -> bool:
    value = given.named[key]
    return isinstance(value, Static) and value.value is None and key != "axis"


def _option(s: Evaluator, value: Any, given: Given) -> str:
    if isinstance(value, type | np.dtype):
        return repr(np.dtype(value).str)
    if value is not None and type(value) not in (bool, int, float, str, tuple):
        raise s.refuse("flatten/unsupported-expression", f"an option of {given.title}", given.node,
                       why=f"{describe(Static(value))} is no number, text or dtype")
    return repr(value)


def method(s: Evaluator, name: str, owner: View, arguments: Arguments, node: cst.CSTNode) -> Abstract | None:
    """A method that is a routine; None where it is another one."""
    if name not in OVER_ALL:
        return None
    return call(s, getattr(np, name), Arguments([owner, *arguments.positional], arguments.named), node)


def ufunc(s: Evaluator, fn: np.ufunc, operands: Sequence[Abstract], node: cst.CSTNode) -> Abstract:
    """A ufunc of arrays and numbers, whose elements have other bits than its scalars, or other dtypes."""
    if fn.nout != 1 or fn.nin != len(operands) or fn.signature is not None:
        raise s.refuse("flatten/not-yet", f"np.{fn.__name__} of whole arrays of a kernel", node,
                       help="write the loop over the elements")
    name = next((each for each in (fn.__name__, *_ALIASES) if getattr(np, each, None) is fn), None)
    if name is None:
        raise s.refuse("flatten/not-yet", f"{fn.__name__} of whole arrays of a kernel", node,
                       why="it is no function of NumPy's", help="write the loop over the elements")
    return _made(s, f"np.{name}({', '.join(['{}'] * len(operands))})", operands,
                 lambda views: _broadcast(s, views, {}, node), node)


_ALIASES = ("abs", "divide", "remainder", "bitwise_not", "concat")


_SIGNS = {"pow": "**", "floordiv": "//", "mod": "%", "shl": "<<", "shr": ">>"}


def binary(s: Evaluator, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    """`a <op> b`. (`a ** 2` is another routine than np.power, so the operator itself is called.)"""
    if opcode == "matmul":
        return _made(s, "{} @ {}", [a, b], lambda views: _product(s, views, {}, node), node)
    return _made(s, f"{{}} {_SIGNS[opcode]} {{}}", [a, b], lambda views: _broadcast(s, views, {}, node), node)


def progression(s: Evaluator, fn: Any, arguments: Arguments, node: cst.CSTNode) -> Abstract | None:
    """np.arange and np.linspace of numbers that are not known; None for others."""
    given = arguments.positional
    if arguments.named or all(isinstance(value, Static) for value in given) or not 1 <= len(given) <= 3 \
            or not all(numeric_kind(value) in (INT, FLOAT) for value in given):
        return None
    if fn is np.arange:
        places = ", ".join(["{}"] * len(given))
        return _made(s, f"np.arange({places})", given, lambda _: (_count(s, given, node),), node)
    if fn is not np.linspace or len(given) < 3 or numeric_kind(given[2]) is not INT:
        return None
    return _made(s, "np.linspace({}, {}, {})", given, lambda _: (given[2],), node)


def _count(s: Evaluator, given: Sequence[Abstract], node: cst.CSTNode) -> Abstract:
    """How many numbers np.arange gives."""
    start, stop = (Static(0), given[0]) if len(given) == 1 else given[:2]
    step = given[2] if len(given) > 2 else Static(1)
    start, stop, step = (width_rules.python(s, memories.widths_of(s), value) for value in (start, stop, step))
    span = num.binary(s, "sub", stop, start)
    if FLOAT in (numeric_kind(span), numeric_kind(step)):
        parts = num.binary(s, "truediv", span, step)
        count = s.space.call(Static(math.ceil), Arguments([parts], {}), node)
    else:
        count = num.unary(s, "neg", num.binary(s, "floordiv", num.unary(s, "neg", span), step))
    return _choice(s, s.space.truth(num.compare(s, "lt", count, Static(0))), Static(0), count)


def chosen(s: Evaluator, owner: View, mask: View, node: cst.CSTNode) -> View:
    """`a[mask]`: as many elements as there are True ones."""
    if len(mask.extents) != len(owner.extents):
        raise s.refuse("flatten/not-yet", "the rows that a mask selects, as an array", node,
                       help="write the loop over the elements")
    count = _made(s, "np.count_nonzero({})", [mask], lambda _: (), node)
    made = _made(s, "{}[{}]", [owner, mask], lambda _: (count,), node)
    assert isinstance(made, View)
    return made


# --- the operation
def _made(s: Evaluator, text: str, operands: Sequence[Abstract], shape: Callable[[Sequence[View]], Shape],
          node: cst.CSTNode, gone: Sequence[int] = ()) -> Abstract:
    """The number or the array that NumPy gives; `gone`: the axes over which it goes."""
    given = [_operand(s, value, node) for value in operands]
    views = [value for value in given if isinstance(value, View)]
    example = _example(s, text, tuple(_kind_of_example(s, value) for value in given), node)
    specs: list[Any] = []
    args: list[Value] = []
    for value in given:
        _append(s, value, specs, args)
    if isinstance(example, np.ndarray) and example.ndim:
        extents = shape(views)
        ordering = [] if text.startswith(_IN_C_ORDER) else [_without(view, gone, len(extents)) for view in views]
        return _array(s, text, example, extents, (args, specs), ordering)
    dtype = example.dtype.str[1:] if isinstance(example, np.generic | np.ndarray) else ""
    kind = width_rules.kind_of(dtype) if dtype else numeric_kind(Static(example))
    assert isinstance(kind, Kind)
    made = _call(s, kind, args, ("", dtype or OF_KIND[kind], specs, text))
    memories.widths_of(s).mark(made, frozenset({dtype}) if dtype else PYTHON)
    if dtype == "u8":
        heap.suspect_if(s, s.build.op("lt", made, const(0)), "an uint64 above 2**63", node)
    return made


_IN_ANY_ORDER = ("any", "all", "count_nonzero", "argmax", "argmin", "sort", "argsort", "where", "clip", "diff", "interp",
                 "searchsorted", "digitize")


def depends_on_order(text: str) -> bool:
    """Whether what a routine gives may depend on the order of its operand's elements in memory."""
    name = text.removeprefix("np.").partition("(")[0]
    if name.startswith("{}"):
        return "@" in name
    return name not in _IN_ANY_ORDER and (name == "matmul" or not isinstance(getattr(np, name), np.ufunc))


_IN_C_ORDER = ("np.dot", "np.matmul", "np.outer", "{} @", "{}[{}]", "np.interp", "np.searchsorted", "np.argsort",
               "np.argmax", "np.argmin")
"""What is made of arrays in any order is in C's."""


def _without(view: View, gone: Sequence[int], rank: int) -> View:
    """The view with nothing along some axes: in which order the others are in memory."""
    if not gone:
        return view
    if rank == len(view.extents):  # keepdims=True
        stored = tuple(replace(each, axis=None if each.axis in gone else each.axis) for each in view.stored)
        return View(view.memory, view.array, view.dtype, view.extents, stored)
    kept = [axis for axis in range(len(view.extents)) if axis not in gone]
    stored = tuple(replace(each, axis=kept.index(each.axis) if each.axis in kept else None) for each in view.stored)
    return View(view.memory, view.array, view.dtype, tuple(view.extents[axis] for axis in kept), stored)


def _call(s: Evaluator, kind: Kind, args: Sequence[Value], what: tuple[str, str, list[Any], str]) -> Op:
    array, dtype, specs, text = what
    attrs = (("array", array), ("dtype", dtype), ("operands", tuple(specs)), ("routine", text))
    return s.build.append(Op("routine", tuple(args), kind, attrs=attrs, origin=s.build.origin))


def _array(s: Evaluator, text: str, example: Any, extents: Shape, given: tuple[list[Value], list[Any]],
           ordering: Sequence[View]) -> View:
    dtype = example.dtype.str[1:]
    s.counter += 1
    array, memory = f"array {s.counter}", MemoryRef()
    sizes = [width_rules.python(s, memories.widths_of(s), extent) for extent in extents]
    s.state.heap[memory] = (_call(s, MEMORY, [*map(lane, sizes), *given[0]], (array, dtype, given[1], text)),)
    memories.widths_of(s).narrow |= dtype not in ("f8", "i8")
    made = memories.whole(memory, array, dtype, sizes, settled=s.round == 0)
    ordered = [view for view in ordering if view.extents]
    if ordered:
        memories.remember_order(s, made, ordered)
    return made


def _operand(s: Evaluator, value: Abstract, node: cst.CSTNode) -> Abstract:
    if isinstance(value, Pending):
        return memories.computed(s, value, node)
    if isinstance(value, View):
        return value
    if arrays.is_array(value) or isinstance(value, Seq | ListRef):
        return in_memory(s, value, node)
    if numeric_kind(value) is None:
        raise s.refuse("flatten/not-yet", f"{describe(value)} beside a whole array of a kernel", node,
                       help="write the loop over the elements")
    return value


def in_memory(s: Evaluator, value: Abstract, node: cst.CSTNode, dtype: str | None = None) -> View:
    """A small array, or a sequence of numbers, as an array in memory."""
    cells = arrays.as_grid(s, value, node)
    kind = arrays.kind_of(value)
    dtype = dtype or (arrays.dtype_of_numbers(s, cells) if kind is None else OF_KIND[kind])
    if dtype not in (*width_rules.NUMBERS, "b1"):
        raise s.refuse("flatten/mixed-join", "the dtype of these numbers is not known", node,
                       help="convert them: float(x), int(x), np.float32(x)")
    made = memories.allocated(s, [Static(size) for size in cells.shape], dtype, None, node)
    for at in np.ndindex(cells.shape):
        place = memories.part_at(s, made, [Static(each) for each in at])
        memories.put(s, place, memories.element(s, cells[at], dtype, node))
    return made


def returned(s: Evaluator, value: Abstract, node: cst.CSTNode) -> Abstract:
    """What a kernel returns, with small arrays in memory. Two of one store are left alone: they share elements."""
    items = value.items if isinstance(value, Seq) else (value,)
    stores = [item.store for item in items if isinstance(item, Array)]
    if not stores or len(set(map(id, stores))) < len(stores):
        return value
    made = [in_memory(s, item, node) if isinstance(item, Array) and not item.store.frozen else item for item in items]
    return Seq(value.cls, tuple(made)) if isinstance(value, Seq) else made[0]


def _append(s: Evaluator, value: Abstract, specs: list[Any], args: list[Value]) -> None:
    if not isinstance(value, View):
        specs.append(("", _dtype_of_number(s, value)))
        args.append(lane(value))
        return
    axes = None if value.whole else tuple(each.axis for each in value.stored)
    specs.append((value.array, len(value.extents), axes))
    args.append(s.state.heap[value.memory][0])
    if axes is not None:
        args += map(lane, value.extents)
        args += [lane(part) for each in value.stored for part in (each.start, each.step)]


def _dtype_of_number(s: Evaluator, value: Abstract) -> str:
    if isinstance(value, Static):
        return value.value.dtype.str[1:] if isinstance(value.value, np.generic) else ""
    width = memories.widths_of(s).of(lane(value))
    if len(width) > 1 or "?" in width:
        raise s.refuse("flatten/mixed-join", "the dtype of this number is not known",
                       help="convert it: float(x), int(x), np.float32(x)")
    return next(iter(width)) or ""


def _kind_of_example(s: Evaluator, value: Abstract) -> tuple[Any, ...]:
    if isinstance(value, View):
        return "array", value.dtype, len(value.extents)
    kind = numeric_kind(value)
    return "number", _dtype_of_number(s, value), str(kind)


def _example(s: Evaluator, text: str, kinds: tuple[tuple[Any, ...], ...], node: cst.CSTNode) -> Any:
    """What the routine gives for arrays of one element of these dtypes."""
    try:
        made = _tried(text, kinds)
    except (TypeError, ValueError, IndexError) as error:
        raise s.raised(type(error) if type(error) in (TypeError, ValueError) else ValueError, node) from None
    if isinstance(made, np.ndarray | np.generic) and made.dtype.str[1:] not in (*width_rules.NUMBERS, "b1"):
        raise s.refuse("flatten/not-yet", f"an array of {made.dtype}", node,
                       help="arrays of kernels hold bool, ints, float32 and float64")
    return made


@functools.cache
def _tried(text: str, kinds: tuple[tuple[Any, ...], ...]) -> Any:
    given: list[Any] = []
    for what, dtype, more in kinds:
        if what == "array":
            given.append(np.ones((2,) * more, dtype))
        else:
            given.append(np.dtype(dtype).type(1) if dtype else {"i8": 1, "f8": 1.0}.get(more, True))
    with np.errstate(all="ignore"):
        return routine_function(text)(*given)
