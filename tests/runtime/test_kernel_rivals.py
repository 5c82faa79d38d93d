"""Originals of kernels: they run where a clock says that they are faster, and one that runs call after call is named."""

from __future__ import annotations

import types
import warnings

import numpy as np
import pytest

import pyflat
from pyflat.functions import ways
from pyflat.runtime import kernel_rivals
from pyflat.testing import same_bits


def running(a):
    for i in range(1, len(a)):
        a[i] = a[i] + a[i - 1]


def spread(a):
    for i in range(1, a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = a[i, j] + a[i - 1, j]


def doubled(a):
    for i in range(len(a)):
        a[i] = 2.0 * a[i]


def products(a):
    s = 0
    for i in range(len(a)):
        s = (int(a[i]) * 2**62 + s) % 1000
    return s


def quotients(a):
    s = 0.0
    for i in range(len(a)):
        s += 1.0 / a[i]
    return s


class Clock:
    """Seconds that calls take, instead of the clock's."""

    def __init__(self):
        self.now, self.text, self.original = 0.0, 1.0, 1.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(kernel_rivals, "WORTH", 1e-3)
    monkeypatch.setattr("pyflat.runtime.kernels.time", made)
    monkeypatch.setattr("pyflat.runtime.kernel_rivals.time", made)
    return made


def timed(function, clock, monkeypatch, target="numpy"):
    """A twin whose runs take what the clock says, and a list of which ran."""
    from pyflat.runtime.kernels import Kernels
    from pyflat.targets.numpy.kernels.engine import NumpyKernel

    ran = []

    def slow(kind, call):
        def run(*args, **kwargs):
            clock.now += getattr(clock, kind)
            ran.append(kind)
            return call(*args, **kwargs)
        return run

    monkeypatch.setattr(NumpyKernel, "run", slow("text", NumpyKernel.run))
    monkeypatch.setattr(Kernels, "original", slow("original", Kernels.original))
    own = types.FunctionType(function.__code__, globals(), function.__name__)
    return pyflat.twin(own, target=target), ran


def calls(twin, make, times):
    """The performance warnings of calls."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(times):
            twin(make())
    return [str(w.message) for w in found if issubclass(w.category, pyflat.PerformanceWarning)]


def test_a_faster_original_goes_on(clock, monkeypatch):
    twin, ran = timed(running, clock, monkeypatch)
    clock.original = 0.5
    found = calls(twin, lambda: np.arange(8.0), 6)
    assert ran == ["text", "text", "text", *["original"] * 3]
    line = running.__code__.co_firstlineno + 1
    assert len(found) == 1
    assert found[0].startswith("running_flat: a call of the original takes 500 ms and one of the twin 1e+03 ms, so")
    assert f"the loop in line {line} runs one iteration after the other" in found[0]
    assert 'target="numba"' in found[0]
    assert twin.stats.replayed == 3
    given = np.arange(8.0)
    twin(given)
    assert same_bits(given, np.cumsum(np.arange(8.0)))


def test_a_slower_original_runs_once(clock, monkeypatch):
    twin, ran = timed(running, clock, monkeypatch)
    assert calls(twin, lambda: np.arange(8.0), 6) == []
    assert ran[:4] == ["text", "text", "text", "original"]
    assert "original" not in ran[4:]


def test_lanes_alone_are_not_tried(clock, monkeypatch):
    twin, ran = timed(doubled, clock, monkeypatch)
    calls(twin, lambda: np.arange(8.0), 6)
    assert "original" not in ran


def test_short_calls_are_not_tried(clock, monkeypatch):
    twin, ran = timed(running, clock, monkeypatch)
    clock.text = clock.original = kernel_rivals.WORTH / 2
    calls(twin, lambda: np.arange(8.0), 6)
    assert "original" not in ran


def test_a_plan_of_short_calls_leaves_long_ones_to_the_clock(clock, monkeypatch):
    twin, ran = timed(running, clock, monkeypatch)
    clock.text = clock.original = kernel_rivals.WORTH / 2
    calls(twin, lambda: np.arange(8.0), 4)
    assert ran == ["text", "text"]  # then the plan
    clock.text, clock.original = 1.0, 0.5
    calls(twin, lambda: np.arange(80.0), 4)
    assert ran[2:] == ["text", "text", "original", "original"]


def test_lanes_within_a_loop_in_order_are_tried_by_size(clock, monkeypatch):
    twin, ran = timed(spread, clock, monkeypatch)
    clock.text, clock.original = 0.1, 0.05
    calls(twin, lambda: np.ones((4, 4)), 5)
    assert ran == ["text", "text", "text", "original", "original"]
    calls(twin, lambda: np.ones((5, 5)), 1)
    assert ran[5:] == ["original"]
    del ran[:]
    clock.original = 0.2
    calls(twin, lambda: np.ones((8, 8)), 4)
    assert ran == ["text", "text", "original", "text"]
    del ran[:]
    calls(twin, lambda: np.ones((100, 100_000)), 3)  # the original may take minutes
    assert "original" not in ran


@pytest.mark.parametrize("value", ["text", "original"])
def test_forced(clock, monkeypatch, value):
    twin, ran = timed(running, clock, monkeypatch)
    clock.original = {"text": 0.5, "original": 2.0}[value]
    with ways.forced(kernel_runs=value):
        calls(twin, lambda: np.arange(8.0), 4)
    assert ran == {"text": ["text", "text"], "original": ["text", *["original"] * 3]}[value]  # then the plan


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_originals_that_run_again_and_again_are_named(clock, monkeypatch, target):
    twin, _ = timed(products, clock, monkeypatch, target)
    found = calls(twin, lambda: np.arange(9) * 2**40, 5)
    assert len(found) == 1
    line = products.__code__.co_firstlineno + 3
    assert found[0].startswith("products_flat: the original has run 3 times in a row, though it raises nothing: ")
    assert f"an operation in line {line} may overflow or fail" in found[0]


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_warnings_that_nobody_is_shown(clock, monkeypatch, target):
    twin, _ = timed(quotients, clock, monkeypatch, target)
    found = calls(twin, lambda: np.arange(9.0), 5)
    assert len(found) == 1
    assert f"NumPy may warn in line {quotients.__code__.co_firstlineno + 3}; np.errstate" in found[0]
    with np.errstate(all="ignore"):
        before = twin.stats.replayed
        calls(twin, lambda: np.arange(9.0), 2)
        assert twin.stats.replayed == before


def test_short_replays_are_not_named(clock, monkeypatch):
    twin, _ = timed(quotients, clock, monkeypatch)
    clock.original = kernel_rivals.WORTH / 2
    assert calls(twin, lambda: np.arange(9.0), 5) == []


def test_a_call_that_meets_nothing_begins_anew(clock, monkeypatch):
    twin, _ = timed(quotients, clock, monkeypatch)
    for _ in range(3):
        assert calls(twin, lambda: np.arange(9.0), 2) == []
        assert calls(twin, lambda: np.arange(1.0, 9.0), 2) == []


def test_a_single_call_that_waits_is_not_tried(clock, monkeypatch):
    twin, ran = timed(running, clock, monkeypatch)
    for clock.text in (1.0, 1.0, kernel_rivals.WORTH / 2, 1.0, 1.0):
        calls(twin, lambda: np.arange(8.0), 1)
    assert "original" not in ran
