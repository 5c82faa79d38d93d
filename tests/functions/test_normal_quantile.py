"""statistics.NormalDist.inv_cdf: a function that one record has added (CPython's own code, called lane by lane)."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest

import pyflat
from pyflat.errors import FlattenError
from pyflat.functions import python_versions

NORMAL = statistics.NormalDist(1.5, 2.5)


def quantile(p: float) -> float:
    return NORMAL.inv_cdf(p)


def raw(p: float, mean: float, deviation: float) -> float:
    return statistics._normal_dist_inv_cdf(p, mean, deviation)


def caught(p: float) -> float:
    try:
        return statistics._normal_dist_inv_cdf(p, 0.0, 1.0)
    except ValueError:
        return -99.0


TARGETS = pytest.mark.parametrize("target", ["numpy", "numba"])


@TARGETS
@pytest.mark.parametrize("function", [quantile, caught])
def test_the_bits_are_cpythons(function, target):
    lanes = np.concatenate([np.random.default_rng(1).random(2_000), [1e-300, 5e-324, 0.5, 0.075, 0.925, 1 - 2.0**-53, math.nan]])
    if function is caught:
        lanes = np.concatenate([lanes, [0.0, -0.0, 1.0, -math.inf, math.inf, 2.0]])
    assert pyflat.twin(function, target=target)(lanes).tobytes() == np.array([function(p) for p in lanes.tolist()]).tobytes()


NOT_POSITIVE = [(0.5, 0.0, 0.0), (0.5, 0.0, -1.0), (math.nan, 0.0, -1.0)]


def test_the_version_says_whether_sigma_is_asked():
    """Python raised for one of zero or below until 3.11."""
    for lane in NOT_POSITIVE:
        try:
            raw(*lane)
        except ValueError:
            assert python_versions.quantile_needs_positive_sigma()
        else:
            assert not python_versions.quantile_needs_positive_sigma()
            twin = pyflat.twin(raw)
            assert twin.verify(*map(np.array, zip(lane, strict=True))).replayed == 0


@TARGETS
@pytest.mark.parametrize("lane", [
    (0.0, 0.0, 1.0), (1.0, 0.0, 1.0), *(NOT_POSITIVE if python_versions.quantile_needs_positive_sigma() else [])])
def test_what_python_raises_is_raised(target, lane):
    columns = [np.array(column) for column in zip((0.5, 0.0, 1.0), lane, strict=True)]
    with pytest.raises(ValueError, match="inv_cdf undefined"):
        pyflat.twin(raw, target=target)(*columns)
    with pytest.raises(statistics.StatisticsError, match="0.0 < p < 1.0"):
        pyflat.twin(quantile, target=target)(np.array([0.5, 1.0]))


def test_texts_name_it():
    assert "return statistics._normal_dist_inv_cdf(p, mean, deviation)" in pyflat.twin(raw).show()
    assert "return lanes.normal_quantile(p, mean, deviation)" in pyflat.twin(raw).show(target="numpy")


@pytest.mark.parametrize(("target", "title"), [("numba", "scalar Python for numba"), ("wgsl", "WGSL"), ("glsl", "GLSL")])
def test_targets_that_lack_it_say_so(target, title):
    with pytest.raises(FlattenError, match=rf"statistics\._normal_dist_inv_cdf is not available on {title}"):
        pyflat.twin(raw).show(target=target)
