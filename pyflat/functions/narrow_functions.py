"""Functions of float32 with digits of their own, which are not those of the float64 function, rounded.

`np.exp` of a float32 is NumPy's loop over float32, which gives an element the same bits wherever it stands, in arrays
and alone (tests/functions/test_narrow_functions.py). `**` of two float32 scalars is the C library's `powf`; NumPy's
loop for `np.power` has other digits.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from pyflat.functions import libm
from pyflat.functions.originals import original

NAMES = frozenset({
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh",
    "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt", "deg2rad", "rad2deg", "degrees", "radians", "arctan2",
    "hypot", "logaddexp", "logaddexp2", "fmod"})
"""Functions of NumPy's, which call their loop over float32."""
POWER = "powf"


def called(*operands: Any, function: str) -> Any:
    """The function of numbers or arrays, float64 that are float32, as such."""
    given = [np.asarray(x, np.float64).astype(np.float32) for x in operands]
    found = (power() if function == POWER else original("numpy", function))(*given)
    return found.astype(np.float64)


def python(*operands: float, function: str) -> float:
    """The function of Python's floats, without warnings."""
    with np.errstate(all="ignore"):
        return float(called(*operands, function=function))


@cache
def power() -> np.ufunc:
    """`powf` as a ufunc, which NumPy looks at for warnings."""
    return libm.native_ufunc(POWER, libm.library_symbol(POWER), 2, narrow=True)


@cache
def has_power() -> bool:
    """Whether the library's `powf` has the bits of NumPy's `**`."""
    points = [np.float32(x) for x in (0.0, -0.0, 1.0, -1.0, 0.1, 0.5, 2.0, 2.2, 3.0, -3.0, 7.25, 1e-5, 1e-40, 1e30,
                                      np.inf, -np.inf, np.nan, 0.9999999, 33.3, 127.5)]
    try:
        fn = power()
    except OSError:
        return False
    with np.errstate(all="ignore"):
        pairs = [(fn(x, y), x ** y) for x in points for y in points]
    return all(a.tobytes() == b.tobytes() or np.isnan(a) and np.isnan(b) for a, b in pairs)
