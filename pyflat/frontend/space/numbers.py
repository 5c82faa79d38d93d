"""Arithmetic on abstract numbers: Python's operators as IR operations, with the kinds settled here.

Static operands are computed now by Python itself. A Choice is split, so that `0 if c else .5` keeps both kinds
until an operation makes the difference disappear.
"""

from __future__ import annotations

import math
import operator
import types
from collections.abc import Callable
from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.space import complex_numbers
from pyflat.frontend.state import facts
from pyflat.frontend.state.frames import Specialiser
from pyflat.frontend.state.merge import lane
from pyflat.frontend.state.values import (
    UNBOUND,
    Abstract,
    Array,
    Bound,
    Caught,
    Choice,
    Closure,
    Complex,
    DictRef,
    IterRef,
    Lazy,
    ListRef,
    ObjRef,
    Partial,
    Ranges,
    Seq,
    Static,
    Text,
    complex_parts,
    numeric_kind,
    plain_number,
)
from pyflat.ir.build import const
from pyflat.ir.nodes import Const, Op, Value
from pyflat.ir.types import BOOL, EXACT_INT, FLOAT, INT, INT_MAX, INT_MIN, Kind, join_kinds

BINARY: dict[type, tuple[str, Callable[[Any, Any], Any], str]] = {
    cst.Add: ("add", operator.add, "__add__"), cst.Subtract: ("sub", operator.sub, "__sub__"),
    cst.Multiply: ("mul", operator.mul, "__mul__"), cst.Divide: ("truediv", operator.truediv, "__truediv__"),
    cst.FloorDivide: ("floordiv", operator.floordiv, "__floordiv__"), cst.Modulo: ("mod", operator.mod, "__mod__"),
    cst.Power: ("pow", operator.pow, "__pow__"), cst.BitAnd: ("and", operator.and_, "__and__"),
    cst.BitOr: ("or", operator.or_, "__or__"), cst.BitXor: ("xor", operator.xor, "__xor__"),
    cst.LeftShift: ("shl", operator.lshift, "__lshift__"), cst.RightShift: ("shr", operator.rshift, "__rshift__"),
    cst.MatrixMultiply: ("matmul", operator.matmul, "__matmul__"),
}
_PYTHON = {name: fn for name, fn, _ in BINARY.values()}
COMPARE: dict[type, tuple[str, Callable[[Any, Any], Any]]] = {
    cst.Equal: ("eq", operator.eq), cst.NotEqual: ("ne", operator.ne), cst.LessThan: ("lt", operator.lt),
    cst.LessThanEqual: ("le", operator.le), cst.GreaterThan: ("gt", operator.gt),
    cst.GreaterThanEqual: ("ge", operator.ge),
}
_COMPARE = dict(COMPARE.values())
_UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": operator.neg, "pos": operator.pos, "invert": operator.invert, "abs": abs,
}
_MAX_STATIC_BITS = 1 << 16


def static(value: Any) -> Static:
    """A Python object known now."""
    return Static(value)


def now(s: Specialiser, compute: Callable[[], Any]) -> Abstract:
    """Evaluate with Python now; an exception becomes the fault that Python would raise on this path."""
    try:
        with np.errstate(all="ignore"):
            value = compute()
        s.saw_numpy = s.saw_numpy or isinstance(value, np.generic)
        return static(value)
    except (ArithmeticError, ValueError, LookupError) as error:
        raise s.raised(type(error)) from None
    except (TypeError, AttributeError) as error:
        raise s.fault(type(error).__name__, str(error)) from None


def to_kind(s: Specialiser, value: Value, kind: Any) -> Value:
    """Python's implicit promotion bool -> int -> float."""
    if value.kind is kind:
        return value
    if isinstance(value, Const) and value.value is not None:
        return const(float(value.value) if kind is FLOAT else int(value.value))
    if kind is FLOAT:
        return s.build.op("to_float", value)
    return s.build.op("to_int", value)


def as_float(s: Specialiser, value: Abstract) -> Value:
    """A number as a float lane, as float() or an arithmetic operator would convert it."""
    value = plain_number(value)
    if isinstance(value, Choice):
        return lane(s.split(value, lambda v: as_float(s, v)))
    if isinstance(value, Static) and isinstance(value.value, int):
        return lane(now(s, lambda: float(value.value)))
    if numeric_kind(value) is None:
        raise type_fault(s, value)
    return to_kind(s, lane(value), FLOAT)


def type_fault(s: Specialiser, value: Abstract) -> Exception:
    """A number is needed and this is none: Python raises TypeError on this path, or the construct is unknown."""
    if complex_parts(value) is not None:
        return s.raised(TypeError, message="a real number is needed here, not a complex one")
    genuine = isinstance(value, Static) and isinstance(value.value, str | tuple | list | dict | type(None))
    if genuine or isinstance(value, Seq) or value is UNBOUND:
        return s.fault("TypeError", f"{describe(value)} is not a number")
    return s.refuse("flatten/unsupported-expression", f"a number is needed here, not {describe(value)}",
                    needs_number=True)


def describe(value: Abstract) -> str:
    """The value in the user's words."""
    kind = numeric_kind(value)
    match value:
        case Static():
            return f"{value.value!r:.40}"
        case Complex():
            return "a complex lane"
        case Seq():
            return "a tuple"
        case ListRef():
            return "a list"
        case Array():
            return "an array"
        case DictRef():
            return "a dict"
        case ObjRef():
            return f"a {value.cls.__name__}"
        case Closure() | Bound() | Partial():
            return "a function"
        case Caught():
            return "a caught exception"
        case Text():
            return "a string made from lanes"
        case Ranges():
            return "a range whose bounds depend on lanes"
        case IterRef() | Lazy():
            return "an iterator"
        case Choice():
            return f"{describe(value.then)} or {describe(value.orelse)}"
    return f"a lane {kind}" if kind else "an unbound name"


def binary(s: Specialiser, opcode: str, a: Abstract, b: Abstract) -> Abstract:
    """`a <op> b` on numbers; sequences and objects are handled by the caller."""
    if isinstance(a, Static) and isinstance(b, Static):
        return _static_binary(s, opcode, a, b)
    if complex_numbers.meet(a, b):
        return complex_numbers.binary(s, opcode, a, b)
    numpy = s.may_be_numpy(a) or s.may_be_numpy(b)
    a, b = plain_number(a), plain_number(b)
    if isinstance(a, Choice) or isinstance(b, Choice):
        return _split_binary(s, opcode, a, b)
    kinds = numeric_kind(a), numeric_kind(b)
    if kinds[0] is None or kinds[1] is None:
        raise type_fault(s, a if kinds[0] is None else b)
    joined = join_kinds(kinds[0], kinds[1])
    negative = joined is INT and opcode == "pow" and not (isinstance(b, Static) and b.value >= 0)
    if numpy and (negative or joined is BOOL and opcode in ("add", "sub", "mul")):
        raise s.refuse("flatten/unsupported-expression", f"`{opcode}` of NumPy scalars is not Python's",
                       help="convert with int(...) or bool(...) first")
    result = _operation(s, opcode, a, b, joined)
    return s.mark_numpy(result) if numpy else result


def _operation(s: Specialiser, opcode: str, a: Abstract, b: Abstract, joined: Kind) -> Abstract:
    match opcode:
        case "add" | "sub" | "mul" | "floordiv" | "mod":
            return _arithmetic(s, opcode, a, b, FLOAT if joined is FLOAT else INT)
        case "truediv":
            return s.build.op("truediv", _divisible(s, a), _divisible(s, b))
        case "pow":
            return _power(s, a, b, joined)
        case "and" | "or" | "xor" if joined is not FLOAT:
            return s.build.op(opcode, to_kind(s, lane(a), joined), to_kind(s, lane(b), joined))
        case "shl" | "shr" if joined is not FLOAT:
            return s.build.op(opcode, to_kind(s, lane(a), INT), to_kind(s, lane(b), INT))
    raise s.fault("TypeError", f"unsupported operand kinds for {opcode}")


def _static_binary(s: Specialiser, opcode: str, a: Static, b: Static) -> Abstract:
    x, y = a.value, b.value
    if opcode in ("pow", "shl") and isinstance(x, int) and isinstance(y, int):
        grown = x.bit_length() * abs(y) if opcode == "pow" else x.bit_length() + max(y, 0)
        if grown > _MAX_STATIC_BITS:
            raise s.refuse("flatten/int-too-large", "a constant power or shift has too many digits")
    return now(s, lambda: _PYTHON[opcode](x, y))


def _split_binary(s: Specialiser, opcode: str, a: Abstract, b: Abstract) -> Abstract:
    """An int-or-float meets a float in + - * /: convert first, no branch is needed."""
    if opcode in ("add", "sub", "mul", "truediv"):
        if isinstance(a, Choice) and numeric_kind(b) is FLOAT and is_number_choice(a):
            return binary(s, opcode, number_choice_as_float(s, a), b)
        if isinstance(b, Choice) and numeric_kind(a) is FLOAT and is_number_choice(b):
            return binary(s, opcode, a, number_choice_as_float(s, b))
    return split_pair(s, a, b, lambda x, y: binary(s, opcode, x, y))


def split_pair(s: Specialiser, a: Abstract, b: Abstract, use: Callable[[Abstract, Abstract], Abstract]) -> Abstract:
    """Do something with each alternative of the first Choice of two values; a second one with the same condition has
    the same alternative."""
    cond = a.cond if isinstance(a, Choice) else b.cond if isinstance(b, Choice) else None
    assert cond is not None

    def part(value: Abstract, holds: bool) -> Abstract:
        if isinstance(value, Choice) and value.cond is cond:
            return value.then if holds else value.orelse
        return value

    return s.branch(cond, lambda: use(part(a, True), part(b, True)), lambda: use(part(a, False), part(b, False)))


def is_number_choice(value: Abstract) -> bool:
    if isinstance(value, Choice):
        return is_number_choice(value.then) and is_number_choice(value.orelse)
    return numeric_kind(value) is not None


def number_choice_as_float(s: Specialiser, value: Abstract) -> Value:
    """select(cond, float(then), float(orelse)): both conversions are harmless in every lane."""
    if isinstance(value, Choice):
        return s.build.op("select", value.cond, number_choice_as_float(s, value.then),
                          number_choice_as_float(s, value.orelse))
    return as_float(s, value)


def _arithmetic(s: Specialiser, opcode: str, a: Abstract, b: Abstract, kind: Any) -> Abstract:
    if kind is FLOAT:
        return s.build.op(opcode, as_float(s, a), as_float(s, b))
    for value in (a, b):
        _check_size(s, value)
    return s.build.op(opcode, to_kind(s, lane(a), INT), to_kind(s, lane(b), INT))


def _check_size(s: Specialiser, value: Abstract) -> None:
    if isinstance(value, Static) and not INT_MIN <= value.value <= INT_MAX:
        raise s.refuse("flatten/int-too-large", f"the integer {value.value} does not fit into 64 bits")


def _divisible(s: Specialiser, value: Abstract) -> Value:
    """An operand of `/`: int / int is exact in float64 only up to 2**53, beyond that the lane is replayed."""
    if numeric_kind(value) is FLOAT or isinstance(value, Static) and abs(value.value) <= EXACT_INT:
        return as_float(s, value)
    if isinstance(value, Static):
        _check_size(s, value)
    number = lane(value)
    return to_kind(s, number, FLOAT) if number.kind is BOOL else s.build.op("exact_float", number)


def _power(s: Specialiser, a: Abstract, b: Abstract, joined: Any) -> Abstract:
    """A power of ints is a float where the exponent is negative, in each lane."""
    def of_floats() -> Value:
        return s.build.op("pow", as_float(s, a), as_float(s, b))

    def of_ints() -> Value:
        return s.build.op("ipow", to_kind(s, lane(a), INT), to_kind(s, lane(b), INT))

    if joined is FLOAT:
        return of_floats()
    if isinstance(b, Static):
        _check_size(s, a)
        _check_size(s, b)
        return of_floats() if b.value < 0 else of_ints()
    _check_size(s, a)
    exponent = to_kind(s, lane(b), INT)
    if isinstance(exponent, Op) and exponent.opcode == "abs":  # of the smallest int it is none that a lane holds
        return of_ints()
    negative = s.build.op("lt", exponent, const(0))
    known = facts.decide(negative, s.facts, s.combined, s.floats)
    if known is not None:
        return of_floats() if known else of_ints()
    return s.branch(negative, of_floats, of_ints)


def compare(s: Specialiser, opcode: str, a: Abstract, b: Abstract) -> Abstract:
    """One comparison of two numbers, exact also between int and float."""
    if isinstance(a, Static) and isinstance(b, Static):
        x, y = a.value, b.value
        return now(s, lambda: _COMPARE[opcode](x, y))
    if complex_numbers.meet(a, b):
        return complex_numbers.compare(s, opcode, a, b)
    a, b = plain_number(a), plain_number(b)
    if isinstance(a, Choice):
        return s.split(a, lambda v: compare(s, opcode, v, b))
    if isinstance(b, Choice):
        return s.split(b, lambda v: compare(s, opcode, a, v))
    ka, kb = numeric_kind(a), numeric_kind(b)
    if ka is None or kb is None:
        return _compare_other(s, opcode, a, b)
    if (ka is FLOAT) != (kb is FLOAT):
        return _compare_mixed(s, opcode, a, b)
    if ka is FLOAT:
        return s.build.op(opcode, as_float(s, a), as_float(s, b))
    for value, other_side in ((a, False), (b, True)):
        if isinstance(value, Static) and not INT_MIN <= value.value <= INT_MAX:
            zero = 0
            left, right = (zero, value.value) if other_side else (value.value, zero)
            return Static(_COMPARE[opcode](left, right))
    kind = join_kinds(ka, kb)
    return s.build.op(opcode, to_kind(s, lane(a), kind), to_kind(s, lane(b), kind))


def _compare_other(s: Specialiser, opcode: str, a: Abstract, b: Abstract) -> Abstract:
    for value in (a, b):
        if isinstance(value, Text | Caught | Lazy | Ranges | ObjRef | Closure | Bound):
            raise s.refuse("flatten/unsupported-expression", f"{describe(value)} cannot be compared", needs_number=True)
    if opcode in ("eq", "ne"):
        return Static(opcode == "ne")
    raise s.fault("TypeError", f"cannot compare {describe(a)} with {describe(b)}")


_MIRROR = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


def _compare_mixed(s: Specialiser, opcode: str, a: Abstract, b: Abstract) -> Abstract:
    """int against float. A static float bound becomes the int bound that decides the same."""
    if numeric_kind(a) is FLOAT:
        return _compare_mixed(s, _MIRROR[opcode], b, a)
    if isinstance(a, Static):
        return _compare_float_bound(s, _MIRROR[opcode], lane(b), a.value)
    if numeric_kind(a) is BOOL:
        return s.build.op(opcode, as_float(s, a), as_float(s, b))
    if isinstance(b, Static):
        return _compare_int_bound(s, opcode, lane(a), b.value)
    return s.build.op(opcode, s.build.op("exact_float", lane(a)), lane(b))


def _compare_float_bound(s: Specialiser, opcode: str, x: Value, bound: int) -> Abstract:
    """A float lane against a static int of any size: the nearest floats below and above decide the same."""
    below, above = _neighbours(bound)
    if below == above:
        return s.build.op(opcode, x, const(below))
    match opcode:
        case "eq" | "ne":
            return Static(opcode == "ne")
        case "lt" | "le":
            return s.build.op("le", x, const(below))
        case _:
            return s.build.op("ge", x, const(above))


def _neighbours(bound: int) -> tuple[float, float]:
    """The largest float <= bound and the smallest float >= bound."""
    try:
        near = float(bound)
    except OverflowError:
        largest = math.nextafter(math.inf, 0.0)
        return (largest, math.inf) if bound > 0 else (-math.inf, -largest)
    if near == bound:
        return near, near
    if near < bound:
        return near, math.nextafter(near, math.inf)
    return math.nextafter(near, -math.inf), near


def _compare_int_bound(s: Specialiser, opcode: str, n: Value, bound: float) -> Abstract:
    if math.isnan(bound) or not -(2.0**63) <= bound < 2.0**63:
        return Static(_COMPARE[opcode](0, bound))
    if bound == math.floor(bound):
        return s.build.op(opcode, n, const(int(bound)))
    match opcode:
        case "eq" | "ne":
            return Static(opcode == "ne")
        case "lt" | "le":
            return s.build.op("le", n, const(math.floor(bound)))
        case _:
            return s.build.op("ge", n, const(math.ceil(bound)))


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
            known = now(s, lambda: bool(value.value))
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


def negate(s: Specialiser, value: Abstract) -> Abstract:
    known = truth(s, value)
    return Static(not known.value) if isinstance(known, Static) else s.build.op("not", known)


def unary(s: Specialiser, opcode: str, value: Abstract) -> Abstract:
    """`-x`, `+x`, `~x`."""
    numpy, value = s.may_be_numpy(value), plain_number(value)
    if numpy and numeric_kind(value) is BOOL:
        if opcode == "invert":
            return negate(s, value)
        raise s.refuse("flatten/unsupported-expression", "a sign in front of a NumPy bool")
    if isinstance(value, Choice):
        return s.split(value, lambda v: unary(s, opcode, v))
    if isinstance(value, Static):
        if isinstance(getattr(type(value.value), f"__{opcode}__", None), types.FunctionType):
            raise s.refuse("flatten/unsupported-expression", f"an operator of {describe(value)}")
        return now(s, lambda: _UNARY[opcode](value.value))
    if isinstance(value, Complex):
        return complex_numbers.unary(s, opcode, value)
    kind = numeric_kind(value)
    if kind is None:
        raise type_fault(s, value)
    number = to_kind(s, lane(value), INT) if kind is BOOL else lane(value)
    if opcode == "pos":
        return number
    if opcode == "invert" and number.kind is FLOAT:
        raise s.fault("TypeError", "bad operand type for unary ~: 'float'")
    return s.build.op(opcode, number)


def choose(s: Specialiser, cond: Value, a: Abstract, b: Abstract) -> Abstract:
    """`a if cond else b` of values that are both computed already."""
    kind = numeric_kind(a)
    if kind is not None and kind is numeric_kind(b):
        return s.build.op("select", cond, lane(a), lane(b))
    return s.branch(cond, lambda: a, lambda: b)
