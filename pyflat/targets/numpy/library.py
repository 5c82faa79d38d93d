"""Compiled code for the NumPy target: ufuncs of single operations that the numba target makes
(`targets.numba.single_operations`). The C library's functions are called lane by lane at first, and computed by vector
code with the same bits for many lanes; selects (`frames`) have several calls, or one.

It is compiled once on a machine: who finds it on disk takes it with the first large call, in a few milliseconds; who
does not compiles it after some calls, and after many where it cannot be kept for the next process. Who computes fewer
lanes never waits for a compiler, nor imports one. Where there is none, all goes on without.
"""

from __future__ import annotations

import base64
import marshal
from collections.abc import Callable, Mapping
from functools import cache
from types import CodeType
from typing import Any, Literal

import numpy as np

from pyflat.functions import libm, ways
from pyflat.functions.records import Accuracy, of_accuracy
from pyflat.ir.formats import F4, F8, FORMATS, FloatFormat
from pyflat.ir.ops import OPERATIONS
from pyflat.ir.types import FLOAT
from pyflat.targets.kept import Made
from pyflat.targets.numpy.memory import ArenaLayout

EXTREMES = ("np_maximum", "np_minimum", "np_fmax", "np_fmin")
"""Operations of this target alone (`extremes`)."""

UFUNCS: dict[str, str] = {
    **{name: row.ufunc for name, row in OPERATIONS.items() if row.ufunc},
    **{record.name: record.numpy for record in of_accuracy(Accuracy.EXACT, Accuracy.NUMPY)
       if record.numpy and record.name not in ("np_power", "np_powers")},
    **{name: name.removeprefix("np_") for name in EXTREMES},
}
"""Operation -> the ufunc that computes it."""

SHORT = 256
"""Calls with fewer lanes do not count."""

SOON = 1_024
"""Lanes that a function computes before the disk is looked at: 15 ms for the first function of a process, 0.5 for
others."""

PATIENCE, ALONE = 1 << 16, 1 << 21
"""Lanes before it is compiled, which takes 40 ms, and 30 to import the compiler; where that is for this process alone,
so many that calls have taken as long."""

Call = Callable[..., Any]


class Patience:
    """Counts lanes until it pays to look for compiled code ("kept"), and to compile it ("compiled")."""

    __slots__ = ("_lanes", "_wait")

    def __init__(self) -> None:
        self._lanes, self._wait = 0, SOON

    def after(self, n: int) -> Literal["kept", "compiled"] | None:
        """What is worth it after so many more lanes."""
        if n < SHORT:
            return None
        self._lanes += n
        if self._lanes < self._wait:
            return None
        self._wait = PATIENCE if is_kept() else ALONE
        return "compiled" if self._lanes >= self._wait else "kept"


class ArrayFunction:
    """A function of arrays of floats and a result array; `uniform` says which operands have one number for all lanes.
    Where there is a literal `exponent`, it is no operand. Of float32 lanes it is the library's function of float64
    rounded."""

    __slots__ = ("_call", "_patience", "_plain", "key")

    def __init__(self, opcode: str, exponent: float | None, uniform: tuple[bool, ...], floats: FloatFormat):
        plain = libm.ufunc(opcode)
        self.key, self._patience = (opcode, exponent, uniform, FLOAT, floats), Patience()
        self._plain: Call = plain if exponent is None else lambda x, out: plain(x, exponent, out)
        self._call: Call = self._count

    def __call__(self, *args: Any) -> Any:
        return self._call(*args)

    def _count(self, *args: Any) -> Any:
        forced = {"vector": "compiled", "plain": "never"}.get(ways.LIBRARY.forced or "")
        match forced or self._patience.after(args[-1].size):
            case "kept":
                self._call = kept(*self.key) or self._call
            case "compiled":
                self._call = compiled(*self.key) or self._plain
        call = self._plain if self._call == self._count else self._call
        ways.LIBRARY.first(call is not self._plain)
        return call(*args)


def library_function(
    opcode: str, exponent: float | None, uniform: tuple[bool, ...], floats: FloatFormat
) -> ArrayFunction:
    """One for all twins, which count their lanes together."""
    return _function(opcode, exponent, uniform, floats, ways.key())


@cache
def _function(opcode: str, exponent: float | None, uniform: tuple[bool, ...], floats: FloatFormat,
              _: tuple[str, ...]) -> ArrayFunction:
    return ArrayFunction(opcode, exponent, uniform, floats)


def literal_exponent(opcode: str, exponent: float | None) -> float | None:
    """The exponent of a power with a function of its own; None for all else."""
    from pyflat.functions.vmath import glibc

    return exponent if opcode == "pow" and exponent in glibc.POWERS else None


def has_vectors(opcode: str, floats: FloatFormat = F8) -> bool:
    """Whether there may be vector code."""
    from pyflat.functions import gamma_check
    from pyflat.functions.vmath import exact, glibc, rounding

    if opcode in gamma_check.PARTS:
        return exact.is_followed(opcode)
    return opcode in rounding.TABLE if floats is F4 else opcode in glibc.TABLE or opcode in exact.TABLE


def is_kept() -> bool:
    """Whether what is compiled now will be there for the next process."""
    return _has_compiler() and _compiler().is_kept()


def kept(*operation: Any) -> Call | None:
    """Vector code of an operation (the fields of `single_operations.Wanted`) that is on disk."""
    return _compiler().kept_ufunc(_compiler().Wanted(*operation)) if _has_compiler() else None


def compiled(*operation: Any) -> Call | None:
    """Vector code of an operation, compiled; None where there is none for this processor and library."""
    return _compiler().made_ufunc(_compiler().Wanted(*operation)) if _has_compiler() else None


@cache
def _has_compiler() -> bool:
    try:
        import llvmlite.binding  # noqa: F401 - the NumPy target goes without, where it is not there
    except (ImportError, OSError):
        return False
    return True


def _compiler() -> Any:
    from pyflat.targets.numba import single_operations

    return single_operations


# ---
# Functions of the NumPy engine for another process: their code, as Python keeps that of modules, and in words the
# objects that it names.

def made_of(code: CodeType, objects: Mapping[str, Any], block: int) -> Made | None:
    """What another process needs, None where an object is of this one: compiled code, a call of the user's."""
    notes = {name: _note(value) for name, value in objects.items()}
    return None if None in notes.values() else Made({"objects": notes, "block": block}, marshal.dumps(code))


def of_made(made: Made) -> tuple[CodeType, dict[str, Any], int]:
    """The code, its objects, and for how many lanes at a time it is."""
    objects = {name: _object(*note) for name, note in made.facts["objects"].items()}
    code: CodeType = marshal.loads(made.code)
    return code, objects, made.facts["block"]


def _note(value: Any) -> list[Any] | None:
    match value:
        case ArenaLayout():
            return ["layout", value.slots]
        case ArrayFunction():
            opcode, exponent, uniform, _, floats = value.key
            return ["library", opcode, None if exponent is None else exponent.hex(), uniform, floats.name]
        case np.ndarray():
            return ["table", value.dtype.str, base64.b64encode(value.tobytes()).decode()]
        case np.ufunc():
            names = [name for name in sorted(libm.NAMES | libm.CALLED) if libm.ufunc(name) is value]
            return ["ufunc", names[0]] if names else None
        case [int() as number]:
            return ["number", number]
    return None


def _object(what: str, *words: Any) -> Any:
    match what, *words:
        case "layout", slots:
            return ArenaLayout([tuple(slot) for slot in slots])
        case "library", opcode, exponent, uniform, floats:
            power = None if exponent is None else float.fromhex(exponent)
            return library_function(opcode, power, tuple(uniform), FORMATS[floats])
        case "table", dtype, text:
            return np.frombuffer(base64.b64decode(text), dtype).copy()
        case "ufunc", name:
            return libm.ufunc(name)
        case "number", number:
            return [number]
    raise ValueError(what)
