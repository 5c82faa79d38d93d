"""Arguments for compiling ahead of a call: examples are arguments as they are, a dtype stands for an array of it.

    twin.compile(np.float64, "f4", n=3)       two arrays, and a number
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pyflat.frontend.callables import Parameters
from pyflat.runtime.arrays import MAX_AXES
from pyflat.runtime.grouping import parameter_at

MANY = (2,)
"""The shape of an array of no known length: an array of one element would be a number to the engines."""

_NAMED = re.compile(r"[<>=|]?(b1|[iu][1248]|f[248]|c(8|16))|bool|u?int(8|16|32|64)?|float(16|32|64)?|complex(64|128)?")


def with_stand_ins(
    parameters: Parameters, args: Sequence[Any], kwargs: Mapping[str, Any], static: Sequence[str]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments with an array in the place of each dtype, of the shape that the others have together. TypeError for
    a dtype that says nothing of the values that have to be known."""

    def read(place: int | str, value: Any) -> Any:
        name = parameter_at(parameters, place)
        as_it_is = name in static or isinstance(value, str) and parameters.takes_string(name)
        return value if as_it_is else read_dtype(value, name)

    given = [read(place, value) for place, value in enumerate(args)]
    named = {name: read(name, value) for name, value in kwargs.items()}
    shape = _shape([array for value in (*given, *named.values()) for array in _arrays(value)])
    return [_filled(value, shape) for value in given], {name: _filled(value, shape) for name, value in named.items()}


def read_dtype(value: Any, name: str) -> Any:
    """A dtype where the value is one, in tuples too."""
    if type(value) is tuple:
        return tuple(read_dtype(item, name) for item in value)
    if isinstance(value, str) and not _NAMED.fullmatch(value):
        return value
    if not isinstance(value, str | np.dtype) and not (
            isinstance(value, type) and (issubclass(value, np.generic) or value in (bool, int, float, complex))):
        return value
    dtype = np.dtype(value)
    if dtype.kind in "USOTV":
        raise TypeError(f"argument {name!r} is the dtype {dtype}, but the twin depends on the array's values; pass "
                        f"an array with the values that will occur")
    return dtype


def _arrays(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    if isinstance(value, np.ndarray):
        yield value
    elif type(value) is tuple:
        for item in value:
            yield from _arrays(item)


def _shape(arrays: Sequence[np.ndarray[Any, Any]]) -> tuple[int, ...]:
    """What the examples are broadcast to; of many lanes where they have one. Examples that do not fit are left to the
    checks of a call."""
    if any(array.ndim > MAX_AXES for array in arrays):
        return MANY
    try:
        shape = np.broadcast_shapes(*[array.shape for array in arrays])
    except ValueError:
        return MANY
    return MANY if np.prod(shape) == 1 else shape


def _filled(value: Any, shape: tuple[int, ...]) -> Any:
    if type(value) is tuple:
        return tuple(_filled(item, shape) for item in value)
    return np.zeros(shape, value) if isinstance(value, np.dtype) else value
