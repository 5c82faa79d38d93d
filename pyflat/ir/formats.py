"""The two formats of float lanes: float64, Python's own, and float32 on purpose.

The IR has one kind FLOAT; which format its lanes have says the function (`nodes.Function.floats`). Wherever a number
of float32 is held in Python, in a constant, an interval or the interpreter, it is a Python float with that value.
"""

from __future__ import annotations

import math
import struct
from typing import Any, Literal

import numpy as np

from pyflat.ir.types import BOOL, FLOAT, INT, Kind

_KEPT = 40
"""Leading bits of an int that are kept, and one for what lies below them, before it is rounded to float32: more than
float32 has, less than float64."""


class FloatFormat:
    """Float lanes of `digits` binary digits (the leading one counted) and numbers up to `largest`. There are two of
    them, F8 and F4."""

    __slots__ = ("digits", "largest", "name")

    def __init__(self, name: Literal["f8", "f4"], digits: int, largest: float):
        self.name, self.digits, self.largest = name, digits, largest

    def __reduce__(self) -> str:
        return self.name.upper()

    def __repr__(self) -> str:
        return self.name.upper()

    def rounded(self, number: float) -> float:
        """The nearest float of this format, ties to even; beyond the largest one infinity."""
        if self.name == "f8":
            return number
        try:
            return float(struct.unpack("<f", struct.pack("<f", number))[0])
        except OverflowError:
            return math.copysign(math.inf, number)

    def holds(self, number: float) -> bool:
        """Whether `number` is a float of this format."""
        return math.isnan(number) or self.rounded(number) == number

    def from_int(self, number: int) -> float:
        """The float nearest to an int64, rounded once."""
        if self.name == "f8":
            return float(number)
        size = abs(number)
        below = max(size.bit_length() - _KEPT, 0)
        kept = (size >> below) << 1 | bool(size & ((1 << below) - 1))
        return math.copysign(self.rounded(math.ldexp(float(kept), below - 1)), number) if number else 0.0


F8 = FloatFormat("f8", 53, 1.7976931348623157e308)
F4 = FloatFormat("f4", 24, 3.4028234663852886e38)
FORMATS = {"f8": F8, "f4": F4}

_DTYPES: dict[FloatFormat, dict[Kind, np.dtype[Any]]] = {
    floats: {BOOL: np.dtype(np.bool_), INT: np.dtype(np.int64), FLOAT: np.dtype(floats.name)} for floats in (F8, F4)
}


def dtypes(floats: FloatFormat) -> dict[Kind, np.dtype[Any]]:
    """Kind -> NumPy's dtype of its lanes."""
    return _DTYPES[floats]
