"""expm1, tanh, sinh, cosh, log1p, asinh, acosh and atanh as the GNU C library computes them until version 2.41
(fdlibm's, Sun Microsystems 1993, whose licence lets copy it freely; the order of a polynomial's terms is the library's;
atanh is Ulrich Drepper's, LGPL: here are its two formulas).

    x = k ln 2 + r           |r| <= ln 2 / 2
    e**r - 1                 by a quotient with a polynomial of r**2
    e**x - 1                 2**k (e**r - 1) + (2**k - 1), in the order that loses nothing for each k
    tanh, sinh, cosh         quotients with expm1, above 22 (cosh and sinh) the exponential
    1 + x = 2**k (1 + f)     log1p x = k ln 2 + log(1 + f), corrected by what 1 + x has lost
    asinh, acosh, atanh      log or log1p of an expression for each range

expm1 and log1p have variants for processors with a fused multiply-add, what uses them has none.
"""

from __future__ import annotations

import math

from pyflat.functions.vmath.exact.exponential import joined, parts
from pyflat.functions.vmath.exact.logarithm import of_normal, small_integer
from pyflat.functions.vmath.exact.trigonometric import from_high_word
from pyflat.functions.vmath.glibc import Told
from pyflat.functions.vmath.machine import Machine, Number

_h = float.fromhex
_LN2 = _h("0x1.62e42fee00000p-1"), _h("0x1.a39ef35793c76p-33")
_LOG2_E = _h("0x1.71547652b82fep+0")
_Q = tuple(map(_h, ("-0x1.11111111110f4p-5", "0x1.a01a019fe5585p-10", "-0x1.4ce199eaadbb7p-14",
                    "0x1.0cfca86e65239p-18", "-0x1.afdb76e09c32dp-23")))
_OVERFLOW, _OVERFLOW_SINH = _h("0x1.62e42fefa39efp+9"), _h("0x1.633ce8fb9f87dp+9")
_HALF_LN2, _ONE_AND_A_HALF_LN2, _56_LN2, _LARGE = (
    from_high_word(word) for word in (0x3FD62E43, 0x3FF0A2B2, 0x4043687A, 0x40862E42))
_TINY_EXPM1, _TINY_TANH, _TINY_SINH = 2.0**-54, 2.0**-55, 2.0**-28


def _quotient(m: Machine, r: Number) -> tuple[Number, Number]:
    """What e**r - 1 - r is made of: a share of r**2 / 2, and that."""
    half = 0.5 * r
    square = r * half
    fourth = square * square
    p = m.fma(fourth, m.fma(square, _Q[2], _Q[1]), m.fma(square, _Q[0], 1.0))
    p = m.fma(fourth * fourth, m.fma(square, _Q[4], _Q[3]), p)
    t = m.fma(-half, p, 3.0)
    return ((p - t) / m.fma(-t, r, 6.0)) * square, square


def _expm1_near_zero(m: Machine, r: Number) -> Number:
    """Where k is 0."""
    e, square = _quotient(m, r)
    return r - m.fma(e, r, -square)


def _expm1(m: Machine, x: Number, ones: bool = True, many: bool = True) -> Number:
    """For x below the overflow; for those that are no x with k = 1, and none with k above 56, there is less to do."""
    size = m.abs(x)
    k = m.trunc(x * _LOG2_E + m.copysign(0.5, x))
    k = m.select(size < _ONE_AND_A_HALF_LN2, m.copysign(1.0, x), k)
    whole = size < _HALF_LN2
    k = m.select(whole, 0.0, k)
    high = m.fma(-k, _LN2[0], x)
    low = k * _LN2[1]
    r = high - low
    rest = (high - r) - low
    e, square = _quotient(m, r)
    near_zero = r - m.fma(e, r, -square)
    e = m.fma(e - rest, r, -rest) - square
    shifted = m.left(m.bits(k + m.format.magic), 52)
    inverse = m.floats(m.format.one_bits - shifted)  # 2**-k
    value = m.select(k >= 20.0, (r - (e + inverse)) + 1.0, (1.0 - inverse) - (e - r))
    apart = (k <= -2.0) | (k > 56.0) if many else k <= -2.0
    value = m.select(apart, 1.0 - (e - r), value)
    value = m.floats(m.bits(value) + shifted)
    value = m.select(apart, value - 1.0, value)
    value = m.select(m.equal(k, -1.0), m.fma(r - e, 0.5, -0.5), value)
    if ones:
        one = m.select(r < -0.25, -2.0 * (e - (r + 0.5)), m.fma(r - e, 2.0, 1.0))
        value = m.select(m.equal(k, 1.0), one, value)
    return m.select(whole, near_zero, value)


def expm1(m: Machine, x: Number) -> Told:
    """expm1(x)."""
    value = m.select(m.abs(x) < _TINY_EXPM1, x, _expm1(m, x))
    value = m.select(x <= -_56_LN2, -1.0, value)
    return m.select(x <= _OVERFLOW, value, x * math.inf), False


def tanh(m: Machine, x: Number) -> Told:
    """tanh(x)."""
    size = m.abs(x)
    low = size < 1.0
    # From 19.45 on the result is 1 whatever the exponential.
    twice = 2.0 * m.select(size > 19.45, 19.45, size)
    t = _expm1(m, m.select(low, -twice, twice), ones=False, many=False)
    q = m.select(low, -t, 2.0) / (t + 2.0)
    value = m.select(low, q, 1.0 - q)
    value = m.select(size >= _TINY_TANH, value, size * (1.0 + size))
    return m.copysign(value, x), False


def _is_large(size: Number) -> Number:
    """Where sinh and cosh square the exponential of a half: lanes for the library."""
    return (size >= _LARGE) & (size <= _OVERFLOW_SINH)


def sinh(m: Machine, x: Number) -> Told:
    """sinh(x)."""
    size, sign = m.abs(x), m.copysign(0.5, x)
    t = _expm1(m, m.select(size < 22.0, size, 22.0), many=False)
    q = m.select(size < 1.0, t * t, t) / (t + 1.0)
    value = m.select(size < 1.0, sign * (2.0 * t - q), sign * (t + q))
    value = m.select(size < 22.0, value, sign * joined(m, parts(m, size)))
    value = m.select(size < _TINY_SINH, x, value)
    return m.select(size > _OVERFLOW_SINH, m.copysign(math.inf, x), value), _is_large(size)


def cosh(m: Machine, x: Number) -> Told:
    """cosh(x)."""
    size = m.abs(x)
    small = size < _HALF_LN2
    t = _expm1_near_zero(m, m.select(small, size, 0.0))
    w = 1.0 + t
    e = joined(m, parts(m, size))
    q = m.select(small, t * t, 0.5) / m.select(small, w + w, e)
    value = m.select(small, 1.0 + q, 0.5 * e + q)
    value = m.select(size < 22.0, value, 0.5 * e)
    value = m.select(size < _TINY_TANH, w, value)
    return m.select(size > _OVERFLOW_SINH, math.inf, value), _is_large(size)


# --- log1p and what uses it
_LN2_ROUNDED = math.log(2.0)
_LOG1P = tuple(_h(x) for x in (
    "0x1.5555555555593p-1", "0x1.999999997fa04p-2", "0x1.2492494229359p-2", "0x1.c71c51d8e78afp-3",
    "0x1.7466496cb03dep-3", "0x1.39a09d078c69fp-3", "0x1.2f112df3e5244p-3"))
_TWO_THIRDS = 2.0 / 3.0
_ABOVE_ONE, _BELOW_ONE = from_high_word(0x3FDA827A), -from_high_word(0x3FD2BEC4)
"""About sqrt(2) - 1 and sqrt(1/2) - 1."""
_MANTISSA, _TOP_20 = (1 << 52) - 1, 0xFFFFF
_ABOVE_TWO, _LARGE_ASINH = from_high_word(0x40000001), from_high_word(0x41B00001)
_TINY_ASINH = 2.0**-28


def _log1p(m: Machine, x: Number) -> Number:
    """For x above -1."""
    u = m.select(x < 2.0**53, 1.0 + x, x)
    bits = m.bits(u)
    k = small_integer(m, m.right(bits, 52)) - 1023.0
    lost = m.select(k > 0.0, 1.0 - (u - x), x - (u - 1.0)) / u
    lost = m.select(x < 2.0**53, lost, 0.0)
    top = m.right(bits, 32) & _TOP_20
    up = top > 0x6A09D
    k = m.select(up, k + 1.0, k)
    f = m.floats((bits & _MANTISSA) | m.format.one_bits) * m.select(up, 0.5, 1.0) - 1.0
    # Of such x the first step has nothing to do.
    plain = (x < _ABOVE_ONE) & (x > _BELOW_ONE)
    k, f, lost = m.select(plain, 0.0, k), m.select(plain, x, f), m.select(plain, 0.0, lost)
    near = ~plain & ((top < 1) | (top > 0x100000 - 4))
    half = (0.5 * f) * f
    term = m.select(near, half * m.fma(-f, _TWO_THIRDS, 1.0), _tail(m, f, half))
    whole = m.equal(k, 0.0)
    correction = m.fma(k, _LN2[1], lost)
    inner = m.select(near, term - correction, half - (correction + term))
    alone = m.select(near, f - term, f - (half - term))
    value = m.select(whole, alone, m.fma(k, _LN2[0], -(inner - f)))
    size = m.abs(x)
    value = m.select(size < 2.0**-29, m.fma(x * x, -0.5, x), value)
    return m.select(size < 2.0**-54, x, value)


def _tail(m: Machine, f: Number, half: Number) -> Number:
    """s (f**2 / 2 + R(s**2)), s = f / (2 + f)."""
    s = f / (2.0 + f)
    z = s * s
    second = z * z
    fourth = second * second
    p = m.fma(z, _LOG1P[0], second * m.fma(z, _LOG1P[2], _LOG1P[1]))
    p = m.fma(fourth, m.fma(z, _LOG1P[4], _LOG1P[3]), p)
    p = m.fma(second * fourth, m.fma(z, _LOG1P[6], _LOG1P[5]), p)
    return (p + half) * s


def log1p(m: Machine, x: Number) -> Told:
    """log1p(x)."""
    value = m.select(x < math.inf, _log1p(m, x), x)
    return m.select(x > -1.0, value, m.select(m.equal(x, -1.0), -math.inf, math.nan)), False


def asinh(m: Machine, x: Number) -> Told:
    """asinh(x)."""
    size = m.abs(x)
    square = x * x
    root = m.sqrt(square + 1.0)
    low = _log1p(m, square / (1.0 + root) + size)
    above, large = size >= _ABOVE_TWO, size >= _LARGE_ASINH
    high = of_normal(m, m.select(large, size, m.select(above, (size + size) + 1.0 / (root + size), 2.0)))
    high = m.select(large, high + _LN2_ROUNDED, high)
    value = m.copysign(m.select(above, high, low), x)
    return m.select((size >= _TINY_ASINH) & (size < math.inf), value, x), False


def acosh(m: Machine, x: Number) -> Told:
    """acosh(x)."""
    t = x - 1.0
    low = _log1p(m, t + m.sqrt((t + t) + t * t))
    large = x >= 2.0**28
    inner = (x + x) - 1.0 / (m.sqrt(x * x - 1.0) + x)
    high = of_normal(m, m.select(large, x, inner))
    high = m.select(large, high + _LN2_ROUNDED, high)
    value = m.select(x > 2.0, high, low)
    return m.select(x < math.inf, m.select(x >= 1.0, value, math.nan), x), False


def atanh(m: Machine, x: Number) -> Told:
    """atanh(x)."""
    size = m.abs(x)
    twice, rest = size + size, 1.0 - size
    inner = m.select(size < 0.5, (twice * size) / rest + twice, twice / rest)
    value = m.copysign(_log1p(m, inner) * 0.5, x)
    value = m.select(size < _TINY_ASINH, x, value)
    return m.select(size < 1.0, value, m.select(m.equal(size, 1.0), m.copysign(math.inf, x), math.nan)), False
