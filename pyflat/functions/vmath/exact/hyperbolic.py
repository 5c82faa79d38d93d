"""expm1, tanh, sinh and cosh as the GNU C library computes them until version 2.41 (fdlibm's, Sun Microsystems 1993,
whose licence lets copy it freely; the order of a polynomial's terms is the library's).

    x = k ln 2 + r           |r| <= ln 2 / 2
    e**r - 1                 by a quotient with a polynomial of r**2
    e**x - 1                 2**k (e**r - 1) + (2**k - 1), in the order that loses nothing for each k
    tanh, sinh, cosh         quotients with expm1, above 22 (cosh and sinh) the exponential

expm1 has a variant for processors with a fused multiply-add, what uses it has none.
"""

from __future__ import annotations

import math

from pyflat.functions.vmath.exact.exponential import joined, parts
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
