"""Calls of NumPy in the loops of kernels: how often they are made, and that they give what the plain loop has."""

import numpy as np
import pytest

import pyflat
from pyflat.targets.numba.kernels import routines
from tests.generator.kernels.differential import Outcome, compare


class Given:
    """Arguments for the oracle: copies of these."""

    def __init__(self, *given, mode="all"):
        self.given, self.mode = given, mode

    def arguments(self):
        return tuple(each.copy() if isinstance(each, np.ndarray) else each for each in self.given)


def same(function, *given):
    twin, outcome = pyflat.twin(function, target="numba"), Outcome()
    for each in given:
        for mode in ("ignore", "default"):
            compare(function, twin, Given(*each, mode=mode), outcome)
    assert not outcome.failures, outcome.failures[0]
    return outcome


@pytest.fixture
def calls(monkeypatch):
    """The routines that are called, by their texts."""
    made, original = [], routines.routine_function

    def counting(text):
        function = original(text)
        return function if text.startswith("{}") else lambda *given: (made.append(text), function(*given))[1]

    monkeypatch.setattr(routines, "routine_function", counting)
    return made


def unchanged(a, b, out):
    for i in range(len(a)):
        for j in range(2):
            t = np.tanh(b)
            out[i] += a[i] * np.trace(np.outer(b, b)) + t[j]


def changed(a, b, out):
    for i in range(len(a)):
        t = np.tanh(b)
        t[0] += 1.0
        b[0] += t[0]
        out[i] = np.sum(t)


def in_an_arm(a, b, out):
    for i in range(len(a)):
        if a[i] > 1.0:
            out[i] = np.trace(np.outer(b, b)) / 2.0


@pytest.mark.parametrize(("function", "times"), [(unchanged, 4), (changed, 20), (in_an_arm, 2)])
def test_what_is_the_same_in_all_iterations_is_called_once(function, times, calls):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=20) + 1.0, rng.normal(size=5)
    for given in ((a, b), (a[:0], b), (a * 0.0, b), (a, np.full(5, np.inf)), (a, b[:2])):
        same(function, (*given, np.zeros(20)))
    calls.clear()
    pyflat.twin(function, target="numba")(a, b, np.zeros(20))
    assert len(calls) == times


def parts(a, out):
    for i in range(len(a)):
        values, counts = np.unique(a[i] + 0.0, return_counts=True)
        for k in range(len(values)):
            out[i] += values[k] * counts[k]


def test_the_parts_of_what_a_routine_gives_are_one_call(calls):
    a = np.random.default_rng(0).integers(0, 4, (6, 9)).astype(float)
    same(parts, (a, np.zeros(6)), (a[:, :0], np.zeros(6)), (a * np.nan, np.zeros(6)))
    calls.clear()
    pyflat.twin(parts, target="numba")(a, np.zeros(6))
    assert calls.count("np.unique({}, return_counts=True)") == len(calls) == 6
