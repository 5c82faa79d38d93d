"""log, log2, log10 and log1p: k ln 2 + log f with f from sqrt(1/2) to sqrt(2), and log f = 2 atanh(s) with
s = (f - 1) / (f + 1), as in fdlibm (K. C. Ng, Sun Microsystems, 1993)."""

from __future__ import annotations

import math

from pyflat.vmath.coefficients import LN2, LOG, LOG2_E, LOG10_2, LOG10_E
from pyflat.vmath.machine import Machine, Number, pick
from pyflat.vmath.steps import Pair, exact_product, exact_sum, mantissa_exponent, polynomial, quick_sum


def _log_of_one_plus(m: Machine, f: Number, rest: Number) -> Pair:
    """log(1 + f) for 1 + f from sqrt(1/2) to sqrt(2), plus a tiny `rest`, as a pair with a few digits more than one
    number has: f - f**2/2, and s (f**2/2 + s**2 R)."""
    s = f / (2.0 + f)
    z = s * s
    half_square = 0.5 * f * f
    tail = s * m.fma(z, polynomial(m, z, pick(m, LOG)), half_square)
    return quick_sum(f, (tail + rest) - half_square)


def _at_limits(m: Machine, x: Number, result: Number) -> Number:
    """The value of a logarithm that is infinite at 0 and at infinity and nan below 0."""
    special = m.select(m.equal(x, 0.0), -math.inf, m.select(x < 0.0, math.nan, x))
    return m.select((x > 0.0) & (x < math.inf), result, special)


def log(m: Machine, x: Number) -> Number:
    """The natural logarithm: -inf at 0, nan below."""
    mantissa, k = mantissa_exponent(m, x)
    first, second = pick(m, LN2)
    f = mantissa - 1.0
    s = f / (2.0 + f)
    z = s * s
    half_square = 0.5 * f * f
    tail = m.fma(k, second, s * m.fma(z, polynomial(m, z, pick(m, LOG)), half_square))
    return _at_limits(m, x, m.fma(k, first, f - (half_square - tail)))


def log2(m: Machine, x: Number) -> Number:
    """The binary logarithm, exact for powers of two."""
    mantissa, k = mantissa_exponent(m, x)
    high, low = _log_of_one_plus(m, mantissa - 1.0, 0.0)
    first, second = pick(m, LOG2_E)
    product, error = exact_product(m, high, first)
    total, lost = quick_sum(k, product)
    return _at_limits(m, x, total + (lost + (error + m.fma(high, second, low * first))))


def log10(m: Machine, x: Number) -> Number:
    """The decimal logarithm."""
    mantissa, k = mantissa_exponent(m, x)
    high, low = _log_of_one_plus(m, mantissa - 1.0, 0.0)
    first, second = pick(m, LOG10_E)
    product, error = exact_product(m, high, first)
    of_two, of_two_rest = pick(m, LOG10_2)
    shift, shift_error = exact_product(m, k, of_two)
    total, lost = quick_sum(shift, product)
    rest = m.fma(high, second, m.fma(low, first, m.fma(k, of_two_rest, shift_error)))
    return _at_limits(m, x, total + (lost + (error + rest)))


def log1p_of_pair(m: Machine, x: Number, rest: Number, more: Number = 0.0) -> Number:
    """log(1 + x + rest) + more ln 2 for a positive 1 + x, a tiny rest and a whole number `more`."""
    total, low = exact_sum(1.0, x)
    low = low + rest
    mantissa, k = mantissa_exponent(m, total)
    # f is exact, and low/total needs only a few digits: log(total + low) = log(total) + low/total.
    f = mantissa - 1.0
    s = f / (2.0 + f)
    z = s * s
    half_square = 0.5 * f * f
    k = k + more
    first, second = pick(m, LN2)
    tail = m.fma(k, second, m.fma(s, m.fma(z, polynomial(m, z, pick(m, LOG)), half_square), low / total))
    high, lost = quick_sum(k * first, f)
    return high + (lost - (half_square - m.fma(k, first, -(k * first)) - tail))


def log1p(m: Machine, x: Number) -> Number:
    """log(1 + x), without cancellation near 0 and with its sign there: -inf at -1, nan below."""
    ordinary = (x > -1.0) & (x < math.inf)
    result = log1p_of_pair(m, m.select(ordinary, x, 0.0), 0.0)
    result = m.select(m.abs(x) < _UNCHANGED[m.format.name], x, result)
    special = m.select(m.equal(x, -1.0), -math.inf, m.select(x < -1.0, math.nan, x))
    return m.select(ordinary, result, special)


_UNCHANGED = {"f8": 2.0**-54, "f4": 2.0**-25}
"""Below, log(1 + x) rounds to x."""
