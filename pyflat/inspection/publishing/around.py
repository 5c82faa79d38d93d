"""What a file of exported twins has beside them. It is printed there as it stands here, and needs NumPy alone."""

from __future__ import annotations

from typing import Any

import numpy as np


def _arguments(kinds: str, *given: Any) -> Any:
    """The shape of the results, None where all is given as Python's numbers, and each argument as an array of its
    kind. Raises TypeError for values that a kind does not have, ValueError for shapes that do not broadcast."""
    arrays = []
    for each, value in zip(kinds.split(", "), given, strict=True):
        name, _, kind = each.partition(": ")
        array = np.asarray(value)
        made = array.astype(kind) if np.can_cast(array.dtype, kind, "safe") else None
        if made is None or array.dtype.kind in "iu" and kind != "i8" and np.any(np.abs(made) >= 2**53):
            raise TypeError(f"{name} has values of {array.dtype} that {np.dtype(kind)} may not have")
        arrays.append(made[()])
    numbers = all(type(value) in (bool, int, float, complex) for value in given)
    return None if numbers else np.broadcast_shapes(*map(np.shape, arrays)), *arrays


def _results(shape: Any, values: Any, fault: Any = 0, faults: Any = ()) -> Any:
    """`values` in each lane. Raises what the first lane with a fault raises."""
    if np.any(fault):
        codes = np.broadcast_to(fault, shape or ())
        index = tuple(map(int, np.argwhere(codes)[0]))
        error, message = faults[codes[index] - 1]
        raise error(f"{message} (lane {index[0] if len(index) == 1 else index})" if shape else message)
    return _spread(values, shape)


def _spread(values: Any, shape: Any) -> Any:
    if isinstance(values, (tuple, list)):
        return type(values)(_spread(value, shape) for value in values)
    if isinstance(values, dict):
        return {name: _spread(value, shape) for name, value in values.items()}
    made = np.array(np.broadcast_to(values, shape or ()))
    return made.item() if shape is None else made[()]
