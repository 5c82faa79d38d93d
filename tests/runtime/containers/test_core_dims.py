"""Kernels over arrays with xarray's objects: core dimensions by name."""

from __future__ import annotations

import numpy as np
import pytest

import pyflat

xr = pytest.importorskip("xarray")


@pyflat.flatten(signature="(y,x)->(y,x)")
def differences(height, out):
    rows, columns = height.shape
    for i in range(rows):
        for j in range(columns):
            out[i, j] = height[i, j] - (height[i, j - 1] if j > 0 else 0.0)


@pyflat.flatten(signature="(n),()->(),()")
def moments(values, scale):
    total = squares = 0.0
    for i in range(len(values)):
        total += values[i] * scale
        squares += values[i] * values[i]
    return total, squares


@pytest.fixture
def days():
    values = np.random.default_rng(0).normal(size=(3, 4, 5))
    return xr.DataArray(values, dims=("y", "day", "x"), coords={"day": range(4)}, attrs={"unit": "m"}, name="height")


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_core_dimensions_are_found_by_name(days, target):
    found = differences.flat.to(target)(days)
    assert found.dims == ("day", "y", "x") and found.attrs == days.attrs and found.name == "height"
    assert list(found.coords["day"].values) == [0, 1, 2, 3]
    for day in range(4):
        expected = np.empty((3, 5))
        differences(days.values[:, day], expected)
        assert np.array_equal(found.values[day], expected)


def test_dimensions_of_other_names(days):
    renamed = days.rename(y="lat", x="lon")
    found = differences.flat.with_options(core_dims={"height": ("lat", "lon")})(renamed)
    assert found.dims == ("day", "lat", "lon")
    assert np.array_equal(found.values, differences.flat(days).values)


def test_several_results_and_numbers_beside(days):
    total, squares = moments.flat.with_options(core_dims={"values": "day"})(days, scale=2.0)
    assert total.dims == squares.dims == ("y", "x")
    expected = [[moments(days.values[i, :, j], np.float64(2.0)) for j in range(5)] for i in range(3)]
    assert np.array_equal(np.stack([total.values, squares.values], axis=-1), expected)


def test_arrays_of_dask_stay_lazy(days):
    array = pytest.importorskip("dask.array")
    found = differences.flat(days.chunk(day=1))
    assert isinstance(found.data, array.Array) and found.dtype == np.float64
    assert np.array_equal(found.values, differences.flat(days).values)
    with pytest.raises(ValueError, match=r"argument 'height' has several blocks along 'x'.*chunk\(x=-1\)"):
        differences.flat(days.chunk(x=2))


def test_what_does_not_fit_names_the_argument(days):
    with pytest.raises(ValueError, match="argument 'height' has the dimensions .'q', 'day', 'x'., but not 'y'"):
        differences.flat(days.rename(y="q"))
    for wrong, text in (({"height": "y"}, "2 core dimensions"), ({"out": ("y", "x")}, "no such input")):
        with pytest.raises(ValueError, match=text):
            differences.flat.with_options(core_dims=wrong)(days)
    with pytest.raises(TypeError, match="call it without outputs"):
        differences.flat(days, out=np.empty((4, 3, 5)))
    product = pyflat.twin(lambda a, b: a[0] * b[0], signature="(n),(n)->()", arrays=("a", "b"))
    with pytest.raises(ValueError, match="'n' of signature=.* is both 'day' and 'x'"):
        product.with_options(core_dims={"a": "day", "b": "x"})(days, days)
    other = days.assign_coords(day=range(1, 5))
    with pytest.raises(ValueError, match="different coordinates"):
        product.with_options(core_dims={"a": "x", "b": "x"})(days, other)


@pytest.mark.parametrize("wrong", [3, {"a": 3}, {1: ("y",)}, ["a"]])
def test_options_that_are_no_dimensions(wrong):
    with pytest.raises(TypeError, match="core_dims=.*expected dimensions by parameter"):
        pyflat.twin(differences, core_dims=wrong)
