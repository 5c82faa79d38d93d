"""Operands that a kernel reads as they are stored: where a function is cheap, a kernel for their dtypes.

    %n: i8, %m: i8 of int64                  %n: i8, %m: i8 of int32
    %0 = mul_overflows %n, %m                loaded with their signs, in registers
    %1 = mul %n, %m                          %1 = mul %n, %m        between -2**62 and 2**62: it cannot overflow

To convert a block of lanes (`feed`) takes longer than what such a function computes of it, and what the dtype says
about the numbers takes tests out of it. Other functions have their operands converted by blocks, which needs no kernel
of its own: forty columns have more combinations of dtypes than anyone compiles.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pyflat.functions import ways
from pyflat.ir.nodes import Param, Value

if TYPE_CHECKING:
    from pyflat.analysis.intervals import Interval

Stored = tuple[str, ...]
"""For each parameter the dtype that a kernel reads it from, "" where that is the lanes' own; empty where all are."""

WORTH = 100.0
"""Adds of a register: a function that costs more for each operand to convert does not gain by a kernel of its own."""

MOST_KERNELS = 4
"""For each pattern of uniform arguments: combinations of dtypes that get a kernel."""


def stored_of(cost: float, lanes: Sequence[np.dtype[Any]], given: Sequence[np.dtype[Any] | None]) -> Stored:
    """What is read as it is stored by a kernel of this cost for operands of these dtypes, None for a scalar."""
    if cost == math.inf:
        return ()
    found = tuple([dtype.str if dtype is not None and dtype != lane and _is_extended(dtype) else ""
                   for dtype, lane in zip(given, lanes, strict=True)])
    worth = any(found) and cost <= WORTH * sum(map(bool, found))
    return found if any(found) and ways.OPERANDS.first(worth) else ()


def dtypes_of(params: Sequence[Param], stored: Stored) -> Mapping[Param, np.dtype[Any]]:
    """The dtypes of the parameters that are not stored as lanes."""
    return {param: np.dtype(name) for param, name in zip(params, stored, strict=False) if name}


def intervals_of(stored: Mapping[Param, np.dtype[Any]]) -> Mapping[Value, Interval]:
    """Where ints of these dtypes lie."""
    from pyflat.analysis.intervals import Interval

    limits = [(param, np.iinfo(dtype)) for param, dtype in stored.items() if dtype.kind in "iu"]
    return {param: Interval(int(each.min), int(each.max)) for param, each in limits}


def _is_extended(dtype: np.dtype[Any]) -> bool:
    """Of uint64 a number may be beyond int64, which whoever converts it notes."""
    return dtype.kind in "if" or (dtype.kind == "u" and dtype.itemsize < 8)
