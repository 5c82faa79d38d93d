"""pandas: Series, Index and extension arrays in and out; frames by the names of their columns.

Results have the index of the arguments, which must be the same, and the name that all of them have. They are nullable
(Int64, Float64, boolean) where an argument is, and Arrow's where one is Arrow's; NumPy's otherwise, but with
errors="nan" ints and bools are nullable there, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_object_dtype

from pyflat.ir.shape import Path
from pyflat.runtime.arrays import Array
from pyflat.runtime.containers import LibraryCall, tables
from pyflat.runtime.containers.columns import named, run
from pyflat.runtime.containers.gaps import GapColumn, Mask
from pyflat.runtime.labels import Codes

_SINCE = "" if int(pd.__version__.partition(".")[0]) >= 3 else " of pandas 3"
_MASKED = {"f": pd.arrays.FloatingArray, "i": pd.arrays.IntegerArray, "u": pd.arrays.IntegerArray,
           "b": pd.arrays.BooleanArray}


def call(call: LibraryCall, *, skip_na: bool = False) -> Any:
    """Series in, Series out; without a Series an Index, else an extension array. Where a value is missing the original
    runs, or with `skip_na` nothing does."""
    given = call.arguments()
    if path := next((path for path, value in given.items() if isinstance(value, pd.DataFrame)), None):
        raise TypeError(f"argument {call.name(path)!r} is a pandas.DataFrame: call twin.by_name(frame, "
                        f"{call.name(path)}='column'), which takes its columns as arguments, or for a function of a "
                        f"row frame.apply(f, axis=1, engine=pyflat.flatten){_SINCE}")
    if all(value is pd.NA for value in given.values()):
        raise TypeError(f"argument {call.name(next(iter(given)))!r} is pandas.NA, without a Series: pass float('nan'), "
                        f"or a number")
    like = _like(call, given)
    columns = {path: _column(value, len(like)) for path, value in given.items()}
    if skip_na:
        columns = {path: replace(column, objects=None) for path, column in columns.items()}
    backed = _backing(getattr(value, "dtype", None) for value in given.values())
    if backed == "numpy" and call.options.errors == "nan":
        backed = "numpy, with nan"
    names = {value.name for value in given.values() if isinstance(value, pd.Series | pd.Index)}
    name = names.pop() if len(names) == 1 else None
    return run(call, columns, lambda array, missing: _wrapped(array, missing, like, name, backed))


def plain(value: Any) -> Any:
    """The values of a column without gaps as an array; anything else as it is."""
    column = _column(value, 1) if isinstance(value, pd.Series | pd.Index | pd.api.extensions.ExtensionArray) else None
    return value if column is None or column.has_gaps else column.values


def by_name(call: LibraryCall, table: Any) -> Any:
    """A Series for one number, a frame for several results."""
    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"by_name takes a table of named columns, not a {type(table).__name__}")
    columns = tables.chosen(call, list(table.columns))
    found = tables.run(call, {name: table[column] for name, column in columns.items()})
    if call.options.errors == "mask":
        return _frame(found[0], table.index), found[1]
    return _frame(found, table.index)


def _frame(found: Any, index: Any) -> Any:
    parts = dict(named(found))
    if "" not in parts:
        return pd.DataFrame(parts, index=index)
    one = parts[""]
    return one.rename(None) if isinstance(one, pd.Series) else pd.Series(one, index=index)


def _like(call: LibraryCall, given: Mapping[Path, Any]) -> Any:
    """The first Series, which gives the index; else the first Index, or the first array. ValueError where Series have
    other indexes."""
    series = {path: value for path, value in given.items() if isinstance(value, pd.Series)}
    if not series:
        others = [value for value in given.values() if value is not pd.NA]
        return next((value for value in others if isinstance(value, pd.Index)), others[0])
    (first, like), *rest = series.items()
    for path, value in rest:
        if value.index is not like.index and not value.index.equals(like.index):
            one, other = call.name(first), call.name(path)
            raise ValueError(f"the Series {one!r} and {other!r} have different indexes: align them first, "
                             f"{one}, {other} = {one}.align({other}), or pass {other}.to_numpy() to go by position")
    return like


def _backing(dtypes: Iterable[Any]) -> str:
    """What results are made of."""
    found = {"arrow" if isinstance(dtype, pd.ArrowDtype) else "nullable" if _is_nullable(dtype) else "numpy"
             for dtype in dtypes}
    return next(kind for kind in ("arrow", "nullable", "numpy") if kind in found)


def _is_nullable(dtype: Any) -> bool:
    """Whether NA has a place in columns of this dtype."""
    return dtype is None or is_object_dtype(dtype) or isinstance(
        dtype, pd.api.extensions.ExtensionDtype) and dtype.na_value is pd.NA


def _column(value: Any, count: int) -> GapColumn:
    """The values of a Series, an Index or an array, and where there are none."""
    if value is pd.NA:
        return GapColumn(np.zeros(count), np.ones(count, np.bool_), np.full(count, pd.NA, object))
    dtype = value.dtype
    if isinstance(dtype, np.dtype) and not is_object_dtype(dtype):
        return GapColumn(np.asarray(value))
    missing = np.asarray(pd.isna(value))
    numbers = getattr(dtype, "numpy_dtype", None)
    gaps = bool(missing.any())
    if numbers is not None and numbers.kind in "biuf":
        objects = np.asarray(value.astype(object)) if gaps else None
        return GapColumn(value.to_numpy(numbers, na_value=numbers.type(0)), missing, objects)
    values = np.asarray(value.astype(object) if hasattr(value, "astype") else value)
    return GapColumn(_of_objects(values, missing), missing if gaps else None, values)


_INFERRED = {"integer": np.int64, "floating": np.float64, "boolean": np.bool_, "empty": np.float64}


def _of_objects(values: Array, missing: Mask) -> Array:
    """An array of objects as numbers, where all that are not missing are of one type."""
    wanted = _INFERRED.get(pd.api.types.infer_dtype(values[~missing], skipna=False))
    if wanted is None or (wanted is np.int64 and not _fits(values[~missing])):
        return values
    made: Array = np.zeros(values.shape, wanted)
    made[~missing] = values[~missing]
    return made


def _fits(values: Array) -> bool:
    return all(-2**63 <= value < 2**63 for value in values.tolist())


def _wrapped(array: Any, missing: Mask | None, like: Any, name: Any, backed: str) -> Any:
    """Results as what the arguments are, strings as Categorical."""
    if isinstance(array, Codes):
        values = _labels(array, missing)
    elif array.shape != (len(like),):
        return array
    else:
        values = _values(array, missing, backed)
    if isinstance(like, pd.Series):
        made = like._constructor(values, index=like.index, copy=False).__finalize__(like)
        return made.rename(name)
    if isinstance(like, pd.Index):
        return pd.Index(values, name=name)
    return values if isinstance(values, pd.api.extensions.ExtensionArray) else pd.array(values)


def _labels(labels: Codes, missing: Mask | None) -> Any:
    if labels.categories.dtype.kind not in "UT":
        return labels.objects(missing)
    codes = labels.codes if missing is None else np.where(missing, -1, labels.codes)
    return pd.Categorical.from_codes(codes, labels.categories)


def _values(array: Array, missing: Mask | None, backed: str) -> Any:
    kind = array.dtype.kind
    if kind == "c" and missing is not None:
        array[missing] = np.nan
    if kind not in "fibu" or (backed == "numpy" and missing is None):
        return array
    if backed.startswith("numpy") and kind == "f":
        if missing is not None:
            array[missing] = np.nan
        return array
    mask = np.zeros(len(array), np.bool_) if missing is None else missing.copy()
    if backed == "arrow":
        import pyarrow as pa

        return pd.arrays.ArrowExtensionArray(pa.array(array, mask=mask))
    return _MASKED[kind](array, mask)
