"""Results that are tuples of several lengths, or tuples, numbers, strings and lists side by side, are objects."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

import pyflat


def roots(a, b, c):
    if a == 0:
        return None if b == 0 else (-c / b,)
    d = b * b - 4 * a * c
    if d < 0:
        return ()
    r = math.sqrt(d)
    return (-b - r) / (2 * a), (-b + r) / (2 * a)


def several(a, b, c):
    n = int(b) % 8
    if a < 0:
        return "bad", n
    if n == 0:
        return 0
    if n == 1:
        return [a, n]
    if n == 2:
        return {"x": a}
    if n == 3:
        return {"y": n, "z": True}
    if n == 4:
        return a > 1
    if n == 5:
        return complex(a, n)
    return a, (n, c)


def status(a, b, c):
    if a < 0:
        return -1
    return a, "ok" if b > 1 else None


@dataclass
class Point:
    x: float
    n: int


def made(a, b, c):
    return Point(a, int(b)) if a > 0 else (c, b) if b > 0 else a


NUMBERS = (-2.0, -1.0, 0.0, 1.0, 3.5)
ROWS = [(a, b, c) for a in NUMBERS for b in (*NUMBERS, 2.0, 4.0, 5.0) for c in NUMBERS]


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", [roots, several, status, made])
def test_each_lane_has_the_object_of_the_original(fn, target):
    twin = pyflat.twin(fn, target=target, none="object")
    got = twin(*map(np.array, zip(*ROWS, strict=True)))
    assert got.dtype == object and repr(got.tolist()) == repr([fn(*row) for row in ROWS])
    for row in ROWS[::17]:
        assert repr(twin(*row)) == repr(fn(*row))


def test_twins_kept_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("PYFLAT_CACHE_DIR", str(tmp_path))
    columns = [*map(np.array, zip(*ROWS, strict=True))]
    first = pyflat.twin(several)(*columns).tolist()
    assert repr(pyflat.twin(several)(*columns).tolist()) == repr(first)


def test_arrays_of_several_shapes_are_refused():
    def shapes(x):
        return np.array([x, x]) if x > 0 else np.array([x])

    with pytest.raises(pyflat.FlattenError, match="arrays of different shapes"):
        pyflat.twin(shapes)(np.array([1.0, -1.0]))
