"""Float32 lanes: the C library's float64 functions rounded, told from values that are near them."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import pyflat
from pyflat.functions import libm
from pyflat.functions.vmath import rounding
from pyflat.functions.vmath.machine import F4, F8, NumpyMachine
from pyflat.targets.numba import library as numba_library

known = pytest.mark.skipif(not numba_library.has_library_vectors(), reason="needs the GNU C library and an FMA")


def operands(name: str, n: int) -> list[np.ndarray]:
    """Of few and of any bits, and what functions treat in a way of their own."""
    random = np.random.default_rng(9)
    special = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-45, -1e-45, 3e38, 88.7, 88.8, -103.9, 0.5, 9.0]
    parts = [np.array(special, dtype=np.float32), random.uniform(-2, 2, n).astype(np.float32),
             random.uniform(0, 30, n).astype(np.float32),
             random.integers(0, 1 << 32, n, dtype=np.uint64).astype(np.uint32).view(np.float32)]
    x = np.concatenate(parts)
    return [x] if libm.operand_count(name) == 1 else [x, random.permutation(x)]


@known
@pytest.mark.parametrize("name", rounding.TABLE)
def test_the_float64_function_rounded(name):
    row = rounding.TABLE[name]
    args = operands(row.name, 20_000)[: row.operands]
    exponent = [] if row.exponent is None else [row.exponent]
    with np.errstate(all="ignore"):
        value, doubtful = row.algorithm(NumpyMachine(F4), *args)
        expected = libm.ufunc(row.name)(*[a.astype(np.float64) for a in args], *exponent).astype(np.float32)
    same = (value.view(np.int32) == expected.view(np.int32)) | (np.isnan(value) & np.isnan(expected))
    assert (same | doubtful).all(), [tuple(a[i] for a in args) for i in np.flatnonzero(~same & ~doubtful)]
    tested = np.abs(args[0]) < 1e5
    assert doubtful[tested].mean() < 0.01


def test_what_is_next_to_the_middle_of_two_numbers_is_doubtful():
    middle = 1.0 + 2.0**-24
    values = np.array([middle, middle * (1 + 2.0**-47), middle * (1 - 2.0**-47), middle * (1 + 2.0**-45), 1.0, math.inf])
    with np.errstate(all="ignore"):
        value, doubtful = rounding._rounded(NumpyMachine(F4), NumpyMachine(F8), values)
    assert doubtful.tolist() == [True, True, True, False, False, False]
    assert value[3:].tolist() == [np.float32(1 + 2.0**-23), 1.0, math.inf]


def mixed(x: float, y: float) -> float:
    return math.sin(x) * y + math.exp(-x) ** 2 - math.asin(y / 10) + x**y + x**0.5 + y**3


@known
def test_twins_agree_with_numpy_and_call_seldom():
    random = np.random.default_rng(3)
    x, y = random.uniform(0.1, 9, 20_011).astype(np.float32), random.uniform(-9, 9, 20_011).astype(np.float32)
    options = {"math": "exact", "dtype": "float32"}
    twin = pyflat.twin(mixed, target="numba", **options)
    assert np.array_equal(twin(x, y), pyflat.twin(mixed, target="numpy", **options)(x, y))
    text = twin.inspect_llvm()
    assert "pyflat_table" not in text
    assert "far_sin" in text
