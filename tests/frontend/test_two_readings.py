"""A reduction of what is one number in each lane is a LaneWarning with both readings."""

import warnings

import numpy as np
import pytest

import pyflat
from tests.support.twins import refused

V = np.array([3.0, 4.0])


def length(v):
    return np.sqrt(np.sum(v * v))


@pytest.mark.parametrize("reduce", [
    lambda v: np.sum(v * v), lambda v: np.mean(v), lambda v: np.max(v), lambda v: np.amin(v), lambda v: np.std(v),
    lambda v: np.median(v), lambda v: np.prod(v), lambda v: np.any(v > 3), lambda v: np.all(v > 3),
    lambda v: np.argmax(v), lambda v: np.size(v), lambda v: np.linalg.norm(v), lambda v: np.dot(v, v),
    lambda v: np.inner(v, v), lambda v: np.sum(v if v > 3 else 1), lambda v: np.sum(v, axis=0),
    lambda v: np.allclose(v, 1.0),
])
def test_a_reduction_of_a_lane_has_two_readings(reduce):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pyflat.twin(reduce)(V)
    assert [w.category for w in caught] == [pyflat.LaneWarning]


@pytest.mark.parametrize("reduce", [
    lambda v: np.sum(np.array([v, 1.0])), lambda v: np.max([v, 2.0]), lambda v: np.linalg.norm((v, v)),
    lambda v: np.dot(np.array([v, 1.0]), np.ones(2)), lambda v: v * np.sum(3.0), lambda v: np.array([v, v]).mean(),
    lambda v: sum((v, v)), lambda v: max(v, 1.0), lambda v: np.sqrt(v), lambda v: np.shape(v) == (),
    lambda v: np.ndim(v), lambda v: np.dot(3.0, v),
])
def test_an_array_made_inside_has_one(reduce):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pyflat.twin(reduce)(V)


@pytest.mark.parametrize("use", [
    lambda v: sum(v), lambda v: max(v), lambda v: np.asarray(v).sum(), lambda v: 1.0 in v,
])
def test_what_takes_an_array_apart_is_refused_with_what_a_lane_is(use):
    assert "one element of an array argument" in refused(use, V).diagnostic.help


def test_the_warning_says_both_and_names_the_place():
    with pytest.warns(pyflat.LaneWarning) as caught:
        found = pyflat.twin(length)(V)
    assert found.tolist() == [3.0, 4.0]
    assert length(V) == 5.0
    (warning,) = caught
    assert warning.filename == __file__
    line = length.__code__.co_firstlineno + 1
    assert str(warning.message).startswith(f"{__file__}:{line}:20: np.sum(v * v) reduces a single number")
    assert "called with whole arrays, the original returns one result" in str(warning.message)


def test_each_place_is_told_once():
    twin = pyflat.twin(lambda v: np.sum(v) + np.max(v))
    with pytest.warns(pyflat.LaneWarning) as caught:
        twin(V)
    assert len(caught) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        twin(np.array([1, 2]))
        twin.to("numba")(V)
        twin.show()


def test_a_warning_that_is_an_error_stays_one():
    twin = pyflat.twin(lambda v: np.sum(v))
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("error", pyflat.LaneWarning)
            with pytest.raises(pyflat.LaneWarning):
                twin(V)
