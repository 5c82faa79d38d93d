"""Arrays as users have them, as lanes: of any numeric dtype, byte order, stride and number of axes, without a copy.

Engines that convert (`Target.converts`) get them and extend each block of lanes as they load it. An array whose lanes
are a constant number of bytes apart is a view with one axis; any other (a row that is broadcast to a matrix, Fortran's
order beside C's) is a `Spread`, of which a block at a time is copied in C order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, overload

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Spread:
    """The lanes from `start` to `stop` of an array, counted in C order."""

    array: Array
    start: int
    stop: int

    @property
    def size(self) -> int:
        return self.stop - self.start

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    @overload
    def __getitem__(self, key: slice) -> Self: ...
    @overload
    def __getitem__(self, key: npt.NDArray[np.intp]) -> Array: ...
    def __getitem__(self, key: slice | npt.NDArray[np.intp]) -> Self | Array:
        """A range of these lanes, or an array of the lanes that are picked."""
        if isinstance(key, slice):
            start, stop, _ = key.indices(self.size)
            return type(self)(self.array, self.start + start, self.start + stop)
        picked: Array = self.array[np.unravel_index(self.start + key, self.array.shape)]
        return picked

    def copy_to(self, out: Array) -> None:
        """Write these lanes into an array of as many, converted to its dtype."""
        _copy(self.array, self.start, self.stop, out)


Operand = Array | np.generic | Spread


def operand(array: Array, shape: tuple[int, ...]) -> Array | Spread:
    """The lanes of an array that is broadcast to a shape: a view with one axis where there is one."""
    if array.shape == shape and array.flags.c_contiguous:
        return array.reshape(-1)
    whole = _merged(np.broadcast_to(array, shape) if array.shape != shape else array)
    return whole if whole.ndim == 1 else Spread(whole, 0, whole.size)


def _merged(array: Array) -> Array:
    """An array's lanes with as few axes as there can be in a view, but with one at least."""
    axes: list[list[int]] = []
    for length, stride in zip(array.shape, array.strides, strict=True):
        if length == 1:
            continue
        if axes and axes[-1][1] == stride * length:
            axes[-1] = [axes[-1][0] * length, stride]
        else:
            axes.append([length, stride])
    return array.reshape([length for length, _ in axes] or [array.size])


def _copy(array: Array, start: int, stop: int, out: Array) -> None:
    """Lanes from `start` to `stop`: a part of a row, whole rows, a part of another one."""
    if array.ndim == 1:
        out[...] = array[start:stop]
        return
    row = array.size // len(array)
    first, last = -(-start // row), stop // row
    if first > last:
        _copy(array[last], start - last * row, stop - last * row, out)
        return
    before, rows = first * row - start, last - first
    if before:
        _copy(array[first - 1], row - before, row, out[:before])
    if rows:
        out[before:before + rows * row].reshape(rows, *array.shape[1:])[...] = array[first:last]
    if stop > last * row:
        _copy(array[last], 0, stop - last * row, out[before + rows * row:])


def is_stored(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of this dtype have numbers that lanes hold."""
    return dtype.kind in "biuf" and dtype.itemsize <= 8


def beyond_int64(array: Array) -> bool:
    """Whether an array of uint64 has a number that int64 has not."""
    return bool(array.size) and bool(np.minimum.reduce(array.view(as_signed(array.dtype)), None) < 0)


def as_signed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The integers with the same bytes in the same order for uint64, the dtype itself for all else."""
    if dtype.kind != "u" or dtype.itemsize < 8:
        return dtype
    return np.dtype(f"{dtype.byteorder}i{dtype.itemsize}")


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """A pattern of arguments for callers who make them themselves (`pyflat.runtime.plans`), under
    np.errstate(all="ignore").

    `run(*arguments)` takes NumPy scalars of the lanes' dtypes, and arrays that can be broadcast; it gives the results,
    new arrays of their shape or scalars, and then which lanes are suspect: None or False where none is. Where it says
    that there are some, results may be missing. Where arguments are arrays, arrays for the results may follow, or None
    for each: of the dtypes and the common shape, with one axis or C-contiguous. Those of another shape are left alone,
    and lanes said to be suspect.
    """

    run: Callable[..., tuple[Any, ...]]
    dtypes: tuple[np.dtype[Any], ...]
    ufuncs: Callable[..., Callable[[], object]]
    """For arguments of `run`: the same without making arrays, for measurements."""
