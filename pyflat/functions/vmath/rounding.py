"""The C library's functions of float32 lanes: the float64 function of the same operand, rounded.

Float32 has 29 digits less, so that any float64 value which is near the library's almost always rounds to the same:
where both ends of an interval around it, wide enough for the library's error and its own, round to one number, that
number is the result. In one lane of a million they do not, and the library is called. So this holds for every version
of a library that keeps within the error (the GNU C library's functions are some units in the last place off).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from pyflat.functions.records import RECORDS, Accuracy
from pyflat.functions.vmath import TABLE as NEAR
from pyflat.functions.vmath.glibc import POWERS, LibraryFunction, Told
from pyflat.functions.vmath.machine import Machine, Number

ERROR = 2.0**-46
"""The error of a float64 value, as a share of it: 32 units in its last place. Two are vector math's, and the library's
manual knows of no more than five of its own."""


def _near(name: str) -> LibraryFunction:
    row = NEAR[name]

    def algorithm(m: Machine, *args: Number) -> Told:
        wide, operands = m.wide(), [m.widen(x) for x in args]
        value, doubtful = _rounded(m, wide, row.algorithm(wide, *operands))
        return value, doubtful if row.far is None else doubtful | row.far(wide, *operands)

    algorithm.__name__ = f"{name}_rounded"
    return LibraryFunction(name, algorithm, row.operands)


def _power(name: str, exponent: float) -> LibraryFunction:
    def algorithm(m: Machine, x: Number) -> Told:
        wide = m.wide()
        return _rounded(m, wide, _POWERS[name](wide, m.widen(x)))

    algorithm.__name__ = f"{name}_rounded"
    return LibraryFunction("pow", algorithm, 1, exponent)


def _rounded(m: Machine, wide: Machine, value: Number) -> Told:
    up, down = m.narrow(wide.fma(value, ERROR, value)), m.narrow(wide.fma(value, -ERROR, value))
    return m.narrow(value), (up < down) | (down < up)  # of nan there is no doubt


def _root(m: Machine, x: Number) -> Number:
    """pow(x, 0.5), which is 0 of -0 and infinite of minus infinity."""
    return m.select(m.equal(x, -math.inf), math.inf, m.sqrt(x) + 0.0)


_POWERS: dict[str, Callable[[Machine, Number], Number]] = {
    "square": lambda m, x: x * x,
    "cube": lambda m, x: x * x * x,
    "fourth": lambda m, x: (x * x) * (x * x),
    "fifth": lambda m, x: (x * x) * (x * x) * x,
    "root": _root,
    "reciprocal": lambda m, x: 1.0 / x,
    "reciprocal_of_square": lambda m, x: 1.0 / (x * x),
}

TABLE: dict[str, LibraryFunction] = {
    **{name: _near(name) for name in NEAR if RECORDS[name].accuracy is Accuracy.LIBM},
    **{name: _power(name, exponent) for exponent, name in POWERS.items()},
}
"""Those that there are, by the names of `exact.kernel_for`."""
