"""What the algorithms of this package are written for: a machine of floats, integers of the same width and truths.

An algorithm is a function `name(m, x)` or `name(m, x, y)` of a `Machine` and its numbers. It uses Python's operators
(+ - * / and comparisons on floats; + - & | ^ on integers; & | ~ on truths; plain Python numbers as constants) and the
primitives of `Machine`, never a Python `if` on a number: choices are selects. Two machines exist: `NumpyMachine`
here, the reference, and one that writes LLVM's IR, in the numba target. Every primitive is exact or rounded once, to
nearest, so that both give the same bits on every computer.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pyflat.functions.vmath import fused

Number = Any
"""A number or a truth of a machine: a NumPy array, a value of LLVM's IR, or a Python constant."""

Table = tuple[tuple[float, ...], tuple[float, ...]]
"""Coefficients for float64 and for float32."""


@dataclass(frozen=True, slots=True)
class Format:
    """A binary format: its digits after the leading one, exponent bias, and what follows from them."""

    name: str
    width: int
    digits: int
    bias: int

    @property
    def magic(self) -> float:
        """1.5 * 2**digits: added to a small number it leaves that number, rounded, in the low bits."""
        return 1.5 * 2.0**self.digits

    @property
    def smallest_normal(self) -> float:
        return 2.0 ** (1 - self.bias)

    @property
    def sign_bit(self) -> int:
        """As a signed integer."""
        return -(1 << (self.width - 1))

    @property
    def one_bits(self) -> int:
        return self.bias << self.digits

    @property
    def exponent_mask(self) -> int:
        """Sign and exponent, as a signed integer."""
        return -(1 << self.digits)


F8 = Format("f8", 64, 52, 1023)
F4 = Format("f4", 32, 23, 127)
FORMATS = {"f8": F8, "f4": F4}


class Machine(Protocol):
    """The primitives. Integers are as wide as the floats and wrap around."""

    format: Format

    @property
    def scales(self) -> bool:
        """Whether there is an instruction for `scaled`."""

    def scaled(self, x: Number, n: Number) -> Number:
        """x * 2.0**n rounded once, for a whole number n."""

    def fma(self, a: Number, b: Number, c: Number) -> Number:
        """a * b + c, rounded once."""

    def select(self, condition: Number, a: Number, b: Number) -> Number:
        """a where the condition holds, otherwise b. Of two Python ints it is an integer."""

    def equal(self, a: Number, b: Number) -> Number:
        """a == b; on floats false where one is nan."""

    def bits(self, x: Number) -> Number:
        """The integer with the bits of a float."""

    def floats(self, i: Number) -> Number:
        """The float with the bits of an integer."""

    def left(self, i: Number, count: int) -> Number:
        """i shifted left."""

    def right(self, i: Number, count: int) -> Number:
        """i shifted right, filled with zeros."""

    def abs(self, x: Number) -> Number: ...

    def sqrt(self, x: Number) -> Number: ...

    def rint(self, x: Number) -> Number:
        """The nearest integer as a float, ties to even."""

    def floor(self, x: Number) -> Number: ...

    def trunc(self, x: Number) -> Number: ...

    def copysign(self, x: Number, sign: Number) -> Number: ...

    def rows(self, table: Any, index: Number, columns: int) -> Sequence[Number]:
        """The first numbers of a row of a table (`exact.tables.LibraryTable`), for an index within it."""

    def chosen(self, index: Number, numbers: Sequence[float]) -> Number:
        """One of at most eight numbers, by an integer within them."""

    def near(self, value: Number, function: Callable[[float], float], x: Number) -> Number:
        """`value`, which is that rising function of x to some digits: for who computes with bounds."""

    def wide(self) -> Machine:
        """The machine of float64 with as many lanes."""

    def widen(self, x: Number) -> Number:
        """A float32 as a float64 of the wide machine."""

    def narrow(self, x: Number) -> Number:
        """A float64 of the wide machine, rounded to float32."""


class PlainMachine:
    """The primitives that NumPy has for arrays and scalars alike."""

    @property
    def scales(self) -> bool:
        return False

    def near(self, value: Number, function: Callable[[float], float], x: Number) -> Number:
        return value

    def scaled(self, x: Number, n: Number) -> Number:
        return np.ldexp(x, np.asarray(n).astype(np.int32))

    def equal(self, a: Number, b: Number) -> Number:
        return a == b

    def sqrt(self, x: Number) -> Number:
        return np.sqrt(x)

    def rint(self, x: Number) -> Number:
        return np.rint(x)

    def floor(self, x: Number) -> Number:
        return np.floor(x)

    def trunc(self, x: Number) -> Number:
        return np.trunc(x)

    def rows(self, table: Any, index: Number, columns: int) -> Sequence[Number]:
        return [table.rows[index, column] for column in range(columns)]

    def chosen(self, index: Number, numbers: Sequence[float]) -> Number:
        return np.asarray(numbers, dtype=np.float64)[index]


class NumpyMachine(PlainMachine):
    """NumPy arrays of float64 or float32 and of int64 or int32, one shape throughout; wants a quiet errstate."""

    def __init__(self, format: Format):
        self.format = format
        self._float = np.dtype(np.float64 if format is F8 else np.float32)
        self._int = np.dtype(np.int64 if format is F8 else np.int32)
        self._unsigned = np.dtype(np.uint64 if format is F8 else np.uint32)

    def _full(self, x: Number, like: Number) -> Number:
        return np.broadcast_to(np.asarray(x, dtype=self._float), np.shape(like))

    def fma(self, a: Number, b: Number, c: Number) -> Number:
        like = next(x for x in (a, b, c) if isinstance(x, np.ndarray))
        return fused.fma(self._full(a, like), self._full(b, like), self._full(c, like))

    def select(self, condition: Number, a: Number, b: Number) -> Number:
        array = next((x for x in (a, b) if isinstance(x, np.ndarray)), None)
        chosen: Any = np.where(condition, a, b)
        if array is None:
            return chosen.astype(self._int if isinstance(a, int) and isinstance(b, int) else self._float)
        return chosen.astype(array.dtype)

    def bits(self, x: Number) -> Number:
        return x.view(self._int)

    def floats(self, i: Number) -> Number:
        return i.view(self._float)

    def left(self, i: Number, count: int) -> Number:
        return i << count

    def right(self, i: Number, count: int) -> Number:
        return (i.view(self._unsigned) >> self._unsigned.type(count)).view(self._int)

    def abs(self, x: Number) -> Number:
        return np.abs(x)

    def copysign(self, x: Number, sign: Number) -> Number:
        return np.copysign(self._full(x, sign), sign) if isinstance(sign, np.ndarray) else np.copysign(x, sign)

    def wide(self) -> Machine:
        return NumpyMachine(F8)

    def widen(self, x: Number) -> Number:
        return x.astype(np.float64)

    def narrow(self, x: Number) -> Number:
        return x.astype(np.float32)


def pick(m: Machine, table: Table) -> tuple[float, ...]:
    """The coefficients of the machine's width."""
    return table[0] if m.format is F8 else table[1]


_TYPES: dict[str, tuple[type[np.floating], type[np.signedinteger], str]] = {
    "f8": (np.float64, np.int64, "dq"), "f4": (np.float32, np.int32, "fi"),
}
"""The types, and their letters in `struct`: much quicker than views of scalars."""


class ScalarMachine(PlainMachine):
    """The machine of one lane: NumPy's scalars of float64 or float32 and of int64 or int32, which round as arrays do
    and cost a fiftieth for one number; wants a quiet errstate."""

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
        plain = self._int if isinstance(a, int) and isinstance(b, int) else self._float
        return (type(other) if isinstance(other, np.generic) else plain)(chosen)

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
