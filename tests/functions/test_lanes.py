"""lanes: Python's scalar meaning on arrays and scalars, bit for bit wherever Python returns."""

from __future__ import annotations

import itertools
import math
import operator

import numpy as np
import pytest

from pyflat.functions import lanes, libm, python_versions
from pyflat.ir.ops import PRIMITIVES
from pyflat.ir.types import BOOL, FLOAT, INT
from tests.targets.flat_functions import columns, rows_of, same_value


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


PYTHON = [
    ("pow", (FLOAT, FLOAT), operator.pow), ("to_float", (BOOL,), float), ("to_float", (INT,), float),
    ("to_int", (FLOAT,), int), ("to_int", (BOOL,), int), ("floor_int", (FLOAT,), math.floor),
    ("ceil_int", (FLOAT,), math.ceil), ("round_int", (FLOAT,), round), ("round_digits", (FLOAT, INT), round),
    ("ldexp", (FLOAT, INT), math.ldexp), ("hypot", (FLOAT, FLOAT), math.hypot),
    ("remainder", (FLOAT, FLOAT), math.remainder), ("ipow", (INT, INT), lambda a, b: a**min(b, 70) if abs(a) > 1 else a**b),
    ("library_hypot", (FLOAT, FLOAT), PRIMITIVES["library_hypot"].python),
    *((name, (FLOAT,) * libm.operand_count(name), getattr(math, name))
      for name in sorted((libm.NAMES | {"gamma", "lgamma"}) - {"pow", "fmod", "remainder", "nextafter", "library_hypot"})),
]


@pytest.mark.parametrize(("name", "kinds", "python"), PYTHON, ids=[f"{n}-{''.join(map(str, k))}" for n, k, _ in PYTHON])
def test_is_python(name, kinds, python):
    function = getattr(lanes, name)
    rows = rows_of(kinds)
    values = function(*columns(kinds, rows)).tolist()
    for row, value in zip(rows, values, strict=True):
        try:
            expected = python(*row)
        except (ArithmeticError, ValueError):
            continue
        if isinstance(expected, int) and not -(2**63) <= expected < 2**63 or isinstance(expected, complex | float) and INT in kinds[:1] and name == "ipow":
            continue
        if isinstance(expected, complex):
            assert not math.isfinite(value)
            continue
        assert same_value(value, expected), (row, value, expected)


@pytest.mark.parametrize(("name", "kinds", "python"), PYTHON, ids=[f"{n}-{''.join(map(str, k))}" for n, k, _ in PYTHON])
def test_scalars_are_lanes_too(name, kinds, python):
    function = getattr(lanes, name)
    rows = rows_of(kinds, 10, 60)
    whole = columns(kinds, rows)
    values = function(*whole)
    for lane in range(len(rows)):
        for scalars in ([column[lane] for column in whole], list(rows[lane])):
            value = function(*scalars)
            assert np.ndim(value) == 0
            assert same_value(np.asarray(value).item(), values[lane].item())
    if len(kinds) == 2:
        mixed = function(whole[0], whole[1][3])
        again = function(whole[0], np.full_like(whole[1], whole[1][3]))
        assert mixed.tobytes() == again.tobytes()


def test_gather_keeps_kinds():
    table = (10.0, 20.0, -0.0)
    assert lanes.gather(table, np.array([0, -1, 2, -3])).tolist() == [10.0, -0.0, -0.0, 10.0]
    assert lanes.gather(table, np.array([3, -4, 2**62, -(2**63)])).shape == (4,)
    assert lanes.gather((1, 2), np.int64(-1)) == 2


def bits_differ(values, expected):
    return int(((values.view(np.int64) != expected.view(np.int64)) & ~(np.isnan(values) & np.isnan(expected))).sum())


@pytest.mark.parametrize("form", ["near", "far", "subnormal", "pythagorean", "bits"])
def test_hypot_is_cpythons_on_many_points(form):
    rng = np.random.default_rng(5)
    n = 40_000
    x, y = rng.normal(size=n), rng.normal(size=n)
    match form:
        case "far":
            x, y = np.ldexp(x, rng.integers(-1080, 1024, n)), np.ldexp(y, rng.integers(-1080, 1024, n))
        case "subnormal":
            x, y = np.ldexp(x, -1060), np.ldexp(y, rng.integers(-1074, -1000, n))
        case "pythagorean":
            x, y = rng.integers(0, 1000, n).astype(float), rng.integers(0, 1000, n).astype(float)
        case "bits":
            x, y = (rng.integers(-(2**63), 2**63, n).view(np.float64) for _ in "xy")
    expected = np.array(list(map(math.hypot, x.tolist(), y.tolist())))
    assert bits_differ(lanes.hypot(x, y), expected) == 0


def test_another_cpythons_hypot_is_called(monkeypatch):
    monkeypatch.setattr(python_versions, "norm_name", lambda: None)
    lanes.hypot_is_known.cache_clear()
    lanes.hypot_function.cache_clear()
    try:
        assert lanes.hypot_function() is not lanes.vector_norm
        assert lanes.hypot(np.array([3.0, math.inf]), np.array([4.0, math.nan])).tolist() == [5.0, math.inf]
    finally:
        lanes.hypot_is_known.cache_clear()
        lanes.hypot_function.cache_clear()


@pytest.mark.parametrize("form", ["decimal ties", "binary ties", "ordinary", "bits"])
def test_round_digits_is_pythons_on_many_points(form):
    rng = np.random.default_rng(6)
    n = 20_000
    digits = rng.integers(-3, 6, n)
    match form:
        case "decimal ties":
            x = (rng.integers(-(10**9), 10**9, n) * 10 + 5) / 10.0 ** (digits + 1)
        case "binary ties":
            x = rng.integers(-100_000, 100_000, n) / 1024
        case "ordinary":
            x = rng.normal(size=n) * 10.0 ** rng.uniform(-3, 18, n)
        case _:
            x, digits = rng.integers(-(2**63), 2**63, n).view(np.float64), rng.integers(-330, 330, n)
    total = libm.total("round_digits")
    expected = np.array(list(map(total, x.tolist(), digits.tolist())))
    values = lanes.round_digits(x, digits)
    returned = np.isfinite(expected) | ~np.isfinite(x)
    assert bits_differ(values[returned], expected[returned]) == 0
    assert not np.isfinite(values[~returned]).any()


def test_integer_power_for_every_small_base_and_exponent():
    rows = list(itertools.product(range(-12, 13), range(0, 64)))
    values = lanes.ipow(*columns((INT, INT), rows)).tolist()
    for (base, exponent), value in zip(rows, values, strict=True):
        assert value == (base**exponent + 2**63) % 2**64 - 2**63


def test_shapes_broadcast():
    x = np.linspace(0, 1, 6).reshape(2, 3)
    assert lanes.exp(x).shape == (2, 3)
    assert lanes.hypot(x, x[0]).shape == (2, 3)
    assert lanes.round_digits(x, np.int64(1)).shape == (2, 3)
    assert lanes.power(x, 0.5).tolist() == np.sqrt(x).tolist()
