"""asin, acos, atan and atan2: polynomials on |x| <= 1/2, elsewhere by an identity."""

from __future__ import annotations

import math

from pyflat.functions.vmath.coefficients import ASIN, ATAN, HALF_PI
from pyflat.functions.vmath.machine import Machine, Number, pick
from pyflat.functions.vmath.steps import Pair, polynomial, quick_sum


def _arcsine(m: Machine, x: Number) -> tuple[Number, Number, Number]:
    """Whether |x| > 1/2, and s and asin(s) - s of s = |x| or, there, sqrt((1 - |x|) / 2)."""
    size = m.abs(x)
    large = size > 0.5
    z = m.select(large, m.fma(size, -0.5, 0.5), size * size)
    s = m.select(large, m.sqrt(z), size)
    return large, s, s * z * polynomial(m, z, pick(m, ASIN))


def asin(m: Machine, x: Number) -> Number:
    """The arc sine; nan beyond [-1, 1]."""
    large, s, tail = _arcsine(m, x)
    first, second = pick(m, HALF_PI)[:2]
    # pi/2 - 2 s - 2 tail; 2 s is exact.
    high, lost = quick_sum(first, -2.0 * s)
    value = m.select(large, high + m.fma(-2.0, tail, lost + second), s + tail)
    return m.copysign(value, x)


def acos(m: Machine, x: Number) -> Number:
    """The arc cosine; nan beyond [-1, 1]."""
    large, s, tail = _arcsine(m, x)
    first, second = pick(m, HALF_PI)[:2]
    negative = x < 0.0
    near_one = 2.0 * (s + tail)
    near_minus_one = m.fma(-2.0, s, 2.0 * first) + m.fma(-2.0, tail, 2.0 * second)
    signed, signed_tail = m.copysign(s, x), m.copysign(tail, x)
    middle = (first - signed) + (((first - (first - signed)) - signed) + (second - signed_tail))
    return m.select(large, m.select(negative, near_minus_one, near_one), middle)


def _arctangent(m: Machine, top: Number, under: Number) -> Pair:
    """atan(top / under) for 0 <= top <= under as a pair, with one division."""
    # From 1/2 on the difference is exact.
    middle = top > 0.5 * under
    t = m.select(middle, top - under, top) / m.select(middle, top + under, under)
    z = t * t
    first, second = pick(m, HALF_PI)[:2]
    tail = t * z * polynomial(m, z, pick(m, ATAN))
    offset, offset_rest = m.select(middle, 0.5 * first, 0.0), m.select(middle, 0.5 * second, 0.0)
    high = offset + t
    return high, (offset - high) + t + (tail + offset_rest)


def atan(m: Machine, x: Number) -> Number:
    """The arc tangent."""
    size = m.abs(x)
    steep = size > 1.0
    high, low = _arctangent(m, m.select(steep, 1.0, size), m.select(steep, size, 1.0))
    first, second = pick(m, HALF_PI)[:2]
    value = m.select(steep, (first - high) + (((first - (first - high)) - high) + (second - low)), high + low)
    return m.copysign(value, x)


def atan2(m: Machine, y: Number, x: Number) -> Number:
    """The angle of the point (x, y), with the special cases of IEEE 754."""
    width, height = m.abs(x), m.abs(y)
    steep = height > width
    under, top = m.select(steep, height, width), m.select(steep, width, height)
    # The sum of the two must not overflow; of two infinities the quotient is taken as 1, of two zeros as 0.
    factor = m.select(under > _HUGE[m.format.name], 0.25, 1.0)
    both_infinite = m.equal(top, math.inf)
    top, under = m.select(both_infinite, 1.0, top * factor), m.select(both_infinite, 1.0, under * factor)
    high, low = _arctangent(m, top, m.select(m.equal(under, 0.0), 1.0, under))
    # The angle is the small one itself, a half or a quarter turn minus it, or a quarter turn plus it.
    left = m.bits(x) < 0
    first, second = pick(m, HALF_PI)[:2]
    base = m.select(steep, first, m.select(left, 2.0 * first, 0.0))
    base_rest = m.select(steep, second, m.select(left, 2.0 * second, 0.0))
    minus = steep ^ left
    high, low = m.select(minus, -high, high), m.select(minus, -low, low)
    total = base + high
    value = total + (((base - total) + high) + (base_rest + low))
    return m.select(m.equal(x, x) & m.equal(y, y), m.copysign(value, y), math.nan)


_HUGE = {"f8": 2.0**1000, "f4": 2.0**120}
