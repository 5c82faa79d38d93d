"""log, log2, log10 and log1p: k ln 2 + log f with f from sqrt(1/2) to sqrt(2), and log f = 2 atanh(s) with
s = (f - 1) / (f + 1), as in fdlibm (K. C. Ng, Sun Microsystems, 1993)."""

from __future__ import annotations

import math

from pyflat.functions.vmath.coefficients import LN2, LOG, LOG2_E, LOG10_2, LOG10_E
from pyflat.functions.vmath.machine import Machine, Number, pick
from pyflat.functions.vmath.steps import exact_product, exact_sum, mantissa_exponent, polynomial, quick_sum


def _tail(m: Machine, s: Number, half_square: Number) -> Number:
    """log(1 + f) - f + f**2/2 of s = f / (2 + f), for 1 + f from sqrt(1/2) to sqrt(2): s (f**2/2 + s**2 R)."""
    z = s * s
    return s * m.fma(z, polynomial(m, z, pick(m, LOG)), half_square)


def at_limits(m: Machine, x: Number, result: Number) -> Number:
    """The value of a logarithm that is infinite at 0 and at infinity and nan below 0."""
    finite = m.select(x < math.inf, result, x)
    return m.select(x > 0.0, finite, m.select(m.equal(x, 0.0), -math.inf, math.nan))


def log(m: Machine, x: Number) -> Number:
    """The natural logarithm: -inf at 0, nan below."""
    mantissa, k = mantissa_exponent(m, x)
    first, second = pick(m, LN2)
    f = mantissa - 1.0
    half_square = 0.5 * f * f
    tail = m.fma(k, second, _tail(m, f / (2.0 + f), half_square))
    return at_limits(m, x, m.fma(k, first, f - (half_square - tail)))


def log2(m: Machine, x: Number) -> Number:
    """The binary logarithm, exact for powers of two."""
    mantissa, k = mantissa_exponent(m, x)
    first, second = pick(m, LOG2_E)
    f = mantissa - 1.0
    half_square = 0.5 * f * f
    natural = f - (half_square - _tail(m, f / (2.0 + f), half_square))
    return at_limits(m, x, m.fma(natural, first, m.fma(natural, second, k)))


def log10(m: Machine, x: Number) -> Number:
    """The decimal logarithm, with a few digits more before the last rounding: right at powers of ten."""
    mantissa, k = mantissa_exponent(m, x)
    f = mantissa - 1.0
    half_square = 0.5 * f * f
    high, low = quick_sum(f, _tail(m, f / (2.0 + f), half_square) - half_square)
    first, second = pick(m, LOG10_E)
    product, error = exact_product(m, high, first)
    of_two, of_two_rest = pick(m, LOG10_2)
    shift, shift_error = exact_product(m, k, of_two)
    total, lost = quick_sum(shift, product)
    rest = m.fma(high, second, m.fma(low, first, m.fma(k, of_two_rest, shift_error)))
    return at_limits(m, x, total + (lost + (error + rest)))


def log1p_of_pair(m: Machine, x: Number, rest: Number, more: Number = 0.0) -> Number:
    """log(1 + x + rest) + more ln 2 for a positive 1 + x, a tiny rest and a whole number `more`."""
    total, low = exact_sum(1.0, x)
    mantissa, k = mantissa_exponent(m, total)
    # f is exact: log(total + low) is log(total) + low / total.
    f = mantissa - 1.0
    half_square = 0.5 * f * f
    k = k + more
    first, second = pick(m, LN2)
    tail = m.fma(k, second, _tail(m, f / (2.0 + f), half_square) + (low + rest) / total)
    shift = k * first
    high, lost = quick_sum(shift, f)
    return high + (lost - (half_square - m.fma(k, first, -shift) - tail))


def log1p(m: Machine, x: Number) -> Number:
    """log(1 + x), without cancellation near 0 and with its sign there: -inf at -1, nan below."""
    ordinary = (x > -1.0) & (x < math.inf)
    result = log1p_of_pair(m, m.select(ordinary, x, 0.0), 0.0)
    result = m.select(m.abs(x) < _UNCHANGED[m.format.name], x, result)
    special = m.select(m.equal(x, -1.0), -math.inf, m.select(x < -1.0, math.nan, x))
    return m.select(ordinary, result, special)


_UNCHANGED = {"f8": 2.0**-54, "f4": 2.0**-25}
"""Below, log(1 + x) rounds to x."""
