"""Functions of the standard library and NumPy that have no operation of their own, as plain Python.

They are captured and inlined like a user's helpers. Each gives CPython's value wherever CPython returns; where an
int operation here leaves 64 bits the lane is replayed through the original.
"""

from __future__ import annotations

import math
from typing import Any


def isclose(a: float, b: float, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> bool:
    if rel_tol < 0.0 or abs_tol < 0.0:
        raise ValueError("tolerances must be non-negative")
    if a == b:
        return True
    if math.isinf(a) or math.isinf(b):
        return False
    diff = abs(b - a)
    return diff <= abs(rel_tol * b) or diff <= abs(rel_tol * a) or diff <= abs_tol


def modf(x: float) -> tuple[float, float]:
    if math.isinf(x):
        return math.copysign(0.0, x), x
    whole = _trunc(x)
    return math.copysign(x - whole, x), whole


def _trunc(x: float) -> float:
    return math.copysign(_floor(abs(x)), x)


def _floor(x: float) -> float:
    raise AssertionError("replaced by the operation floor")


def round_to_multiple(n: int, step: int) -> int:
    """The nearest multiple of a power of ten, ties to the even one: round(n, -digits)."""
    count, rest = divmod(n, step)
    half = step // 2
    if rest > half or rest == half and count % 2:
        count += 1
    return count * step


def isqrt(n: int) -> int:
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    root = int(math.sqrt(n))
    if root * root > n:
        root = root - 1
    if (root + 1) * (root + 1) <= n:
        root = root + 1
    return root


def isqrt_narrow(n: int) -> int:
    """`isqrt` where the root of floats has 24 digits: two steps of Newton's method double them twice."""
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    root = max(int(math.sqrt(n)), 1)
    root = (root + n // root) // 2
    root = (max(root, 1) + n // max(root, 1)) // 2
    if root > n // max(root, 1):
        root = root - 1
    if root + 1 <= n // (root + 1):
        root = root + 1
    return root


def range_length(start: int, stop: int, step: int) -> int:
    span = stop - start if step > 0 else start - stop
    return (span + abs(step) - 1) // abs(step) if span > 0 else 0


def gcd(a: int, b: int) -> int:
    a, b = abs(a), abs(b)
    while b:
        a, b = b, a % b
    return a


_FACTORIALS = tuple(math.factorial(i) for i in range(21))


def factorial(n: int) -> int:
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    return _FACTORIALS[n]


def is_integer(x: float) -> bool:
    return math.isfinite(x) and _floor(x) == x


def bit_length(n: int) -> int:
    """The number of bits of |n|, by halving."""
    n = abs(n)
    bits = 0
    for step in (32, 16, 8, 4, 2, 1):
        if n >= 1 << step:
            n = n >> step
            bits = bits + step
    return bits + n


def clip(x: Any, low: Any, high: Any) -> Any:
    """np.clip of numbers: minimum(maximum(x, low), high), nan propagates."""
    return minimum(maximum(x, low), high)


def minimum(a: Any, b: Any) -> Any:
    return a if a <= b or a != a else b


def maximum(a: Any, b: Any) -> Any:
    return a if a >= b or a != a else b


def sign(x: Any) -> Any:
    if x > 0:
        return 1.0
    if x < 0:
        return -1.0
    return x if x != x else 0.0


def sign_int(x: int) -> int:
    if x > 0:
        return 1
    return -1 if x < 0 else 0


def heaviside(x: float, at_zero: float) -> float:
    if x != x:
        return x
    if x > 0:
        return 1.0
    return 0.0 if x < 0 else at_zero
