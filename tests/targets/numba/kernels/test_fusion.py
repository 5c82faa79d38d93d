"""Loops of kernels that run as one, row by row: bits, exceptions, warnings and partial writes of the Python loops."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from tests.targets.numba.kernels.planned import code_of
from tests.targets.numba.kernels.test_lanes import assert_agree

SHAPES = ((0, 3), (1, 4), (2, 2), (3, 5), (9, 12))


def fused(function, *args):
    """How many steps each loop is behind, and the rows that arrays keep; None where loops run as they stand."""
    found = list(code_of(function, *args).fusions.values())
    return [([part.behind for part in each.parts], list(each.rings.values())) for each in found] or None


def limited(a, out):
    n, m = a.shape
    t = np.empty((n, m))
    f = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            t[i, j] = a[i, j] * 2.0
    for i in range(1, n):
        for j in range(m):
            d = t[i, j] - t[i - 1, j]
            if d > 0.5:
                f[i, j] = 0.0
            else:
                f[i, j] = d
    for i in range(1, n - 1):
        for j in range(m):
            out[i, j] = f[i + 1, j] - f[i, j]


def relaxed(steps, a, b):
    for _ in range(steps):
        for i in range(1, a.shape[0] - 1):
            for j in range(a.shape[1]):
                b[i, j] = a[i - 1, j] + a[i + 1, j] * 0.5
        for i in range(1, a.shape[0] - 1):
            for j in range(a.shape[1]):
                a[i, j] = b[i, j] - b[i - 1, j]


def skipping(a, out):
    """Iterations of both loops are left early."""
    t = np.zeros(a.shape)
    for i in range(a.shape[0]):
        if a[i, 0] < 0.0:
            continue
        for j in range(a.shape[1]):
            t[i, j] = a[i, j] * 2.0
    for i in range(1, a.shape[0]):
        if a[i, 1] > 1.0:
            continue
        for j in range(a.shape[1]):
            out[i, j] = t[i, j] - t[i - 1, j]


def ahead(a, out):
    """The second loop has rows where the first has none."""
    t = np.empty(a.shape)
    for i in range(a.shape[0] - 1):
        for j in range(a.shape[1]):
            t[i, j] = a[i, j] + a[i + 1, j]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = a[i, j]
            if i >= 3:
                out[i, j] += t[i - 3, j]


@pytest.mark.parametrize("shape", SHAPES)
def test_loops_that_run_as_one_have_the_bits_of_the_loops(shape):
    a = np.random.default_rng(4).normal(size=shape)
    assert_agree(limited, lambda: (a.copy(), np.zeros(shape)))
    assert_agree(relaxed, lambda: (3, a.copy(), a.copy() + 1.0))
    assert_agree(ahead, lambda: (a.copy(), np.zeros(shape)))


def test_how_far_loops_are_behind_and_how_many_rows_arrays_keep():
    a = np.ones((5, 5))
    assert fused(limited, a, a.copy()) == [([0, 0, 1], [2, 2])]
    assert fused(relaxed, 2, a, a.copy()) == [([0, 1], [])]
    assert fused(ahead, a, a.copy()) == [([0, 0], [4])]


def kept(a, out):
    """The array is returned, and holds all rows."""
    t = np.empty(a.shape)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            t[i, j] = a[i, j] * 2.0
    for i in range(1, a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = t[i, j] + 1.0
    return t


def zeroed(a, out):
    """Rows that nothing has written are zero."""
    t = np.zeros(a.shape)
    for i in range(1, a.shape[0]):
        for j in range(a.shape[1]):
            t[i, j] = a[i, j] * 2.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = t[i, j] + 1.0


def twice(a, out):
    """A later loop that is no part of it reads the array."""
    t = np.empty(a.shape)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            t[i, j] = a[i, j] * 2.0
    for i in range(1, a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = t[i, j] + 1.0
    for j in range(a.shape[1]):
        out[0, j] = t[a.shape[0] - 1, j]


def stale(a, out):
    """The second time, rows are read that only the first time has written."""
    t = np.empty(a.shape)
    for step in range(out.shape[0] // 3):
        for i in range(3 * step, a.shape[0]):
            for j in range(a.shape[1]):
                t[i, j] = a[i, j] + step
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                out[i, j] += t[i, j]


@pytest.mark.parametrize("function", [kept, zeroed, twice, stale])
def test_arrays_that_are_needed_whole_are(function):
    a = np.random.default_rng(5).normal(size=(6, 7))
    assert fused(function, a, a.copy()) == [([0, 0], [])]
    assert_agree(function, lambda: (a.copy(), np.zeros(a.shape)))


def mirrored(a, out):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = a[i, j] * 2.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = out[a.shape[0] - 1 - i, j]


def raising(a, out):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > 2.0:
                raise ValueError("too large")
            out[i, j] = a[i, j]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = out[i, j] * 2.0


def unrelated(a, out):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = a[i, j] + 1.0
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = out[i, j] + 1.0


@pytest.mark.parametrize("function", [mirrored, raising, unrelated])
def test_loops_that_run_as_they_stand(function):
    a = np.random.default_rng(6).normal(size=(5, 6))
    assert fused(function, a, a.copy()) is None
    assert_agree(function, lambda: (a.copy(), np.zeros(a.shape)))


def test_an_index_outside_is_met_at_its_place():
    a = np.random.default_rng(7).normal(size=(6, 7))
    assert_agree(limited, lambda: (a.copy(), np.zeros((4, 7))))
    assert_agree(relaxed, lambda: (2, a.copy(), np.zeros((6, 5))))


def test_a_value_that_is_never_read_warns_as_before():
    a = np.ones((6, 7))
    a[5, 6] = 1e308
    assert_agree(ahead, lambda: (a.copy(), np.zeros(a.shape)))
    a[0, 0] = 1e308
    assert_agree(limited, lambda: (a.copy(), np.zeros(a.shape)))


def test_arrays_that_overlap_run_as_they_stand():
    buffer = np.random.default_rng(8).normal(size=(8, 5))
    assert_agree(relaxed, lambda: (3, (b := buffer.copy())[1:], b[:-1]))
    assert_agree(relaxed, lambda: (3, as_strided(buffer.copy(), (6, 7), (40, 8)), np.ones((6, 7))))


def test_iterations_that_are_left_early():
    assert fused(skipping, np.zeros((9, 12)), np.zeros((9, 12))) is not None
    for rows, columns in SHAPES:
        a = np.random.default_rng(rows).normal(size=(rows, columns))
        assert_agree(skipping, lambda a=a: (a.copy(), np.zeros(a.shape)))
