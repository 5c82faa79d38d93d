"""Functions that the runtime tests flatten."""

import enum
import math
from dataclasses import dataclass
from typing import NamedTuple

import pyflat


class Pair(NamedTuple):
    low: float
    high: float


@dataclass
class Point:
    x: float
    y: float


class Side(enum.Enum):
    LEFT = 1
    RIGHT = 2


class Scale:
    def __init__(self, factor):
        self.factor = factor

    def apply(self, x):
        return x * self.factor

    @pyflat.flatten
    def decorated(self, x):
        return x * self.factor

    @staticmethod
    @pyflat.flatten
    def double(x):
        return x + x

    @classmethod
    @pyflat.flatten
    def halve(cls, x):
        return x / 2.0


@pyflat.flatten
def shade(x, t=0.5):
    """The share of x above t."""
    if x > t:
        return (x - t) / x
    return 0.0


def inverse(x):
    return 1.0 / x


class Interval(Pair):
    """Checks its bounds, even where a library would go around __new__."""

    def __new__(cls, low, high):
        if low > high:
            raise ValueError("low above high")
        return tuple.__new__(cls, (low, high))

    @classmethod
    def _make(cls, iterable):
        return cls(*iterable)


def interval(a):
    return Interval(a, a + 1.0)


def ordered(a, b):
    return Pair(a, b) if a < b else Pair(b, a)


def polar(p):
    return Point(math.sqrt(p.x * p.x + p.y * p.y), p.x + p.y)


def positive(x):
    return x > 0


def product(a, b):
    return a * b


def labelled(x, how="plain", *, side=Side.LEFT):
    if how == "twice":
        return x * 2
    if side is Side.RIGHT:
        return -x
    return x


def power(x, n):
    r = 1.0
    for _ in range(n):
        r = r * x
    return r


def spread(first, *rest, offset=0.0):
    total = first + offset
    for item in rest:
        total = total + item
    return total


def keywords(x, **named):
    return x * named["factor"]


def checked(x, y):
    if x < 0:
        raise ValueError(f"negative: {x}")
    return x / y


def modular(a, b):
    return a * b % 1000


def nothing(x):
    return None


def mixed(x):
    return x, 3, None


@dataclass
class Circle:
    radius: float

    def area(self, scale: float = 1.0) -> float:
        return math.pi * self.radius * self.radius * scale


class Offset:
    def __init__(self, offset):
        self.offset = offset

    def apply(self, x):
        return x + self.offset
