"""NumPy's functions of one number that have no operation of their own, as plain Python; inlined like a user's helpers.

Each follows the C or Python source of NumPy step by step, so that it has the same bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


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
