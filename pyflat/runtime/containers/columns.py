"""What columns of pandas, Polars and Arrow have in common: values of which some may be missing.

Lanes in which an argument is missing are missing in the result, and are not computed: the call runs over the others, as
a part of the whole call. With errors="nan" lanes that fail are missing too, in results that are ints and bools as well,
and so are those for which the function returns None. Labels reach the libraries as codes and categories.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyflat.ir.shape import Path, make_record, record_of
from pyflat.runtime.arrays import BLANK, Array
from pyflat.runtime.calls import Caller
from pyflat.runtime.containers import Call
from pyflat.runtime.faults import Faults, LaneError, Part
from pyflat.runtime.labels import Codes

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Column:
    """One argument: its values, and the lanes that have none (None: all have one)."""

    values: Array
    missing: Mask | None = None

    @property
    def has_gaps(self) -> bool:
        return self.missing is not None and bool(self.missing.any())


Wrap = Callable[[Any, "Mask | None"], Any]
"""An array of results, or `Codes`, and its missing lanes -> an object of the library."""
_objects: weakref.WeakSet[Caller] = weakref.WeakSet()
"""Functions that have given labels or None: their calls ask for codes and masks at once."""


def run(call: Call, columns: Mapping[Path, Column], wrap: Wrap) -> Any:
    """The result of a call with these columns, whose arrays of results `wrap` makes objects of. ValueError where
    columns, or arrays beside them, differ in length."""
    count = _length(call, columns)
    missing = _missing(columns)
    given: dict[Path, Any] = {path: column.values for path, column in columns.items()}
    part = None
    if missing is not None:
        present = ~missing
        part = Part.selected(present)
        whole = {**call.arrays(), **given}
        given = {path: array[present] if len(array) == count else array for path, array in whole.items()}
    errors = call.options.errors
    found = _computed(call, given, "mask" if errors == "nan" else errors, part)
    faults = None
    if errors in ("mask", "nan"):
        found, faults = found
    if missing is not None:
        found = mapped(found, lambda array: _spread_all(array, ~missing))
    absent = missing
    if errors == "nan" and faults:
        absent = faults.mask if missing is None else missing | faults.mask
    result = mapped(found, lambda array: _wrapped(array, absent, wrap))
    return (result, faults) if errors == "mask" else result


def _computed(call: Call, given: Mapping[Path, Any], errors: str, part: Part | None) -> Any:
    """The result with labels as `Codes`, and None masked. Whether there are any is known from the first result: numbers
    are left to the plan of the twin."""
    wanted = {"results": "codes" if call.options.results == "labels" else call.options.results,
              "none": "masked" if call.options.none == "raise" else call.options.none}
    if part is None and errors == call.options.errors and call.caller not in _objects:
        try:
            found = call.run(given)
        except LaneError:  # perhaps for None among numbers; what else it is for is raised again
            found = None
        if found is not None and _is_numeric(found):
            return found
        _objects.add(call.caller)
    return call.run(given, part=part, errors=errors, **wanted)


def _is_numeric(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fibuc"
    record = None if isinstance(value, Faults) else record_of(value)
    return all(map(_is_numeric, record[2])) if record is not None else True


def mapped(value: Any, make: Callable[[Any], Any]) -> Any:
    """A result with something else in the place of each array."""
    if isinstance(value, np.ndarray | Codes):
        return make(value)
    if isinstance(value, Faults) or (record := record_of(value)) is None:
        return value
    cls, names, items = record
    return make_record(cls, names, [mapped(item, make) for item in items])


def named(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The results of a call by their path in the record; "" for one that is no record."""
    record = record_of(value)
    if record is None:
        yield name, value
        return
    _, names, items = record
    for label, item in zip(names or map(str, range(len(items))), items, strict=True):
        yield from named(item, f"{name}.{label}" if name else label)


def _length(call: Call, columns: Mapping[Path, Column]) -> int:
    """The lanes of all columns. Of arrays beside them those of one lane are taken as numbers."""
    lengths = {call.name(path): len(column.values) for path, column in columns.items()}
    count = next(iter(lengths.values()))
    for path, array in call.arrays().items():
        if array.ndim > 1:
            raise ValueError(f"argument {call.name(path)!r} has shape {array.shape}, beside columns of {count} lanes")
        if array.size != 1:
            lengths[call.name(path)] = array.size
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ValueError(f"the arguments differ in length: {shown}")
    return count


def _missing(columns: Mapping[Path, Column]) -> Mask | None:
    found: Mask | None = None
    for column in columns.values():
        if column.missing is not None and column.has_gaps:
            found = column.missing if found is None else found | column.missing
    return found


def _spread(array: Array, present: Mask) -> Array:
    """Results of some lanes as an array of all; the others have any value."""
    whole = np.zeros((len(present), *array.shape[1:]), array.dtype)
    whole[~present] = BLANK.get(array.dtype.kind, whole.dtype.type())
    whole[present] = array
    return whole


def _spread_all(value: Any, present: Mask) -> Any:
    """`_spread` of an array, a masked one, or codes."""
    if isinstance(value, Codes):
        return Codes(_spread(value.codes, present), value.categories)
    if isinstance(value, np.ma.MaskedArray):
        return np.ma.MaskedArray(_spread(value.data, present), _spread(np.ma.getmaskarray(value), present))
    return _spread(value, present)


def _wrapped(value: Any, missing: Mask | None, wrap: Wrap) -> Any:
    """An object of the library: without what its columns have no place for."""
    if isinstance(value, Codes):
        absent = value.codes < 0
        return wrap(value, missing if not absent.any() else absent if missing is None else missing | absent)
    if isinstance(value, np.ma.MaskedArray):
        absent = np.ma.getmaskarray(value)
        value, missing = value.data, absent if missing is None else missing | absent
    if missing is not None and value.dtype.kind not in "fibuc" and len(value) == len(missing):
        value = value.astype(object)
        value[missing] = None
    return wrap(value, missing)
