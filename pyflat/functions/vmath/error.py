"""erf and erfc: a polynomial near 0; elsewhere erfc a = e**(-a**2) P(t) / (1 + 2 a) with t = (a - 3) / (a + 3)
(M. Shepherd, J. Laframboise, "Chebyshev approximation of (1 + 2x) exp(x**2) erfc x", Math. Comp. 36, 1981)."""

from __future__ import annotations

from pyflat.functions.vmath.coefficients import ERF, ERFC
from pyflat.functions.vmath.machine import F8, Machine, Number, pick
from pyflat.functions.vmath.power import exp_pair
from pyflat.functions.vmath.steps import exact_product, polynomial, quick_sum, reduced_exponent, scale

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
