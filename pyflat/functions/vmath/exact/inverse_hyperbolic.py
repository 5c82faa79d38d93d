"""log1p, asinh, acosh and atanh as the GNU C library computes them until version 2.41 (log1p, asinh and acosh are
fdlibm's, Sun Microsystems 1993, whose licence lets copy it freely; atanh is Ulrich Drepper's, LGPL: here are its two
formulas).

    1 + x = 2**k (1 + f)     log1p x = k ln 2 + log(1 + f), corrected by what 1 + x has lost
    asinh, acosh, atanh      log or log1p of an expression for each range

log1p has a variant for processors with a fused multiply-add, the others have none.
"""

from __future__ import annotations

import math

from pyflat.functions.vmath.exact.logarithm import of_normal, small_integer
from pyflat.functions.vmath.exact.trigonometric import from_high_word
from pyflat.functions.vmath.glibc import Told
from pyflat.functions.vmath.machine import Machine, Number

_h = float.fromhex
_LN2 = _h("0x1.62e42fee00000p-1"), _h("0x1.a39ef35793c76p-33")
_LN2_ROUNDED = math.log(2.0)
_P = tuple(_h(x) for x in (
    "0x1.5555555555593p-1", "0x1.999999997fa04p-2", "0x1.2492494229359p-2", "0x1.c71c51d8e78afp-3",
    "0x1.7466496cb03dep-3", "0x1.39a09d078c69fp-3", "0x1.2f112df3e5244p-3"))
_TWO_THIRDS = 2.0 / 3.0
_ABOVE, _BELOW = from_high_word(0x3FDA827A), -from_high_word(0x3FD2BEC4)
"""About sqrt(2) - 1 and sqrt(1/2) - 1."""
_MANTISSA, _TOP_20 = (1 << 52) - 1, 0xFFFFF
_ABOVE_TWO, _LARGE = from_high_word(0x40000001), from_high_word(0x41B00001)
_TINY = 2.0**-28


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
    plain = (x < _ABOVE) & (x > _BELOW)
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
    p = m.fma(z, _P[0], second * m.fma(z, _P[2], _P[1]))
    p = m.fma(fourth, m.fma(z, _P[4], _P[3]), p)
    p = m.fma(second * fourth, m.fma(z, _P[6], _P[5]), p)
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
    above, large = size >= _ABOVE_TWO, size >= _LARGE
    high = of_normal(m, m.select(large, size, m.select(above, (size + size) + 1.0 / (root + size), 2.0)))
    high = m.select(large, high + _LN2_ROUNDED, high)
    value = m.copysign(m.select(above, high, low), x)
    return m.select((size >= _TINY) & (size < math.inf), value, x), False


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
    value = m.select(size < _TINY, x, value)
    return m.select(size < 1.0, value, m.select(m.equal(size, 1.0), m.copysign(math.inf, x), math.nan)), False
