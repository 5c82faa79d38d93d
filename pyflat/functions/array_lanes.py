"""What the text of a kernel over arrays calls: lanes of a loop nest, and elements of arrays for all of them at once.

The lanes of a nest of D loops are arrays of D axes, one for each loop, of length 1 where a value does not depend on its
counter. The counters are `Line`s, arithmetic progressions: an array that is indexed with them is sliced, not gathered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any

import numpy as np


class Faulted(Exception):
    """An iteration may raise: the original has to say what."""


class Wraps(Exception):
    """Only the order of the original says what happens: an index is negative, and what it means is another element than
    the code for all lanes takes it for, or lanes perhaps never end that the original may never come to."""


class Warned(Exception):
    """NumPy would warn."""


PATIENCE = 10_000
"""Turns of a loop for which lanes wait that may have to wait for ever."""
LANES_AT_ONCE = 2**15
"""Lanes of a nest that run together: their temporaries stay in the cache, and are few where there are 1e9."""


def blocks(lower: int, upper: int, each: int) -> Iterator[tuple[int, int]]:
    """Parts of range(lower, upper), where each number stands for `each` lanes."""
    count = upper - lower
    parts = max(1, min(count, -(-count * max(each, 1) // LANES_AT_ONCE)))
    for part in range(parts if count > 0 else 0):
        yield lower + count * part // parts, lower + count * (part + 1) // parts


# --- operands of NumPy's routines, which show warnings of their own
def at_least(array: Any, length: int) -> Any:
    """The array, all of whose axes are as long."""
    if min(array.shape, default=length) < length:
        raise Faulted
    return array


def numbers(array: Any, least: int, axis: Any) -> Any:
    """The array, which has so many elements along the axis that are not nan."""
    if array.size == 0 or np.min(np.count_nonzero(array == array, axis=axis)) < least:
        raise Faulted
    return array


def part(array: Any, bounds: Sequence[int], rank: int, axes: Sequence[int | None]) -> Any:
    """A view of an array. `bounds`: the lengths of its axes, then the start and the step of each axis of the array;
    `axes`: which axis of the view that is."""
    extents, starts, steps = bounds[:rank], bounds[rank::2], bounds[rank + 1::2]
    strides = [0] * rank
    for axis, step, stride in zip(axes, steps, array.strides, strict=True):
        if axis is not None:
            strides[axis] = step * stride
    if not all(extents):
        return np.lib.stride_tricks.as_strided(array, tuple(extents), tuple(strides))
    index = tuple(start if axis is None else slice(max(start, 0), None)
                  for axis, start in zip(axes, starts, strict=True))
    return np.lib.stride_tricks.as_strided(array[index], tuple(extents), tuple(strides))


class Line(np.lib.mixins.NDArrayOperatorsMixin):
    """`first + step * k` for k in range(count), along one of the axes of the lanes."""

    def __init__(self, first: int, step: int, count: int, axis: int, axes: int):
        self.first, self.step, self.count, self.axis, self.axes = first, step, count, axis, axes

    @property
    def last(self) -> int:
        return self.first + self.step * (self.count - 1)

    def array(self) -> Any:
        shape = [1] * self.axes
        shape[self.axis] = self.count
        return (self.first + self.step * np.arange(self.count, dtype=np.int64)).reshape(shape)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        found = self.array()
        return found if dtype is None else found.astype(dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **options: Any) -> Any:
        if method == "__call__" and not options and len(operands) == 2:
            a, b = operands
            if isinstance(a, Line) and _is_int(b):
                if ufunc is np.add:
                    return self._moved(1, b)
                if ufunc is np.subtract:
                    return self._moved(1, -b)
                if ufunc is np.multiply:
                    return self._scaled(b)
            if isinstance(b, Line) and _is_int(a):
                if ufunc is np.add:
                    return b._moved(1, a)
                if ufunc is np.subtract:
                    return b._moved(-1, a)
                if ufunc is np.multiply:
                    return b._scaled(a)
        plain = [each.array() if isinstance(each, Line) else each for each in operands]
        return getattr(ufunc, method)(*plain, **options)

    def _moved(self, sign: int, offset: int) -> Line:
        return Line(sign * self.first + int(offset), sign * self.step, self.count, self.axis, self.axes)

    def _scaled(self, factor: int) -> Line:
        factor = int(factor)
        return Line(self.first * factor, self.step * factor, self.count, self.axis, self.axes)


def _is_int(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


Position = Any
"""An int, a Line, or an array of lanes."""


def lanes_of(value: Any) -> Any:
    """A value of lanes as NumPy computes with it."""
    return value.array() if isinstance(value, Line) else value


def inside(position: Position, size: int, mask: Any) -> Position:
    """An index of an axis as it is taken: inside in every lane that runs. Python's negative indices only where they are
    the same in all lanes; Faulted where one is outside."""
    if isinstance(position, Line):
        low, high = min(position.first, position.last), max(position.first, position.last)
        if low >= 0 and high < size:
            return position
        position = position.array()
    if not isinstance(position, np.ndarray):
        number = int(position)
        if not -size <= number < size:
            if mask is None or np.any(mask):
                raise Faulted
            return 0
        return number + size if number < 0 else number
    if _all_between(position, 0, size):
        return position
    outside = (position < 0) | (position >= size)
    if mask is not None:
        outside = outside & mask
    if outside.any():
        worse = (position < -size) | (position >= size)
        if (worse if mask is None else worse & mask).any():
            raise Faulted
        raise Wraps
    return position if mask is None else np.clip(position, 0, max(size - 1, 0))


def wrapped(position: Position, size: int, mask: Any) -> Position:
    """An index of elements that no lane writes: a negative one counts from the end in its own lane."""
    plain = lanes_of(position)
    if not isinstance(plain, np.ndarray) or _all_between(plain, 0, size):
        return inside(position, size, mask)
    if not _all_between(plain, -size, size):
        outside = (plain < -size) | (plain >= size)
        if (outside if mask is None else outside & mask).any():
            raise Faulted
        plain = np.where(outside, 0, plain)
    return plain


def near(position: Position, size: int) -> Position:
    """An index that is inside in each lane that uses it; others read any element."""
    if isinstance(position, Line) and _is_within(position, size):
        return position
    return np.clip(lanes_of(position), 0, max(size - 1, 0))


def _all_between(position: Any, low: int, high: int) -> bool:
    return bool(position.size and position.min() >= low and position.max() < high)


def _basic(position: Sequence[Position], axes: int) -> tuple[Any, list[int]] | None:
    """Slices for positions that are ints, and lines along different axes; None for others."""
    index: list[Any] = []
    order: list[int] = []
    for each in position:
        if isinstance(each, Line):
            if each.axis in order or not each.step:
                return None
            end = each.first + each.step * each.count
            index.append(slice(each.first, None if end < 0 else end, each.step))
            order.append(each.axis)
        elif isinstance(each, np.ndarray):
            return None
        else:
            index.append(each)
    return tuple(index), order


def _is_within(position: Position, size: int) -> bool:
    """All of a line are indices that count from the start: a slice has what is there, and no error."""
    if not isinstance(position, Line) or position.count <= 0:
        return True
    return min(position.first, position.last) >= 0 and max(position.first, position.last) < size


def _spread(found: Any, order: list[int], axes: int) -> Any:
    """The axes of a slice at their places among those of the lanes."""
    if len(order) > 1:
        found = found.transpose(np.argsort(order))
    present = set(order)
    return found[tuple(slice(None) if axis in present else None for axis in range(axes))]


def read(array: Any, position: Sequence[Position], axes: int) -> Any:
    """The elements of all lanes; a view where that can be. IndexError where a lane has none."""
    basic = _basic(position, axes)
    if basic is None or not all(map(_is_within, position, array.shape)):
        return array[tuple(map(lanes_of, position))]
    return _spread(array[basic[0]], basic[1], axes) if basic[1] else array[basic[0]]


def write(array: Any, position: Sequence[Position], value: Any, mask: Any, axes: int) -> None:
    """Put the values of the lanes that run into their elements."""
    value, basic = lanes_of(value), _basic(position, axes)
    if basic is not None and len(basic[1]) == axes:
        target = _spread(array[basic[0]], basic[1], axes)
        np.copyto(target, value, casting="unsafe", where=True if mask is None else mask)
        return
    places = np.broadcast_arrays(*map(lanes_of, position), value, True if mask is None else mask)
    taken = places[-1]
    array[tuple(place[taken] for place in places[:-2])] = places[-2][taken]


def body(function: Callable[..., Any]) -> Callable[..., Any]:
    """What an iteration of a nest computes, a function of numbers whose last result says that it may raise, for all
    iterations: called with the lengths of the nest's axes, operands that can be broadcast to these, and where to put
    the results; gives those for which that is None, alone where that is one."""

    def run(shape: tuple[int, ...], operands: Sequence[Any], outs: Sequence[Any]) -> Any:
        *values, suspect = function(*map(_number_of_lanes, operands))
        if np.any(suspect):
            raise Wraps
        results = [np.broadcast_to(value, shape) for value in values]
        for out, result in zip(outs, results, strict=True):
            if out is not None:
                out[...] = result
        left = [result for out, result in zip(outs, results, strict=True) if out is None]
        return left[0] if len(left) == 1 else left

    return run


def _number_of_lanes(value: Any) -> Any:
    plain = np.asarray(lanes_of(value))
    return plain.astype({"f": np.float64, "b": np.bool_}.get(plain.dtype.kind, np.int64))


def hit(condition: Any, mask: Any) -> None:
    """Faulted where a condition holds in a lane that runs."""
    condition = lanes_of(condition)
    if np.any(condition if mask is None else condition & mask):
        raise Faulted


def running(mask: Any) -> bool:
    return mask is None or bool(np.any(mask))


def patiently() -> Iterator[bool]:
    """True for each turn of a loop that lanes leave one after the other, in a nest that may raise behind it: a lane may
    be one that the original does not come to."""
    yield from repeat(True, PATIENCE)
    raise Wraps


def last(value: Any) -> Any:
    """What a variable has after the last iteration."""
    if isinstance(value, Line):
        return value.last
    return value[(-1,) * value.ndim] if isinstance(value, np.ndarray) else value


def fit(number: int) -> int:
    """An int of 64 bits."""
    if not -(2**63) <= number < 2**63:
        raise Faulted
    return number


def kept(mask: Any, value: Any, before: Any) -> Any:
    """A value in the lanes of a mask, elsewhere what it was before."""
    return lanes_of(value) if mask is None else np.where(mask, lanes_of(value), before)


def fitted(value: Any, low: int, high: int, mask: Any = None) -> Any:
    """Ints that a dtype holds."""
    plain = lanes_of(value)
    hit((plain < low) | (plain > high), mask)
    return value


def divide(a: Any, b: Any) -> Any:
    """NumPy's quotient of floats."""
    return np.divide(a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else np.float64(a) / np.float64(b)


def narrowed(value: Any) -> Any:
    """Rounded to float32; ints of 64 bits at once."""
    if isinstance(value, np.ndarray | Line):
        return lanes_of(value).astype(np.float32).astype(np.float64)
    return np.float64(np.float32(np.int64(value) if isinstance(value, int) else value))
