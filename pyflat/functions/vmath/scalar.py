"""The machine of one lane: NumPy's scalars, which round as arrays do and cost a fiftieth for one number."""

from __future__ import annotations

import math
import struct

import numpy as np

from pyflat.functions.vmath import fused
from pyflat.functions.vmath.machine import F8, Format, Machine, Number, PlainMachine

_TYPES: dict[str, tuple[type[np.floating], type[np.signedinteger], str]] = {
    "f8": (np.float64, np.int64, "dq"), "f4": (np.float32, np.int32, "fi"),
}
"""The types, and their letters in `struct`: much quicker than views of scalars."""


class ScalarMachine(PlainMachine):
    """Scalars of float64 or float32 and of int64 or int32 (see `pyflat.functions.vmath.machine`); wants a quiet
    errstate."""

    def __init__(self, format: Format):
        self.format = format
        self._float, self._int, self._letters = _TYPES[format.name]
        self._ones = (1 << format.width) - 1

    def fma(self, a: Number, b: Number, c: Number) -> Number:
        if self.format is F8:
            return np.float64(fused.exact(float(a), float(b), float(c)))
        return fused.fma(*[np.array([x], dtype=np.float32) for x in (a, b, c)])[0]

    def select(self, condition: Number, a: Number, b: Number) -> Number:
        chosen, other = (a, b) if condition else (b, a)
        if isinstance(chosen, np.generic):
            return chosen
        return (type(other) if isinstance(other, np.generic) else self._float)(chosen)

    def bits(self, x: Number) -> Number:
        return self._int(struct.unpack(self._letters[1], struct.pack(self._letters[0], x))[0])

    def floats(self, i: Number) -> Number:
        return self._float(struct.unpack(self._letters[0], struct.pack(self._letters[1], i))[0])

    def left(self, i: Number, count: int) -> Number:
        return i << self._int(count)

    def right(self, i: Number, count: int) -> Number:
        return self._int((int(i) & self._ones) >> count)

    def abs(self, x: Number) -> Number:
        return abs(x)

    def copysign(self, x: Number, sign: Number) -> Number:
        return self._float(math.copysign(x, sign))

    def wide(self) -> Machine:
        return ScalarMachine(F8)

    def widen(self, x: Number) -> Number:
        return np.float64(x)

    def narrow(self, x: Number) -> Number:
        return np.float32(x)
