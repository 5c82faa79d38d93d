"""The coefficients of pyflat.functions.vmath: `python -m benchmarks.vmath_fit` writes
pyflat/functions/vmath/coefficients.py.

A polynomial is the interpolation at Chebyshev's nodes, computed with 400 bits and rounded: within a factor of two or
three of the best possible one, which one more coefficient outweighs. Constants that need more digits than the format
has are sums of several numbers. Needs mpmath.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mpmath
import numpy as np
from mpmath import mpf

PAGE = Path(__file__).resolve().parent.parent / "pyflat" / "functions" / "vmath" / "coefficients.py"
Real = Callable[[mpf], mpf]
_NEAR_ZERO = mpf(2) ** -100
"""Where the quotients, 0/0 at 0, are taken instead of at 0."""


def interpolation(function: Real, low: float, high: float, count: int) -> list[mpf]:
    """The polynomial with `count` coefficients (the constant first) through Chebyshev's nodes of [low, high]."""
    a, b = mpf(low), mpf(high)
    nodes = [mpmath.cos(mpmath.pi * (2 * k + 1) / (2 * count)) for k in range(count)]
    points = [(a + b) / 2 + (b - a) / 2 * t for t in nodes]
    values = [function(x if abs(x) > _NEAR_ZERO else _NEAR_ZERO) for x in points]
    series = [2 * mpmath.fsum(v * mpmath.cos(mpmath.pi * j * (2 * k + 1) / (2 * count)) for k, v in enumerate(values))
              / count for j in range(count)]
    series[0] /= 2
    return _monomials(series, a, b)


def _monomials(series: list[mpf], a: mpf, b: mpf) -> list[mpf]:
    """A Chebyshev series on [a, b] as a polynomial in x."""
    scale, shift = 2 / (b - a), -(a + b) / (b - a)
    current: list[mpf] = [mpf(1)]
    following: list[mpf] = [shift, scale]
    total = [mpf(0)] * len(series)
    for weight in series:
        for k, c in enumerate(current):
            total[k] += weight * c
        doubled = [mpf(0)] * (len(following) + 1)
        for k, c in enumerate(following):
            doubled[k] += 2 * shift * c
            doubled[k + 1] += 2 * scale * c
        for k, c in enumerate(current):
            doubled[k] -= c
        current, following = following, doubled
    return total


def rounded(x: mpf, dtype: type[np.floating]) -> float:
    """x rounded once to the format."""
    if dtype is np.float64:
        return float(x)
    with mpmath.workprec(24):
        return float(+x)


def parts(x: mpf, dtype: type[np.floating], count: int) -> list[float]:
    """x as a sum of `count` numbers, each the rounding of what the ones before it leave."""
    found: list[float] = []
    for _ in range(count):
        found.append(rounded(x - mpmath.fsum(found), dtype))
    return found


def polynomial(function: Real, low: float, high: float, f8: int, f4: int) -> tuple[list[float], list[float]]:
    return ([rounded(c, np.float64) for c in interpolation(function, low, high, f8)],
            [rounded(c, np.float32) for c in interpolation(function, low, high, f4)])


def split_first(function: Real, low: float, high: float, f8: int, f4: int) -> tuple[list[float], list[float]]:
    """As `polynomial`, with the constant coefficient as a sum of two numbers."""
    both = (interpolation(function, low, high, f8), np.float64), (interpolation(function, low, high, f4), np.float32)
    wide, narrow = [parts(c[0], dtype, 2) + [rounded(x, dtype) for x in c[1:]] for c, dtype in both]
    return wide, narrow


def constant(x: mpf, count: int) -> tuple[list[float], list[float]]:
    return parts(x, np.float64, count), parts(x, np.float32, count)


def _shepherd_laframboise(a: mpf) -> mpf:
    return (1 + 2 * a) * mpmath.exp(a * a) * mpmath.erfc(a)


def short(x: mpf, f8: int, f4: int) -> tuple[list[float], list[float]]:
    """x as a number of so many binary digits, and the rest."""
    both: list[list[float]] = []
    for digits, dtype in ((f8, np.float64), (f4, np.float32)):
        with mpmath.workprec(digits):
            first = float(+x)
        both.append([first, rounded(x - first, dtype)])
    return both[0], both[1]


def _stirling(w: mpf) -> mpf:
    t = 1 / mpmath.sqrt(w)
    return t * (mpmath.loggamma(t) - (t - mpf(1) / 2) * mpmath.log(t) + t - mpmath.log(2 * mpmath.pi) / 2)


def tables() -> dict[str, tuple[str, tuple[list[float], list[float]]]]:
    """Name -> (what it is, the numbers for float64 and for float32)."""
    m = mpmath
    half_ln2, quarter_pi = float(m.log(2) / 2) * 1.01, float(m.pi / 4) * 1.02
    log_limit = float((m.sqrt(2) - 1) / (m.sqrt(2) + 1)) ** 2 * 1.001
    return {
        "LN2": ("ln 2", constant(m.log(2), 2)),
        "LN2_SHORT": ("ln 2, whose first part times an exponent is exact", short(m.log(2), 42, 16)),
        "LOG2_E": ("log2 e", constant(1 / m.log(2), 2)),
        "LOG10_E": ("log10 e", constant(1 / m.log(10), 2)),
        "LOG10_2": ("log10 2", constant(m.log10(2), 2)),
        "TWO_OVER_PI": ("2 / pi", constant(2 / m.pi, 1)),
        "HALF_PI": ("pi / 2", constant(m.pi / 2, 3)),
        "TWO_THIRDS": ("2 / 3", constant(mpf(2) / 3, 2)),
        "EXP": ("(exp r - 1 - r) / r**2", polynomial(
            lambda r: (m.exp(r) - 1 - r) / r**2, -half_ln2, half_ln2, 10, 5)),
        "EXP_TAIL": ("(exp r - 1 - r - r**2 / 2) / r**3, in float64", (polynomial(
            lambda r: (m.exp(r) - 1 - r - r**2 / 2) / r**3, -half_ln2, half_ln2, 10, 1)[0], [])),
        "LOG": ("(2 atanh s - 2 s) / s**3 in z = s**2", polynomial(
            lambda z: (2 * m.atanh(m.sqrt(z)) / m.sqrt(z) - 2) / z, 0, log_limit, 7, 3)),
        "LOG_TAIL": ("(2 atanh s - 2 s - 2/3 s**3) / s**5 in z = s**2", polynomial(
            lambda z: ((2 * m.atanh(m.sqrt(z)) / m.sqrt(z) - 2) / z - mpf(2) / 3) / z, 0, log_limit, 8, 4)),
        "SIN": ("(sin r - r) / r**3 in z = r**2", polynomial(
            lambda z: (m.sin(m.sqrt(z)) / m.sqrt(z) - 1) / z, 0, quarter_pi**2, 6, 3)),
        "SIN_TAIL": ("(sin r - r + r**3 / 6) / r**5 in z = r**2, in float64", (polynomial(
            lambda z: ((m.sin(m.sqrt(z)) / m.sqrt(z) - 1) / z + mpf(1) / 6) / z, 0, quarter_pi**2, 6, 1)[0], [])),
        "SIXTH": ("1 / 6", constant(mpf(1) / 6, 2)),
        "COS": ("(cos r - 1 + r**2 / 2) / r**4 in z = r**2", polynomial(
            lambda z: (m.cos(m.sqrt(z)) - 1 + z / 2) / z**2, 0, quarter_pi**2, 6, 3)),
        "ASIN": ("(asin s - s) / s**3 in z = s**2", polynomial(
            lambda z: (m.asin(m.sqrt(z)) / m.sqrt(z) - 1) / z, 0, 0.2501, 12, 5)),
        "ATAN": ("(atan t - t) / t**3 in z = t**2", polynomial(
            lambda z: (m.atan(m.sqrt(z)) / m.sqrt(z) - 1) / z, 0, 0.2501, 13, 5)),
        "PI": ("pi", constant(m.pi, 2)),
        "HALF_LN_2PI": ("ln(2 pi) / 2", constant(m.log(2 * m.pi) / 2, 2)),
        "STIRLING": ("t (ln gamma(t) - (t - 1/2) ln t + t - ln(2 pi) / 2) in 1 / t**2, t >= 7, in float64", (polynomial(
            _stirling, 0, 1 / 48.9, 11, 1)[0], [])),
        "LGAMMA_AT_1": ("ln gamma(1 + d) / d for |d| <= 1/4, in float64, the constant in two parts", (split_first(
            lambda d: m.loggamma(1 + d) / d, -0.2501, 0.2501, 19, 1)[0], [])),
        "LGAMMA_AT_2": ("ln gamma(2 + d) / d for |d| <= 1/4, in float64, the constant in two parts", (split_first(
            lambda d: m.loggamma(2 + d) / d, -0.2501, 0.2501, 14, 1)[0], [])),
        "ERF": ("(erf x - x) / x in z = x**2", polynomial(
            lambda z: m.erf(m.sqrt(z)) / m.sqrt(z) - 1, 0, 0.48**2, 10, 5)),
        "ERFC": ("(1 + 2 a) exp(a**2) erfc a in t = (a - 3) / (a + 3), the constant in two parts", split_first(
            lambda t: _shepherd_laframboise(3 * (1 + t) / (1 - t)), (0.47 - 3) / (0.47 + 3), 25.1 / 31.1, 22, 11)),
        "CBRT": ("f**(-1/3)", polynomial(lambda f: m.cbrt(1 / f), 0.353, 2.83, 8, 8)),
        "SINH": ("(sinh x - x) / x**3 in z = x**2", polynomial(
            lambda z: (m.sinh(m.sqrt(z)) / m.sqrt(z) - 1) / z, 0, 1.01, 8, 4)),
        "TANH": ("(tanh x - x) / x**3 in z = x**2", polynomial(
            lambda z: (m.tanh(m.sqrt(z)) / m.sqrt(z) - 1) / z, 0, 0.61**2, 11, 5)),
    }


def page() -> str:
    mpmath.mp.prec = 400
    lines = ['"""Coefficients and constants for float64 and for float32."""', "",
             "# written by `python -m benchmarks.vmath_fit`; do not edit", "",
             "from __future__ import annotations", "", "# fmt: off"]
    for name, (meaning, both) in tables().items():
        rows = [f"    ({_row(numbers)})," if numbers else "    ()," for numbers in both]
        lines += [f"{name} = (", *rows, ")", f'"""{meaning}"""']
    return "\n".join(lines) + "\n"


def _row(numbers: list[float]) -> str:
    """Several lines of at most four numbers."""
    texts = [repr(x) for x in numbers]
    groups = [", ".join(texts[k : k + 4]) for k in range(0, len(texts), 4)]
    return ",\n     ".join(groups) + ","


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.name}")
