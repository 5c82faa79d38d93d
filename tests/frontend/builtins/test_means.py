"""`statistics.mean` of lanes has the bits of Python's exact fractions; what the original decides, no handler catches."""

import math
import random
import statistics
from statistics import mean

import numpy as np
import pytest

import pyflat

EDGES = (0.0, -0.0, 1.0, -1.0, 0.1, 0.3, 1 / 3, 1e16, 2.0**53, 1e-300, 5e-324, 1e308, -1e308, math.inf, -math.inf, math.nan)
INTS = (0, 1, -1, 2, 7, 10, 100, 2**53 + 1, -(2**53) - 3)


def of_three(a, b):
    return statistics.mean([a, b, 0.7])


def of_four(a, b):
    return mean((a, b, b, a))


def with_an_int(a, b):
    return statistics.mean([a, b, 3, a, b])


def in_a_handler(a, b):
    try:
        return statistics.mean([a, b, a])
    except Exception:  # noqa: BLE001 - no exception but Python's
        return -1.0


def sum_in_a_handler(a, b):
    try:
        return math.fsum([a, b])
    except (OverflowError, ValueError):
        return -1.0


def columns(of, edges, rows=1500):
    order = random.Random(of)
    rows = [[order.choice(edges) if order.random() < 0.3 else order.uniform(-10, 10) if isinstance(edges[0], float)
             else order.randrange(-100, 100) for _ in range(2)] for _ in range(rows)]
    return rows


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", [of_three, of_four, with_an_int, in_a_handler, sum_in_a_handler], ids=lambda fn: fn.__name__)
def test_every_lane_has_pythons_bits(fn, target):
    expected, kept = [], []
    for a, b in columns(fn.__name__, EDGES):
        try:
            expected.append(fn(a, b))
        except OverflowError:
            continue
        kept.append((a, b))
    got = pyflat.twin(fn, target=target)(*np.array(kept).T)
    assert list(map(repr, got.tolist())) == list(map(repr, expected))


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_ints(target):
    def of_ints(a, b):
        return statistics.mean([a, b, 3])

    rows = columns("ints", INTS)
    got = pyflat.twin(of_ints, target=target)(*np.array(rows).T)
    assert got.tolist() == [of_ints(a, b) for a, b in rows]


def test_few_lanes_are_the_originals():
    twin = pyflat.twin(of_three)
    order = random.Random(3)
    twin(*np.array([[order.uniform(-5, 5), order.uniform(-5, 5)] for _ in range(2000)]).T)
    assert twin.stats.replayed < 20
