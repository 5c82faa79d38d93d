"""Generators with lane filters, windows of tables, small arrays: the twin does what the original does."""

from __future__ import annotations

import functools
import math
from collections import namedtuple

import numpy as np
import pytest

from tests.support.twins import agree

I = np.array([0, 1, 2, -1, 3, 5, 2, 7, 1, 4])
J = np.array([1, 0, 2, 1, 1, 0, 3, 2, 1, 1])
N = np.array([0.1, -0.5, 0.7, 1.3, -0.02, 0.3, 0.04, 0.5, -0.6, 0.7])


def sum_of_powers(x: float, y: float):
    return np.sum(N * (x + 1) ** I * (y - 0.5) ** J)


def sums_of_arrays(x: float):
    return (N[:3] * x).sum() + sum(N * 2 * x)


def local_array(x: float):
    v = np.array([x, 2 * x, 1.0])
    return v[0] + v[-1] + len(v) + (v**2).sum() + np.exp(-v * v)[1]


def generators_with_filters(x: float):
    return sum(v for v in (x, -x, 2 * x) if v > 0), min((v for v in (x, 1 - x, 2.0) if v >= 0), default=-9.0)


def least_of_none(x: float):
    return min(v for v in (x, 3 - x) if v > 1)


def any_and_keys(x: float):
    return any(v > 1 for v in (x, -x) if v != 2), max((1, x), (2, -x))[0], min([x, -x, 3], key=abs)


def nested_generators(x: float):
    return sum(i * j for i in range(3) if i != x for j in range(i) if j < x)


def window_of_a_table(i: int):
    T = (1, 2, 3, 4, 5)
    a, b = T[i : i + 2]
    return a * 10 + b


def bits_of_an_int(n: int):
    return n.bit_length()


def length_of_one_of_two(x: float):
    r = [1, 2] if x > 0 else [3, 4, x]
    t = 0
    for v in r:
        t += v
    return len(r) + t


def sorted_known(x: float):
    return sorted({3: 1, 1: 2, 2: 0})[1] + x


def item_of_a_number(x: float):
    try:
        x[abs(x) < 1] = 0
    except TypeError:
        if abs(x) < 1:
            x = 0.0
    return x


Pair = namedtuple("Pair", "a b")


def sorted_by_key_and_backwards(x: float, y: float):
    return sorted([x, y, 1.0], key=abs)[1], sorted((x, y, 2), reverse=True)[1]


def sorted_tuples(x: float, y: float):
    return sorted([(x, 1), (y, 0), (1.0, 2)])[1][1]


def reduced(x: float, y: float):
    return functools.reduce(lambda a, b: a * 2 + b, (x, y, 1), 3)


def filtered(x: float, y: float):
    return sum(filter(lambda v: v > 0, (x, y, -1.0))), max(filter(None, (x, y, 1)))


def greatest_divisor(a: int, b: int):
    return math.gcd(a, b) if abs(a) < 10**6 and abs(b) < 10**6 else 0


def replaced_fields(x: float):
    return Pair(x, 2)._replace(b=3).b + Pair(1, x)._replace(a=x).a


def index_and_count(x: float, y: float):
    return (x, y, 1.0).index(1.0), (x, y, 1.0).count(x)


CASES = [
    (sorted_by_key_and_backwards, "ff"),
    (sorted_tuples, "ff"),
    (reduced, "ff"),
    (filtered, "ff"),
    (greatest_divisor, "ii"),
    (replaced_fields, "f"),
    (index_and_count, "ff"),
    (sum_of_powers, "ff"),
    (sums_of_arrays, "f"),
    (local_array, "f"),
    (generators_with_filters, "f"),
    (least_of_none, "f"),
    (any_and_keys, "f"),
    (nested_generators, "f"),
    (window_of_a_table, "i"),
    (bits_of_an_int, "i"),
    (length_of_one_of_two, "f"),
    (sorted_known, "f"),
    (item_of_a_number, "f"),
]


@pytest.mark.parametrize(("fn", "kinds"), CASES, ids=[fn.__name__ for fn, _ in CASES])
def test_on_numpy(fn, kinds):
    with np.errstate(all="ignore"):  # NumPy scalars warn in the original
        agree(fn, kinds)


def known_nan_beside_lanes(q: int):
    t = math.inf
    t /= abs(t)
    return (t, q) != (t, 2), [t, q] == [math.nan, 2], t in (t, q), (t, 1) == (t, 1), (t, q) < (t, 3)


def test_a_known_nan_may_be_the_same_object():
    agree(known_nan_beside_lanes, "i", rows=[(2,), (3,), (0,)])
