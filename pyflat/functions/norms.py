"""What math.hypot and math.dist compute: `vector_norm` of CPython (Modules/mathmodule.c), which 3.12 changed.

Numbers are scaled by a power of two, squared exactly, summed with compensation, and the root is corrected once. The
functions take whatever has operators: arrays, lanes of machine code, and numbers, for the frontend inlines them too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pyflat.functions import python_versions

SPLIT = 134217729.0
"""2**27 + 1: Veltkamp's constant, halves a float64's digits."""

Root = Callable[[Any], Any]


def split(x: Any) -> tuple[Any, Any]:
    """x as a sum of two floats of 26 digits each."""
    scaled = x * SPLIT
    high = scaled - (scaled - x)
    return high, x - high


def product_error(a: Any, b: Any, product: Any) -> Any:
    """a * b - product, exactly (T. J. Dekker, 1971)."""
    a_high, a_low = split(a)
    b_high, b_low = split(b)
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _accumulate(total: Any, lost: Any, term: Any) -> tuple[Any, Any]:
    """total + term, and the digits lost in it added to `lost`; |total| >= |term|."""
    longer = total + term
    return longer, lost + ((total - longer) + term)


def of_halves(numbers: Sequence[Any], scale: Any, sqrt: Root) -> Any:
    """The norm as 3.10 and 3.11 have it; `scale` is the power of two that brings the largest into [1/2, 1)."""
    total: Any = 1.0
    first: Any = 0.0
    second: Any = 0.0
    third: Any = 0.0
    for number in numbers:
        high, low = split(number * scale)
        total, first = _accumulate(total, first, high * high)
        total, second = _accumulate(total, second, 2.0 * high * low)
        third = third + low * low
    root = sqrt(total - 1.0 + (first + second + third))
    high, low = split(root)
    total, first = _accumulate(total, first, -high * high)
    total, second = _accumulate(total, second, -2.0 * high * low)
    total, third = _accumulate(total, third, -low * low)
    residual = total - 1.0 + (first + second + third)
    return (root + residual / (2.0 * root)) / scale


def of_products(numbers: Sequence[Any], scale: Any, sqrt: Root) -> Any:
    """The norm as 3.12 and 3.13 have it: of each square, one float and what it lacks."""
    total: Any = 1.0
    lacking: Any = 0.0
    lost: Any = 0.0
    for number in numbers:
        x = number * scale
        square = x * x
        total, lost = _accumulate(total, lost, square)
        lacking = lacking + product_error(x, x, square)
    root = sqrt(total - 1.0 + (lacking + lost))
    square = root * root
    total, lost = _accumulate(total, lost, -square)
    lacking = lacking - product_error(root, root, square)
    residual = total - 1.0 + (lacking + lost)
    return (root + residual / (2.0 * root)) / scale


def _of_quotients(numbers: Sequence[Any], largest: Any, exponent: Any, m: Any) -> Any:
    """The norm of numbers that are all below 2**-1024, as 3.10 and 3.11 have it."""
    total: Any = 1.0
    lost: Any = 0.0
    for number in numbers:
        part = number / largest
        total, lost = _accumulate(total, lost, part * part)
    return largest * m.sqrt(total - 1.0 + lost)


def _of_normals(numbers: Sequence[Any], largest: Any, exponent: Any, m: Any) -> Any:
    """The norm as 3.12 and 3.13 have it: of the numbers divided by the smallest normal one."""
    least = sys.float_info.min
    return least * of_products([number / least for number in numbers], m.power_of_two(-1022 - exponent), m.sqrt)


class Algorithm(NamedTuple):
    """`tiny`(numbers, largest, exponent, m) is for a largest below 2**-1024; `m` has sqrt and power_of_two."""

    scaled: Callable[[Sequence[Any], Any, Root], Any]
    tiny: Callable[[Sequence[Any], Any, Any, Any], Any]


ALGORITHMS = {"3.10": Algorithm(of_halves, _of_quotients), "3.12": Algorithm(of_products, _of_normals)}


def algorithm() -> Algorithm:
    """The running Python's, where it is known; otherwise any."""
    return ALGORITHMS[python_versions.norm_name() or "3.12"]
