"""The fused multiply-add on NumPy arrays: a * b + c rounded once, exactly as the hardware's instruction.

NumPy has none. Products and sums are split into exact pairs (Dekker; Knuth), and the last addition but one rounds
to odd, so that the last one rounds as if it were the only one (S. Boldo, G. Melquiond, "Emulation of a FMA and
correctly rounded sums: proved algorithms using rounding to odd", IEEE Trans. Computers 57, 2008). Operands near the
limits of the format, where the pairs themselves would over- or underflow, go through integers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

_SPLITTER = 2.0**27 + 1
_TINY, _SMALL, _LARGE = 2.0**-900, 2.0**-700, 2.0**900
_FEW = 16
"""Up to so many lanes the integers are quicker than some sixty calls of NumPy."""


def fma(a: Array, b: Array, c: Array) -> Array:
    """a * b + c of float64 or of float32 arrays of one shape, rounded once; to be called under a quiet errstate."""
    if a.dtype == np.float32:
        return _single(a, b, c)
    if a.size <= _FEW:
        return _each(a, b, c)
    product = a * b
    size, addend = abs(product), abs(c)
    negligible = ((size < _TINY) & (addend > _SMALL)) | (np.isinf(c) & np.isfinite(a) & np.isfinite(b))
    within = (size > _TINY) & (size < _LARGE) & (addend < _LARGE) & (abs(a) < _LARGE) & (abs(b) < _LARGE)
    result = np.where(negligible, c, product + c)
    zero_or_special = (a == 0) | (b == 0) | ~np.isfinite(a) | ~np.isfinite(b) | ~np.isfinite(c)
    fused = _pairs(a[within], b[within], product[within], c[within])
    result[within] = fused
    cancelled = within.copy()
    cancelled[within] = abs(fused) < _TINY
    rest = (~within & ~negligible & ~zero_or_special) | cancelled
    if rest.any():
        result[rest] = _each(a[rest], b[rest], c[rest])
    return result


def _single(a: Array, b: Array, c: Array) -> Array:
    """float32: the product is exact in float64, and its sum rounded to odd has bits enough to be rounded again."""
    wide = np.float64
    total, error = _sum(a.astype(wide) * b.astype(wide), c.astype(wide))
    return _to_odd(total, error).astype(np.float32)


def _pairs(a: Array, b: Array, product: Array, c: Array) -> Array:
    """Boldo and Melquiond's algorithm, far from the limits of the format."""
    a_high, b_high = _upper(a), _upper(b)
    a_low, b_low = a - a_high, b - b_high
    low = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    total, total_low = _sum(c, low)
    high, high_low = _sum(product, total)
    return high + _to_odd(*_sum(total_low, high_low))


def _upper(x: Array) -> Array:
    """The upper half of x's digits (Veltkamp)."""
    scaled = _SPLITTER * x
    return scaled - (scaled - x)


def _sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b rounded, and what the rounding lost (Knuth)."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def _to_odd(total: Array, error: Array) -> Array:
    """total + error rounded to odd: of the two neighbours of an inexact sum, the one with an odd last digit."""
    bits = total.view(np.int64)
    inexact = np.isfinite(error) & (error != 0) & (bits & 1 == 0)
    step = np.where((error > 0) == (total > 0), 1, -1)
    moved: Array = np.where(inexact, bits + step, bits).view(np.float64)
    return moved


def _each(a: Array, b: Array, c: Array) -> Array:
    triples = zip(a.ravel().tolist(), b.ravel().tolist(), c.ravel().tolist(), strict=True)
    return np.array([exact(*triple) for triple in triples], dtype=np.float64).reshape(a.shape)


def exact(a: float, b: float, c: float) -> float:
    """a * b + c of Python floats, rounded once: through integers, whose division Python rounds correctly."""
    if math.isinf(c) and math.isfinite(a) and math.isfinite(b):
        return c  # a * b alone might be the other infinity
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)) or a == 0 or b == 0:
        return a * b + c
    (a_top, a_under), (b_top, b_under), (c_top, c_under) = [x.as_integer_ratio() for x in (a, b, c)]
    product, under = a_top * b_top, a_under * b_under
    total = product * c_under + c_top * under
    try:
        return total / (under * c_under) if total else 0.0
    except OverflowError:
        return math.inf if total > 0 else -math.inf
