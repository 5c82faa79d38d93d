"""Vector code with the C library's bits: random and adversarial lanes, special operands, and whether lanes are called
at all."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("mpmath")
pytest.importorskip("llvmlite")

import mpmath

import pyflat
from benchmarks import vmath_library
from pyflat.functions.vmath import glibc
from pyflat.functions.vmath.machine import F8, NumpyMachine
from pyflat.targets.numba import library as numba_library
from pyflat.targets.numba.jit import processor

pytestmark = pytest.mark.skipif(not numba_library.has_library_vectors(), reason="needs the GNU C library and an FMA")

SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 3.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324, 1e-310,
                    1e308, -1e308, 700.0, 709.7827, 709.79, -745.2, -745.0, -710.0, -708.4, 1e-17, -1e-17, 1 - 2**-53,
                    1 + 2**-52, 1e6, 2e6, 1e20, math.pi, math.pi / 2, 1.5707963267948968, 2.0**70, 2.0**-70, 1e50])


@pytest.mark.parametrize("name", glibc.TABLE)
def test_no_lane_has_other_bits(name):
    found = vmath_library.look(name, 400_000, seed=3)
    assert found.wrong[0] == 0, found.example
    assert found.wrong[-1] > 100, "without a bound the C library's roundings would be wrong"
    assert 0.01 < found.doubtful / found.lanes < 0.4, "powers at the ends of the range are doubtful"


def test_a_bound_that_is_too_small_is_seen(monkeypatch):
    monkeypatch.setattr(glibc, "_OF_EXP", 0.002 * glibc.ULP)
    assert vmath_library.look("exp", 400_000, seed=3).wrong[0] > 10


@pytest.mark.parametrize("name", glibc.TABLE)
def test_special_operands(name):
    """What is not doubtful has the library's bits; nan and infinities are cheap."""
    row = glibc.TABLE[name]
    args = [SPECIAL] if row.operands == 1 else [a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL)]
    with np.errstate(all="ignore"):
        value, doubtful = row.algorithm(NumpyMachine(F8), *args)
    expected = vmath_library.library(name, args)
    same = (value.view(np.int64) == expected.view(np.int64)) | (np.isnan(value) & np.isnan(expected))
    assert (same | doubtful).all(), [tuple(a[i] for a in args) for i in np.flatnonzero(~same & ~doubtful)]
    assert not doubtful[np.isnan(args[0])].any()
    if name in ("exp", "log", "sin", "cos"):
        assert not doubtful[np.isinf(args[0])].any()


PARTS = {"exp": 0.0125, "sin": 0.0105, "cos": 0.0105, "log": 0.0005}


@pytest.mark.parametrize("name", PARTS)
def test_pairs_are_as_near_as_the_bounds_say(name):
    """Against mpmath, in ulp of the value."""
    m, random = NumpyMachine(F8), np.random.default_rng(2)
    r = random.uniform(-1, 1, 3000) * (math.log(2) / 2 if name == "exp" else math.pi / 4)
    rest = r * random.uniform(-1, 1, len(r)) * 2.0**-54
    z = r * r
    z_rest = m.fma(r, r, -z) + 2 * r * rest
    if name == "log":
        r, rest = np.ldexp(random.uniform(0.5, 2, len(r)), random.integers(-3, 3, len(r))), np.zeros(len(r))
        parts = glibc.log_pair(m, r)
    else:
        parts = (glibc.exp_parts(m, r, rest) if name == "exp" else glibc.cos_parts(m, z, z_rest) if name == "cos"
                 else glibc.sin_parts(m, r, rest, z, z_rest))
    with mpmath.workprec(200):
        for x, more, high, low in zip(r, rest, *parts, strict=True):
            true = getattr(mpmath, name)(mpmath.mpf(x) + mpmath.mpf(more))
            error = (mpmath.mpf(high) + mpmath.mpf(low) - true) / true / mpmath.mpf(glibc.ULP)
            assert abs(error) < PARTS[name], (x, error)


def powers(x: float, y: float) -> float:
    return x**2 + y**3 - x**0.5 * y**-1


def functions(x: float, y: float) -> float:
    return math.sin(x) * math.exp(y) + math.log(x) - math.cos(y) * x**y


@pytest.mark.parametrize("dtype", [None, "float32"])
@pytest.mark.parametrize("function", [powers, functions])
def test_twins_have_the_bits_of_the_originals(function, dtype):
    random = np.random.default_rng(4)
    x, y = random.uniform(0.01, 20, 20_011), random.uniform(0.01, 9, 20_011)
    options = {"target": "numba", "math": "exact"} | ({"dtype": dtype} if dtype else {})
    if dtype:
        x, y = x.astype(np.float32), y.astype(np.float32)
        expected = pyflat.twin(function, **{**options, "target": "numpy"})(x, y)
    else:
        expected = np.array([function(*pair) for pair in zip(x.tolist(), y.tolist(), strict=True)])
    assert np.array_equal(pyflat.twin(function, **options)(x, y), expected)


def test_lanes_are_called_seldom():
    """Most lanes of `x ** 2` are a product: the function runs for the doubtful ones only."""
    twin = pyflat.twin(powers, target="numba", math="exact")
    twin(np.ones(4096), np.ones(4096))
    text = twin.inspect_llvm()
    if processor().vector_bytes == 64:
        assert "@settle" in text or '@"settle"' in text
    else:
        assert "far_pow_2" in text
        assert "far_pow_0.5" in text


def test_other_processors_call_the_library(monkeypatch):
    monkeypatch.setattr(numba_library, "standing", lambda name: "called")
    assert not numba_library.has_library_vectors()
    monkeypatch.undo()
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    monkeypatch.setenv("NUMBA_CPU_FEATURES", "")
    assert not numba_library.has_library_vectors()
