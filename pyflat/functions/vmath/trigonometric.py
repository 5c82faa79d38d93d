"""sin, cos and tan: x = n pi/2 + r with |r| <= pi/4 (W. Cody, W. Waite, 1980), and a polynomial in r.

With a fused multiply-add the first step, x - n * (pi/2 rounded), is exact while |x| is at most LIMIT, and every other
step is one rounding of what it leaves: r is right to about a unit in its last place, also where x is next to a
multiple of pi/2. tan takes r as a pair. Beyond LIMIT (2**45 in float64, 2**17 in float32) a number is `beyond_limit`.

asin, acos, atan and atan2: polynomials on |x| <= 1/2, elsewhere by an identity.
"""

from __future__ import annotations

import math

from pyflat.functions.vmath.coefficients import ASIN, ATAN, COS, HALF_PI, SIN, TWO_OVER_PI
from pyflat.functions.vmath.machine import Machine, Number, pick
from pyflat.functions.vmath.steps import Pair, exact_product, flip_sign, near_quotient, polynomial, quick_sum, whole

LIMIT = {"f8": 2.0**45, "f4": 2.0**17}


def beyond_limit(m: Machine, x: Number) -> Number:
    """Whether x is finite and too large for the reduction."""
    size = m.abs(x)
    return (size > LIMIT[m.format.name]) & (size < math.inf)


def _reduced(m: Machine, x: Number) -> tuple[Number, Number]:
    """The quadrant of |x| in the low bits of an integer, and what is left of |x|."""
    size = m.abs(x)
    n, quadrant = whole(m, size, pick(m, TWO_OVER_PI)[0])
    first, second, third = pick(m, HALF_PI)
    return quadrant, m.fma(-n, third, m.fma(-n, second, m.fma(-n, first, size)))


def reduced_pair(m: Machine, x: Number) -> tuple[Number, Pair]:
    """The quadrant of |x| in the low bits of an integer, and what is left of |x| as a pair."""
    size = m.abs(x)
    n, quadrant = whole(m, size, pick(m, TWO_OVER_PI)[0])
    first, second, third = pick(m, HALF_PI)
    rest = m.fma(-n, first, size)
    product, error = exact_product(m, n, second)
    high = rest - product
    low = ((rest - high) - product) - m.fma(n, third, error)
    return quadrant, quick_sum(high, low)


def _sin_and_cos(m: Machine, r: Number) -> tuple[Number, Number]:
    z = r * r
    sine = m.fma(r * z, polynomial(m, z, pick(m, SIN)), r)
    cosine = m.fma(z * z, polynomial(m, z, pick(m, COS)), m.fma(z, -0.5, 1.0))
    return sine, cosine


def sin_and_cos_pairs(m: Machine, r: Number, rest: Number) -> tuple[Pair, Pair]:
    """The sine and the cosine of r + rest, |r| <= pi/4, as pairs with some digits more than one number has."""
    z = r * r
    sine = quick_sum(r, m.fma(r * z, polynomial(m, z, pick(m, SIN)), rest))
    high, lost = quick_sum(1.0, -0.5 * z)
    return sine, quick_sum(high, lost + m.fma(z * z, polynomial(m, z, pick(m, COS)), -r * rest))


def is_odd(m: Machine, quadrant: Number) -> Number:
    return ~m.equal(quadrant & 1, 0)


def quadrant_sign(m: Machine, quadrant: Number) -> Number:
    """The second bit of the quadrant as a sign bit."""
    return m.left(quadrant, m.format.width - 2)


def sin(m: Machine, x: Number) -> Number:
    """The sine of x radians, |x| <= LIMIT."""
    quadrant, r = _reduced(m, x)
    sine, cosine = _sin_and_cos(m, r)
    return flip_sign(m, m.select(is_odd(m, quadrant), cosine, sine), quadrant_sign(m, quadrant) ^ m.bits(x))


def cos(m: Machine, x: Number) -> Number:
    """The cosine of x radians, |x| <= LIMIT."""
    quadrant, r = _reduced(m, x)
    sine, cosine = _sin_and_cos(m, r)
    return flip_sign(m, m.select(is_odd(m, quadrant), sine, cosine), quadrant_sign(m, quadrant + 1))


def tan(m: Machine, x: Number) -> Number:
    """The tangent of x radians, |x| <= LIMIT: sine by cosine as pairs, one division."""
    quadrant, (r, rest) = reduced_pair(m, x)
    sine, cosine = sin_and_cos_pairs(m, r, rest)
    odd = is_odd(m, quadrant)
    top = m.select(odd, cosine[0], sine[0]), m.select(odd, cosine[1], sine[1])
    under = m.select(odd, sine[0], cosine[0]), m.select(odd, sine[1], cosine[1])
    value = flip_sign(m, near_quotient(m, top, under), m.left(quadrant, m.format.width - 1) ^ m.bits(x))
    return m.select(m.abs(x) < _UNCHANGED[m.format.name], x, value)


_UNCHANGED = {"f8": 2.0**-27, "f4": 2.0**-12}
"""Below, tan x rounds to x; and what the quotient loses there when x is subnormal does not matter."""


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
