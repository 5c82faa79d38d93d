"""Real numbers: conversions, and Python's operators as IR operations, with the kinds settled here.

Static operands are computed by Python itself.
"""

from __future__ import annotations

import math
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from pyflat.errors import FlattenError, InternalError
from pyflat.frontend.space import unsigned, width_rules
from pyflat.frontend.state import facts
from pyflat.frontend.state.frames import ControlLeft, Evaluator
from pyflat.frontend.state.kinds import complex_parts, describe, folded, lane, numeric_kind, plain_number
from pyflat.frontend.state.manifest import in_same_order
from pyflat.frontend.state.values import (
    UNBOUND,
    Abstract,
    BoundMethod,
    Caught,
    Closure,
    GuardedUnion,
    Lazy,
    ObjRef,
    Ranges,
    Seq,
    Static,
    Text,
    Unsigned,
)
from pyflat.ir.build import const
from pyflat.ir.nodes import TRUE, Const, Op, Value
from pyflat.ir.ops import MIRRORED
from pyflat.ir.types import BOOL, EXACT_INT, FLOAT, INT, INT_MAX, INT_MIN, Kind, join_kinds

PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow, "and": operator.and_, "or": operator.or_,
    "xor": operator.xor, "shl": operator.lshift, "shr": operator.rshift, "matmul": operator.matmul,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}
"""What Python computes for an operator or a comparison of two known values."""
METHODS = {opcode: f"__{function.__name__.rstrip('_')}__" for opcode, function in PYTHON.items()}
"""The method behind an operator: __add__, __lshift__, __and__, ..."""



def const_eval(s: Evaluator, compute: Callable[[], Any]) -> Abstract:
    """Evaluate with Python now; an exception becomes the fault that Python would raise on this path."""
    warned: list[str] = []
    how: Any = "ignore" if not s.widths.kernel else "call"
    try:
        with np.errstate(over=how, divide=how, invalid=how, under="ignore", call=lambda kind, _: warned.append(kind)):
            value = compute()
        if warned:  # NumPy's warning comes with each evaluation
            raise s.fault("Undecided", f"a constant at which NumPy warns: {warned[0]}")
        s.widths.seen = s.widths.seen or isinstance(value, np.generic)
        if isinstance(value, set | frozenset) and not in_same_order(value):
            s.guards.varies("the order of a set")
        return known_number(s, value)
    except (TypeError, AttributeError) as error:
        raise s.fault(type(error).__name__, str(error)) from None
    except (ControlLeft, FlattenError, InternalError, RecursionError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - the user's own
        raise s.raised(type(error)) from None


def known_number(s: Evaluator, value: Any) -> Abstract:
    """A known value; in a kernel a scalar of NumPy's is a lane, which has a width."""
    if not s.widths.kernel or not isinstance(value, np.bool_ | np.integer | np.floating):
        return Static(value)
    dtype = value.dtype.str[1:]
    if dtype == "u8":
        return unsigned.scalar(s, s.widths, int(value))
    if dtype not in ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "f4", "f8"):
        raise s.refuse("flatten/unsupported-expression", f"a number of dtype {value.dtype}")
    literal = const(value.item())
    return s.widths.mark(s.build.op("select", TRUE, literal, literal), frozenset({dtype}))


def to_kind(s: Evaluator, value: Value, kind: Any) -> Value:
    """Python's implicit promotion bool -> int -> float."""
    if value.kind is kind:
        return value
    if isinstance(value, Const) and value.value is not None:
        return const(float(value.value) if kind is FLOAT else int(value.value))
    if kind is FLOAT:
        return s.build.op("to_float", value)
    return s.build.op("to_int", value)


def as_float(s: Evaluator, value: Abstract) -> Value:
    """A number as a float lane, as float() or an arithmetic operator would convert it."""
    if isinstance(value, Value) and value.kind is FLOAT:
        return value
    known = value.value if type(value) is Static else None
    if type(known) is float or type(known) is int and abs(known) <= EXACT_INT:
        return const(float(known))
    value = plain_number(value)
    if isinstance(value, Unsigned):
        return unsigned.as_float(s, value)
    if isinstance(value, GuardedUnion):
        return lane(s.split(value, lambda v: as_float(s, v)))
    if isinstance(value, Static) and isinstance(value.value, int):
        return lane(const_eval(s, lambda: float(value.value)))
    if numeric_kind(value) is None:
        raise type_fault(s, value)
    return to_kind(s, lane(value), FLOAT)


def type_fault(s: Evaluator, value: Abstract) -> Exception:
    """A number is needed and this is none: Python raises TypeError on this path, or the construct is unknown."""
    if complex_parts(value) is not None:
        return s.raised(TypeError, message="a real number is needed here, not a complex one")
    genuine = isinstance(value, Static) and isinstance(value.value, str | tuple | list | dict | type(None))
    if genuine or isinstance(value, Seq) or value is UNBOUND:
        return s.fault("TypeError", f"{describe(value)} is not a number")
    return s.refuse("flatten/unsupported-expression", f"a number is needed here, not {describe(value)}",
                    needs_number=True)


def number_union_as_float(s: Evaluator, value: Abstract) -> Value:
    """select(cond, float(then), float(orelse)): both conversions are harmless in every lane."""
    return folded(value, lambda one: as_float(s, one), lambda *parts: s.build.op("select", *parts))


def negate(s: Evaluator, value: Abstract) -> Abstract:
    known = s.space.truth(value)
    return Static(not known.value) if isinstance(known, Static) else s.build.op("not", known)


def choose(s: Evaluator, cond: Value, a: Abstract, b: Abstract) -> Abstract:
    """`a if cond else b` of values that are both computed already."""
    kind = numeric_kind(a)
    if kind is not None and kind is numeric_kind(b):
        return s.build.op("select", cond, lane(a), lane(b))
    return s.branch(cond, lambda: a, lambda: b)


# --- operators on real numbers
_UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": operator.neg, "pos": operator.pos, "invert": lambda v: ~int(v) if type(v) is bool else ~v, "abs": abs,
}


_MAX_STATIC_BITS = 1 << 16


def binary(s: Evaluator, opcode: str, a: Abstract, b: Abstract) -> Abstract:
    """`a <op> b` of two real numbers, none of which is one of two kinds."""
    if isinstance(a, Static) and isinstance(b, Static):
        return _static_binary(s, opcode, a, b)
    if s.widths.kernel and (found := width_rules.binary(s, s.widths, opcode, a, b)) is not None:
        return found
    numpy = s.may_be_numpy(a) or s.may_be_numpy(b)
    certain = numpy and (s.is_numpy(a) or s.is_numpy(b))
    a, b = plain_number(a), plain_number(b)
    kinds = numeric_kind(a), numeric_kind(b)
    if kinds[0] is None or kinds[1] is None:
        raise type_fault(s, a if kinds[0] is None else b)
    joined = join_kinds(kinds[0], kinds[1])
    negative = joined is INT and opcode == "pow" and not (isinstance(b, Static) and b.value >= 0)
    if numpy and (negative or joined is BOOL and opcode in ("add", "sub", "mul")):
        raise s.refuse("flatten/unsupported-expression", f"`{opcode}` of NumPy scalars is not Python's",
                       help="convert with int(...) or bool(...) first")
    result = _operation(s, opcode, a, b, joined)
    return s.mark_numpy(result) if certain else result


def _operation(s: Evaluator, opcode: str, a: Abstract, b: Abstract, joined: Kind) -> Abstract:
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


def _static_binary(s: Evaluator, opcode: str, a: Static, b: Static) -> Abstract:
    x, y = a.value, b.value
    if opcode in ("pow", "shl", "mul") and isinstance(x, int) and isinstance(y, int):
        grown = x.bit_length() * abs(y) if opcode == "pow" else \
            x.bit_length() + (max(y, 0) if opcode == "shl" else y.bit_length())
        if grown > _MAX_STATIC_BITS:
            raise s.refuse("flatten/int-too-large", "a constant power, shift or product has too many digits")
    return const_eval(s, lambda: PYTHON[opcode](x, y))


def _arithmetic(s: Evaluator, opcode: str, a: Abstract, b: Abstract, kind: Any) -> Abstract:
    if kind is FLOAT:
        return s.build.op(opcode, as_float(s, a), as_float(s, b))
    for value in (a, b):
        _check_size(s, value)
    return s.build.op(opcode, to_kind(s, lane(a), INT), to_kind(s, lane(b), INT))


def _check_size(s: Evaluator, value: Abstract) -> None:
    if isinstance(value, Static) and not INT_MIN <= value.value <= INT_MAX:
        raise s.refuse("flatten/int-too-large", f"the integer {value.value} does not fit into 64 bits")


def _divisible(s: Evaluator, value: Abstract) -> Value:
    """An operand of `/`: int / int is exact in float64 only up to 2**53, beyond that the lane is replayed."""
    if numeric_kind(value) is FLOAT or isinstance(value, Static) and abs(value.value) <= EXACT_INT:
        return as_float(s, value)
    if isinstance(value, Static):
        _check_size(s, value)
    number = lane(value)
    return to_kind(s, number, FLOAT) if number.kind is BOOL else s.build.op("exact_float", number)


def _power(s: Evaluator, a: Abstract, b: Abstract, joined: Any) -> Abstract:
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
    s.trace.outside_reads += 1
    if isinstance(exponent, Op) and exponent.opcode == "abs":  # of the smallest int it is none that a lane holds
        return of_ints()
    negative = s.build.op("lt", exponent, const(0))
    known = facts.decide(negative, s.facts, s.combined, s.floats)
    if known is not None:
        return of_floats() if known else of_ints()
    if s.ints:  # the operation fails for a negative exponent
        return of_ints()
    return s.branch(negative, of_floats, of_ints)


def compare(s: Evaluator, opcode: str, a: Abstract, b: Abstract) -> Abstract:
    """One comparison of two real numbers, exact also between int and float."""
    if isinstance(a, Static) and isinstance(b, Static):
        x, y = a.value, b.value
        return const_eval(s, lambda: PYTHON[opcode](x, y))
    a, b = plain_number(a), plain_number(b)
    if s.widths.kernel:
        if (found := width_rules.compare_by_cases(s, s.widths, opcode, a, b)) is not None:
            return found
        a, b = width_rules.operands_of_comparison(s, s.widths, a, b)
    ka, kb = numeric_kind(a), numeric_kind(b)
    if ka is None or kb is None:
        return _compare_other(s, opcode, a, b)
    if (ka is FLOAT) != (kb is FLOAT):
        return _compare_mixed(s, opcode, a, b)
    if ka is FLOAT:
        return s.build.op(opcode, as_float(s, a), as_float(s, b))
    for value, other_side in ((a, False), (b, True)):
        if isinstance(value, Static) and not INT_MIN <= value.value <= INT_MAX:
            left, right = (0, value.value) if other_side else (value.value, 0)
            return Static(PYTHON[opcode](left, right))
    kind = join_kinds(ka, kb)
    return s.build.op(opcode, to_kind(s, lane(a), kind), to_kind(s, lane(b), kind))


def _compare_other(s: Evaluator, opcode: str, a: Abstract, b: Abstract) -> Abstract:
    for value in (a, b):
        if isinstance(value, Text | Caught | Lazy | Ranges | ObjRef | Closure | BoundMethod):
            raise s.refuse("flatten/unsupported-expression", f"{describe(value)} cannot be compared", needs_number=True)
    if opcode in ("eq", "ne"):
        return Static(opcode == "ne")
    raise s.fault("TypeError", f"cannot compare {describe(a)} with {describe(b)}")




def _compare_mixed(s: Evaluator, opcode: str, a: Abstract, b: Abstract) -> Abstract:
    """int against float. A static float bound becomes the int bound that decides the same."""
    if numeric_kind(a) is FLOAT:
        return _compare_mixed(s, MIRRORED[opcode], b, a)
    if isinstance(a, Static):
        return _compare_float_bound(s, MIRRORED[opcode], lane(b), a.value)
    if numeric_kind(a) is BOOL:
        return s.build.op(opcode, as_float(s, a), as_float(s, b))
    if isinstance(b, Static):
        return _compare_int_bound(s, opcode, lane(a), b.value)
    return s.build.op(opcode, s.build.op("exact_float", lane(a)), lane(b))


def _compare_float_bound(s: Evaluator, opcode: str, x: Value, bound: int) -> Abstract:
    """A float lane against a static int of any size: the nearest floats below and above decide the same."""
    below, above = _neighbours(bound)
    if below == above:
        return s.build.op(opcode, x, const(below))
    return _compare_between(s, opcode, x, below, above)


def _compare_between(s: Evaluator, opcode: str, x: Value, below: float, above: float) -> Abstract:
    """Against a bound between two numbers of the kind of x, of which neither is the bound."""
    if opcode in ("eq", "ne"):
        return Static(opcode == "ne")
    return s.build.op("le", x, const(below)) if opcode in ("lt", "le") else s.build.op("ge", x, const(above))


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


def _compare_int_bound(s: Evaluator, opcode: str, n: Value, bound: float) -> Abstract:
    if math.isnan(bound) or not -(2.0**63) <= bound < 2.0**63:
        return Static(PYTHON[opcode](0, bound))
    if bound == math.floor(bound):
        return s.build.op(opcode, n, const(int(bound)))
    return _compare_between(s, opcode, n, math.floor(bound), math.ceil(bound))


def unary(s: Evaluator, opcode: str, value: Abstract) -> Abstract:
    """`-x`, `+x`, `~x` and abs(x) of a real number."""
    numpy, value = s.may_be_numpy(value), plain_number(value)
    if s.widths.kernel and (found := width_rules.unary(s, s.widths, opcode, value)) is not None:
        return found
    if numpy and numeric_kind(value) is BOOL:
        if opcode == "invert":
            return s.mark_numpy(negate(s, value))
        raise s.refuse("flatten/unsupported-expression", "a sign in front of a NumPy bool")
    if isinstance(value, Static):
        if isinstance(getattr(type(value.value), f"__{opcode}__", None), types.FunctionType):
            raise s.refuse("flatten/unsupported-expression", f"an operator of {describe(value)}")
        return const_eval(s, lambda: _UNARY[opcode](value.value))
    kind = numeric_kind(value)
    if kind is None:
        raise type_fault(s, value)
    number = to_kind(s, lane(value), INT) if kind is BOOL else lane(value)
    if opcode == "pos":
        return number
    if opcode == "invert" and number.kind is FLOAT:
        raise s.fault("TypeError", "bad operand type for unary ~: 'float'")
    return s.build.op(opcode, number)
