"""Results that begin anywhere in a cache line: the same lanes, and nothing beside them is written."""

from __future__ import annotations

import numpy as np
import pytest

import pyflat
from pyflat.targets.numba.feed import MANY_LANES


@pyflat.flatten(target="numba")
def several(x: float, y: float) -> tuple[float, bool, float]:
    return x + y, x > y, x - y


@pyflat.flatten(target="numba")
def single(x: float, y: float) -> float:
    return x / y


@pytest.mark.parametrize("lanes", [5, 1_000, MANY_LANES - 1, MANY_LANES + 13])
@pytest.mark.parametrize("offsets", [(0, 0), (1, 1), (2, 5), (7, 0)])
def test_results_anywhere_in_a_line(lanes: int, offsets: tuple[int, int]) -> None:
    numbers = np.random.default_rng(lanes)
    x, y = numbers.uniform(1.0, 2.0, (2, lanes))
    around = [np.full(lanes + 16, 7.0), np.full(lanes + 16, 7.0)]
    outs = [each[offset:offset + lanes] for each, offset in zip(around, offsets, strict=True)]
    flags = np.zeros(lanes, np.bool_)
    several.flat(x, y, out=(outs[0], flags, outs[1]))
    assert (outs[0] == x + y).all() and (flags == (x > y)).all() and (outs[1] == x - y).all()
    single.flat(x, y, out=outs[0])
    assert (outs[0] == x / y).all()
    for each, offset in zip(around, offsets, strict=True):
        assert (each[:offset] == 7.0).all() and (each[offset + lanes:] == 7.0).all()


def test_in_place_from_the_middle_of_a_line() -> None:
    memory = np.arange(2.0 * MANY_LANES + 3)
    x = memory[3:]
    expected = x / 2.0
    single.flat(x, 2.0, out=x)
    assert (x == expected).all()


def test_a_failing_lane_before_the_first_line() -> None:
    y = np.ones(MANY_LANES + 3)[3:]
    y[0] = 0.0
    with pytest.raises(ZeroDivisionError):
        single.flat(np.ones(MANY_LANES), y)
