"""asin and acos as the GNU C library computes them since version 2.35 (of IBM's Accurate Mathematical Library, 2001 on,
under the LGPL: here are its algorithm and the coefficients of its polynomials, none of its text; its tables are read
from the library that is loaded).

    |x| < 0.125             x + x**3 P(x**2)
    |x| < 0.96875           z = |x| - c, and a polynomial of z with coefficients by a table: rows of 11 to 15 numbers
    above                   pi/2 - 2 asin(sqrt((1 - |x|) / 2)), the root as a sum, by a table and Newton's iteration
"""

from __future__ import annotations

import math

import numpy as np

from pyflat.functions.vmath.exact.tables import Array, LibraryTable, as_they_are
from pyflat.functions.vmath.exact.trigonometric import HALF_PI
from pyflat.functions.vmath.glibc import Told
from pyflat.functions.vmath.machine import Machine, Number
from pyflat.functions.vmath.steps import Pair, horner

_h = float.fromhex
_P = tuple(map(_h, ("0x1.55555555554f9p-3", "0x1.333333336127dp-4", "0x1.6db6dae42c0e4p-5", "0x1.f1c7e04f4ad99p-6",
                    "0x1.6e442c822d419p-6", "0x1.292d80f453c72p-6")))
_ROOT = tuple(map(_h, ("0x1.fffffffecc1ddp-1", "0x1.fffffff757304p-2", "0x1.800496769c91ap-2", "0x1.4006318d1dab9p-2")))
_FIRST, _LAST = 0.125, 0.96875
_TINY_ASIN, _TINY_ACOS = 2.0**-26, _h("0x1.8p-55")
_PARTS = ((32, 11), (64, 11), (64, 12), (44, 13), (8, 14), (4, 15))
"""The rows of each range and how long they are: to 1/4, 1/2, 3/4, 0.921875, 0.953125 and 0.96875."""


def _of_one_length(numbers: Array) -> Array:
    """Rows of the centre, the polynomial's first coefficient, its constant, the arcsine of the centre, and the other
    coefficients, those that are missing as 0."""
    rows, start, first = np.zeros((sum(count for count, _ in _PARTS), 16)), 0, 0
    for count, length in _PARTS:
        order = [0, 1, length - 4, length - 3, *range(2, length - 4)]
        part = numbers[start : start + count * length].reshape(count, length)
        rows[first : first + count, : len(order)] = part[:, order]
        start, first = start + count * length, first + count
    return rows


_CENTRES = LibraryTable("asin", 2568, 1, "244499886921f03f15b199b7", "1f739c9966072aba", _of_one_length)
_ROOTS = LibraryTable("root", 128, 1, "1f63f92ae85df63fe5391d20", "9ae1de5b8c2421cc", as_they_are)
"""1 / sqrt, about, of a mantissa."""


def _by_table(m: Machine, size: Number) -> Pair:
    """The arcsine of a number from 0.125 to 0.96875 as a sum: what is left, and the centre's."""
    b = m.bits(size)
    index = m.select(size >= 0.5, (m.right(b, 45) & 127) + 96,
                     m.select(size >= 0.25, (m.right(b, 46) & 63) + 32, m.right(b, 47) & 31))
    row = m.rows(_CENTRES, index & 255, 13)
    z = size - row[0]
    t = horner(m, z, row[4:13])
    return m.fma(z, row[1], m.fma(t, z * z, row[2])), row[3]


def _root(m: Machine, x: Number, fused: bool) -> Pair:
    """The square root of a number below 1/64 as a sum; the two functions shorten its first part differently."""
    bits = m.bits(x)
    start, = m.rows(_ROOTS, m.right(bits, 46) & 127, 1)
    # 2**(511 - e // 2) for the biased exponent e
    estimate = start * m.floats(m.left(1534 - m.right(bits, 53), 52))
    r = m.fma(-(estimate * estimate), x, 1.0)
    estimate = horner(m, r, _ROOT) * estimate
    c = x * estimate
    high = m.fma(-(2.0**27), c, m.fma(c, 2.0**27, c)) if fused else (c + 2.0**24) - 2.0**24
    low = m.fma(-high, high, x) / m.fma(m.fma(-(estimate * 0.5), c, 1.5), c, high)
    return high, low


def _size(m: Machine, x: Number) -> tuple[Number, Number]:
    """|x|, and what is computed with: 0.5 of nan and of numbers beyond 1, which lanes outside of an arm have too. With
    their own a whole register takes up to six times as long on an Intel processor."""
    size = m.abs(x)
    return size, m.select(size <= 1.0, size, 0.5)


def asin(m: Machine, x: Number) -> Told:
    """asin(x)."""
    given, size = _size(m, x)
    top = size >= _LAST
    rest = (1.0 - size) * 0.5
    v = m.select(top, rest, size * size)
    p = horner(m, v, _P)
    left, centre = _by_table(m, size)
    value = m.select(size < _FIRST, m.fma(p, size * v, size), left + centre)
    high, low = _root(m, rest, False)
    correction = m.fma(-(high + low) * 2.0, p * v, m.fma(low, -2.0, HALF_PI[1]))
    value = m.select(top, correction + m.fma(high, -2.0, HALF_PI[0]), value)
    value = m.select(size < _TINY_ASIN, size, m.select(m.equal(size, 1.0), HALF_PI[0], value))
    return m.select(given <= 1.0, m.copysign(value, x), math.nan), False


def acos(m: Machine, x: Number) -> Told:
    """acos(x)."""
    (given, size), below = _size(m, x), x < 0.0
    top = size >= _LAST
    rest = (1.0 - size) * 0.5
    v = m.select(top, rest, size * size)
    p = horner(m, v, _P)
    near = HALF_PI[0] - x
    inner = near + m.fma(-p, x * v, ((HALF_PI[0] - near) - x) + HALF_PI[1])
    left, centre = _by_table(m, size)
    middle = m.select(below, (HALF_PI[1] + left) + (HALF_PI[0] + centre), (HALF_PI[1] - left) + (HALF_PI[0] - centre))
    high, low = _root(m, rest, True)
    share = (p * v) * (low + high)
    outer = m.select(below, ((HALF_PI[1] - low) - share) + (HALF_PI[0] - high), (low + share) + high)
    value = m.select(size < _FIRST, inner, m.select(top, outer + outer, middle))
    value = m.select(size < _TINY_ACOS, HALF_PI[0], value)
    at_one = m.select(below, 2.0 * HALF_PI[0], 0.0)
    return m.select(given < 1.0, value, m.select(m.equal(given, 1.0), at_one, math.nan)), False
