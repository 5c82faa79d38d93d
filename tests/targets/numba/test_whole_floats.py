"""The low bits of whole float32 numbers: small and large ones, of both signs, and where the remainder is 2**31."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pyflat


def low(x: float) -> int:
    return math.floor(x) & 0xFFFFFFFF


def hashed(x: float, y: float) -> int:
    h = (math.floor(x) * 374761393 + math.ceil(y) * 668265263) & 0xFFFFFFFF
    return ((h ^ (h >> 13)) * 1274126177) & 0xFFFFFFFF


def lanes() -> np.ndarray:
    rng = np.random.default_rng(6)
    sizes = 2.0 ** rng.integers(-3, 62, 2000)
    edges = [sign * 2.0**k * (1 + step * 2.0**-23) for k in (30, 31, 32, 33, 40, 62) for step in (-1, 0, 1, 5)
             for sign in (1.0, -1.0)]
    return np.concatenate([edges, [1.5 * 2.0**32, 2.5 * 2.0**31, -3 * 2.0**31, 0.5, -0.5, -0.0], rng.uniform(-2, 2, 2000) * sizes
                           ]).astype(np.float32)


def test_low_bits_are_pythons() -> None:
    pytest.importorskip("llvmlite")
    x = lanes()
    y = np.random.default_rng(7).permutation(x)
    found = pyflat.twin(low, target="numba", dtype="float32", cache=False)(x)
    assert found.tolist() == [low(each) for each in x.tolist()]
    found = pyflat.twin(hashed, target="numba", dtype="float32", cache=False)(x, y)
    assert found.tolist() == [hashed(*each) for each in zip(x.tolist(), y.tolist(), strict=True)]
