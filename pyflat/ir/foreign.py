"""Compiled functions of other packages as operations: NumPy ufuncs with a loop over float64, as in scipy.special.

The operation `ufunc` has two attrs, the name under which the function is known here and its loop in NumPy's letters
("dd->d", "ld->d"), so that the same compiled loop runs for a scalar, for an array and in a compiled kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyflat.ir.types import FLOAT, INT, Kind

MOST_OPERANDS = 4
_LETTERS = {"d": FLOAT, "l": INT, "q": INT}
_PYTHON: dict[Kind, type] = {INT: int, FLOAT: float}
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


def loop_for(ufunc: np.ufunc, kinds: tuple[Kind, ...]) -> str | None:
    """The loop that NumPy chooses for Python ints and floats of these kinds; None where that is no loop over int64 and
    float64 that gives one float64."""
    if ufunc.nout != 1 or ufunc.nin != len(kinds) or len(kinds) > MOST_OPERANDS or ufunc.signature is not None:
        return None
    try:
        dtypes = ufunc.resolve_dtypes((*[_PYTHON[kind] for kind in kinds], None))
    except (TypeError, KeyError):
        return None
    letters = "".join(dtype.char for dtype in dtypes)
    loop = f"{letters[:-1]}->{letters[-1]}"
    fits = letters[-1] == "d" and all(letter in _LETTERS for letter in letters)
    return loop if fits and loop in ufunc.types else None


def operand_kinds(loop: str) -> tuple[Kind, ...]:
    """The kinds of a loop's operands."""
    return tuple(_LETTERS[letter] for letter in loop.partition("->")[0])


def call(*args: Any, loop: str, ufunc: str) -> Any:
    """Run the loop, without NumPy's warnings, on numbers or arrays."""
    with np.errstate(all="ignore"):
        result = find(ufunc)(*args, signature=loop)
    return float(result) if np.ndim(result) == 0 else result
