"""Lanes in which a function is in doubt: settled after their block, with the bits of the original in every lane."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import pyflat
from pyflat.functions.vmath import exact
from pyflat.targets.numba.doubtful_lanes import BLOCK
from pyflat.targets.numba.jit import processor
from pyflat.targets.numba.library import multiplies_and_adds
from pyflat.testing import same_bits

WIDE = processor().vector_bytes >= 64 and exact.kernel_for("square") is not None and multiplies_and_adds()
"""Whether lanes in doubt are settled later, which needs registers of 512 bits and the GNU C library: else at once."""
SIZES = (1, 7, 8, 33, BLOCK - 1, BLOCK, BLOCK + 1, 5 * BLOCK + 13)


def square(x: float) -> float:
    return x**2


def arms(x: float, y: float) -> tuple[float, bool]:
    if x > 0.5 * y:
        value = x**3 * y + (y + 1.0) ** -2
    else:
        value = x**5 - y**4 + (x * y) ** 0.5
    return value, value > 1.0


def raises(x: float) -> float:
    return 1.0 / (x**2 - 1.0)


def elementary(x: float, y: float) -> float:
    return math.sin(x) * math.exp(y) + math.log(x) - math.cos(y) * x**y


def settles(twin, *columns) -> bool:
    twin(*columns)
    return re.search(r"define internal i8 @\"?settle", twin.inspect_llvm()) is not None


def original(function, *columns) -> list[np.ndarray]:
    rows = [function(*row) for row in zip(*[column.tolist() for column in columns], strict=True)]
    return [np.array(column) for column in (zip(*rows, strict=True) if isinstance(rows[0], tuple) else [rows])]


def assert_is_original(function, *columns) -> None:
    found = pyflat.twin(function, target="numba")(*columns)
    for got, want in zip(found if isinstance(found, tuple) else (found,), original(function, *columns), strict=True):
        assert same_bits(got, want)


def test_only_functions_with_a_doubt_are_settled():
    x = np.linspace(1.0, 2.0, 100)
    assert WIDE == settles(pyflat.twin(square, target="numba"), x)
    assert not settles(pyflat.twin(lambda x: x * x, target="numba"), x)
    assert not settles(pyflat.twin(square, target="numba", math="fast"), x)
    assert not settles(pyflat.twin(square, target="numba", dtype="float32"), x.astype(np.float32))


@pytest.mark.parametrize("function", [square, arms, elementary])
@pytest.mark.parametrize("lanes", SIZES)
def test_all_lanes_have_the_bits_of_the_original(function, lanes):
    random = np.random.default_rng(lanes)
    columns = [random.uniform(0.01, 3.0, lanes) for _ in range(1 if function is square else 2)]
    assert_is_original(function, *columns)
    assert_is_original(function, *[np.repeat(column, 2)[::2] for column in columns])
    assert_is_original(function, *[column.astype(np.float32).astype(">f4") for column in columns])


def test_functions_of_a_library_that_is_not_known_are_called_for_lanes_in_doubt(monkeypatch):
    monkeypatch.setattr(exact, "is_verified", lambda name: False)
    monkeypatch.setenv("PYFLAT_CACHE", "0")

    def function(x: float, y: float) -> float:
        return elementary(x, y)

    random = np.random.default_rng(5)
    x, y = random.uniform(0.01, 20, 3 * BLOCK + 5), random.uniform(0.01, 9, 3 * BLOCK + 5)
    assert WIDE == settles(pyflat.twin(function, target="numba"), x, y)
    assert same_bits(pyflat.twin(function, target="numba")(x, y), original(elementary, x, y)[0])


def test_results_may_be_written_over_operands():
    random = np.random.default_rng(1)
    x, y = random.uniform(0.01, 3.0, 3000), random.uniform(0.01, 3.0, 3000)
    want = original(square, x)[0]
    assert same_bits(pyflat.twin(square, target="numba")(x, out=x), want)
    assert same_bits(x, want)
    value, over = original(arms, x, y)
    found = np.empty(3000, bool)
    pyflat.twin(arms, target="numba")(x, y, out=(y, found))
    assert same_bits(y, value)
    assert same_bits(found, over)


def test_blocks_may_be_all_doubtful_and_have_no_doubt():
    random = np.random.default_rng(2)
    large = random.uniform(1.0, 2.0, 2 * BLOCK) * 1e60
    assert_is_original(square, large)
    assert_is_original(square, np.concatenate([large, np.zeros(BLOCK), [math.nan, math.inf, -0.0, 1e-200], large[:9]]))
    assert_is_original(square, np.arange(2.0 * BLOCK))


def test_suspects_among_them_raise_as_the_original():
    random = np.random.default_rng(3)
    x = random.uniform(2.0, 3.0, 3000)
    assert_is_original(raises, x)
    x[2900] = -1.0
    with pytest.raises(ZeroDivisionError):
        pyflat.twin(raises, target="numba")(x)
    x[2900] = 1e200
    with pytest.raises(OverflowError):
        pyflat.twin(raises, target="numba")(x)


def test_columns_of_other_dtypes_and_numbers_are_operands():
    random = np.random.default_rng(4)

    def mixed(n: int, x: float, scale: float) -> float:
        return (n * x) ** 2 * scale + x**3

    n = random.integers(-9, 9, 4000).astype(np.int32)
    x = random.uniform(-3.0, 3.0, 4000)
    found = pyflat.twin(mixed, target="numba")(n, x, 0.3)
    assert same_bits(found, np.array([mixed(*row, 0.3) for row in zip(n.tolist(), x.tolist(), strict=True)]))
