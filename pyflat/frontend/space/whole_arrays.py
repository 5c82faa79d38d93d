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

from pyflat.frontend.space import arrays, memories, routines, scalars, uint64, unsigned, width_rules
from pyflat.frontend.space import numbers as num
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import describe, lane, numeric_kind
from pyflat.frontend.state.values import Abstract, Arguments, ListRef, Pending, Seq, Static, Unsigned, View
from pyflat.frontend.state.widths import PYTHON
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
    widths = [_dtype(s, value, node) for value in (a, b)]
    loop = width_rules.loop_of(opcode, *widths[0], *widths[1])
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
    kinds = {_dtype(s, value, node)[1] for value in (a, b)}
    if len(kinds) > 1 and kinds != {INT, FLOAT}:
        raise s.refuse("flatten/not-yet", "a comparison of whole arrays of different kinds", node,
                       help="write the loop over the elements")

    def test(given: Sequence[Abstract]) -> Abstract:
        x, y = given if len(kinds) == 1 else (_as_float(s, each) for each in given)
        return num.compare(s, opcode, x, y)

    return mapped(s, "b1", [a, b], test, node)


def _as_float(s: Evaluator, value: Abstract) -> Abstract:
    if numeric_kind(value) is FLOAT:
        return value
    if isinstance(value, Unsigned):
        return uint64.as_float(s, memories.widths_of(s), value)
    if isinstance(value, Static):
        return Static(float(value.value))
    dtype = next(iter(memories.widths_of(s).of(lane(value))))
    return value if dtype is None else width_rules.as_dtype(s, memories.widths_of(s), value, "f8")


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
def selected(s: Evaluator, owner: View, indices: View, node: cst.CSTNode) -> View:
    """`a[indices]`, a new array."""
    if indices.dtype == "b1":
        return routines.chosen(s, owner, indices, node)
    _require_indices(s, indices, node)
    rest = owner.extents[1:]
    made = memories.allocated(s, (*indices.extents, *rest), owner.dtype, None, node)
    rank = len(indices.extents)

    def put(at: tuple[Abstract, ...]) -> None:
        row = memories.load(s, memories.part_at(s, indices, at[:rank]))
        place = memories.checked(s, row, owner.extents[0], node)
        value = memories.load_bits(s, memories.part_at(s, owner, (place, *at[rank:])))
        memories.put(s, memories.part_at(s, made, at), value)

    memories.over(s, made.extents, put, node)
    return made


def store_selected(s: Evaluator, owner: View, chosen: View, value: Abstract, node: cst.CSTNode) -> None:
    """`a[mask] = number` and `a[indices] = number`."""
    if numeric_kind(value) is None and not isinstance(value, Unsigned):
        raise s.refuse("flatten/not-yet", f"{describe(value)} is put into the elements that an array selects", node,
                       help="write the loop over the elements")
    number = memories.element(s, value, owner.dtype, node)
    if chosen.dtype == "b1":
        _store_masked(s, owner, chosen, number, node)
        return
    _require_indices(s, chosen, node)
    if chosen.memory is owner.memory:  # NumPy reads them all before it writes
        chosen = memories.computed(s, chosen, node)
    rank = len(chosen.extents)

    def check(at: tuple[Abstract, ...]) -> None:  # NumPy looks at all of them before it writes
        memories.checked(s, memories.load(s, memories.part_at(s, chosen, at)), owner.extents[0], node)

    def put(at: tuple[Abstract, ...]) -> None:
        place = memories.checked(s, memories.load(s, memories.part_at(s, chosen, at[:rank])), owner.extents[0], node)
        memories.put(s, memories.part_at(s, owner, (place, *at[rank:])), number)

    memories.over(s, chosen.extents, check, node)
    memories.over(s, (*chosen.extents, *owner.extents[1:]), put, node)


def _store_masked(s: Evaluator, owner: View, mask: View, number: Value, node: cst.CSTNode) -> None:
    rank = len(mask.extents)
    if rank > len(owner.extents):
        raise s.raised(IndexError, node)
    memories.require_shape(s, owner.extents[:rank], mask.extents, node)

    def put(at: tuple[Abstract, ...]) -> None:
        place = memories.part_at(s, owner, at)
        old = memories.load_bits(s, place)
        chosen = lane(s.space.truth(memories.load(s, memories.part_at(s, mask, at[:rank]))))
        memories.put(s, place, s.build.op("select", chosen, number, old))

    memories.over(s, owner.extents, put, node)


def _require_indices(s: Evaluator, indices: View, node: cst.CSTNode) -> None:
    if indices.dtype[0] == "f":
        raise s.raised(IndexError, node)


def _is_number(value: Abstract, number: int) -> bool:
    return isinstance(value, Static) and type(value.value) in (int, float) and value.value == number


# --- operands
def _in_memory(s: Evaluator, value: Abstract, node: cst.CSTNode) -> Abstract:
    """A small array, which is numbers, as one in memory; a number of uint64 as an ordinary int."""
    if isinstance(value, Unsigned):
        return unsigned.as_int(s, value)
    return routines.in_memory(s, value, node) if arrays.is_array(value) or isinstance(value, Seq | ListRef) else value


def _dtype(s: Evaluator, value: Abstract, node: cst.CSTNode) -> tuple[str | None, Any]:
    """The dtype of an operand, None for a number of Python's, and its kind."""
    if isinstance(value, View | Pending):
        return value.dtype, width_rules.kind_of(value.dtype)
    kind = numeric_kind(value)
    if kind is None:
        raise s.refuse("flatten/not-yet", f"{describe(value)} beside a whole array of a kernel", node,
                       help="write the loop over the elements")
    if isinstance(value, Static) and isinstance(value.value, np.generic):
        return value.value.dtype.str[1:], kind
    width = memories.widths_of(s).of(value) if isinstance(value, Value) else PYTHON
    if len(width) > 1 or "?" in width:
        raise s.refuse("flatten/mixed-join", "the dtype of this number is not known", node,
                       help="convert it: float(x), int(x), np.float32(x)")
    return next(iter(width)), kind


def _converted(s: Evaluator, value: Abstract, dtype: str) -> Value:
    """A number as the loop takes it, once for all elements: an array without any raises as well."""
    return width_rules.as_dtype(s, memories.widths_of(s), value, dtype)
