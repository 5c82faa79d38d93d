"""pow as exp(y log x), with log x to about 68 binary digits (33 in float32), and cbrt;
exp, exp2 and expm1 as 2**n times a polynomial on |r| <= ln 2 / 2.

log x = k ln 2 + 2 s + 2/3 s**3 + s**5 P(s**2) with s = (f - 1) / (f + 1) as a pair: the digits beyond one number
that y log x, at most 745, needs in front of the point of its exponential.

log, log2, log10 and log1p: k ln 2 + log f with f from sqrt(1/2) to sqrt(2), and log f = 2 atanh(s) with
s = (f - 1) / (f + 1), as in fdlibm (K. C. Ng, Sun Microsystems, 1993).

sinh, cosh and tanh from e**x as a pair or, near 0, by a polynomial; asinh, acosh and atanh from log1p of a pair.
"""

from __future__ import annotations

import math

from pyflat.functions.vmath.coefficients import (
    CBRT,
    EXP,
    LN2,
    LN2_SHORT,
    LOG,
    LOG2_E,
    LOG10_2,
    LOG10_E,
    LOG_TAIL,
    SINH,
    TANH,
    TWO_THIRDS,
)
from pyflat.functions.vmath.machine import F8, Machine, Number, pick
from pyflat.functions.vmath.steps import (
    Pair,
    exact_product,
    exact_sum,
    exponent,
    flip_sign,
    mantissa_exponent,
    normal_mantissa_exponent,
    polynomial,
    power_of_two,
    quick_sum,
    reduced_exponent,
    scale,
    whole,
)


def clamped(m: Machine, x: Number, low: float, high: float) -> Number:
    """x within [low, high]; nan stays."""
    x = m.select(x < low, low, x)
    return m.select(x > high, high, x)


def exp(m: Machine, x: Number) -> Number:
    """e**x; overflows to infinity above log(max), rounds to 0 below the smallest subnormal."""
    x = clamped(m, x, -746.0, 710.0) if m.format is F8 else clamped(m, x, -104.0, 89.0)
    n, k = exponent(m, x, pick(m, LOG2_E)[0])
    first, second = pick(m, LN2)
    r = m.fma(-n, second, m.fma(-n, first, x))
    return scale(m, 1.0 + m.fma(r * r, polynomial(m, r, pick(m, EXP)), r), k)


def exp2(m: Machine, x: Number) -> Number:
    """2**x."""
    x = clamped(m, x, -1076.0, 1025.0) if m.format is F8 else clamped(m, x, -151.0, 129.0)
    n, k = exponent(m, x, 1.0)
    t = x - n
    first, second = pick(m, LN2)
    r = t * first
    rest = m.fma(t, first, -r) + t * second
    return scale(m, 1.0 + (r + m.fma(r * r, polynomial(m, r, pick(m, EXP)), rest)), k)


def exp_pair(m: Machine, r: Number, rest: Number) -> Pair:
    """e**(r + rest) for |r| <= ln 2 / 2 and a tiny rest, as a pair."""
    return quick_sum(1.0, r + m.fma(r * r, polynomial(m, r, pick(m, EXP)), rest))


def expm1(m: Machine, x: Number) -> Number:
    """e**x - 1, without cancellation near 0 and with its sign there."""
    limited = clamped(m, x, -60.0, 710.0) if m.format is F8 else clamped(m, x, -30.0, 89.0)
    n, _ = whole(m, limited, pick(m, LOG2_E)[0])
    first, second = pick(m, LN2)
    r = m.fma(-n, first, limited)
    reduced = m.fma(-n, second, r)
    rest = m.fma(-n, second, r - reduced)
    # 2**n (e**r - 1) + (2**n - 1), all halved: 2**1024 is no number. One rounding of consequence.
    half = power_of_two(m, n - 1.0)
    tail = m.fma(reduced * reduced, polynomial(m, reduced, pick(m, EXP)), rest)
    total, lost = quick_sum(half - 0.5, half * reduced)
    result = 2.0 * (total + m.fma(half, tail, lost))
    return m.select(m.abs(x) < _UNCHANGED[m.format.name], x, result)


_UNCHANGED = {"f8": 2.0**-54, "f4": 2.0**-25}
"""Below, e**x - 1 and log(1 + x) round to x."""


def log_pair(m: Machine, x: Number) -> Pair:
    """log x for a finite positive x as a sum whose second part is below 2**-30 of the first; relative error about
    2**-63 (2**-33 in float32)."""
    return _log_of_parts(m, *mantissa_exponent(m, x))


def _log_of_parts(m: Machine, mantissa: Number, k: Number) -> Pair:
    """log(mantissa * 2**k) as such a sum."""
    f, under = mantissa - 1.0, mantissa + 1.0
    reciprocal = 1.0 / under
    s = f * reciprocal
    rest = m.fma(-s, mantissa - (under - 1.0), m.fma(-s, under, f)) * reciprocal
    z = s * s
    twice = s + s
    z_rest = m.fma(twice, rest, m.fma(s, s, -z))
    first, second = pick(m, TWO_THIRDS)
    tail = z * polynomial(m, z, pick(m, LOG_TAIL))
    factor = first + tail
    factor_rest = (first - factor) + tail + second
    cube, cube_error = exact_product(m, s, z)
    cube_rest = m.fma(z, rest, m.fma(s, z_rest, cube_error))
    term, term_error = exact_product(m, cube, factor)
    term_rest = m.fma(cube, factor_rest, m.fma(cube_rest, factor, term_error))
    ln2, ln2_rest = pick(m, LN2_SHORT)
    total, lost = quick_sum(k * ln2, twice)
    total, lost_again = quick_sum(total, term)
    return total, (lost + lost_again) + m.fma(k, ln2_rest, m.fma(2.0, rest, term_rest))


def exp_of_pair(m: Machine, high: Number, low: Number) -> Number:
    """e**(high + low) for |high| below the overflow's and underflow's limits (see `clamped`)."""
    k, (r, rest) = reduced_exponent(m, high, low)
    return scale(m, 1.0 + (r + m.fma(r * r, polynomial(m, r, pick(m, EXP)), rest)), k)


def pow(m: Machine, x: Number, y: Number) -> Number:
    """x**y with the special cases of IEEE 754: nan for a negative x and a fractional y."""
    return with_signs(m, x, y, _power(m, m.abs(x), y))


def ordinary_pow(m: Machine, x: Number, y: float) -> Number:
    """x**y for a normal positive x and a finite number y, with the bits of `pow`."""
    high, low = _log_of_parts(m, *normal_mantissa_exponent(m, x))
    if m.scales and abs(y) < _SCALED:
        product = y * high
        return exp_of_pair(m, product, m.fma(y, low, m.fma(y, high, -product)))
    _, product, rest = _exponent_of_log(m, high, low, y)
    return exp_of_pair(m, product, rest)


_SCALED = 1024.0
"""Exponents of which no power needs a limit: logarithms are below 745, in float32 below 104, and `scaled` takes any
power of two whose exponent is exact."""


def not_ordinary(m: Machine, x: Number) -> Number:
    """Where `ordinary_pow` is no power."""
    return ~((x >= m.format.smallest_normal) & (x < math.inf))


def with_signs(m: Machine, x: Number, y: Number, result: Number) -> Number:
    """x**y of |x|**y."""
    is_whole = m.equal(m.floor(y), y)
    half = y * 0.5
    odd = is_whole & ~m.equal(m.floor(half), half)
    result = m.select(odd, m.copysign(result, x), result)
    result = m.select((x < 0.0) & (x > -math.inf) & ~is_whole, math.nan, result)
    # Of 1 the logarithm is 0, so that only a nan needs a test, which a literal exponent makes superfluous.
    return m.select(m.equal(y, 0.0) | (m.equal(x, 1.0) & ~m.equal(y, y)), 1.0, result)


def _power(m: Machine, size: Number, y: Number) -> Number:
    """size**y for size >= 0."""
    _, product, rest = exponent_of_power(m, size, y)
    return exp_of_pair(m, product, rest)


def exponent_of_power(m: Machine, size: Number, y: Number) -> tuple[Number, Number, Number]:
    """y log(size) for size >= 0 as it is, and as a pair within what `exp_of_pair` takes."""
    high, low = log_pair(m, size)
    high = m.near(high, math.log, size)
    # Infinity and nan are their own logarithms.
    high = m.select(m.equal(size, 0.0), -math.inf, m.select(size < math.inf, high, size))
    # An infinite y times log 1 is no number; any large one does as well.
    y = clamped(m, y, -(2.0**100), 2.0**100)
    return _exponent_of_log(m, high, low, y)


def _exponent_of_log(m: Machine, high: Number, low: Number, y: Number) -> tuple[Number, Number, Number]:
    """y times log(size), which is a pair, for a finite y, as `exponent_of_power` gives it."""
    product = y * high
    flat = _FLAT[m.format.name]
    within = m.abs(product) < flat
    rest = m.fma(y, low, m.fma(y, high, -product))
    return product, clamped(m, product, -flat, flat), m.select(within, rest, 0.0)


_FLAT = {"f8": 800.0, "f4": 150.0}
"""Where exponentials have overflowed, or underflowed, long before."""


def cbrt(m: Machine, x: Number) -> Number:
    """The cube root: x = f * 2**(3 n) with f from about 1/3 to 2.9, f**(-1/3) by a polynomial and Newton's
    iteration, and a last step on the root itself."""
    size = m.abs(x)
    mantissa, k = mantissa_exponent(m, size)
    n, _ = whole(m, k, 1.0 / 3.0)
    f = mantissa * power_of_two(m, k - 3.0 * n)
    r = polynomial(m, f, pick(m, CBRT))
    for _ in range(2 if m.format is F8 else 1):
        r = m.fma(r * (1.0 / 3.0), m.fma(-f * r, r * r, 1.0), r)
    square = r * r
    root = f * square
    cube_root_square, error = exact_product(m, root, root)
    rest = m.fma(-root, cube_root_square, f) - root * error
    result = m.fma(rest * (1.0 / 3.0), square, root) * power_of_two(m, n)
    ordinary = (size > 0.0) & (size < math.inf)
    return m.select(ordinary, flip_sign(m, result, m.bits(x)), x)


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
    return m.select(size < math.inf, m.copysign(m.select(size < _UNCHANGED_INVERSES[m.format.name], size, value), x), x)


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
    value = m.select(size < _UNCHANGED_INVERSES[m.format.name], size, value)
    value = m.select(size < 1.0, value, m.select(m.equal(size, 1.0), math.inf, math.nan))
    return m.copysign(value, x)


_HUGE = {"f8": 2.0**500, "f4": 2.0**60}
_UNCHANGED_INVERSES = {"f8": 2.0**-28, "f4": 2.0**-13}
"""Below, asinh x and atanh x round to x."""
