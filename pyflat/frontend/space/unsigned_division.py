"""`//` and `%` where one number is an int of 64 bits without sign (`space.unsigned`).

A lane divides signed ints. So half of the number is divided, and the quotient corrected by at most one; of a divisor
from 2**63 on it is 0 or 1. Beside a signed int the remainder has the sign of the divisor, as Python's.
"""

from __future__ import annotations

from pyflat.frontend.space import scalars
from pyflat.frontend.space.unsigned import SIZE, below, exact, halved, leave, signed
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import as_unsigned, lane
from pyflat.frontend.state.values import Abstract, Static, Unsigned
from pyflat.ir.build import const
from pyflat.ir.nodes import FALSE, Value
from pyflat.ir.types import INT, INT_MAX, INT_MIN


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
    reaches = below(s, "ge", rest, divisor)
    less = s.build.op("select", reaches, s.build.op("low64", s.build.op("sub", rest, divisor)), rest)
    return s.build.op("low64", s.build.op("add", twice, scalars.to_kind(s, reaches, INT))), less
