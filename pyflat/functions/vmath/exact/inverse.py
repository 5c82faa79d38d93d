"""asin, acos, atan and atan2 as the GNU C library computes them since version 2.35 (of IBM's Accurate Mathematical
Library, 2001 on, under the LGPL: here are its algorithms and the coefficients of its polynomials, none of its text; its
tables are read from the library that is loaded).

    |x| < 0.125             x + x**3 P(x**2)
    |x| < 0.96875           z = |x| - c, and a polynomial of z with coefficients by a table: rows of 11 to 15 numbers
    above                   pi/2 - 2 asin(sqrt((1 - |x|) / 2)), the root as a sum, by a table and Newton's iteration

    u < 1/16                u + u**3 P(u**2)
    u <= 1                  z = u - c, and a polynomial of z with coefficients by a table
    above                   pi/2 less the arctangent of 1 / u, which is a sum
    atan2                   the same of the smaller by the larger operand, added to 0, pi/2 or pi, or subtracted
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pyflat.functions.vmath.exact.tables import Array, LibraryTable, as_they_are
from pyflat.functions.vmath.exact.trigonometric import HALF_PI
from pyflat.functions.vmath.glibc import Told
from pyflat.functions.vmath.machine import Machine, Number
from pyflat.functions.vmath.steps import Pair, exact_product, horner

_h = float.fromhex
_P = tuple(map(_h, ("0x1.55555555554f9p-3", "0x1.333333336127dp-4", "0x1.6db6dae42c0e4p-5", "0x1.f1c7e04f4ad99p-6",
                    "0x1.6e442c822d419p-6", "0x1.292d80f453c72p-6")))
_ROOT = tuple(map(_h, ("0x1.fffffffecc1ddp-1", "0x1.fffffff757304p-2", "0x1.800496769c91ap-2", "0x1.4006318d1dab9p-2")))
_FIRST, _LAST = 0.125, 0.96875
_TINY_ASIN, _TINY_ACOS = 2.0**-26, _h("0x1.8p-55")


def _of_one_length(numbers: Array) -> Array:
    """Rows of the centre, the polynomial's first coefficient, its constant, the arcsine of the centre, and the other
    coefficients, those that are missing as 0. The ranges reach to 1/4, 1/2, 3/4, 0.921875, 0.953125 and 0.96875."""
    ranges = ((32, 11), (64, 11), (64, 12), (44, 13), (8, 14), (4, 15))
    rows, start, first = np.zeros((sum(count for count, _ in ranges), 16)), 0, 0
    for count, length in ranges:
        order = [0, 1, length - 4, length - 3, *range(2, length - 4)]
        part = numbers[start : start + count * length].reshape(count, length)
        rows[first : first + count, : len(order)] = part[:, order]
        start, first = start + count * length, first + count
    return rows


_CENTRES = LibraryTable("asin", 2568, 1, "244499886921f03f15b199b7", "1f739c9966072aba", _of_one_length)
_ROOTS = LibraryTable("root", 128, 1, "1f63f92ae85df63fe5391d20", "9ae1de5b8c2421cc", as_they_are)
"""1 / sqrt, about, of a mantissa."""


def _by_table(m: Machine, size: Number) -> Pair:
    """The arcsine of a number from 0.125 to 0.96875 as a sum: what is left, and the centre's."""
    b = m.bits(size)
    index = m.select(size >= 0.5, (m.right(b, 45) & 127) + 96,
                     m.select(size >= 0.25, (m.right(b, 46) & 63) + 32, m.right(b, 47) & 31))
    row = m.rows(_CENTRES, index & 255, 13)
    z = size - row[0]
    t = horner(m, z, row[4:13])
    return m.fma(z, row[1], m.fma(t, z * z, row[2])), row[3]


def _root(m: Machine, x: Number, fused: bool) -> Pair:
    """The square root of a number below 1/64 as a sum; the two functions shorten its first part differently."""
    bits = m.bits(x)
    start, = m.rows(_ROOTS, m.right(bits, 46) & 127, 1)
    # 2**(511 - e // 2) for the biased exponent e
    estimate = start * m.floats(m.left(1534 - m.right(bits, 53), 52))
    r = m.fma(-(estimate * estimate), x, 1.0)
    estimate = horner(m, r, _ROOT) * estimate
    c = x * estimate
    high = m.fma(-(2.0**27), c, m.fma(c, 2.0**27, c)) if fused else (c + 2.0**24) - 2.0**24
    low = m.fma(-high, high, x) / m.fma(m.fma(-(estimate * 0.5), c, 1.5), c, high)
    return high, low


def _size(m: Machine, x: Number) -> tuple[Number, Number]:
    """|x|, and what is computed with: 0.5 of nan and of numbers beyond 1, which lanes outside of an arm have too. With
    their own a whole register takes up to six times as long on an Intel processor."""
    size = m.abs(x)
    return size, m.select(size <= 1.0, size, 0.5)


def asin(m: Machine, x: Number) -> Told:
    """asin(x)."""
    given, size = _size(m, x)
    top = size >= _LAST
    rest = (1.0 - size) * 0.5
    v = m.select(top, rest, size * size)
    p = horner(m, v, _P)
    left, centre = _by_table(m, size)
    value = m.select(size < _FIRST, m.fma(p, size * v, size), left + centre)
    high, low = _root(m, rest, False)
    correction = m.fma(-(high + low) * 2.0, p * v, m.fma(low, -2.0, HALF_PI[1]))
    value = m.select(top, correction + m.fma(high, -2.0, HALF_PI[0]), value)
    value = m.select(size < _TINY_ASIN, size, m.select(m.equal(size, 1.0), HALF_PI[0], value))
    return m.select(given <= 1.0, m.copysign(value, x), math.nan), False


def acos(m: Machine, x: Number) -> Told:
    """acos(x)."""
    (given, size), below = _size(m, x), x < 0.0
    top = size >= _LAST
    rest = (1.0 - size) * 0.5
    v = m.select(top, rest, size * size)
    p = horner(m, v, _P)
    near = HALF_PI[0] - x
    inner = near + m.fma(-p, x * v, ((HALF_PI[0] - near) - x) + HALF_PI[1])
    left, centre = _by_table(m, size)
    middle = m.select(below, (HALF_PI[1] + left) + (HALF_PI[0] + centre), (HALF_PI[1] - left) + (HALF_PI[0] - centre))
    high, low = _root(m, rest, True)
    share = (p * v) * (low + high)
    outer = m.select(below, ((HALF_PI[1] - low) - share) + (HALF_PI[0] - high), (low + share) + high)
    value = m.select(size < _FIRST, inner, m.select(top, outer + outer, middle))
    value = m.select(size < _TINY_ACOS, HALF_PI[0], value)
    at_one = m.select(below, 2.0 * HALF_PI[0], 0.0)
    return m.select(given < 1.0, value, m.select(m.equal(given, 1.0), at_one, math.nan)), False


# --- atan and atan2
_ATAN = tuple(map(_h, ("-0x1.5555555555555p-2", "0x1.99999999997fdp-3", "-0x1.24924923f7603p-3", "0x1.c71c6e5129a3bp-4",
                    "-0x1.7458022b13c25p-4", "0x1.375f08b31cbcep-4")))
_SHORT, _TINY, _LARGE = 1 / 16, _h("0x1.bb67ap-27"), _h("0x1.49ff2p+52")
_TINY_QUOTIENT = 2.0**-56
_ATAN_CENTRES = LibraryTable("atan", 241, 7, "d88cb8b9fdffb03f00536463", "48e09fcdce6990c0", as_they_are)
"""c, its arctangent, and the coefficients of z, z**2, ..."""


def _atan_row(m: Machine, u: Number) -> Sequence[Number]:
    """For u from 1/16 to 1."""
    return m.rows(_ATAN_CENTRES, (m.bits(m.fma(u, 256.0, 2.0**52)) - 16) & 255, 7)


def atan(m: Machine, x: Number) -> Told:
    """atan(x)."""
    u = m.abs(x)
    inverse = u >= 1.0
    w = 1.0 / u
    product, error = exact_product(m, u, w)
    rest = (1.0 - product) - error
    g = m.select(inverse, w, u)
    v = g * g
    p, term = horner(m, v, _ATAN), g * v
    turned = HALF_PI[0] - w
    large = (((((HALF_PI[0] - turned) - w) + HALF_PI[1]) - rest * w) - term * p) + turned
    row = _atan_row(m, g)
    z = g - row[0]
    z = m.select(inverse, m.fma(rest, w, z), z)
    q = horner(m, z, row[2:])
    above = m.select(u < 16.0, (HALF_PI[0] - row[1]) + m.fma(-q, z, HALF_PI[1]), large)
    below = m.select(u < _SHORT, m.fma(term, p, g), m.fma(q, z, row[1]))
    value = m.select(u >= _LARGE, HALF_PI[0], m.select(inverse, above, below))
    return m.copysign(m.select(u < _TINY, u, value), x), False


def atan2(m: Machine, y: Number, x: Number) -> Told:
    """atan2(y, x)."""
    ay, ax = m.abs(y), m.abs(x)
    turned = ay >= ax
    larger, smaller = m.select(turned, ay, ax), m.select(turned, ax, ay)
    factor = m.select(larger < 2.0**-400, 2.0**500, m.select(larger > 2.0**400, 2.0**-500, 1.0))
    top, under = smaller * factor, larger * factor
    u = top / under
    product, error = exact_product(m, under, u)
    rest = ((top - product) - error) / under
    value = _angle(m, u, rest, x < 0.0, turned, m.equal(ay, ax))
    at_zero = m.select(m.copysign(1.0, x) < 0.0, 2.0 * HALF_PI[0], 0.0)
    value = m.copysign(m.select(m.equal(ay + ax, 0.0), at_zero, value), y)
    # The library divides once where the quotient is tiny, and has rules for infinity.
    tiny = (u < _TINY_QUOTIENT) & (smaller > 0.0) & (x > 0.0) & ~turned
    return value, tiny | m.equal(larger, math.inf)


def _angle(m: Machine, u: Number, rest: Number, negative: Number, turned: Number, same: Number) -> Number:
    """The angle from 0 to pi of which the smaller operand by the larger is u + rest."""
    short = u < _SHORT
    v = u * u
    cube, p, row = u * v, horner(m, v, _ATAN), _atan_row(m, u)
    t = u - row[0]
    # From 0 on.
    z = t + rest
    low = m.select(m.abs(t) > m.abs(rest), (t - z) + rest, (rest - z) + t)
    high = m.fma(z, row[2], m.fma(low, row[2], (z * z) * horner(m, z, row[3:]))) + row[1]
    plain = m.select(short, u + m.fma(cube, p, rest), high)
    # From pi/2 or pi on, there or back.
    back = m.select(negative & turned & ~same, 1.0, -1.0)
    half = turned & ~(negative & same)
    first, second = m.select(half, HALF_PI[0], 2.0 * HALF_PI[0]), m.select(half, HALF_PI[1], 2.0 * HALF_PI[1])
    signed = back * u
    total = first + signed
    near = ((((first - total) + signed) + second) + back * rest) + (back * cube) * p + total
    far = m.fma(back * horner(m, z, row[2:]), z, second) + (first + back * row[1])
    return m.select(turned | negative, m.select(short, near, far), plain)
