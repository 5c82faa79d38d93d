"""Elementary functions with the bits of the GNU C library, where these can be told without calling it.

    high + low       the value, to some 2**-60 of itself
    e                how far the library's result may be from a correct rounding, and high + low from the truth
    high + (low + e high), high + (low - e high)
                     where both round to the same number, that number is the library's result (A. Ziv, ACM Transactions
                     on Mathematical Software 17, 1991, page 410)

Elsewhere, in a few lanes of a hundred, the value is *doubtful*: they are for the library's function itself. The library
says of its own functions how far their results may be from the truth: 0.509 ulp for exp (0.511 without fused
multiply-adds), 0.519 for log, 0.52 for pow (comments in sysdeps/ieee754/dbl-64, since version 2.28; what was before
rounded correctly), and 0.518 for sin and cos at the formulas themselves. Of these two it also says "about 0.55", and at
one place 0.548, which no result comes near: in 200 million lanes half the bound would have done but for one
(docs/vmath-library.md). `python -m benchmarks.vmath_library` looks for results that are farther away.

Float64 alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from pyflat.functions.vmath.coefficients import COS, EXP_TAIL, SIN_TAIL, SIXTH
from pyflat.functions.vmath.machine import Machine, Number, pick
from pyflat.functions.vmath.power import at_limits, clamped, exponent_of_power, log_pair, with_signs
from pyflat.functions.vmath.steps import (
    Pair,
    exact_product,
    flip_sign,
    polynomial,
    quick_sum,
    reduced_exponent,
    scale,
)
from pyflat.functions.vmath.trigonometric import is_odd, quadrant_sign, reduced_pair

ULP = 2.0**-52
"""An ulp is at most this share of a number."""

Told = tuple[Number, Number]
"""A value, and whether it is doubtful: a truth for each lane, or False for none."""


@dataclass(frozen=True, slots=True)
class LibraryFunction:
    """One of them: its algorithm takes a machine and `operands` numbers. `name` is the library's function, which gets
    the operands and the literal `exponent`, where there is one. No lane of a `total` one is doubtful."""

    name: str
    algorithm: Callable[..., Told]
    operands: int = 1
    exponent: float | None = None
    total: bool = False


def rounded(m: Machine, high: Number, low: Number, error: Number) -> Told:
    """high + low rounded, and whether a number that is `error` times the high part away may round to another one."""
    return tested(m, high, low, error, high)


def tested(m: Machine, high: Number, low: Number, error: Number, unit: Number) -> Told:
    """Ziv's test of an error of so many units."""
    up, down = high + m.fma(unit, error, low), high + m.fma(-unit, error, low)
    return up, (up < down) | (down < up)  # of nan there is no doubt


# --- powers with a small literal exponent

_SMALL = 2.0**140
_TINY = 2.0**-100
_OF_POWER = 0.0145 * ULP
"""The error of powers from 1 / _SMALL to _SMALL: 0.509 ulp, and the logarithm's error of 2**-68 times 97."""


def _unless(m: Machine, first: Number, result: Told) -> Told:
    """A power's result, doubtful where it is large or small; `first` is some value of it."""
    power, doubtful = result
    size = m.abs(first)
    return power, doubtful | (size > _SMALL) | (size < 1.0 / _SMALL)


def _beside(m: Machine, high: Number, rest: Number, scale: Number = 1.0) -> Told:
    """The power that is high + rest / scale, to some 2**-102 of itself, where `high` is that sum rounded."""
    return high, near_middle(m, m.abs(high), rest, scale, _OF_POWER + _TINY)


def near_middle(m: Machine, size: Number, rest: Number, scale: Number, error: float) -> Number:
    """Whether a number that is at most `error` units away from size + |rest / scale| may round to another one than
    `size`. The unit is the last place of the next number below, times 1 / ULP: under a power of two the middle is half
    as far away as above."""
    unit = m.floats((m.bits(size) - 1) & m.format.exponent_mask)
    return m.abs(rest) > unit * scale * (0.5 * ULP - error)


def _of_sum(m: Machine, high: Number, low: Number) -> Told:
    """The power that is this sum, to some 2**-102 of itself."""
    return _unless(m, high, _beside(m, *quick_sum(high, low)))


def _of_zero(m: Machine, x: Number, value: Number, result: Told) -> Told:
    """A result that is `value` where x is zero."""
    power, doubtful = result
    zero = m.equal(x, 0.0)
    return m.select(zero, value, power), doubtful & ~zero


def square(m: Machine, x: Number) -> Told:
    """pow(x, 2.0)."""
    high, low = exact_product(m, x, x)
    power, doubtful = _unless(m, high, _beside(m, high, low))
    return power, doubtful & ~m.equal(x, 0.0)


def cube(m: Machine, x: Number) -> Told:
    """pow(x, 3.0)."""
    product, error = exact_product(m, x, x)
    high, low = exact_product(m, product, x)
    return _of_zero(m, x, x, _of_sum(m, high, m.fma(error, x, low)))


def _fourth(m: Machine, x: Number) -> Pair:
    product, error = exact_product(m, x, x)
    high, low = exact_product(m, product, product)
    return high, m.fma(product + product, error, low)


def fourth(m: Machine, x: Number) -> Told:
    """pow(x, 4.0)."""
    return _of_zero(m, x, 0.0, _of_sum(m, *_fourth(m, x)))


def fifth(m: Machine, x: Number) -> Told:
    """pow(x, 5.0)."""
    power, rest = _fourth(m, x)
    high, low = exact_product(m, power, x)
    return _of_zero(m, x, x, _of_sum(m, high, m.fma(rest, x, low)))


def root(m: Machine, x: Number) -> Told:
    """pow(x, 0.5)."""
    high = m.sqrt(x)
    power, doubtful = _of_zero(m, x, 0.0, _unless(m, high, _beside(m, high, m.fma(-high, high, x), high + high)))
    return power, doubtful | m.equal(x, -math.inf)


def reciprocal(m: Machine, x: Number) -> Told:
    """pow(x, -1.0)."""
    high = 1.0 / x
    return _of_sum(m, high, m.fma(-high, x, 1.0) * high)


def reciprocal_of_square(m: Machine, x: Number) -> Told:
    """pow(x, -2.0)."""
    product, error = exact_product(m, x, x)
    high = 1.0 / product
    return _of_sum(m, high, m.fma(-high, error, m.fma(-high, product, 1.0)) * high)


# --- exponentials

_OF_EXP = (0.0115 + 0.0125) * ULP
"""0.511 ulp; and what `exp_parts` leaves, most of it the roundings of c T(r) below 0.007."""


def exp_parts(m: Machine, r: Number, rest: Number) -> Pair:
    """e**(r + rest) for |r| <= ln 2 / 2 and a rest of at most an ulp, as a sum whose second part is below 0.01."""
    total, lost = quick_sum(1.0, r)
    square, error = exact_product(m, r, r)
    high, lost_again = quick_sum(total, 0.5 * square)
    cube = square * r
    first, *others = pick(m, EXP_TAIL)
    small = (lost + lost_again) + m.fma(0.5, error, rest * high)
    return high, m.fma(cube, first, m.fma(cube * r, polynomial(m, r, others), small))


def exp(m: Machine, x: Number) -> Told:
    """exp(x)."""
    x = clamped(m, x, -746.0, 710.0)
    k, (r, rest) = reduced_exponent(m, x, 0.0)
    power, doubtful = rounded(m, *exp_parts(m, r, rest), _OF_EXP)
    subnormal = (x < -708.0) & (x > -745.5)
    return scale(m, power, k), doubtful | subnormal


_OF_LOG_PAIR = 2.0**-62.5
"""What `log_pair` leaves, for each unit of an exponent."""


def pow(m: Machine, x: Number, y: Number) -> Told:
    """pow(x, y)."""
    product, high, low = exponent_of_power(m, m.abs(x), y)
    k, (r, rest) = reduced_exponent(m, high, low)
    size = m.abs(high)
    power, doubtful = rounded(m, *exp_parts(m, r, rest), m.fma(size, _OF_LOG_PAIR, _OF_EXP))
    at_the_ends = (size > 707.0) & (m.abs(product) < 800.0)
    return with_signs(m, x, y, scale(m, power, k)), doubtful | at_the_ends


# --- log

_OF_LOG = 0.021 * ULP
"""0.52 ulp; and what `log_pair` leaves."""


def log(m: Machine, x: Number) -> Told:
    """log(x)."""
    value, doubtful = rounded(m, *log_pair(m, x), _OF_LOG)
    return at_limits(m, x, value), doubtful & (x > 0.0) & (x < math.inf)


# --- sin and cos

_OF_SIN = (0.0195 + 0.0105) * ULP
"""0.518 ulp; and what `sin_parts` and `cos_parts` leave."""
_LARGEST_ANGLE = 2.0**20
_NEAR_ZERO = 2.0**-36
"""Next to a sine's zero the library's reduction, which is right to some 2**-109, is what counts."""


def sin_parts(m: Machine, r: Number, rest: Number, z: Number, z_rest: Number) -> Pair:
    """sin(r + rest) for |r| <= pi/4 and a rest of at most an ulp; z + z_rest is the square of the sum."""
    cube, error = exact_product(m, r, z)
    cube_rest = m.fma(r, z_rest, m.fma(rest, z, error))
    first, second = pick(m, SIXTH)
    term, term_error = exact_product(m, cube, first)
    term_rest = m.fma(cube, second, m.fma(cube_rest, first, term_error))
    high, lost = quick_sum(r, -term)
    return high, m.fma(cube * z, polynomial(m, z, pick(m, SIN_TAIL)), (lost - term_rest) + rest)


def cos_parts(m: Machine, z: Number, z_rest: Number) -> Pair:
    """The cosine of the same."""
    high, lost = quick_sum(1.0, -0.5 * z)
    square = z * z
    square_rest = m.fma(z + z, z_rest, m.fma(z, z, -square))
    first, *others = pick(m, COS)
    small = m.fma(square_rest, first, m.fma(-0.5, z_rest, lost))
    return high, m.fma(square, first, m.fma(square * z, polynomial(m, z, others), small))


def _both(m: Machine, x: Number) -> tuple[Number, Pair, Pair, Number]:
    """The quadrant of |x|, the sine and the cosine of what is left, and where that is no use."""
    size = m.abs(x)
    quadrant, (r, rest) = reduced_pair(m, x)
    z, error = exact_product(m, r, r)
    z_rest = m.fma(r + r, rest, error)
    far = (size > _LARGEST_ANGLE) & (size < math.inf)
    return quadrant, sin_parts(m, r, rest, z, z_rest), cos_parts(m, z, z_rest), far


def sin(m: Machine, x: Number) -> Told:
    """sin(x)."""
    quadrant, sine, cosine, far = _both(m, x)
    odd = is_odd(m, quadrant)
    high, low = m.select(odd, cosine[0], sine[0]), m.select(odd, cosine[1], sine[1])
    value, doubtful = rounded(m, high, low, _OF_SIN)
    tiny = m.abs(x) < 2.0**-26
    value = m.select(tiny, x, flip_sign(m, value, quadrant_sign(m, quadrant) ^ m.bits(x)))
    return value, ((doubtful | (m.abs(high) < _NEAR_ZERO)) & ~tiny) | far


def cos(m: Machine, x: Number) -> Told:
    """cos(x)."""
    quadrant, sine, cosine, far = _both(m, x)
    odd = is_odd(m, quadrant)
    high, low = m.select(odd, sine[0], cosine[0]), m.select(odd, sine[1], cosine[1])
    value, doubtful = rounded(m, high, low, _OF_SIN)
    return flip_sign(m, value, quadrant_sign(m, quadrant + 1)), doubtful | (m.abs(high) < _NEAR_ZERO) | far


# --- the functions


TABLE: dict[str, LibraryFunction] = {
    "square": LibraryFunction("pow", square, 1, 2.0),
    "cube": LibraryFunction("pow", cube, 1, 3.0),
    "fourth": LibraryFunction("pow", fourth, 1, 4.0),
    "fifth": LibraryFunction("pow", fifth, 1, 5.0),
    "root": LibraryFunction("pow", root, 1, 0.5),
    "reciprocal": LibraryFunction("pow", reciprocal, 1, -1.0),
    "reciprocal_of_square": LibraryFunction("pow", reciprocal_of_square, 1, -2.0),
    "exp": LibraryFunction("exp", exp),
    "pow": LibraryFunction("pow", pow, 2),
    "log": LibraryFunction("log", log),
    "sin": LibraryFunction("sin", sin),
    "cos": LibraryFunction("cos", cos),
}
"""Those that there are."""

POWERS = {row.exponent: name for name, row in TABLE.items() if row.exponent is not None}
