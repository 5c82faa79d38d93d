"""Arithmetic of uint64, whose 64 bits are those of an int, or of arrays of int64: NumPy's, which wraps around.

Where a sum, difference or product leaves 64 bits NumPy warns of an overflow, as its error state says; lanes that a mask
leaves out do not count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_MASK = 2**64 - 1
_LARGE = np.array([1e308])


def _warn() -> None:
    """An overflow, for NumPy's error state."""
    np.multiply(_LARGE, _LARGE)


def _signed(number: int) -> int:
    number &= _MASK
    return number - 2**64 if number >> 63 else number


def _bits(value: Any) -> Any:
    return np.asarray(value, np.int64).view(np.uint64)


def _are_lanes(*values: Any) -> bool:
    return any(hasattr(value, "__array__") and not isinstance(value, np.generic) for value in values)


def _wrapping(exact: Callable[[int, int], int], ufunc: np.ufunc, overflows: Callable[[Any, Any, Any], Any]) -> Any:
    def call(a: Any, b: Any, mask: Any = None) -> Any:
        if not _are_lanes(a, b):
            found = exact(int(a) & _MASK, int(b) & _MASK)
            if not 0 <= found <= _MASK and (mask is None or np.any(mask)):
                _warn()
            return _signed(found)
        x, y = _bits(a), _bits(b)
        made = ufunc(x, y)
        beyond = overflows(x, y, made)
        if np.any(beyond if mask is None else beyond & mask):
            _warn()
        return made.view(np.int64)

    return call


def _beyond_product(x: Any, y: Any, product: Any) -> Any:
    divisor = np.maximum(x, np.uint64(1))
    return (x != 0) & (product // divisor != y)


u_add = _wrapping(lambda x, y: x + y, np.add, lambda x, y, made: made < x)
u_sub = _wrapping(lambda x, y: x - y, np.subtract, lambda x, y, made: x < y)
u_mul = _wrapping(lambda x, y: x * y, np.multiply, _beyond_product)


def _plain(exact: Callable[[int, int], int], lanes: Callable[[Any, Any], Any]) -> Any:
    def call(a: Any, b: Any) -> Any:
        if not _are_lanes(a, b):
            return _signed(exact(int(a) & _MASK, int(b) & _MASK))
        return lanes(_bits(a), _bits(b)).view(np.int64)

    return call


def _nonzero(divisor: Any) -> Any:
    """Lanes with a divisor of zero do not count."""
    return np.maximum(divisor, np.uint64(1))


u_div = _plain(lambda x, y: x // y, lambda x, y: x // _nonzero(y))
u_mod = _plain(lambda x, y: x % y, lambda x, y: x % _nonzero(y))
u_shl = _plain(lambda x, y: x << y if y < 64 else 0, np.left_shift)
u_shr = _plain(lambda x, y: x >> y if y < 64 else 0, np.right_shift)


def u_float(a: Any) -> Any:
    """As float64."""
    return _bits(a).astype(np.float64) if _are_lanes(a) else np.float64(int(a) & _MASK)


def element(value: Any) -> int:
    """An element of an array of uint64 as an int with its bits."""
    return _signed(int(value))


def stored(value: int) -> int:
    """The uint64 that has these bits."""
    return int(value) & _MASK
