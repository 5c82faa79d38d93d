"""Functions for the tests of float32: each a corner of what float32 lanes mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

TABLE = (0.1, -2.7, 1e300, 1e-300, 16777217.0)
EXACT = 0.1


class Pair(NamedTuple):
    low: float
    high: float


@dataclass
class Box:
    size: float
    count: int


def arithmetic(x, y):
    return x * y + 0.1 - x / (abs(y) + 0.7)


def third_of(x):
    return x / 3.0 if x > 0.1 else x * 1e300


def floor_division(x, y):
    return x // y, x % y


def fmods(x, y):
    return math.fmod(x, y), math.remainder(x, y)


def wholes(x):
    return math.floor(x), math.ceil(x), int(x), round(x)


def rounded(x, n: int):
    return round(x, n)


def converted(n: int):
    return n + 0.0


def mixed(n: int, x: float):
    return n * x + n / 3, n < x, n == x


def powers(x, y):
    return x**2, x**3, x**0.5, x**-1, abs(x) ** y


def elementary(x):
    return math.exp(x), math.sin(x), math.log(abs(x) + 1.0), math.tanh(x), math.gamma(abs(x) + 0.5)


def smooth(x):
    return math.exp(x), math.sin(x), math.tanh(x), math.atan2(x, 2.0), math.erf(x), math.pow(2.5, x)


def roots(x):
    return math.sqrt(x)


def neighbour(x, y):
    return math.nextafter(x, y)


def scaled(x, n: int):
    return math.ldexp(x, n), math.frexp(x)


def looked_up(i: int):
    return TABLE[i]


def chosen(x):
    return 1.0 if x > EXACT else 2.5


def least(x, y):
    return min(x, y), max(x, y), abs(x), -x, math.copysign(x, 2.0)


def counted(x, n: int):
    total = 0.0
    for k in range(n):
        total += x / (k + 1)
        if total > 1e20:
            break
    return total


def inverse(x):
    return 1.0 / (x * x)


def checked(x):
    if x * 1e-30 == 0.0:
        raise ValueError("too small")
    return x


def indexed(x):
    return TABLE[int(x * 1e-44)]


def hashed(n: int, x: float):
    return (n * 6364136223846793005 + 1442695040888963407) & 0xFFFF, x + 0.1


def grown(n: int, x: float):
    return (n * n) % 1000, x * 0.1


def pair(x):
    return Pair(x * 0.1, x + 0.1)


def box(b: Box):
    return b.size * b.count


def power_of_complex(z: complex):
    return z**2.5


def sum_of_complex(z: complex):
    return z * z + 1j


def unit_in_the_last_place(x):
    return math.ulp(x)


def distance(x, y):
    return math.hypot(x, y, 1.0)


def length(x, y):
    return math.hypot(x, y)


def whole_root(n: int):
    return math.isqrt(n)


def classified(x, kind):
    if kind == "inverse":
        return 1.0 / x
    return math.log(x) if kind == "log" else x * 0.1


def clamped(x):
    return np.maximum(x, 0.0), np.minimum(x, -0.0), np.max([x, 0.0, -1.0])


def projected(x, y):
    matrix = np.array([[x, 0.5], [y, -2.0]])
    return matrix @ np.array([y, 0.1]), np.dot(np.array([x, y, x]), np.array([y, 0.3, 0.7]))


def constant(x):
    return 0.1, x


def mean(a, b):
    return (a + b) * 0.5
