"""Complex arithmetic and cmath as plain Python on the two parts of each number, which are floats.

Like `library`: captured and inlined as a user's helpers are. The algorithms are those of CPython 3.11 (Objects/
complexobject.c, Modules/cmathmodule.c), so that the bits are the same; what CPython raises is raised here. Where its
C code has a table of special values for infinities and nan, the table here is made by asking cmath itself.
Where an intermediate result of `power` overflows, CPython sometimes returns nan: those lanes are replayed.
"""

from __future__ import annotations

import cmath
import math
import sys
from collections.abc import Callable

Pair = tuple[float, float]
Table = tuple[tuple[float, ...], tuple[float, ...], tuple[bool, ...]]

_INF, _NAN = math.inf, math.nan
_LARGEST = sys.float_info.max
_LEAST = sys.float_info.min
_LARGE = _LARGEST / 4.0
"""Above it, sums of squares are scaled down."""
_SQRT_LARGE = math.sqrt(_LARGE)
_SQRT_LEAST = math.sqrt(_LEAST)
_LOG_LARGE = math.log(_LARGE)
_LOG_LARGEST = math.log(_LARGEST)
_LN2 = math.log(2.0)
_LN10 = math.log(10.0)
_SCALE_UP, _SCALE_DOWN = 2.0**53, 2.0**-27
"""Bring subnormal parts into the normal range for a square root, and the root back."""


# --- special values
_KINDS = (-_INF, -1.0, -0.0, 0.0, 1.0, _INF, _NAN)
"""A number of each kind that the tables tell apart; `special_kind` gives the position."""


def _table(fn: Callable[[complex], complex]) -> Table:
    """Real parts, imaginary parts, and where cmath raises, for each pair of kinds."""
    real, imag, raises = [], [], []
    for x in _KINDS:
        for y in _KINDS:
            try:
                value = complex(_NAN, _NAN) if math.isfinite(x) and math.isfinite(y) else fn(complex(x, y))
            except ValueError:
                raises.append(True)
                value = complex(_NAN, _NAN)
            else:
                raises.append(False)
            real.append(value.real)
            imag.append(value.imag)
    return tuple(real), tuple(imag), tuple(raises)


_SQRT, _EXP, _LOG = _table(cmath.sqrt), _table(cmath.exp), _table(cmath.log)
_SINH, _COSH, _TANH = _table(cmath.sinh), _table(cmath.cosh), _table(cmath.tanh)
_ASINH, _ACOSH, _ATANH = _table(cmath.asinh), _table(cmath.acosh), _table(cmath.atanh)
_ACOS, _RECT = _table(cmath.acos), _table(lambda z: cmath.rect(z.real, z.imag))


def special_kind(x: float) -> int:
    if x > 0.0:
        return 5 if x == _INF else 4
    if x < 0.0:
        return 0 if x == -_INF else 1
    if x != x:
        return 6
    return 3 if math.copysign(1.0, x) > 0.0 else 2


def special(table: Table, x: float, y: float) -> Pair:
    """The value of a function where a part of its argument is not finite."""
    real, imag, raises = table
    entry = 7 * special_kind(x) + special_kind(y)
    if any(raises) and raises[entry]:
        raise ValueError("math domain error")
    return real[entry], imag[entry]


def is_finite(x: float, y: float) -> bool:
    return math.isfinite(x) and math.isfinite(y)


# --- arithmetic
def hypot(x: float, y: float) -> float:
    """The C library's hypot, which abs() of a complex number is, and math.hypot is not."""
    return abs(complex(x, y))


def magnitude(x: float, y: float) -> float:
    """abs(z) as C has it: infinite where abs() raises OverflowError."""
    if is_finite(x, y) and hypot(x * 0.5, y * 0.5) > _LARGEST * 0.5:
        return _INF
    return hypot(x, y)


def product(ar: float, ai: float, br: float, bi: float) -> Pair:
    return ar * br - ai * bi, ar * bi + ai * br


def quotient(ar: float, ai: float, br: float, bi: float) -> Pair:
    """R. L. Smith's division (CACM Algorithm 116): by the part of the divisor that is larger."""
    size_real, size_imag = abs(br), abs(bi)
    if size_real >= size_imag:
        if size_real == 0.0:
            raise ZeroDivisionError("complex division by zero")
        ratio = bi / br
        denominator = br + bi * ratio
        return (ar + ai * ratio) / denominator, (ai - ar * ratio) / denominator
    if size_imag >= size_real:
        ratio = br / bi
        denominator = br * ratio + bi
        return (ar * ratio + ai) / denominator, (ai * ratio - ar) / denominator
    return _NAN, _NAN


_BITS = (1, 2, 4, 8, 16, 32, 64)


def positive_power(x: float, y: float, n: int) -> Pair:
    """z**n for n up to 100, by squaring, starting from 1+0j."""
    real, imag = 1.0, 0.0
    for bit in _BITS:
        if n < bit:
            break
        if n & bit:
            real, imag = product(real, imag, x, y)
        x, y = product(x, y, x, y)
    return real, imag


def whole_power(x: float, y: float, n: int) -> Pair:
    """z**n for -100 <= n <= 100."""
    if n > 0:
        real, imag = positive_power(x, y, n)
    else:
        real, imag = positive_power(x, y, -n)
        if real == 0.0 and imag == 0.0:
            raise ZeroDivisionError("0.0 to a negative or complex power")
        real, imag = quotient(1.0, 0.0, real, imag)
    if math.isinf(real) or math.isinf(imag):
        raise OverflowError("complex exponentiation")
    return real, imag


def power(ar: float, ai: float, br: float, bi: float) -> Pair:
    if bi == 0.0 and abs(br) <= 100.0 and br == math.floor(br):
        return whole_power(ar, ai, int(br))
    if ar == 0.0 and ai == 0.0:
        if bi != 0.0 or br < 0.0:
            raise ZeroDivisionError("0.0 to a negative or complex power")
        return 0.0, 0.0
    size = hypot(ar, ai)
    angle = math.atan2(ai, ar)
    length, phase = size**br, angle * br
    shrink = 1.0
    if bi != 0.0:
        turned = angle * bi
        shrink = _INF if turned > _LOG_LARGEST else math.exp(turned)
        phase += bi * math.log(size)
    if math.isinf(phase):
        raise ZeroDivisionError("0.0 to a negative or complex power")
    if phase != phase or length == 0.0 and shrink == 0.0:
        return _NAN, _NAN
    if shrink == 0.0:
        raise OverflowError("complex exponentiation")
    length /= shrink
    real, imag = length * math.cos(phase), length * math.sin(phase)
    if math.isinf(real) or math.isinf(imag):
        raise OverflowError("complex exponentiation")
    return real, imag


# --- roots and logarithms
def sqrt(x: float, y: float) -> Pair:
    return finite_sqrt(x, y) if is_finite(x, y) else special(_SQRT, x, y)


def finite_sqrt(x: float, y: float) -> Pair:
    if x == 0.0 and y == 0.0:
        return 0.0, y
    ax, ay = abs(x), abs(y)
    if ax < _LEAST and ay < _LEAST:
        ax = ax * _SCALE_UP
        root = math.sqrt(ax + hypot(ax, ay * _SCALE_UP)) * _SCALE_DOWN
    else:
        ax = ax / 8.0
        root = 2.0 * math.sqrt(ax + hypot(ax, ay / 8.0))
    other = ay / (2.0 * root)
    if x >= 0.0:
        return root, math.copysign(other, y)
    return other, math.copysign(root, y)


def log(x: float, y: float) -> Pair:
    if not is_finite(x, y):
        return special(_LOG, x, y)
    if x == 0.0 and y == 0.0:
        raise ValueError("math domain error")
    return log_of_size(abs(x), abs(y)), math.atan2(y, x)


def log_of_size(ax: float, ay: float) -> float:
    """log(hypot(ax, ay)), with log1p where the size is near 1, and scaled where it is very large or subnormal."""
    if ax > _LARGE or ay > _LARGE:
        return math.log(hypot(ax / 2.0, ay / 2.0)) + _LN2
    if ax < _LEAST and ay < _LEAST:
        return math.log(hypot(ax * _SCALE_UP, ay * _SCALE_UP)) - 53 * _LN2
    size = hypot(ax, ay)
    if 0.71 <= size <= 1.73:
        larger, smaller = (ax, ay) if ax > ay else (ay, ax)
        return math.log1p((larger - 1.0) * (larger + 1.0) + smaller * smaller) / 2.0
    return math.log(size)


def log10(x: float, y: float) -> Pair:
    real, imag = log(x, y)
    return real / _LN10, imag / _LN10


def _forgets_zero() -> bool:
    """Whether cmath.log of zero to a base gives -inf: the logarithm of the base clears the error of the first one."""
    try:
        cmath.log(0.0, 2.0)
    except ValueError:
        return False
    return True


_ZERO_FORGOTTEN = _forgets_zero()


def log_base(x: float, y: float, base_x: float, base_y: float) -> Pair:
    if _ZERO_FORGOTTEN and x == 0.0 and y == 0.0:
        real, imag = -_INF, math.atan2(y, x)
    else:
        real, imag = log(x, y)
    base_real, base_imag = log(base_x, base_y)
    if base_real == 0.0 and base_imag == 0.0:
        raise ValueError("math domain error")
    return quotient(real, imag, base_real, base_imag)


# --- exp and the hyperbolic functions
def _range_checked(real: float, imag: float) -> Pair:
    if math.isinf(real) or math.isinf(imag):
        raise OverflowError("math range error")
    return real, imag


def exp(x: float, y: float) -> Pair:
    if not is_finite(x, y):
        if math.isinf(x) and math.isfinite(y) and y != 0.0:
            size = _INF if x > 0.0 else 0.0
            return math.copysign(size, math.cos(y)), math.copysign(size, math.sin(y))
        return special(_EXP, x, y)
    if x > _LOG_LARGE:
        size = math.exp(x - 1.0)
        return _range_checked(size * math.cos(y) * math.e, size * math.sin(y) * math.e)
    size = math.exp(x)
    return _range_checked(size * math.cos(y), size * math.sin(y))


def sinh(x: float, y: float) -> Pair:
    if not is_finite(x, y):
        if math.isinf(x) and math.isfinite(y) and y != 0.0:
            return math.copysign(1.0, x) * math.copysign(_INF, math.cos(y)), math.copysign(_INF, math.sin(y))
        return special(_SINH, x, y)
    if abs(x) > _LOG_LARGE:
        less = x - math.copysign(1.0, x)
        return _range_checked(math.cos(y) * math.sinh(less) * math.e, math.sin(y) * math.cosh(less) * math.e)
    return _range_checked(math.cos(y) * math.sinh(x), math.sin(y) * math.cosh(x))


def cosh(x: float, y: float) -> Pair:
    if not is_finite(x, y):
        if math.isinf(x) and math.isfinite(y) and y != 0.0:
            return math.copysign(_INF, math.cos(y)), math.copysign(1.0, x) * math.copysign(_INF, math.sin(y))
        return special(_COSH, x, y)
    if abs(x) > _LOG_LARGE:
        less = x - math.copysign(1.0, x)
        return _range_checked(math.cos(y) * math.cosh(less) * math.e, math.sin(y) * math.sinh(less) * math.e)
    return _range_checked(math.cos(y) * math.cosh(x), math.sin(y) * math.sinh(x))


def tanh(x: float, y: float) -> Pair:
    if not is_finite(x, y):
        if math.isinf(x) and math.isfinite(y) and y != 0.0:
            return math.copysign(1.0, x), math.copysign(0.0, 2.0 * math.sin(y) * math.cos(y))
        return special(_TANH, x, y)
    if abs(x) > _LOG_LARGE:
        return math.copysign(1.0, x), 4.0 * math.sin(y) * math.cos(y) * math.exp(-2.0 * abs(x))
    tx, ty = math.tanh(x), math.tan(y)
    cx = 1.0 / math.cosh(x)
    both = tx * ty
    denominator = 1.0 + both * both
    return tx * (1.0 + ty * ty) / denominator, ((ty / denominator) * cx) * cx


# --- inverse functions
def acos(x: float, y: float) -> Pair:
    if not is_finite(x, y):
        return special(_ACOS, x, y)
    if abs(x) > _LARGE or abs(y) > _LARGE:
        size = math.log(hypot(x / 2.0, y / 2.0)) + _LN2 * 2.0
        imag = -math.copysign(size, y) if x < 0.0 else math.copysign(size, -y)
        return math.atan2(abs(y), x), imag
    r1, i1 = finite_sqrt(1.0 - x, -y)
    r2, i2 = finite_sqrt(1.0 + x, y)
    return 2.0 * math.atan2(r1, r2), math.asinh(r2 * i1 - i2 * r1)


def acosh(x: float, y: float) -> Pair:
    if not is_finite(x, y):
        return special(_ACOSH, x, y)
    if abs(x) > _LARGE or abs(y) > _LARGE:
        return math.log(hypot(x / 2.0, y / 2.0)) + _LN2 * 2.0, math.atan2(y, x)
    r1, i1 = finite_sqrt(x - 1.0, y)
    r2, i2 = finite_sqrt(x + 1.0, y)
    return math.asinh(r1 * r2 + i1 * i2), 2.0 * math.atan2(i1, r2)


def asinh(x: float, y: float) -> Pair:
    if not is_finite(x, y):
        return special(_ASINH, x, y)
    if abs(x) > _LARGE or abs(y) > _LARGE:
        size = math.log(hypot(x / 2.0, y / 2.0)) + _LN2 * 2.0
        real = math.copysign(size, x) if y >= 0.0 else -math.copysign(size, -x)
        return real, math.atan2(y, abs(x))
    r1, i1 = finite_sqrt(1.0 + y, -x)
    r2, i2 = finite_sqrt(1.0 - y, x)
    return math.asinh(r1 * i2 - r2 * i1), math.atan2(y, r1 * r2 - i1 * i2)


def atanh(x: float, y: float) -> Pair:
    if not is_finite(x, y):
        return special(_ATANH, x, y)
    if x < 0.0:
        real, imag = right_atanh(-x, -y)
        return -real, -imag
    return right_atanh(x, y)


def right_atanh(x: float, y: float) -> Pair:
    """atanh where the real part is not negative."""
    ay = abs(y)
    if x > _SQRT_LARGE or ay > _SQRT_LARGE:
        half = hypot(x / 2.0, y / 2.0)
        return x / 4.0 / half / half, -math.copysign(math.pi / 2.0, -y)
    if x == 1.0 and ay < _SQRT_LEAST:
        if ay == 0.0:
            raise ValueError("math domain error")
        return -math.log(math.sqrt(ay) / math.sqrt(hypot(ay, 2.0))), math.copysign(
            math.atan2(2.0, -ay) / 2.0, y)
    real = math.log1p(4.0 * x / ((1.0 - x) * (1.0 - x) + ay * ay)) / 4.0
    return real, -math.atan2(-2.0 * y, (1.0 - x) * (1.0 + x) - ay * ay) / 2.0


# --- by rotation: f(z) = -i g(iz)
def sin(x: float, y: float) -> Pair:
    real, imag = sinh(-y, x)
    return imag, -real


def cos(x: float, y: float) -> Pair:
    return cosh(-y, x)


def tan(x: float, y: float) -> Pair:
    real, imag = tanh(-y, x)
    return imag, -real


def asin(x: float, y: float) -> Pair:
    real, imag = asinh(-y, x)
    return imag, -real


def atan(x: float, y: float) -> Pair:
    real, imag = atanh(-y, x)
    return imag, -real


# --- polar coordinates and tests
def _reports_underflow() -> bool:
    """Whether cmath.phase raises where atan2 underflows to zero: the C library decides."""
    try:
        cmath.phase(complex(1e300, 1e-300))
    except OverflowError:
        return True
    return False


_UNDERFLOW_RAISES = _reports_underflow()


def phase(x: float, y: float) -> float:
    angle = math.atan2(y, x)
    if _UNDERFLOW_RAISES and angle == 0.0 and y != 0.0 and math.isfinite(x):
        raise OverflowError("math range error")
    return angle


def polar(x: float, y: float) -> Pair:
    size = magnitude(x, y)
    if is_finite(x, y) and size == _INF:
        raise OverflowError("math range error")
    return size, math.atan2(y, x)


def rect(r: float, phi: float) -> Pair:
    if not is_finite(r, phi):
        if math.isinf(r) and math.isfinite(phi) and phi != 0.0:
            sign = math.copysign(1.0, r)
            return sign * math.copysign(_INF, math.cos(phi)), sign * math.copysign(_INF, math.sin(phi))
        return special(_RECT, r, phi)
    if phi == 0.0:
        return r, r * phi
    return r * math.cos(phi), r * math.sin(phi)


def isnan(x: float, y: float) -> bool:
    return math.isnan(x) or math.isnan(y)


def isinf(x: float, y: float) -> bool:
    return math.isinf(x) or math.isinf(y)


def isclose(ar: float, ai: float, br: float, bi: float, rel_tol: float, abs_tol: float) -> bool:
    if rel_tol < 0.0 or abs_tol < 0.0:
        raise ValueError("tolerances must be non-negative")
    if ar == br and ai == bi:
        return True
    if isinf(ar, ai) or isinf(br, bi):
        return False
    distance = magnitude(ar - br, ai - bi)
    return distance <= rel_tol * magnitude(br, bi) or distance <= rel_tol * magnitude(ar, ai) or distance <= abs_tol
