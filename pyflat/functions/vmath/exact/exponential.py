"""exp and exp2 as the GNU C library computes them since version 2.28 (Szabolcs Nagy's, from Arm's optimized-routines,
which are under the MIT licence).

    x = (128 n + i) ln 2 / 128 + r        |r| <= ln 2 / 256
    e**x = 2**n s (1 + t)                 s = 2**(i / 128) rounded, t = what that has lost, and e**r - 1

The constants are that publication's. What is fused is what GCC made of it for processors with a fused multiply-add.
"""

from __future__ import annotations

import numpy as np

from pyflat.functions.vmath.exact.tables import Array, LibraryTable
from pyflat.functions.vmath.glibc import Told
from pyflat.functions.vmath.machine import Machine, Number
from pyflat.functions.vmath.power import clamped
from pyflat.functions.vmath.steps import scale_by_halves

_h = float.fromhex
_LOG2_E = _h("0x1.71547652b82fep+7")
_LN2 = _h("-0x1.62e42fefa0000p-8"), _h("-0x1.cf79abc9e3b3ap-47")
_EXP = tuple(map(_h, ("0x1.ffffffffffdbdp-2", "0x1.555555555543cp-3", "0x1.55555cf172b91p-5", "0x1.1111167a4d017p-7")))
_EXP2 = tuple(map(_h, ("0x1.62e42fefa39efp-1", "0x1.ebfbdff82c424p-3", "0x1.c6b08d70cf4b5p-5", "0x1.3b2abd24650ccp-7",
                       "0x1.5d7e09b4e3a84p-10")))
SMALL = -512.0
_MAGIC, _MAGIC_OF_EXP2 = 1.5 * 2.0**52, 1.5 * 2.0**45
_MAGIC_BITS = 0x4338000000000000
"""The bits of both, but for an exponent that is 7 less in the second."""


def _with_exponents(rows: Array) -> Array:
    """The library keeps 2**(i / 128) without its share of the exponent, which it adds with n's."""
    bits = np.ascontiguousarray(rows[:, 1]).view(np.uint64) + (np.arange(128, dtype=np.uint64) << np.uint64(45))
    return np.stack([rows[:, 0], bits.view(np.float64)], axis=1)


POWERS = LibraryTable("exp", 128, 2, "6ebf881a4f3b9b3c3533fba9", "a4014caf214c2bab", _with_exponents)
"""What the rounding of 2**(i / 128) has lost, as a share, and that number."""

Parts = tuple[Number, Number, Number, Number]
"""s, t, 128 n + i as a float, and as the low bits of an integer."""


def parts(m: Machine, x: Number, rest: Number | None = None) -> Parts:
    """e**(x + rest)."""
    shifted = m.fma(x, _LOG2_E, _MAGIC)
    k = shifted - _MAGIC
    r = m.fma(k, _LN2[1], m.fma(k, _LN2[0], x))
    if rest is not None:
        r = rest + r
    tail, s = m.rows(POWERS, m.bits(shifted) & 127, 2)
    square = r * r
    t = m.fma(m.fma(r, _EXP[1], _EXP[0]), square, tail + r)
    return s, m.fma(square * square, m.fma(r, _EXP[3], _EXP[2]), t), k, m.bits(shifted) - _MAGIC_BITS


def joined(m: Machine, found: Parts, small: Number | None = None) -> Number:
    """For results that are not subnormal. Of exponents that are `small`, -512 and less, the library rounds s t
    first."""
    s, t, k, whole = found
    power = m.fma(s, t, s)
    return _scaled(m, power if small is None else m.select(small, s + s * t, power), k * (1 / 128), whole)


def _scaled(m: Machine, x: Number, n: Number, whole: Number) -> Number:
    """x times 2 to the power of the floor of n, for an x from 1/2 to 4."""
    if m.scales:
        return m.scaled(x, n)
    return scale_by_halves(m, x, m.right(whole + 128 * 2 * m.format.bias, 7))


def is_subnormal(m: Machine, x: Number) -> Number:
    """Whether e**x may be: lanes for the library."""
    return (x < -708.0) & (x > -746.0)


def exp(m: Machine, x: Number) -> Told:
    """exp(x)."""
    return joined(m, parts(m, clamped(m, x, -746.0, 710.0)), x <= SMALL), is_subnormal(m, x)


def exp2(m: Machine, x: Number) -> Told:
    """exp2(x), which has no variant for processors with a fused multiply-add."""
    far = (x < -1022.0) & (x > -1076.0)
    x = clamped(m, x, -1076.0, 1024.0)
    shifted = x + _MAGIC_OF_EXP2
    k = shifted - _MAGIC_OF_EXP2
    r = x - k
    tail, s = m.rows(POWERS, m.bits(shifted) & 127, 2)
    square = r * r
    t = (tail + r * _EXP2[0]) + square * (_EXP2[1] + r * _EXP2[2])
    t = t + (square * square) * (_EXP2[3] + r * _EXP2[4])
    return _scaled(m, s + s * t, k, m.bits(shifted) - (_MAGIC_BITS - (7 << 52))), far
