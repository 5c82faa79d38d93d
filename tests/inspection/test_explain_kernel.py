"""What `explain()` says of arrays that a kernel makes: what they are, why, how often they are read, what is saved."""

from __future__ import annotations

import numpy as np
import pytest

import pyflat
from pyflat.analysis.temporaries import Decision
from pyflat.passes import pipelines

A = np.arange(12.0).reshape(4, 3)


def kernel(a, out):
    n, m = a.shape
    gone = np.empty((n - 1, m))
    for i in range(n - 1):
        for j in range(m):
            gone[i, j] = a[i, j] * 2.0
    for i in range(n - 1):
        for j in range(m):
            out[i, j] = gone[i, j]
    rows = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            rows[i, j] = a[i, j] + 1.0
    for i in range(1, n):
        for j in range(m):
            out[i, j] += rows[i, j] - rows[i - 1, j]


DECIDED = {"gone": Decision("virtual", "", 1, "simple"), "rows": Decision("stored", "visits", 2, "complex")}


class Decided(dict):
    """What was decided before."""

    def __setitem__(self, name, decision):
        pass


@pytest.fixture
def decided(monkeypatch):
    before = pipelines.kernel

    def deciding(made, *rest, **more):
        made.decided = Decided(DECIDED)
        return before(made, *rest, **more)

    monkeypatch.setattr(pipelines, "kernel", deciding)


def kept(target):
    twin = pyflat.twin(kernel, target=target, inline_simple_computations=False, inline_complex_computations=False)
    out, wanted = np.zeros_like(A), np.zeros_like(A)
    twin(A, out)
    kernel(A, wanted)
    np.testing.assert_array_equal(out, wanted)
    return {array.name: (array.kept, array.size, array.place.text) for array in twin.explain().arrays
            if array.where == "local"}


SAVED = "saves 8 * (a.shape[0] - 2) * a.shape[1] bytes"
VISITS = "200 visits: its elements are read too often to be computed there; "


@pytest.mark.usefixtures("decided")
@pytest.mark.parametrize(("target", "rows"), [
    ("numpy", f"stored; {VISITS}213 target: the target keeps whole arrays; an element is read 2 times; complex"),
    ("numba", f"buffer of 2 rows; {VISITS}an element is read 2 times; complex; {SAVED}"),
])
def test_arrays_say_what_was_decided(target, rows):
    size = "8 * (a.shape[0] - 1) * a.shape[1]"
    assert kept(target) == {
        "gone": (f"virtual; an element is read 1 time; simple; saves {size} bytes", size, "gone = np.empty((n - 1, m))"),
        "rows": (rows, "8 * a.shape[0] * a.shape[1]", "rows = np.empty((n, m))")}


def complex_ones(a, out):
    t = np.empty(a.shape[0])
    for i in range(a.shape[0]):
        t[i] = a[i] * 2.0
    for i in range(1, a.shape[0]):
        out[i] = t[i] - t[i - 1]


def simple_ones(a, out):
    t = np.empty(a.shape[0])
    for i in range(a.shape[0]):
        t[i] = a[i]
    for i in range(1, a.shape[0]):
        out[i] = t[i] - t[i - 1]


def constants(a, out):
    t = np.empty(a.shape[0])
    for i in range(a.shape[0]):
        t[i] = 0.5
    for i in range(1, a.shape[0]):
        out[i] = t[i] - t[i - 1] * a[i]


@pytest.mark.parametrize(("target", "function", "option", "values"), [
    ("numpy", complex_ones, "max_visits", (1, 2)), ("numba", complex_ones, "max_visits", (1, 2)),
    ("numba", complex_ones, "inline_complex_computations", (False, None)),
    ("numpy", simple_ones, "inline_simple_computations", (False, True)),
    ("numpy", constants, "inline_scalar_constexprs", (False, True)),
], ids=["visits-numpy", "visits-numba", "complex", "simple", "constants"])
def test_a_setting_decides(target, function, option, values):
    found = []
    for value in values:
        twin = pyflat.twin(function, target=target, **{"max_visits": None if "complex" in option else 1, option: value})
        out, wanted = np.zeros(4), np.zeros(4)
        twin(A[:, 0].copy(), out)
        function(A[:, 0], wanted)
        np.testing.assert_array_equal(out, wanted)
        found += [array.kept.partition(";")[0] for array in twin.explain().arrays if array.name == "t"]
    assert found == ["stored", "virtual"]
