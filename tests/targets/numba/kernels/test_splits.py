"""Loops that run in order and compute functions as lanes first: bits, exceptions, warnings and partial writes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pyflat
from pyflat.functions import ways
from pyflat.targets.numba.kernels import splits
from pyflat.targets.numba.library import has_library_vectors
from tests.targets.numba.kernels.planned import code_of
from tests.targets.numba.kernels.test_lanes import assert_agree, careful_versions, outcome

needs_vectors = pytest.mark.skipif(not has_library_vectors(), reason="functions are called lane by lane here")

SIZES = (0, 1, 7, 8, 9, 16, 40)
"""With turns of one register: none, some, and what is left over."""


@pytest.fixture(autouse=True)
def short_turns(monkeypatch):
    monkeypatch.setattr(splits, "REGISTERS", 1)
    with ways.forced(kernel_bodies="in place"):
        yield


def total(x, scale):
    s = 0.0
    for i in range(x.shape[0]):
        s += math.exp(x[i] * scale)
    return s


def total_of_numpy(x, scale):
    s = 0.0
    for i in range(x.shape[0]):
        s += np.exp(x[i] * scale) - np.arctan2(x[i], scale)
    return s


def rings(x, y, count):
    for i in range(x.shape[0]):
        ring = int(math.sqrt(x[i] * x[i] + y[i] * y[i]) * 3.0)
        if ring < count.shape[0]:
            count[ring] += 1


def diagonal(a):
    s = 0.0
    for i in range(a.shape[0]):
        s = s * 0.5 + math.tanh(a[i, i])
    return s


def softened(x, out):
    s = 0.0
    for i in range(1, x.shape[0]):
        e = math.exp(x[i] - x[i - 1])
        big = e > 1.0
        out[i] = e
        if big:
            s += e
        else:
            s -= x[i]
    return s


def harmonic(x, out):
    s = 1.0
    for i in range(x.shape[0]):
        s = s + 1.0 / x[i]
        out[i] = s


def positions(x, first):
    """What it takes is the counter, and numbers that are the same for all."""
    s = 0.0
    for i in range(x.shape[0]):
        s += math.sqrt(i + first) * x[i]
    return s


def assert_agree_at_all_sizes(function, make):
    """`make` takes random numbers and a size; the twin."""
    twin = pyflat.twin(function, target="numba")
    for size in SIZES:
        found, wanted = (outcome(call, make(np.random.default_rng(size), size)) for call in (twin, function))
        assert found == wanted, size
    return twin


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numpy_functions_of_a_turn_are_one_call(dtype):
    def make(draw, size):
        return draw.normal(size=size).astype(dtype), dtype(0.7)

    assert code_of(total_of_numpy, *make(np.random.default_rng(0), 40)).splits
    assert_agree_at_all_sizes(total_of_numpy, make)


@needs_vectors
@pytest.mark.parametrize(("function", "make"), [
    (total, lambda draw, size: (draw.normal(size=size), 0.7)),
    (rings, lambda draw, size: (draw.normal(size=size), draw.normal(size=size), np.zeros(5, np.int32))),
    (rings, lambda draw, size: (*draw.normal(size=(2, size)).astype(np.float32), np.zeros(5, np.uint8))),
    (diagonal, lambda draw, size: (draw.normal(size=(size, size)),)),
    (diagonal, lambda draw, size: (np.asfortranarray(draw.normal(size=(size + 1, size + 1)))[::-1],)),
    (softened, lambda draw, size: (draw.normal(size=size), np.zeros(size))),
    (harmonic, lambda draw, size: (draw.normal(size=size), np.zeros(size))),
    (positions, lambda draw, size: (draw.normal(size=size), 3)),
])
def test_turns_of_all_sizes_have_the_bits_of_the_loops(function, make):
    assert code_of(function, *make(np.random.default_rng(0), 40)).splits
    assert_agree_at_all_sizes(function, make)


def logarithms(x, out):
    s = 0.0
    for i in range(x.shape[0]):
        s += math.log(x[i])
        out[i] = s
    return s


@pytest.mark.parametrize("at", [3, 8, 15, 18])
def test_an_exception_leaves_what_the_loop_has_written_before_it(at):
    x = np.arange(1.0, 21.0)
    x[at] = -1.0
    assert_agree(logarithms, lambda: (x.copy(), np.zeros(20)))
    x[at] = math.nan
    assert_agree(rings, lambda: (x.copy(), np.ones(20), np.zeros(5, np.int64)))


def test_a_division_by_zero_warns_and_other_calls_are_not_run_again():
    x = np.arange(1.0, 21.0)
    assert not careful_versions(assert_agree(harmonic, lambda: (x.copy(), np.zeros(20))))
    x[11] = 0.0
    assert_agree(harmonic, lambda: (x.copy(), np.zeros(20)))


def test_an_index_outside_is_met_at_its_place():
    """The loop runs without lanes then: indices are not known to be inside."""
    assert_agree(softened, lambda: (np.ones(20), np.zeros(13)))
    assert_agree(diagonal, lambda: (np.ones((20, 17)),))


def recurrence(x, a):
    for i in range(1, x.shape[0]):
        x[i] = math.sqrt(x[i - 1] + a[i])


def until(x, limit):
    s = 0.0
    for i in range(x.shape[0]):
        s += math.exp(x[i])
        if s > limit:
            break
    return s


def halves(x, out):
    for i in range(x.shape[0]):
        out[i] = x[i] / 3.0


@pytest.mark.parametrize("function", [recurrence, until, halves])
def test_what_needs_the_iteration_before_or_may_not_run_or_is_a_vector_anyway_stays(function):
    def make():
        return np.linspace(1.0, 2.0, 20), 20.0 if function is until else np.ones(20)

    assert not code_of(function, *make()).splits
    assert_agree(function, make)


def test_an_array_that_is_written_under_another_name_is_read_in_order():
    buffer = np.linspace(0.1, 2.0, 40)
    assert_agree(softened, lambda: ((b := buffer.copy())[:-1], b[1:]))
    assert_agree(recurrence, lambda: ((b := buffer.copy())[1:], b[:-1]))


def guarded(x, out):
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            out[i] = math.log(x[i]) + out[i]
        else:
            out[i] = -1.0


@needs_vectors
def test_a_function_in_a_branch_is_for_lanes_that_take_it():
    assert code_of(guarded, np.ones(9), np.ones(9)).lanes
    twin = assert_agree_at_all_sizes(guarded, lambda draw, size: (draw.normal(size=size), np.ones(size)))
    assert not careful_versions(twin)


def guarded_by_numpy(x, out):
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            out[i] = np.log(x[i]) + np.arctan2(x[i], out[i])
        elif x[i] < -1.0:
            out[i] = np.sin(x[i])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numpy_functions_in_branches_are_for_lanes_that_take_them(dtype):
    def make(draw, size):
        return draw.normal(size=size).astype(dtype), np.full(size, 1.5, dtype)

    assert code_of(guarded_by_numpy, *make(np.random.default_rng(0), 9)).lanes
    assert not careful_versions(assert_agree_at_all_sizes(guarded_by_numpy, make))
    x = np.linspace(0.5, 2.0, 20).astype(dtype)
    x[13] = np.inf
    assert_agree(guarded_by_numpy, lambda: (x.copy(), np.full(20, -np.inf, dtype)))


def test_a_numpy_function_that_warns_in_one_lane_warns_once():
    def logs(x, out):
        for i in range(x.shape[0]):
            out[i] = 1.0 / x[i] + np.log(x[i])

    for value in (0.0, -1.0, math.nan):
        x = np.linspace(0.5, 2.0, 40)
        x[17] = value
        assert_agree(logs, lambda x=x: (x.copy(), np.zeros(40)))


def test_a_fault_in_a_branch_that_runs_is_the_originals():
    x = np.linspace(-1.0, 1.0, 20)

    def roots(x, out):
        for i in range(x.shape[0]):
            if x[i] < 0.9:
                out[i] = math.sqrt(x[i])

    assert_agree(roots, lambda: (x.copy(), np.zeros(20)))
    assert pyflat.twin(roots, target="numba")(np.abs(x), np.zeros(20)) is None


def quotients(a, b):
    b[:] = a // a


def of_a_routine(a, out):
    s = 0.0
    squares = np.sum(a, axis=0)
    for i in range(a.shape[1]):
        s += math.exp(squares[i] * 0.01)
        out[i] = s


@pytest.mark.parametrize(("function", "make"), [
    (quotients, lambda draw, size: (draw.integers(1, 9, size), np.zeros(size))),
    (of_a_routine, lambda draw, size: (draw.normal(size=(3, size)), np.zeros(size))),
])
def test_arrays_that_a_routine_makes(function, make):
    assert_agree_at_all_sizes(function, make)


def test_a_choice_that_is_the_same_for_all_iterations():
    def chosen(a, b, y=2.0):
        for i in range(b.shape[0]):
            for j in range(1, a.shape[1]):
                root = math.sqrt(y if b[i] else a[i, 1])
                a[i, j] = root * j
        return a[0, 0]

    a, b = np.arange(50.0).reshape(2, 25) + 1.0, np.array([0, 3], np.int32)
    found, wanted = a.copy(), a.copy()
    assert pyflat.twin(chosen, target="numba")(found, b) == chosen(wanted, b)
    assert np.array_equal(found, wanted)
