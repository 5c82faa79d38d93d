"""Operations of the IR as terms of z3: bools, 64-bit vectors and IEEE doubles.

Two readings of the operations. *Abstract*: arithmetic of floats, products, quotients and conversions are functions of
which nothing is known but that equal operands give equal results; fast, and enough where a pass moves operations
around. *Exact*: they are IEEE 754 and two's complement; slow, and needed where a pass uses algebra. In both,
comparisons, signs, selects, additions of ints and bit operations are exact, and what the C library computes (exp, pow,
...) is unknown. Lanes of ints and floats have equal results when they are equal in z3: nan is nan, 0.0 is not -0.0.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import z3

from pyflat.ir.nodes import Const, Op
from pyflat.ir.ops import COMMUTATIVE, PRIMITIVES
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MAX, INT_MIN, Kind

Term = Any
"""z3's expressions have no useful static types."""
DOUBLE = z3.Float64()
WORD = z3.BitVecSort(64)
SORTS = {BOOL: z3.BoolSort(), INT: WORD, FLOAT: DOUBLE}
LARGEST_TABLE = 256
_NEAREST = z3.RNE()


class OutsideError(Exception):
    """Something that this proof says nothing about; the message says what."""


class Terms:
    """Makes terms in one of the two readings; `unknown` collects the operations that were left open."""

    def __init__(self, *, exact: bool):
        self.exact = exact
        self.unknown: set[str] = set()
        self._fresh = 0

    def const(self, value: Const) -> Term:
        if value.value is None:
            self._fresh += 1
            return z3.Const(f"undefined{self._fresh}!{id(self)}", SORTS[value.kind])
        return literal(value.value)

    def apply(self, op: Op, args: Sequence[Term]) -> Term:
        """The value of a total operation on these operands."""
        if op.opcode not in PRIMITIVES:
            raise OutsideError(f"the operation {op.opcode} is no function of one lane")
        folded = _folded(op)
        if folded is not None:
            return folded
        meaning = _ALWAYS.get((op.opcode, op.args[0].kind))
        if meaning is None and self.exact:
            meaning = _EXACT.get((op.opcode, op.args[0].kind))
        if meaning is not None:
            return meaning(*args)
        if op.opcode in ("shl", "shr"):
            return self._shift(op, args)
        if op.opcode == "gather":
            return self._gather(op, args[0])
        return self._open(op, args)

    def _shift(self, op: Op, args: Sequence[Term]) -> Term:
        x, count = args
        known = op.args[1].value if isinstance(op.args[1], Const) else None
        if not self.exact and not (known is not None and 0 <= known < 64):
            return self._open(op, args)
        return x << count if op.opcode == "shl" else x >> count

    def _gather(self, op: Op, index: Term) -> Term:
        table = op.attr("table")
        if len(table) > LARGEST_TABLE:
            raise OutsideError(f"a table of {len(table)} items is indexed by a lane value")
        found = literal(table[0])
        for place, item in enumerate(table[1:], 1):
            here = z3.Or(index == literal(place), index == literal(place - len(table)))
            found = z3.If(here, literal(item), found)
        return found

    def _open(self, op: Op, args: Sequence[Term]) -> Term:
        """A function of which nothing is known; to_float and exact_float are one."""
        name = "to_float" if op.opcode == "exact_float" else op.opcode
        self.unknown.add(op.opcode)
        if name in COMMUTATIVE:
            args = sorted(args, key=lambda term: term.get_id())
        attrs = "" if not op.attrs else repr(op.attrs)
        function = z3.Function(name + attrs, *(SORTS[a.kind] for a in op.args), SORTS[op.kind])
        return function(*args)


def literal(value: bool | int | float) -> Term:
    match value:
        case bool():
            return z3.BoolVal(value)
        case int():
            return z3.BitVecVal(value, 64)
        case float():
            return z3.FPVal(value, DOUBLE) if value == value else z3.fpNaN(DOUBLE)


def number(model: z3.ModelRef, term: Term, kind: Kind) -> Any:
    """The Python number that a model gives to a term."""
    if kind is FLOAT:
        value = model.eval(z3.fpToIEEEBV(term), model_completion=True)
        if model.eval(z3.fpIsNaN(term), model_completion=True):
            return float("nan")
        return struct.unpack("<d", struct.pack("<Q", value.as_long()))[0]
    value = model.eval(term, model_completion=True)
    return bool(z3.is_true(value)) if kind is BOOL else value.as_signed_long()


def _folded(op: Op) -> Term | None:
    """An operation on literals, computed by Python as passes compute it; None where Python raises."""
    values = [arg.value for arg in op.args if isinstance(arg, Const)]
    if len(values) != len(op.args) or None in values:
        return None
    try:
        result = PRIMITIVES[op.opcode].python(*values, **dict(op.attrs))
    except (ArithmeticError, ValueError, IndexError):
        return None
    if op.kind is INT and not INT_MIN <= result <= INT_MAX:
        result = (result - INT_MIN) % 2**64 + INT_MIN
    return literal(result)


Meaning = Callable[..., Term]
_ALWAYS: dict[tuple[str, Kind], Meaning] = {
    ("add", INT): lambda a, b: a + b, ("sub", INT): lambda a, b: a - b, ("neg", INT): lambda a: -a,
    ("abs", INT): lambda a: z3.If(a < 0, -a, a), ("invert", INT): lambda a: ~a,
    ("and", INT): lambda a, b: a & b, ("or", INT): lambda a, b: a | b, ("xor", INT): lambda a, b: a ^ b,
    ("and", BOOL): z3.And, ("or", BOOL): z3.Or, ("xor", BOOL): z3.Xor, ("not", BOOL): z3.Not,
    ("eq", BOOL): lambda a, b: a == b, ("ne", BOOL): lambda a, b: a != b,
    ("lt", BOOL): lambda a, b: z3.And(z3.Not(a), b), ("gt", BOOL): lambda a, b: z3.And(a, z3.Not(b)),
    ("le", BOOL): lambda a, b: z3.Or(z3.Not(a), b), ("ge", BOOL): lambda a, b: z3.Or(a, z3.Not(b)),
    ("eq", INT): lambda a, b: a == b, ("ne", INT): lambda a, b: a != b,
    ("lt", INT): lambda a, b: a < b, ("le", INT): lambda a, b: a <= b,
    ("gt", INT): lambda a, b: a > b, ("ge", INT): lambda a, b: a >= b,
    ("eq", FLOAT): z3.fpEQ, ("ne", FLOAT): lambda a, b: z3.Not(z3.fpEQ(a, b)),
    ("lt", FLOAT): z3.fpLT, ("le", FLOAT): z3.fpLEQ, ("gt", FLOAT): z3.fpGT, ("ge", FLOAT): z3.fpGEQ,
    ("neg", FLOAT): z3.fpNeg, ("abs", FLOAT): z3.fpAbs,
    ("isnan", FLOAT): z3.fpIsNaN, ("isinf", FLOAT): z3.fpIsInf,
    ("isfinite", FLOAT): lambda a: z3.Not(z3.Or(z3.fpIsNaN(a), z3.fpIsInf(a))),
    ("select", BOOL): z3.If,
    ("to_float", BOOL): lambda a: z3.If(a, literal(1.0), literal(0.0)),
    ("to_int", BOOL): lambda a: z3.If(a, literal(1), literal(0)),
}


def _floor_division(a: Term, b: Term) -> Term:
    quotient = a / b
    return z3.If(z3.And(z3.SRem(a, b) != 0, (a < 0) != (b < 0)), quotient - 1, quotient)


def _floor_remainder(a: Term, b: Term) -> Term:
    rest = z3.SRem(a, b)
    return z3.If(z3.And(rest != 0, (rest < 0) != (b < 0)), rest + b, rest)


def _to_word(rounding: Term) -> Meaning:
    return lambda a: z3.fpToSBV(rounding, a, WORD)


def _integral(rounding: Term) -> Meaning:
    return lambda a: z3.fpRoundToIntegral(rounding, a)


_EXACT: dict[tuple[str, Kind], Meaning] = {
    ("mul", INT): lambda a, b: a * b, ("floordiv", INT): _floor_division, ("mod", INT): _floor_remainder,
    ("add", FLOAT): lambda a, b: z3.fpAdd(_NEAREST, a, b), ("sub", FLOAT): lambda a, b: z3.fpSub(_NEAREST, a, b),
    ("mul", FLOAT): lambda a, b: z3.fpMul(_NEAREST, a, b), ("truediv", FLOAT): lambda a, b: z3.fpDiv(_NEAREST, a, b),
    ("sqrt", FLOAT): lambda a: z3.fpSqrt(_NEAREST, a),
    ("floor", FLOAT): _integral(z3.RTN()), ("ceil", FLOAT): _integral(z3.RTP()),
    ("trunc", FLOAT): _integral(z3.RTZ()), ("rint", FLOAT): _integral(_NEAREST),
    ("to_float", INT): lambda a: z3.fpSignedToFP(_NEAREST, a, DOUBLE),
    ("exact_float", INT): lambda a: z3.fpSignedToFP(_NEAREST, a, DOUBLE),
    ("to_int", FLOAT): _to_word(z3.RTZ()), ("floor_int", FLOAT): _to_word(z3.RTN()),
    ("ceil_int", FLOAT): _to_word(z3.RTP()), ("round_int", FLOAT): _to_word(_NEAREST),
}
