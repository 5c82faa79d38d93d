"""The functions of a first-year course: what flattens gives what the original gives, and how many do is written down."""

import numpy as np
import pytest

import pyflat
from pyflat.testing import in_kind, lane_of, same_bits
from tests.support.first_year import EXERCISES, Exercise


def _returning(exercise: Exercise) -> tuple[list[np.ndarray], list[object]]:
    """The lanes in which the original returns, and what it returns there."""
    kept, values = [], []
    for lane, row in enumerate(zip(*(column.tolist() for column in exercise.lanes), strict=True)):
        try:
            values.append(exercise.function(*row))
        except (ValueError, ZeroDivisionError):
            continue
        kept.append(lane)
    return [column[kept] for column in exercise.lanes], values


def test_there_are_ninety_nine_which_all_flatten():
    assert len(EXERCISES) == 99


@pytest.mark.turns(2)
@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("name", EXERCISES)
def test_every_lane_is_the_originals(name, target):
    exercise = EXERCISES[name]
    columns, expected = _returning(exercise)
    result = pyflat.twin(exercise.function, target=target, none="object")(*columns)
    for lane, value in enumerate(expected):
        got = lane_of(result, lane, len(expected))
        assert same_bits(in_kind(value, got, result), got), [column[lane] for column in columns]
