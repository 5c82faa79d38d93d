"""The benchmark of array kernels: its texts for other contenders compute what the Python loops compute, and its table."""

from __future__ import annotations

import math
import shutil

import numpy as np
import pytest

from benchmarks import arrays
from benchmarks.array_kernels import ARRAY_KERNELS
from benchmarks.arrays import CONTENDERS, Result, outputs, same_bits, table
from benchmarks.contenders.record import UnavailableError

KERNELS = list(ARRAY_KERNELS.values())


@pytest.fixture(scope="module")
def of_python():
    found = {}
    for kernel in KERNELS:
        given = kernel.arguments("small")
        found[kernel.name] = outputs(kernel.function(*given), given)
    return found


def test_there_are_nineteen():
    assert len(ARRAY_KERNELS) == 19


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_numpy_computes_the_same_nearly(kernel, of_python):
    try:
        call = CONTENDERS["NumPy"](kernel)
    except UnavailableError:
        assert kernel.name in {"seidel_2d", "crc16"}
        return
    given = kernel.arguments("small")
    for found, expected in zip(outputs(call(*given), given), of_python[kernel.name], strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_c_has_the_bits_of_python(compiler, of_python):
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    for kernel in KERNELS:
        given = kernel.arguments("small")
        assert same_bits(outputs(CONTENDERS[compiler](kernel)(*given), given), of_python[kernel.name]), kernel.name


def test_bits_of_another_dtype_or_sign_differ():
    zero = np.zeros(2)
    assert same_bits([zero], [zero.copy()])
    assert not same_bits([zero], [-zero])
    assert not same_bits([zero], [np.zeros(2, np.int64)])
    assert not same_bits([zero], [np.zeros((2, 1))])
    assert not same_bits([zero], [zero, zero])


def test_the_table_has_ratios_to_njit_and_names_what_failed():
    text = table([Result("lcs", "njit", 0.2, 0.5, True), Result("lcs", "NumPy", 0.1, 0.0, False), Result("lcs", "gcc", 0.8, 0.1, True),
                  Result("lcs", "twin numba", 0.4, 0.3, True), Result("crc16", "NumPy", failed="not written so")],
                 ["njit", "twin numba", "NumPy", "gcc"])
    assert [cell.strip() for cell in text.splitlines()[2].split("|")[1:-1]] == [
        "lcs", "200.0", "0.50", "2.00 ~", "0.25", "0.50", "0.30"]
    assert "twin numba: below 0.95 of njit: lcs 0.50" in text
    assert "- crc16, NumPy: not written so" in text


def test_a_contender_that_fails_is_reported(monkeypatch):
    def broken(kernel):
        raise RuntimeError("no such thing")

    monkeypatch.setitem(CONTENDERS, "broken", broken)
    found = arrays.measure(ARRAY_KERNELS["crc16"], ["broken"], 0, 0.0)
    assert found[0].failed == "RuntimeError: no such thing" and math.isnan(found[0].seconds)
