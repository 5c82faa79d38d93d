"""Arrays of more axes than `np.broadcast_shapes` takes."""

from __future__ import annotations

import numpy as np
import pytest

import pyflat


def scaled(x: float, y: float) -> float:
    return 1.0 / x + y


DEEP = np.array([1.0, 2.0]).reshape((2,) + (1,) * 39)


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_forty_axes_of_one_shape(target):
    twin = pyflat.twin(scaled, target=target)
    for _ in range(2):  # the second call goes the short way
        assert twin(DEEP, DEEP).shape == DEEP.shape
        assert twin(DEEP, 3.0).ravel().tolist() == [4.0, 3.5]


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_a_lane_among_forty_axes_fails(target):
    with pytest.raises(ZeroDivisionError) as caught:
        pyflat.twin(scaled, target=target)(DEEP - 1.0, 3.0)
    assert "2 lanes failed" in caught.value.__notes__[0]


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_forty_axes_are_not_broadcast(target):
    with pytest.raises(ValueError, match="argument 'x' has 40 axes: up to 32 are broadcast"):
        pyflat.twin(scaled, target=target)(DEEP, np.ones(3))


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("shape", [(1,) * 64, (1,) * 30 + (2,) + (1,) * 32 + (3,)])
def test_lanes_among_as_many_axes_as_there_can_be(target, shape):
    xs = np.zeros(shape)
    with pytest.raises(ZeroDivisionError):
        pyflat.twin(scaled, target=target)(xs, 3.0)
    values, faults = pyflat.twin(scaled, target=target, errors="mask")(xs, 3.0)
    assert values.shape == shape
    assert len(faults) == xs.size
    assert {failure.type for failure in faults} == {ZeroDivisionError}
