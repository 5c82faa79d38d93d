"""sin, cos and tan: x = n pi/2 + r with |r| <= pi/4 (W. Cody, W. Waite, 1980), and a polynomial in r.

With a fused multiply-add the first step, x - n * (pi/2 rounded), is exact while |x| is below LIMIT; two further parts
of pi/2 give r as a pair with a relative error far below the format's, also for the numbers next to a multiple of
pi/2. Beyond LIMIT (2**45 in float64, 2**17 in float32) a number is `beyond_limit`, and the results here are nan.
"""

from __future__ import annotations

import math

from pyflat.vmath.coefficients import COS, HALF_PI, SIN, TWO_OVER_PI
from pyflat.vmath.machine import Machine, Number, pick
from pyflat.vmath.steps import Pair, exact_product, flip_sign, near_quotient, polynomial, quick_sum, whole

LIMIT = {"f8": 2.0**45, "f4": 2.0**17}


def beyond_limit(m: Machine, x: Number) -> Number:
    """Whether x is finite and too large for the reduction."""
    size = m.abs(x)
    return (size > LIMIT[m.format.name]) & (size < math.inf)


def _reduced(m: Machine, x: Number) -> tuple[Number, Pair]:
    """The quadrant of |x| in the low bits of an integer, and what is left of |x| as a pair."""
    size = m.abs(x)
    size = m.select(size <= LIMIT[m.format.name], size, math.nan)
    n, quadrant = whole(m, size, pick(m, TWO_OVER_PI)[0])
    first, second, third = pick(m, HALF_PI)[:3]
    rest = m.fma(-n, first, size)
    product, error = exact_product(m, n, second)
    high = rest - product
    low = ((rest - high) - product) - m.fma(n, third, error)
    return quadrant, quick_sum(high, low)


def _sin_tail(m: Machine, r: Number, rest: Number, z: Number) -> Number:
    """sin(r + rest) - r."""
    return m.fma(r * z, polynomial(m, z, pick(m, SIN)), rest)


def _cos_tail(m: Machine, r: Number, rest: Number, z: Number) -> Number:
    """cos(r + rest) - 1 + r**2 / 2."""
    return m.fma(z * z, polynomial(m, z, pick(m, COS)), -r * rest)


def _odd(m: Machine, quadrant: Number) -> Number:
    return ~m.equal(quadrant & 1, 0)


def _sign(m: Machine, quadrant: Number) -> Number:
    """The second bit of the quadrant as a sign bit."""
    return m.left(quadrant, m.format.width - 2)


def sin(m: Machine, x: Number) -> Number:
    """The sine of x radians, |x| <= LIMIT."""
    quadrant, (r, rest) = _reduced(m, x)
    z = r * r
    sine, cosine = r + _sin_tail(m, r, rest, z), m.fma(z, -0.5, 1.0) + _cos_tail(m, r, rest, z)
    value = m.select(_odd(m, quadrant), cosine, sine)
    return flip_sign(m, value, _sign(m, quadrant) ^ m.bits(x))


def cos(m: Machine, x: Number) -> Number:
    """The cosine of x radians, |x| <= LIMIT."""
    quadrant, (r, rest) = _reduced(m, x)
    z = r * r
    sine, cosine = r + _sin_tail(m, r, rest, z), m.fma(z, -0.5, 1.0) + _cos_tail(m, r, rest, z)
    value = m.select(_odd(m, quadrant), sine, cosine)
    return flip_sign(m, value, _sign(m, quadrant + 1))


def tan(m: Machine, x: Number) -> Number:
    """The tangent of x radians, |x| <= LIMIT: sine by cosine as pairs, one division."""
    quadrant, (r, rest) = _reduced(m, x)
    z = r * r
    sine = quick_sum(r, _sin_tail(m, r, rest, z))
    high, lost = quick_sum(1.0, -0.5 * z)
    cosine = quick_sum(high, lost + _cos_tail(m, r, rest, z))
    odd = _odd(m, quadrant)
    top = m.select(odd, cosine[0], sine[0]), m.select(odd, cosine[1], sine[1])
    under = m.select(odd, sine[0], cosine[0]), m.select(odd, sine[1], cosine[1])
    value = flip_sign(m, near_quotient(m, top, under), m.left(quadrant, m.format.width - 1) ^ m.bits(x))
    return m.select(m.abs(x) < _UNCHANGED[m.format.name], x, value)


_UNCHANGED = {"f8": 2.0**-27, "f4": 2.0**-12}
"""Below, tan x rounds to x; and what the quotient loses there when x is subnormal does not matter."""
