"""astropy: columns of its tables in and out, masked ones with what they lack; tables by the names of their columns.

A column with a unit is a quantity (`units`): one without dimensions is its numbers, another is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from astropy.table import Column as TableColumn
from astropy.table import MaskedColumn, Table

from pyflat.runtime.containers import LibraryCall, tables
from pyflat.runtime.containers.columns import run
from pyflat.runtime.containers.gaps import GapColumn, Mask
from pyflat.runtime.labels import Codes


def call(call: LibraryCall) -> Any:
    """Columns of the results, with the name that all columns have."""
    given = call.arguments()
    for path, value in given.items():
        if isinstance(value, Table):
            raise TypeError(f"argument {call.name(path)!r} is an astropy.{type(value).__name__}: call twin.by_name("
                            f"table, {call.name(path)}='column'), which takes its columns as arguments")
    with_units = {path: value.quantity for path, value in given.items() if value.unit is not None}
    call = call.with_arguments(with_units)
    columns = {path: _column(call.name(path), given[path]) for path in call.places}
    if not columns:
        return call.run({})
    names = {given[path].name for path in columns}
    name = names.pop() if len(names) == 1 else None
    return run(call, columns, lambda array, missing: _wrapped(array, missing, name))


def by_name(call: LibraryCall, table: Any) -> Any:
    """A column for one number, a table for several results."""
    if not isinstance(table, Table):
        raise TypeError(f"by_name takes a table of named columns, not an astropy.{type(table).__name__}")
    return tables.result(call, table.colnames, table.__getitem__, type(table))


def _column(name: str, value: Any) -> GapColumn:
    """The values of a column, and where it has none."""
    missing = np.array(np.ma.getmaskarray(value)) if isinstance(value, MaskedColumn) else None
    if value.ndim != 1 and missing is not None and missing.any():
        raise ValueError(f"argument {name!r} is a column of arrays with missing items: pass its numbers, "
                         f"{name}.filled(nan)")
    return GapColumn(np.asarray(np.ma.getdata(value)), missing)


def _wrapped(array: Any, missing: Mask | None, name: str | None) -> Any:
    if isinstance(array, Codes):
        array = array.categories.take(array.codes)
    if missing is None or array.shape != missing.shape:
        return TableColumn(array, name=name)
    return MaskedColumn(array, name=name, mask=missing)
