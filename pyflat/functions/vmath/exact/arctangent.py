"""atan and atan2 as the GNU C library computes them since version 2.35 (of IBM's Accurate Mathematical Library, 2001
on, under the LGPL: here are its algorithm and the coefficients of its polynomial, none of its text; its table is read
from the library that is loaded).

    u < 1/16                u + u**3 P(u**2)
    u <= 1                  z = u - c, and a polynomial of z with coefficients by a table
    above                   pi/2 less the arctangent of 1 / u, which is a sum
    atan2                   the same of the smaller by the larger operand, added to 0, pi/2 or pi, or subtracted
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pyflat.functions.vmath.exact.tables import LibraryTable, as_they_are
from pyflat.functions.vmath.exact.trigonometric import HALF_PI
from pyflat.functions.vmath.glibc import Told
from pyflat.functions.vmath.machine import Machine, Number
from pyflat.functions.vmath.steps import exact_product, horner

_h = float.fromhex
_P = tuple(map(_h, ("-0x1.5555555555555p-2", "0x1.99999999997fdp-3", "-0x1.24924923f7603p-3", "0x1.c71c6e5129a3bp-4",
                    "-0x1.7458022b13c25p-4", "0x1.375f08b31cbcep-4")))
_SHORT, _TINY, _LARGE = 1 / 16, _h("0x1.bb67ap-27"), _h("0x1.49ff2p+52")
_TINY_QUOTIENT = 2.0**-56
_CENTRES = LibraryTable("atan", 241, 7, "d88cb8b9fdffb03f00536463", "48e09fcdce6990c0", as_they_are)
"""c, its arctangent, and the coefficients of z, z**2, ..."""


def _row(m: Machine, u: Number) -> Sequence[Number]:
    """For u from 1/16 to 1."""
    return m.rows(_CENTRES, (m.bits(m.fma(u, 256.0, 2.0**52)) - 16) & 255, 7)


def atan(m: Machine, x: Number) -> Told:
    """atan(x)."""
    u = m.abs(x)
    inverse = u >= 1.0
    w = 1.0 / u
    product, error = exact_product(m, u, w)
    rest = (1.0 - product) - error
    g = m.select(inverse, w, u)
    v = g * g
    p, term = horner(m, v, _P), g * v
    turned = HALF_PI[0] - w
    large = (((((HALF_PI[0] - turned) - w) + HALF_PI[1]) - rest * w) - term * p) + turned
    row = _row(m, g)
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
    cube, p, row = u * v, horner(m, v, _P), _row(m, u)
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
