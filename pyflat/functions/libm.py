"""The C library's elementary functions as NumPy ufuncs and as raw addresses.

NumPy's own `exp`, `sin`, ... are vectorised and differ from `math.exp`, ... in the last digit of some lanes. CPython
calls the C library, so a twin that calls the same functions gives the same bits. `ufunc(name)` wraps the library's
function into a genuine `numpy.ufunc` (with NumPy's own generic loops, through NumPy's C interface);
`address(name)` is what compiled code calls.

CPython is the meaning, the library only the means: at first use each function is compared with CPython on a table
of edge and ordinary points, and where a platform's CPython does something of its own, CPython's function itself is
called lane by lane. Where CPython raises, the result is nan or infinite.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import platform
import struct
import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from pyflat.errors import InternalError
from pyflat.functions.locks import brief
from pyflat.functions.records import RECORDS, Accuracy, of_accuracy

_LIBRARY_OWN = ("fmod", "remainder", "nextafter")
"""Functions that are exact by definition; the library's are the ones CPython has."""

NAMES: frozenset[str] = frozenset([record.name for record in of_accuracy(Accuracy.LIBM)] + list(_LIBRARY_OWN))
"""The functions that the C library provides."""

CALLED: frozenset[str] = frozenset(
    record.name for record in of_accuracy(Accuracy.CALL) if set(record.operands) == {"d"})
"""Functions of floats that CPython computes with code of its own."""

_FROM_FUNC_AND_DATA = 1
_LOOPS = {(1, False): 5, (2, False): 15, (2, True): 14}
"""Slots of NumPy's ufunc interface (numpy/__ufunc_api.h); of loops by operands, and whether these are float32."""

_NPY_FLOAT, _NPY_DOUBLE = 11, 12
_UFUNC_NONE = -1
FENV_BYTES = 128
"""More than `fenv_t` of any C library."""
X86 = platform.machine().lower() in ("x86_64", "amd64")
WATCHED = 0x04 | 0x08 | 0x10 if sys.platform == "win32" else 0x01 | 0x04 | 0x08 if X86 else 0x01 | 0x02 | 0x04
"""FE_INVALID, FE_DIVBYZERO and FE_OVERFLOW, the flags of what NumPy warns of, in fenv.h: of Windows, of x86, and
of aarch64."""

_forever: list[object] = []
"""Buffers and callbacks that compiled loops point into."""

raised: list[BaseException] = []
"""Exceptions (a KeyboardInterrupt, say) that a callback could not let pass through C code."""

Function = Callable[..., float]


def _candidates() -> Iterator[str | None]:
    """Names of the C library; the process itself first, because `find_library` starts other programs."""
    if sys.platform == "win32":
        yield from ("ucrtbase", "msvcrt")
        return
    yield None
    from ctypes import util  # with what it takes to start programs

    yield util.find_library("m")


@cache
def _library() -> ctypes.CDLL:
    """The C library that has the elementary functions; OSError when none is found."""
    for candidate in _candidates():
        try:
            library = ctypes.CDLL(candidate)
        except OSError:
            continue
        if hasattr(library, "exp") and hasattr(library, "pow"):
            return library
    raise OSError("no shared library with the C library's exp and pow was found, and pyflat needs its functions")


def operand_count(name: str) -> int:
    return len(RECORDS[name].operands)


def total(name: str) -> Function:
    """CPython's function on Python floats, made total: infinite where it overflows, nan where it raises else."""
    python, odd_always = RECORDS[name].function(), RECORDS[name].odd

    def call(*args: float) -> float:
        try:
            return float(python(*args))
        except OverflowError:
            odd = odd_always or (name == "pow" and math.fmod(args[1], 2.0) != 0.0)
            return math.copysign(math.inf, args[0]) if odd else math.inf
        except (ArithmeticError, ValueError):
            return math.nan

    return call


# --- which function gives CPython's bits

_EDGES = (0.0, 1.0, 0.5, 2.0, 3.0, 0.1, 1e-5, 5e-324, 2.3e-308, 1e-200, 0.9999999999, 1.5, 7.25, 30.0, 710.0, 1e5,
          2.0**53, 1e15 + 0.5, 1e200, 1.7e308, math.inf, math.nan)
_TABLE = tuple(s * x for x in _EDGES for s in (1.0, -1.0))


@cache
def _ordinary(count: int) -> tuple[float, ...]:
    """A fixed sequence of numbers of all signs and many magnitudes, without touching the program's random state."""
    state, numbers = 1, []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        numbers.append(math.ldexp(state / 2**63 - 1.0, state % 23 - 16))
    return tuple(numbers)


def points(name: str) -> Iterator[tuple[float, ...]]:
    """Operands on which an implementation of `name` is compared with CPython."""
    if operand_count(name) == 1:
        yield from ((x,) for x in _TABLE + _ordinary(200))
        return
    yield from itertools.product(_TABLE, repeat=2)
    numbers = _ordinary(400)
    yield from zip(numbers[::2], numbers[1::2], strict=True)


def same_bits(a: float, b: float) -> bool:
    """Equal, and equally signed zeros; any nan is any other."""
    return (math.isnan(a) and math.isnan(b)) or struct.pack("d", a) == struct.pack("d", b)


def agrees(name: str, function: Function) -> bool:
    """Whether `function` gives CPython's bits at the points where CPython returns, and nan or inf elsewhere."""
    python = RECORDS[name].function()
    for args in points(name):
        value = function(*args)
        try:
            expected = python(*args)
        except (ArithmeticError, ValueError):
            if math.isfinite(value):
                return False
            continue
        if not same_bits(value, expected):
            return False
    return True


def _prototype(name: str) -> Any:
    return ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * operand_count(name))


@cache
def symbol_address(name: str) -> int | None:
    """Where the function is that the dynamic linker gives CPython (a library that LD_PRELOAD names comes first)."""
    if name not in NAMES:
        return None
    symbol = RECORDS[name].symbol or name
    scopes = (_library(),) if sys.platform == "win32" else (ctypes.CDLL(None), _library())
    holder = next((scope for scope in scopes if hasattr(scope, symbol)), None)
    return None if holder is None else ctypes.cast(getattr(holder, symbol), ctypes.c_void_p).value


@cache
def _library_address(name: str) -> int | None:
    """The address of the library's function if it gives CPython's bits."""
    location = symbol_address(name)
    if location is None or not agrees(name, _prototype(name)(location)):
        return None
    return location


def from_library(name: str) -> bool:
    """Whether the C library's function is used; False: CPython's is called lane by lane."""
    with brief:
        return _library_address(name) is not None


def callback(function: Callable[..., float], *operands: Any) -> int:
    """The address of a C function of the given ctypes operands, returning double, that calls `function`.

    An exception cannot pass through C: it is kept, the lane is nan, and `raise_pending` raises it afterwards.
    """

    def call(*args: Any) -> float:
        try:
            return function(*args)
        except BaseException as error:  # noqa: BLE001 - kept, and raised by raise_pending
            raised.append(error)
            return math.nan

    thunk = ctypes.CFUNCTYPE(ctypes.c_double, *operands)(call)
    _forever.append(thunk)
    location = ctypes.cast(thunk, ctypes.c_void_p).value
    if location is None:
        raise InternalError("a callback without an address")
    return location


def raise_pending() -> None:
    """Raise what a callback could not raise through C code."""
    if raised:
        error = raised[0]
        raised.clear()
        raise error


@cache
def _address(name: str) -> int:
    location = _library_address(name)
    return callback(total(name), *[ctypes.c_double] * operand_count(name)) if location is None else location


def address(name: str) -> int:
    """The address of a C function `double name(double[, double])` with CPython's bits, total.

    Valid as long as the process lives. It may call back into Python (see `from_library`): use `raise_pending`.
    """
    if name not in NAMES | CALLED:
        raise InternalError(f"the C library's table has no function {name}")
    with brief:
        return _address(name)


@cache
def round_digits_address() -> int:
    """The address of `double round_digits(double, int64)`: CPython's round, total."""
    return callback(total("round_digits"), ctypes.c_double, ctypes.c_int64)


@cache
def library_symbol(name: str) -> int:
    """The address of any other function of the library (`ldexp`, `fegetenv`); OSError if it has none."""
    location = ctypes.cast(getattr(_library(), name), ctypes.c_void_p).value if hasattr(_library(), name) else None
    if location is None:
        raise OSError(f"the C library has no {name}")
    return location


# --- ufuncs


def numpy_functions(name: str) -> Any:
    """A table of NumPy's C functions, `_ARRAY_API` or `_UFUNC_API`: addresses by the numbers in NumPy's headers."""
    core = getattr(np, "_core", None) or np.core
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = pointer(getattr(core._multiarray_umath, name), None)
    return ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))


@cache
def ufunc_interface() -> tuple[Any, Callable[..., Any]]:
    """NumPy's table of C functions, and its maker of ufuncs."""
    table = numpy_functions("_UFUNC_API")
    numbers = [ctypes.c_int] * 4
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, *[ctypes.c_void_p] * 3, *numbers, ctypes.c_char_p, ctypes.c_char_p,
                                  ctypes.c_int)
    return table, prototype(table[_FROM_FUNC_AND_DATA])


def native_ufunc(name: str, location: int, operands: int, *, narrow: bool = False) -> np.ufunc:
    """A ufunc of doubles, or float32, around the C function at `location`; its buffers live for ever."""
    table, make = ufunc_interface()
    loop = table[_LOOPS[operands, narrow]]
    loops = (ctypes.c_void_p * 1)(loop)
    data = (ctypes.c_void_p * 1)(location)
    types = (ctypes.c_byte * (operands + 1))(*[_NPY_FLOAT if narrow else _NPY_DOUBLE] * (operands + 1))
    label = ctypes.c_char_p(name.encode())
    text = ctypes.c_char_p(f"{name} of the C library, with the bits of {'NumPy' if narrow else 'CPython'}.".encode())
    _forever.extend((loops, data, types, label, text))
    made = make(ctypes.addressof(loops), ctypes.addressof(data), ctypes.addressof(types), 1, operands, 1, _UFUNC_NONE,
                label, text, 0)
    assert isinstance(made, np.ufunc)
    return made


def _called_ufunc(name: str) -> Callable[..., Any]:
    """CPython's function, lane by lane."""
    count = operand_count(name)
    objects = np.frompyfunc(total(name), count, 1)

    def call(*args: Any) -> Any:
        """The operands, and perhaps an array for the result."""
        found = np.float64(objects(*[np.asarray(a, dtype=np.float64) for a in args[:count]]))
        for out in args[count:]:
            out[...] = found
        return found

    call.__name__ = call.__qualname__ = name
    return call


@cache
def _ufunc(name: str) -> Callable[..., Any]:
    location = _library_address(name)
    return _called_ufunc(name) if location is None else native_ufunc(name, location, operand_count(name))


def ufunc(name: str) -> Callable[..., Any]:
    """`name` on float64 lanes (anything NumPy casts to float64), with CPython's bits: a numpy.ufunc where the C
    library's function has them, otherwise a function with the same call that runs lane by lane."""
    if name not in NAMES | CALLED:
        raise InternalError(f"the C library's table has no function {name}")
    with brief:
        return _ufunc(name)


# --- the floating-point status


@cache
def _status() -> tuple[Callable[[int], int], Callable[[int], int]]:
    prototype = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
    return prototype(library_symbol("fegetenv")), prototype(library_symbol("fesetenv"))


class saved_status:  # noqa: N801 - a context manager is used like a function
    """Leaves the floating-point status flags and modes of this thread as they were."""

    __slots__ = ("_buffer",)

    def __enter__(self) -> None:
        self._buffer = ctypes.create_string_buffer(FENV_BYTES)
        _status()[0](ctypes.addressof(self._buffer))

    def __exit__(self, *exception: object) -> None:
        _status()[1](ctypes.addressof(self._buffer))
