"""xarray: DataArrays and Variables in and out, Datasets by the names of their variables.

Dimensions are broadcast by name, coordinates and equal attributes are kept; coordinates of one dimension have to be the
same (xarray's `join="exact"`). What is in an array may be of another library: dask's arrays stay lazy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from pyflat.ir.shape import Path, make_record, record_of
from pyflat.runtime.containers import LibraryCall, tables


def call(call: LibraryCall) -> Any:
    """DataArrays (or Variables) of the results."""
    given = call.arguments()
    for path, value in given.items():
        if isinstance(value, xr.Dataset):
            raise TypeError(f"argument {call.name(path)!r} is an xarray.Dataset: call twin.by_name(dataset, "
                            f"{call.name(path)}='variable'), which takes its variables as arguments")
    found: list[Any] = []

    def compute(*data: Any) -> Any:
        _check(call, dict(zip(given, data, strict=True)))
        found.append(call.run(dict(zip(given, data, strict=True))))
        first = next(_arrays(found[0][0] if call.options.errors == "mask" else found[0]), None)
        return np.zeros(np.broadcast_shapes(*[array.shape for array in data])) if first is None else first

    try:
        like = xr.apply_ufunc(compute, *given.values(), join="exact", dask="allowed", keep_attrs="drop_conflicts")
    except xr.AlignmentError as error:
        shown = ", ".join(map(call.name, given))
        raise ValueError(f"the arguments {shown} have different coordinates: align them first, {shown} = "
                         f"xr.align({shown}), or pass x.data to go by position") from error
    value, *faults = found[0] if call.options.errors == "mask" else (found[0],)
    result = _mapped(value, lambda array: like.copy(data=np.asarray(array) if np.ndim(array) == 0 else array))
    return (result, *faults) if faults else result


def by_name(call: LibraryCall, table: Any) -> Any:
    """A DataArray for one number, a Dataset for several results."""
    if not isinstance(table, xr.Dataset):
        raise TypeError(f"by_name takes a table of named variables, not an xarray.{type(table).__name__}")
    return tables.result(call, list(table.variables), table.__getitem__, xr.Dataset)


def over_dimensions(
    ufunc: np.ufunc, given: Mapping[str, Any], cores: Sequence[Sequence[str]], results: Sequence[Sequence[str]],
    dtypes: Sequence[np.dtype[Any]]
) -> Any:
    """A generalised ufunc over all dimensions but its core ones, which the results have last; arrays of dask's stay
    lazy, and have to have each core dimension in one block."""
    for (name, value), core in zip(given.items(), cores, strict=True):
        missing = [dim for dim in core if dim not in getattr(value, "dims", core)]
        if missing:
            raise ValueError(f"argument {name!r} has the dimensions {tuple(value.dims)}, but not {missing[0]!r}: "
                             f"name the core dimensions of the signature, core_dims={{{name!r}: (...)}}")
        blocks = getattr(value, "chunksizes", {})
        if split := [dim for dim in core if len(blocks.get(dim, ())) > 1]:
            raise ValueError(f"argument {name!r} has several blocks along {split[0]!r}, which the kernel takes as a "
                             f"whole: {name}.chunk({split[0]}=-1), or dask's map_overlap with twin.gufunc")
    try:
        return xr.apply_ufunc(ufunc, *given.values(), input_core_dims=cores, output_core_dims=results, join="exact",
                              dask="parallelized", output_dtypes=list(dtypes), keep_attrs="drop_conflicts")
    except xr.AlignmentError as error:
        shown = ", ".join(given)
        raise ValueError(f"the arguments {shown} have different coordinates: align them first, {shown} = "
                         f"xr.align({shown})") from error


def _check(call: LibraryCall, data: dict[Path, Any]) -> None:
    """ValueError for an array beside DataArrays that has not all their dimensions: which ones it has is not known."""
    shape = np.broadcast_shapes(*[array.shape for array in data.values()])
    for path, value in call.arrays().items():
        if value.shape != shape:
            raise ValueError(f"argument {call.name(path)!r} has shape {value.shape}, but the DataArrays have "
                             f"{shape}: name its dimensions, xr.DataArray(x, dims=...)")


def _arrays(value: Any) -> Any:
    found: list[Any] = []
    _mapped(value, found.append)
    return iter(found)


def _mapped(value: Any, make: Callable[[Any], Any]) -> Any:
    """A result with something else in the place of each array."""
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return make(value)
    if (record := record_of(value)) is None:
        return value
    cls, names, items = record
    return make_record(cls, names, [_mapped(item, make) for item in items])
