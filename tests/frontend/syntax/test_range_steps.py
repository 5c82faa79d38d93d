"""Ranges whose step differs from lane to lane: loops over them, and what else takes a range."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyflat


def broken_off(a, b, s):
    t = 0
    for i in range(a, b, s):
        t = t * 3 + i
        if t > 1_000_000:
            break
    else:
        t -= 1
    return t


def last(a, b, s):
    i = -99
    for i in range(a, b, s):
        pass
    return i


def length(a, b, s):
    return len(range(a, b, s))


def summed(a, b, s):
    return sum(range(a, b, s)) + sum(i * i for i in range(a, b, s))


def reversed_(a, b, s):
    t = 0
    for k, i in enumerate(reversed(range(a, b, s))):
        t += k * i
    return t


def zipped(a, b, s):
    t = 0
    for i, j in zip(range(a, b, s), range(10)):  # noqa: B905 - of different lengths
        t = t * 2 + i * j
    return t


def largest(a, b, s):
    return max(range(a, b, s), default=7)


def nested(a, b, s):
    t = 0
    for i in range(a, b, s):
        for j in range(i, b, s):
            t += j
    return t


def chosen(a, b, s):
    if a > b:
        r = range(b + 1, a, s)
    elif a == b:
        r = range(a, b * b, s)
    else:
        r = range(a, b, s)
    t = len(r)
    for i in r:
        t = (t * 3 + i) % 10007
    return t


def chosen_ends(a, b, s):
    r = range(a + 1, b) if a > 2 else range(a * 2, s)
    return sum(r) + len(r)


def caught(a, b, s):
    try:
        found = range(a, b, s)
    except ValueError:
        return -7
    return len(found)


FUNCTIONS = [broken_off, last, length, summed, reversed_, zipped, largest, nested, chosen, chosen_ends, caught]
LANES = st.lists(st.tuples(*[st.integers(-7, 7)] * 3), min_size=1, max_size=30)


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_a_step_that_differs_by_lane(function, target):
    twin = pyflat.twin(function, target=target)

    @settings(deadline=None)
    @given(LANES)
    def check(lanes):
        expected = []
        for lane in lanes:
            try:
                expected.append(function(*lane))
            except ValueError:
                expected.append(None)
        columns = np.array([lane for lane, value in zip(lanes, expected, strict=True) if value is not None], np.int64)
        if len(columns):
            assert twin(*columns.T).tolist() == [value for value in expected if value is not None]
        if None in expected:
            with pytest.raises(ValueError, match="must not be zero"):
                twin(*np.array(lanes, np.int64).T)

    check()


def test_a_step_of_zero_that_is_known():
    def nothing(n):
        for _ in range(0, n, 0):
            pass
        return n

    with pytest.raises(ValueError, match="must not be zero"):
        pyflat.twin(nothing)(np.arange(3))


def test_whether_a_number_is_in_such_a_range_is_refused():
    def member(a, s):
        return 3 in range(0, a, s)

    with pytest.raises(pyflat.FlattenError, match="range whose bounds depend on the data"):
        pyflat.twin(member)(np.arange(3), np.arange(1, 4))
