"""Single functions of the numba target as ufuncs, for the NumPy target (`numpy_library`)."""

from __future__ import annotations

from functools import cache

import numpy as np

from pyflat.ir.nodes import Block, Const, Op, Param, Value
from pyflat.ir.types import FLOAT
from pyflat.targets.numba.engine import Compiled
from pyflat.targets.numba.kernel import Kernel
from pyflat.targets.numba.library import library_function


@cache
def library_ufunc(opcode: str, exponent: float | None, uniform: tuple[bool, ...]) -> np.ufunc | None:
    """A function of float64 operands with the C library's bits; None where it would call the library for each lane.
    Operands that are `uniform` have one number for all lanes; a literal `exponent` is no operand."""
    params = [Param(FLOAT, name) for name, _ in zip(("x", "y"), uniform, strict=False)]
    operands: list[Value] = [*params, *([] if exponent is None else [Const(FLOAT, exponent)])]
    op = Op(opcode, operands, FLOAT)
    if library_function(op) is None:
        return None
    kernel = Kernel(tuple(params), (Block([op]),), (op,), None)
    entry = Compiled(kernel, uniform).entry_point(kernel, (np.dtype(np.float64),))
    if entry is None:
        return None
    _kept.append(entry)
    return entry.call


_kept: list[object] = []
"""What ufuncs point into."""
