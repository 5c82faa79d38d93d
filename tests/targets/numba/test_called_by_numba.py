"""Twins and flattened functions inside of `@njit`."""

import math
import os
import subprocess
import sys
from importlib.metadata import entry_points

import numba
import numpy as np
import pytest

import pyflat

XS = np.linspace(-3.0, 30.0, 60)
SCALE = 2.0


@pyflat.flatten
def root(x, k=3):
    if x > 1.0:
        return math.sqrt(x) * SCALE + k
    return 1.0 / x


@pyflat.flatten
def larger(x, y):
    return (x * y, x > y) if x > 0 else (y, False)


@pyflat.flatten
def kinds(x):
    return {"a": x}


@numba.njit
def total(xs):
    found = 0.0
    for x in xs:
        found += root(x)
    return found


@numba.njit
def of_scalars(x, y):
    return root(k=y, x=x), larger(x, y)


@numba.njit
def of_arrays(x, k):
    return root(x, k)


@numba.njit
def two_arrays(x, y):
    return larger(x, y)


@numba.njit(nogil=True)
def without_gil(x):
    return root(x)


@numba.vectorize
def vectorized(x):
    return root(x, 3)


def same(found, wanted):
    assert found.dtype == wanted.dtype
    assert np.array_equal(found, wanted)


def test_the_entry_point_is_this_one():
    found = {entry.value for entry in entry_points(group="numba_extensions")}
    assert "pyflat.targets.numba.called_by_numba:init" in found


def test_numbers():
    assert total(XS) == sum(root(x) for x in XS.tolist())
    for x, y in ((2.5, 2), (0.5, 1), (np.float32(1.5), True)):
        found = of_scalars(x, y)
        wanted = root(float(x), int(y)), larger(float(x), int(y))
        assert found == wanted
    same(vectorized(XS), root.flat(XS, 3))


def test_arrays():
    read_only = XS[::3].astype("f4").reshape(4, 5)
    read_only.flags.writeable = False
    for x in (XS, np.empty(0), read_only):
        same(of_arrays(x, 2), root.flat(x, 2))
    columns, row = np.asfortranarray(XS.reshape(6, 10)), np.arange(10)
    for found, wanted in zip(two_arrays(columns, row), larger.flat(columns, row), strict=True):
        same(found, wanted)


@pytest.mark.parametrize("call", [lambda: total(np.array([1.5, 0.0])), lambda: of_arrays(np.array([1.5, 0.0]), 3),
                                  lambda: of_scalars(0.0, 3), lambda: without_gil(0.0)])
def test_exceptions_are_those_of_the_original(call):
    with pytest.raises(ZeroDivisionError, match="float division by zero") as raised:
        call()
    assert "x=0.0" in raised.value.__notes__[0]


def test_what_cannot_be_called_is_refused():
    with pytest.raises(pyflat.FlattenError, match="neither a number nor a tuple of numbers"):
        numba.njit(lambda x: kinds(x))(1.0)
    with pytest.raises(numba.TypingError, match="'x' is uint64 here"):
        of_scalars(np.uint64(3), 1)
    with pytest.raises(numba.TypingError, match="'k' is unicode_type here"):
        of_arrays(1.0, "text")


CACHED = """
import os, sys
import numba
import numpy as np
import pyflat

K = float(os.environ["K"])

@pyflat.flatten
def scaled(x):
    return x * K if x > 0 else -x

@numba.njit(cache=True)
def total(xs):
    found = 0.0
    for x in xs:
        found += scaled(x)
    return found

print(total(np.arange(-2.0, 4.0)), sum(total.stats.cache_hits.values()))
"""


def test_what_numba_caches_calls_the_twin_of_the_process(tmp_path):
    (tmp_path / "cached.py").write_text(CACHED)
    said = [subprocess.run([sys.executable, "cached.py"], cwd=tmp_path, capture_output=True, text=True, check=True,
                           env={**os.environ, "K": k, "PYTHONPATH": ":".join(sys.path)}).stdout.split()
            for k in ("2.0", "2.0")]
    assert said == [["15.0", "0"], ["15.0", "1"]]
