"""Arithmetic on abstract numbers, real or complex, and truth.

A GuardedUnion is split, so that `0 if c else .5` keeps both kinds
until an operation makes the difference disappear.
"""

from __future__ import annotations

import types

import libcst as cst

from pyflat.frontend.space import characters, complex_numbers, dict_views, ragged, scalars, unsigned, unsigned_operators
from pyflat.frontend.state import heap, lookup, templates
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import (
    cells_of,
    describe,
    is_number_union,
    number_in,
    numeric_kind,
    per_alternative,
    plain_number,
)
from pyflat.frontend.state.values import (
    CONFLICT,
    Abstract,
    Array,
    BoundMethod,
    Char,
    Chars,
    Closure,
    Complex,
    DictRef,
    GrownText,
    GuardedUnion,
    LaneSet,
    ListRef,
    NumberText,
    ObjRef,
    Partial,
    RepeatedText,
    Seq,
    Static,
    Unsigned,
    Written,
)
from pyflat.ir.build import const
from pyflat.ir.nodes import Value
from pyflat.ir.types import BOOL, FLOAT, INT


def binary(s: Evaluator, opcode: str, a: Abstract, b: Abstract) -> Abstract:
    """`a <op> b` on numbers; sequences and objects are handled by the caller."""
    if isinstance(a, Static) and isinstance(b, Static):
        return scalars.binary(s, opcode, a, b)
    if complex_numbers.meet(a, b):
        return complex_numbers.binary(s, opcode, a, b)
    if isinstance(a, GuardedUnion) or isinstance(b, GuardedUnion):
        a, b = _as_floats(s, opcode, plain_number(a), plain_number(b))
        if (made := s.split_first((a, b), lambda x, y: binary(s, opcode, x, y))) is not None:
            return made
    if unsigned_operators.meet(s, opcode, a, b):
        return unsigned_operators.binary(s, opcode, a, b)
    return scalars.binary(s, opcode, a, b)


def _as_floats(s: Evaluator, opcode: str, a: Abstract, b: Abstract) -> tuple[Abstract, Abstract]:
    """An int-or-float meets a float in + - * /: converted first, it needs no branch."""
    if opcode in ("add", "sub", "mul", "truediv"):
        if numeric_kind(b) is FLOAT and is_number_union(a):
            return scalars.number_union_as_float(s, a), b
        if numeric_kind(a) is FLOAT and is_number_union(b):
            return a, scalars.number_union_as_float(s, b)
    return a, b


def compare(s: Evaluator, opcode: str, a: Abstract, b: Abstract) -> Abstract:
    """One comparison of two numbers."""
    if isinstance(a, Static) and isinstance(b, Static):
        return scalars.compare(s, opcode, a, b)
    if complex_numbers.meet(a, b):
        return complex_numbers.compare(s, opcode, a, b)
    if (made := s.split_first((a, b), lambda x, y: compare(s, opcode, x, y))) is not None:
        return made
    if unsigned_operators.meet(s, opcode, a, b):
        return unsigned_operators.compare(s, opcode, a, b)
    return scalars.compare(s, opcode, a, b)


def truth(s: Evaluator, value: Abstract) -> Static | Value:
    """bool(value): a static bool or a bool lane."""
    value = plain_number(value)
    match value:
        case Value():
            if value.kind is BOOL:
                return value
            return s.build.op("ne", value, const(0 if value.kind is INT else 0.0))
        case Static() | Seq() | ObjRef() if (asked := _own_truth(value)) is not None:
            return _asked(s, value, *asked)
        case Seq() if number_in(value) is not value:
            return truth(s, number_in(value))
        case Static() if _has_own_truth(type(value.value)):
            raise s.refuse("flatten/unsupported-expression", f"the truth of {describe(value)} is computed by its class")
        case Static():
            known = scalars.const_eval(s, lambda: bool(value.value))
            assert isinstance(known, Static)
            return known
        case Complex():
            return complex_numbers.truth(s, value)
        case Unsigned():
            return unsigned.truth(s, value)
        case LaneSet():
            return ragged.is_filled(s, s.state.heap[value.members])
        case Chars():
            return ragged.is_filled(s, value.items)
        case Char() | NumberText():
            return Static(True)
        case RepeatedText():
            return s.build.op("gt", value.count, const(0))
        case GrownText() if all(map(templates.is_filled, value.table.templates)):
            return s.space.truth(scalars.compare(s, "gt", value.cells.items[0], Static(0)))
        case Written() if characters.is_text(value):
            return ragged.is_filled(s, characters.items_of(s, value) or ())
        case Written() if any(isinstance(part, Static | Char | NumberText) for part in value.parts):
            return Static(True)
        case Array():
            if value.places.size == 1:
                return truth(s, s.state.heap[value.store][value.places.flat[0]])
            raise s.raised(ValueError)
        case Seq() if not _has_own_truth(value.cls):
            return Static(bool(value.items))
        case DictRef() if dict_views.is_of_lanes(value, s):
            return dict_views.is_filled(s, value)
        case ListRef() | DictRef():
            found = s.state.heap[value]
            if found is not CONFLICT and (cells := cells_of(found)) is not None:
                return truth(s, compare(s, "gt", cells.items[0], Static(0)))
            items = heap.contents_with_gaps(s, value)  # refused where the paths before left it in different shapes
            return ragged.is_filled(s, items) if ragged.is_ragged(s, value) else Static(bool(items))
        case GuardedUnion():
            return truth(s, s.split(value, lambda v: truth(s, v)))
        case ObjRef() if "__bool__" not in dir(value.cls) and "__len__" not in dir(value.cls):
            return Static(True)
        case Closure() | BoundMethod() | Partial():
            return Static(True)
    raise s.refuse("flatten/unsupported-expression", f"the truth of {describe(value)} is not known")


def _own_truth(value: Abstract) -> tuple[str, types.FunctionType] | None:
    """__bool__, or __len__ where there is none, as a Python function."""
    for name in ("__bool__", "__len__"):
        method = lookup.method_of(value, name)
        if method is not None:
            return name, method
    return None


def _asked(s: Evaluator, value: Abstract, name: str, method: types.FunctionType) -> Static | Value:
    """What the method says: TypeError where __bool__ gives no bool; a negative __len__ is left to the original."""
    node = s.build.origin.node if s.build.origin is not None else None
    assert isinstance(node, cst.CSTNode)
    found = lookup.call_method(s, method, [value], node)
    of_bool = name == "__bool__"
    if isinstance(found, GuardedUnion) or numeric_kind(found) is not (BOOL if of_bool else INT):
        if numeric_kind(found) is None:
            raise s.refuse("flatten/unsupported-expression", f"{name} gives {describe(found)}", node,
                           help="return bool(...) of it")
        raise s.raised(TypeError, node)
    if not of_bool and isinstance(found, Value):
        heap.suspect_if(s, s.build.op("lt", found, const(0)), "a negative __len__", node)
    return truth(s, found)


def _has_own_truth(cls: type) -> bool:
    """A class statement gave its instances a __bool__ or __len__ in Python."""
    return any(isinstance(getattr(cls, name, None), types.FunctionType) for name in ("__bool__", "__len__"))


@per_alternative("value")
def unary(s: Evaluator, opcode: str, value: Abstract) -> Abstract:
    """`-x`, `+x`, `~x`."""
    if isinstance(value, Complex):
        return complex_numbers.unary(s, opcode, value)
    if isinstance(value, Unsigned):
        return unsigned_operators.unary(s, opcode, value)
    return scalars.unary(s, opcode, value)
