"""What a test says of a name: in each arm the alternatives that get there."""

from __future__ import annotations

import numpy as np
import pytest

import pyflat


def made(x, n):
    if n == 0:
        return x, 1.0
    return (None, "low", [x], {"a": x}, x, 3)[n - 1] if n < 4 else {"a": x} if n == 4 else x if n == 5 else 3


def classes(x, n):
    v = made(x, n)
    if v is None:
        return -1.0
    if isinstance(v, str):
        return len(v) + 0.5
    if isinstance(v, (tuple, list)) and len(v) > 1:
        return v[1]
    if isinstance(v, dict):
        return v["a"] * 2.0
    return v + 1.0 if isinstance(v, (int, float)) else v[0]


def not_and_or(x, n):
    v = made(x, n)
    if not isinstance(v, (int, float)) and not isinstance(v, str) and v is not None and not isinstance(v, dict):
        return v[0] + 10.0
    return 0.0 if v is None or isinstance(v, str) else v["a"] if isinstance(v, dict) else v - 1.0


def after_both(x, n):
    v = made(x, n)
    t = 0.0
    if isinstance(v, str):
        t = t + len(v)
    else:
        t = t - 1.0
    return t + (len(v) if isinstance(v, (str, list, tuple, dict)) else 100.0)


def replaced(x, n):
    v = made(x, n)
    if v is None or isinstance(v, str):
        v = 2.0
    elif isinstance(v, dict):
        v = v["a"]
    elif isinstance(v, (tuple, list)):
        v = v[0]
    return v * 2.0


def in_a_loop(x, n):
    v = made(x, 0)
    for k in range(n):
        if isinstance(v, tuple):
            v = v[0] + k
        elif v > 3.0:
            v = (v, None)
        else:
            v = v * 2.0
    return v[0] if isinstance(v, tuple) else v


def partly(x, n):
    """For the number the test differs from lane to lane."""
    v = made(x, n)
    if v is None or isinstance(v, (int, float)) and v > 1.0:
        return 5.0 if v is None else v
    return 0.25


def calls_with_effect(x, n):
    """The test is evaluated once, whatever it is asked."""
    seen = []
    v = made(x, n)

    def is_string(w):
        seen.append(1.0)
        return isinstance(w, str)

    if is_string(v):
        return len(seen) + 0.0
    return len(seen) + 10.0


class Once:
    """Equal to what it is compared with first."""

    def __init__(self):
        self.met = False

    def __eq__(self, other):
        first, self.met = not self.met, True
        return first


def asked_by_own_code(x, n):
    v = Once() if n == 0 else None if n == 1 else x
    if v == 5.0:
        return 1.0 if isinstance(v, Once) else 4.0
    return 2.0 if v is None else 3.0 if isinstance(v, Once) else v


def raises_inside(x, n):
    v = made(x, n)
    try:
        if v is None or v > 1.0:
            return 1.0
        return 2.0
    except TypeError:
        return 3.0


def asks_an_iterator(x, n):
    v = None if n == 0 else "a" if n == 1 else x
    it = iter([None, "b", 2.5])
    if v in it:
        return 1.0 if v is None else 2.0 if isinstance(v, str) else v
    return 10.0 if v is None else 20.0 if isinstance(v, str) else v * 2.0


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", [asked_by_own_code, raises_inside, asks_an_iterator, classes, not_and_or, after_both, replaced, in_a_loop, partly, calls_with_effect])
def test_a_name_is_what_the_test_leaves(fn, target):
    n = np.arange(7)
    for x in (0.25, -2.5, 7.0):
        got = pyflat.twin(fn, target=target)(np.full(7, x), n)
        assert got.tolist() == [fn(x, k) for k in n.tolist()]
