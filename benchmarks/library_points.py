"""Operands on which vector code is compared with the C library's functions (`benchmarks.library_bits`): random ones of
the ranges in which a function does different things, random bits, and special numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.vmath_points import operands as adversarial

Array = np.ndarray
Range = tuple[float, float]

_ANGLES: tuple[Range, ...] = ((-1, 1), (-7, 7), (-1000, 1000), (-1e6, 1e6), (-1.05e8, 1.05e8))
_LOGARITHMS: tuple[Range, ...] = ((0.5, 2), (0.9, 1.1), (0.01, 100), (0.01, 1e6))
_WITHIN_ONE: tuple[Range, ...] = ((-1, 1), (-0.2, 0.2), (0.9, 1.0), (-1.0, -0.95))
_GROWTH: tuple[Range, ...] = ((-1, 1), (-3, 3), (-30, 30), (-710, 710))
RANGES: dict[str, tuple[Range, ...]] = {
    "exp": ((-1, 1), (-30, 30), (-745.2, 709.8)), "exp2": ((-1, 1), (-30, 30), (-1074, 1024)),
    "expm1": ((-1, 1), (-2, 2), (-60, 60), (-50, 709)), "log": _LOGARITHMS, "log2": _LOGARITHMS, "log10": _LOGARITHMS,
    "log1p": ((-1, 1), (-0.3, 0.5), (-1, 100), (-1e-3, 1e-3)), "sin": _ANGLES, "cos": _ANGLES, "tan": _ANGLES,
    "asin": _WITHIN_ONE, "acos": _WITHIN_ONE, "atan": ((-1, 1), (-20, 20), (-0.2, 0.2), (-1000, 1000)),
    "sinh": _GROWTH, "cosh": _GROWTH, "tanh": ((-1, 1), (-3, 3), (-23, 23)),
    "asinh": ((-1, 1), (-4, 4), (-1e6, 1e6)), "acosh": ((1, 2), (1, 4), (1, 1e6)), "atanh": ((-1, 1), (-0.5, 0.5)),
    "cbrt": ((-1, 1), (-1000, 1000)), "erf": ((-1, 1), (-3, 3), (-6.5, 6.5)), "erfc": ((-1, 1), (-3, 3), (-6, 28)),
    "gamma": ((0, 5), (0.05, 171.6), (-6, 0), (-205, 0)), "lgamma": ((0, 5), (0.05, 1e4), (-6, 0), (-205, 0)),
}
PAIRS: dict[str, tuple[tuple[Range, Range], ...]] = {
    "pow": (((0.01, 100), (-12, 12)), ((0.5, 2), (-700, 700)), ((0, 1), (2.4, 2.4)), ((0.9, 1.1), (-5000, 5000))),
    "atan2": (((-1, 1), (-1, 1)), ((-100, 100), (-1, 1)), ((-1, 1), (-100, 100))),
}


def any_bits(random: np.random.Generator, n: int) -> Array:
    """All exponents, infinities and nan too."""
    return random.integers(0, 1 << 64, n, dtype=np.uint64).view(np.float64)


def special(random: np.random.Generator, n: int) -> Array:
    """Numbers of few digits, powers of two, multiples of pi/4 and of ln 2 / 2, and up to three units beside them."""
    quarter = n // 4
    parts = [random.integers(-4096, 4096, quarter) / random.choice([1.0, 2.0, 16.0, 128.0, 256.0, 1024.0], quarter),
             np.ldexp(1.0, random.integers(-1080, 1024, quarter)) * random.choice([1.0, -1.0], quarter),
             random.integers(-100000, 100000, quarter) * (np.pi / 4),
             random.integers(-1100, 1100, n - 3 * quarter) * (np.log(2.0) / 2)]
    found: Array = (np.concatenate(parts).view(np.int64) + random.integers(-3, 4, n)).view(np.float64)
    return found


def small_exponents(random: np.random.Generator, n: int) -> Array:
    return np.ldexp(random.uniform(1, 2, n), random.integers(-40, 8, n)) * random.choice([1.0, -1.0], n)


def blocks(name: str, lanes: int, size: int, seed: int) -> Iterator[list[Array]]:
    """Operands in blocks of up to `size`, at least so many lanes; those where such functions go wrong first."""
    random = np.random.default_rng(seed)
    hard = adversarial(name, "f8", min(size, 20000), seed)
    for start in range(0, len(hard[0]), size):
        yield [x[start : start + size] for x in hard]
    left = lanes - len(hard[0])
    while left > 0:
        for block in _round(name, random, size):
            yield block
            left -= size
            if left <= 0:
                return


def _round(name: str, random: np.random.Generator, n: int) -> Iterator[list[Array]]:
    if name in PAIRS:
        for first, second in PAIRS[name]:
            yield [random.uniform(*first, n), random.uniform(*second, n)]
    else:
        for bounds in RANGES[name]:
            yield [random.uniform(*bounds, n)]
    for make in (any_bits, special, small_exponents):
        yield [make(random, n) for _ in range(2 if name in PAIRS else 1)]
