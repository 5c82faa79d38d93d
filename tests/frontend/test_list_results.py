"""Results that are lists whose length differs from lane to lane: arrays of lists, against Python in every lane."""

import numpy as np
import pytest

import pyflat
from pyflat.testing import lane_of

NS = (0, 1, 2, 5, 6, 12, 28, 30)


def divisors(n):
    found = []
    for d in range(1, n + 1):
        if n % d == 0:
            found.append(d)
    return found


def some_of_three(n):
    return [d for d in (2, 3, 5) if n % d == 0]


def of_two_lengths(n):
    return [n] if n > 5 else [n, n * 0.5]


def of_pairs(n):
    pairs = []
    while n > 1:
        pairs.append((n, n % 2 == 0))
        n //= 2
    return pairs


def of_strings(n):
    return [f"{d}!" for d in (2, 3) if n % d == 0]


def with_others(n):
    return n, [k for k in (1, 2) if n > k], {"rest": [n] if n else []}


def or_none(n):
    return None if n == 0 else [k for k in (1, 2) if n % k == 0]


EVERY = [divisors, some_of_three, of_two_lengths, of_pairs, of_strings, with_others, or_none]


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", EVERY, ids=lambda fn: fn.__name__)
def test_every_lane_is_pythons(fn, target):
    ns = np.array(NS)
    result = pyflat.twin(fn, target=target, none="object")(ns)
    assert [repr(lane_of(result, lane, len(ns))) for lane in range(len(ns))] == [repr(fn(n)) for n in NS]
    assert repr(pyflat.twin(fn, target=target, none="object")(6)) == repr(fn(6))


def test_a_list_that_the_original_has_made():
    def upwards(n):
        found = []
        while n > 0:
            found.append(n)
            n -= 1
        return found

    got = pyflat.twin(upwards)(np.array([2, 100]))
    assert got.dtype == object and got.tolist() == [upwards(2), upwards(100)]


def test_lanes_that_fail_have_none():
    def shares(n):
        return [60 // n] if n < 2 else [n, 60 // n]

    value, faults = pyflat.twin(shares, errors="mask")(np.array([0, 1, 2]))
    assert value.tolist() == [None, [60], [2, 30]] and faults.mask.tolist() == [True, False, False]


def test_a_place_that_only_holds_none():
    def noted(n):
        notes = {"a": n}
        if n > 2:
            notes.setdefault("c", None)
        return list(notes.values())

    assert pyflat.twin(noted)(np.array([1, 5])).tolist() == [[1], [5, None]]


def test_an_int_stays_an_int_where_other_lanes_have_a_float():
    def pairs(n, x):
        notes = {"a": n}
        if x > 0.0:
            notes["a"] = x
        if n > 2:
            notes["b"] = True
        return list(notes.items())

    ns, xs = np.array([1, 2, 3, 4]), np.array([-1.0, 1.5, -2.0, 2.5])
    assert repr(pyflat.twin(pairs)(ns, xs).tolist()) == repr(
        [pairs(*row) for row in zip(ns.tolist(), xs.tolist(), strict=True)])


def test_shape_and_verify():
    twin = pyflat.twin(divisors)
    assert twin(np.array([[1, 2], [3, 4]])).shape == (2, 2)
    twin.verify(np.array(NS))


def test_an_array_of_the_caller_cannot_take_them():
    with pytest.raises(TypeError, match="pass None"):
        pyflat.twin(divisors)(np.array(NS), out=np.empty(len(NS), object))
