"""What long tuples of numbers are, looked at once: tables may have millions of entries, and be read in many places.

`marshal` writes the entries of a tuple one after the other, each behind a letter for its exact type, in a tenth of the
time that a loop over them takes. Where all entries take the same space the letters are a column of that, and the
numbers an array.
"""

from __future__ import annotations

import itertools
import marshal
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyflat.ir.types import BOOL, FLOAT, INT, INT_MAX, INT_MIN, Kind

LONG = 100
"""Entries from which on a tuple is looked at only once."""

_KEPT = 8
"""The tables that are remembered: those that are being compiled, not all that ever were."""

_PLAIN = 2
"""A format of `marshal` that depends on values only: later ones depend on who else refers to an item."""

_HEAD = 5
_RECORDS = ((FLOAT, b"g", "<f8"), (INT, b"i", "<i4"))
_LETTERS_OF_BOOLS = (ord("F"), ord("T"))


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A tuple of numbers of one kind, all exactly of that type, and ints within int64."""

    numbers: tuple[Any, ...]
    kind: Kind
    array: npt.NDArray[Any]
    """float64, int64 or bool."""
    number: int
    """Equal for tables with equal bits."""

    def as_type(self, dtype: str | np.dtype[Any]) -> npt.NDArray[Any]:
        """The numbers as an array of another type, as NumPy converts them."""
        return self.array.astype(dtype)


_known: OrderedDict[int, tuple[tuple[Any, ...], Table | None]] = OrderedDict()
_numbers = itertools.count()


def table_of(value: object) -> Table | None:
    """A long tuple as a table; None for anything else."""
    if type(value) is not tuple or len(value) < LONG:
        return None
    found = _known.get(id(value))
    if found is None:
        found = _known[id(value)] = value, _looked_at(value)
        while len(_known) > _KEPT:
            _known.popitem(last=False)
    return found[1]


def array_of(numbers: tuple[Any, ...], dtype: str | np.dtype[Any]) -> npt.NDArray[Any]:
    """A new array of the numbers of a tuple."""
    table = table_of(numbers)
    return np.array(numbers, dtype) if table is None else table.as_type(dtype)


def _looked_at(numbers: tuple[Any, ...]) -> Table | None:
    found = _from_records(numbers) or _from_objects(numbers)
    if found is None:
        return None
    kind, array = found
    for other in [table for _, table in _known.values() if table is not None]:
        if other.kind is kind and np.array_equal(_bits(other.array), _bits(array)):
            return Table(numbers, kind, array, other.number)
    return Table(numbers, kind, array, next(_numbers))


def _bits(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return array.view(f"u{array.itemsize}")


def _from_records(numbers: tuple[Any, ...]) -> tuple[Kind, npt.NDArray[Any]] | None:
    try:
        written = marshal.dumps(numbers, _PLAIN)
    except ValueError:  # an object that is no builtin
        return None
    for kind, letter, dtype in _RECORDS:
        record = np.dtype([("letter", "u1"), ("number", dtype)])
        if len(written) == _HEAD + len(numbers) * record.itemsize:
            records = np.frombuffer(written, record, offset=_HEAD)
            if (records["letter"] == ord(letter)).all():
                return kind, records["number"].astype(dtype[1:2] + "8")
    if len(written) == _HEAD + len(numbers):
        letters = np.frombuffer(written, np.uint8, offset=_HEAD)
        if np.isin(letters, _LETTERS_OF_BOOLS).all():
            return BOOL, letters == _LETTERS_OF_BOOLS[1]
    return None


def _from_objects(numbers: tuple[Any, ...]) -> tuple[Kind, npt.NDArray[Any]] | None:
    """Ints beyond 32 bits."""
    if not {int}.issuperset(map(type, numbers)) or min(numbers) < INT_MIN or max(numbers) > INT_MAX:
        return None
    return INT, np.array(numbers, np.int64)
