"""The steps that the algorithms share: polynomials, exact sums and products, powers of two, exponents."""

from __future__ import annotations

from collections.abc import Sequence

from pyflat.functions.vmath.coefficients import LN2, LOG2_E
from pyflat.functions.vmath.machine import Machine, Number, pick

Pair = tuple[Number, Number]
"""A number as an unevaluated sum, the first part its rounding."""


def horner(m: Machine, x: Number, coefficients: Sequence[Number]) -> Number:
    """The polynomial with these coefficients, the constant one first: fewest operations, longest chain."""
    *rest, result = coefficients
    for c in reversed(rest):
        result = m.fma(result, x, c)
    return result


def polynomial(m: Machine, x: Number, coefficients: Sequence[float]) -> Number:
    """The polynomial with half the chain of `horner`: the even and the odd powers apart (one product more)."""
    if len(coefficients) < 4:
        return horner(m, x, coefficients)
    square = x * x
    return m.fma(horner(m, square, coefficients[1::2]), x, horner(m, square, coefficients[0::2]))


def quick_sum(a: Number, b: Number) -> Pair:
    """a + b and its rounding error, where |a| >= |b| or a is 0 (Dekker)."""
    total = a + b
    return total, (a - total) + b


def exact_sum(a: Number, b: Number) -> Pair:
    """a + b and its rounding error (Knuth)."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def exact_product(m: Machine, a: Number, b: Number) -> Pair:
    """a * b and its rounding error."""
    product = a * b
    return product, m.fma(a, b, -product)


def pair_product(m: Machine, a: Pair, b: Pair) -> Pair:
    """a * b, to about twice the format's digits."""
    product, error = exact_product(m, a[0], b[0])
    return quick_sum(product, m.fma(a[0], b[1], m.fma(a[1], b[0], error)))


def near_quotient(m: Machine, top: Pair, under: Pair) -> Number:
    """top / under rounded to about half a unit in the last place, with one division."""
    reciprocal = 1.0 / under[0]
    first = top[0] * reciprocal
    rest = m.fma(-first, under[0], top[0]) + m.fma(-first, under[1], top[1])
    return m.fma(rest, reciprocal, first)


def power_of_two(m: Machine, n: Number) -> Number:
    """2.0**n for a whole number n, a float, from 1 - bias to bias."""
    return m.floats(m.left(m.bits(n + (m.format.magic + m.format.bias)), m.format.digits))


def scale(m: Machine, x: Number, k: Number) -> Number:
    """x * 2.0**n rounded once, for 1/4 <= |x| <= 4 and a whole number n from `exponent`, |n| < 2 * bias. nan stays."""
    if m.scales:
        return m.scaled(x, m.floats(k) - (m.format.magic + 2.0 * m.format.bias))
    return scale_by_halves(m, x, k)


def scale_by_halves(m: Machine, x: Number, k: Number) -> Number:
    """`scale` with the first half of n by an exact product; for twice the bias minus such a number, too."""
    half = m.right(k, 1)
    return x * m.floats(m.left(half, m.format.digits)) * m.floats(m.left(k - half, m.format.digits))


def whole(m: Machine, x: Number, factor: float, offset: float = 0.0) -> tuple[Number, Number]:
    """x * factor rounded to a whole number n, as a float, and an integer whose low bits are those of n + offset."""
    magic = m.format.magic + offset
    shifted = m.fma(x, factor, magic)
    return shifted - magic, m.bits(shifted)


def exponent(m: Machine, x: Number, factor: float) -> tuple[Number, Number]:
    """x * factor rounded to a whole number n, as a float, and an integer for `scale`: twice the bias and n, so that
    each half of it is a biased exponent."""
    return whole(m, x, factor, 2.0 * m.format.bias)


def flip_sign(m: Machine, x: Number, sign: Number) -> Number:
    """x with its sign bit flipped where the integer `sign` has its highest bit set."""
    return m.floats(m.bits(x) ^ (sign & m.format.sign_bit))


def reduced_exponent(m: Machine, high: Number, low: Number) -> tuple[Number, Pair]:
    """high + low = n ln 2 + r with |r| <= ln 2 / 2: n for `scale`, and r as a pair."""
    n, k = exponent(m, high, pick(m, LOG2_E)[0])
    first, second = pick(m, LN2)
    r = m.fma(-n, first, high)
    return k, quick_sum(r, m.fma(-n, second, low))


def mantissa_exponent(m: Machine, x: Number) -> Pair:
    """x = f * 2**k for a finite positive x, subnormal ones too: f from sqrt(1/2) to sqrt(2), and k, as floats."""
    lift = m.format.digits + 2
    tiny = x < m.format.smallest_normal
    mantissa, k = normal_mantissa_exponent(m, m.select(tiny, x * 2.0**lift, x))
    return mantissa, k - m.select(tiny, float(lift), 0.0)


def normal_mantissa_exponent(m: Machine, x: Number) -> Pair:
    """`mantissa_exponent` for a normal x."""
    f = m.format
    bits = m.bits(x)
    shifted = bits + (f.one_bits - _SQRT_HALF[f.name])
    mantissa = m.floats(bits - (shifted & f.exponent_mask) + f.one_bits)
    # The biased exponent in the low bits of 2**digits is that power plus the exponent.
    joined = m.floats(m.right(shifted, f.digits) | ((f.bias + f.digits) << f.digits))
    return mantissa, joined - (2.0**f.digits + f.bias)


_SQRT_HALF = {"f8": 0x3FE6A09E667F3BCD, "f4": 0x3F3504F3}
"""The bits of sqrt(1/2), rounded up or down: the place where one exponent's range ends."""
