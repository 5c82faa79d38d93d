"""log, log2 and log10 as the GNU C library computes them: log and log2 since version 2.28 (Szabolcs Nagy's, from Arm's
optimized-routines, which are under the MIT licence), log10 from log (fdlibm's, Sun Microsystems, whose licence lets
copy it freely).

    x = 2**k z, z next to a centre c      r = z / c - 1, with 1 / c and log c of a table
    log x = k ln 2 + log c + log(1 + r)   and next to 1, where that would cancel, a polynomial of x - 1

The constants are those publications'. What is fused is what GCC made of them.
"""

from __future__ import annotations

from pyflat.functions.vmath.exact.tables import LibraryTable, as_they_are
from pyflat.functions.vmath.glibc import Told
from pyflat.functions.vmath.machine import Machine, Number
from pyflat.functions.vmath.power import at_limits

_h = float.fromhex
_LN2 = _h("0x1.62e42fefa3800p-1"), _h("0x1.ef35793c76730p-45")
_LOG = tuple(map(_h, ("-0x1.0000000000001p-1", "0x1.555555551305bp-2", "-0x1.fffffffeb4590p-3", "0x1.999b324f10111p-3",
                      "-0x1.55575e506c89fp-3")))
_NEAR_ONE = tuple(map(_h, (
    "-0x1.0000000000000p-1", "0x1.5555555555577p-2", "-0x1.ffffffffffdcbp-3", "0x1.999999995dd0cp-3",
    "-0x1.55555556745a7p-3", "0x1.24924a344de30p-3", "-0x1.fffffa4423d65p-4", "0x1.c7184282ad6cap-4",
    "-0x1.999eb43b068ffp-4", "0x1.78182f7afd085p-4", "-0x1.5521375d145cdp-4")))
_LOG2_E = _h("0x1.7154765200000p+0"), _h("0x1.705fc2eefa200p-33")
_LOG2 = tuple(map(_h, ("-0x1.71547652b8339p-1", "0x1.ec709dc3a04bep-2", "-0x1.7154764702ffbp-2",
                       "0x1.2776c50034c48p-2", "-0x1.ec7b328ea92bcp-3", "0x1.a6225e117f92ep-3")))
_LOG2_NEAR_ONE = tuple(map(_h, (
    "-0x1.71547652b82fep-1", "0x1.ec709dc3a03f7p-2", "-0x1.71547652b7c3fp-2", "0x1.2776c50f05be4p-2",
    "-0x1.ec709dd768fe5p-3", "0x1.a61761ec4e736p-3", "-0x1.7153fbc64a79bp-3", "0x1.484d154f01b4ap-3",
    "-0x1.289e4a72c383cp-3", "0x1.0b32f285aee66p-3")))
_LOG10_2 = _h("0x1.34413509f6000p-2"), _h("0x1.9fef311f12b36p-42")
_LOG10_E = _h("0x1.bcb7b1526e50ep-2")

_CENTRES = LibraryTable("log", 128, 2, "1fe92c6a7813f73f00000dc2", "0aa99d057e064959", as_they_are)
_CENTRES_OF_LOG2 = LibraryTable("log2", 64, 2, "a1ccd266f7e1f63f00d076bd", "c695fe84113db98c", as_they_are)
"""1 / c and its logarithm."""

_FIRST_CENTRE = 0x3FE6000000000000
_MANTISSA = (1 << 52) - 1


def small_integer(m: Machine, i: Number) -> Number:
    """An integer from 0 to 2**52 as a float."""
    return m.floats(i | 0x4330000000000000) - 2.0**52


def split(m: Machine, x: Number, first: int, digits: int) -> tuple[Number, Number, Number]:
    """A normal positive x as 2**k z, with z from the float with the bits `first` to twice that: z, the first `digits`
    binary digits of where it lies between these, and k."""
    bits = m.bits(x)
    above = bits - first
    index = m.right(above, 52 - digits) & ((1 << digits) - 1)
    z = m.floats(bits - (above & -(1 << 52)))
    # 1024 more, so that it is positive.
    return z, index, small_integer(m, m.right(above + (1 << 62), 52)) - 1024.0


def is_subnormal(m: Machine, x: Number) -> Number:
    """Lanes for the library."""
    return (x > 0.0) & (x < m.format.smallest_normal)


def of_normal(m: Machine, x: Number) -> Number:
    """log(x) of a normal positive x."""
    return _of_scaled(m, x, 0.0)


def of_positive(m: Machine, x: Number) -> Number:
    """log(x) of a positive x, subnormal numbers too."""
    subnormal = x < m.format.smallest_normal
    return _of_scaled(m, m.select(subnormal, x * 2.0**52, x), m.select(subnormal, 52.0, 0.0))


def _of_scaled(m: Machine, x: Number, scale: Number) -> Number:
    """log(x / 2**scale) of a normal positive x."""
    z, index, k = split(m, x, _FIRST_CENTRE, 7)
    k = k - scale
    inverse, of_centre = m.rows(_CENTRES, index, 2)
    r = m.fma(z, inverse, -1.0)
    w = m.fma(k, _LN2[0], of_centre)
    high = w + r
    square = r * r
    low = m.fma(k, _LN2[1], (w - high) + r)
    p = m.fma(m.fma(r, _LOG[4], _LOG[3]), square, m.fma(r, _LOG[2], _LOG[1]))
    value = m.fma(r * square, p, m.fma(square, _LOG[0], low)) + high
    near = (x >= 1.0 - 2.0**-4) & (x < _h("0x1.109p0"))
    return m.select(near, _log_near_one(m, x), value)


def _log_near_one(m: Machine, x: Number) -> Number:
    b, r = _NEAR_ONE, x - 1.0
    square = r * r
    cube = r * square
    p = m.fma(cube, b[10], m.fma(square, b[9], m.fma(r, b[8], b[7])))
    p = m.fma(p, cube, m.fma(square, b[6], m.fma(r, b[5], b[4])))
    p = m.fma(p, cube, m.fma(square, b[3], m.fma(r, b[2], b[1])))
    short = m.fma(-(2.0**27), r, m.fma(r, 2.0**27, r))
    rest = r - short
    exact = short * short
    high = m.fma(exact, b[0], r)
    low = m.fma(exact, b[0], r - high)
    low = m.fma(b[0] * rest, r + short, low)
    return high + m.fma(p, cube, low)


def log(m: Machine, x: Number) -> Told:
    """log(x)."""
    return at_limits(m, x, of_normal(m, x)), is_subnormal(m, x)


def log2(m: Machine, x: Number) -> Told:
    """log2(x)."""
    z, index, k = split(m, x, _FIRST_CENTRE, 6)
    inverse, of_centre = m.rows(_CENTRES_OF_LOG2, index, 2)
    r = m.fma(z, inverse, -1.0)
    first = _LOG2_E[0] * r
    rest = m.fma(r, _LOG2_E[1], m.fma(_LOG2_E[0], r, -first))
    whole = k + of_centre
    high = first + whole
    low = ((whole - high) + first) + rest
    square, a = r * r, _LOG2
    p = m.fma(m.fma(r, a[3], a[2]), square, m.fma(r, a[1], a[0]))
    p = m.fma(m.fma(r, a[5], a[4]), square * square, p)
    value = m.fma(square, p, low) + high
    near = (x >= _h("0x1.ea4afp-1")) & (x < _h("0x1.0b559p0"))
    return at_limits(m, x, m.select(near, _log2_near_one(m, x), value)), is_subnormal(m, x)


def _log2_near_one(m: Machine, x: Number) -> Number:
    b, r = _LOG2_NEAR_ONE, x - 1.0
    first = _LOG2_E[0] * r
    low = m.fma(r, _LOG2_E[1], m.fma(_LOG2_E[0], r, -first))
    square = r * r
    p = m.fma(r, b[1], b[0])
    high = m.fma(p, square, first)
    low = m.fma(p, square, first - high) + low
    fourth = square * square
    p = m.fma(m.fma(r, b[9], b[8]), square, m.fma(r, b[7], b[6]))
    p = m.fma(p, fourth, m.fma(m.fma(r, b[5], b[4]), square, m.fma(r, b[3], b[2])))
    return high + m.fma(p, fourth, low)


def log10(m: Machine, x: Number) -> Told:
    """log10(x), without a fused multiply-add but in the logarithm."""
    bits = m.bits(x)
    k = small_integer(m, m.right(bits, 52)) - 1023.0
    below = k < 0.0
    y = m.select(below, k + 1.0, k)
    mantissa = m.floats((bits & _MANTISSA) | m.format.one_bits) * m.select(below, 0.5, 1.0)
    value = (of_normal(m, mantissa) * _LOG10_E + y * _LOG10_2[1]) + y * _LOG10_2[0]
    return at_limits(m, x, value), is_subnormal(m, x)
