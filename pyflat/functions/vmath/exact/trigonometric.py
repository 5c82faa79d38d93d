"""sin and cos as the GNU C library computes them since version 2.28, tan since 2.35 (of IBM's Accurate Mathematical
Library, 2001 on, under the LGPL: here are its algorithms and the coefficients of its polynomials, none of its text; its
tables are read from the library that is loaded).

    |x| < 0.855               x as it is
    |x| < 2.426               pi/2 - |x|
    |x| < 105414350           x - n pi/2, as a sum a + d          beyond: lanes for the library
    |a| < 0.126               Taylor's series
    |a| = k / 128 + v         sin and cos of k / 128, each a sum of two numbers, and polynomials of v

    |x| <= 0.787                  a = x               |x| <= 25, 1e8: a + d = x - n pi/2
    |a| <= 0.0608                 a polynomial        otherwise z = |a| - c, with f = tan c and g = 1 / f of a table:
    n even                        tan a               f + (f + g) tan z / (g - tan z)
    n odd                         -1 / tan a          -(g - (f + g) tan z / (f + tan z))
"""

from __future__ import annotations

import math
import struct

from pyflat.functions.vmath.exact.tables import LibraryTable, as_they_are
from pyflat.functions.vmath.glibc import Told
from pyflat.functions.vmath.machine import Machine, Number
from pyflat.functions.vmath.steps import Pair, flip_sign, horner

_h = float.fromhex


def from_high_word(word: int) -> float:
    """The float whose first 32 bits are these, the rest 0: where a library compares only those."""
    return float(struct.unpack(">d", word.to_bytes(4, "big") + bytes(4))[0])


HALF_PI = _h("0x1.921fb54442d18p+0"), _h("0x1.1a62633145c07p-54")
TWO_OVER_PI = _h("0x1.45f306dc9c883p-1")
HALF_PI_PARTS = tuple(map(_h, ("0x1.921fb58000000p+0", "-0x1.dde973c000000p-27", "-0x1.cb3b398000000p-55",
                               "-0x1.d747f23e32ed7p-83")))
"""pi/2 in short parts, so that products with a whole number are exact."""
_TAYLOR = tuple(map(_h, ("-0x1.5555555555555p-3", "0x1.1111111110ecep-7", "-0x1.a01a019db08b8p-13",
                         "0x1.71de27b9a7ed9p-19", "-0x1.addffc2fcdf59p-26")))
_BELOW = _h("0x1.020c49ba5e354p-3")
_SIN = _h("-0x1.5555555555515p-3"), _h("0x1.11110e829872fp-7")
_COS = 0.5, _h("-0x1.5555555555535p-5"), _h("0x1.6c16bedd9e239p-10")
_STEPS = 1.5 * 2.0**45
_FIRST, _SECOND, _LAST = (from_high_word(word) for word in (0x3FEB6000, 0x400368FD, 0x419921FB))
_SIGN = -(1 << 63)

ANGLES = LibraryTable("sincos", 110, 4, "efeeaeaaeaff7f3f7cb767ec", "17173ddfc81eee03", as_they_are)
"""sin(k / 128) and cos(k / 128), each as a sum."""


def is_large(m: Machine, x: Number) -> Number:
    """Angles of which the library takes other digits of pi."""
    size = m.abs(x)
    return (size >= _LAST) & (size < math.inf)


def _reduced_twice(m: Machine, x: Number) -> tuple[Number, Number, Number]:
    """n, a whole number, as the low bits of a float, and negative; x - n pi/2 by the first two parts of pi/2."""
    shifted = m.fma(x, TWO_OVER_PI, m.format.magic)
    n = -(shifted - m.format.magic)
    rest = m.fma(n, HALF_PI_PARTS[1], m.fma(n, HALF_PI_PARTS[0], x))
    return shifted, n, rest


def reduced(m: Machine, x: Number) -> tuple[Number, Number, Number]:
    """x - n pi/2 as a sum, and n as the low bits of an integer."""
    shifted, n, rest = _reduced_twice(m, x)
    first = m.fma(n, HALF_PI_PARTS[2], rest)
    low = m.fma(n, HALF_PI_PARTS[2], rest - first)
    high = m.fma(n, HALF_PI_PARTS[3], first)
    return high, low + m.fma(n, HALF_PI_PARTS[3], first - high), m.bits(shifted)


def _one(m: Machine, x: Number, cosine: bool) -> Told:
    size = m.abs(x)
    high, low, n = reduced(m, x)
    first, second = size < _FIRST, size < _SECOND
    around = HALF_PI[0] - size
    if cosine:
        total = around + HALF_PI[1]
        a = m.select(first, x, m.select(second, total, high))
        d = m.select(first, 0.0, m.select(second, (around - total) + HALF_PI[1], low))
        n = m.select(first, 1, m.select(second, 0, n + 1))
    else:
        a = m.select(first, x, m.select(second, around, high))
        d = m.select(first, 0.0, m.select(second, HALF_PI[1], low))
        sign = m.right(m.bits(x), 63)
        n = m.select(first, 0, m.select(second, (sign + sign) | 1, n))
    odd = ~m.equal(n & 1, 0)
    value = _by_table(m, a, d, odd)
    value = m.select(~odd & (m.abs(a) < _BELOW), _taylor(m, a, d), value)
    value = flip_sign(m, value, m.left(n, 62))
    if not cosine:
        value = m.select(size < 2.0**-26, x, value)
    return value, is_large(m, x)


def near_zero(m: Machine, x: Number, odd: Number) -> Number:
    """sin(x), or cos(x) where `odd`, for |x| below _FIRST."""
    value = _by_table(m, x, x * 0.0, odd)
    value = m.select(~odd & (m.abs(x) < _BELOW), _taylor(m, x, 0.0), value)
    return m.select(~odd & (m.abs(x) < 2.0**-26), x, value)


def _taylor(m: Machine, a: Number, d: Number) -> Number:
    z = a * a
    return a + m.fma(z, m.fma(horner(m, z, _TAYLOR), a, d * -0.5), d)


def _by_table(m: Machine, a: Number, d: Number, odd: Number) -> Number:
    """The sine of a + d, or its cosine where `odd`: the same steps, but for the order in which d is added."""
    size = m.abs(a)
    d = flip_sign(m, d, m.bits(a))
    shifted = size + _STEPS
    sine, sine_rest, cosine, cosine_rest = m.rows(ANGLES, m.bits(shifted) & 127, 4)
    v = size - (shifted - _STEPS)
    v = m.select(odd, v + d, v)
    square = v * v
    cube = v * square
    q = m.fma(square, _SIN[1], _SIN[0])
    s = m.select(odd, m.fma(cube, q, v), v + m.fma(cube, q, d))
    c = square * _cosine(m, square)
    c = m.select(odd, c, m.fma(v, d, c))
    base, base_rest = m.select(odd, cosine, sine), m.select(odd, cosine_rest, sine_rest)
    other, other_rest = m.select(odd, -sine, cosine), m.select(odd, -sine_rest, cosine_rest)
    value = base + m.fma(s, other, m.fma(-c, base, m.fma(s, other_rest, base_rest)))
    return flip_sign(m, value, m.bits(m.select(odd, 0.0, a)))


def _cosine(m: Machine, square: Number) -> Number:
    return m.fma(m.fma(_COS[2], square, _COS[1]), square, _COS[0])


def sin(m: Machine, x: Number) -> Told:
    """sin(x)."""
    return _one(m, x, False)


def cos(m: Machine, x: Number) -> Told:
    """cos(x)."""
    return _one(m, x, True)


def sin_and_cos(m: Machine, x: Number) -> tuple[Number, Number, Number]:
    """sin(x) and cos(x), and where both are for the library: the reduction and the table's row are shared, and each
    formula is computed once."""
    size = m.abs(x)
    high, low, n = reduced(m, x)
    first, second = size < _FIRST, size < _SECOND
    middle = second & ~first
    around = HALF_PI[0] - size
    total = around + HALF_PI[1]
    n = m.select(first, 0, n)  # of |x| below _FIRST it may be 1
    # Between _FIRST and _SECOND the two functions differ in how they subtract from pi/2.
    a = m.select(first, x, m.select(second, around, high))
    d = m.select(first, 0.0, m.select(second, HALF_PI[1], low))
    a2 = m.select(middle, total, a)
    d2 = m.select(middle, (around - total) + HALF_PI[1], d)
    size2 = m.abs(a2)
    shifted = m.abs(a) + _STEPS
    far = is_large(m, x) | ~m.equal(shifted, size2 + _STEPS)
    of_cosine, of_sine = _both_by_table(m, a, d, a2, d2, shifted)
    of_sine = m.select(size2 < _BELOW, _taylor(m, a2, d2), m.copysign(of_sine, a2))
    swap = ~m.equal(n & 1, 0) | middle
    sign = m.bits(x) & _SIGN
    sine = flip_sign(m, m.select(swap, of_cosine, of_sine), m.select(middle, sign, m.left(n, 62)))
    n = m.select(middle, 0, n + 1)
    cosine = flip_sign(m, m.select(swap, of_sine, of_cosine), m.left(n, 62))
    return m.select(size < 2.0**-26, x, sine), cosine, far


def _both_by_table(m: Machine, a: Number, d: Number, a2: Number, d2: Number, shifted: Number
                   ) -> tuple[Number, Number]:
    """The cosine of a + d, and the sine of |a2 + d2|, which are next to the same entry."""
    sine, sine_rest, cosine, cosine_rest = m.rows(ANGLES, m.bits(shifted) & 127, 4)
    base = shifted - _STEPS
    v = (m.abs(a) - base) + flip_sign(m, d, m.bits(a))
    square = v * v
    s = m.fma(v * square, m.fma(square, _SIN[1], _SIN[0]), v)
    c = square * _cosine(m, square)
    of_cosine = cosine + m.fma(-s, sine, m.fma(-c, cosine, m.fma(-s, sine_rest, cosine_rest)))
    d2 = flip_sign(m, d2, m.bits(a2))
    v = m.abs(a2) - base
    square = v * v
    s = v + m.fma(v * square, m.fma(square, _SIN[1], _SIN[0]), d2)
    c = m.fma(v, d2, square * _cosine(m, square))
    return of_cosine, sine + m.fma(s, cosine, m.fma(-c, sine, m.fma(s, cosine_rest, sine_rest)))


# --- tan
_TAN = tuple(map(_h, ("0x1.5555555555555p-2", "0x1.11111111107c6p-3", "0x1.ba1ba1cdb8745p-5", "0x1.664ed49cfc666p-6",
                    "0x1.2385a3cf2e4eap-7")))
_TAN_BY_TABLE = _h("0x1.5555555554dbdp-2"), _h("0x1.11112e0a6b45fp-3")
_THIRD_PART = _h("-0x1.cb3b399d747f2p-55")
"""What is left of pi/2 after its first two parts, rounded."""
_TINY_TAN, _SMALL_TAN, _PLAIN_TAN, _MIDDLE_TAN, _LAST_TAN = (
    _h("0x1.b096c00000000p-27"), _h("0x1.f212d00000000p-5"), _h("0x1.92f1a00000000p-1"), 25.0, 1e8)
_TANGENTS = LibraryTable("tan", 186, 4, "10701a1b0000b13fb792b8aa", "7764904b0f925c4a", as_they_are)
"""c, tan c and 1 / tan c, and nothing."""


def _exact_sum(m: Machine, a: Number, b: Number) -> Pair:
    total = a + b
    return total, m.select(m.abs(a) > m.abs(b), (a - total) + b, (b - total) + a)


def _reduced_for_tan(m: Machine, x: Number) -> tuple[Number, Number, Number]:
    """x - n pi/2 as a sum, for angles above 0.787, and where n is odd."""
    shifted, n, rest = _reduced_twice(m, x)
    middle = m.abs(x) <= _MIDDLE_TAN
    third = m.select(middle, _THIRD_PART, HALF_PI_PARTS[2])
    a = m.fma(n, third, rest)
    d = m.fma(n, third, rest - a)
    b = m.fma(n, HALF_PI_PARTS[3], a)
    b, e = _exact_sum(m, b, d + m.fma(n, HALF_PI_PARTS[3], a - b))
    return m.select(middle, a, b), m.select(middle, d, e), ~m.equal(m.bits(shifted) & 1, 0)


def tan(m: Machine, x: Number) -> Told:
    """tan(x)."""
    size = m.abs(x)
    plain = size <= _PLAIN_TAN
    a, d, odd = _reduced_for_tan(m, x)
    a, d, odd = m.select(plain, x, a), m.select(plain, 0.0, d), odd & ~plain
    near = _tangent_near_zero(m, a, d, odd, size <= _SMALL_TAN)
    value = m.select(m.abs(a) <= _SMALL_TAN, near, _tangent_by_table(m, a, d, odd))
    return m.select(size <= _TINY_TAN, x, value), (size > _LAST_TAN) & (size < math.inf)


def _tangent_near_zero(m: Machine, a: Number, d: Number, odd: Number, plain: Number) -> Number:
    """By a polynomial; `plain` angles have not been reduced."""
    square = a * a
    p = horner(m, square, _TAN)
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


def _tangent_by_table(m: Machine, a: Number, d: Number, odd: Number) -> Number:
    size, d = m.abs(a), m.select(a < 0.0, -d, d)
    index = m.bits(m.trunc(m.fma(size, 256.0, -15.5)) + 2.0**52) & 255
    centre, tangent, cotangent, _ = m.rows(_TANGENTS, index, 4)
    z = (size - centre) + d
    square = z * z
    p = m.fma(z * square, m.fma(square, _TAN_BY_TABLE[1], _TAN_BY_TABLE[0]), z)
    quotient = ((tangent + cotangent) * p) / m.select(odd, p + tangent, cotangent - p)
    value = m.select(odd, quotient - cotangent, quotient + tangent)
    return m.select(a < 0.0, -value, value)
