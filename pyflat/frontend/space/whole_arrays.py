"""Expressions of whole arrays in kernels: `a[1:] + b[:-1]`, `-a`, `a < 0.0`, `np.sqrt(a)`, masks and arrays of indices.

Each is a new array and a loop over its elements, with the scalar operation of the element's dtype: NumPy's loops for
these operations have the same bits. Where arrays differ from scalars (they wrap without a word), the scalar operation
gives up and the original runs. What NumPy computes in another order (np.sum) or with other digits (np.exp) is a call of
NumPy (`routines`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst
import numpy as np

from pyflat.errors import FlattenError
from pyflat.frontend.space import arrays, memories, routines, scalars, uint64, unsigned, width_rules
from pyflat.frontend.space import numbers as num
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import describe, lane, numeric_kind
from pyflat.frontend.state.values import (
    Abstract,
    Arguments,
    Array,
    Axes,
    ListRef,
    Pending,
    Seq,
    Slice,
    Static,
    Unsigned,
    View,
)
from pyflat.frontend.state.widths import PYTHON, Width
from pyflat.ir.nodes import Value
from pyflat.ir.types import FLOAT, INT

_SAME_BITS = frozenset({"add", "sub", "mul", "truediv", "and", "or", "xor"})
ELEMENTWISE: dict[Any, int] = {np.sqrt: 1, np.abs: 1, np.fabs: 1, np.floor: 1, np.ceil: 1, np.trunc: 1, np.rint: 1,
                               np.isnan: 1, np.isinf: 1, np.isfinite: 1}
"""Functions of which an element has the digits of a scalar, and of how many operands."""
_OPERATORS: dict[Any, str] = {np.add: "add", np.subtract: "sub", np.multiply: "mul", np.divide: "truediv"}
_TESTS = frozenset({np.isnan, np.isinf, np.isfinite})
Element = Callable[[Sequence[Abstract]], Abstract]
"""The value of an element, from those of the operands."""


def binary(s: Evaluator, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode, into: View | None = None) -> Any:
    """`a <op> b` where one is an array of a kernel; `into` is the array that is written in place."""
    a, b = (_in_memory(s, value, node) for value in (a, b))
    if opcode == "pow" and isinstance(a, View | Pending) and a.dtype[0] == "f" and _is_number(b, 2):
        return binary(s, "mul", a, a, node, into)  # NumPy calls np.square
    if opcode not in _SAME_BITS:
        made = routines.binary(s, opcode, a, b, node)
        if into is not None and (not isinstance(made, View) or made.dtype != into.dtype or opcode == "matmul"):
            raise s.refuse("flatten/not-yet", f"`{opcode}` in place of whole arrays of a kernel", node,
                           help="write the loop over the elements")
        return made
    (first, kind), (second, other) = (_dtypes(s, value, node) for value in (a, b))
    loops = {width_rules.loop_of(opcode, x, kind, y, other) for x in first for y in second}
    if len(loops) > 1 or "?" in first | second:
        raise _unknown(s, node)
    loop = loops.pop()
    assert loop is not None
    if loop is width_rules.NONE:
        raise s.raised(TypeError, node)
    operands = [value if isinstance(value, View | Pending) else _converted(s, value, loop.operands) for value in (a, b)]
    if into is not None and not np.can_cast(loop.result, into.dtype, "same_kind"):
        raise s.refuse("flatten/not-yet", f"an array of {np.dtype(loop.result)} put into one of {np.dtype(into.dtype)} "
                       "in place", node, why="NumPy raises here")
    return mapped(s, loop.result, operands, lambda x: num.binary(s, opcode, x[0], x[1]), node)


def in_place(s: Evaluator, opcode: str, old: View, value: Abstract, node: cst.CSTNode) -> View:
    """`old <op>= value`."""
    memories.assign(s, old, binary(s, opcode, old, value, node, old), node)
    return old


def compare(s: Evaluator, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode) -> Pending:
    """`a < b` and the like, an array of bools. Ints beside floats are compared as float64."""
    a, b = (_in_memory(s, value, node) for value in (a, b))
    kinds = {_dtypes(s, value, node)[1] for value in (a, b)}
    if len(kinds) > 1 and kinds != {INT, FLOAT}:
        raise s.refuse("flatten/not-yet", "a comparison of whole arrays of different kinds", node,
                       help="write the loop over the elements")

    def test(given: Sequence[Abstract]) -> Abstract:
        x, y = given if len(kinds) == 1 else (_as_float(s, each, node) for each in given)
        return num.compare(s, opcode, x, y)

    return mapped(s, "b1", [a, b], test, node)


def _as_float(s: Evaluator, value: Abstract, node: cst.CSTNode) -> Abstract:
    if numeric_kind(value) is FLOAT:
        return value
    if isinstance(value, Unsigned):
        return uint64.as_float(s, s.widths, value)
    if isinstance(value, Static):
        return Static(float(value.value))
    width = s.widths.of(lane(value))
    if len(width) > 1 or "?" in width:
        raise _unknown(s, node)
    return value if width == PYTHON else width_rules.as_dtype(s, s.widths, value, "f8")


def unary(s: Evaluator, opcode: str, value: View | Pending, node: cst.CSTNode) -> Pending:
    """`-a`, `+a`, `~a`."""
    if value.dtype == "b1" and opcode == "invert":
        return mapped(s, "b1", [value], lambda x: scalars.negate(s, x[0]), node)
    if value.dtype == "b1" or value.dtype[0] == "f" and opcode == "invert":
        raise s.raised(TypeError, node)
    return mapped(s, value.dtype, [value], lambda x: num.unary(s, opcode, x[0]), node)


def function(s: Evaluator, fn: Any, arguments: Arguments, node: cst.CSTNode) -> Abstract | None:
    """A ufunc of arrays; None where there is no array among the operands."""
    given = arguments.positional
    if not any(isinstance(value, View) for value in given):
        return None
    if fn in _OPERATORS and len(given) == 2 and not arguments.named:
        return memories.computed(s, binary(s, _OPERATORS[fn], given[0], given[1], node), node)
    first = given[0]
    if ELEMENTWISE.get(fn) != len(given) or arguments.named or not isinstance(first, View) or first.dtype[0] != "f":
        if arguments.named:
            raise s.refuse("flatten/unsupported-expression", f"an option of np.{fn.__name__}", node,
                           help="leave it out")
        return routines.ufunc(s, fn, given, node)
    made = mapped(s, "b1" if fn in _TESTS else first.dtype, [first],
                  lambda x: s.space.call(Static(fn), Arguments(list(x), {}), node), node)
    return memories.computed(s, made, node)


def mapped(s: Evaluator, dtype: str, operands: Sequence[Abstract], each: Element, node: cst.CSTNode) -> Pending:
    """An array of which every element is made of those of the operands, broadcast."""
    views = [value for value in operands if isinstance(value, View | Pending)]
    extents = memories.broadcast(s, [view.extents for view in views], node)
    s.counter += 1
    made = Pending(f"expression {s.counter}", dtype, extents, tuple(operands), each)
    memories.remember_order(s, made, views)
    return made


# --- masks and arrays of indices
def has_arrays(key: Any) -> bool:
    """Whether a subscript has an array in it."""
    match key:
        case Axes(parts=parts) | Seq(items=parts):
            return any(map(has_arrays, parts))
    return isinstance(key, View | Pending | Array | ListRef) or arrays.is_array(key)


def selected(s: Evaluator, owner: View, key: Any, node: cst.CSTNode) -> View:
    """`a[indices]`, `a[rows, columns]`, `a[:, indices]`, `a[mask]`: a new array."""
    if isinstance(key, View) and key.dtype == "b1" and len(key.extents) == len(owner.extents):
        return routines.chosen(s, owner, key, node)
    found = _Chosen(s, owner, key, node)
    lead, end = found.lead, found.lead + found.middle
    extents = found.extents  # in memory the axes of the indices are before the others
    made = memories.allocated(s, (*extents[lead:end], *extents[:lead], *extents[end:]), owner.dtype, None, node)
    if lead:
        made = memories.permuted(made, (*range(end - lead, end), *range(end - lead), *range(end, len(extents))))
    memories.over(s, extents, lambda at: memories.put(s, memories.part_at(s, made, at), memories.load_bits(
        s, found.place(at))), node)
    return made


def store_selected(s: Evaluator, owner: View, key: Any, value: Abstract, node: cst.CSTNode) -> None:
    """`a[mask] = b`, `a[indices] = b`, of a number or an array."""
    number = None if isinstance(value, View | Pending) or numeric_kind(value) is None and not isinstance(
        value, Unsigned) else memories.element(s, value, owner.dtype, node)
    if number is not None and isinstance(key, View) and key.dtype == "b1":
        _store_masked(s, owner, key, number, node)
        return
    found = _Chosen(s, owner, key, node, copied=True)
    if number is None:
        value = _in_memory(s, value, node)
        if not isinstance(value, View | Pending):
            raise s.refuse("flatten/not-yet", f"{describe(value)} is put into the elements that an array selects", node,
                           help="write the loop over the elements")
        if found.middle != 1:
            raise s.refuse("flatten/not-yet", "an array is put into elements that an array of several axes selects",
                           node, why="an element that is selected twice gets the value that NumPy writes last",
                           help="write the loop over the elements")
        memories.require_shape(s, found.extents, value.extents, node)
        value = memories.computed(s, value, node) if memories.reads(value, owner) else value

    def put(at: tuple[Abstract, ...]) -> None:
        each = number if number is not None else memories.element(s, memories.value_at(s, value, at), owner.dtype, node)
        memories.put(s, found.place(at), each)

    memories.over(s, found.extents[found.lead:found.lead + found.middle], found.places, node)
    memories.over(s, found.extents, put, node)


class _Chosen:
    """The elements that a subscript with arrays of indices means; a mask is the indices of its True elements. `copied`:
    the array is written, and NumPy reads all indices before. The axes of what is selected: `lead` before those of the
    indices, of which there are `middle`, then the others."""

    def __init__(self, s: Evaluator, owner: View, key: Any, node: cst.CSTNode, *, copied: bool = False):
        self.s, self.node = s, node
        parts: list[Any] = []
        for part in memories.split_subscript(s, key, node, len(owner.extents)):
            at = sum(not (isinstance(each, Static) and each.value is None) for each in parts)
            parts += self._indices(part, owner.extents[at:]) if has_arrays(part) else [part]
        places = [at for at, part in enumerate(parts) if has_arrays(part)]
        block = [at for at, part in enumerate(parts) if not isinstance(part, Slice)]
        if len(block) <= block[-1] - block[0] or any(isinstance(each, Static) and each.value is None for each in parts):
            raise s.refuse("flatten/not-yet", "arrays of indices with a slice between them, or with None", node,
                           help="write the loop over the elements")
        rest = [Slice(slice(None)) if has_arrays(part) else part for part in parts]
        base: Any = memories.index(s, owner, Axes(tuple(rest)), node)
        self.owner: View = base
        self.indices = [memories.computed(s, parts[at], node) if copied and parts[at].memory is owner.memory
                        else parts[at] for at in places]
        shape = memories.broadcast(s, [each.extents for each in self.indices], node)
        self.lead, self.middle = block[0], len(shape)
        extents = self.owner.extents
        self.extents = (*extents[:self.lead], *shape, *extents[self.lead + len(places):])

    def _indices(self, part: Any, extents: Sequence[Abstract]) -> list[View]:
        view: Any = _in_memory(self.s, part, self.node)
        view = memories.computed(self.s, view, self.node) if isinstance(view, Pending) else view
        if view.dtype == "b1":
            memories.require_equal(self.s, extents, view.extents, self.node)
            count = routines.made(self.s, "np.count_nonzero({})", [view], lambda _: (), self.node)
            texts = [f"np.nonzero({{}})[{axis}]" for axis in range(len(view.extents))]
            found: list[Any] = [routines.made(self.s, text, [view], lambda _: (count,), self.node) for text in texts]
            return found
        if view.dtype[0] == "f":
            raise self.s.raised(IndexError, self.node)
        return [view]

    def places(self, at: tuple[Abstract, ...]) -> list[Abstract]:
        """The places along the owner's axes of one set of indices, which are tested."""
        return [memories.checked(self.s, memories.load(self.s, memories.part_at(self.s, each, at)),
                                 self.owner.extents[axis], self.node)
                for axis, each in enumerate(self.indices, self.lead)]

    def place(self, at: tuple[Abstract, ...]) -> View:
        end = self.lead + self.middle
        return memories.part_at(self.s, self.owner, (
            *at[:self.lead], *self.places(at[self.lead:end]), *at[end:]))


def _store_masked(s: Evaluator, owner: View, mask: View, number: Value, node: cst.CSTNode) -> None:
    rank = len(mask.extents)
    if rank > len(owner.extents):
        raise s.raised(IndexError, node)
    memories.require_equal(s, owner.extents, mask.extents, node)

    def put(at: tuple[Abstract, ...]) -> None:
        place = memories.part_at(s, owner, at)
        old = memories.load_bits(s, place)
        chosen = lane(s.space.truth(memories.load(s, memories.part_at(s, mask, at[:rank]))))
        memories.put(s, place, s.build.op("select", chosen, number, old))

    memories.over(s, owner.extents, put, node)


def _is_number(value: Abstract, number: int) -> bool:
    return isinstance(value, Static) and type(value.value) in (int, float) and value.value == number


# --- operands
def _in_memory(s: Evaluator, value: Abstract, node: cst.CSTNode) -> Abstract:
    """A small array, which is numbers, as one in memory; a number of uint64 as an ordinary int."""
    if isinstance(value, Unsigned):
        return unsigned.as_int(s, value)
    return routines.in_memory(s, value, node) if arrays.is_array(value) or isinstance(value, Seq | ListRef) else value


def _dtypes(s: Evaluator, value: Abstract, node: cst.CSTNode) -> tuple[Width, Any]:
    """The dtypes that an operand may have, None for a number of Python's, and its kind."""
    if isinstance(value, View | Pending):
        return frozenset({value.dtype}), width_rules.kind_of(value.dtype)
    kind = numeric_kind(value)
    if kind is None:
        raise s.refuse("flatten/not-yet", f"{describe(value)} combined with a whole array of a kernel", node,
                       help="write the loop over the elements")
    if isinstance(value, Static) and isinstance(value.value, np.generic):
        return frozenset({value.value.dtype.str[1:]}), kind
    return s.widths.of(value) if isinstance(value, Value) else PYTHON, kind


def _unknown(s: Evaluator, node: cst.CSTNode) -> FlattenError:
    return s.refuse("flatten/mixed-join", "the dtype of this number is not known", node,
                    help="convert it: float(x), int(x), np.float32(x)")


def _converted(s: Evaluator, value: Abstract, dtype: str) -> Value:
    """A number as the loop takes it, once for all elements: an array without any raises as well."""
    return width_rules.as_dtype(s, s.widths, value, dtype)
