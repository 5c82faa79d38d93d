"""Operators on any two values: numbers, arrays, sequences, strings, and objects by their methods.

Arrays go element by element, with NumPy's meaning: power is NumPy's own, `+=` writes in place.
"""

from __future__ import annotations

import types
from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.space import (
    array_items,
    arrays,
    complex_numbers,
    growing,
    memories,
    missing,
    products,
    ragged,
    scalars,
    text_errors,
    texts,
    unsigned_operators,
    whole_arrays,
)
from pyflat.frontend.space import numbers as num
from pyflat.frontend.space.scalars import METHODS, PYTHON, const_eval
from pyflat.frontend.state import heap, lookup, templates
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import (
    alternatives,
    describe,
    is_lane_number,
    is_number_union,
    number_in,
    numeric_kind,
    per_alternative,
    plain_number,
)
from pyflat.frontend.state.values import (
    Abstract,
    Array,
    GuardedUnion,
    ListRef,
    OtherText,
    Pending,
    Seq,
    Static,
    Text,
    Unsigned,
    View,
)
from pyflat.ir.build import const
from pyflat.ir.types import BOOL, FLOAT, INT


def binary(s: Evaluator, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    """`a <op> b` for numbers, arrays, sequences, strings and objects."""
    if is_lane_number(a) and is_lane_number(b):  # most are, and none of the other questions is asked
        return scalars.binary(s, opcode, a, b)
    if (absent := missing.operate(s, opcode, a, b)) is not None:
        return absent
    if isinstance(a, View) or isinstance(b, View):
        made: Abstract | Pending = whole_arrays.binary(s, opcode, a, b, node)
        return memories.computed(s, made, node) if isinstance(made, Pending) else made
    if arrays.is_array(a) or arrays.is_array(b):
        return binary_arrays(s, opcode, a, b, node)
    a, b = plain_number(a, numpy=False), plain_number(b, numpy=False)
    if complex_numbers.meet(a, b):
        return complex_numbers.binary(s, opcode, a, b)
    if unsigned_operators.meet(s, opcode, a, b):
        return unsigned_operators.binary(s, opcode, a, b)
    if opcode == "add" and texts.are_many(a, b):
        return texts.concatenated(s, [a, b], node)
    if (split := s.split_first((a, b), lambda x, y: binary(s, opcode, x, y, node), is_number_union)) is not None:
        return split
    if any(isinstance(v, GuardedUnion) for v in (a, b)) or all(numeric_kind(v) is not None for v in (a, b)):
        return num.binary(s, opcode, a, b)
    if isinstance(a, OtherText) or isinstance(b, OtherText):
        raise s.refuse("flatten/unsupported-expression", f"`{opcode}` of {describe(a)} and {describe(b)}", node)
    special = _special(s, opcode, a, b, node)
    if special is not None:
        return special
    if (x := number_in(a)) is not a or number_in(b) is not b:
        return binary(s, opcode, x, number_in(b), node)
    if isinstance(a, Static) and isinstance(b, Static):
        if lookup.is_plain(a.value) and lookup.is_plain(b.value) or _are_types(a.value, b.value):
            return const_eval(s, lambda: PYTHON[opcode](a.value, b.value))
        raise s.refuse("flatten/unsupported-expression", f"`{opcode}` of {describe(a)} and {describe(b)}", node,
                       needs_number=True)
    return num.binary(s, opcode, a, b)


def _are_types(*values: Any) -> bool:
    """`int | float`"""
    return all(isinstance(value, type | types.UnionType | types.GenericAlias) for value in values)


def _special(s: Evaluator, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract | None:
    """Operators on sequences, strings and objects; None when the operands are for arithmetic."""
    method = METHODS[opcode]
    both_known = isinstance(a, Static) and isinstance(b, Static)
    done = by_method(s, method, "__r" + method[2:], a, b, node)
    if done is not None or any(number_in(v) is not v for v in (a, b)):
        return done
    if any(isinstance(v, Text) or templates.is_known(v) for v in (a, b)) and not both_known:
        return _string(s, opcode, a, b, node)
    if opcode == "add" and type(a) is ListRef and type(b) is ListRef and (
            growing.is_growing(s, a) or growing.is_growing(s, b)):
        return growing.new(s, *growing.concatenated(s, a, b, node))
    left, right = _items(s, a), _items(s, b)
    if both_known or _is_array(a) or _is_array(b):
        return None
    if opcode == "add" and left is not None and right is not None:
        if family(a) is not family(b):
            raise s.raised(TypeError)
        return _sequence_like(s, a, [*left, *right])
    for items, owner, count in ((left, a, b), (right, b, a)):
        if opcode == "mul" and items is not None and isinstance(count, Static) and isinstance(count.value, int):
            return _sequence_like(s, owner, list(items) * count.value)
        if opcode == "mul" and items is not None and numeric_kind(count) in (BOOL, INT):
            if type(owner) is ListRef and 0 < len(items) <= growing.PLACES and not heap.has_gaps(items):
                return growing.repeated(s, items, count, node)
            raise s.refuse("flatten/list-mutation", "how often a tuple is repeated depends on the data", node,
                           help="make it as long as it can become, or loop over range(n)")
    return None


def _string(s: Evaluator, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    """`+`, `*` and `%` of strings, of which one is made from lanes."""
    if opcode == "add":
        return texts.concatenated(s, [a, b], node)
    if opcode == "mul":
        return texts.repeated(s, *((a, b) if texts.is_string(a) else (b, a)), node)
    if opcode == "mod" and isinstance(a, Static) and isinstance(a.value, str):
        return texts.percent(s, a.value, b, node)
    if opcode == "mod" and isinstance(a, Text):
        raise s.refuse("flatten/unsupported-expression", "`%` of a computed template", node)
    return text_errors.written_by(s, PYTHON[opcode], [a, b], node)


def _items(s: Evaluator, value: Abstract) -> tuple[Abstract, ...] | None:
    if ragged.is_ragged(s, value):
        return ragged.items_of(s, value)
    return s.space.sequence_items(value)


def unary(s: Evaluator, opcode: str, value: Abstract, node: cst.CSTNode) -> Abstract:
    """`-x`, `+x`, `~x` of numbers and of objects that define them."""
    if isinstance(value, View):
        return memories.computed(s, whole_arrays.unary(s, opcode, value, node), node)
    if arrays.is_array(value):
        return unary_array(s, opcode, value, node)
    if isinstance(value, Unsigned):
        return unsigned_operators.unary(s, opcode, value)
    found = lookup.method_of(value, f"__{opcode}__")
    return num.unary(s, opcode, number_in(value)) if found is None else lookup.call_method(s, found, [value], node)


def by_method(s: Evaluator, name: str, mirrored: str, a: Abstract, b: Abstract, node: cst.CSTNode
              ) -> Abstract | None:
    """The operator as a method of the left operand, then of the right one; None where both decline or have none."""
    cls, other = lookup.class_of(a), lookup.class_of(b)
    reflected = lookup.method_of(b, mirrored)
    overridden = reflected is not None and reflected is not lookup.method_of(a, mirrored)
    if cls is not None and other is not None and cls is not other and issubclass(other, cls) and overridden:
        a, b, name, mirrored, reflected = b, a, mirrored, name, None
    attempts = [(a, b, name)] if cls is other and cls is not None else [(a, b, name), (b, a, mirrored)]
    for owner, operand, method in attempts:
        found = lookup.method_of(owner, method)
        if found is None and owner is a and reflected is not None and _knows(lookup.class_of(a), lookup.class_of(b)):
            raise s.refuse("flatten/unsupported-expression", f"{describe(a)} answers {method} with {describe(b)}", node,
                           why="Python asks the number first, which treats the other operand as a plain number",
                           help="make it plain: float(x) or int(x)")
        result = None if found is None else answer(s, found, owner, operand, node)
        if result is not None:
            return result
    return None


def answer(s: Evaluator, method: types.FunctionType, owner: Abstract, operand: Abstract, node: cst.CSTNode
           ) -> Abstract | None:
    """What a method of an operator gives; None where it declines."""
    result = lookup.call_method(s, method, [owner, operand], node)
    declines = [isinstance(each, Static) and each.value is NotImplemented for each in alternatives(result)]
    if any(declines) and not all(declines):
        what = f"{method.__name__} is NotImplemented on some paths only"
        raise s.refuse("flatten/unsupported-expression", what, node)
    return None if all(declines) else result


def _knows(cls: type | None, other: type | None) -> bool:
    """Whether the operators of a builtin number take an instance of a subclass of another one."""
    known = {int: (int,), bool: (int,), float: (int, float), complex: (int, float, complex)}
    return other is not None and cls is not None and issubclass(other, known.get(cls, ())) and other not in known


def family(value: Abstract) -> type | None:
    """list or tuple, for sequences: they are never equal and do not concatenate."""
    cls = lookup.class_of(value)
    if cls is None:
        return None
    return list if issubclass(cls, list) else tuple if issubclass(cls, tuple) else cls


def _is_array(value: Abstract) -> bool:
    return isinstance(value, Static) and isinstance(value.value, np.ndarray)


def _sequence_like(s: Evaluator, owner: Abstract, items: list[Abstract]) -> Abstract:
    if isinstance(owner, ListRef) or isinstance(owner, Static) and isinstance(owner.value, list):
        return heap.new_list(s, items)
    return heap.make_tuple(items)


# --- arrays, element by element
SHORT_CUTS = (-1, 0, 0.5, 1, 2)
"""Exponents of arrays for which `power` is another operation."""


def binary_arrays(s: Evaluator, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    """`a <op> b` where at least one is an array."""
    values = [arrays.known(s, v) for v in (a, b)]
    if values[0] is not None and values[1] is not None:
        return arrays.local(s, scalars.const_eval(s, lambda: PYTHON[opcode](*values)))
    a, b = (arrays.array(s, v, node) if isinstance(v, ListRef | Seq) else v for v in (a, b))
    if opcode == "matmul":
        return products.matmul(s, a, b, node)
    if isinstance(b, GuardedUnion) and opcode == "pow":
        return s.split(b, lambda v: binary_arrays(s, opcode, a, v, node))
    if opcode == "pow":
        fixed = b.value if isinstance(b, Static) and isinstance(b.value, int | float) else None
        if fixed is None and not arrays.is_array(b):
            raise s.refuse("flatten/unsupported-expression", "an array to a power that depends on the data", node,
                           help="take the power of each element in a loop")
        if fixed not in SHORT_CUTS:
            arrays.require_forwards(s, [a, b], node)
        return powers(s, a, b, node) if fixed is None else arrays.apply(s, lambda x: power(s, x, b, fixed), [a], node)
    return arrays.apply(s, lambda x, y: _element(s, opcode, x, y), [a, b], node)


def _element(s: Evaluator, opcode: str, x: Abstract, y: Abstract) -> Abstract:
    if numeric_kind(x) is BOOL and numeric_kind(y) is BOOL and opcode in ("add", "mul"):
        return num.binary(s, "or" if opcode == "add" else "and", x, y)
    return num.binary(s, opcode, x, y)


def compare_arrays(s: Evaluator, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    values = [arrays.known(s, v) for v in (a, b)]
    if values[0] is not None and values[1] is not None:
        return arrays.local(s, scalars.const_eval(s, lambda: PYTHON[opcode](*values)))
    a, b = (arrays.array(s, v, node) if isinstance(v, ListRef | Seq) else v for v in (a, b))
    return arrays.apply(s, lambda x, y: num.compare(s, opcode, x, y), [a, b], node, BOOL)


def unary_array(s: Evaluator, opcode: str, value: Abstract, node: cst.CSTNode) -> Abstract:
    return arrays.apply(s, lambda x: num.unary(s, opcode, x), [value], node)


def powers(s: Evaluator, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    """np.power of arrays. NumPy takes short cuts where its inner loop has one exponent for all elements; whether it has
    for arrays of these shapes is tried out: sqrt(-0.0) is -0.0, and a power of -0.0 is 0.0."""
    with np.errstate(all="ignore"):
        short = np.signbit(np.power(np.full(arrays.shape_of(a), -0.0), np.full(arrays.shape_of(b), 0.5)))
    if short.any() and not short.all():
        raise s.refuse("flatten/not-yet", "powers of arrays of these shapes", node,
                       help="broadcast the exponents first")
    opcode = "np_power" if short.all() else "np_powers"
    return arrays.apply(s, lambda x, y: _element_power(s, opcode, x, y), [a, b], node)


def _element_power(s: Evaluator, opcode: str, x: Abstract, y: Abstract) -> Abstract:
    if numeric_kind(x) is not FLOAT and numeric_kind(y) is not FLOAT:
        return num.binary(s, "pow", x, y)
    return s.build.op(opcode, scalars.as_float(s, x), scalars.as_float(s, y))


def power(s: Evaluator, x: Abstract, y: Abstract, fixed: Any) -> Abstract:
    """NumPy takes shortcuts for one exponent for the whole array."""
    if numeric_kind(x) is not FLOAT and numeric_kind(y) is not FLOAT:
        return num.binary(s, "pow", x, y)
    base = scalars.as_float(s, x)
    match fixed:
        case 0:
            return const(1.0)
        case 1:
            return base
        case 2:
            return s.build.op("mul", base, base)
        case 0.5:
            return s.build.op("np_sqrt", base)
        case -1:
            return s.build.op("truediv", const(1.0), base)
    return s.build.op("np_power", base, scalars.as_float(s, y))


@per_alternative("old")
def in_place(s: Evaluator, opcode: str, old: Abstract, value: Abstract, node: cst.CSTNode) -> Abstract:
    """`old <op>= value`: the array's own memory is written."""
    if isinstance(old, View):
        return whole_arrays.in_place(s, opcode, old, value, node)
    if not isinstance(old, Array):
        raise arrays.not_written(s, old, node, "an augmented assignment changes {} in place",
                                 "write x = x + y, or make a copy first")
    if opcode == "matmul":
        raise s.refuse("flatten/not-yet", "@= on an array", node, help="write x = x @ y")
    result = binary_arrays(s, opcode, old, value, node)
    array_items.update(s, old, result, node)
    return old
