"""gamma and lgamma as CPython computes them (Modules/mathmodule.c, the same from Python 3.8 on; PSF licence: here is
the algorithm and its coefficients, which are Boost's, none of its text).

    L(x) = P(x) / Q(x)                            Lanczos' sum with g = 6.0247; beyond 5 by powers of 1 / x
    gamma(x) = L(x) / e**y * y**(x - 0.5)         y = x + g - 0.5, and what that sum has lost
    log gamma(x) = log L(x) - g + (x - 0.5) (log y - 1)
    gamma(-x) = -pi / sin(pi x) / x / gamma(x)

The exponential, power, logarithm, sine and cosine are the C library's, of arguments within a range that needs neither
its reductions nor its rare cases, so that no lane is left to CPython. Nothing is rounded together; where that is so in
the code that runs, says `pyflat.functions.gamma_check`.

Twenty-four quotients have one divisor. By its reciprocal as a sum, and one step of correction, each is rounded
correctly and takes four operations instead of a division: a quotient within one unit is corrected by its exact rest
times the rounded reciprocal (P. Markstein, IBM Journal of Research and Development 34, 1990, page 111).
"""

from __future__ import annotations

import math

from pyflat.functions.vmath.exact import exponential, logarithm, power, trigonometric
from pyflat.functions.vmath.glibc import Told
from pyflat.functions.vmath.machine import Machine, Number
from pyflat.functions.vmath.power import clamped
from pyflat.functions.vmath.steps import flip_sign

ABOVE = (
    23531376880.410759, 42919803642.649101, 35711959237.355667, 17921034426.037209, 6039542586.3520279,
    1439720407.3117216, 248874557.86205417, 31426415.585400194, 2876370.6289353725, 186056.265395223495,
    8071.6720023658163, 210.82427775157935, 2.5066282746310002,
)
BELOW = (0.0, 39916800.0, 120543840.0, 150917976.0, 105258076.0, 45995730.0, 13339535.0, 2637558.0, 357423.0, 32670.0,
         1925.0, 66.0, 1.0)
"""x (x + 1) ... (x + 11)."""
G, G_LESS_HALF = 6.024680040776729583740234375, 5.524680040776729583740234375
TINY, LARGE, HALVED = 1e-20, 200.0, 140.0
"""1 / x and -log |x| below the first; beyond the second gamma is infinite or 0, from the third on the power is taken as
a square."""
FROM_RECIPROCALS = 5.0
LOG_PI = 1.144729885849400174143427351353058711647
FACTORIALS = tuple(float(math.factorial(n)) for n in range(23))

_SAME = 2.0**200
"""From some 2**100 on the sum is the quotient of the last coefficients, and numbers near the largest would overflow."""


def _lanczos(m: Machine, x: Number) -> Number:
    """The sum of a positive x. A step is c + x * s up to 5, and c + s / x beyond."""
    small = x < FROM_RECIPROCALS
    x = m.select(x > _SAME, _SAME, x)
    inverse = 1.0 / x
    factor = m.select(small, x, inverse)
    rest = m.select(small, 0.0, m.fma(-x, inverse, 1.0) * inverse)
    correction = m.select(small, 0.0, inverse)
    sums = []
    for row in (ABOVE, BELOW):
        terms = [first if first == last else m.select(small, first, last)
                 for first, last in zip(row[::-1], row, strict=True)]
        total = terms[0]
        for term in terms[1:]:
            near = m.fma(total, factor, total * rest)
            total = m.fma(m.fma(-near, x, total), correction, near) + term
        sums.append(total)
    return sums[0] / sums[1]


def _sine_of_pi(m: Machine, size: Number) -> Number:
    """sin(pi size)."""
    y = size - m.floor(size * 0.5) * 2.0
    twice = y + y
    n = m.rint(twice)
    n = m.select(twice - n >= 0.5, n + 1.0, n)  # ties away from zero
    quadrant = m.bits(n + m.format.magic)
    value = trigonometric.near_zero(m, math.pi * (y - n * 0.5), ~m.equal(quadrant & 1, 0))
    return flip_sign(m, value, m.left(quadrant, 62))


def _power(m: Machine, y: Number, exponent: Number) -> Number:
    """y**exponent, from 0.06 to 1e302."""
    high, low = power.log_pair(m, y)
    return exponential.joined(m, exponential.parts(m, *power.product(m, exponent, high, low)))


def _factorial(m: Machine, x: Number) -> Number:
    """(x - 1)! of a whole number from 1 to 23."""
    k = clamped(m, x - 1.0, 0.0, 22.0)
    index = m.bits(k + m.format.magic) & 7
    parts = [m.chosen(index, FACTORIALS[n : n + 8]) for n in (0, 8)] + [m.chosen(index, (*FACTORIALS[16:], 0.0))]
    return m.select(k < 8.0, parts[0], m.select(k < 16.0, parts[1], parts[2]))


def _within(m: Machine, x: Number, size: Number, sine: Number) -> Number:
    """gamma(x) for TINY <= |x| <= LARGE."""
    negative = x < 0.0
    y = size + G_LESS_HALF
    lost = m.select(size > G_LESS_HALF, (y - size) - G_LESS_HALF, (y - G_LESS_HALF) - size) * G / y
    total, growth = _lanczos(m, size), exponential.joined(m, exponential.parts(m, y))
    top = m.select(negative, -math.pi / sine / size * growth, total)
    r = top / m.select(negative, total, growth)
    r = m.select(negative, r - lost * r, r + lost * r)
    halved = size >= HALVED
    factor = _power(m, y, m.select(halved, size * 0.5 - 0.25, size - 0.5))
    once = m.select(negative, r / factor, r * factor)
    return m.select(halved, m.select(negative, once / factor, once * factor), once)


def gamma(m: Machine, x: Number) -> Told:
    """math.gamma(x); nan or infinite where that raises."""
    size, whole = m.abs(x), m.equal(m.floor(x), x)
    sine = _sine_of_pi(m, size)
    value = _within(m, x, clamped(m, size, TINY, LARGE), sine)
    value = m.select(size > LARGE, m.select(x > 0.0, math.inf, m.copysign(0.0, -sine)), value)
    value = m.select(whole & (x > 0.0) & (x <= 23.0), _factorial(m, x), value)
    value = m.select(size < TINY, 1.0 / x, value)
    return m.select(whole & (x <= 0.0), math.nan, value), False


def lgamma(m: Machine, x: Number) -> Told:
    """math.lgamma(x); infinite where that raises."""
    size, whole = m.abs(x), m.equal(m.floor(x), x)
    value = logarithm.of_normal(m, _lanczos(m, m.select(size < TINY, TINY, size))) - G
    value = value + (size - 0.5) * (logarithm.of_normal(m, size + G - 0.5) - 1.0)
    log_size = logarithm.of_positive(m, size)
    log_sine = logarithm.of_normal(m, m.abs(_sine_of_pi(m, size)))
    value = m.select(x < 0.0, LOG_PI - log_sine - log_size - value, value)
    value = m.select(size < TINY, -log_size, value)
    value = m.select(m.equal(x, 1.0) | m.equal(x, 2.0), 0.0, value)
    infinite = (whole & (x <= 0.0)) | m.equal(size, math.inf)
    return m.select(infinite, math.inf, value), False
