"""Polars: Series in and out with their nulls, expressions, frames by the names of their columns.

An expression is one of Polars' own (`pyflat.targets.polars`, which says what a null and a type of a column come to).
With errors="raise" rows in which Python raises are looked at when it is evaluated, and raise; with "nan" they are null.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import polars as pl

from pyflat.runtime.containers import LibraryCall, tables
from pyflat.runtime.containers.columns import run
from pyflat.runtime.containers.gaps import GapColumn, Mask
from pyflat.runtime.labels import Codes
from pyflat.targets import polars as target

_FAULTS = {"raise": "mask", "nan": "null", "unchecked": "unchecked"}


def call(call: LibraryCall) -> Any:
    """Series in, Series out; with an expression among the arguments an expression."""
    given = call.arguments()
    for path, value in given.items():
        if isinstance(value, pl.DataFrame | pl.LazyFrame):
            raise TypeError(f"argument {call.name(path)!r} is a polars.{type(value).__name__}: call twin.by_name("
                            f"frame, {call.name(path)}='column'), which takes its columns as arguments")
    if any(isinstance(value, pl.Expr) for value in given.values()):
        return _expression(call)
    columns = {path: _column(value) for path, value in given.items()}
    name = next(iter(given.values())).name
    return run(call, columns, lambda array, missing: _series(array, missing, name))


def plain(value: Any) -> Any:
    """The values of a column without gaps as an array; anything else as it is."""
    column = _column(value) if isinstance(value, pl.Series) else None
    return value if column is None or column.has_gaps else column.values


def by_name(call: LibraryCall, table: Any) -> Any:
    """A Series for one number, a frame for several results; of a LazyFrame a LazyFrame."""
    if isinstance(table, pl.LazyFrame):
        columns = tables.chosen(call, table.collect_schema().names())
        found = tables.run(call, {name: pl.col(column) for name, column in columns.items()})
        names = table.select(found).collect_schema()
        return table.select(found).unnest(pl.selectors.struct()) if pl.Struct in names.dtypes() else table.select(found)
    if not isinstance(table, pl.DataFrame):
        raise TypeError(f"by_name takes a table of named columns, not a polars.{type(table).__name__}")
    return tables.result(call, table.columns, table.__getitem__, pl.DataFrame)


def _column(value: Any) -> GapColumn:
    """The values of a Series, and where it has none."""
    missing = value.is_null().to_numpy() if value.null_count() else None
    if value.dtype.is_float() or value.dtype.is_integer() or value.dtype == pl.Boolean:
        blank = False if value.dtype == pl.Boolean else 0
        return GapColumn((value if missing is None else value.fill_null(blank)).to_numpy(), missing)
    if isinstance(value.dtype, pl.String | pl.Categorical | pl.Enum):
        items = np.empty(len(value), object)
        items[:] = value.cast(pl.String).to_list()
        return GapColumn(items, missing)
    if value.dtype == pl.Null:
        return GapColumn(np.zeros(len(value)), np.ones(len(value), np.bool_))
    return GapColumn(value.to_numpy(), missing)


def _series(array: Any, missing: Mask | None, name: str) -> Any:
    if isinstance(array, Codes):
        textual = array.categories.dtype.kind in "UT"
        return pl.Series(name, array.objects(missing).tolist(), pl.String if textual else pl.Object)
    if array.ndim != 1:
        return array
    made = pl.Series(name, array)
    has_gaps = missing is not None and missing.any() and array.dtype.kind != "O"
    return made.set(pl.Series(missing), None) if has_gaps else made


def _expression(call: LibraryCall) -> Any:
    """The function as an expression, with the other arguments as constants."""
    errors = call.options.errors
    if errors == "mask":
        raise TypeError('errors="mask": an expression has no Faults; pyflat.targets.polars.expressions(f, '
                        'faults="mask") adds a column that marks the rows that raise')
    columns, constants = tables.numbers(call, pl.Expr)
    original = getattr(call.twin, "original", call.caller.callee.function)
    function = functools.partial(original, **constants) if constants else original
    found = target.expressions(function, faults=_FAULTS[errors], **columns)
    if errors == "raise":
        found = _checked(call, found, {name: value for name, value in columns.items() if isinstance(value, pl.Expr)})
    first = call.at(next(path for path in call.places if isinstance(call.at(path), pl.Expr)))
    name = first.meta.output_name(raise_if_undetermined=False)
    made = next(iter(found.values())) if len(found) == 1 else pl.struct(
        [value.alias(name.strip("[]")) for name, value in found.items()])
    return made if name is None else made.alias(name)


def _checked(call: LibraryCall, found: dict[str, pl.Expr], columns: dict[str, pl.Expr]) -> dict[str, pl.Expr]:
    """The results, for which the rows that may fail are run by the twin: it raises what Python raises."""
    suspect = found.pop("suspect")
    names = [f"p{k}" for k in range(len(columns))]
    rows = pl.struct([suspect.alias("suspect"), *(c.alias(n) for n, c in zip(names, columns.values(), strict=True))])

    def look(batch: Any) -> Any:
        fields = batch.struct.unnest()
        for row in fields.filter(pl.col("suspect")).iter_rows(named=True):
            values = dict(zip(columns, [row[name] for name in names], strict=True))
            call.run({path: values[call.name(path)] for path in call.places})
        return fields["suspect"]

    looked = rows.map_batches(look, return_dtype=pl.Boolean, is_elementwise=True)
    return {name: pl.when(looked).then(None).otherwise(value) for name, value in found.items()}

