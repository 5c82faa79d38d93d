"""Functions that follow the C library's: the library's bits in every lane, on both widths of registers; that one
rounding more would be seen; tables that are not there; sine and cosine together."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mpmath")
pytest.importorskip("llvmlite")

import pyflat
from benchmarks import library_bits
from pyflat.functions import gamma_check, libm
from pyflat.functions.loaded_library import standing
from pyflat.functions.vmath import exact, glibc
from pyflat.functions.vmath.exact import tables
from pyflat.functions.vmath.machine import F8, NumpyMachine, ScalarMachine
from pyflat.targets.numba import library as numba_library
from pyflat.targets.numba import vector_math
from pyflat.targets.numba.single_operations import made_ufunc

known = pytest.mark.skipif(standing("exp") != "verified" or not numba_library.has_library_vectors(),
                           reason="needs a C library that has been verified, and an FMA")

AVX2 = "+avx,+avx2,+fma,+bmi,+bmi2,+sse4.2,+popcnt,+lzcnt"
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324,
                    1e-310, 1e308, -1e308, 709.7827, 709.79, 710.475, 710.476, -745.2, -745.0, -710.0, -708.4, 22.0,
                    27.3, 28.0, 6.0, -6.0, 1.25, 0.84375, 1e-17, -1e-17, 1 - 2**-53, 1 + 2**-52, 0.96875, 2.0**-1015,
                    math.pi, math.pi / 2, 1.5707963267948968, 0.785, 25.0, 1e8, 1.1e8, 2.0**70, 2.0**-70, 2.0**62,
                    -(2.0**65), 2.0**-29, 1 / 16, 16.0, 3.0, 7.0, 2.0**28, 2.0**500, 2.0**-501, 1e-200])
POINTS = json.loads(Path(__file__).with_name("roundings.json").read_text(encoding="utf-8"))
"""Function -> number of a multiply-add -> operands at which rounding it twice changes the result."""


@pytest.fixture
def fresh(monkeypatch):
    """Code that is written here, none that an earlier process has kept."""
    monkeypatch.setenv("PYFLAT_CACHE", "0")
    made_ufunc.__wrapped__.cache_clear()
    yield
    made_ufunc.__wrapped__.cache_clear()


@known
@pytest.mark.parametrize("name", exact.TABLE)
def test_every_lane_has_the_bits_of_the_library(fresh, name):
    found = library_bits.compare(name, 300_000, seed=5)
    assert found.lanes >= 300_000
    assert found.wrong == 0, found.example


@known
@pytest.mark.parametrize("name", exact.TABLE)
def test_registers_of_avx2(fresh, monkeypatch, name):
    monkeypatch.setenv("NUMBA_CPU_NAME", "haswell")
    monkeypatch.setenv("NUMBA_CPU_FEATURES", AVX2)
    found = library_bits.compare(name, 200_000, seed=6)
    assert found.wrong == 0, found.example


@known
@pytest.mark.parametrize("name", exact.TABLE)
def test_special_operands(name):
    """What is not for the library has its bits, with nan and infinities, of which no lane is called."""
    args = [SPECIAL] if libm.operand_count(name) == 1 else [a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL)]
    with np.errstate(all="ignore"):
        value, far = exact.TABLE[name].algorithm(NumpyMachine(F8), *args)
        expected = libm.ufunc(name)(*args)
    same = ~library_bits.differ(name, value, expected, args[0])
    far = np.broadcast_to(far, same.shape)
    assert (same | far).all(), [tuple(a[i] for a in args) for i in np.flatnonzero(~same & ~far)]
    assert far.mean() < 0.25
    ordinary = np.all([np.isnan(a) | np.isinf(a) | (a == 0.0) for a in args], axis=0)
    assert name == "atan2" or not far[ordinary].any()


class _RoundedTwice(ScalarMachine):
    """One multiply-add is a product and a sum."""

    def __init__(self, number: int):
        super().__init__(F8)
        self.number, self.count = number, 0

    def fma(self, a, b, c):
        self.count += 1
        return np.float64(a) * b + c if self.count - 1 == self.number else super().fma(a, b, c)


@known
@pytest.mark.parametrize("name", POINTS)
def test_rounding_once_more_is_seen(name):
    """Each of these points tells the library's code from another compiler's."""
    algorithm = exact.TABLE[name].algorithm
    for number, operands in POINTS[name].items():
        args = [np.float64.fromhex(text) for text in operands]
        expected = float(libm.ufunc(name)(*args))
        with np.errstate(all="ignore"):
            assert float(algorithm(ScalarMachine(F8), *args)[0]) == expected
            assert float(algorithm(_RoundedTwice(int(number)), *args)[0]) != expected, (number, operands)


def test_rounding_once_more_is_seen_by_the_comparison(monkeypatch, fresh):
    from pyflat.targets.numba.vector_math import _LlvmMachine

    if not exact.has_tables():
        pytest.skip("needs the tables of the C library")
    monkeypatch.setattr(_LlvmMachine, "fma", lambda self, a, b, c: c + b * a)
    found = library_bits.compare("sin", 100_000)
    assert found.wrong > 10
    assert len(found.example) == 1


# --- CPython's own


def gammas(x: float) -> float:
    return math.gamma(x) + math.lgamma(x)


def gammas_in_arms(x: float) -> float:
    if x > 2.5:
        return math.gamma(x)
    return math.lgamma(x) - x


def one_gamma(x: float) -> float:
    return math.gamma(x)


@known
@pytest.mark.parametrize("target", ["numba", "numpy"])
@pytest.mark.parametrize("function", [gammas, gammas_in_arms])
def test_gammas_in_twins(function, target):
    """Enough lanes for compiled code, which calls no Python."""
    random = np.random.default_rng(8)
    x = np.concatenate([random.uniform(-30, 30, 40_000), random.uniform(1e-9, 170, 30_000), np.arange(1.0, 35.0) / 2])
    twin, expected = pyflat.twin(function, target=target), np.array([*map(function, x.tolist())])
    for _ in range(3):
        assert np.array_equal(twin(x), expected)
    why = {"numba": "in registers, by the same algorithm", "numpy": "for long arrays, vector code"}[target]
    assert all(why in called.why for called in twin.explain().functions)


@known
@pytest.mark.parametrize("target", ["numba", "numpy"])
def test_gamma_of_float32_is_rounded(target):
    x = np.random.default_rng(8).uniform(-30, 34, 70_001).astype(np.float32)
    twin = pyflat.twin(one_gamma, target=target, dtype="float32")
    expected = np.array([*map(math.gamma, x.tolist())]).astype(np.float32)
    for _ in range(3):
        assert np.array_equal(twin(x), expected)


@known
@pytest.mark.parametrize("target", ["numba", "numpy"])
@pytest.mark.parametrize("x", [0.0, -3.0, -math.inf, 171.7, 201.0, -1e-309, 1e-320])
def test_gamma_raises_what_python_raises(target, x):
    lanes = np.full(70_000, 4.25)
    lanes[4_321] = x
    with pytest.raises((ValueError, OverflowError)) as original:
        math.gamma(x)
    with pytest.raises(original.type, match=str(original.value)) as raised:
        pyflat.twin(gammas, target=target)(lanes)
    assert type(raised.value) is original.type


def one_lgamma(x: float) -> float:
    return math.lgamma(x)


@known
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_fast_lgamma_of_negative_numbers_has_the_bits_without_a_call(monkeypatch, dtype):
    monkeypatch.setattr(vector_math, "_unless_called", None)
    rng = np.random.default_rng(17)
    x = np.concatenate([-rng.exponential(20.0, 20_000), -(10.0 ** rng.uniform(-30.0, 0.0, 2_000)),
                        [-0.5, -2.4570247382208006, -math.inf, math.inf, math.nan]]).astype(dtype)
    expected = np.array([*map(math.lgamma, x.tolist())]).astype(dtype)
    result = pyflat.twin(one_lgamma, target="numba", math="fast", dtype=dtype, cache=False)(x)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, expected)


@known
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_fast_lgamma_of_negative_numbers_is_called_where_cpython_is_another(monkeypatch, dtype):
    monkeypatch.setattr(gamma_check, "is_known", lambda: False)
    x = np.linspace(-9.9, -0.13, 67).astype(dtype)
    result = pyflat.twin(one_lgamma, target="numba", math="fast", dtype=dtype, cache=False)(x)
    expected = np.array([*map(math.lgamma, x.tolist())]).astype(dtype)
    np.testing.assert_array_equal(result, expected)


@known
def test_gammas_are_called_where_cpython_is_another(monkeypatch):
    assert exact.is_followed("gamma")
    monkeypatch.setattr(gamma_check, "is_known", lambda: False)
    assert exact.kernel_for("gamma") is None
    assert exact.kernel_for("exp") is exact.TABLE["exp"]


@known
def test_gammas_are_called_where_a_part_is_not_known(monkeypatch):
    monkeypatch.setattr(exact, "standing", lambda name: "bounded" if name == "log" else "verified")
    assert not exact.is_followed("lgamma")
    assert exact.is_followed("gamma")


# --- what is believed


def test_a_library_that_is_not_known_is_tested(monkeypatch):
    if standing("exp") == "called":
        pytest.skip("needs the GNU C library")
    monkeypatch.setattr(exact, "standing", lambda name: "bounded")
    assert exact.kernel_for("exp") is glibc.TABLE["exp"]
    assert exact.kernel_for("tanh") is None
    assert not exact.is_followed("sin")
    monkeypatch.setattr(exact, "standing", lambda name: "called")
    assert exact.kernel_for("exp") is None


@known
def test_powers_with_a_literal_exponent_are_tested():
    assert exact.kernel_for("square") is glibc.TABLE["square"]
    assert exact.kernel_for("pow") is exact.TABLE["pow"]


def test_tables_that_are_not_there(monkeypatch):
    monkeypatch.setattr(tables, "constants", lambda: (b"", bytes(100_000)))
    table = tables.LibraryTable("exp", 128, 2, "6ebf881a4f3b9b3c3533fba9", "a4014caf214c2bab", tables.as_they_are)
    with pytest.raises(tables.MissingTable, match="exp"):
        _ = table.rows


def test_a_table_with_another_number_is_not_taken(monkeypatch):
    if not exact.has_tables():
        pytest.skip("needs the tables of the C library")
    changed = tuple(part.replace(bytes.fromhex("6ebf881a4f3b9b3c3533fba9"), bytes.fromhex("6ebf881a4f3b9b3c3533fba8"))
                    for part in tables.constants())
    monkeypatch.setattr(tables, "constants", lambda: changed)
    for second in ("6ebf881a4f3b9b3c3533fba9", "6ebf881a4f3b9b3c3533fba8"):
        with pytest.raises(tables.MissingTable):
            _ = tables.LibraryTable("exp", 128, 2, second, "a4014caf214c2bab", tables.as_they_are).rows


@known
def test_rows_are_aligned_and_padded():
    for table in exact.TABLES:
        count, length = table.rows.shape
        assert count & (count - 1) == 0
        assert length & (length - 1) == 0
        assert table.rows.ctypes.data % 64 == 0
        assert not table.rows.flags.writeable


# --- in twins


def both(x: float, y: float) -> float:
    return math.sin(x) * y + math.cos(x)


def apart(x: float, y: float) -> float:
    return math.sin(x) * y + math.cos(y)


def in_arms(x: float, y: float) -> float:
    if y > 0.0:
        return math.sin(x) + math.log(y)
    return math.cos(x) - math.tanh(y)


def of_all(x: float, y: float) -> float:
    total = math.exp(-x) + math.log(x) + x**y + math.sin(y) + math.cos(x) + math.tan(y) + math.erf(y) + math.erfc(x)
    total += math.asin(y / 10) + math.acos(y / 10) + math.atan(x) + math.atan2(y, x) + math.sinh(y) + math.cosh(y)
    total += math.tanh(x) + math.asinh(y) + math.acosh(x + 1.0) + math.atanh(y / 10) + math.expm1(y) + math.log1p(x)
    return total + math.log2(x) + math.log10(x)


@pytest.mark.parametrize("dtype", [None, "float32"])
@pytest.mark.parametrize("function", [both, apart, in_arms, of_all])
def test_twins_have_the_bits_of_the_originals(function, dtype):
    random = np.random.default_rng(4)
    x, y = random.uniform(0.01, 20, 5_011), random.uniform(-9, 9, 5_011)
    options = {"target": "numba", "math": "exact"} | ({"dtype": dtype} if dtype else {})
    if dtype:
        x, y = x.astype(np.float32), y.astype(np.float32)
        expected = pyflat.twin(function, **{**options, "target": "numpy"})(x, y)
    else:
        expected = np.array([function(*pair) for pair in zip(x.tolist(), y.tolist(), strict=True)])
    assert np.array_equal(pyflat.twin(function, **options)(x, y), expected)


@known
def test_sine_and_cosine_of_one_angle_share_a_row():
    def loads(function):
        twin = pyflat.twin(function, target="numba", math="exact")
        twin(np.ones(4096), np.ones(4096))
        return twin.inspect_llvm().count("load <4 x double>")

    together, alone = loads(both), loads(apart)
    assert 0 < together < 0.7 * alone
