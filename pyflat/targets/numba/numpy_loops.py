"""Calls of a NumPy ufunc's own loop from compiled code, a lane at a time: the bits that the ufunc gives in NumPy.

A loop is a C function `void loop(char **args, npy_intp const *dimensions, npy_intp const *steps, void *data)`, kept
with its `data` in the ufunc object (`PyUFuncObject`, numpy/ufuncobject.h, whose layout is part of NumPy's ABI). NumPy
itself runs loops over numbers without the GIL.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from pyflat.errors import InternalError
from pyflat.functions import external_ufuncs as foreign

if TYPE_CHECKING:
    import numpy as np

    from pyflat.targets.numba.emitter import Emitter

_I8, _I64, _F64 = ir.IntType(8), ir.IntType(64), ir.DoubleType()
_POINTER = _I8.as_pointer()
_PLACES = {"d": ir.ArrayType(_F64, 1), "D": ir.ArrayType(_F64, 2), "l": ir.ArrayType(_I64, 1),
           "q": ir.ArrayType(_I64, 1)}
"""Where an operand or the result of each of NumPy's letters lies."""


class _UFunc(ctypes.Structure):
    _fields_ = [
        ("references", ctypes.c_ssize_t), ("type", ctypes.c_void_p),
        ("nin", ctypes.c_int), ("nout", ctypes.c_int), ("nargs", ctypes.c_int), ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)), ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
    ]


def loop_of(ufunc: np.ufunc, loop: str) -> tuple[int, int]:
    """The addresses of the loop and of its data."""
    made = _UFunc.from_address(id(ufunc))
    if (made.nin, made.nout, made.ntypes) != (ufunc.nin, ufunc.nout, ufunc.ntypes):
        raise InternalError(f"the ufunc {ufunc.__name__} does not have NumPy's layout")
    at = ufunc.types.index(loop)
    return made.functions[at] or 0, (made.data[at] or 0) if made.data else 0


def call_ufunc(e: Emitter, name: str, loop: str, part: str, *operands: Any) -> Any:
    """One float64 for each lane; `part` of it when the result is complex."""
    function, data = loop_of(foreign.find(name), loop)
    stem = f"pyflat_ufunc_{name}_{loop.replace('->', '_')}"
    e.symbols[stem] = function
    module, builder = e.builder.module, e.builder
    prototype = ir.FunctionType(ir.VoidType(), [_POINTER.as_pointer(), _I64.as_pointer(), _I64.as_pointer(), _POINTER])
    callee = module.globals.get(stem) or ir.Function(module, prototype, stem)
    letters = loop.replace("->", "")
    count = len(letters)

    def one(*numbers: Any) -> Any:
        given = iter(numbers)
        with builder.goto_entry_block():
            places = [builder.alloca(_PLACES[letter]) for letter in letters]
            arguments = builder.alloca(ir.ArrayType(_POINTER, count))
            sizes = builder.alloca(ir.ArrayType(_I64, count + 1))
        first = ir.Constant(_I64, 0)
        for k, (letter, place) in enumerate(zip(letters, places, strict=True)):
            for half in range(0 if k == count - 1 else 2 if letter == "D" else 1):
                builder.store(next(given), builder.gep(place, [first, ir.Constant(_I64, half)]))
            slot = builder.gep(arguments, [first, ir.Constant(_I64, k)])
            builder.store(builder.bitcast(place, _POINTER), slot)
            size = ir.Constant(_I64, 16 if letter == "D" else 8)
            builder.store(size, builder.gep(sizes, [first, ir.Constant(_I64, k + 1)]))
        builder.store(ir.Constant(_I64, 1), builder.gep(sizes, [first, first]))
        dimensions = builder.gep(sizes, [first, first])
        builder.call(callee, [builder.gep(arguments, [first, first]), dimensions,
                              builder.gep(sizes, [first, ir.Constant(_I64, 1)]),
                              builder.inttoptr(ir.Constant(_I64, data), _POINTER)])
        return builder.load(builder.gep(places[-1], [first, ir.Constant(_I64, int(part == "imag"))]), typ=_F64)

    return e.each(one, _F64, *operands)

