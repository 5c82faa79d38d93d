"""tan as the GNU C library computes it since version 2.35 (of IBM's Accurate Mathematical Library, 2001 on, under the
LGPL: here are its algorithm and the coefficients of its polynomials, none of its text; its table is read from the
library that is loaded).

    |x| <= 0.787                  a = x               |x| <= 25, 1e8: a + d = x - n pi/2
    |a| <= 0.0608                 a polynomial        otherwise z = |a| - c, with f = tan c and g = 1 / f of a table:
    n even                        tan a               f + (f + g) tan z / (g - tan z)
    n odd                         -1 / tan a          -(g - (f + g) tan z / (f + tan z))
"""

from __future__ import annotations

import math

from pyflat.functions.vmath.exact.tables import LibraryTable, as_they_are
from pyflat.functions.vmath.exact.trigonometric import HALF_PI_PARTS, TWO_OVER_PI
from pyflat.functions.vmath.glibc import Told
from pyflat.functions.vmath.machine import Machine, Number
from pyflat.functions.vmath.steps import Pair

_h = float.fromhex
_P = tuple(map(_h, ("0x1.5555555555555p-2", "0x1.11111111107c6p-3", "0x1.ba1ba1cdb8745p-5", "0x1.664ed49cfc666p-6",
                    "0x1.2385a3cf2e4eap-7")))
_Q = _h("0x1.5555555554dbdp-2"), _h("0x1.11112e0a6b45fp-3")
_THIRD_PART = _h("-0x1.cb3b399d747f2p-55")
"""What is left of pi/2 after its first two parts, rounded."""
_TINY, _SMALL, _PLAIN, _MIDDLE, _LAST = (
    _h("0x1.b096c00000000p-27"), _h("0x1.f212d00000000p-5"), _h("0x1.92f1a00000000p-1"), 25.0, 1e8)
_CENTRES = LibraryTable("tan", 186, 4, "10701a1b0000b13fb792b8aa", "7764904b0f925c4a", as_they_are)
"""c, tan c and 1 / tan c, and nothing."""


def _exact_sum(m: Machine, a: Number, b: Number) -> Pair:
    total = a + b
    return total, m.select(m.abs(a) > m.abs(b), (a - total) + b, (b - total) + a)


def _reduced(m: Machine, x: Number) -> tuple[Number, Number, Number]:
    """x - n pi/2 as a sum, for angles above 0.787, and where n is odd."""
    shifted = m.fma(x, TWO_OVER_PI, m.format.magic)
    n = -(shifted - m.format.magic)
    rest = m.fma(n, HALF_PI_PARTS[1], m.fma(n, HALF_PI_PARTS[0], x))
    middle = m.abs(x) <= _MIDDLE
    third = m.select(middle, _THIRD_PART, HALF_PI_PARTS[2])
    a = m.fma(n, third, rest)
    d = m.fma(n, third, rest - a)
    b = m.fma(n, HALF_PI_PARTS[3], a)
    b, e = _exact_sum(m, b, d + m.fma(n, HALF_PI_PARTS[3], a - b))
    return m.select(middle, a, b), m.select(middle, d, e), ~m.equal(m.bits(shifted) & 1, 0)


def tan(m: Machine, x: Number) -> Told:
    """tan(x)."""
    size = m.abs(x)
    plain = size <= _PLAIN
    a, d, odd = _reduced(m, x)
    a, d, odd = m.select(plain, x, a), m.select(plain, 0.0, d), odd & ~plain
    near = _near_zero(m, a, d, odd, size <= _SMALL)
    value = m.select(m.abs(a) <= _SMALL, near, _by_table(m, a, d, odd))
    return m.select(size <= _TINY, x, value), (size > _LAST) & (size < math.inf)


def _near_zero(m: Machine, a: Number, d: Number, odd: Number, plain: Number) -> Number:
    """By a polynomial; `plain` angles have not been reduced."""
    square = a * a
    p = _P[4]
    for c in _P[3::-1]:
        p = m.fma(p, square, c)
    cube = a * square
    rest = m.fma(cube, p, d)
    total, low = _exact_sum(m, a, rest)
    inverse = 1.0 / total
    product = inverse * total
    error = (1.0 - product) - m.fma(inverse, total, -product)
    error = m.fma(-low, inverse, error) / total
    result = inverse + error
    cotangent = ((inverse - result) + error) + result
    return m.select(odd, -cotangent, m.select(plain, m.fma(cube, p, a), total))


def _by_table(m: Machine, a: Number, d: Number, odd: Number) -> Number:
    size, d = m.abs(a), m.select(a < 0.0, -d, d)
    index = m.bits(m.trunc(m.fma(size, 256.0, -15.5)) + 2.0**52) & 255
    centre, tangent, cotangent, _ = m.rows(_CENTRES, index, 4)
    z = (size - centre) + d
    square = z * z
    p = m.fma(z * square, m.fma(square, _Q[1], _Q[0]), z)
    quotient = ((tangent + cotangent) * p) / m.select(odd, p + tangent, cotangent - p)
    value = m.select(odd, quotient - cotangent, quotient + tangent)
    return m.select(a < 0.0, -value, value)
