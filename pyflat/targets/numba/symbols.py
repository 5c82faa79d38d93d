"""What machine code names: its addresses in this process, and how another process finds them.

Functions of the C library and tables of vector code have a name that says all. Tables of the program are kept with the
code, NumPy's loops by their function and types.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pyflat.errors import InternalError
from pyflat.functions import external_ufuncs, libm
from pyflat.functions.originals import original
from pyflat.ir.tables import array_of

if TYPE_CHECKING:
    from pyflat.functions.vmath.exact.tables import LibraryTable


class Symbols(dict[str, int]):
    """The addresses of what code names, and what must live as long as the code."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[object] = []
        self.notes: dict[str, Sequence[Any]] = {}
        """How another process finds what its name alone does not say."""
        self.modules: dict[str, str] = {}
        """Functions that the code calls and that are modules of their own (`called_functions`): LLVM's IR."""
        self.flags_stay = False
        """The flags that operations have raised are there after a call of one of NumPy's loops, too."""
        self._tables: dict[tuple[int, str], str] = {}

    def of_table(self, numbers: tuple[Any, ...], dtype: str) -> str:
        """The name of an array of these numbers."""
        key = id(numbers), dtype
        if key not in self._tables:
            wide = "i8" if dtype == "i4" else dtype  # of which lanes may have the lower half
            self._tables[key] = f"pyflat_table_{len(self._tables)}"
            self._add_table(self._tables[key], array_of(numbers, wide).astype(dtype, copy=False))
            self.kept.append(numbers)  # the id of the numbers is theirs
        return self._tables[key]

    def _add_table(self, name: str, array: np.ndarray[Any, Any]) -> None:
        self[name] = array.ctypes.data
        self.notes[name] = "table", array
        self.kept.append(array)

    def add_loop(self, name: str, ufunc: np.ufunc, loop: str, part: int, address: int) -> None:
        """The code (part 0) or the data (1) of a ufunc's loop."""
        self[name] = address
        own = original("numpy", ufunc.__name__) is ufunc
        known = ufunc.__name__ if own else external_ufuncs.register(ufunc)
        self.notes[name] = "numpy" if own else "external", known, loop, part

    def add_array_function(self, name: str, dtype: str, which: str) -> None:
        """One of NumPy's functions of arrays of a dtype (`array_function`)."""
        self[name] = array_function(dtype, which)
        self.notes[name] = "array", dtype, which


def notes_on(symbols: Symbols) -> tuple[dict[str, Any], bytes] | None:
    """How another process finds what code names, and the numbers of its tables; None where it cannot."""
    found: dict[str, Any] = {}
    tables = bytearray()
    for name, address in symbols.items():
        note = symbols.notes.get(name)
        if note is None:
            if not _is_address(name, address):
                return None
            found[name] = None
        elif note[0] == "table":
            found[name] = ["table", note[1].dtype.str, len(tables), len(note[1])]
            tables += note[1].tobytes()
        else:
            found[name] = list(note)
    return found, bytes(tables)


def _is_address(name: str, address: int) -> bool:
    try:
        return addresses([name])[name] == address
    except (OSError, KeyError, AttributeError, ValueError):
        return False


def symbols_of(notes: dict[str, Any], tables: bytes) -> Symbols:
    """What the notes say, in this process."""
    symbols = Symbols()
    symbols.update(addresses(name for name, note in notes.items() if note is None))
    for name, note in notes.items():
        match note:
            case "table", dtype, start, count:
                symbols._add_table(name, np.frombuffer(tables, dtype, count, start).copy())
            case "array", dtype, which:
                symbols.add_array_function(name, dtype, which)
            case whose, known, loop, part:
                ufunc = original("numpy", known) if whose == "numpy" else external_ufuncs.find(known)
                symbols[name] = loop_of(ufunc, loop)[part]
    return symbols


class _UFuncHead(ctypes.Structure):
    _fields_ = [
        ("references", ctypes.c_ssize_t), ("type", ctypes.c_void_p),
        ("nin", ctypes.c_int), ("nout", ctypes.c_int), ("nargs", ctypes.c_int), ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)), ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
    ]


def loop_of(ufunc: np.ufunc, loop: str) -> tuple[int, int]:
    """The addresses of the loop and of its data."""
    made = _UFuncHead.from_address(id(ufunc))
    if (made.nin, made.nout, made.ntypes) != (ufunc.nin, ufunc.nout, ufunc.ntypes):
        raise InternalError(f"the ufunc {ufunc.__name__} does not have NumPy's layout")
    at = ufunc.types.index(loop)
    return made.functions[at] or 0, (made.data[at] or 0) if made.data else 0


_OF_DTYPE = 365
"""PyDataType_GetArrFuncs in NumPy's table (numpy/_core/code_generators/numpy_api.py)."""
_PLACES = {"argmax": 26, "dotfunc": 27, "sort": 33, "argmin": 46}
"""Places of the pointers of PyArray_ArrFuncs (numpy/ndarraytypes.h)."""


def array_function(dtype: str, which: str) -> int:
    """The address of "argmax", "argmin", "dotfunc" or "sort" (quicksort) of a dtype; 0 where there is none."""
    of_dtype = ctypes.PYFUNCTYPE(ctypes.POINTER(ctypes.c_void_p), ctypes.py_object)
    return of_dtype(libm.numpy_functions("_ARRAY_API")[_OF_DTYPE])(np.dtype(dtype))[_PLACES[which]] or 0


def addresses(symbols: Iterable[str]) -> dict[str, int]:
    """Where in this process the tables and functions are that their names say all of (`emitter`, `vector_math`)."""
    found = {}
    for symbol in symbols:
        name = symbol.removeprefix("pyflat_")
        if name.startswith("table_"):
            found[symbol] = _library_tables()[name.removeprefix("table_")].rows.ctypes.data
        else:
            found[symbol] = libm.address(name) if name in libm.NAMES else libm.library_symbol(name)
    return found


def _library_tables() -> dict[str, LibraryTable]:
    from pyflat.functions.vmath import exact

    return {table.name: table for table in exact.TABLES}
