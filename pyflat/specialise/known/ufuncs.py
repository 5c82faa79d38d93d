"""Compiled ufuncs of other packages (scipy.special, ...): one operation where they have a loop over floats."""

from __future__ import annotations

import libcst as cst
import numpy as np

from pyflat.ir import foreign
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.specialise import calls
from pyflat.specialise import numbers as num
from pyflat.specialise.frames import Specialiser
from pyflat.specialise.merge import lane
from pyflat.specialise.values import Abstract, Choice, Static, numeric_kind


def call(s: Specialiser, ufunc: np.ufunc, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    """The operation for a call with numbers; refused where NumPy would choose no loop over int64 and float64."""
    values = arguments.positional
    for position, value in enumerate(values):
        if isinstance(value, Choice):
            def with_one(one: Abstract, at: int = position) -> Abstract:
                replaced = [*values[:at], one, *values[at + 1:]]
                return calls.call(s, Static(ufunc), calls.Arguments(replaced, arguments.named), node)

            return s.split(value, with_one)
    kinds = [INT if numeric_kind(value) is BOOL else numeric_kind(value) for value in values]
    if arguments.named or len(values) != ufunc.nin or None in kinds:
        raise s.refuse("flatten/unknown-call", f"these arguments of {ufunc.__name__}", node,
                       help=f"call it with {ufunc.nin} numbers and no options")
    known = tuple(kind for kind in kinds if kind is not None)
    loop = foreign.loop_for(ufunc, known)
    if loop is None:
        raise s.refuse("flatten/unknown-call", f"{ufunc.__name__} has no loop over these kinds of numbers that gives "
                       "one float", node, help="pass floats, or compute it outside and pass the result")
    operands = []
    for value, kind in zip(values, foreign.operand_kinds(loop), strict=True):
        number = lane(value)
        operands.append(number if number.kind is kind else num.to_kind(s, number, INT) if kind is INT
                        else s.build.op("to_float", number))
    result = s.build.op("ufunc", *operands, kind=FLOAT, loop=loop, ufunc=foreign.register(ufunc))
    s.saw_numpy = True
    return s.mark_numpy(result)
