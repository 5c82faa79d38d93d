"""What a file of exported twins has beside them. It is printed there as it stands here, and needs NumPy alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def _arguments(kinds: str, *given: npt.ArrayLike) -> tuple[Any, ...]:
    """The shape of the results, None where all is given as Python's numbers, and each argument as an array of its
    kind. Raises TypeError for values that a kind does not have, ValueError for shapes that do not broadcast."""
    arrays = []
    for each, value in zip(kinds.split(", "), given, strict=True):
        name, _, kind = each.partition(": ")
        array = np.asarray(value)
        if not np.can_cast(array.dtype, kind, "safe"):
            raise TypeError(f"{name} is of {array.dtype}: this function takes {np.dtype(kind)}")
        made = array.astype(kind)
        if array.dtype.kind in "iu" and np.any(np.abs(made) > (2**53 if kind in ("f8", "c16") else np.inf)):
            raise TypeError(f"{name} has ints beyond 2**53, which {np.dtype(kind)} does not have")
        arrays.append(made[()])
    numbers = all(type(value) in (bool, int, float, complex) for value in given)
    return None if numbers else np.broadcast_shapes(*map(np.shape, arrays)), *arrays


def _results(shape: Any, values: Any, fault: Any = 0, faults: Sequence[tuple[type[Exception], str]] = ()) -> Any:
    """`values` in each lane. Raises what the first lane with a fault raises."""
    if np.any(fault):
        codes = np.broadcast_to(fault, shape or ())
        lane = int(np.flatnonzero(codes)[0])
        error, message = faults[codes.flat[lane] - 1]
        index = np.unravel_index(lane, shape or ())
        where = f"lane {lane}" if len(index) == 1 else f"lane {tuple(map(int, index))}"
        raise error(f"{message} ({where})" if shape else message)
    return _spread(values, shape)


def _spread(values: Any, shape: Any) -> Any:
    if isinstance(values, (tuple, list)):
        return type(values)(_spread(value, shape) for value in values)
    if isinstance(values, dict):
        return {name: _spread(value, shape) for name, value in values.items()}
    made = np.array(np.broadcast_to(values, shape or ()))
    return made.item() if shape is None else made[()]
