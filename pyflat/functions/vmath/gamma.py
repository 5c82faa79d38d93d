"""gamma and lgamma: Stirling's series from 7 on, below by gamma(a) = gamma(a + n) / (a (a + 1) ... (a + n - 1)), and
gamma of numbers below 1/2 by Euler's reflection. float32 lanes are computed in float64.

erf and erfc: a polynomial near 0; elsewhere erfc a = e**(-a**2) P(t) / (1 + 2 a) with t = (a - 3) / (a + 3)
(M. Shepherd, J. Laframboise, "Chebyshev approximation of (1 + 2x) exp(x**2) erfc x", Math. Comp. 36, 1981).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pyflat.functions.vmath.coefficients import ERF, ERFC, HALF_LN_2PI, LGAMMA_AT_1, LGAMMA_AT_2, PI, STIRLING
from pyflat.functions.vmath.machine import F4, F8, Machine, Number, pick
from pyflat.functions.vmath.power import exp_pair, log_pair
from pyflat.functions.vmath.steps import (
    Pair,
    exact_product,
    exact_sum,
    near_quotient,
    pair_product,
    polynomial,
    quick_sum,
    reduced_exponent,
    scale,
    scale_by_halves,
)
from pyflat.functions.vmath.trigonometric import sin_and_cos_pairs

_FROM = 7.0
"""Where the series has float64's digits."""


def _shifted(m: Machine, a: Number, rest: Number) -> tuple[Pair, Pair]:
    """t = a + rest + n >= _FROM for a + rest > 0, and the product of the n factors from a + rest to t - 1, as pairs."""
    t, product = (a, rest), (1.0, 0.0)
    for step in range(int(_FROM)):
        below = t[0] < _FROM
        longer = pair_product(m, product, t)
        product = m.select(below, longer[0], product[0]), m.select(below, longer[1], product[1])
        total, lost = exact_sum(t[0], 1.0) if step == 0 else quick_sum(t[0], 1.0)
        t = m.select(below, total, t[0]), m.select(below, lost + t[1], t[1])
    return t, product


def _log_stirling(m: Machine, t: Number, rest: Number, log: Number, log_rest: Number) -> Pair:
    """log(gamma(t + rest)) for t >= _FROM, its logarithm and a tiny rest:
    (t - 1/2) log t - t + log(2 pi) / 2 + S(1/t**2) / t."""
    inverse = 1.0 / t
    product, product_rest = exact_product(m, t - 0.5, log)
    total, lost = exact_sum(product, -t)
    first, second = HALF_LN_2PI[0]
    total, lost_again = exact_sum(total, first)
    series = m.fma(inverse, polynomial(m, inverse * inverse, STIRLING[0]), second)
    slope = m.fma(-0.5, inverse, log)
    low = m.fma(t - 0.5, log_rest, product_rest) + m.fma(rest, slope, series)
    return exact_sum(total, (lost + lost_again) + low)


def _sine_of_turns(m: Machine, x: Number) -> tuple[Pair, Number]:
    """|sin(pi x)| as a pair, and the sine's sign as a number with that sign."""
    n = m.rint(x)
    r = x - n
    size = m.abs(r)
    steep = size > 0.25
    v = m.select(steep, 0.5 - size, size)
    first, second = PI[0]
    angle, angle_rest = exact_product(m, v, first)
    angle, angle_rest = quick_sum(angle, m.fma(v, second, angle_rest))
    sine, cosine = sin_and_cos_pairs(m, angle, angle_rest)
    half = n * 0.5
    sign = m.select(m.equal(m.floor(half), half), r, -r)
    return (m.select(steep, cosine[0], sine[0]), m.select(steep, cosine[1], sine[1])), sign


def gamma(m: Machine, x: Number) -> Number:
    """The gamma function; nan at the negative whole numbers, an infinity with x's sign at 0."""
    if m.format is F4:
        return m.narrow(gamma(m.wide(), m.widen(x)))
    reflected = x < 0.5
    a, rest = exact_sum(1.0, -x)
    a, rest = m.select(reflected, a, x), m.select(reflected, rest, 0.0)
    large = a > 190.0
    (t, t_rest), product = _shifted(m, m.select(large, 190.0, a), m.select(large, 0.0, rest))
    k, (r, r_rest) = reduced_exponent(m, *_log_stirling(m, t, t_rest, *log_pair(m, t)))
    power = exp_pair(m, r, r_rest)
    sine, sign = _sine_of_turns(m, x)
    first, second = PI[0]
    top, under = pair_product(m, product, (first, second)), pair_product(m, sine, power)
    top = m.select(reflected, top[0], power[0]), m.select(reflected, top[1], power[1])
    under = m.select(reflected, under[0], product[0]), m.select(reflected, under[1], product[1])
    # Where it is reflected, the power of two divides.
    result = scale_by_halves(m, near_quotient(m, top, under), m.select(reflected, _BIASES - k, k))
    result = m.select(reflected, m.copysign(result, sign), result)
    result = m.select(m.abs(x) < 2.0**-60, 1.0 / x, result)
    pole = (x < 0.0) & m.equal(m.rint(x), x)
    return m.select(pole, math.nan, m.select(x < math.inf, result, x))


_BIASES = 4 * 1023


def _at_zero(m: Machine, d: Number, coefficients: Sequence[float]) -> Number:
    """d times a polynomial, whose constant, the first two coefficients, is most of it."""
    constant, rest, *others = coefficients
    return m.fma(d, constant, d * m.fma(d, polynomial(m, d, others), rest))


def is_negative(m: Machine, x: Number) -> Number:
    """Where lgamma has its many zeros, which this package does not follow."""
    return x < 0.0


def lgamma(m: Machine, x: Number) -> Number:
    """The logarithm of the gamma function for x >= 0."""
    if m.format is F4:
        return m.narrow(lgamma(m.wide(), m.widen(x)))
    (t, t_rest), product = _shifted(m, x, 0.0)
    log_t, log_t_rest = log_pair(m, t)
    log, log_rest = _log_stirling(m, t, t_rest, log_t, log_t_rest)
    divisor, divisor_rest = log_pair(m, product[0])
    divisor_rest = divisor_rest + product[1] / product[0]
    divided = x < _FROM
    total, lost = exact_sum(log, m.select(divided, -divisor, 0.0))
    value = total + (lost + (log_rest - m.select(divided, divisor_rest, 0.0)))
    # So far away nothing else counts, and the product above would overflow too soon.
    value = m.select(x > 2.0**60, m.fma(x, log_t - 1.0, x * log_t_rest), value)
    at_one, at_two = x - 1.0, x - 2.0
    near_one = _at_zero(m, at_one, LGAMMA_AT_1[0]) + 0.0  # 0, not -0.0, at 1
    near_two = _at_zero(m, at_two, LGAMMA_AT_2[0])
    value = m.select(m.abs(at_one) < 0.25, near_one, m.select(m.abs(at_two) < 0.25, near_two, value))
    return m.select(m.equal(x, 0.0), math.inf, m.select(x < math.inf, value, x))


_NEAR_ZERO = 0.4765
"""erf is 1/2 near there, so that neither function is less precise than the other on one side."""


def _complement(m: Machine, a: Number) -> Number:
    """erfc a for a >= _NEAR_ZERO."""
    limit = 28.0 if m.format is F8 else 11.0
    a = m.select(a > limit, limit, a)
    square, error = exact_product(m, a, a)
    k, (r, rest) = reduced_exponent(m, -square, -error)
    high, low = exp_pair(m, r, rest)
    # Both quotients with one division.
    shifted, (under, lost) = a + 3.0, quick_sum(m.select(a > 0.5, 2.0 * a, 1.0), m.select(a > 0.5, 1.0, 2.0 * a))
    both = 1.0 / (shifted * under)
    t = (a - 3.0) * (under * both)
    constant, constant_rest, *others = pick(m, ERFC)
    p, p_rest = quick_sum(constant, t * polynomial(m, t, others))
    top, top_error = exact_product(m, high, p)
    top_rest = m.fma(low, p, m.fma(high, p_rest + constant_rest, top_error))
    inverse = shifted * both
    first = top * inverse
    left = m.fma(-first, under, top) + m.fma(-first, lost, top_rest)
    return scale(m, m.fma(left, inverse, first), k)


def erf(m: Machine, x: Number) -> Number:
    """The error function."""
    size = m.abs(x)
    z = x * x
    near_zero = m.fma(x, polynomial(m, z, pick(m, ERF)), x)
    return m.select(size < _NEAR_ZERO, near_zero, m.copysign(1.0 - _complement(m, size), x))


def erfc(m: Machine, x: Number) -> Number:
    """The complementary error function."""
    size = m.abs(x)
    high, lost = quick_sum(1.0, -x)
    near_zero = high + m.fma(-x, polynomial(m, x * x, pick(m, ERF)), lost)
    far = _complement(m, size)
    return m.select(size < _NEAR_ZERO, near_zero, m.select(x < 0.0, 2.0 - far, far))
