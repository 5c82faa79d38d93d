"""pandas' `engine=`: `Series.map(fn, engine=pyflat.flatten)` and `frame.apply(fn, axis=1, engine=pyflat.flatten)`.

The scalars are those that pandas passes itself: `map` Python's, a row those that `row["name"]` gives, NumPy's float64
or int64 where all columns are numbers, ints among floats as floats. A function of a row becomes one of its columns,

    def fee_by_row(price, member): return fee(Row(price, member))

with a class `Row` written out for these columns, so that rows are read by name only. Dates and spans are lanes of ints
in their unit, of which a row makes `timestamp(start, "ns")`: pandas' own where the original runs, and what is flattened
in its place (`pyflat.functions.moments`).
"""

from __future__ import annotations

import functools
import linecache
import re
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from keyword import iskeyword
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_object_dtype, is_string_dtype

from pyflat.errors import FlattenError
from pyflat.frontend.callables import unwrap
from pyflat.functions.moments import timedelta, timestamp
from pyflat.ir.shape import make_record, record_of
from pyflat.runtime.containers import LibraryCall, pandas
from pyflat.runtime.decorator import twin

_SCALARS = {"float64": "np.float64", "int64": "np.int64", "bool": "np.bool_"}
_MOMENTS = {"M": "timestamp", "m": "timedelta"}
_NAME = ("name of the row",)
"""What stands for the label of a row among the labels of columns."""
_ALL: set[tuple[CodeType, tuple[Hashable, ...]]] = set()
"""Functions that read columns that they do not name, and the labels."""
_NOT_HERE = "id"
"""What a row calls for a column that is left out: no function of lanes, so that reading one is refused."""


def map(data: Any, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], decorator: Any, skip_na: bool) -> Any:
    """`Series.map(func, engine=...)`."""
    made = _twin(func, decorator)
    if not isinstance(data, pd.Series):
        raise TypeError(f"engine=pyflat.flatten maps a Series, not a {type(data).__name__}")
    if _is_moment(data) and not (skip_na and data.hasnans):
        return apply(data.to_frame("item"), _of_item(func), args, kwargs, decorator, 1).rename(data.name)
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
        raise TypeError("engine=pyflat.flatten needs axis=1: it runs functions of a row, not of a whole column; for a "
                        "function of one number, write frame[name].map(f, engine=pyflat.flatten)")
    frame = pd.DataFrame(data) if isinstance(data, np.ndarray) else data
    if frame.empty:  # pandas calls no function, or with an empty row
        return pd.DataFrame(data).apply(func, axis=1, raw=isinstance(data, np.ndarray), args=args, **kwargs)
    code = unwrap(func).function.__code__
    named = frame.columns if (code, tuple(frame.columns)) in _ALL else _named(code)
    made = _filled(_of_rows(frame, func, args, kwargs, decorator, named), frame.index, None)
    return made.to_numpy() if isinstance(data, np.ndarray) else made


@functools.lru_cache(maxsize=32)
def _of_item(func: Callable[..., Any]) -> Callable[..., Any]:
    """A function of an item as one of a row that has only this."""
    def by_item(row: Any, *args: Any, **kwargs: Any) -> Any:
        return func(row["item"], *args, **kwargs)

    return by_item


def _of_rows(frame: Any, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], decorator: Any,
             named: Collection[Hashable]) -> Any:
    """The results of a function that reads these columns, with the dtypes that pandas makes of them. Where it reads
    others, it is taken to read all."""
    said = named if named is not frame.columns else _named(unwrap(func).function.__code__)
    columns, others = _columns(frame, named, said)
    kinds = tuple(_kind(label, column) for label, column in columns.items())
    function, *asked = _by_row(func, tuple(columns), kinds, tuple(others), _scalar(frame))
    made = _twin(function, decorator, none="object")
    given = [_lanes(column) for column in columns.values()]
    kinds_of_results, numpy = (functools.partial(_asked, each, decorator, (*given, *args), kwargs) for each in asked)
    try:
        found = made(*given, *args, **kwargs)
        if made.options.errors != "raise" or isinstance(found, tuple) and type(found[-1]).__name__ == "Faults":
            return found
        try:
            return _exact(found, kinds_of_results, numpy)
        except (FlattenError, _UndecidedError):
            rows = zip(*[column.tolist() for column in given], strict=True)
            return pd.Series([function(*row, *args, **kwargs) for row in rows], frame.index)
    except FlattenError as refusal:
        left_out = f"builtins.{_NOT_HERE} " in refusal.diagnostic.message
        if left_out and named is not frame.columns:
            _ALL.add((unwrap(func).function.__code__, tuple(frame.columns)))
            return _of_rows(frame, func, args, kwargs, decorator, frame.columns)
        missing = re.search("no path returns: 'Row' object has no attribute '(.*?)'", refusal.diagnostic.message)
        if missing is not None and not hasattr(pd.Series, missing[1]):
            raise AttributeError(f"'Series' object has no attribute {missing[1]!r}") from refusal
        several = next((label for label in said if label in others and frame.columns.tolist().count(label) > 1), None)
        if left_out and several is not None:
            raise TypeError(f"engine=pyflat.flatten: several columns are named {several!r}, so that a row returns a "
                            f"Series for them: rename them") from refusal
        if left_out or "'Row' object" in refusal.diagnostic.message:
            refusal.add_note("rows are read by the names of their columns, row['name'] or row.name; columns may "
                             "have numbers, strings, dates and timedeltas")
        raise


def _asked(function: Callable[..., Any], decorator: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    return _twin(function, decorator)(*args, **kwargs)


def _exact(found: Any, kinds: Callable[[], Any], numpy: Callable[[], Any]) -> Any:
    """Results with the dtypes that pandas makes of the values: where they are of several classes, or stay objects, with
    the class that each has."""
    if isinstance(found, pd.Series):
        numbers = getattr(found.dtype, "numpy_dtype", found.dtype)
        if not found.hasnans and isinstance(numbers, np.dtype) and numbers.kind in "biuf":
            found = found.astype(numbers)
        if isinstance(found.dtype, np.dtype) and found.dtype.kind in "biufc":
            widest = {"i": 1, "u": 1, "f": 2}.get(found.dtype.kind, 0)
            each = np.broadcast_to(kinds() if widest else 0, len(found))
            if not widest or (each == widest).any() and (each > 0).all() and (each <= widest).all():
                return found  # ints among floats become floats in pandas, too
            return pd.Series(_of_kinds(found.tolist(), each.tolist()), found.index)
        if isinstance(found.dtype, pd.CategoricalDtype) and not found.hasnans:
            return found
        values = found.tolist()
        if not any(issubclass(cls, int | float) for cls in {type(value) for value in values}):
            return pd.Series(values, found.index)
    elif record_of(found) is None:
        return found
    made = _classed(found, kinds(), numpy())
    return pd.Series(made.tolist(), found.index) if isinstance(made, np.ndarray) else made


def _classed(found: Any, kinds: Any, numpy: Any) -> Any:
    if (record := record_of(found)) is not None:
        cls, names, items = record
        if not isinstance(kinds, tuple) or not isinstance(numpy, tuple):
            raise _UndecidedError
        return make_record(cls, names, [_classed(*row) for row in zip(items, kinds, numpy, strict=True)])
    if not isinstance(found, pd.Series):
        return np.asarray(found)[()] if numpy is True else found
    values = found.tolist()
    if isinstance(kinds, pd.Series):
        values = _of_kinds(values, kinds.tolist())
    flags = numpy.tolist() if isinstance(numpy, pd.Series) else [numpy] * len(values)
    made = np.empty(len(values), object)
    made[:] = [np.asarray(value)[()] if flag is True and isinstance(value, int | float) else value
               for value, flag in zip(values, flags, strict=True)]
    return made


def _of_kinds(values: list[Any], kinds: list[int]) -> list[Any]:
    """Numbers that lanes hold as those of the widest class, each of its own."""
    if any(kind == 1 and abs(value) >= 2**53 or kind == 3 and isinstance(value, int | float)
           for value, kind in zip(values, kinds, strict=True)):
        raise _UndecidedError
    return [_CLASSES[kind](value) for value, kind in zip(values, kinds, strict=True)]


_CLASSES: tuple[Callable[[Any], Any], ...] = (bool, int, float, lambda value: value)


class _UndecidedError(Exception):
    """What a lane holds as a float is not known: an int, or nothing."""


def kinds_of(value: Any) -> Any:
    """The number in `_CLASSES` of the class of a result; of several results as many. Flattened with the function."""
    if isinstance(value, (tuple, list)):
        return tuple([_kind_of(item) for item in value])
    return _kind_of(value)


def _kind_of(value: Any) -> Any:
    if isinstance(value, (bool, np.bool_)):
        return 0
    if isinstance(value, (int, np.integer)):
        return 1
    if isinstance(value, (tuple, list, dict)):
        return id(value)
    return 2 if isinstance(value, (float, np.floating)) else 3


def numpy_of(value: Any) -> Any:
    """Whether a result is a scalar of NumPy's; of several results as many answers. Flattened with the function."""
    if isinstance(value, (tuple, list)):
        return tuple([isinstance(item, np.generic) for item in value])
    return isinstance(value, np.generic)


def not_an_array(value: Any) -> Any:
    """The result of a row. TypeError for an array, also for one without axes, which pandas keeps as an object."""
    if isinstance(value, np.ndarray):
        raise TypeError("engine=pyflat.flatten: the function of a row returns a NumPy array: return a number, a "
                        "string or a tuple")
    return value


def _twin(func: Any, decorator: Any, **defaults: Any) -> Any:
    """The twin with the options of the decorator, and others where it has none."""
    if isinstance(func, str | np.ufunc):
        raise TypeError(f"engine=pyflat.flatten runs a Python function, not {func!r}")
    options = defaults | dict(decorator.args[0]) if isinstance(decorator, functools.partial) else defaults
    try:
        return _kept_twin(func, tuple(options.items()))
    except TypeError:  # an option that is not hashable, or wrong
        return twin(func, **options)


@functools.lru_cache(maxsize=96)
def _kept_twin(func: Any, options: tuple[tuple[str, Any], ...]) -> Any:
    return twin(func, **dict(options))


def _filled(found: Any, index: Any, name: Hashable) -> Any:
    """What the rows give as one Series: of records where there are several results, as pandas makes it."""
    if isinstance(found, tuple) and len(found) == 2 and type(found[1]).__name__ == "Faults":
        raise TypeError('errors="mask" returns two results, but engine= takes one: use "nan", or call twin.faults')
    if isinstance(found, pd.Series):
        strings = isinstance(found.dtype, pd.CategoricalDtype)  # pandas itself makes no categories of them
        return (found.astype(found.cat.categories.dtype) if strings else found).rename(name)
    if record_of(found) is None or not index.size:
        return pd.Series([found] * len(index), index, name=name)
    return pd.Series(list(_records(found, len(index))), index, name=name, dtype=object)


def _records(found: Any, count: int) -> Iterator[Any]:
    if isinstance(found, pd.Series | np.ndarray) or (record := record_of(found)) is None:
        yield from found.tolist() if isinstance(found, pd.Series | np.ndarray) else [found] * count
        return
    cls, names, items = record
    for row in zip(*(_records(item, count) for item in items), strict=True):
        yield make_record(cls, names, row)


def _columns(frame: Any, named: Collection[Hashable], said: Collection[Hashable]
             ) -> tuple[dict[Hashable, Any], list[Hashable]]:
    """The columns that a row is made of, with the upcasts of pandas, and the labels of those that are left out: what
    is not named, and is no number or string, or has missing values, for which the original would run; what lanes do not
    hold, where the function does not have its name in its text (`said`)."""
    common = frame.iloc[0].dtype
    columns: dict[Hashable, Any] = {}
    others = []
    for label in dict.fromkeys(frame.columns):
        if _is_label(label) and isinstance(column := frame[label], pd.Series):
            if not is_object_dtype(common) and column.dtype != common:
                column = column.astype(common)
            if named is frame.columns and label not in said and not _has_lanes(column):
                others.append(label)
                continue
            if label in named or (column.dtype.kind in "biuf" and not (_is_nullable(column) and column.hasnans)):
                columns[label] = column
                continue
        others.append(label)
    if isinstance(frame.columns, pd.MultiIndex):  # a part of a label gives a Series
        others += [label for label in frame.columns.levels[0] if label not in columns]
    if "name" in said and not isinstance(frame.index, pd.MultiIndex) and _has_lanes(name := frame.index.to_series()):
        columns[_NAME] = name
    return columns, others


def _kind(label: Hashable, column: Any) -> str:
    """How a row makes an item of a lane: "" for the lane itself, or the unit and kind of dates. TypeError for what
    lanes do not hold."""
    if _has_lanes(column):
        return column.dtype.kind + np.datetime_data(column.dtype)[0] if _is_moment(column) else ""
    shown = "the index" if label is _NAME else f"column {label!r}"
    raise TypeError(f"engine=pyflat.flatten: {shown} has dtype {column.dtype}, and rows have numbers, strings, and "
                    "dates of the years 1 to 9999 with no time zone, and spans: make it one of these, or drop it")


def _is_moment(column: Any) -> bool:
    return isinstance(column.dtype, np.dtype) and column.dtype.kind in _MOMENTS


def _has_lanes(column: Any) -> bool:
    """Whether rows have items of it."""
    dtype = column.dtype
    if isinstance(dtype, _OTHERS):
        return False
    if not _is_moment(column):
        return dtype.kind in "biufSU" or is_object_dtype(dtype) or is_string_dtype(dtype) or isinstance(
            dtype, pd.CategoricalDtype) and dtype.categories.dtype.kind in "biufO"
    unit, count = np.datetime_data(dtype)
    limits = column.agg(["min", "max"]).dropna() if dtype.kind == "M" and unit != "ns" else []
    return count == 1 and all(1 <= np.datetime64(limit, "Y").astype(int) + 1970 <= 9999 for limit in limits)


_OTHERS = (pd.PeriodDtype, pd.IntervalDtype, pd.SparseDtype, pd.DatetimeTZDtype)


def _lanes(column: Any) -> Any:
    """The column as an argument: dates as ints with NA, categories as what they are of."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype) and not is_string_dtype(dtype.categories.dtype):
        return column.astype(object)
    if not _is_moment(column):
        return column
    ticks, missing = column.to_numpy().view(np.int64), column.isna().to_numpy()
    return pd.Series(pd.arrays.IntegerArray(ticks, missing) if missing.any() else ticks, column.index)


def _is_label(value: object) -> bool:
    """Whether it is one that source can name."""
    return isinstance(value, str | int) or type(value) is tuple and all(_is_label(part) for part in value)


def _is_nullable(column: Any) -> bool:
    """Whether what is missing there is no number."""
    return not (isinstance(column.dtype, np.dtype) and column.dtype.kind == "f")


def _named(code: CodeType) -> frozenset[Hashable]:
    return frozenset(_names(code))


def _names(code: CodeType) -> Iterator[Any]:
    """The names and constants of a function, and of those in it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
        elif _is_label(constant):
            yield constant
        if isinstance(constant, tuple | frozenset):
            yield from filter(_is_label, constant)


def _scalar(frame: Any) -> str:
    """What makes the items of a row of lanes; "" for Python's own. TypeError for rows of NumPy's other numbers."""
    dtype = frame.iloc[0].dtype
    known = (pd.ArrowDtype, pd.CategoricalDtype, *_OTHERS)
    if is_object_dtype(dtype) or is_string_dtype(dtype) or isinstance(dtype, known) or dtype.kind in _MOMENTS:
        return ""
    name = getattr(dtype, "numpy_dtype", dtype).name
    if name not in _SCALARS:
        shown = ", ".join([repr(label) for label in frame.columns[:9]])
        raise TypeError(f"engine=pyflat.flatten: the rows hold NumPy's {name} numbers ({shown}), which compute in "
                        f"their own way: convert them, as with frame.astype(float), or call twin.by_name(frame)")
    return _SCALARS[name]


@functools.lru_cache(maxsize=32)
def _by_row(func: Callable[..., Any], labels: tuple[Hashable, ...], kinds: tuple[str, ...],
            others: tuple[Hashable, ...], scalar: str) -> list[FunctionType]:
    """The function of the columns, whose text the twin is made of, and those of the classes of its results."""
    name = getattr(func, "__name__", "row")
    name = f"{name}_by_row" if name.isidentifier() else "by_row"
    fields = [str(label) if _is_field(label, name) else f"column_{k}" for k, label in enumerate(labels)]
    items = {label: _item(f"self.{field}_", kind, "" if label is _NAME else scalar)
             for label, field, kind in zip(labels, fields, kinds, strict=True)}
    items.update({label: f"{_NOT_HERE}({label!r})" for label in others if _is_label(label)})
    its_name = items.pop(_NAME, "")
    lines = ["@dataclass", "class Row:", *(f"    {field}_: object" for field in fields),
             "    def __contains__(self, name):", f"        return name in {tuple(items)!r}"]
    for start, end in (("__getitem__(self, name)", "raise KeyError(name)"),
                       ("get(self, name, default=None)", "return default")):
        lines += [f"    def {start}:"]
        for label, item in items.items():
            lines += [f"        if name == {label!r}:", f"            return {item}"]
        lines += ["        if not isinstance(name, (str, int)):", f"            return {_NOT_HERE}(name)",
                  f"        {end}"]
    lines += ["    @property", "    def name(self):", f"        return {its_name}"] if its_name else []
    for label, item in items.items():
        if _is_field(label, name):
            lines += ["    @property", f"    def {label}(self):", f"        return {item}"]
    given, row = "".join(f"{field}, " for field in fields), f"func(Row({', '.join(fields)}), *args, **kwargs)"
    lines += [f"def {name}({given}*args, **kwargs):", f"    return not_an_array({row})",
              f"def kinds_of_{name}({given}*args, **kwargs):", f"    return kinds_of({row})",
              f"def numpy_of_{name}({given}*args, **kwargs):", f"    return numpy_of({row})", ""]
    text = "\n".join(lines)
    place = f"<rows of {name} {abs(hash((id(func), labels, kinds, others, scalar)))}>"
    linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
    space: dict[str, Any] = {"np": np, "pd": pd, "func": func, "timestamp": timestamp, "timedelta": timedelta,
                             "kinds_of": kinds_of, "numpy_of": numpy_of, "not_an_array": not_an_array,
                             "__name__": __name__}
    exec(compile("from dataclasses import dataclass\n", place, "exec"), space)
    exec(compile(text, place, "exec"), space)
    return [space[name], space[f"kinds_of_{name}"], space[f"numpy_of_{name}"]]


def _item(lane: str, kind: str, scalar: str) -> str:
    """What a row gives for a lane."""
    if kind:
        return f"pd.NaT if {lane} is pd.NA else {_MOMENTS[kind[0]]}({lane}, {kind[1:]!r})"
    return f"{lane} if {lane} is pd.NA else {scalar}({lane})" if scalar else lane


def _is_field(label: Hashable, name: str) -> bool:
    taken = ("self", "name", "get", "np", "pd", "timestamp", "timedelta", "func", "args", "kwargs", "Row", name)
    return isinstance(label, str) and label.isidentifier() and not iskeyword(label) and label not in taken and (
        not label.startswith("_") and not label.endswith("_"))
