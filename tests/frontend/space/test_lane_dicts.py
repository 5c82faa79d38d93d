"""Dicts whose keys differ from lane to lane, and results of several kinds: that the twin computes them, and what is refused."""

from __future__ import annotations

import enum
import math
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyflat
from tests.support.adversary import counters


class Side(enum.Enum):
    LEFT = 1


def _calls_of(fn: Callable[..., Any], run: Callable[[], Any]) -> int:
    """How often the original runs."""
    calls = 0

    def count(frame: Any, event: str, _: Any) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code is fn.__code__

    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("fn", [counters.case_most_common, counters.case_first_place_stays, counters.case_defaultdict,
                                counters.case_counter])
def test_the_twin_computes_them(fn: Callable[..., Any]) -> None:
    columns = [np.array(row) for row in np.random.default_rng(3).integers(-2, 7, (3, 50))]
    twin = pyflat.twin(fn, target="numpy")
    assert _calls_of(fn, lambda: twin(*columns)) == 0


def test_a_growing_dict_has_a_bound() -> None:
    def distinct(n):
        seen = {}
        while n > 0:
            seen[n] = 1
            n -= 1
        return len(seen)

    twin = pyflat.twin(distinct, target="numpy")
    columns = np.array([0, 3, 64, 65, 70])
    assert twin(columns).tolist() == columns.tolist()
    assert _calls_of(distinct, lambda: twin(columns)) == 2


def test_what_is_refused_says_why() -> None:
    def many(n):
        return len({n % k for k in range(1, 200)})

    def returned(n):
        return Counter([n])

    with pytest.raises(pyflat.FlattenError, match="128"):
        pyflat.twin(many)(np.arange(3))
    with pytest.raises(pyflat.FlattenError, match="keys depend on the data"):
        pyflat.twin(returned)(np.arange(3))


def either(x):
    if x < 0:
        return "negative"
    if x == 0:
        return None
    if x == 1:
        return True
    if x == 2:
        return Side.LEFT
    if x == 3:
        return 7
    return math.sqrt(x) if x < 10 else complex(x, 1.0)


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_objects_beside_numbers_are_exactly_the_originals(target: str) -> None:
    xs = np.array([-1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 11.0, math.nan, -0.0])
    got = pyflat.twin(either, target=target)(xs)
    assert got.dtype == object
    assert [(type(each), repr(each)) for each in got] == [(type(each), repr(each)) for each in map(either, xs.tolist())]
    assert pyflat.twin(either, target=target)(3.0) == 7


def test_numbers_beside_strings_by_group() -> None:
    def by_name(name, x):
        return x * 2 if name == "double" else name.upper()

    got = pyflat.twin(by_name)(np.array(["double", "other", "double"]), np.array([1.0, 2.0, 3.0]))
    assert got.tolist() == [2.0, "OTHER", 6.0]


def test_a_known_int_that_no_lane_takes() -> None:
    def far(x):
        return -1 if x > 0 else 2**63

    assert pyflat.twin(far)(np.array([1.0, 2.0])).tolist() == [-1, -1]
    with pytest.raises(pyflat.LaneError, match="64 bits"):
        pyflat.twin(far)(np.array([1.0, -2.0]))
