"""Helpers that numba has compiled are the Python that they were written in, also where the original runs."""

from __future__ import annotations

import types
import warnings

import numpy as np
import pytest

import pyflat
from pyflat.frontend.callables import unwrap
from pyflat.frontend.uncompiled import in_python

numba = pytest.importorskip("numba")


@numba.njit(fastmath=True)
def mixed(x, y):
    return x / y + x * y - x * 0.1 + x**1.7


@numba.vectorize
def doubled(x):
    return x * 2.0 - x**1.3


def inner(x, y):
    return mixed(x, y) * 2.0


library = types.ModuleType("library")
library.mixed = mixed


def by_name(x, y):
    return mixed(x, y)


def by_helper(x, y):
    return inner(x, y)


def by_module(x, y):
    return library.mixed(x, y)


def by_default(x, y, function=mixed):
    return function(x, y)


def by_ufunc(x, y):
    return doubled(x) / y


def enclosed(function):
    def by_closure(x, y):
        return function(x, y)

    return by_closure


def plain(x, y):
    return x / y


WAYS = {"a name": by_name, "a helper": by_helper, "a module": by_module, "a default": by_default, "a ufunc": by_ufunc,
        "a closure": enclosed(mixed), "the function itself": mixed}
X, Y = np.random.default_rng(0).uniform(1.0, 2.0, (2, 200))
PYTHON = {"a helper": lambda x, y: mixed.py_func(x, y) * 2.0, "a ufunc": lambda x, y: doubled._dispatcher.py_func(x) / y}


def of_python(way):
    return PYTHON.get(way, mixed.py_func)


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("way", WAYS)
def test_a_lane_that_fails_raises_what_the_python_raises(way, target):
    y = Y.copy()
    y[7] = 0.0
    values, faults = pyflat.twin(WAYS[way], target=target, errors="mask")(X, y)
    wanted = [None if b == 0.0 else of_python(way)(a, b) for a, b in zip(X.tolist(), y.tolist(), strict=True)]
    assert [None if faults[k] else value for k, value in enumerate(values.tolist())] == wanted
    assert (faults[7].type, faults[7].message) == (ZeroDivisionError, "float division by zero")


@pytest.mark.parametrize("way", WAYS)
def test_the_original_calls_the_python(way):
    found = in_python(unwrap(WAYS[way]).function)
    assert [found(*row) for row in zip(X.tolist(), Y.tolist(), strict=True)] == [
        of_python(way)(*row) for row in zip(X.tolist(), Y.tolist(), strict=True)]
    assert found.__name__ == pyflat.twin(WAYS[way]).original.__name__


def test_what_calls_nothing_compiled_is_itself():
    assert in_python(plain) is plain


def test_names_are_looked_up_when_they_are_read(monkeypatch):
    found = in_python(by_name)
    monkeypatch.setitem(globals(), "mixed", plain)
    assert found(3.0, 2.0) == 1.5
    monkeypatch.delitem(globals(), "mixed")
    with pytest.raises(NameError):
        found(3.0, 2.0)


def kernel(x, y, out):
    for i in range(len(x)):
        out[i] = inner(x[i], y[i])


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_a_row_that_warns_changes_no_other(target):
    twin, y, quiet, loud = pyflat.twin(kernel, target=target), Y.copy(), np.zeros(200), np.zeros(200)
    twin(X, Y, quiet)
    y[7] = 0.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        twin(X, y, loud)
    assert [str(each.message) for each in caught] == ["divide by zero encountered in scalar divide"]
    assert np.flatnonzero(quiet != loud).tolist() == [7]
    assert quiet.tolist() == [mixed.py_func(a, b) * 2.0 for a, b in zip(X, Y, strict=True)]
