"""DataArrays of lazy arrays stay lazy."""

import importlib.util

import numpy as np
import pytest

import pyflat

xr = pytest.importorskip("xarray")
da = pytest.importorskip("dask.array")
if importlib.util.find_spec("pyflat.runtime.containers.dask") is None:
    pytest.skip("there is no module for dask", allow_module_level=True)


def ratio(x: float, y: float = 2.0) -> float:
    return x / y if x > 1.0 else x


LAZY = xr.DataArray(da.from_array(np.arange(6.0).reshape(2, 3), chunks=(1, 3)), dims=("y", "x"),
                    coords={"x": [1, 2, 3]}, attrs={"units": "m"}, name="h")


def test_the_result_is_lazy_and_keeps_its_labels():
    found = pyflat.twin(ratio)(LAZY)
    assert isinstance(found.data, da.Array)
    assert found.compute().values.tolist() == [[0.0, 1.0, 1.0], [1.5, 2.0, 2.5]]
    assert (found.attrs, found.name, found.x.values.tolist()) == ({"units": "m"}, "h", [1, 2, 3])


def test_a_lane_that_fails_is_named_as_in_the_whole():
    divisors = xr.DataArray([1.0, 0.0, 2.0], dims="x", coords={"x": [1, 2, 3]})
    found = pyflat.twin(ratio)(LAZY, divisors)
    with pytest.raises(ZeroDivisionError) as caught:
        found.compute()
    assert caught.value.__notes__[0].startswith("lane (1, 1) (x=4.0, y=0.0)")
