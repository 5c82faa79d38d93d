"""Exact algebra of numbers: rules that keep every bit, for signed zeros, infinities and nan too.

What is not here on purpose: `x + 0.0` (turns -0.0 into 0.0), `x * 0.0` and `x - x` (nan, infinities), `not (x > t)`
as `x <= t` on floats, reassociation, division as multiplication by a reciprocal. A rule gives the value that
replaces the operation, or None; it looks at most one operation deep.
"""

from __future__ import annotations

from collections.abc import Callable

from pyflat.ir.build import const
from pyflat.ir.nodes import FALSE, TRUE, Const, Op, Value
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.passes.rules.logic import Emit, choice, conjunction, difference, disjunction, equality, negation, same

Rule = Callable[..., Value | None]

ZERO, ONE, ALL_BITS = const(0), const(1), const(-1)
_F_ZERO, _F_NEGATIVE_ZERO, _F_ONE = const(0.0), const(-0.0), const(1.0)


def simplify(emit: Emit, opcode: str, args: tuple[Value, ...]) -> Value | None:
    """The value that this operation is by an exact identity, None when no rule applies."""
    rule = _RULES.get((opcode, args[0].kind))
    return rule(emit, *args) if rule else None


def _either(x: Value, y: Value, literal: Const) -> Value | None:
    """The other operand when one of them is `literal`."""
    if same(y, literal):
        return x
    return y if same(x, literal) else None


def _int_add(_: Emit, x: Value, y: Value) -> Value | None:
    return _either(x, y, ZERO)


def _int_sub(_: Emit, x: Value, y: Value) -> Value | None:
    if same(x, y):
        return ZERO
    return x if same(y, ZERO) else None


def _int_mul(_: Emit, x: Value, y: Value) -> Value | None:
    return ZERO if same(x, ZERO) or same(y, ZERO) else _either(x, y, ONE)


def _int_floordiv(_: Emit, x: Value, y: Value) -> Value | None:
    return x if same(y, ONE) else None


def _int_mod(_: Emit, __: Value, y: Value) -> Value | None:
    return ZERO if same(y, ONE) or same(y, ALL_BITS) else None


def _ipow(emit: Emit, x: Value, y: Value) -> Value | None:
    if same(y, ZERO):
        return ONE
    if same(y, ONE):
        return x
    return emit("mul", x, x) if same(y, const(2)) else None


def _int_and(_: Emit, x: Value, y: Value) -> Value | None:
    if same(x, y):
        return x
    return ZERO if same(x, ZERO) or same(y, ZERO) else _either(x, y, ALL_BITS)


def _int_or(_: Emit, x: Value, y: Value) -> Value | None:
    if same(x, y):
        return x
    return ALL_BITS if same(x, ALL_BITS) or same(y, ALL_BITS) else _either(x, y, ZERO)


def _int_xor(_: Emit, x: Value, y: Value) -> Value | None:
    return ZERO if same(x, y) else _either(x, y, ZERO)


def _shift(_: Emit, x: Value, count: Value) -> Value | None:
    return x if same(count, ZERO) or same(x, ZERO) else None


def _float_add(_: Emit, x: Value, y: Value) -> Value | None:
    return _either(x, y, _F_NEGATIVE_ZERO)


def _float_sub(_: Emit, x: Value, y: Value) -> Value | None:
    return x if same(y, _F_ZERO) else None


def _float_mul(_: Emit, x: Value, y: Value) -> Value | None:
    return _either(x, y, _F_ONE)


def _float_div(_: Emit, x: Value, y: Value) -> Value | None:
    return x if same(y, _F_ONE) else None


def _inverse_of(opcode: str) -> Rule:
    """An operation that undoes itself."""

    def rule(_: Emit, x: Value) -> Value | None:
        return x.args[0] if isinstance(x, Op) and x.opcode == opcode else None

    return rule


def _float_abs(emit: Emit, x: Value) -> Value | None:
    if isinstance(x, Op) and x.opcode == "abs":
        return x
    return emit("abs", x.args[0]) if isinstance(x, Op) and x.opcode == "neg" else None


def _whole(_: Emit, x: Value) -> Value | None:
    """Rounding what is whole already."""
    whole = ("floor", "ceil", "trunc", "rint", "to_float", "exact_float")
    return x if isinstance(x, Op) and x.opcode in whole else None


def _int_to_float(emit: Emit, x: Value) -> Value | None:
    """A bool stays exact on its way through int."""
    if isinstance(x, Op) and x.opcode == "to_int" and x.args[0].kind is BOOL:
        return emit("to_float", x.args[0])
    return None


def _float_to_int(emit: Emit, x: Value) -> Value | None:
    if isinstance(x, Op) and x.opcode == "to_float" and x.args[0].kind is BOOL:
        return emit("to_int", x.args[0])
    return None


def _itself(outcome: Const) -> Rule:
    """A comparison of a value with itself."""

    def rule(_: Emit, x: Value, y: Value) -> Value | None:
        return outcome if same(x, y) else None

    return rule


_RULES: dict[tuple[str, Kind], Rule] = {
    ("not", BOOL): negation,
    ("and", BOOL): conjunction,
    ("or", BOOL): disjunction,
    ("xor", BOOL): difference,
    ("ne", BOOL): difference,
    ("eq", BOOL): equality,
    ("select", BOOL): choice,
    ("add", INT): _int_add,
    ("sub", INT): _int_sub,
    ("mul", INT): _int_mul,
    ("floordiv", INT): _int_floordiv,
    ("mod", INT): _int_mod,
    ("ipow", INT): _ipow,
    ("and", INT): _int_and,
    ("or", INT): _int_or,
    ("xor", INT): _int_xor,
    ("shl", INT): _shift,
    ("shr", INT): _shift,
    ("neg", INT): _inverse_of("neg"),
    ("invert", INT): _inverse_of("invert"),
    ("to_float", INT): _int_to_float,
    ("exact_float", INT): _int_to_float,
    ("add", FLOAT): _float_add,
    ("sub", FLOAT): _float_sub,
    ("mul", FLOAT): _float_mul,
    ("truediv", FLOAT): _float_div,
    ("neg", FLOAT): _inverse_of("neg"),
    ("abs", FLOAT): _float_abs,
    ("floor", FLOAT): _whole,
    ("ceil", FLOAT): _whole,
    ("trunc", FLOAT): _whole,
    ("rint", FLOAT): _whole,
    ("to_int", FLOAT): _float_to_int,
    ("floor_int", FLOAT): _float_to_int,
    ("ceil_int", FLOAT): _float_to_int,
    ("round_int", FLOAT): _float_to_int,
    **{(opcode, kind): _itself(TRUE) for opcode in ("le", "ge") for kind in (BOOL, INT)},
    **{(opcode, kind): _itself(FALSE) for opcode in ("lt", "gt") for kind in (BOOL, INT, FLOAT)},
    ("eq", INT): _itself(TRUE),
    ("ne", INT): _itself(FALSE),
}
