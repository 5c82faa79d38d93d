"""Operators and comparisons of ints of 64 bits without sign (`space.unsigned`)."""

from __future__ import annotations

from pyflat.frontend.space import scalars, uint64
from pyflat.frontend.space.unsigned import (
    SIZE,
    as_float,
    as_int,
    below,
    beside_signed,
    exact,
    halved,
    leave,
    reduced,
    residue,
    signed,
)
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import as_unsigned, is_natural, lane, numeric_kind, plain_number
from pyflat.frontend.state.values import Abstract, GuardedUnion, Static, Unsigned
from pyflat.ir.build import const
from pyflat.ir.nodes import FALSE, TRUE, Value
from pyflat.ir.ops import MIRRORED
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MAX, INT_MIN

_RING = frozenset({"add", "sub", "mul", "and", "or", "xor", "shl"})
_MOST = 2**16
"""Counts of left shifts that do not exhaust Python's memory, as it would say."""


def meet(s: Evaluator, opcode: str, a: Abstract, b: Abstract) -> bool:
    """Two real numbers, one of which is unsigned, or an int lane and a known number beyond 63 bits."""
    if isinstance(a, GuardedUnion) or isinstance(b, GuardedUnion):
        return False
    unsigned = isinstance(a, Unsigned), isinstance(b, Unsigned)
    if any(unsigned):
        return all(isinstance(v, Unsigned) or numeric_kind(v) is not None for v in (a, b))
    if s.widths.kernel:
        return False
    for known, other in ((a, b), (b, a)):
        if isinstance(known, Static) and type(known.value) is int and known.value > INT_MAX:
            ring = opcode in _RING - {"shl"} or opcode in ("floordiv", "mod") and known.value <= SIZE
            return ring and isinstance(other, Value) and other.kind in (INT, BOOL)
    return False


def binary(s: Evaluator, opcode: str, a: Abstract, b: Abstract) -> Abstract:
    """`a <op> b` of two numbers that `meet`."""
    if s.widths.kernel:
        return uint64.binary(s, s.widths, opcode, a, b)
    a, b = plain_number(a), plain_number(b)
    if opcode == "truediv" and isinstance(b, Static) and _is_power_of_two(b) and b.value < 2**1023:
        b = Static(float(b.value))
    if FLOAT in (numeric_kind(a), numeric_kind(b)):
        return scalars.binary(s, opcode, *(as_float(s, v) if isinstance(v, Unsigned) else v for v in (a, b)))
    match opcode:
        case "and":
            return _and(s, a, b)
        case "or" | "xor":
            return Unsigned(_bits(s, opcode, a, b), _either(s, a, b))
        case "sub" if _is_sign_fold(a, b):
            return s.build.op("xor", residue(s, a), const(INT_MIN))
        case "add" | "sub":
            return _sum(s, opcode, a, b)
        case "mul":
            return Unsigned(_bits(s, opcode, a, b), TRUE)
        case "shl" if isinstance(a, Unsigned):
            return Unsigned(_shifted_left(s, residue(s, a), b), TRUE)
        case "shr" if isinstance(a, Unsigned):
            return _shifted_right(s, a, b)
        case "mod" if isinstance(b, Static) and _is_power_of_two(b):
            return _and(s, a, Static(b.value - 1))
        case "mod" | "floordiv" if (found := divided(s, opcode, a, b)) is not None:
            return found
    return scalars.binary(s, opcode, *(as_int(s, v) if isinstance(v, Unsigned) else v for v in (a, b)))


def unary(s: Evaluator, opcode: str, value: Unsigned) -> Abstract:
    if s.widths.kernel:
        return uint64.unary(s, s.widths, opcode, value)
    match opcode:
        case "pos" | "abs":
            return Unsigned(exact(s, value), FALSE)
        case "neg":
            return Unsigned(s.build.op("sub", const(0), value.bits), TRUE)
    return Unsigned(s.build.op("invert", value.bits), TRUE)


def _bits(s: Evaluator, opcode: str, a: Abstract, b: Abstract) -> Value:
    return s.build.op(opcode, residue(s, a), residue(s, b))


def _is_sign_fold(a: Abstract, b: Abstract) -> bool:
    """A number less 2**63, which is an ordinary int: `(x ^ 2**63) - 2**63` reads 64 bits as a signed int."""
    return isinstance(a, Unsigned) and a.outside is FALSE and isinstance(b, Static) and b.value == INT_MAX + 1


def _sum(s: Evaluator, opcode: str, a: Abstract, b: Abstract) -> Unsigned:
    """A sum or difference, which is outside where there is a carry or borrow."""
    bits = _bits(s, opcode, a, b)
    if any(_outside(s, v) is not FALSE for v in (a, b)):
        return Unsigned(bits, TRUE)
    if opcode == "sub":
        return Unsigned(bits, below(s, "lt", residue(s, a), residue(s, b)))
    return Unsigned(bits, below(s, "lt", s.build.op("low64", bits), residue(s, a)))


def _and(s: Evaluator, a: Abstract, b: Abstract) -> Abstract:
    """A mask below 2**63 gives an ordinary int; one below 2**64, or a number that is there, a number that is there."""
    for mask, value in ((a, b), (b, a)):
        if isinstance(mask, Static) and 0 <= mask.value <= INT_MAX:
            return s.build.op("and", residue(s, value), const(int(mask.value)))
        if isinstance(mask, Static) and INT_MAX < mask.value < SIZE:
            bits = reduced(s, value)
            return Unsigned(bits if mask.value == SIZE - 1 else s.build.op("and", bits, residue(s, mask)), FALSE)
    if any(isinstance(v, Unsigned) and v.outside is FALSE for v in (a, b)):
        return Unsigned(s.build.op("and", reduced(s, a), reduced(s, b)), FALSE)
    return Unsigned(_bits(s, "and", a, b), _either(s, a, b))


def _either(s: Evaluator, a: Abstract, b: Abstract) -> Value:
    """Where a bitwise operation of two numbers may not be in [0, 2**64)."""
    found = [_outside(s, v) for v in (a, b)]
    if TRUE in found:
        return TRUE
    first, second = found
    return second if first is FALSE else first if second is FALSE else s.build.op("or", first, second)


def _outside(s: Evaluator, value: Abstract) -> Value:
    match value:
        case Unsigned():
            return value.outside
        case Static():
            return FALSE if 0 <= value.value < SIZE else TRUE
        case Value() if value.kind is BOOL or is_natural(value):
            return FALSE
    return s.build.op("lt", lane(value), const(0))


def _shifted_left(s: Evaluator, bits: Value, count: Abstract) -> Value:
    """Modulo 2**64, also by a count that differs by lane: a product with a power of two."""
    if isinstance(count, Static):
        if count.value < 0:
            raise s.raised(ValueError)
        return const(0) if count.value > 63 else s.build.op("shl", bits, const(int(count.value)))
    number = as_int(s, count) if isinstance(count, Unsigned) else scalars.to_kind(s, lane(count), INT)
    powers = tuple(signed(2**k) for k in range(64))
    leave(s, s.build.op("gt", number, const(_MOST)))
    inside = s.build.op("lt", number, const(64))
    place = s.build.op("and", number, const(63))
    power = s.build.op("select", inside, s.build.op("gather", place, kind=INT, table=powers), const(0))
    product = s.build.op("mul", bits, power)
    return s.build.op("add", product, s.build.op("shr", const(0), number))  # which fails where the count is negative


def _shifted_right(s: Evaluator, value: Unsigned, count: Abstract) -> Abstract:
    bits = exact(s, value)
    if isinstance(count, Static):
        if count.value < 0:
            raise s.raised(ValueError)
        if count.value == 0:
            return Unsigned(bits, FALSE)
        return Static(0) if count.value > 63 else halved(s, bits, int(count.value))
    number = as_int(s, count) if isinstance(count, Unsigned) else scalars.to_kind(s, lane(count), INT)
    is_zero = s.build.op("eq", number, const(0))
    one_less = s.build.op("select", s.build.op("gt", number, const(0)), s.build.op("sub", number, const(1)), const(0))
    mask = s.build.op("select", is_zero, const(-1), s.build.op("shr", const(INT_MAX), one_less))
    return Unsigned(s.build.op("and", s.build.op("shr", bits, number), mask), FALSE)


def _is_power_of_two(value: Abstract) -> bool:
    return isinstance(value, Static) and type(value.value) is int and value.value > 0 and value.value.bit_count() == 1


# --- comparisons
def compare(s: Evaluator, opcode: str, a: Abstract, b: Abstract) -> Abstract:
    """The comparison of two numbers that `meet`, exactly."""
    if s.widths.kernel:
        return uint64.compare(s, s.widths, opcode, a, b)
    if not isinstance(a, Unsigned):
        return compare(s, MIRRORED[opcode], b, a)
    b = plain_number(b)
    bits = exact(s, a)
    if isinstance(b, Unsigned):
        return below(s, opcode, bits, exact(s, b))
    if isinstance(b, Static) and type(b.value) in (int, bool):
        if not 0 <= b.value < SIZE:
            return Static(scalars.PYTHON[opcode](0 if b.value > 0 else 1, 1 if b.value > 0 else 0))
        return below(s, opcode, bits, residue(s, b))
    if numeric_kind(b) is FLOAT:
        return scalars.compare(s, opcode, as_int(s, a), b)
    return beside_signed(s, opcode, bits, scalars.to_kind(s, lane(b), INT))


# --- `//` and `%`. A lane divides signed ints: half of the number is divided, and the quotient corrected by at most
# one; of a divisor from 2**63 on it is 0 or 1. Beside a signed int the remainder has the sign of the divisor.
def divided(s: Evaluator, opcode: str, a: Abstract, b: Abstract) -> Abstract | None:
    """`floordiv` or `mod`; None where a known number makes it an ordinary one."""
    if isinstance(b, Static):
        return _by_known(s, opcode, a, b.value)
    dividend, divisor = as_unsigned(a), as_unsigned(b)
    if dividend is None and isinstance(a, Static) or dividend is None and divisor is None:
        return None
    if dividend is None:
        assert divisor is not None
        return _of_signed(s, opcode, scalars.to_kind(s, lane(a), INT), exact(s, divisor))
    bits = exact(s, dividend)
    if divisor is not None:
        quotient, rest = _by_lane(s, bits, exact(s, divisor))
        return Unsigned(quotient if opcode == "floordiv" else rest, FALSE)
    return _by_signed(s, opcode, bits, scalars.to_kind(s, lane(b), INT))


def _by_known(s: Evaluator, opcode: str, a: Abstract, divisor: int) -> Abstract | None:
    dividend = as_unsigned(a)
    if dividend is None and INT_MAX < divisor < SIZE:
        return _of_signed(s, opcode, scalars.to_kind(s, lane(a), INT), const(signed(divisor)))
    if dividend is None or divisor == 0:
        return None
    bits = exact(s, dividend)
    if divisor < 0:
        return _by_signed(s, opcode, bits, const(divisor)) if divisor >= INT_MIN else None
    if divisor == 1 or divisor >= SIZE:
        return Unsigned(bits, FALSE) if (opcode == "floordiv") is (divisor == 1) else Static(0)
    if divisor > INT_MAX:
        reaches, rest = _at_most_once(s, bits, const(signed(divisor)))
        return scalars.to_kind(s, reaches, INT) if opcode == "floordiv" else Unsigned(rest, FALSE)
    quotient, rest = _in_halves(s, bits, const(divisor))
    return quotient if opcode == "floordiv" else rest


def _by_signed(s: Evaluator, opcode: str, bits: Value, divisor: Value) -> Value:
    """An ordinary int; a quotient by 1 or -1 that is none is left to the original."""
    negative = s.build.op("lt", divisor, const(0))
    size = s.build.op("select", negative, s.build.op("low64", s.build.op("sub", const(0), divisor)), divisor)
    quotient, rest = _by_lane(s, bits, size)
    beside = s.build.op("and", negative, s.build.op("ne", rest, const(0)))
    if opcode == "mod":
        return s.build.op("select", beside, s.build.op("low64", s.build.op("add", rest, divisor)), rest)
    leave(s, s.build.op("lt", quotient, const(0)))
    opposite = s.build.op("sub", s.build.op("low64", s.build.op("sub", const(0), quotient)),
                          scalars.to_kind(s, beside, INT))
    return s.build.op("select", negative, s.build.op("low64", opposite), quotient)


def _of_signed(s: Evaluator, opcode: str, number: Value, divisor: Value) -> Abstract:
    """A large divisor goes into a signed int not at all, or -1 times."""
    is_large = s.build.op("lt", divisor, const(0))
    negative = s.build.op("lt", number, const(0))
    small = s.build.op("select", is_large, const(1), divisor)
    if opcode == "floordiv":
        by_large = s.build.op("select", negative, const(-1), const(0))
        return s.build.op("select", is_large, by_large, s.build.op("floordiv", number, small))
    raised = s.build.op("low64", s.build.op("add", number, divisor))
    by_large = s.build.op("select", negative, raised, number)
    return Unsigned(s.build.op("select", is_large, by_large, s.build.op("mod", number, small)), FALSE)


def _by_lane(s: Evaluator, bits: Value, divisor: Value) -> tuple[Value, Value]:
    """The quotient and the remainder, by a divisor that differs by lane."""
    is_large = s.build.op("lt", divisor, const(0))
    reaches, less = _at_most_once(s, bits, divisor)
    quotient, rest = _in_halves(s, bits, s.build.op("select", is_large, const(1), divisor))
    return (s.build.op("select", is_large, scalars.to_kind(s, reaches, INT), quotient),
            s.build.op("select", is_large, less, rest))


def _at_most_once(s: Evaluator, bits: Value, divisor: Value) -> tuple[Value, Value]:
    """Whether the number reaches a divisor from 2**63 on, and the remainder."""
    reaches = below(s, "ge", bits, divisor)
    rest = s.build.op("select", reaches, s.build.op("low64", s.build.op("sub", bits, divisor)), bits)
    return reaches, rest


def _in_halves(s: Evaluator, bits: Value, divisor: Value) -> tuple[Value, Value]:
    """The quotient and the remainder, by a divisor below 2**63; division by zero fails."""
    half = s.build.op("floordiv", halved(s, bits, 1), divisor)
    twice = s.build.op("low64", s.build.op("shl", half, const(1)))
    product = s.build.op("low64", s.build.op("mul", twice, divisor))
    rest = s.build.op("low64", s.build.op("sub", bits, product))
    reaches, less = _at_most_once(s, rest, divisor)
    return s.build.op("low64", s.build.op("add", twice, scalars.to_kind(s, reaches, INT))), less
