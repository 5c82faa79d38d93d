"""What columns of pandas, Polars and Arrow have in common: values of which some may be missing.

Lanes in which an argument is missing are missing in the result, and are not computed: the call runs over the others, as
a part of the whole call. With errors="nan" lanes that fail are missing too, in results that are ints and bools as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyflat.ir.shape import Path, make_record, record_of
from pyflat.runtime.arrays import BLANK, Array
from pyflat.runtime.containers import Call
from pyflat.runtime.faults import Faults, Part

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Column:
    """One argument: its values, and the lanes that have none (None: all have one)."""

    values: Array
    missing: Mask | None = None

    @property
    def has_gaps(self) -> bool:
        return self.missing is not None and bool(self.missing.any())


Wrap = Callable[[Array, "Mask | None"], Any]
"""An array of results and its missing lanes -> an object of the library."""


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
    found = call.run(given, errors="mask" if errors == "nan" else None, part=part)
    faults = None
    if errors in ("mask", "nan"):
        found, faults = found
    if missing is not None:
        found = mapped(found, lambda array: _spread(array, ~missing))
    absent = missing
    if errors == "nan" and faults:
        absent = faults.mask if missing is None else missing | faults.mask
    result = mapped(found, lambda array: wrap(array, absent))
    return (result, faults) if errors == "mask" else result


def mapped(value: Any, make: Callable[[Array], Any]) -> Any:
    """A result with something else in the place of each array."""
    if isinstance(value, np.ndarray):
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
    whole = np.full((len(present), *array.shape[1:]), BLANK.get(array.dtype.kind), array.dtype)
    whole[present] = array
    return whole
