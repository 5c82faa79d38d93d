"""Whether the gamma and lgamma of this CPython are the algorithm that vector code follows (`vmath.exact.gamma`).

They are CPython's own code (Modules/mathmodule.c), in the interpreter or in a shared library, built by whoever built
Python: there is no identity to know it by. What C lets a compiler change is whether a product and a sum are rounded
together, and a compiler does so for an expression of the source, not for some of its values. So the version says which
algorithm it is, and it is computed here with Python's floats, for which every operation is rounded, at points of which
several tell each such expression, and some are of each range. (One sum, of a number and 1e-16 of it, no point can tell,
nor would its bits change.)
"""

from __future__ import annotations

import math
from functools import cache

from pyflat.functions import python_versions
from pyflat.functions.libm import same_bits
from pyflat.functions.vmath.exact.gamma import (
    ABOVE,
    BELOW,
    FROM_RECIPROCALS,
    G_LESS_HALF,
    HALVED,
    LOG_PI,
    G,
)

PARTS = {"gamma": ("exp", "pow", "sin", "cos"), "lgamma": ("log", "sin", "cos")}
"""The C library's functions in each."""

POINTS = (-150.3, -20.6, -8.7, -3.19, 0.3, 1.42, 3.19, 3.4, 3.52, 8.6, 40.2, 150.3)


@cache
def is_known() -> bool:
    """Whether vector code has the bits of math.gamma and math.lgamma, where it has those of `PARTS`."""
    if not python_versions.is_cpython(*python_versions.GAMMA):
        return False
    return all(same_bits(gamma(x), math.gamma(x)) and same_bits(lgamma(x), math.lgamma(x)) for x in POINTS)


def _add_product(total: float, a: float, b: float) -> float:
    """Where a compiler might round once."""
    return total + a * b


def _lanczos(x: float) -> float:
    above = below = 0.0
    if x < FROM_RECIPROCALS:
        for first, second in zip(ABOVE[::-1], BELOW[::-1], strict=True):
            above, below = _add_product(first, above, x), _add_product(second, below, x)
    else:
        for first, second in zip(ABOVE, BELOW, strict=True):
            above, below = above / x + first, below / x + second
    return above / below


def _sine_of_pi(x: float) -> float:
    y = math.fmod(x, 2.0)
    match math.floor(2.0 * y + 0.5):
        case 0:
            return math.sin(math.pi * y)
        case 1:
            return math.cos(math.pi * (y - 0.5))
        case 2:
            return math.sin(math.pi * (1.0 - y))
        case 3:
            return -math.cos(math.pi * (y - 1.5))
    return math.sin(math.pi * (y - 2.0))


def gamma(x: float) -> float:
    """gamma of an ordinary number."""
    size = abs(x)
    y = size + G_LESS_HALF
    lost = ((y - size) - G_LESS_HALF if size > G_LESS_HALF else (y - G_LESS_HALF) - size) * G / y
    if x < 0.0:
        r = -math.pi / _sine_of_pi(size) / size * math.exp(y) / _lanczos(size)
        r = _add_product(r, -lost, r)
    else:
        r = _lanczos(size) / math.exp(y)
        r = _add_product(r, lost, r)
    halved = size >= HALVED
    factor = math.pow(y, size / 2.0 - 0.25 if halved else size - 0.5)
    for _ in range(1 + halved):
        r = r / factor if x < 0.0 else r * factor
    return r


def lgamma(x: float) -> float:
    """lgamma of an ordinary number."""
    size = abs(x)
    r = _add_product(math.log(_lanczos(size)) - G, size - 0.5, math.log(size + G - 0.5) - 1.0)
    if x < 0.0:
        r = LOG_PI - math.log(abs(_sine_of_pi(size))) - math.log(size) - r
    return r
