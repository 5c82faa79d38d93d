"""Builtins that ask an object for a special method: float(x) is x.__float__(), round(x) is x.__round__(), and so on."""

from __future__ import annotations

import math
import operator
from typing import Any

import libcst as cst

from pyflat.frontend.space import operators
from pyflat.frontend.state import heap, lookup
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import lane, numeric_kind
from pyflat.frontend.state.values import Abstract, Arguments, ObjRef, Seq, Static
from pyflat.functions.records import RECORDS
from pyflat.ir.types import FLOAT, INT, Kind

_ASKED: dict[Any, str] = {
    round: "__round__", math.floor: "__floor__", math.ceil: "__ceil__", math.trunc: "__trunc__", len: "__len__",
}
_CONVERSIONS = {float: ("__float__", FLOAT), int: ("__int__", INT)}
_TAKE_FLOATS = {fn for record in RECORDS.values() if record.python.startswith("math.")
                and (fn := record.callable()) is not None} | {
    math.degrees, math.radians, math.fabs, math.isnan, math.isinf, math.isfinite, math.hypot, math.log, math.floor,
    math.ceil}
"""Functions written in C that take a float, or what __float__ makes of an object."""


def call(s: Evaluator, fn: Any, arguments: Arguments, node: cst.CSTNode) -> Abstract | None:
    """The call of a builtin with an object whose class has an answer; None where it has none."""
    given = arguments.positional
    if not any(map(_is_object, given)):
        return None
    if fn is divmod and len(given) == 2:
        return operators.by_method(s, "__divmod__", "__rdivmod__", given[0], given[1], node)
    asked = lookup.method_of(given[0], _ASKED.get(fn, ""))
    if asked is not None:
        s.guards.member(lookup.class_of(given[0]), asked.__name__)
        value = s.space.call(Static(asked), arguments, node)
        return length(s, value, node) if fn is len else value
    if fn in (*_CONVERSIONS, operator.index) and len(given) == 1 and not arguments.named:
        return _converted(s, fn, given[0], node)
    if fn in _TAKE_FLOATS:
        floats = [_converted(s, float, value, node) if _is_object(value) else value for value in given]
        if None not in floats:
            return s.space.call(Static(fn), Arguments([v for v in floats if v is not None], arguments.named), node)
    return None


def _is_object(value: Abstract) -> bool:
    """An object whose class is a class statement's, and that is no number by itself."""
    if isinstance(value, Static):
        return not lookup.is_plain(value.value) and not isinstance(value.value, int | float | type) \
            and type(value.value).__module__ not in _KNOWN_MODULES
    return isinstance(value, ObjRef | Seq)


_KNOWN_MODULES = ("numpy", "fractions", "decimal", "datetime")
"""Builtins of their immutable values are computed now."""


def _converted(s: Evaluator, fn: Any, value: Abstract, node: cst.CSTNode) -> Abstract | None:
    """float(value), int(value) or operator.index(value): TypeError where the method gives a number of another kind."""
    name, kind = _CONVERSIONS.get(fn, ("__index__", INT))
    method = lookup.method_of(value, name)
    if method is not None:
        return _of_kind(s, kind, lookup.call_method(s, method, [value], node), node)
    method = lookup.method_of(value, "__index__")
    if method is None:
        return None
    position = _of_kind(s, INT, lookup.call_method(s, method, [value], node), node)
    return s.space.call(Static(fn), Arguments([position], {}), node) if fn is float else position


def _of_kind(s: Evaluator, kind: Kind, value: Abstract, node: cst.CSTNode) -> Abstract:
    if numeric_kind(value) is None:
        raise s.refuse("flatten/unsupported-expression", "the method does not return a number of one kind", node,
                       help="return one kind of number on all paths")
    if numeric_kind(value) is not kind:
        s.doubt(f"the method returned a number other than {'float' if kind is FLOAT else 'int'}", node)
        raise s.raised(TypeError, node)
    return value


def length(s: Evaluator, value: Abstract, node: cst.CSTNode) -> Abstract:
    """What __len__ gave: an int, and ValueError where it is negative."""
    found = _of_kind(s, INT, value, node)
    negative = s.space.compare("lt", found, Static(0), node)
    if not isinstance(negative, Static):
        heap.raise_if(s, lane(negative), ValueError)
    elif negative.value:
        raise s.raised(ValueError, node)
    return found


