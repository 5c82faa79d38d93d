"""math.hypot and math.dist of each known Python, on any Python: against the algorithm with exact fractions, which is
compared with the running Python's own functions."""

import math
import sys
from fractions import Fraction

import numpy as np
import pytest

import pyflat
from pyflat.functions import lanes, python_versions

TARGETS = ("numpy", "numba")
EDGES = (0.0, -0.0, 5e-324, 1e-310, sys.float_info.min, 2.0**-1024, 2.0**-1023, 1e-300, 1.0, 1e308, sys.float_info.max,
         math.inf, -math.inf, math.nan)


def rest_of_square(x, square):
    return float(Fraction(x) * Fraction(x) - Fraction(square))


def since_3_12(numbers):
    """`vector_norm` of CPython 3.12 and 3.13, with the fused multiply-add done in fractions."""
    sizes = [abs(x) for x in numbers]
    if math.inf in sizes:
        return math.inf
    if any(x != x for x in sizes):
        return math.nan
    largest = max(sizes)
    if largest == 0.0:
        return 0.0
    exponent = math.frexp(largest)[1]
    if exponent < -1023:
        return sys.float_info.min * since_3_12([x / sys.float_info.min for x in sizes])
    scale, total, lacking, lost = math.ldexp(1.0, -exponent), 1.0, 0.0, 0.0
    for x in sizes:
        square = (x * scale) * (x * scale)
        lacking += rest_of_square(x * scale, square)
        total, lost = total + square, lost + ((total - (total + square)) + square)
    root = math.sqrt(total - 1.0 + (lacking + lost))
    square = root * root
    lacking -= rest_of_square(root, square)
    total, lost = total - square, lost + ((total - (total - square)) - square)
    return (root + (total - 1.0 + (lacking + lost)) / (2.0 * root)) / scale


def norm_of_two(x, y, z):
    return math.hypot(x, y)


def norm_of_three(x, y, z):
    return math.hypot(x, y, z)


def distance(x, y, z):
    return math.dist((x, y, z), (z, x, 1.0))


OPERANDS = {norm_of_two: lambda x, y, z: (x, y), norm_of_three: lambda x, y, z: (x, y, z),
            distance: lambda x, y, z: (x - z, y - x, z - 1.0)}


def points(n):
    """Rows of near, far, tiny and whole numbers, and edges."""
    rng = np.random.default_rng(11)
    near = rng.standard_normal((n, 3))
    far = np.ldexp(rng.standard_normal((n, 3)), rng.integers(-1080, 1023, (n, 3)))
    tiny = np.ldexp(rng.standard_normal((n, 3)), rng.integers(-1074, -1010, (n, 3)))
    return np.concatenate([near, far, tiny, rng.integers(0, 1000, (n, 3)) * 1.0, rng.choice(EDGES, (n, 3))]).T.copy()


def differing(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    return int(((found.view(np.int64) != expected.view(np.int64)) & ~(np.isnan(found) & np.isnan(expected))).sum())


@pytest.fixture
def of_3_12(monkeypatch):
    """A Python with the norm of 3.12, whichever runs."""
    monkeypatch.setattr(python_versions, "norm_name", lambda: "3.12")
    monkeypatch.setattr(lanes, "hypot_is_known", lambda: True)
    monkeypatch.setattr(lanes, "hypot_function", lambda: lanes.vector_norm)


def twin_of(fn, target):
    return pyflat.flatten(type(fn)(fn.__code__, fn.__globals__), target=target).flat


@pytest.mark.parametrize("fn", OPERANDS)
@pytest.mark.parametrize("target", TARGETS)
def test_the_norm_of_3_12_is_that_of_fractions(of_3_12, fn, target):
    columns = points(1_000)
    columns = columns[:, (np.abs(columns).max(axis=0) >= 1e-300) | np.isnan(columns).any(axis=0)]  # others are replayed
    with np.errstate(all="ignore"):
        expected = [since_3_12(OPERANDS[fn](*row)) for row in columns.T.tolist()]
    assert differing(twin_of(fn, target)(*columns), expected) == 0


@pytest.mark.parametrize("target", TARGETS)
def test_tiny_numbers(of_3_12, target):
    x, y, z = np.ldexp(np.random.default_rng(12).standard_normal((3, 2_000)), -1050)
    expected = [since_3_12(row) for row in zip(x.tolist(), y.tolist(), strict=True)]
    assert differing(twin_of(norm_of_two, target)(x, y, z), expected) == 0


@pytest.mark.filterwarnings("ignore::pyflat.PerformanceWarning")  # a tenth of the points overflow
@pytest.mark.parametrize("fn", OPERANDS)
@pytest.mark.parametrize("target", TARGETS)
def test_norms_are_the_running_pythons(fn, target):
    columns = points(4_000)
    expected = [fn(*row) for row in columns.T.tolist()]
    assert differing(twin_of(fn, target)(*columns), expected) == 0


@pytest.mark.skipif(sys.version_info < (3, 12), reason="this Python has another norm")
def test_fractions_give_the_running_pythons():
    for row in points(2_000).T.tolist():
        assert differing([since_3_12(row)], [math.hypot(*row)]) == 0


@pytest.mark.parametrize("fn", OPERANDS)
@pytest.mark.parametrize("target", TARGETS)
def test_an_unknown_norm_is_the_originals(monkeypatch, fn, target):
    """math.hypot itself is called, or lanes are computed by the original."""
    monkeypatch.setattr(lanes, "hypot_is_known", lambda: False)
    monkeypatch.setattr(python_versions, "norm_name", lambda: None)
    lanes.hypot_function.cache_clear()
    columns = points(20)
    try:
        twin = pyflat.twin(type(fn)(fn.__code__, fn.__globals__), target=target)
        checked = twin.verify(*columns)
    finally:
        lanes.hypot_function.cache_clear()
    assert checked.replayed == (0 if fn is norm_of_two else columns.shape[1])


def test_each_version_has_its_norm(monkeypatch):
    names = {}
    for minor in range(9, 16):
        monkeypatch.setattr(sys, "version_info", (3, minor, 0))
        names[minor] = python_versions.norm_name()
    assert names == {9: None, 10: "3.10", 11: "3.10", 12: "3.12", 13: "3.12", 14: None, 15: None}
