"""NumPy's routines on whole arrays of a kernel: `a @ b`, `np.exp(a)`, `np.sum(a, axis=0)` (`builtins.kernel_routines`).

How they add, multiply and round is NumPy's own, and depends on shapes and strides. So each is one operation, `routine`,
that calls NumPy on the arrays in memory, as the original does: a loop over the elements has other bits.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.space import arrays, memories, unsigned, width_rules
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import describe, lane, numeric_kind
from pyflat.frontend.state.values import Abstract, Array, ListRef, MemoryRef, Pending, Seq, Static, Unsigned, View
from pyflat.frontend.state.widths import OF_KIND, PYTHON
from pyflat.ir.build import const
from pyflat.ir.memory import routine_function
from pyflat.ir.nodes import Op, Value
from pyflat.ir.types import MEMORY, Kind

Shape = tuple[Abstract, ...]


def broadcast(s: Evaluator, views: Sequence[View], options: Mapping[str, Any], node: cst.CSTNode) -> Shape:
    return memories.broadcast(s, [view.extents for view in views], node)


def product(s: Evaluator, views: Sequence[View], options: Mapping[str, Any], node: cst.CSTNode) -> Shape:
    ranks = [len(view.extents) for view in views]
    if len(ranks) != 2 or not all(1 <= rank <= 2 for rank in ranks):
        raise s.refuse("flatten/not-yet", "a product of arrays of other than one or two axes", node,
                       help="write the loop over the others")
    return (*views[0].extents[:-1], *(views[1].extents[1:] if ranks[1] == 2 else ()))


def ufunc(s: Evaluator, fn: np.ufunc, operands: Sequence[Abstract], node: cst.CSTNode) -> Abstract:
    """A ufunc of arrays and numbers, whose elements have other bits than its scalars, or other dtypes."""
    if fn.nout != 1 or fn.nin != len(operands) or fn.signature is not None:
        raise s.refuse("flatten/not-yet", f"np.{fn.__name__} of whole arrays of a kernel", node,
                       help="write the loop over the elements")
    name = next((each for each in (fn.__name__, *_ALIASES) if getattr(np, each, None) is fn), None)
    if name is None:
        raise s.refuse("flatten/not-yet", f"{fn.__name__} of whole arrays of a kernel", node,
                       why="it is not a NumPy function", help="write the loop over the elements")
    return made(s, f"np.{name}({', '.join(['{}'] * len(operands))})", operands,
                 lambda views: broadcast(s, views, {}, node), node)


_ALIASES = ("abs", "divide", "remainder", "bitwise_not", "concat")


_SIGNS = {"pow": "**", "floordiv": "//", "mod": "%", "shl": "<<", "shr": ">>"}


def binary(s: Evaluator, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    """`a <op> b`. (`a ** 2` is another routine than np.power, so the operator itself is called.)"""
    if opcode == "matmul":
        return made(s, "{} @ {}", [a, b], lambda views: product(s, views, {}, node), node)
    return made(s, f"{{}} {_SIGNS[opcode]} {{}}", [a, b], lambda views: broadcast(s, views, {}, node), node)


def chosen(s: Evaluator, owner: View, mask: View, node: cst.CSTNode) -> View:
    """`a[mask]`: as many elements as there are True ones."""
    if len(mask.extents) != len(owner.extents):
        raise s.refuse("flatten/not-yet", "the rows that a mask selects, as an array", node,
                       help="write the loop over the elements")
    count = made(s, "np.count_nonzero({})", [mask], lambda _: (), node)
    found = made(s, "{}[{}]", [owner, mask], lambda _: (count,), node)
    assert isinstance(found, View)
    return found


# --- the operation
def made(s: Evaluator, text: str, operands: Sequence[Abstract], shape: Callable[[Sequence[View]], Shape],
          node: cst.CSTNode, gone: Sequence[int] = (), example: Any = None) -> Abstract:
    """The number or the array that NumPy gives; `gone`: the axes over which it goes; `example`: what it is like, where
    that does not follow from the operands' dtypes and axes."""
    given = [_operand(s, value, node) for value in operands]
    views = [value for value in given if isinstance(value, View)]
    if example is None:
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
    s.widths.mark(made, frozenset({dtype}) if dtype else PYTHON)
    if dtype == "u8":
        heap.suspect_if(s, s.build.op("lt", made, const(0)), "an uint64 above 2**63", node)
    return made


def asked(s: Evaluator, text: str, operands: Sequence[Abstract], node: cst.CSTNode) -> Abstract:
    """What NumPy gives, or a tuple of it, where lengths are known only when it has run: it runs once more before."""
    given = [_operand(s, value, node) for value in operands]
    example = _example(s, text, tuple(_kind_of_example(s, value) for value in given), node)
    if isinstance(example, tuple):
        return Seq(type(example), tuple(asked(s, f"{text}[{at}]", given, node) for at in range(len(example))))

    def shape(_: Sequence[View]) -> Shape:
        return tuple(made(s, f"{text}.shape[{axis}]", given, lambda _: (), node) for axis in range(example.ndim))

    return made(s, text, given, shape, node)


_IN_ANY_ORDER = ("any", "all", "count_nonzero", "argmax", "argmin", "sort", "argsort", "where", "clip", "diff",
                 "interp", "searchsorted", "digitize", "concatenate", "vstack", "hstack", "column_stack", "stack",
                 "append", "roll", "unique", "histogram", "bincount", "convolve", "correlate", "percentile", "quantile",
                 "nonzero", "flatnonzero", "repeat", "linalg.solve", "linalg.inv", "linalg.det", "linalg.cholesky")


def depends_on_order(text: str) -> bool:
    """Whether what a routine gives may depend on the order of its operand's elements in memory."""
    name = text.removeprefix("np.").partition("(")[0]
    if name.startswith("{}"):
        return "@" in name
    return name not in _IN_ANY_ORDER and (name == "matmul" or not isinstance(attrgetter(name)(np), np.ufunc))


_IN_C_ORDER = ("np.dot", "np.matmul", "np.outer", "{} @", "{}[{}]", "np.interp", "np.searchsorted", "np.argsort",
               "np.argmax", "np.argmin", "{}.flatten", "np.linalg.", "np.roll({}, {})")
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
    sizes = [width_rules.python(s, s.widths, extent) for extent in extents]
    s.state.heap[memory] = (_call(s, MEMORY, [*map(lane, sizes), *given[0]], (array, dtype, given[1], text)),)
    s.widths.narrow |= dtype not in ("f8", "i8")
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
    if isinstance(value, Unsigned):
        return unsigned.as_int(s, value)
    if arrays.is_array(value) or isinstance(value, Seq | ListRef):
        return in_memory(s, value, node)
    if numeric_kind(value) is None:
        raise s.refuse("flatten/not-yet", f"{describe(value)} combined with a whole array of a kernel", node,
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
    width = s.widths.of(lane(value))
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
            given.append((np.ones((2,) * more) + (np.eye(2) if more == 2 else 0)).astype(dtype))
        else:
            given.append(np.dtype(dtype).type(1) if dtype else {"i8": 1, "f8": 1.0}.get(more, True))
    with np.errstate(all="ignore"):
        return routine_function(text)(*given)
