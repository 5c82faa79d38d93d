"""sin, cos and tan: x = n pi/2 + r with |r| <= pi/4 (W. Cody, W. Waite, 1980), and a polynomial in r.

With a fused multiply-add the first step, x - n * (pi/2 rounded), is exact while |x| is at most LIMIT, and every other
step is one rounding of what it leaves: r is right to about a unit in its last place, also where x is next to a
multiple of pi/2. tan takes r as a pair. Beyond LIMIT (2**45 in float64, 2**17 in float32) a number is `beyond_limit`.
"""

from __future__ import annotations

import math

from pyflat.functions.vmath.coefficients import COS, HALF_PI, SIN, TWO_OVER_PI
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
