"""sinh, cosh and tanh from e**x as a pair or, near 0, by a polynomial; asinh, acosh and atanh from log1p of a pair."""

from __future__ import annotations

import math

from pyflat.functions.vmath.coefficients import SINH, TANH
from pyflat.functions.vmath.machine import F8, Machine, Number, pick
from pyflat.functions.vmath.power import exp_pair, log1p_of_pair
from pyflat.functions.vmath.steps import Pair, polynomial, power_of_two, quick_sum, reduced_exponent, scale


def _halves(m: Machine, size: Number) -> tuple[Pair, Number, Number]:
    """e**size * 2**-n as a pair, e**-size * 2**-n rounded, and n for `scale`."""
    limit = 712.0 if m.format is F8 else 91.0
    k, (r, rest) = reduced_exponent(m, m.select(size > limit, limit, size), 0.0)
    high, low = exp_pair(m, r, rest)
    # Beyond 2**60 the second exponential is nothing to the first.
    n = m.floats(k) - (m.format.magic + 2.0 * m.format.bias)
    inverse = power_of_two(m, m.select(n > 60.0, -60.0, -n))
    return (high, low), inverse * (inverse / high), k


def sinh(m: Machine, x: Number) -> Number:
    """The hyperbolic sine."""
    size = m.abs(x)
    (high, low), small, k = _halves(m, size)
    total, lost = quick_sum(high, -small)
    # The difference may be small: only the sum of both is between 1/4 and 4.
    large = scale(m, m.select(size < 1.0, 1.0, total + (lost + low)), k - 1)
    z = x * x
    near_zero = m.fma(size * z, polynomial(m, z, pick(m, SINH)), size)
    return m.copysign(m.select(size < 1.0, near_zero, large), x)


def cosh(m: Machine, x: Number) -> Number:
    """The hyperbolic cosine."""
    (high, low), small, k = _halves(m, m.abs(x))
    total, lost = quick_sum(high, small)
    return scale(m, total + (lost + low), k - 1)


def tanh(m: Machine, x: Number) -> Number:
    """The hyperbolic tangent: 1 - 2 / (e**2x + 1)."""
    size = m.abs(x)
    limit = 24.0 if m.format is F8 else 12.0
    k, (r, rest) = reduced_exponent(m, 2.0 * m.select(size > limit, limit, size), 0.0)
    high, low = exp_pair(m, r, rest)
    power = m.floats(m.left(k - m.format.bias, m.format.digits))
    large = 1.0 - 2.0 / (m.fma(power, high, 1.0) + power * low)
    z = x * x
    near_zero = m.fma(size * z, polynomial(m, z, pick(m, TANH)), size)
    return m.copysign(m.select(size < 0.6, near_zero, large), x)


def asinh(m: Machine, x: Number) -> Number:
    """The inverse hyperbolic sine: log1p(a + a**2 / (1 + sqrt(1 + a**2))) of a = |x|."""
    size = m.abs(x)
    huge = size > _HUGE[m.format.name]
    a = m.select(huge, 1.0, size)
    more = a * (a / (1.0 + m.sqrt(m.fma(a, a, 1.0))))
    total, rest = quick_sum(a, more)
    value = log1p_of_pair(m, m.select(huge, size, total), m.select(huge, 0.0, rest), m.select(huge, 1.0, 0.0))
    return m.select(size < math.inf, m.copysign(m.select(size < _UNCHANGED[m.format.name], size, value), x), x)


def acosh(m: Machine, x: Number) -> Number:
    """The inverse hyperbolic cosine: log1p(t + sqrt(2 t + t**2)) of t = x - 1; nan below 1."""
    huge = x > _HUGE[m.format.name]
    t = m.select(huge, x, x - 1.0)
    root = m.sqrt(m.fma(t, t, 2.0 * t))
    total, rest = quick_sum(m.select(t > root, t, root), m.select(t > root, root, t))
    value = log1p_of_pair(m, m.select(huge, x, total), m.select(huge, 0.0, rest), m.select(huge, 1.0, 0.0))
    return m.select(x < math.inf, m.select(x < 1.0, math.nan, value), x)


def atanh(m: Machine, x: Number) -> Number:
    """The inverse hyperbolic tangent: log1p(2 a / (1 - a)) / 2 of a = |x|; nan beyond [-1, 1]."""
    size = m.abs(x)
    under = 1.0 - size
    lost = (1.0 - under) - size
    top = 2.0 * size
    reciprocal = 1.0 / under
    first = top * reciprocal
    rest = (m.fma(-first, under, top) - first * lost) * reciprocal
    value = 0.5 * log1p_of_pair(m, *quick_sum(first, rest))
    value = m.select(size < _UNCHANGED[m.format.name], size, value)
    value = m.select(size < 1.0, value, m.select(m.equal(size, 1.0), math.inf, math.nan))
    return m.copysign(value, x)


_HUGE = {"f8": 2.0**500, "f4": 2.0**60}
_UNCHANGED = {"f8": 2.0**-28, "f4": 2.0**-13}
"""Below, asinh x and atanh x round to x."""
