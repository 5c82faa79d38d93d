"""NumPy's functions of one number that have no operation of their own, math.fma and math.sumprod, as plain Python;
inlined like a user's helpers.

Each follows the C or Python source of NumPy step by step, so that it has the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pyflat.frontend.library.stdlib import fsum
from pyflat.frontend.state.undecided import UndecidedError
from pyflat.functions.norms import product_error


def square(x: Any) -> Any:
    return x * x


def sinc(x: float) -> Any:
    y = math.pi * x
    y = y if y != 0.0 else 2.220446049250313e-16
    return np.sin(y) / y


def isclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    x, y = float(a), float(b)
    close = (abs(x - y) <= atol + rtol * abs(y)) & math.isfinite(y) | (x == y)
    if equal_nan:
        close = close | ((x != x) & (y != y))
    return close


def modf(x: Any) -> tuple[Any, Any]:
    x = np.copysign(x, x)  # a float of the type that np.modf chooses
    whole = np.trunc(x)
    return np.copysign(np.where(np.isinf(x), 0.0, x - whole), x), whole


def nan_to_num(x: float, nan: float, largest: float, smallest: float) -> float:
    if x != x:
        return nan
    if x == math.inf:
        return largest
    return smallest if x == -math.inf else x


# --- products, split into a float and what it lacks. Where that is not exact, near the limits of the format, the
# original decides.
def fma(x: float, y: float, z: float, /) -> float:
    product, error = exact_product(float(x), float(y))
    z = float(z)
    if product == 0.0:
        return product + z
    return fsum([product, error, z])


def exact_product(x: float, y: float) -> tuple[float, float]:
    """x * y as a sum of two floats, exactly."""
    product = x * y
    if not (abs(x) < 2.0**990 and abs(y) < 2.0**990):
        raise UndecidedError("the original decides")
    if not (2.0**-960 < abs(product) < 2.0**1000 or x == 0.0 or y == 0.0):
        raise UndecidedError("the original decides")
    return product, product_error(x, y, product)


def exact_sum(x: float, y: float) -> tuple[float, float]:
    """x + y as a sum of two floats, exactly (D. E. Knuth, 1969)."""
    total = x + y
    rest = total - x
    return total, (x - (total - rest)) + (y - rest)


def sumprod(p: Sequence[Any], q: Sequence[Any], /) -> Any:
    """As CPython 3.12 and 3.13 (Modules/mathmodule.c): pairs of ints, then pairs with a float in triple precision, then
    any others, each plainly."""
    if len(p) != len(q):
        raise ValueError("Inputs are not the same length")
    total: Any = 0
    floats: list[tuple[Any, Any]] = []
    plainly = False
    for x, y in zip(p, q, strict=True):
        if not plainly and is_float_pair(x, y):
            floats.append((float(x), float(y)))
        else:
            plainly = plainly or len(floats) > 0 or type(x) is not int or type(y) is not int
            if len(floats) > 0:
                total = total + in_triple_precision(floats)
                floats = []
            total = total + x * y
    return total + in_triple_precision(floats) if len(floats) > 0 else total


def is_float_pair(x: Any, y: Any) -> bool:
    """One is a float, and the other a float, an int or a bool: Python's own, of no other class."""
    if type(x) is float:
        return type(y) is float or type(y) is int or type(y) is bool
    return type(y) is float and (type(x) is int or type(x) is bool)


def in_triple_precision(pairs: Sequence[tuple[float, float]]) -> float:
    """The sum of the products (T. Ogita, S. M. Rump, S. Oishi, 2005: algorithm 5.10 with K = 3)."""
    high, low, tiny = 0.0, 0.0, 0.0
    for x, y in pairs:
        product, error = exact_product(x, y)
        high, first = exact_sum(high, product)
        low, second = exact_sum(low, error)
        low, third = exact_sum(low, first)
        tiny = tiny + second + third
    last, rest = exact_sum(low, high)
    return tiny + rest + last
