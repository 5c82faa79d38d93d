"""When a primitive faults, as IR: from operands and result to a bool that is true in every faulting lane.

The rules are conservative where exactness costs more than a replay (`pow`, integer products near the limit)
and never miss: for all operands, `python` raises or leaves int64 implies the rule holds. A rule returns None
when the operands show that the operation cannot fault.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from pyflat.functions.records import RECORDS, Outside
from pyflat.ir.build import Builder, const
from pyflat.ir.formats import F8
from pyflat.ir.nodes import Op, Value, number
from pyflat.ir.ops import NEAR_LARGEST, OPERATIONS
from pyflat.ir.types import EXACT_INT, FLOAT, INT, INT_MAX, INT_MIN

Rule = Callable[[Builder, Op], Value | None]
RULES: dict[str, Rule] = {}
FAULT_TYPES = {
    "zero_divisor": "ZeroDivisionError",
    "floordiv": "ZeroDivisionError",
    "index": "IndexError",
    "negative_count": "ValueError",
    "fmod": "ValueError",
}
"""What Python most likely raises where a fault rule holds; everything else is a range: OverflowError. Outside of its
domain a function raises ValueError."""


def exception_of(rule: tuple[Outside, ...] | str) -> str:
    """The name of what Python most likely raises where a fault rule holds."""
    return FAULT_TYPES.get(rule, "OverflowError") if isinstance(rule, str) else "ValueError"


def fault_condition(build: Builder, op: Op) -> Value | None:
    """The condition under which `op` (already appended to the builder) faults, None if it never does."""
    rule = OPERATIONS[op.opcode].faults if build.floats is F8 else _narrow_rule(op.opcode)
    if isinstance(rule, str):
        return RULES[rule](build, op) if rule else None
    return outside_domain(build, op, rule)


def outside_domain(build: Builder, op: Op, parts: tuple[Outside, ...]) -> Value | None:
    """Whether operands are in one of these parts of the domain's complement."""
    found: Value | None = None
    for part in parts:
        x = op.args[part.operand]
        x = build.op("abs", x) if part.of_size else x
        is_in = build.op("isinf", x) if part.comparison == "isinf" else build.op(part.comparison, x, const(part.bound))
        found = _any(build, found, is_in)
    return found


def _narrow_rule(opcode: str) -> tuple[Outside, ...] | str:
    """The rule of an operation on float32 lanes. What overflows there has its value, infinity, and an int is rounded:
    only the domain is left."""
    rule = OPERATIONS[opcode].faults
    if rule in _OVERFLOWS:
        record = RECORDS.get(opcode.removeprefix("vec_"))
        return "" if record is None else record.float32_faults
    return rule


_OVERFLOWS = ("nonfinite", "overflow", "near_overflow", "near_overflow_up", "pow", "nonfinite_of_first", "gamma",
              "near_gamma", "beyond_exact", "beyond_largest")


def can_fault(op: Op) -> bool:
    return op.opcode == "fault" or fault_condition(Builder(), op) is not None


def _rule(fn: Rule) -> Rule:
    RULES[fn.__name__.strip("_")] = fn
    return fn


def _any(build: Builder, first: Value | None, second: Value | None) -> Value | None:
    if first is None or second is None:
        return first if second is None else second
    return build.op("or", first, second)


def _outside(b: Builder, x: Value, low: int, high: int) -> Value | None:
    """x < low or x > high, each only where an int64 can be."""
    below = b.op("lt", x, const(low)) if low > INT_MIN else None
    above = b.op("gt", x, const(high)) if high < INT_MAX else None
    return _any(b, below, above)


def _split(op: Op) -> tuple[Value, int | None]:
    """The parts of a commutative operation with one literal: the other operand and the literal."""
    x, y = op.args
    known = number(y)
    if known is None and number(x) is not None:
        return y, _integer(x)
    return x, _integer(y)


def _integer(value: Value) -> int | None:
    known = number(value)
    return known if isinstance(known, int) else None


@_rule
def _always(b: Builder, op: Op) -> Value | None:
    """Nothing but the run itself can tell: what calls NumPy."""
    return const(True)


@_rule
def _add(b: Builder, op: Op) -> Value | None:
    """Both operands have the other sign than the sum; with a literal c: x beyond the limit minus c."""
    if op.kind is FLOAT:
        return None
    other, c = _split(op)
    if c is not None:
        return _outside(b, other, *_reached(other, INT_MIN - min(c, 0), INT_MAX - max(c, 0)))
    x, y = op.args
    flipped = b.op("and", b.op("xor", x, op), b.op("xor", y, op))
    return b.op("lt", flipped, const(0))


@_rule
def _sub(b: Builder, op: Op) -> Value | None:
    """The operands differ in sign, and the difference is not of the first one's; literals as in add."""
    if op.kind is FLOAT:
        return None
    x, y = op.args
    c = _integer(y)
    if c is not None:
        return _outside(b, x, *_reached(x, INT_MIN + max(c, 0), INT_MAX + min(c, 0)))
    c = _integer(x)
    if c is not None:
        return _outside(b, y, max(c - INT_MAX, INT_MIN), min(c - INT_MIN, INT_MAX))
    flipped = b.op("and", b.op("xor", x, y), b.op("xor", x, op))
    return b.op("lt", flipped, const(0))


@_rule
def _mul(b: Builder, op: Op) -> Value | None:
    """|float(x)*float(y)| misjudges a product by less than 2**-50 of it (in float32 2**-21): compare a little below
    2**63.

    With a literal c: x beyond the limits divided by c, rounded towards zero.
    """
    if op.kind is FLOAT:
        return None
    other, c = _split(op)
    if c is not None:
        return _outside(b, other, *_factors(c))
    x, y = (b.op("to_float", a) for a in op.args)
    return b.op("ge", b.op("abs", b.op("mul", x, y)), const(2.0**63 * (1 - 4 * _misjudged(b))))


def _misjudged(b: Builder) -> float:
    """More than the relative error of a product of two ints as floats."""
    return 8 * 2.0**-b.floats.digits


def _reached(value: Value, low: int, high: int) -> tuple[int, int]:
    """Limits for a value, INT_MIN and INT_MAX for those that it cannot pass: a product with a literal that stays within
    int64 is a multiple, and where it does not stay, its own fault says so."""
    if isinstance(value, Op) and value.opcode == "mul" and value.kind is INT:
        factor = abs(_split(value)[1] or 0)
        if factor:
            most = INT_MAX // factor * factor
            return INT_MIN if -most >= low else low, INT_MAX if most <= high else high
    return low, high


def _factors(c: int) -> tuple[int, int]:
    """Between which x the product x * c stays within int64."""
    if c == 0:
        return INT_MIN, INT_MAX
    low, high = (INT_MIN, INT_MAX) if c > 0 else (INT_MAX, INT_MIN)
    return max(-(-low // c), INT_MIN), min(high // c, INT_MAX)


@_rule
def _position(b: Builder, op: Op) -> Value | None:
    position, size = op.args
    return b.op("or", b.op("ge", position, size), b.op("lt", b.op("add", position, size), const(0)))


@_rule
def _fitted(b: Builder, op: Op) -> Value | None:
    limits = np.iinfo(op.attr("dtype"))
    return _outside(b, op.args[0], int(limits.min), min(int(limits.max), INT_MAX))


@_rule
def _zero_divisor(b: Builder, op: Op) -> Value | None:
    divisor = op.args[1]
    known = number(divisor)
    if known is not None and known != 0:
        return None
    return b.op("eq", divisor, const(0 if divisor.kind is INT else 0.0))


@_rule
def _floordiv(b: Builder, op: Op) -> Value | None:
    zero = _zero_divisor(b, op)
    if op.kind is FLOAT or number(op.args[1]) not in (None, -1):
        return zero
    lowest = b.op("eq", op.args[0], const(INT_MIN))
    return _any(b, zero, b.op("and", lowest, b.op("eq", op.args[1], const(-1))))


@_rule
def _int_min(b: Builder, op: Op) -> Value | None:
    return None if op.kind is FLOAT else b.op("eq", op.args[0], const(INT_MIN))


@_rule
def _pow(b: Builder, op: Op) -> Value | None:
    """0**negative, a negative base with a fractional exponent, overflow: each gives a non-finite result of finite
    operands. What is infinite has a power, 0**-inf as well."""
    return _of_finite(b, _is_nonfinite(b, op), *op.args)


def _is_nonfinite(b: Builder, x: Value) -> Value:
    return b.op("ne", b.op("sub", x, x), const(0.0))


def _of_finite(b: Builder, found: Value, *operands: Value) -> Value | None:
    """`found` where the operands are finite: Python gives what C does for those that are infinite or nan."""
    for x in operands:
        known = number(x)
        if known is None:
            found = b.op("and", found, b.op("isfinite", x))
        elif not math.isfinite(known):
            return None
    return found


@_rule
def _ipow(b: Builder, op: Op) -> Value | None:
    """Conservative through float pow of the magnitudes: relative error far below 2**-40, in float32 below 2**-16."""
    base, exponent = op.args
    known = number(exponent)
    if known in (0, 1):
        return None
    size = b.op("pow", b.op("abs", b.op("to_float", base)), b.op("to_float", exponent))
    large = b.op("not", b.op("lt", size, const(2.0**63 * (1 - (2.0**-40 if b.floats is F8 else 2.0**-16)))))
    if known is not None and known > 0:
        return large
    return b.op("or", large, b.op("lt", exponent, const(0)))


@_rule
def _negative_count(b: Builder, op: Op) -> Value | None:
    known = number(op.args[1])
    if known is not None and known >= 0:
        return None
    return b.op("lt", op.args[1], const(0))


@_rule
def _shl(b: Builder, op: Op) -> Value | None:
    """The lane is right exactly when shifting back gives the operand and the count is below 64."""
    x, count = op.args
    known = _integer(count)
    if known is not None and 0 <= known < 64:
        return _outside(b, x, INT_MIN >> known, INT_MAX >> known)
    lost = b.op("ne", b.op("shr", op, count), x)
    outside = b.op("or", b.op("lt", count, const(0)), b.op("gt", count, const(63)))
    return b.op("or", lost, outside)


@_rule
def _beyond_exact(b: Builder, op: Op) -> Value | None:
    x = op.args[0]
    return b.op("or", b.op("gt", x, const(EXACT_INT)), b.op("lt", x, const(-EXACT_INT)))


@_rule
def _int_range(b: Builder, op: Op) -> Value | None:
    x = op.args[0]
    if x.kind is not FLOAT:
        return None
    return b.op("not", b.op("lt", b.op("abs", x), const(2.0**63)))


@_rule
def _nonfinite(b: Builder, op: Op) -> Value | None:
    """A non-finite result of a finite operand: overflow or domain."""
    return _of_finite(b, _is_nonfinite(b, op), op.args[0])


RULES["nonfinite_of_first"] = _nonfinite


@_rule
def _gamma(b: Builder, op: Op) -> Value | None:
    """A non-finite result of a finite operand, and gamma(-inf)."""
    return b.op("and", _is_nonfinite(b, op), b.op("lt", op.args[0], const(math.inf)))


@_rule
def _overflow(b: Builder, op: Op) -> Value | None:
    """Overflow of a function that is nan for nan only, and never -inf."""
    return _of_finite(b, b.op("eq", op, const(math.inf)), op.args[0])


@_rule
def _near_overflow_up(b: Builder, op: Op) -> Value | None:
    """Overflow of a function that is some ulp from the C library's."""
    return _of_finite(b, b.op("ge", op, const(NEAR_LARGEST)), op.args[0])


@_rule
def _pole(b: Builder, op: Op) -> Value | None:
    """lgamma and pow in float32: no finite value where x is no positive number (conservative where a power
    overflows)."""
    return _of_finite(b, _is_at_pole(b, op), *op.args)


@_rule
def _gamma_pole(b: Builder, op: Op) -> Value | None:
    """The pole of gamma, and gamma(-inf)."""
    return _is_at_pole(b, op)


def _is_at_pole(b: Builder, op: Op) -> Value:
    return b.op("and", _is_nonfinite(b, op), b.op("le", op.args[0], const(0.0)))


@_rule
def _near_overflow(b: Builder, op: Op) -> Value | None:
    """As `nonfinite` and `pow`, of a function that is some ulp from the C library's: where one of them overflows the
    other may still be just below."""
    return _of_finite(b, _is_nearly_beyond(b, op), *op.args)


@_rule
def _near_gamma(b: Builder, op: Op) -> Value | None:
    return b.op("and", _is_nearly_beyond(b, op), b.op("lt", op.args[0], const(math.inf)))


def _is_nearly_beyond(b: Builder, x: Value) -> Value:
    return b.op("not", b.op("lt", b.op("abs", x), const(NEAR_LARGEST)))


@_rule
def _fmod(b: Builder, op: Op) -> Value | None:
    """fmod and remainder: y == 0 or x infinite, unless the other operand is nan."""
    x, y = op.args
    by_zero = b.op("and", b.op("eq", y, const(0.0)), b.op("eq", x, x))
    return b.op("or", by_zero, b.op("and", b.op("isinf", x), b.op("eq", y, y)))


@_rule
def _nan_sign(b: Builder, op: Op) -> Value | None:
    """A nan that arithmetic made has the processor's sign in Python; LLVM leaves it open: -x + 0.0 is 0.0 - x."""
    sign = op.args[1]
    return b.op("ne", sign, sign) if number(sign) is None else None


@_rule
def _beyond_largest(b: Builder, op: Op) -> Value | None:
    """No finite result of finite operands."""
    return _of_finite(b, b.op("not", b.op("isfinite", op)), *op.args)


@_rule
def _index(b: Builder, op: Op) -> Value | None:
    size = len(op.attr("table"))
    index = op.args[0]
    return b.op("or", b.op("lt", index, const(-size)), b.op("ge", index, const(size)))
