"""How the inputs of a random program lie in memory: dtype, byte order, stride, alignment, read-only.

`storages(program)` draws one `Storage` for each parameter. What it `holds` of some numbers is what lanes then have:
float16 rounds, int8 wraps, a broadcast array has one number. `array` puts them there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from tests.generator.lanes import Lane
from tests.generator.program import Program

NATIVE = {"f": np.dtype(np.float64), "i": np.dtype(np.int64), "b": np.dtype(np.bool_)}
DTYPES: dict[str, tuple[str, ...]] = {
    "f": ("<f8", ">f8", "<f4", ">f4", "<f2", ">f2"),
    "i": ("i1", "u1", "<i2", ">i2", "<u2", ">u2", "<i4", ">i4", "<u4", ">u4", "<i8", ">i8", "<u8", ">u8", "q", "Q"),
    "b": ("?",),
}
"""The dtypes that lanes of a kind are made of; "q" is a second int64 to NumPy."""

LAYOUTS = ("dense", "dense", "spread", "reversed", "column", "field", "broadcast")


@dataclass(frozen=True)
class Storage:
    """The memory of one parameter's lanes."""

    dtype: np.dtype[Any]
    layout: str = "dense"
    writeable: bool = True

    def holds(self, values: Sequence[Any]) -> list[Any]:
        """What these numbers are there, as Python's."""
        given: Any = [values[0]] * len(values) if self.layout == "broadcast" and values else values
        if self.dtype.kind in "iu":
            bits = 8 * self.dtype.itemsize
            low = -(1 << bits - 1) if self.dtype.kind == "i" else 0
            return [(int(value) - low) % (1 << bits) + low for value in given]
        with np.errstate(all="ignore"):
            held: list[Any] = np.array(given, NATIVE["b" if self.dtype.kind == "b" else "f"]).astype(self.dtype).tolist()
        return held

    def array(self, values: Sequence[Any]) -> np.ndarray[Any, Any]:
        """An array of numbers that this storage holds."""
        dense = np.array(values, self.dtype)
        made = self._placed(dense)
        made[...] = dense
        if self.layout == "broadcast" and len(dense):
            made = np.broadcast_to(dense[:1], dense.shape)
        made.flags.writeable = self.writeable and self.layout != "broadcast"
        return made

    def _placed(self, like: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        count = len(like)
        match self.layout:
            case "spread":
                return np.zeros(2 * count, like.dtype)[::2]
            case "reversed":
                return np.zeros(count, like.dtype)[::-1]
            case "column":
                return np.zeros((count, 3), like.dtype)[:, 1]
            case "field":  # unaligned
                return np.zeros(count, [("before", "u1"), ("values", like.dtype)])["values"]
        return np.zeros(count, like.dtype)


def native(kinds: Sequence[str]) -> list[Storage]:
    """Dense arrays of what lanes compute with."""
    return [Storage(NATIVE[kind]) for kind in kinds]


def storages(program: Program, *, most_bits: int = 64) -> list[Storage]:
    """A storage for each parameter, the same for the same seed: shrinking keeps them. Unsigned integers have up to
    `most_bits`."""
    rng = Random(f"storage {program.seed}")
    return [_drawn(rng, kind, most_bits) for kind in program.kinds]


def _drawn(rng: Random, kind: str, most_bits: int) -> Storage:
    dtypes = [dtype for dtype in map(np.dtype, DTYPES[kind]) if dtype.kind != "u" or 8 * dtype.itemsize <= most_bits]
    return Storage(rng.choice(dtypes), rng.choice(LAYOUTS), rng.random() < 0.8)


def held(rows: Sequence[Lane], storages: Sequence[Storage]) -> list[Lane]:
    """The lanes that arrays of these storages have, made of other lanes."""
    columns = [storage.holds([row[i] for row in rows]) for i, storage in enumerate(storages)]
    return list(zip(*columns, strict=True)) if columns else list(rows)


def arrays(rows: Sequence[Lane], storages: Sequence[Storage]) -> list[np.ndarray[Any, Any]]:
    """One array for each parameter, of lanes that the storages hold."""
    return [storage.array([row[i] for row in rows]) for i, storage in enumerate(storages)]
