"""Arrow: arrays and chunked arrays in and out with their nulls; tables by the names of their columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyflat.runtime.containers import LibraryCall, tables
from pyflat.runtime.containers.columns import run
from pyflat.runtime.containers.gaps import GapColumn, Mask
from pyflat.runtime.labels import Codes


def call(call: LibraryCall) -> Any:
    """Arrays in, an array out; a chunked one, in the chunks of the first, where one of them is chunked."""
    given = call.arguments()
    for path, value in given.items():
        if isinstance(value, pa.Table | pa.RecordBatch):
            raise TypeError(f"argument {call.name(path)!r} is a pyarrow.{type(value).__name__}: call "
                            f"twin.by_name(table, {call.name(path)}='column'), which takes its columns as arguments")
    scalars = {path: value.as_py() for path, value in given.items() if isinstance(value, pa.Scalar)}
    arrays = {path: value for path, value in given.items() if path not in scalars}
    for path, value in scalars.items():
        if value is None:
            raise TypeError(f"argument {call.name(path)!r} is null: pass float('nan'), or a number")
    if not arrays:
        return call.run(scalars)
    columns = {path: _column(value) for path, value in arrays.items()}
    chunked = next((value for value in arrays.values() if isinstance(value, pa.ChunkedArray)), None)
    return run(call.with_arguments(scalars), columns, lambda array, missing: _wrapped(array, missing, chunked))


def plain(value: Any) -> Any:
    """The values of a column without gaps as an array; anything else as it is."""
    column = _column(value) if isinstance(value, pa.Array | pa.ChunkedArray) else None
    return value if column is None or column.has_gaps else column.values


def by_name(call: LibraryCall, table: Any) -> Any:
    """An array for one number, a table for several results."""
    if not isinstance(table, pa.Table | pa.RecordBatch):
        raise TypeError(f"by_name takes a table of named columns, not a pyarrow.{type(table).__name__}")
    return tables.result(call, table.schema.names, table.column, pa.table)


def _column(value: Any) -> GapColumn:
    """The values of an array, and where it has none."""
    whole = value.combine_chunks() if isinstance(value, pa.ChunkedArray) else value
    if isinstance(whole, pa.ChunkedArray):  # of several types of chunks, or of none
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], whole.type)
    if pa.types.is_dictionary(whole.type):
        whole = whole.dictionary_decode()
    missing = whole.is_null().to_numpy(zero_copy_only=False) if whole.null_count else None
    kind = whole.type
    if pa.types.is_null(kind):
        return GapColumn(np.zeros(len(whole)), missing)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        filled = whole if missing is None else pc.fill_null(whole, pa.scalar(0, pa.int8()).cast(kind))
        return GapColumn(filled.to_numpy(zero_copy_only=False), missing)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        items = np.empty(len(whole), object)
        items[:] = whole.to_pylist()
        return GapColumn(items, missing)
    return GapColumn(whole.to_numpy(zero_copy_only=False), missing)


def _wrapped(array: Any, missing: Mask | None, chunked: Any) -> Any:
    if isinstance(array, Codes):
        labels = array.objects(missing)
        if array.categories.dtype.kind not in "UT":
            return labels
        whole = pa.array(labels, pa.string())
    elif array.ndim != 1 or array.dtype.kind not in "fibu":
        return array
    else:
        whole = pa.array(array, mask=missing)
    if chunked is None:
        return whole
    starts = np.cumsum([0, *(len(chunk) for chunk in chunked.chunks)])
    chunks = [whole.slice(int(start), len(chunk)) for start, chunk in zip(starts, chunked.chunks, strict=False)]
    return pa.chunked_array(chunks, whole.type)
