"""The tables of the C library's functions, read from the library that the process has loaded.

Which numbers a table holds is the library's choice (for what argument next to each of so many steps its logarithm is
near a number), so that no formula gives them; and no table stands in pyflat's own source. A table is found by its
second row in the library's constants in memory, and taken if the digest of all of it is the known one. A library with
other tables has other functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pyflat.functions.loaded_files import found_table
from pyflat.functions.loaded_library import constants

_ALIGNMENT = 64
Array = np.ndarray


class MissingTable(LookupError):
    """The library that is loaded does not have a table."""


@dataclass(frozen=True, eq=False)
class LibraryTable:
    """Rows of float64. In the library there are `count` of `length` numbers, of which the second begins with the bytes
    `second`; all of them have the SHA-256 digest that begins with `digest`. `made` makes of them what is looked up."""

    name: str
    count: int
    length: int
    second: str
    digest: str
    made: Callable[[Array], Array]

    @cached_property
    def rows(self) -> Array:
        """A power of two of rows, and of numbers in a row, at an address that is a multiple of 64. The missing are 0,
        so that an index of too many bits is harmless."""
        known = self.made(self._found())
        count, length = (1 << (n - 1).bit_length() for n in known.shape)
        room = np.zeros(count * length * 8 + _ALIGNMENT, dtype=np.uint8)
        start = -room.ctypes.data % _ALIGNMENT
        rows: Array = room[start : start + count * length * 8].view(np.float64).reshape(count, length)
        rows[: known.shape[0], : known.shape[1]] = known
        rows.flags.writeable = False
        return rows

    def _found(self) -> Array:
        row = 8 * self.length
        found = found_table(constants(), row * self.count, row, bytes.fromhex(self.second), self.digest)
        if found is None:
            raise MissingTable(self.name)
        return np.frombuffer(found, dtype=np.float64).reshape(self.count, self.length)


def as_they_are(rows: Array) -> Array:
    return rows
