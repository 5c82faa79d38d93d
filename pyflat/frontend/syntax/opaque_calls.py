"""Calls that a backend keeps: the arguments become operands, the call one operation (`ir.opaque_calls`)."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import libcst as cst
import numpy as np

from pyflat.errors import InternalError
from pyflat.frontend import results
from pyflat.frontend.space.scalars import number_union_as_float
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import describe, is_number_union, lane, numeric_kind
from pyflat.frontend.state.values import Abstract, Arguments, BoundMethod, Closure, GuardedUnion, Static
from pyflat.ir.nodes import TRUE, Op, Value
from pyflat.ir.opaque_calls import Call, part_of, result_shape
from pyflat.ir.shape import Fixed, Labels, Leaf, Maybe, Ragged, Record, Shape, Strings, Texts
from pyflat.ir.types import BOOL, FLOAT, INT, PACK, VOID, Kind, join_kinds, kind_of


def entry_for(s: Evaluator, function: Abstract) -> tuple[Call, Any] | None:
    """The whitelist's entry for a callable, by its simple name, and the function itself."""
    if not s.opaque.entries:
        return None
    match function:
        case Closure():
            name, found = function.captured.name, None
        case BoundMethod():
            name, found = function.name, function.function
        case Static():
            name, found = getattr(function.value, "__name__", ""), function.value
        case _:
            return None
    entry = s.opaque.entries.get(name)
    return None if entry is None else (entry, found)


def keep(s: Evaluator, entry: Call, function: Any, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """One operation for the call; its result as Python has it."""
    if function is not None:
        s.opaque.functions.setdefault(entry.name, function)
    operands: list[Value] = []
    shapes = [_operands(s, value, operands, node) for value in _positional(s, function, arguments, node)]
    for shape in shapes:
        if isinstance(shape, Record):
            s.opaque.records[part_of(shape)] = shape
    if isinstance(getattr(function, "__module__", None), str) and function.__module__.startswith("numpy"):
        s.widths.seen = True
    result = Leaf(_joined(operands)) if entry.result == "join" else result_shape(entry.result)
    kind = PACK if isinstance(result, Record) else result.kind if isinstance(result, Leaf) else VOID
    attrs = {"args": tuple(map(part_of, shapes)), "barrier": entry.barrier, "effect": not entry.pure,
             "guarded": entry.guarded, "name": entry.name}
    guard = [TRUE] if entry.guarded else []
    with s.at(node):
        call = Op("call", [*guard, *operands], kind, attrs=tuple(attrs.items()), origin=s.build.origin)
        s.build.append(call)
        if isinstance(result, Record):
            parts = (s.build.op("part", call, kind=leaf, index=i) for i, leaf in enumerate(results.kinds_of(result)))
            return _record(s, result, parts)
    if isinstance(result, Fixed):
        return Static(result.value)
    return s.mark_numpy(call) if isinstance(function, np.ufunc) else call


def may_fold(entry: Call, pure: bool) -> bool:
    """A call whose arguments are all constants may be computed now."""
    return entry.pure and not entry.barrier and not entry.guarded and (entry.python is not None or pure)


def _positional(s: Evaluator, function: Any, arguments: Arguments, node: cst.CSTNode) -> list[Abstract]:
    """The arguments in the order of the parameters; defaults are left to the primitive."""
    if not arguments.named:
        return arguments.positional
    try:
        bound = inspect.signature(function).bind(*arguments.positional, **arguments.named)
    except (TypeError, ValueError):
        raise s.refuse("flatten/bad-call", "the keyword arguments of an opaque call do not fit its parameters",
                       node) from None
    if bound.kwargs:
        raise s.refuse("flatten/bad-call", "an opaque call takes its arguments by position", node)
    return list(bound.args)


def _operands(s: Evaluator, value: Abstract, operands: list[Value], node: cst.CSTNode) -> Shape:
    """The shape of an argument; its numbers are appended to `operands`."""
    kind = numeric_kind(value)
    if kind is not None:
        if isinstance(value, Static) and kind_of(value.value) is None and not isinstance(value.value, np.generic):
            raise s.refuse("flatten/int-too-large", f"the integer {value.value!r} does not fit into 64 bits", node)
        operands.append(lane(value))
        return Leaf(operands[-1].kind)
    if is_number_union(value):  # of different kinds: one operand, so that the call is not duplicated
        operands.append(number_union_as_float(s, value))
        return Leaf(FLOAT)
    if isinstance(value, GuardedUnion):
        raise s.refuse("flatten/mixed-join", f"{describe(value)} is an argument of an opaque call", node)
    if isinstance(value, Static) and isinstance(value.value, str | None):
        return Fixed(value.value)
    parts = results.parts_of(value, s.state)
    if parts is None or parts.cls is dict:
        raise s.refuse("flatten/lane-to-object", f"{describe(value)} is an argument of an opaque call", node,
                       why="the operation takes numbers, strings and None, and records and sequences of them",
                       help="pass the object's name as a string, or its numbers")
    return Record(parts.cls, parts.names, tuple(_operands(s, item, operands, node) for item in parts.items))


def _joined(operands: list[Value]) -> Kind:
    kinds = [v.kind for v in operands]
    joined = kinds[0] if kinds else FLOAT
    for kind in kinds[1:]:
        joined = join_kinds(joined, kind)
    return INT if joined is BOOL else joined


def _record(s: Evaluator, shape: Shape, values: Iterator[Op]) -> Abstract:
    match shape:
        case Leaf():
            return next(values)
        case Fixed():
            return Static(shape.value)
        case Record():
            items = tuple(_record(s, item, values) for item in shape.items)
            return heap.record(s, shape.cls, shape.names, items)
        case Labels() | Strings() | Texts() | Ragged() | Maybe():
            raise InternalError(f"not the result of an opaque call: {shape!r}")
