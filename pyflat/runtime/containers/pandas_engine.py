"""pandas' `engine=`: `Series.map(fn, engine=pyflat.flatten)` and `frame.apply(fn, axis=1, engine=pyflat.flatten)`.

The scalars are those that pandas passes itself: `map` Python's, a row those that `row["name"]` gives, NumPy's float64
or int64 where all columns are numbers, ints among floats as floats. A function of a row becomes one of its columns,

    def fee_by_row(price, member): return fee(Row(price, member))

with a class `Row` written out for these columns, so that rows are read by name only.
"""

from __future__ import annotations

import functools
import linecache
from collections.abc import Callable, Container, Hashable, Iterator, Mapping
from keyword import iskeyword
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_object_dtype, is_string_dtype

from pyflat.errors import FlattenError
from pyflat.frontend.callables import unwrap
from pyflat.ir.shape import make_record, record_of
from pyflat.runtime.containers import LibraryCall, pandas
from pyflat.runtime.decorator import twin

_SCALARS = {"float64": "np.float64", "int64": "np.int64"}
_NOT_HERE = "id"
"""What a row calls for a column that is left out: no function of lanes, so that reading one is refused."""
_MANY = 64
"""Columns of strings that the function does not name are left out of rows beyond so many different values."""


def map(data: Any, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], decorator: Any, skip_na: bool) -> Any:
    """`Series.map(func, engine=...)`."""
    made = _twin(func, decorator)
    if not isinstance(data, pd.Series):
        raise TypeError(f"engine=pyflat.flatten maps a Series, not a {type(data).__name__}")
    if not (skip_na and data.hasnans):
        return _filled(made(data, *args, **kwargs), data.index, data.name)
    given = data
    if isinstance(data.dtype, np.dtype) and data.dtype.kind == "f":
        given = pd.Series(pd.arrays.FloatingArray(data.to_numpy(np.float64), data.isna().to_numpy()), data.index)
    call = LibraryCall(made._caller, (given, *args), dict(kwargs), made.options, made, None, None, ((0,),))
    found = _filled(pandas.call(call, skip_na=True), data.index, data.name)
    numbers = None if given is data else found.to_numpy(np.float64, na_value=np.nan)
    return found if numbers is None else pd.Series(numbers, data.index, name=data.name)


def apply(data: Any, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], decorator: Any, axis: Any) -> Any:
    """`frame.apply(func, axis=1, engine=...)`; with raw=True `data` is an array."""
    if axis not in (1, "columns"):
        raise TypeError("engine=pyflat.flatten runs functions of rows, axis=1: a function of a whole column is no "
                        "function of numbers; for each number write frame[name].map(f, engine=pyflat.flatten)")
    frame = pd.DataFrame(data) if isinstance(data, np.ndarray) else data
    if frame.empty:  # pandas calls no function, or with an empty row
        return pd.DataFrame(data).apply(func, axis=1, raw=isinstance(data, np.ndarray), args=args, **kwargs)
    made = _filled(_of_rows(frame, func, args, kwargs, decorator, _named(func)), frame.index, None)
    return made.to_numpy() if isinstance(data, np.ndarray) else made


def _of_rows(frame: Any, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], decorator: Any,
             named: Container[Hashable]) -> Any:
    """The results of a function that reads these columns, with the dtypes that pandas makes of them. Where it reads
    others, it is taken to read all."""
    columns, others = _columns(frame, named)
    made = _twin(_by_row(func, tuple(columns), tuple(others), _scalar(frame)), decorator, none="object")
    try:
        return _as_pandas(made(*columns.values(), *args, **kwargs), made.options.errors)
    except FlattenError as refusal:
        left_out = f"builtins.{_NOT_HERE} " in refusal.diagnostic.message
        if left_out and named is not frame.columns:
            return _of_rows(frame, func, args, kwargs, decorator, frame.columns)
        if left_out or "'Row' object" in refusal.diagnostic.message:
            refusal.add_note("rows are read by the names of their columns: row['name'] or row.name")
        raise


def _as_pandas(found: Any, errors: str) -> Any:
    """Results with the dtypes that pandas makes of the values; with errors="nan", which it has not, as they are."""
    if isinstance(found, pd.Series) and not (isinstance(found.dtype, np.dtype) and found.dtype.kind in "biufc"):
        return found if errors == "nan" else pd.Series(found.tolist(), found.index)
    return found


def _twin(func: Any, decorator: Any, **defaults: Any) -> Any:
    """The twin with the options of the decorator, and others where it has none."""
    if isinstance(func, str | np.ufunc):
        raise TypeError(f"engine=pyflat.flatten runs a Python function, not {func!r}")
    options = defaults | dict(decorator.args[0]) if isinstance(decorator, functools.partial) else defaults
    return twin(func, **options)


def _filled(found: Any, index: Any, name: Hashable) -> Any:
    """What the rows give as one Series: of records where there are several results, as pandas makes it."""
    if isinstance(found, tuple) and len(found) == 2 and type(found[1]).__name__ == "Faults":
        raise TypeError('errors="mask" gives two results, and engine= has one: choose "nan", or call twin.faults')
    if isinstance(found, pd.Series):
        strings = isinstance(found.dtype, pd.CategoricalDtype)  # pandas itself makes no categories of them
        return (found.astype(found.cat.categories.dtype) if strings else found).rename(name)
    if record_of(found) is None or not index.size:
        return pd.Series([found] * len(index), index, name=name)
    return pd.Series(list(_records(found, len(index))), index, name=name, dtype=object)


def _records(found: Any, count: int) -> Iterator[Any]:
    record = record_of(found)
    if record is None:
        yield from found.tolist() if isinstance(found, pd.Series) else [found] * count
        return
    cls, names, items = record
    for row in zip(*(_records(item, count) for item in items), strict=True):
        yield make_record(cls, names, row)


def _columns(frame: Any, named: Container[Hashable]) -> tuple[dict[Hashable, Any], list[Hashable]]:
    """The columns that a row is made of, with the upcasts of pandas, and the labels of those that are left out: what
    is not named, and is no number or string, or has missing values, for which the original would run."""
    common = frame.iloc[0].dtype
    columns: dict[Hashable, Any] = {}
    others = []
    for label in dict.fromkeys(frame.columns):
        if _is_label(label) and isinstance(column := frame[label], pd.Series):
            if not is_object_dtype(common) and column.dtype != common:
                column = column.astype(common)
            plain = column.dtype.kind in "biuf" or _is_text(column)
            if label in named or (plain and not (_is_nullable(column) and column.hasnans)):
                columns[label] = column
                continue
        others.append(label)
    if isinstance(frame.columns, pd.MultiIndex):  # a part of a label gives a Series
        others += [label for label in frame.columns.levels[0] if label not in columns]
    return columns, others


def _is_label(value: object) -> bool:
    """Whether it is one that source can name."""
    return isinstance(value, str | int) or type(value) is tuple and all(_is_label(part) for part in value)


def _is_nullable(column: Any) -> bool:
    """Whether what is missing there is no number."""
    return not (isinstance(column.dtype, np.dtype) and column.dtype.kind == "f")


def _is_text(column: Any) -> bool:
    return bool(is_string_dtype(column) and column.nunique() <= _MANY)


def _named(func: Any) -> frozenset[Hashable]:
    return frozenset(_names(unwrap(func).function.__code__))


def _names(code: CodeType) -> Iterator[Any]:
    """The names and constants of a function, and of those in it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
        elif _is_label(constant):
            yield constant


def _scalar(frame: Any) -> str:
    """What makes the items of a row of lanes; "" for Python's own. TypeError for rows of NumPy's other numbers."""
    dtype = frame.iloc[0].dtype
    if is_object_dtype(dtype) or is_string_dtype(dtype) or isinstance(dtype, pd.ArrowDtype):
        return ""
    name = getattr(dtype, "numpy_dtype", dtype).name
    if name not in _SCALARS:
        raise TypeError(f"engine=pyflat.flatten: the rows hold NumPy's {name} numbers, which compute in their own way: "
                        f"make them others, as by frame.astype(float), or call twin.by_name(frame)")
    return _SCALARS[name]


@functools.lru_cache(maxsize=32)
def _by_row(func: Callable[..., Any], labels: tuple[Hashable, ...], others: tuple[Hashable, ...], scalar: str
            ) -> FunctionType:
    """The function of the columns, whose text the twin is made of."""
    name = getattr(func, "__name__", "row")
    name = f"{name}_by_row" if name.isidentifier() else "by_row"
    fields = [str(label) if _is_field(label, name) else f"column_{k}" for k, label in enumerate(labels)]
    read = f"self.{{0}} if self.{{0}} is pd.NA else {scalar}(self.{{0}})" if scalar else "self.{0}"
    items = {label: read.format(f"{field}_") for label, field in zip(labels, fields, strict=True)}
    items.update({label: f"{_NOT_HERE}({label!r})" for label in others if _is_label(label)})
    lines = ["@dataclass", "class Row:", *(f"    {field}_: object" for field in fields),
             "    def __getitem__(self, name):"]
    for label, item in items.items():
        lines += [f"        if name == {label!r}:", f"            return {item}"]
    lines += ["        if not isinstance(name, (str, int)):", f"            return {_NOT_HERE}(name)",
              "        raise KeyError(name)"]
    for label, item in items.items():
        if _is_field(label, name):
            lines += ["    @property", f"    def {label}(self):", f"        return {item}"]
    lines += [f"def {name}({''.join(f'{field}, ' for field in fields)}*args, **kwargs):",
              f"    return func(Row({', '.join(fields)}), *args, **kwargs)", ""]
    text = "\n".join(lines)
    place = f"<rows of {name} {abs(hash((id(func), labels, others, scalar)))}>"
    linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
    space: dict[str, Any] = {"np": np, "pd": pd, "func": func, "__name__": __name__}
    exec(compile("from dataclasses import dataclass\n", place, "exec"), space)
    exec(compile(text, place, "exec"), space)
    made: FunctionType = space[name]
    return made


def _is_field(label: Hashable, name: str) -> bool:
    taken = ("self", "name", "np", "pd", "func", "args", "kwargs", "Row", name)
    return isinstance(label, str) and label.isidentifier() and not iskeyword(label) and label not in taken and (
        not label.startswith("_") and not label.endswith("_"))
