"""Which library is asked, when it is imported, and how lanes of parts of a call are named."""

import subprocess
import sys
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import pyflat
from pyflat.runtime.containers import LIBRARIES, find, library_of
from pyflat.runtime.faults import Part


def ratio(x: float, y: float) -> float:
    return x / y


def norm(p) -> float:
    return p.x * p.x + p.y


class Point(NamedTuple):
    x: float
    y: float


@dataclass
class Place:
    x: float
    y: float


def test_no_library_is_imported_before_its_objects_arrive():
    code = ("import sys, numpy as np, pyflat, operator\n"
            "twin = pyflat.twin(__import__('tests.runtime.functions', fromlist=['shade']).shade)\n"
            "twin(np.ones(2)), twin(1.0), twin(np.ones(2), t=np.float32(1))\n"
            "print(sorted({'pandas', 'xarray', 'polars', 'pyarrow', 'jax', 'pint', 'dask', 'duckdb'} & set(sys.modules)))")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_classes_are_known_by_their_names_and_bases():
    series = type("Series", (), {"__module__": "pandas.core.series"})
    inherited = type("Mine", (series,), {"__module__": "mine"})
    other = type("Series", (), {"__module__": "mine"})
    pandas = next(library for library in LIBRARIES if library.root == "pandas")
    assert library_of(series) is library_of(inherited) is pandas
    assert library_of(other) is library_of(np.ndarray) is library_of(np.ma.MaskedArray) is library_of(type) is None
    assert library_of(type("Timestamp", (), {"__module__": "pandas"})) is None


def test_static_arguments_stay_what_they_are():
    pd = pytest.importorskip("pandas")
    parameters = pyflat.twin(ratio)._parameters
    found = find(parameters, (pd.Series([1.0]), pd.Series([1.0])), {}, ("y",))
    assert list(found) == [(0,)]
    assert list(find(parameters, (1.0,), {"y": (2.0, pd.Series([1.0]))}, ())) == [("y", 1)]


@pytest.mark.parametrize("cls", [Point, Place])
def test_columns_in_records(cls):
    pd = pytest.importorskip("pandas")
    found = pyflat.twin(norm)(cls(pd.Series([1.0, 3.0]), 2.0))
    assert isinstance(found, pd.Series)
    assert found.tolist() == [3.0, 11.0]
    missing = pd.Series([1.0, None], dtype="Float64")
    assert pyflat.twin(norm)(cls(missing, np.array([1.0, 2.0]))).tolist() == [2.0, pd.NA]


def test_an_array_beside_gaps_loses_the_same_lanes():
    pl = pytest.importorskip("polars")
    found = pyflat.twin(ratio)(pl.Series([1.0, None, 3.0]), np.array([2.0, 0.0, 4.0]))
    assert found.to_list() == [0.5, None, 0.75]


def test_arguments_are_not_written():
    pd = pytest.importorskip("pandas")
    series = pd.Series([1.0, -1.0])
    found = pyflat.twin(ratio, errors="nan")(series, pd.Series([0.0, 1.0]))
    assert found.isna().tolist() == [True, False]
    assert series.tolist() == [1.0, -1.0]


def test_attributes_of_the_first_series_are_kept():
    pd = pytest.importorskip("pandas")
    series = pd.Series([1.0], name="a")
    series.attrs["source"] = "here"
    found = pyflat.twin(ratio)(series, pd.Series([2.0], name="b"))
    assert found.attrs == {"source": "here"}
    assert found.name is None


def test_options_of_a_block_hold_for_columns():
    pd = pytest.importorskip("pandas")
    with pyflat.options(errors="nan"):
        assert pyflat.twin(ratio)(pd.Series([1.0, 2.0]), pd.Series([0.0, 1.0])).isna().tolist() == [True, False]


def test_columns_are_examples_for_compiling_and_looking_at_a_call():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    twin = pyflat.twin(ratio)
    for column in (pd.Series([1.0, 2.0]), pl.Series([1.0, 2.0]), [1.0, 2.0]):
        assert twin.compile(column, y=2.0) is twin
        assert twin.verify(column, 2.0)
        assert "2 elements" in str(twin.profile(column, column))
    with pytest.raises(TypeError, match="pandas"):
        twin.verify(pd.Series([1.0, None], dtype="Float64"), 2.0)


# --- parts

def fails_at(part, xs, **options):
    """The twin of 1 / x as a part of a larger call."""
    caller = pyflat.twin(ratio, **options)._caller
    return caller((1.0, xs), {}, pyflat.twin(ratio, **options).options, None, None, part)


def test_a_lane_is_named_as_in_the_whole():
    part = Part.selected(np.array([False, True, False, True]))
    with pytest.raises(ZeroDivisionError) as caught:
        fails_at(part, np.array([1.0, 0.0]))
    assert caught.value.__notes__[0].startswith("lane 3 (x=1.0, y=0.0); 1 of 4 lanes failed")


def test_of_a_block_other_lanes_may_fail_too():
    part = Part.block((10, 20), (4, 6), (2, 3))
    with pytest.raises(ZeroDivisionError) as caught:
        fails_at(part, np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 1.0]]))
    assert caught.value.__notes__[0].startswith("lane (5, 7) (x=1.0, y=0.0); at least 1 of 200 lanes failed")


def test_faults_are_those_of_the_whole():
    part = Part.selected(np.array([False, True, False, True]))
    values, faults = fails_at(part, np.array([2.0, 0.0]), errors="mask")
    assert values.tolist()[0] == 0.5
    assert (faults.shape, faults.lanes.tolist(), faults.mask.tolist()) == ((4,), [3], [False, False, False, True])
    assert faults[3].lane == 3
    assert isinstance(faults[3].exception(), ZeroDivisionError)


def test_a_part_of_a_part():
    inner = Part.selected(np.array([True, False, True]))
    outer = Part.block((9,), (4,), (3,))
    whole = inner.within(outer)
    assert [whole.lane(lane) for lane in range(2)] == [4, 6]
    assert (whole.shape, whole.count, whole.complete) == ((9,), 9, False)


def test_groups_of_strings_name_the_lane_of_the_whole():
    pd = pytest.importorskip("pandas")

    def chosen(x: float, how: str) -> float:
        return 1.0 / x if how == "inverse" else x

    xs = pd.Series([1.0, None, 0.0, 0.0], dtype="Float64")
    with pytest.raises(ZeroDivisionError) as caught:
        pyflat.twin(chosen)(xs, pd.Series(["inverse", "plain", "plain", "inverse"]))
    assert caught.value.__notes__[0].startswith("lane 3 (")


def doubled(a, n):
    for i in range(n):
        a[i] = a[i] * 2.0


def test_arrays_that_a_kernel_cannot_write_are_refused_with_what_to_pass():
    jnp, pd = pytest.importorskip("jax.numpy"), pytest.importorskip("pandas")
    with pytest.raises(TypeError, match=r"argument 'a' is a jax.*np\.array\(a\)"):
        pyflat.twin(doubled)(jnp.arange(3.0), 3)
    with pytest.raises(ValueError, match=r"read-only: doubled_flat writes into 'a'; pass a copy, np\.array\(a\)"):
        pyflat.twin(doubled)(pd.Series([1.0, 2.0, 3.0]), 3)
