"""Loops of kernels whose iterations are lanes: bits, exceptions, warnings and partial writes of the Python loops."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import pyflat
from pyflat.functions import ways
from tests.targets.numba.kernels.planned import code_of

SIZES = (0, 1, 3, 8, 17, 25, 33, 70)
"""Some lanes, a register of them, whole gangs, and what is left."""


@pytest.fixture(autouse=True)
def in_place():
    """Bodies stand in the loop."""
    with ways.forced(kernel_bodies="in place"):
        yield


def outcome(call, args):
    """The result, or the exception with its line; the warnings; the arrays afterwards."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call(*args)
        except (ArithmeticError, IndexError, ValueError) as error:
            result = type(error), str(error)
    shown = sorted({(str(w.message), w.lineno) for w in caught if w.category is RuntimeWarning})
    result = result.tobytes() if isinstance(result, np.ndarray) else result
    return result, shown, [a.tobytes() for a in args if isinstance(a, np.ndarray)]


def assert_agree(function, make):
    """One outcome from the original and the twin; the twin."""
    twin = pyflat.twin(function, target="numba")
    wanted, found = outcome(function, make()), outcome(twin, make())
    assert found == wanted
    return twin


def careful_versions(twin):
    """Whether a call was run again to look for its warnings."""
    return True in twin._caller.kernels.latest.compiled._versions


def sums(x, w, y):
    for j in range(x.shape[1]):
        s = 0.0
        for i in range(x.shape[0]):
            s += x[i, j] * w[i]
        y[j] = s


def guarded(x, y):
    for j in range(x.shape[1]):
        s = 0.0
        for i in range(x.shape[0]):
            if x[i, j] > 0.0:
                s += 1.0 / x[i, j]
            else:
                s = s * 1.5 + 0.25
        if s > 2.0:
            y[j] = s


def columns(diag, lower, x):
    for i in range(diag.shape[1]):
        for k in range(1, diag.shape[0]):
            x[k, i] = diag[k, i] - lower[k, i] * x[k - 1, i]


def mixed(a, flags, counts):
    for j in range(a.shape[1]):
        n = 0
        some = False
        for i in range(a.shape[0]):
            if flags[j]:
                n += 2
            some = some or a[i, j] > 1.0
        counts[j] = n
        flags[j] = some


@pytest.mark.parametrize("size", SIZES)
def test_gangs_of_all_sizes_have_the_bits_of_the_loops(size):
    draw = np.random.default_rng(size)
    x, w = draw.normal(size=(5, size)), draw.normal(size=5)
    for function, make in (
            (sums, lambda: (x.copy(), w.copy(), np.zeros(size))),
            (guarded, lambda: (np.where(x > 1.0, 0.0, x), np.full(size, -1.0))),
            (columns, lambda: (x.copy(), x[::-1].copy(), np.ones((5, size)))),
            (mixed, lambda: (x.astype(np.float32), x[0] > 0.0, np.zeros(size, np.int16)))):
        assert code_of(function, *make()).lanes
        assert_agree(function, make)


def test_lanes_that_do_not_run_raise_no_flags():
    """Dividing by zero in an arm that a lane does not take is not looked into."""
    x = np.random.default_rng(0).normal(size=(6, 70))
    x[x < 0.0] = 0.0
    assert not careful_versions(assert_agree(guarded, lambda: (x.copy(), np.zeros(70))))


def test_a_lane_that_overflows_warns():
    x = np.ones((3, 40))
    x[1, 37] = 1e308
    assert_agree(sums, lambda: (x.copy(), np.full(3, 10.0), np.zeros(40)))


def through_numpy(x, y):
    for i in range(len(x)):
        z = x[i] * x[i]
        y[i] = np.tanh(z) + np.exp(-z)


def test_an_overflow_before_a_function_of_numpys_warns():
    """Some of NumPy's loops clear the processor's flags."""
    x = np.linspace(-2.0, 2.0, 300)
    x[7] = 1e200
    assert_agree(through_numpy, lambda: (x.copy(), np.zeros(300)))


def whole(x, y):
    for j in range(x.shape[1]):
        n = 0
        for i in range(x.shape[0]):
            if x[i, j] < 9.0:
                n += int(x[i, j])
        y[j] = n


@pytest.mark.parametrize("value", [math.nan, -math.inf, -1e300])
def test_a_lane_that_raises_leaves_what_the_loops_have_written(value):
    x = np.ones((3, 40))
    x[2, 35] = value
    assert_agree(whole, lambda: (x.copy(), np.zeros(40)))


def test_an_index_outside_is_met_at_its_place():
    assert_agree(sums, lambda: (np.ones((4, 40)), np.ones(3), np.zeros(40)))
    assert_agree(sums, lambda: (np.ones((4, 40)), np.ones(4), np.zeros(33)))


@pytest.mark.parametrize("lay", [np.asfortranarray, lambda a: a[:, ::-1], lambda a: np.repeat(a, 2, axis=1)[:, ::2],
                                 lambda a: np.hstack((a, a))[:, :a.shape[1]]])
def test_layouts(lay):
    x = np.random.default_rng(1).normal(size=(4, 37))
    assert_agree(columns, lambda: (lay(x.copy()), x.copy(), lay(np.ones((4, 37)))))


def test_elements_that_have_several_indices_are_written_in_order():
    def make():
        buffer = np.arange(60.0)
        return np.ones((5, 40)), np.full((5, 40), 0.5), as_strided(buffer, (5, 40), (24, 8))

    assert_agree(columns, make)


def test_arrays_that_overlap():
    buffer = np.random.default_rng(2).normal(size=(6, 40))
    assert_agree(columns, lambda: ((b := buffer.copy())[1:], b[:-1], b[:-1]))


def carried(x, y):
    s = 0.0
    for j in range(x.shape[1]):
        for i in range(x.shape[0]):
            s += x[i, j]
        y[j] = s


def meeting(x, y):
    for j in range(1, x.shape[1]):
        for i in range(x.shape[0]):
            x[i, j] = x[i, j - 1] * 0.5
        y[j] = x[0, j]


def gathered(x, y):
    for j in range(x.shape[0]):
        for i in range(x.shape[1]):
            y[j] += x[j, i]


@pytest.mark.parametrize("function", [carried, meeting, gathered])
def test_what_depends_on_the_iteration_before_or_is_not_consecutive_runs_in_order(function):
    args = np.ones((4, 4)), np.zeros(4)
    assert not code_of(function, *args).lanes
    assert_agree(function, lambda: (np.random.default_rng(3).normal(size=(4, 4)), np.zeros(4)))
