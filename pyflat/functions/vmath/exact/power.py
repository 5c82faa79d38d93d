"""pow and cbrt as the GNU C library computes them.

pow is Szabolcs Nagy's, from Arm's optimized-routines (MIT licence; in the library since version 2.28): y log x as a sum
of two numbers, log x by a table as in `logarithm`, and the exponential of that sum. The constants are that
publication's. cbrt is Ulrich Drepper's (LGPL: here is the algorithm, a quotient of polynomials and one of Halley's
steps, and its seven coefficients, and none of its text).
"""

from __future__ import annotations

import math

from pyflat.functions.vmath.exact import exponential
from pyflat.functions.vmath.exact.logarithm import is_subnormal, small_integer, split
from pyflat.functions.vmath.exact.tables import LibraryTable, as_they_are
from pyflat.functions.vmath.glibc import Told
from pyflat.functions.vmath.machine import Machine, Number
from pyflat.functions.vmath.power import clamped, with_signs
from pyflat.functions.vmath.steps import Pair, power_of_two

_h = float.fromhex
_LN2 = _h("0x1.62e42fefa3800p-1"), _h("0x1.ef35793c76730p-45")
_LOG = tuple(map(_h, ("-0x1.0000000000000p-1", "-0x1.5555555555560p-1", "0x1.0000000000006p-1", "0x1.999999959554ep-1",
                      "-0x1.555555529a47ap-1", "-0x1.2495b9b4845e9p+0", "0x1.0002b8b263fc3p+0")))
_CENTRES = LibraryTable("pow_log", 128, 4, "000000000080f63f00000000", "f9eb2b375d918499", as_they_are)
"""1 / c, nothing, and its logarithm as a sum."""
_FIRST_CENTRE = 0x3FE6955500000000


def log_pair(m: Machine, x: Number) -> Pair:
    """log x of a normal positive x, to some 68 binary digits."""
    z, index, k = split(m, x, _FIRST_CENTRE, 7)
    inverse, _, of_centre, of_centre_rest = m.rows(_CENTRES, index, 4)
    r = m.fma(z, inverse, -1.0)
    first = m.fma(k, _LN2[0], of_centre)
    second = first + r
    low = m.fma(k, _LN2[1], of_centre_rest) + ((first - second) + r)
    half = r * _LOG[0]
    square = r * half
    cube = r * square
    high = second + square
    low = (low + m.fma(half, r, -square)) + ((second - high) + square)
    p = m.fma(m.fma(r, _LOG[6], _LOG[5]), square, m.fma(r, _LOG[4], _LOG[3]))
    p = m.fma(square, p, m.fma(r, _LOG[2], _LOG[1]))
    low = m.fma(cube, p, low)
    total = high + low
    return total, (high - total) + low


def product(m: Machine, y: Number, high: Number, low: Number) -> Pair:
    """y times a logarithm."""
    first = y * high
    return first, m.fma(y, low, m.fma(high, y, -first))


def pow(m: Machine, x: Number, y: Number) -> Told:
    """pow(x, y)."""
    size = m.abs(x)
    high, low = log_pair(m, size)
    high = m.near(high, math.log, size)
    # Infinity and nan are their own logarithms; an infinite y times log 1 is no number, any large one does as well.
    high = m.select(m.equal(size, 0.0), -math.inf, m.select(size < math.inf, high, size))
    weight = clamped(m, y, -(2.0**100), 2.0**100)
    first, rest = product(m, weight, high, low)
    far = is_subnormal(m, size) | exponential.is_subnormal(m, first)
    within = m.abs(first) < 746.0
    found = exponential.parts(m, clamped(m, first, -746.0, 710.0), m.select(within, rest, 0.0))
    return with_signs(m, x, y, exponential.joined(m, found, first <= exponential.SMALL)), far


_CBRT = tuple(map(_h, ("0x1.6b69cba168ff2p-2", "0x1.8218dde9028b4p+0", "-0x1.0eb8277cd8d5dp+1", "0x1.39350adad51ecp+1",
                       "-0x1.d5ae6cfa20f0cp+0", "0x1.91e2a6fe7e984p-1", "-0x1.29801e893366dp-3")))
_ROOTS = 1.2599210498948731648, 1.5874010519681994748
_SCALES = ((1.0, _ROOTS[0]), (2.0, _ROOTS[1]), (-1.0, 1.0 / _ROOTS[0]), (-2.0, 1.0 / _ROOTS[1]))
"""2**(e / 3) for what is left of an exponent."""


def cbrt(m: Machine, x: Number) -> Told:
    """cbrt(x), without a fused multiply-add."""
    size = m.abs(x)
    bits = m.bits(size)
    e = small_integer(m, m.right(bits, 52)) - 1022.0
    mantissa = m.floats((bits & ((1 << 52) - 1)) | 0x3FE0000000000000)
    u = _CBRT[6]
    for c in _CBRT[5::-1]:
        u = u * mantissa + c
    cube = u * u * u
    third = m.trunc(m.fma(e, 1.0 / 3.0, m.copysign(0.1, e)))
    rest = m.fma(third, -3.0, e)
    factor = 1.0
    for value, power in _SCALES:
        factor = m.select(m.equal(rest, value), power, factor)
    root = (u * (cube + (mantissa + mantissa))) / ((cube + cube) + mantissa) * factor
    value = m.copysign(root * power_of_two(m, third), x)
    return m.select((size > 0.0) & (size < math.inf), value, x), is_subnormal(m, size)
