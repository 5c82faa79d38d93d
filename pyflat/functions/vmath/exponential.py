"""exp, exp2 and expm1: 2**n times a polynomial on |r| <= ln 2 / 2."""

from __future__ import annotations

from pyflat.functions.vmath.coefficients import EXP, LN2, LOG2_E
from pyflat.functions.vmath.machine import F8, Machine, Number, pick
from pyflat.functions.vmath.steps import Pair, exponent, polynomial, power_of_two, quick_sum, scale, whole


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
"""Below, e**x - 1 rounds to x."""
