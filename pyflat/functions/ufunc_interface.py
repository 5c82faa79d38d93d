"""NumPy's C interface of ufuncs, as far as `pyflat.runtime.ufuncs` needs it: an empty ufunc, loops that may raise, a
promoter.

    PyUFunc_FromFuncAndData    an empty numpy.ufunc
    PyUFunc_AddLoopFromSpec    a loop for some dtypes (NumPy 2.0 and later)
    PyUFunc_AddPromoter        which loop other dtypes take

The structures are those of numpy/dtype_api.h and numpy/ufuncobject.h, which are part of NumPy's ABI.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyflat.errors import InternalError
from pyflat.functions import libm

_WITH_SIGNATURE, _ADD_LOOP, _ADD_PROMOTER = 31, 43, 44
"""Slots of NumPy's ufunc interface (numpy/__ufunc_api.h)."""
_NO_IDENTITY = -1
_NO_CASTING = 0
_NO_FLOATING_POINT_ERRORS = 1 << 1
_STRIDED_LOOP = 5
_PROMOTER = b"numpy._ufunc_promoter"

LOOP = ctypes.CFUNCTYPE(ctypes.c_size_t, *[ctypes.c_void_p] * 4)
"""What a callback of `pyflat.targets.numba.strided_loop` looks like."""


class _Slot(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_int), ("function", ctypes.c_void_p)]


class _Spec(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("nin", ctypes.c_int), ("nout", ctypes.c_int), ("casting", ctypes.c_int),
                ("flags", ctypes.c_int), ("dtypes", ctypes.POINTER(ctypes.c_void_p)),
                ("slots", ctypes.POINTER(_Slot))]


class _UFunc(ctypes.Structure):
    """PyUFuncObject up to the object that it keeps alive."""

    _fields_ = [
        ("references", ctypes.c_ssize_t), ("type", ctypes.c_void_p),
        ("nin", ctypes.c_int), ("nout", ctypes.c_int), ("nargs", ctypes.c_int), ("identity", ctypes.c_int),
        ("functions", ctypes.c_void_p), ("data", ctypes.c_void_p), ("ntypes", ctypes.c_int),
        ("reserved", ctypes.c_int), ("name", ctypes.c_char_p), ("types", ctypes.c_void_p), ("doc", ctypes.c_char_p),
        ("ptr", ctypes.c_void_p), ("obj", ctypes.c_void_p),
    ]


def guarded(work: Callable[..., None]) -> Any:
    """A callback that gives 0, or a new reference to the exception that `work` has raised."""

    def call(*places: int | None) -> int:
        try:
            work(*places)
        except BaseException as error:  # noqa: BLE001 - the C code around it raises it
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(error))
            return id(error)
        return 0

    return LOOP(call)


def location(callback: Any) -> int:
    """The address of a ctypes callback."""
    return ctypes.cast(callback, ctypes.c_void_p).value or 0


def new_ufunc(name: str, text: str, inputs: int, outputs: int, keep: object, signature: str | None = None) -> np.ufunc:
    """A ufunc without loops, generalised where there is a signature. It holds `keep` as long as it lives, which holds
    its loops' code."""
    label, doc = ctypes.c_char_p(name.encode()), ctypes.c_char_p(text.encode())
    held = (label, doc, keep)
    what = (None, None, None, 0, inputs, outputs, _NO_IDENTITY, label, doc, 0)
    if signature is None:
        made: np.ufunc = libm.ufunc_interface()[1](*what)
    else:
        prototype = ctypes.PYFUNCTYPE(ctypes.py_object, *[ctypes.c_void_p] * 3, *[ctypes.c_int] * 4, ctypes.c_char_p,
                                      ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p)
        made = _function(_WITH_SIGNATURE, prototype)(*what, signature.encode())
    fields = _UFunc.from_address(id(made))
    if (fields.nin, fields.nout, fields.ntypes, fields.name, fields.obj) != (inputs, outputs, 0, label.value, None):
        raise InternalError("a ufunc of this NumPy does not have NumPy's layout")
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))
    fields.obj = id(held)
    return made


def kept(ufunc: np.ufunc) -> object:
    """What `new_ufunc` was told to keep; None for other ufuncs."""
    location = _UFunc.from_address(id(ufunc)).obj
    held = None if location is None else ctypes.cast(location, ctypes.py_object).value
    return held[2] if isinstance(held, tuple) and len(held) == 3 else None


@dataclass(frozen=True, slots=True)
class AddedLoop:
    """An inner loop: its address, and the dtypes of inputs and outputs."""

    address: int
    inputs: Sequence[np.dtype[Any]]
    outputs: Sequence[np.dtype[Any]]


def _function(slot: int, prototype: Any) -> Any:
    table = libm.ufunc_interface()[0]
    return prototype(ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[slot])


def add_loop(ufunc: np.ufunc, loop: AddedLoop) -> None:
    """NumPy copies the description; nothing is cast for it but by NumPy's own rules."""
    types = [id(type(dtype)) for dtype in (*loop.inputs, *loop.outputs)]
    dtypes = (ctypes.c_void_p * len(types))(*types)
    slots = (_Slot * 2)(_Slot(_STRIDED_LOOP, loop.address), _Slot(0, None))
    spec = _Spec(b"twin", len(loop.inputs), len(loop.outputs), _NO_CASTING, _NO_FLOATING_POINT_ERRORS, dtypes, slots)
    add = _function(_ADD_LOOP, ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(_Spec)))
    add(ufunc, ctypes.byref(spec))


def list_types(ufunc: np.ufunc, rows: Sequence[Sequence[np.dtype[Any]]]) -> object:
    """What `ufunc.types` says: the dtypes of each loop. Gives what has to live as long as the ufunc does.

    It is for readers only: NumPy finds loops of the newer interface by dtype classes, and looks at this table where
    there is none, to try a safe cast to one of its rows.
    """
    table = ctypes.create_string_buffer(bytes(dtype.num for row in rows for dtype in row))
    fields = _UFunc.from_address(id(ufunc))
    fields.types, fields.ntypes = ctypes.addressof(table), len(rows)
    return table


def has_plain_loops(ufunc: np.ufunc) -> bool:
    """Whether there are loops of the older interface, which others may call by their addresses."""
    return bool(_UFunc.from_address(id(ufunc)).functions)


def add_promoter(ufunc: np.ufunc, address: int) -> None:
    """The promoter is asked for all dtypes for which there is no loop."""
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    add = _function(_ADD_PROMOTER, ctypes.PYFUNCTYPE(ctypes.c_int, *[ctypes.py_object] * 3))
    add(ufunc, (np.dtype,) * (ufunc.nin + ufunc.nout), capsule(address, _PROMOTER, None))


def dtype_classes(place: int | None, count: int) -> list[Any]:
    """An array of pointers to dtype classes, None where there is none."""
    pointers = (ctypes.c_void_p * count).from_address(place or 0)
    return [None if p is None else ctypes.cast(p, ctypes.py_object).value for p in pointers]


def give_dtypes(place: int | None, dtypes: Sequence[np.dtype[Any]]) -> None:
    """Write new references to the dtypes' classes into an array of pointers."""
    pointers = (ctypes.c_void_p * len(dtypes)).from_address(place or 0)
    for k, dtype in enumerate(dtypes):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(type(dtype)))
        pointers[k] = id(type(dtype))
