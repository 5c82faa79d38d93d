"""Lanes that the original never comes to, because one before them raises: they may need other turns than it has, or
never end."""

from __future__ import annotations

import time

import numpy as np
import pytest

import pyflat
from tests.frontend.kernels.test_results import check

TARGETS = ["numpy", "numba"]


def halved(a, out):
    """A lane of 0 goes on for ever; one of 300 is no uint8."""
    for i in range(len(a)):
        n = 0
        x = a[i]
        while x < 1.0:
            x = x * 2.0
            n += 1
        out[i] = n + int(a[i])


def rows(a, out):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            x = a[i, j]
            while x != 1.0:
                x = x * 0.5
                if x == 0.0:
                    x = a[i, j]
            out[i, j] = int(a[i, j]) * 100


@pytest.mark.parametrize("target", TARGETS)
def test_a_lane_behind_one_that_raises_does_not_hold_it_up(target):
    for fn, a in ((halved, np.array([0.25, 300.0, *[0.0] * 100])), (halved, np.array([0.25, 0.5, *[1.0] * 100])),
                  (rows, np.array([[1.0, 2.0, 4.0, *[3.0] * 60]])), (rows, np.array([[1.0, 2.0, 2.0, *[1.0] * 60]]))):
        given = [[a.copy(), np.zeros(a.shape, np.uint8)] for _ in range(2)]
        twin = pyflat.twin(fn).with_options(target=target)
        found = []
        for call, arrays in ((fn, given[0]), (twin, given[1])):
            try:
                call(*arrays)
            except (OverflowError, ValueError) as error:
                found.append(repr(error))
        assert found[:1] == found[1:]
        assert given[0][1].tobytes() == given[1][1].tobytes()


def smooth(a, out, n):
    """Its first iteration raises where an element is no uint8."""
    for k in range(n):
        s = 0.0
        for i in range(len(a)):
            s = s * 0.5 + a[i]
        out[k % len(out)] = int(s)


@pytest.mark.parametrize("target", TARGETS)
def test_a_sequential_loop_ends_after_a_fault(target):
    twin = pyflat.twin(smooth).with_options(target=target)
    check(smooth, [np.arange(4.0), np.zeros(4, np.uint8), 3], target)
    with pytest.raises(OverflowError):
        twin(np.full(20_000, 1e3), np.zeros(4, np.uint8), 2)
    start = time.perf_counter()
    with pytest.raises(OverflowError):
        twin(np.full(20_000, 1e3), np.zeros(4, np.uint8), 10**9)
    assert time.perf_counter() - start < 20


def guarded(a, b, out):
    for i in range(len(a)):
        while b[i] * (a[i] / b[i]) == a[i] and out[i] < 3:
            out[i] += 1.0


@pytest.mark.parametrize("target", TARGETS)
def test_a_warning_that_is_an_error_ends_it_at_its_place(target):
    a, b = np.ones(40), np.ones(40)
    b[5] = 0.0
    twin, found = pyflat.twin(guarded).with_options(target=target), []
    for call in (guarded, twin, twin):
        out = np.zeros(40)
        with np.errstate(all="raise"), pytest.raises(FloatingPointError) as raised:
            call(a, b, out)
        found.append((str(raised.value), out.tolist()))
    assert found[0] == found[1] == found[2]
