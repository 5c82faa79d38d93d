"""Operators on any two values: numbers, arrays, sequences, strings, and objects by their methods."""

from __future__ import annotations

import types
from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.space import array_operators as vectors
from pyflat.frontend.space import arrays, complex_numbers, scalars
from pyflat.frontend.space import numbers as num
from pyflat.frontend.space.scalars import METHODS, PYTHON, const_eval
from pyflat.frontend.state import heap, lookup
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.values import (
    Abstract,
    GuardedUnion,
    ListRef,
    Static,
    Text,
    describe,
    numeric_kind,
    plain_number,
)
from pyflat.ir.types import BOOL, INT


def binary(s: Evaluator, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    """`a <op> b` for numbers, arrays, sequences, strings and objects."""
    if arrays.is_array(a) or arrays.is_array(b):
        return vectors.operate(s, opcode, a, b, node)
    if not (isinstance(a, Static) and isinstance(b, Static)):
        a, b = plain_number(a, numpy=False), plain_number(b, numpy=False)
    if complex_numbers.meet(a, b):
        return complex_numbers.binary(s, opcode, a, b)
    if any(isinstance(v, GuardedUnion) and not scalars.is_number_union(v) for v in (a, b)):
        return scalars.split_pair(s, a, b, lambda x, y: binary(s, opcode, x, y, node))
    if any(isinstance(v, GuardedUnion) for v in (a, b)) or all(numeric_kind(v) is not None for v in (a, b)):
        return num.binary(s, opcode, a, b)
    special = _special(s, opcode, a, b, node)
    if special is not None:
        return special
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
    done = by_method(s, method, "__r" + method[2:], a, b, node)
    if done is not None:
        return done
    if isinstance(a, Text) or isinstance(a, Static) and isinstance(a.value, str) and not isinstance(b, Static):
        return Text()
    left, right = s.space.sequence_items(a), s.space.sequence_items(b)
    both_known = isinstance(a, Static) and isinstance(b, Static)
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
            raise s.refuse("flatten/list-mutation", "a list is repeated a number of times that differs by lane", node,
                           help="make it as long as it can get, or loop over range(n)")
    return None


def unary(s: Evaluator, opcode: str, value: Abstract, node: cst.CSTNode) -> Abstract:
    """`-x`, `+x`, `~x` of numbers and of objects that define them."""
    if arrays.is_array(value):
        return vectors.unary(s, opcode, value, node)
    found = lookup.method_of(value, f"__{opcode}__")
    return num.unary(s, opcode, value) if found is None else lookup.call_method(s, found, [value], node)


def by_method(s: Evaluator, name: str, mirrored: str, a: Abstract, b: Abstract, node: cst.CSTNode
              ) -> Abstract | None:
    """The operator as a method of the left operand, then of the right one; None where both decline or have none."""
    cls, other = lookup.class_of(a), lookup.class_of(b)
    reflected = lookup.method_of(b, mirrored)
    overridden = reflected is not None and reflected is not lookup.method_of(a, mirrored)
    if cls is not None and other is not None and cls is not other and issubclass(other, cls) and overridden:
        a, b, name, mirrored = b, a, mirrored, name
    arithmetic = mirrored.startswith("__r")
    attempts = [(a, b, name)] if cls is other and cls is not None and arithmetic else [(a, b, name), (b, a, mirrored)]
    for owner, operand, method in attempts:
        found = lookup.method_of(owner, method)
        if found is None:
            continue
        result = lookup.call_method(s, found, [owner, operand], node)
        if isinstance(result, GuardedUnion):
            raise s.refuse("flatten/unsupported-expression", f"{method} is NotImplemented in some lanes only", node)
        if not (isinstance(result, Static) and result.value is NotImplemented):
            return result
    return None


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
