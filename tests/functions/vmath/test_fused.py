"""The fused multiply-add on arrays: exactly a * b + c, rounded once."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from pyflat.functions.vmath import fused

COUNT = 4_000


def triples(kind: str, dtype: type[np.floating]) -> list[np.ndarray]:
    rng, info = np.random.default_rng(3), np.finfo(dtype)
    exponents = {"all": (info.minexp - info.nmant, info.maxexp), "tiny": (info.minexp // 2 - 12, info.minexp // 2 + 5),
                 "plain": (-3, 3), "cancelling": (-3, 3), "ties": (-20, 20)}[kind]
    with np.errstate(all="ignore"):
        a, b, c = (np.ldexp(rng.uniform(-2, 2, COUNT), rng.integers(*exponents, COUNT)).astype(dtype) for _ in range(3))
        if kind == "cancelling":
            c = (-a * b * (1 + rng.integers(-3, 4, COUNT) * info.eps)).astype(dtype)
        if kind == "tiny":
            c = (c * np.ldexp(1.0, info.minexp // 2)).astype(dtype)
        if kind == "ties":
            a, b = np.rint(a * 8).astype(dtype), np.rint(b * 8).astype(dtype)
            c = (np.ldexp(1.0, info.nmant + 1) * a * b + rng.integers(-1, 2, COUNT)).astype(dtype)
    return [a, b, c]


def rounded(x: Fraction, dtype: type[np.floating]) -> float:
    """The nearest number of the format, by comparing exact distances."""
    if dtype is np.float64:
        return x.numerator / x.denominator
    guess = np.float32(x.numerator / x.denominator)
    around = [guess, np.nextafter(guess, np.float32(np.inf)), np.nextafter(guess, np.float32(-np.inf))]
    finite = [y for y in around if np.isfinite(y)]
    return float(min(finite, key=lambda y: (abs(Fraction(float(y)) - x), int(y.view(np.int32)) & 1)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["all", "tiny", "plain", "cancelling", "ties"])
def test_is_rounded_once(kind, dtype):
    a, b, c = triples(kind, dtype)
    with np.errstate(all="ignore"):
        got = fused.fma(a, b, c)
    checked = 0
    for x, y, z, value in zip(a.tolist(), b.tolist(), c.tolist(), got.tolist()):
        if not np.isfinite([x, y, z, value]).all():
            continue
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        assert value == rounded(exact, dtype), (x, y, z)
        checked += 1
    assert checked > COUNT // 4


def test_few_lanes_are_computed_like_many():
    a, b, c = triples("all", np.float64)
    with np.errstate(all="ignore"):
        many = fused.fma(a, b, c)
        few = [fused.fma(a[k : k + 1], b[k : k + 1], c[k : k + 1])[0] for k in range(200)]
    assert np.array_equal(many[:200], few, equal_nan=True)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_special_operands(dtype):
    inf, nan = np.inf, np.nan
    rows = [(inf, 2, 1, inf), (inf, 0, 1, nan), (inf, 1, -inf, nan), (nan, 1, 1, nan), (0.0, -1, 0.0, 0.0), (-0.0, 1, -0.0, -0.0),
            (1e30, 1e30, -inf, -inf), (1e200, 1e200, 1, inf), (1, 1, -1, 0.0),
            (1e30, 1e30, inf, inf), (-3e38, 3e38, inf, inf)]
    if dtype is np.float64:
        rows += [(1e300, 1e300, -inf, -inf), (-1e300, 1e300, inf, inf)]
    with np.errstate(all="ignore"):
        columns = [np.array(column, dtype=dtype) for column in zip(*rows)]
        for repeated in (1, 10):
            a, b, c, expected = (np.tile(column, repeated) for column in columns)
            got = fused.fma(a, b, c)
            assert np.array_equal(got, expected, equal_nan=True)
            assert np.array_equal(np.signbit(got[~np.isnan(got)]), np.signbit(expected[~np.isnan(expected)]))
