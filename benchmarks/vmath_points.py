"""Operands on which the vector math is measured: the whole range of the format in log scale, the range that matters
uniformly, and the points where such functions go wrong: next to the ends of their reductions, next to the zeros of
logarithms and sines, at overflow and underflow, in the subnormals, and pairs whose power is near 1 or a limit."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np

Array = np.ndarray
DTYPES = {"f8": np.float64, "f4": np.float32}
_INTS = {"f8": np.int64, "f4": np.int32}
LARGEST_ANGLE = {"f8": 45, "f4": 17}
"""The binary exponent up to which sin, cos and tan are measured."""


class Points:
    """Random and adversarial operands of one format, reproducible by the seed."""

    def __init__(self, width: str, count: int, seed: int):
        self.width, self.count = width, count
        self.dtype = DTYPES[width]
        self.info = np.finfo(self.dtype)
        self.rng = np.random.default_rng(seed)

    def logarithmic(self, low: float | None = None, high: float | None = None, signed: bool = True) -> Array:
        """Numbers whose binary logarithm is uniform; without bounds the whole format, subnormals too."""
        first = self.info.minexp - self.info.nmant if low is None else low
        last = self.info.maxexp if high is None else high
        x = np.exp2(self.rng.uniform(first, last - 1e-9, self.count)).astype(self.dtype)
        x = np.minimum(x, self.info.max)
        return x * self.rng.choice([1, -1], self.count).astype(self.dtype) if signed else x

    def uniform(self, low: float, high: float) -> Array:
        return self.rng.uniform(low, high, self.count).astype(self.dtype)

    def around(self, centres: Array | list[float], steps: int = 6) -> Array:
        """The numbers up to `steps` units in the last place from each centre, both signs of it."""
        x = np.asarray(centres).astype(self.dtype)
        x = np.concatenate([x[np.isfinite(x)], -x[np.isfinite(x)]])
        whole = x.view(_INTS[self.width])
        return np.concatenate([(whole + k).view(self.dtype) for k in range(-steps, steps + 1)])

    def near_one(self) -> Array:
        """1 + d with |d| from the last place to 1/2."""
        return (1 + self.logarithmic(-self.info.nmant - 1, -1).astype(np.float64)).astype(self.dtype)

    def near_multiples(self, step: float, largest: float) -> Array:
        """Numbers next to whole multiples of `step`."""
        bound = max(largest / step, 2.0)
        whole = np.floor(np.exp2(self.rng.uniform(0, math.log2(bound), self.count)))
        return self.around((whole * step)[: self.count // 8 + 1])

    def edges(self) -> Array:
        """Zeros aside: ones, the ends of the format and of its subnormals."""
        ends = [1, 2, 0.5, 3, 10, 0.1, self.info.tiny, self.info.smallest_subnormal * 3, self.info.max, 2.0**-60]
        return self.around([float(e) for e in ends])


@cache
def hard_angles(width: str) -> tuple[float, ...]:
    """For each exponent, the numbers of the format closest to a multiple of pi/2, by continued fractions."""
    digits = np.finfo(DTYPES[width]).nmant + 1
    with mpmath.workprec(600):
        half_pi = Fraction(int(mpmath.floor(mpmath.pi / 2 * mpmath.mpf(2) ** 500)), 2**500)
    found = []
    for exponent in range(-digits, LARGEST_ANGLE[width] - digits + 1):
        # m 2**e = n pi/2 nearly: n/m is nearly 2**e / (pi/2).
        for n, m in _convergents(Fraction(2) ** exponent / half_pi, 2**digits):
            if n and 2 ** (digits - 1) <= m < 2**digits:
                found.append(math.ldexp(m, exponent))
    return tuple(found)


def _convergents(x: Fraction, bound: int) -> list[tuple[int, int]]:
    """The convergents of x with denominators below the bound, and multiples of the last of them."""
    before, current, found = (0, 1), (1, 0), []
    while True:
        whole = x.numerator // x.denominator
        before, current = current, (whole * current[0] + before[0], whole * current[1] + before[1])
        if current[1] >= bound:
            break
        found += [(current[0] * k, current[1] * k) for k in (1, 2, 3, bound // max(current[1], 1) // 2 + 1)]
        if x == whole:
            break
        x = 1 / (x - whole)
    return found


def operands(name: str, width: str, count: int, seed: int) -> tuple[Array, ...]:
    """Operands of the function, all within its mathematical domain or next to its limits."""
    p = Points(width, count, seed)
    if name in _PAIRS:
        return _PAIRS[name](p)
    general = [p.logarithmic(), p.logarithmic(-12, 6), p.uniform(-2, 2), p.edges()]
    return (np.concatenate([*general, *_SPECIAL.get(name, lambda _: [])(p)]),)


def _exponents(p: Points, base: float) -> list[Array]:
    """Of base**x: between underflow and overflow, at both, and next to the ends of the reduction."""
    low, high = (p.info.minexp - p.info.nmant - 2) * base, p.info.maxexp * base
    halves = np.arange(1, 300) * 0.5 * base
    limits = [low, high, p.info.minexp * base, low + base, (p.info.nmant + 1) * base]
    return [p.uniform(low, high), p.around(halves, 2), p.around([abs(x) for x in limits], 40)]


def _logarithms(p: Points) -> list[Array]:
    roots = np.exp2(np.arange(-40, 40) + 0.5)
    return [p.near_one(), p.around(roots, 3), p.around([1.0], 40), p.uniform(0.6, 1.6)]


def _angles(p: Points) -> list[Array]:
    largest = 2.0 ** LARGEST_ANGLE[p.width]
    return [p.near_multiples(math.pi / 2, largest), p.near_multiples(math.pi / 4, largest), p.uniform(-100, 100),
            p.logarithmic(0, LARGEST_ANGLE[p.width]), p.around(list(hard_angles(p.width)), 0)]


def _powers(p: Points) -> tuple[Array, Array]:
    wide, span = p.width == "f8", (1000.0 if p.width == "f8" else 120.0)
    ordinary = p.logarithmic(signed=False), p.uniform(-3, 3)
    x = p.logarithmic(-8, 8, signed=False)
    # Exponents that bring the power next to overflow, underflow or 1.
    with np.errstate(all="ignore"):
        goal = p.uniform(-(1080 if wide else 150), 1025 if wide else 129)
        limits = x, (goal.astype(np.float64) / np.log2(x.astype(np.float64))).astype(p.dtype)
    close = p.near_one(), p.logarithmic(0, p.info.nmant + 9)
    whole = p.logarithmic(-4, 6), np.rint(p.uniform(-60, 60))
    small = np.rint(p.uniform(1, 40)), np.rint(p.uniform(-8, 8)) * p.dtype(0.5)
    near = p.uniform(0.5, 2), p.uniform(-span, span)
    parts = [ordinary, limits, close, whole, small, near]
    return np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts])


def _points_of_the_plane(p: Points) -> tuple[Array, Array]:
    ratio = p.logarithmic(-30, 30)
    x = p.logarithmic(-20, 20)
    slopes = np.resize(p.around([0.5, 1.0, 2.0], 8), p.count)
    near = p.logarithmic(-4, 4), p.logarithmic(-4, 4)
    parts = [(p.logarithmic(), p.logarithmic()), near, (x * ratio, x), (slopes * x, x)]
    return np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts])


def _quotients(p: Points) -> tuple[Array, Array]:
    y = p.logarithmic(-20, 20)
    whole = np.rint(np.exp2(p.rng.uniform(0, p.info.nmant, p.count))).astype(p.dtype)
    product = whole * y
    turns = p.rng.choice([np.inf, -np.inf], p.count).astype(p.dtype)
    parts = [(p.logarithmic(), p.logarithmic()), (p.logarithmic(-9, 9), p.logarithmic(-9, 9)), (product, y),
             (np.nextafter(product, turns), y)]
    return np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts])


_LN2 = math.log(2)
_SPECIAL: dict[str, Callable[[Points], list[Array]]] = {
    "exp": lambda p: _exponents(p, _LN2),
    "exp2": lambda p: _exponents(p, 1.0),
    "expm1": lambda p: [*_exponents(p, _LN2), p.uniform(-1, 1)],
    "sinh": lambda p: [*_exponents(p, _LN2), p.around([1.0], 30)],
    "cosh": lambda p: _exponents(p, _LN2),
    "tanh": lambda p: [p.around([0.6], 30), p.uniform(-1, 1), p.uniform(-25, 25)],
    "log": _logarithms, "log2": _logarithms, "log10": _logarithms,
    "log1p": lambda p: [p.uniform(-1, 1), p.near_one() - 1, -p.logarithmic(-60, 0, signed=False) + 0,
                        p.around([1.0, math.sqrt(2) - 1, 1 - math.sqrt(0.5)], 30), p.near_one() - 2],
    "sin": _angles, "cos": _angles, "tan": _angles,
    "asin": lambda p: [p.uniform(-1, 1), p.around([0.5, 1.0], 40), p.near_one(), p.uniform(0.5, 1)],
    "acos": lambda p: [p.uniform(-1, 1), p.around([0.5, 1.0], 40), p.near_one(), p.uniform(0.5, 1)],
    "atan": lambda p: [p.around([0.5, 1.0, 2.0], 40), p.uniform(0.3, 3)],
    "asinh": lambda p: [p.uniform(-4, 4), p.around([1.0], 30)],
    "acosh": lambda p: [p.uniform(1, 4), np.abs(p.near_one() - 1) + 1, p.logarithmic(0, 30, signed=False)],
    "atanh": lambda p: [p.uniform(-1, 1), p.near_one(), p.uniform(-0.5, 0.5)],
    "cbrt": lambda p: [p.around(np.arange(1, 60) ** 3.0, 3), p.logarithmic(-3, 3)],
    "gamma": lambda p: [p.uniform(-6, 8), p.uniform(-185, 172) if p.width == "f8" else p.uniform(-42, 36),
                        p.around(np.arange(-30, 36).astype(float), 3), p.uniform(0, 2), p.around([171.62, 35.04], 40)],
    "lgamma": lambda p: [p.uniform(0, 4), p.uniform(0.5, 2.5), p.logarithmic(0, 30), p.uniform(0, 12),
                         p.around([1.0, 2.0, 0.75, 1.25, 1.75, 2.25, 7.0], 40)],
    "erf": lambda p: [p.uniform(-6, 6), p.around([0.4765], 40), p.uniform(-0.6, 0.6)],
    "erfc": lambda p: [p.uniform(-6, 28 if p.width == "f8" else 11), p.around([0.4765], 40), p.uniform(0.3, 1)],
}
_PAIRS: dict[str, Callable[[Points], tuple[Array, Array]]] = {
    "pow": _powers, "atan2": _points_of_the_plane, "fmod": _quotients,
}
