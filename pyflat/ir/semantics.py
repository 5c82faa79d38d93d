"""What operations mean on lanes of each float format: for float64 the table's Python functions, for float32 these.

A float32 operation is the float64 one of the same operands, rounded: for + - * / and sqrt that is the operation of
float32 itself (float64 has more than twice its digits), and what is exact stays so. Of its own are

  floordiv, mod       CPython's algorithm with every step in float32
  nextafter           the next float32
  to_float            an int is rounded once; `exact_float` is the same, and no fault
  np_*                NumPy's own float32 loops (np.float_power has none)
  vec_*               the float32 algorithms of `pyflat.functions.vmath`

and they are total: where Python raises because a float operation leaves its domain or overflows, the value is that of
IEEE arithmetic, nan or infinite. Operands and results are Python floats (see `formats`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pyflat.functions.originals import original
from pyflat.functions.records import RECORDS, Accuracy, MathFunction, of_accuracy
from pyflat.ir.formats import F4, F8, FloatFormat
from pyflat.ir.ops import OPERATIONS, VECTOR
from pyflat.ir.types import FLOAT

Meaning = Callable[..., Any]


def meaning(opcode: str, floats: FloatFormat = F8) -> Meaning:
    """The function of Python scalars that an operation is."""
    return OPERATIONS[opcode].python if floats is F8 else _narrow(opcode)


@functools.cache
def _narrow(opcode: str) -> Meaning:
    row = OPERATIONS[opcode]
    if opcode in _OWN:
        return _OWN[opcode]
    if opcode in VECTOR:
        return _vector(opcode.removeprefix("vec_"))
    if all(result is not FLOAT for _, result in row.signatures):
        return row.python
    if opcode in ("select", "gather"):
        return row.python  # what it gives is there already
    return _rounded(row.python, _BEYOND.get(opcode))


def _rounded(python: Meaning, beyond: Meaning | None) -> Meaning:
    def call(*args: Any, **attrs: Any) -> Any:
        try:
            value = python(*args, **attrs)
        except ArithmeticError:
            return _quietly(beyond, args)
        except ValueError:
            return _quietly(beyond, args)
        return F4.rounded(value) if isinstance(value, float) else value

    return call


def _quietly(beyond: Meaning | None, args: tuple[Any, ...]) -> float:
    """What IEEE arithmetic has where Python raises."""
    if beyond is None:
        return math.nan
    with np.errstate(all="ignore"):
        return F4.rounded(float(beyond(*args)))


def _value_beyond(record: MathFunction) -> Meaning | None:
    """What the function is where CPython raises."""
    if record.accuracy is Accuracy.NUMPY or not record.faults:
        return None
    return record.beyond or (original("numpy", record.numpy) if record.numpy else None)


_BEYOND: dict[str, Meaning] = {
    **{record.name: beyond for record in RECORDS.values() if (beyond := _value_beyond(record)) is not None},
    "truediv": lambda x, y: np.float64(x) / np.float64(y),
}
"""The values of IEEE arithmetic where CPython raises: infinite or nan, so that no last digit matters."""


def _divide(a: float, b: float) -> tuple[float, float]:
    """CPython's `float_divmod` (Objects/floatobject.c), each step in float32; by zero a/b and nan."""
    x, y = np.float32(a), np.float32(b)
    with np.errstate(all="ignore"):
        if y == 0.0:
            return float(x / y), math.nan
        rest = np.fmod(x, y)
        quotient = (x - rest) / y
        if rest == 0.0:
            rest = np.copysign(np.float32(0.0), y)
        elif (y < 0.0) != (rest < 0.0):
            rest, quotient = rest + y, quotient - np.float32(1.0)
        if quotient == 0.0:
            return float(np.copysign(np.float32(0.0), x / y)), float(rest)
        down = np.floor(quotient)
        return float(down + np.float32(1.0) if quotient - down > 0.5 else down), float(rest)


def _floordiv(a: Any, b: Any) -> Any:
    return _divide(a, b)[0] if isinstance(a, float) else a // b


def _mod(a: Any, b: Any) -> Any:
    return _divide(a, b)[1] if isinstance(a, float) else a % b


def _nextafter(x: float, y: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.nextafter(np.float32(x), np.float32(y)))


def _from_int(x: int) -> float:
    return F4.from_int(int(x))


def _numpy(name: str) -> Meaning:
    ufunc = original("numpy", name)

    def call(*args: float) -> float:
        with np.errstate(all="ignore"):
            return float(ufunc(*[np.float32(x) for x in args]))

    return call


def _powers(x: float, y: float) -> float:
    """With an array of exponents, which NumPy does not look at."""
    with np.errstate(all="ignore"):
        return float(np.power(np.array([x], np.float32), np.array([y], np.float32))[0])


def _fma(x: float, y: float, z: float) -> float:
    """Rounded once, to float32."""
    from pyflat.functions.vmath import fused

    with np.errstate(all="ignore"):
        return float(fused.fma(*[np.array([each], np.float32) for each in (x, y, z)])[0])


def _vector(name: str) -> Meaning:
    from pyflat.functions import vmath

    return vmath.reference(name, "f4")


_OWN: dict[str, Meaning] = {
    "floordiv": _floordiv, "mod": _mod, "nextafter": _nextafter, "to_float": _from_int, "exact_float": _from_int,
    "fma": _fma, "isnormal": lambda x: 2.0**-126 <= abs(x) < math.inf,
    **{record.name: _numpy(record.numpy) for record in of_accuracy(Accuracy.NUMPY)
       if record.python and "f" * len(record.operands) + "->f" in original("numpy", record.numpy).types},
    "np_powers": _powers,
}
