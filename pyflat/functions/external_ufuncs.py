"""Compiled functions of other packages as operations: NumPy ufuncs with a loop over float64, as in scipy.special.

The operation `ufunc` has three attrs: the name under which the function is known here; its loop in NumPy's letters
("dd->d", "ld->d", "Dld->D"), so that the same compiled loop runs for a scalar, for an array and in a compiled kernel;
and which part of a complex result it gives ("real", "imag", "" for a float). A complex operand is two floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

MOST_OPERANDS = 4
_NUMBERS = {"d": 1, "l": 1, "q": 1, "D": 2}
"""NumPy's letters of the operands that there may be -> how many numbers each is."""
_known: dict[str, np.ufunc] = {}


def register(ufunc: np.ufunc) -> str:
    """A name for a ufunc, the same one each time."""
    name, number = ufunc.__name__, 1
    while _known.setdefault(name, ufunc) is not ufunc:
        number += 1
        name = f"{ufunc.__name__}_{number}"
    return name


def find(name: str) -> np.ufunc:
    """The ufunc of a name that `register` has given."""
    return _known[name]


def loop_for(ufunc: np.ufunc, types: Sequence[type]) -> str | None:
    """The loop that NumPy chooses for Python's bool, int, float and complex; None where that is no loop over int64,
    float64 and complex128 that gives one float64 or complex128."""
    if ufunc.nout != 1 or ufunc.nin != len(types) or ufunc.signature is not None:
        return None
    try:
        dtypes = ufunc.resolve_dtypes((*(np.dtype(bool) if each is bool else each for each in types), None))
    except (TypeError, KeyError):
        return None
    letters = "".join(dtype.char for dtype in dtypes)
    loop = f"{letters[:-1]}->{letters[-1]}"
    fits = letters[-1] in "dD" and all(letter in _NUMBERS for letter in letters)
    count = sum(_NUMBERS.get(letter, 0) for letter in letters[:-1])
    return loop if fits and loop in ufunc.types and count <= MOST_OPERANDS else None


def call(*args: Any, loop: str, part: str, ufunc: str) -> Any:
    """Run the loop, without NumPy's warnings, on numbers or arrays."""
    given = iter(args)
    with np.errstate(all="ignore"):
        numbers = [_complex(next(given), next(given)) if letter == "D" else next(given)
                   for letter in loop.partition("->")[0]]
        result = find(ufunc)(*numbers, signature=loop)
    chosen = getattr(result, part) if part else result
    return float(chosen) if np.ndim(chosen) == 0 else np.ascontiguousarray(chosen)


def _complex(real: Any, imag: Any) -> Any:
    made = np.empty(np.broadcast_shapes(np.shape(real), np.shape(imag)), np.complex128)
    made.real, made.imag = real, imag
    return made[()]
