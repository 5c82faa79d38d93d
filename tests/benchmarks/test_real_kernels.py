"""Kernels of other people's packages: what is a candidate, which arguments the search finds, how a package is drawn from,
and what the benchmark says of a twin."""

from __future__ import annotations

import math
import sys

import numba
import numpy as np
import pytest

from benchmarks import real_search
from benchmarks.real_arguments import made, vocabularies
from benchmarks.real_kernels import Result, examined, summary
from benchmarks.real_search import Found, candidates, drawn, searched
from benchmarks.uncompiled import parsed, plain, uncompiled

pytestmark = pytest.mark.usefixtures("as_package")


@numba.njit
def half(x):
    return x / 2


@numba.njit
def rows_of(indptr, values, out):
    for i in range(len(indptr) - 1):
        for k in range(indptr[i], indptr[i + 1]):
            out[i] += half(values[k])


@numba.njit
def distances(points, n_points, squared=False):
    total = 0.0
    for i in range(n_points):
        d = points[i, 0] ** 2 + points[i, 2] ** 2
        total += d if squared else math.sqrt(d)
    return total


this = sys.modules[__name__]


@numba.njit
def through_module(x):
    total = 0.0
    for v in x:
        total += this.half(v)
    return total


@numba.njit
def whole(x):
    return x.sum()


@numba.njit
def sorted_copies(table):
    for i in range(len(table)):
        table[i] = np.linalg.svd(table)[1]


@pytest.fixture
def as_package(monkeypatch):
    monkeypatch.setattr(real_search, "modules", lambda package: [__name__])
    monkeypatch.setattr(real_search.importlib.metadata, "version", lambda package: "1.0")
    monkeypatch.setattr(real_search, "LEAST", 1e-5)


def test_candidates_subscript_a_parameter_in_a_loop():
    assert sorted(name for _, name, _ in candidates("some")) == ["distances", "rows_of", "sorted_copies"]
    assert candidates("some") == candidates("some")
    assert candidates("some") != candidates("other")


def test_callees_are_plain_too():
    function = plain(rows_of)
    assert function.__globals__["half"].__code__ is half.py_func.__code__
    assert rows_of.py_func.__globals__["half"] is half
    assert plain(len) is None


def test_callees_of_a_module_are_plain_too():
    function = plain(through_module)
    assert function.__globals__["this"].half is not half
    assert function([4.0]) == 2.0


def test_what_the_text_says_of_parameters():
    found = vocabularies(rows_of, parsed(uncompiled(rows_of)))
    assert {name: words[0] for name, words in found.items()} == {
        "indptr": "int64[n]<n", "values": "float64[n]", "out": "float64[n]"}
    found = vocabularies(distances, parsed(uncompiled(distances)))
    assert {name: words[0] for name, words in found.items()} == {
        "points": "float64[n,3]", "n_points": "n", "squared": "=False"}


@pytest.mark.parametrize(("spec", "expected"), [
    ("n", 5), ("0.5", 0.5), ("=None", None), ("=1e-08", 1e-8)])
def test_numbers_are_made(spec, expected):
    assert made(spec, 5, np.random.default_rng(0)) == expected


def test_arrays_are_made():
    r = np.random.default_rng(0)
    assert made("float64[n,3]", 4, r).shape == (4, 3)
    rows = made("int32[n+1]@", 50, r)
    assert (rows.dtype, rows[0], rows[-1], len(rows), bool(np.all(np.diff(rows) >= 0))) == (np.int32, 0, 50, 51, True)
    assert set(made("int64[n]<3", 50, r)) == {0, 1, 2}
    assert made("bool[n]", 4, r).dtype == np.bool_


def test_the_search_finds_arguments_that_run():
    found = searched("some", __name__, "rows_of")
    assert isinstance(found, Found)
    assert found.specs["values"] == "float64[n]"
    assert found.specs["indptr"].startswith("int64")
    plain(rows_of)(*found.arguments(20))


def test_a_function_without_arguments_is_not_drawn():
    assert isinstance(searched("some", __name__, "sorted_copies"), Found | str)
    names = [(module, name) for module, name, _ in candidates("some")]
    found = drawn("some", names)
    assert [one.attribute for one in found] == [name for _, name in names if name in {one.attribute for one in found}]


def test_a_twin_is_checked_and_timed():
    found = Found("some", "1.0", __name__, "distances", {"points": "float64[n,3]", "n_points": "n", "squared": "=False"}, 64)
    result = examined(found, "numba")
    assert (result.status, result.what) == ("right", "")
    assert result.sets >= 12
    assert result.ratio > 0


def test_a_refusal_is_told():
    found = Found("some", "1.0", __name__, "sorted_copies", {"table": "float64[n,n]"}, 8)
    result = examined(found, "numba")
    assert result.status == "refused"
    assert ".svd" in result.what


def test_the_table_counts_and_names():
    text = summary([Result("m f", "seen", njit=1e-3, twin=2e-3, python=1e-3), Result("m g", "seen", "refused", "no"),
                    Result("m h", "seen", njit=1e-3, twin=5e-4, python=1.0), Result("m k", "seen", "wrong", "bits")])
    assert "flattened 3 of 4, right 2, wrong 1, raw 0" in text
    assert "geomean 1.00" in text
    assert "below 0.8: m f 0.50" in text
    assert "slower than Python: m f 0.50, not warned" in text
