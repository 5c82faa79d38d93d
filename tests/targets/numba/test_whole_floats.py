"""The low bits of whole float32 numbers: small and large ones, of both signs, and where the remainder is 2**31."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pyflat


def bits(x: float, y: float) -> float:
    """Some bits of a hash, as noise takes them."""
    h = (math.floor(x) * 374761393 + math.ceil(y) * 668265263) & 0xFFFFFFFF
    h = ((h ^ (h >> 13)) * 1274126177) & 0xFFFFFFFF
    total = 0.0
    for place in (0, 1, 9, 17, 30, 31):
        total = total * 2.0
        if h & (1 << place):
            total = total + 1.0
    return total


def lanes() -> np.ndarray:
    rng = np.random.default_rng(6)
    sizes = 2.0 ** rng.integers(-3, 62, 2000)
    edges = [sign * 2.0**k * (1 + step * 2.0**-23) for k in (30, 31, 32, 33, 40, 62) for step in (-1, 0, 1, 5)
             for sign in (1.0, -1.0)]
    return np.concatenate([edges, [1.5 * 2.0**32, 2.5 * 2.0**31, -3 * 2.0**31, 0.5, -0.5, -0.0], rng.uniform(-2, 2, 2000) * sizes
                           ]).astype(np.float32)


def test_low_bits_are_pythons(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite")
    from pyflat.targets.numba import integer_narrowing, loops

    taken: list[bool] = []
    monkeypatch.setattr(loops, "takes_low_bits", lambda emit: taken.append(True) or integer_narrowing.takes_low_bits(emit))
    x = lanes()
    y = np.random.default_rng(7).permutation(x)
    found = pyflat.twin(bits, target="numba", dtype="float32", cache=False)(x, y)
    assert taken
    assert found.tolist() == [bits(*each) for each in zip(x.tolist(), y.tolist(), strict=True)]
