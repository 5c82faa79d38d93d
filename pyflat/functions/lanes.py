"""Python's scalar operations on NumPy lanes, with Python's bits.

Printed NumPy twins import this module for what NumPy's own operators and functions do not compute as Python does.
All functions work elementwise on arrays and on NumPy or Python scalars, broadcast, and take lanes of the kinds
bool_, int64 and float64 (lanes of float32 are widened where the function is one of float64). In lanes where Python
raises (or leaves int64) they give some value: nan or infinity for the elementary functions, nothing in particular for
integers. They may set floating-point flags, so that callers who do not want NumPy's warnings use
`np.errstate(all="ignore")`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from pyflat.functions import external_ufuncs, libm, norms, python_versions, stacking
from pyflat.functions.norms import product_error
from pyflat.functions.records import RECORDS

Lanes = Any
"""An array or scalar of bool_, int64 or float64."""

# --- integers and choice


def ipow(base: Lanes, exponent: Lanes) -> Lanes:
    """Python's `base ** exponent` of int64 with an exponent >= 0, modulo 2**64."""
    return np.power(np.asarray(base, np.int64), np.maximum(exponent, np.int64(0)))


def gather(table: Any, index: Lanes) -> Lanes:
    """`table[index]` with Python's negative indices; a lane outside the table gets one of its ends."""
    elements = np.asarray(table)
    size = len(elements)
    wrapped = np.where(np.less(index, 0), np.add(index, size), index)
    return elements[np.clip(wrapped, 0, size - 1)]


# --- conversions


def to_float(a: Lanes) -> Lanes:
    """`float(a)` of bool_ or int64: the nearest float64, ties to even."""
    return np.asarray(a).astype(np.float64)[()]


def to_int(a: Lanes) -> Lanes:
    """`int(a)` of bool_ or float64: rounds towards zero; float64 beyond int64 or nan give any int64."""
    return np.asarray(a).astype(np.int64)[()]


def floor_int(a: Lanes) -> Lanes:
    """`math.floor(a)` of float64 as int64."""
    return np.asarray(np.floor(a)).astype(np.int64)[()]


def ceil_int(a: Lanes) -> Lanes:
    """`math.ceil(a)` of float64 as int64."""
    return np.asarray(np.ceil(a)).astype(np.int64)[()]


def round_int(a: Lanes) -> Lanes:
    """`round(a)` of float64 as int64, ties to even."""
    return np.asarray(np.rint(a)).astype(np.int64)[()]


# --- floats, exact


def ldexp(a: Lanes, exponent: Lanes) -> Lanes:
    """`math.ldexp(a, exponent)` of float64 and int64; infinite where Python raises OverflowError."""
    return np.ldexp(a, np.clip(exponent, -(2**31) + 1, 2**31 - 1).astype(np.int32))


def ufunc(*operands: Lanes, loop: str, part: str, ufunc: str) -> Lanes:
    """A compiled function of another package (`pyflat.functions.external_ufuncs`), by the loop that a scalar call
    takes."""
    return external_ufuncs.call(*operands, loop=loop, part=part, ufunc=ufunc)


def exponent(a: Lanes) -> Lanes:
    """frexp's exponent of float64 as int64; of 0, nan and infinities any number."""
    return np.asarray(np.frexp(a)[1]).astype(np.int64)[()]


TENS = np.array([float(10**k) for k in range(23)])
"""The powers of ten that are float64 exactly."""


def round_digits(x: Lanes, digits: Lanes) -> Lanes:
    """`round(x, digits)` of float64 and int64: the correctly rounded decimal, ties to even, as CPython.

    With up to 22 digits x * 10**digits is computed as an exact sum of two floats (Dekker), which decides the
    rounding; the quotient of two exact numbers is then the correctly rounded result. What does not fit
    is rounded by Python, lane by lane.
    """
    x, digits = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(digits, dtype=np.int64))
    within = (digits >= 0) & (digits < len(TENS))
    ten = TENS[np.where(within, digits, 0)]
    product = x * ten
    error = product_error(x, ten, product)
    whole = np.rint(product)
    rest = product - whole
    whole = whole + ((rest == 0.5) & (error > 0.0)) - ((rest == -0.5) & (error < 0.0))
    decided = within & (np.abs(product) < 2.0**51)
    result = np.asarray(np.copysign(np.where(decided, whole / ten, x), x))
    unsure = ~(decided | (within & ~(np.abs(x) < 2.0**52)))
    if np.any(unsure):
        python = libm.total("round_digits")
        result[unsure] = [python(v, n) for v, n in zip(x[unsure].tolist(), digits[unsure].tolist(), strict=True)]
    return result[()]


def complex_lanes(real: Lanes, imag: Lanes) -> Any:
    """Complex lanes of two parts, each with its bits: `real + 1j*imag` would lose signed zeros and make nan of inf."""
    made = np.empty(np.broadcast_shapes(np.shape(real), np.shape(imag)), np.complex128)
    made.real, made.imag = real, imag
    return made[()]


def unsigned(bits: Any) -> Any:
    """Ints of [0, 2**64) of the signed ints with the same bits."""
    return np.asarray(bits).astype(np.uint64)[()]


def array_lanes(extent: tuple[int, ...], *elements: Lanes) -> Any:
    """An array in each lane, of these elements: its own axes come last."""
    return stacking.stacked(elements, extent)


def hypot(x: Lanes, y: Lanes) -> Lanes:
    """`math.hypot(x, y)` of float64, bit for bit."""
    return hypot_function()(x, y)


@cache
def hypot_function() -> Callable[[Lanes, Lanes], Lanes]:
    """CPython's algorithm on arrays if it is known for this CPython, otherwise its own function lane by lane."""
    return vector_norm if hypot_is_known() else libm.ufunc("hypot")


@cache
def hypot_is_known() -> bool:
    """Whether `vector_norm` is this CPython's hypot. The version decides, because other versions differ too rarely
    for a table of points; the table finds builds that contract a product and a sum into one operation."""
    if python_versions.norm_name() is None:
        return False
    with np.errstate(all="ignore"):
        return libm.agrees("hypot", lambda x, y: float(vector_norm(x, y)))


def vector_norm(x: Lanes, y: Lanes) -> Lanes:
    """hypot as CPython computes it (`norms`)."""
    x, y = np.abs(np.asarray(x, dtype=np.float64)), np.abs(np.asarray(y, dtype=np.float64))
    largest = np.maximum(x, y)
    exponent: Any = np.frexp(largest)[1]
    scaled, of_tiny = norms.algorithm()
    result = scaled((x, y), _NormMachine.power_of_two(-exponent), np.sqrt)
    tiny = exponent < -1023
    if np.any(tiny):
        result = np.where(tiny, of_tiny((x, y), largest, exponent, _NormMachine), result)
    result = np.where(largest == 0.0, 0.0, result)
    return np.where(np.isinf(x) | np.isinf(y), np.inf, result)[()]


class _NormMachine:
    """What `norms` asks of arrays."""

    sqrt = np.sqrt

    @staticmethod
    def power_of_two(exponent: Any) -> Any:
        return np.ldexp(1.0, exponent)


LARGEST_SHORT_CUT = 4.0
"""The exponents for which np.power of scalars has short cuts (NumPy 2.4: -1, 0, 0.5, 1 and 2) are whole or half numbers
up to here, at most."""


def power(x: Lanes, y: Lanes) -> Lanes:
    """`np.power(x, y)` of float64 as NumPy computes it for scalars. For an array of exponents it takes no short cut, so
    that lanes with one that may have some are computed for each exponent by itself."""
    exponents = np.asarray(y)
    if exponents.ndim == 0:
        return np.power(x, y)
    result = np.asarray(np.power(x, exponents))
    double = exponents + exponents
    short = (double == np.rint(double)) & (np.abs(exponents) <= LARGEST_SHORT_CUT)
    bases, exponents, short = np.broadcast_arrays(x, exponents, short)
    for exponent in np.unique(exponents[short]):
        where = short & (exponents == exponent)
        result[where] = np.power(bases[where], exponent)
    return result


def powers(x: Lanes, y: Lanes) -> Lanes:
    """`np.power(x, y)` of float64 as NumPy computes it for an array of exponents, whatever they are."""
    narrow = np.asarray(x).dtype == np.asarray(y).dtype == np.float32
    exponents = np.broadcast_to(np.asarray(y, dtype=np.float32 if narrow else np.float64),
                                np.broadcast_shapes(np.shape(x), np.shape(y), (1,)))
    result: Lanes = np.power(x, np.ascontiguousarray(exponents))
    return result if np.ndim(x) or np.ndim(y) else result[0]


def date_lanes(cls: type, parts: Sequence[Lanes]) -> Any:
    """Dates of `cls` from their parts in the order of its constructor; None where they make none."""
    return stacking.date_lanes(cls, parts)


def np_dot(*operands: Lanes) -> Lanes:
    """0.0 plus the chain of fused multiply-adds from 0.0 over two vectors: first the elements of one, then those of the
    other, each a float64 or lanes of it."""
    terms = len(operands) // 2
    columns = np.broadcast_arrays(*(np.asarray(operand, np.float64) for operand in operands))
    if _vecdot_is_chain(terms):
        a, b = (np.ascontiguousarray(np.stack(part, axis=-1)) for part in (columns[:terms], columns[terms:]))
        result: Lanes = np.vecdot(a, b)
        return result
    return _chain(columns[:terms], columns[terms:])[()]


def _chain(a: Lanes, b: Lanes) -> Lanes:
    from pyflat.functions.vmath.fused import fma  # a package of its own, needed where such a product is

    total = np.zeros(a[0].shape)
    for x, y in zip(a, b, strict=True):
        total = fma(x, y, total)
    return total + 0.0


@cache
def _vecdot_is_chain(terms: int) -> bool:
    """Whether this machine's BLAS computes dot products as that chain, which is faster than to emulate it."""
    rng = np.random.default_rng(0)
    special = (0.0, -0.0, 1.0, 5e-324, -5e-324, 1e-200, -1e-200, 2.0**-537, 1e200, 1 / 3, -1 / 3)
    rows = [(rng.standard_normal((96, terms)) * 10.0 ** rng.integers(-3, 4, (96, terms)),
             rng.choice(special, (96, terms))) for _ in range(2)]
    with np.errstate(all="ignore"):
        a, b = map(np.concatenate, rows)
        computed, wanted = np.vecdot(a, b), _chain(a.T, b.T)
    return bool(np.array_equal(computed, wanted, equal_nan=True) and (np.signbit(computed) == np.signbit(wanted)).all())


# --- the C library's functions


def _elementary(name: str) -> Callable[..., Lanes]:
    record = RECORDS[name]

    def function(*lanes: Lanes) -> Lanes:
        return libm.ufunc(name)(*lanes)

    function.__name__ = function.__qualname__ = name
    title = record.operator or record.title
    function.__doc__ = f"`{title}` of float64, with CPython's bits; not finite where it raises."
    return function


globals().update({name: _elementary(name) for name in (libm.NAMES | libm.CALLED) - set(globals())})
