"""What columns of pandas, Polars and Arrow have in common: values of which some may be missing.

Lanes in which an argument is missing are not computed: the call runs over the others, as a part of the whole call. They
are missing in the result, or, where the column says what stands in them, what the original returns for that. With
errors="nan" lanes that fail are missing too, in results that are ints and bools as well, and so are those for which the
function returns None. Labels reach the libraries as codes and categories.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from pyflat.errors import FlattenError
from pyflat.ir.shape import Path, make_record, record_of
from pyflat.runtime.arrays import BLANK, Array
from pyflat.runtime.containers import LibraryCall
from pyflat.runtime.containers.gaps import GapColumn, Mask, merged, run_originals
from pyflat.runtime.faults import Faults, LaneError, Part
from pyflat.runtime.interfaces import Calls
from pyflat.runtime.labels import Codes

Wrap = Callable[[Any, "Mask | None"], Any]
"""An array of results, or `Codes`, and its missing lanes -> an object of the library."""
_objects: weakref.WeakSet[Calls] = weakref.WeakSet()
"""Functions that have given labels or None: their calls ask for codes and masks at once."""


def run(call: LibraryCall, columns: Mapping[Path, GapColumn], wrap: Wrap) -> Any:
    """The result of a call with these columns, whose arrays of results `wrap` makes objects of. ValueError where
    columns, or arrays beside them, differ in length."""
    count = _length(call, columns)
    missing = _missing(columns)
    given: dict[Path, Any] = {path: column.values for path, column in columns.items()}
    if missing is None:
        return _finished(call, _computed(call, given, None), None, wrap)
    _require_lanes(call, columns)
    gaps = None
    present = ~missing
    if any(column.objects is not None for column in columns.values()):
        gaps = run_originals(call, columns, missing)
        if gaps.failures and call.options.errors in ("raise", "unchecked"):
            present[gaps.failures[0].lane:] = False
            if not present.any():
                raise gaps.first_exception()
    whole = {**call.arrays(), **given}
    given = {path: array[present] if len(array) == count else array for path, array in whole.items()}
    try:
        found, *faults = _computed(call, given, Part.selected(present))
    except (FlattenError, LaneError, TypeError):
        if present.any() or gaps is None or gaps.failures:
            raise
        found, faults = np.empty(0, object), []  # no lane has all values, and what is there has no type
    if gaps is not None and gaps.failures:
        if not faults:
            raise gaps.first_exception()
        faults = [Faults.of((count,), [*faults[0], *gaps.failures])]
    found = mapped(found, lambda array: _spread_all(array, present))
    if gaps is None:
        return _finished(call, (found, *faults), missing, wrap)
    return _finished(call, (merged(found, count, gaps), *faults), None, wrap)


def _require_lanes(call: LibraryCall, columns: Mapping[Path, GapColumn]) -> None:
    """TypeError where a column with gaps is an array of a kernel: it would be an array without these elements."""
    arrays = call.caller.kernels.roles(call.options)
    for path, column in columns.items():
        if column.has_gaps and (name := call.name(path)) in arrays:
            raise TypeError(f"argument {name!r} has missing values, and {call.caller.parameters.name} takes it as a "
                            f"whole array: fill or drop them first, as by {name}.fillna(0) or {name}.dropna()")


def _finished(call: LibraryCall, computed: tuple[Any, ...], missing: Mask | None, wrap: Wrap) -> Any:
    """The results as objects of the library."""
    errors = call.options.errors
    found, *rest = computed
    absent, faults = missing, rest[0] if rest else None
    if errors == "nan" and faults:
        absent = faults.mask if missing is None else missing | faults.mask
    result = mapped(found, lambda array: _wrapped(array, absent, wrap))
    return (result, faults) if errors == "mask" else result


def _computed(call: LibraryCall, given: Mapping[Path, Any], part: Part | None) -> tuple[Any, ...]:
    """The result with labels as `Codes`, and None masked, and the faults where they are kept. Whether there are labels
    is known from the first result: numbers are left to the plan of the twin."""
    wanted = {"results": "codes" if call.options.results == "labels" else call.options.results,
              "none": "masked" if call.options.none == "raise" else call.options.none}
    errors = "mask" if call.options.errors == "nan" else call.options.errors
    if part is None and errors == call.options.errors and call.caller not in _objects:
        try:
            found = call.run(given)
        except LaneError:  # perhaps for None among numbers; what else it is for is raised again
            found = None
        if found is not None and _is_numeric(found):
            return found if errors == "mask" else (found,)
        _objects.add(call.caller)
    found = call.run(given, part=part, errors=errors, **wanted)
    return found if errors == "mask" else (found,)


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


def _length(call: LibraryCall, columns: Mapping[Path, GapColumn]) -> int:
    """The lanes of all columns. Of arrays beside them those of one lane are taken as numbers."""
    lengths = {call.name(path): len(column.values) for path, column in columns.items()}
    count = next(iter(lengths.values()))
    for path, array in call.arrays().items():
        if array.ndim > 1:
            raise ValueError(f"argument {call.name(path)!r} has shape {array.shape}, but the columns have {count} rows")
        if array.size != 1:
            lengths[call.name(path)] = array.size
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ValueError(f"the arguments differ in length: {shown}")
    return count


def _missing(columns: Mapping[Path, GapColumn]) -> Mask | None:
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
