"""Lanes in which an argument is missing, and pandas calls a function all the same: the original runs there.

It gets what stands in the column (NA, None, nan, NaT), and Python's numbers beside it. Many lanes in which the same
arguments are missing run a twin in which these are known, where there is one and no lane fails. What is returned is put
among the results of the other lanes: NA and None are missing, and where results of their dtype cannot hold a value, all
are objects.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyflat.errors import FlattenError
from pyflat.functions import ways
from pyflat.ir.shape import Fixed, Labels, Leaf, Path, make_record, record_of
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.runtime.arrays import Array
from pyflat.runtime.containers import LibraryCall
from pyflat.runtime.faults import Failure, LaneError, Part, Source, cause_of
from pyflat.runtime.labels import Codes
from pyflat.runtime.replay import fit

Mask = npt.NDArray[np.bool_]
_NAN = np.nan
"""The one that stands in columns of strings."""
_MISSING = ("NAType", "NoneType", "NaTType", "nan")
_MANY = 256
"""Lanes that are worth a twin of their own."""
_EXACT = {"b1": "bool", "i8": "int", "f8": "float"}
_KINDS = {"b": BOOL, "i": INT, "f": FLOAT}


@dataclass(frozen=True, slots=True)
class GapColumn:
    """One argument: its values, and the lanes that have none (None: all have one)."""

    values: Array
    missing: Mask | None = None
    objects: Array | None = None
    """What the original gets in the lanes that have none; None where it does not run there."""

    def item(self, lane: int) -> Any:
        """What the original gets in a lane."""
        has_value = self.objects is None or self.missing is None or not self.missing[lane]
        value = (self.values if has_value else self.objects)[lane]  # type: ignore[index]
        return value.item() if isinstance(value, np.generic) else value

    @property
    def has_gaps(self) -> bool:
        return self.missing is not None and bool(self.missing.any())


@dataclass(frozen=True, slots=True)
class Gaps:
    """What the original has returned in lanes in which an argument is missing, and the lanes in which it raised."""

    lanes: list[int]
    returned: list[Any]
    failures: list[Failure]
    columns: str
    """The arguments with missing values, as messages call them."""
    none: str
    """The option: what stands for None among numbers."""

    def first_exception(self) -> Exception:
        """The exception of the first lane that raised."""
        error = self.failures[0].exception()
        error.add_note(f'missing values in {self.columns}: errors="nan" or "mask" keeps the rest')
        return error


def run_originals(call: LibraryCall, columns: Mapping[Path, GapColumn], missing: Mask) -> Gaps:
    """Run these lanes in order. Where a failure is raised, it is the last lane."""
    named = ", ".join(repr(call.name(path)) for path, column in columns.items() if column.has_gaps)
    gaps = Gaps([], [], [], named, call.options.none)
    source, arguments = _source(call), _arguments(call, columns, len(missing))
    keeps = call.options.errors in ("mask", "nan")
    rest = missing.copy()
    for lanes, absent in _alike(columns, missing):
        found = _by_twin(call, columns, lanes, absent)
        if found is not None:
            rest[lanes] = False
            gaps.lanes.extend(lanes.tolist())
            gaps.returned.extend(found)
    computed = len(gaps.lanes)
    for lane in np.flatnonzero(rest).tolist():
        row = (arguments(lane),)
        try:
            gaps.returned.append(source.run(row))
            gaps.lanes.append(lane)
        except Exception as error:  # noqa: BLE001 - whatever the original raises belongs to its caller
            gaps.failures.append(Failure(lane, cause_of(error, call.caller.callee.function), row, source))
            if not keeps:
                break
    failed = len(gaps.failures)
    call.caller.count_replayed(len(missing), len(gaps.lanes) - computed + failed, failed if keeps else 0)
    return gaps


def _alike(columns: Mapping[Path, GapColumn], missing: Mask) -> Iterator[tuple[Array, dict[Path, Any]]]:
    """Lanes in which the same arguments are missing, and what stands there, for what are many of them."""
    lanes = np.flatnonzero(missing)
    if not ways.GAPS.first(len(lanes) >= _MANY):
        return
    pattern = np.zeros(len(lanes), np.int64)
    for column in columns.values():
        pattern *= len(_MISSING) + 2
        if column.missing is not None and column.objects is not None:
            pattern += np.where(column.missing[lanes], _kinds(column.objects, column.missing, lanes), 0)
    for each in np.unique(pattern):
        chosen = lanes[pattern == each]
        absent = {path: column.objects[chosen[0]] for path, column in columns.items()
                  if column.objects is not None and column.missing is not None and column.missing[chosen[0]]}
        known = all(_kind(value) <= len(_MISSING) for value in absent.values())
        if ways.GAPS.first(len(chosen) >= _MANY) and known:
            yield chosen, absent


def _kinds(objects: Array, missing: Mask, lanes: Array) -> Any:
    """Which of several things stands where there is no value."""
    present = objects[lanes[missing[lanes]]]
    first = present[0] if len(present) else None
    if all(value is first for value in present):  # most columns have one
        return _kind(first)
    return list(map(_kind, objects[lanes]))


def _kind(value: object) -> int:
    name = "nan" if value is _NAN else type(value).__name__
    return 1 + (_MISSING.index(name) if name in _MISSING else len(_MISSING))


def _by_twin(call: LibraryCall, columns: Mapping[Path, GapColumn], lanes: Array, absent: Mapping[Path, Any]
             ) -> list[Any] | None:
    """What the function returns in lanes in which these arguments are missing; None where lanes fail, or nothing
    computes it."""
    if any(len(path) > 1 for path in absent):
        return None
    count = len(next(iter(columns.values())).values)
    whole = {**call.arrays(), **{path: column.values for path, column in columns.items()}}
    given = {path: array[lanes] if len(array) == count else array for path, array in whole.items()} | dict(absent)
    chosen = np.zeros(count, np.bool_)
    chosen[lanes] = True
    static = (*call.options.static, *(call.name(path) for path in absent))
    made = replace(call, twin=None, options=replace(call.options, static=static))
    try:
        found, faults = made.run(given, part=Part.selected(chosen), errors="mask", none="object",
                                 results="labels")
    except (FlattenError, LaneError, TypeError, ValueError):
        return None
    return None if faults else _rows(found, len(lanes))


def _rows(found: Any, count: int) -> list[Any] | None:
    """The results of a call lane by lane."""
    if isinstance(found, np.ndarray):
        return found.tolist() if found.ndim == 1 else None
    if (record := record_of(found)) is None:
        return [found] * count
    cls, names, items = record
    columns = [_rows(item, count) for item in items]
    if None in columns:
        return None
    return [make_record(cls, names, row) for row in zip(*columns, strict=True)]


def _source(call: LibraryCall) -> Source:
    """How a lane runs; its row is the arguments by name."""
    function, signature = call.caller.callee.original, call.caller.parameters.signature

    def run(row: tuple[Any, ...]) -> Any:
        bound = inspect.BoundArguments(signature, row[0])
        return function(*bound.args, **bound.kwargs)

    return Source(run, lambda row: dict(row[0]), lambda row: ", ".join(f"{k}={v!r}" for k, v in row[0].items()))


def _arguments(call: LibraryCall, columns: Mapping[Path, GapColumn], count: int) -> Callable[[int], dict[str, Any]]:
    """A function from a lane to the arguments of the original, by name."""
    arrays = {path: array.reshape(-1) for path, array in call.arrays().items()}
    numbers = {path: value.item() for path, value in call.passed().items()
               if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.ndim)}

    def arguments(lane: int) -> dict[str, Any]:
        given = {path: _plain(array[lane if len(array) == count else 0]) for path, array in arrays.items()}
        given.update((path, column.item(lane)) for path, column in columns.items())
        made = call.with_arguments({**numbers, **given})
        return dict(call.caller.parameters.bind(made.args, made.kwargs).arguments)

    return arguments


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def merged(found: Any, count: int, gaps: Gaps) -> Any:
    """The results of all lanes, from those of all lanes without gaps."""
    return _merged(found, count, gaps, gaps.returned)


def _merged(found: Any, count: int, gaps: Gaps, returned: Sequence[Any]) -> Any:
    if isinstance(found, Codes):
        return _labels(found, gaps, returned)
    if isinstance(found, np.ndarray):
        return _array(found, gaps, returned)
    if (record := record_of(found)) is None:
        return _constant(found, count, gaps, returned)
    cls, names, items = record
    rows = [_items(value, record, gaps) for value in returned]
    columns = zip(*rows, strict=True) if rows else iter([()] * len(items))
    return make_record(cls, names, [_merged(item, count, gaps, column)
                                    for item, column in zip(items, columns, strict=True)])


def _items(value: Any, record: Any, gaps: Gaps) -> Sequence[Any]:
    """The parts of a value like those of other lanes."""
    found = record_of(value)
    if found is None or found[:2] != record[:2] or len(found[2]) != len(record[2]):
        raise LaneError(f"the function returned {value!r} where {gaps.columns} is missing, and a {record[0].__name__} "
                        f"of {len(record[2])} in other lanes: return the same in both, or fill the column first")
    return found[2]


def _constant(found: Any, count: int, gaps: Gaps, returned: Sequence[Any]) -> Any:
    """A result that does not differ by lane, or the array of what it is and what was returned."""
    try:
        for value in returned:
            list(fit(value, Fixed(found)))
    except LaneError:
        array = np.full(count, found, None if type(found) in (bool, int, float) else object)
        return _array(array, gaps, returned)
    return found


def _labels(found: Codes, gaps: Gaps, returned: Sequence[Any]) -> Any:
    """Labels among labels."""
    table, codes = found.categories.tolist(), found.codes.copy()
    labels = Labels(table)
    try:
        for lane, value in zip(gaps.lanes, returned, strict=True):
            codes[lane] = -1 if _is_absent(value) else next(fit(value, labels))
    except LaneError:
        return _objects(found.objects(None), gaps, returned)
    if labels.textual:
        return Codes(codes, np.array(table))
    return Codes(codes, _of_objects(table))


def _array(found: npt.NDArray[Any], gaps: Gaps, returned: Sequence[Any]) -> Any:
    """Numbers among numbers, masked where they are missing; objects where that is not all."""
    kind = _KINDS.get(found.dtype.kind)
    absent = np.ma.getmaskarray(found).copy()
    values = np.ma.getdata(found).copy()
    classes = {cls.__name__ for cls in set(map(type, returned))}
    if found.ndim == 1 and classes in ({_EXACT.get(found.dtype.str[1:], "")}, {"NAType"} if kind else set()):
        with contextlib.suppress(OverflowError):  # many values of one class
            absent[gaps.lanes] = is_absent = "NAType" in classes
            values[gaps.lanes] = 0 if is_absent else np.array(returned, found.dtype)
            return np.ma.MaskedArray(values, absent) if absent.any() else values
    try:
        for lane, value in zip(gaps.lanes, returned, strict=True):
            if found.ndim > 1:
                values[lane] = _row(value, values[lane], gaps)
            elif _is_absent(value) and not (value is None and gaps.none == "object") and found.dtype != object:
                absent[lane] = True
            elif kind is None:
                return _objects(found, gaps, returned)
            else:
                values[lane], absent[lane] = next(fit(value, Leaf(kind))), False
    except LaneError:
        if found.ndim > 1:
            raise
        return _objects(found, gaps, returned)
    return np.ma.MaskedArray(values, absent) if absent.any() else values


def _row(value: Any, like: npt.NDArray[Any], gaps: Gaps) -> npt.NDArray[Any]:
    if not isinstance(value, np.ndarray) or value.shape != like.shape or not np.can_cast(value.dtype, like.dtype):
        raise LaneError(f"the function returned {value!r} where {gaps.columns} is missing, and an array of shape "
                        f"{like.shape} in other lanes: return the same in both, or fill the column first")
    return value


def _objects(found: npt.NDArray[Any], gaps: Gaps, returned: Sequence[Any]) -> npt.NDArray[Any]:
    objects = _of_objects(found.tolist())
    for lane, value in zip(gaps.lanes, returned, strict=True):
        objects[lane] = value
    return objects


def _of_objects(items: Sequence[Any]) -> npt.NDArray[Any]:
    made = np.empty(len(items), object)
    for k, item in enumerate(items):
        made[k] = item
    return made


def _is_absent(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType"
