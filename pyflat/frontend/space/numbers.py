"""Arithmetic on abstract numbers: Python's operators as IR operations, with the kinds settled here.

Static operands are computed now by Python itself. A Choice is split, so that `0 if c else .5` keeps both kinds
until an operation makes the difference disappear.
"""

from __future__ import annotations

import types

from pyflat.frontend.space import complex_numbers, reals, scalars
from pyflat.frontend.space.scalars import PYTHON_COMPARE
from pyflat.frontend.state.frames import Specialiser
from pyflat.frontend.state.merge import lane
from pyflat.frontend.state.values import (
    Abstract,
    Array,
    Bound,
    Choice,
    Closure,
    Complex,
    DictRef,
    ListRef,
    ObjRef,
    Partial,
    Seq,
    Static,
    describe,
    numeric_kind,
    plain_number,
)
from pyflat.ir.build import const
from pyflat.ir.nodes import Value
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MAX, INT_MIN, join_kinds


def binary(s: Specialiser, opcode: str, a: Abstract, b: Abstract) -> Abstract:
    """`a <op> b` on numbers; sequences and objects are handled by the caller."""
    if isinstance(a, Static) and isinstance(b, Static):
        return reals.static_binary(s, opcode, a, b)
    if complex_numbers.meet(a, b):
        return complex_numbers.binary(s, opcode, a, b)
    numpy = s.may_be_numpy(a) or s.may_be_numpy(b)
    a, b = plain_number(a), plain_number(b)
    if isinstance(a, Choice) or isinstance(b, Choice):
        return _split_binary(s, opcode, a, b)
    kinds = numeric_kind(a), numeric_kind(b)
    if kinds[0] is None or kinds[1] is None:
        raise scalars.type_fault(s, a if kinds[0] is None else b)
    joined = join_kinds(kinds[0], kinds[1])
    negative = joined is INT and opcode == "pow" and not (isinstance(b, Static) and b.value >= 0)
    if numpy and (negative or joined is BOOL and opcode in ("add", "sub", "mul")):
        raise s.refuse("flatten/unsupported-expression", f"`{opcode}` of NumPy scalars is not Python's",
                       help="convert with int(...) or bool(...) first")
    result = reals._operation(s, opcode, a, b, joined)
    return s.mark_numpy(result) if numpy else result


def _split_binary(s: Specialiser, opcode: str, a: Abstract, b: Abstract) -> Abstract:
    """An int-or-float meets a float in + - * /: convert first, no branch is needed."""
    if opcode in ("add", "sub", "mul", "truediv"):
        if isinstance(a, Choice) and numeric_kind(b) is FLOAT and scalars.is_number_choice(a):
            return binary(s, opcode, scalars.number_choice_as_float(s, a), b)
        if isinstance(b, Choice) and numeric_kind(a) is FLOAT and scalars.is_number_choice(b):
            return binary(s, opcode, a, scalars.number_choice_as_float(s, b))
    return scalars.split_pair(s, a, b, lambda x, y: binary(s, opcode, x, y))


def compare(s: Specialiser, opcode: str, a: Abstract, b: Abstract) -> Abstract:
    """One comparison of two numbers, exact also between int and float."""
    if isinstance(a, Static) and isinstance(b, Static):
        x, y = a.value, b.value
        return scalars.now(s, lambda: PYTHON_COMPARE[opcode](x, y))
    if complex_numbers.meet(a, b):
        return complex_numbers.compare(s, opcode, a, b)
    a, b = plain_number(a), plain_number(b)
    if isinstance(a, Choice):
        return s.split(a, lambda v: compare(s, opcode, v, b))
    if isinstance(b, Choice):
        return s.split(b, lambda v: compare(s, opcode, a, v))
    ka, kb = numeric_kind(a), numeric_kind(b)
    if ka is None or kb is None:
        return reals._compare_other(s, opcode, a, b)
    if (ka is FLOAT) != (kb is FLOAT):
        return reals._compare_mixed(s, opcode, a, b)
    if ka is FLOAT:
        return s.build.op(opcode, scalars.as_float(s, a), scalars.as_float(s, b))
    for value, other_side in ((a, False), (b, True)):
        if isinstance(value, Static) and not INT_MIN <= value.value <= INT_MAX:
            zero = 0
            left, right = (zero, value.value) if other_side else (value.value, zero)
            return Static(PYTHON_COMPARE[opcode](left, right))
    kind = join_kinds(ka, kb)
    return s.build.op(opcode, scalars.to_kind(s, lane(a), kind), scalars.to_kind(s, lane(b), kind))


def truth(s: Specialiser, value: Abstract) -> Static | Value:
    """bool(value): a static bool or a bool lane."""
    value = plain_number(value)
    match value:
        case Value():
            if value.kind is BOOL:
                return value
            return s.build.op("ne", value, const(0 if value.kind is INT else 0.0))
        case Static() if _has_own_truth(type(value.value)):
            raise s.refuse("flatten/unsupported-expression", f"the truth of {describe(value)} is computed by its class")
        case Static():
            known = scalars.now(s, lambda: bool(value.value))
            assert isinstance(known, Static)
            return known
        case Complex():
            return complex_numbers.truth(s, value)
        case Array():
            if value.places.size == 1:
                return truth(s, s.state.heap[value.store][value.places.flat[0]])
            raise s.raised(ValueError)
        case Seq() if not _has_own_truth(value.cls):
            return Static(bool(value.items))
        case ListRef() | DictRef():
            return Static(bool(s.state.heap[value]))
        case Choice():
            joined = s.split(value, lambda v: truth(s, v))
            assert isinstance(joined, Static | Value)
            return joined
        case ObjRef() if "__bool__" not in dir(value.cls) and "__len__" not in dir(value.cls):
            return Static(True)
        case Closure() | Bound() | Partial():
            return Static(True)
    raise s.refuse("flatten/unsupported-expression", f"the truth of {describe(value)} is not known")


def _has_own_truth(cls: type) -> bool:
    """A class statement gave its instances a __bool__ or __len__ in Python."""
    return any(isinstance(getattr(cls, name, None), types.FunctionType) for name in ("__bool__", "__len__"))


def unary(s: Specialiser, opcode: str, value: Abstract) -> Abstract:
    """`-x`, `+x`, `~x`."""
    numpy, value = s.may_be_numpy(value), plain_number(value)
    if numpy and numeric_kind(value) is BOOL:
        if opcode == "invert":
            return scalars.negate(s, value)
        raise s.refuse("flatten/unsupported-expression", "a sign in front of a NumPy bool")
    if isinstance(value, Choice):
        return s.split(value, lambda v: unary(s, opcode, v))
    if isinstance(value, Static):
        if isinstance(getattr(type(value.value), f"__{opcode}__", None), types.FunctionType):
            raise s.refuse("flatten/unsupported-expression", f"an operator of {describe(value)}")
        return scalars.now(s, lambda: reals._UNARY[opcode](value.value))
    if isinstance(value, Complex):
        return complex_numbers.unary(s, opcode, value)
    kind = numeric_kind(value)
    if kind is None:
        raise scalars.type_fault(s, value)
    number = scalars.to_kind(s, lane(value), INT) if kind is BOOL else lane(value)
    if opcode == "pos":
        return number
    if opcode == "invert" and number.kind is FLOAT:
        raise s.fault("TypeError", "bad operand type for unary ~: 'float'")
    return s.build.op(opcode, number)
