"""Exact algebra of numbers: rules that keep every bit, for signed zeros, infinities and nan too.

What is not here on purpose: `x + 0.0` (turns -0.0 into 0.0), `x * 0.0` and `x - x` (nan, infinities), `not (x > t)`
as `x <= t` on floats, reassociation, division as multiplication by a reciprocal. A rule gives the value that
replaces the operation, or None; it looks at most one operation deep.
"""

from __future__ import annotations

from collections.abc import Callable

from pyflat.ir.nodes import Op, Value
from pyflat.ir.ops import ROUNDED
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.passes.rules.logic import Emit, choice, conjunction, difference, disjunction, equality, negation
from pyflat.passes.rules.patterns import applied, rules


def simplify(emit: Emit, opcode: str, args: tuple[Value, ...]) -> Value | None:
    """The value that this operation is by an exact identity, None when no rule applies."""
    rule = _RULES.get((opcode, args[0].kind))
    return rule(emit, *args) if rule else None


def _whole(_: Emit, x: Value) -> Value | None:
    """Rounding what is whole already."""
    return x if isinstance(x, Op) and x.opcode in (*ROUNDED.values(), "to_float", "exact_float") else None


_BOOLS = rules(BOOL, "le(x, x) -> true", "ge(x, x) -> true", "lt(x, x) -> false", "gt(x, x) -> false")
_INTS = rules(
    INT,
    "add(x, 0) -> x", "sub(x, x) -> 0", "sub(x, 0) -> x", "mul(x, 0) -> 0", "mul(x, 1) -> x",
    "floordiv(x, 1) -> x", "mod(x, 1) -> 0", "mod(x, -1) -> 0",
    "ipow(x, 0) -> 1", "ipow(x, 1) -> x", "ipow(x, 2) -> mul(x, x)",
    "and(x, x) -> x", "and(x, 0) -> 0", "and(x, -1) -> x", "or(x, x) -> x", "or(x, -1) -> -1", "or(x, 0) -> x",
    "xor(x, x) -> 0", "xor(x, 0) -> x", "shl(x, 0) -> x", "shl(0, x) -> 0", "shr(x, 0) -> x", "shr(0, x) -> 0",
    "neg(neg(x)) -> x", "invert(invert(x)) -> x",
    "to_float(to_int(p)) -> to_float(p)", "exact_float(to_int(p)) -> to_float(p)",  # a bool stays exact
    "le(x, x) -> true", "ge(x, x) -> true", "lt(x, x) -> false", "gt(x, x) -> false", "eq(x, x) -> true",
    "ne(x, x) -> false",
)
_FLOATS = rules(
    FLOAT,
    "add(x, -0.0) -> x", "sub(x, 0.0) -> x", "mul(x, 1.0) -> x", "truediv(x, 1.0) -> x",
    "neg(neg(x)) -> x", "abs(abs(x)) -> abs(x)", "abs(neg(x)) -> abs(x)", "lt(x, x) -> false", "gt(x, x) -> false",
    *(f"{name}(to_float(p)) -> to_int(p)" for name in ROUNDED),
)
_RULES: dict[tuple[str, Kind], Callable[..., Value | None]] = {
    **{(opcode, kind): rule for kind, written in ((BOOL, _BOOLS), (INT, _INTS), (FLOAT, _FLOATS))
       for opcode, rule in applied(written).items()},
    **{(opcode, FLOAT): _whole for opcode in ROUNDED.values()},
    ("not", BOOL): negation, ("and", BOOL): conjunction, ("or", BOOL): disjunction, ("xor", BOOL): difference,
    ("ne", BOOL): difference, ("eq", BOOL): equality, ("select", BOOL): choice,
}
