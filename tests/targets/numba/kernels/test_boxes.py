"""Indices that are tested before a loop: products of numbers that are not known, and tests that stand around them."""

from __future__ import annotations

import numpy as np
import pytest

import pyflat
from tests.targets.numba.kernels.planned import code_of
from tests.targets.numba.kernels.test_lanes import outcome


def blocks(x, k, first, out):
    for i in range(out.shape[0]):
        s = 0.0
        for j in range(3):
            s += x[i * k + j + first]
        out[i] = s


def squares(x, k, first, out):
    """Two factors that change."""
    for i in range(out.shape[0]):
        for j in range(-1, k):
            out[i] += x[i * j + first]


def lags(x, k, n, out):
    for i in range(n):
        for j in range(k):
            if i - j >= 0:
                out[i] += x[i - j] * 0.5


def leads(x, k, n, out):
    for i in range(out.shape[0]):
        for j in range(-1, k):
            if i + j < n:
                out[i] += x[i + j]


def framed(x, k, n, out):
    for i in range(out.shape[0]):
        for j in range(-k, k):
            y = i + j
            if 0 <= y < n and y != k:
                out[i] += x[y]


def far(x, k, n, out):
    """A product that is 0 in 64 bits."""
    for i in range(n, n + out.shape[0]):
        out[i - n] = x[i * k]


LARGE = 2**62, 2**32, 2**40, -2**40, -2**63


@pytest.mark.parametrize("function", [blocks, squares, lags, leads, framed, far])
@pytest.mark.parametrize("size", [0, 1, 9])
def test_values_exceptions_and_what_was_written(function, size):
    twin = pyflat.twin(function, target="numba")
    for k in (0, 1, 2, 3, 5, -1, -3, *LARGE):
        for n in (0, 1, 9, 10, -1, *LARGE):
            if function in (lags, leads, framed) and max(abs(k), n if function is lags else 0) > 100:
                continue  # which would run for years
            if function is squares and k > 100:
                continue
            found, wanted = (outcome(call, (np.arange(9.0), k, n, np.zeros(size))) for call in (twin, function))
            assert found == wanted, (k, n)


@pytest.mark.parametrize(("function", "tested"), [(blocks, "always"), (squares, "always"), (lags, "here"),
                                                   (leads, "here"), (framed, "here")])
def test_what_is_tested_before_the_loops_is_not_tested_in_them(function, tested):
    code = code_of(function, np.arange(9.0), 2, 9, np.zeros(9))
    loops, found = [], type(code)._tested
    code._tested = lambda loop: loops.append(found(code, loop)) or loops[-1]
    code.text()
    assert any(getattr(each, tested) for each in loops if each is not None)


def test_calls_with_indices_inside_run_without_the_original():
    for function in (blocks, squares, lags, leads, framed):
        twin = pyflat.twin(function, target="numba")
        before = twin.stats.replayed
        twin(np.arange(40.0), 2, 3 if function in (blocks, squares) else 9, np.zeros(9))
        assert twin.stats.replayed == before
