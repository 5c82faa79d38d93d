"""fmod: x - y trunc(x / y), which is a number of the format, computed without any rounding."""

from __future__ import annotations

import math

from pyflat.functions.vmath.machine import Machine, Number


def fmod(m: Machine, x: Number, y: Number) -> Number:
    """The remainder with x's sign, exact; nan for an infinite x and for y = 0.

    The rounded quotient is the true one or one more; with either, the remainder is a number of the format.
    """
    size, divisor = m.abs(x), m.abs(y)
    rest = m.fma(-m.trunc(size / divisor), divisor, size)
    rest = m.select(rest < 0.0, rest + divisor, rest)
    rest = m.select((divisor > size) & (size < math.inf), size, rest)
    return m.copysign(rest, x)


def large_quotient(m: Machine, x: Number, y: Number) -> Number:
    """Whether both are finite and the quotient has more digits than the format."""
    size, divisor = m.abs(x), m.abs(y)
    return ~(size / divisor < 2.0 ** (m.format.digits + 1)) & (size < math.inf) & (divisor > 0.0)
