"""Compiled ufuncs of other packages (scipy.special, ...): one operation where they have a loop over floats."""

from __future__ import annotations

import libcst as cst
import numpy as np

from pyflat.frontend.space import complex_numbers, scalars
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import complex_parts, lane, numeric_kind
from pyflat.frontend.state.values import Abstract, Arguments, Complex, Static
from pyflat.functions import external_ufuncs, ufunc_interface
from pyflat.ir.nodes import Value
from pyflat.ir.types import BOOL, FLOAT, INT


def call(s: Evaluator, ufunc: np.ufunc, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """The operation for a call with numbers; refused where NumPy would choose no loop over int64 and float64."""
    values = arguments.positional
    if (made := s.split_first(values, lambda *row: s.space.call(
            Static(ufunc), Arguments([*row], arguments.named), node))) is not None:
        return made
    types = [_type(value) for value in values]
    if arguments.named or len(values) != ufunc.nin or None in types:
        raise s.refuse("flatten/unknown-call", f"these arguments of {ufunc.__name__}", node,
                       help=f"call it with {ufunc.nin} numbers and no options")
    if not ufunc_interface.has_plain_loops(ufunc):
        raise s.refuse("flatten/unknown-call", f"{ufunc.__name__} has no loop that compiled code can call", node,
                       help="call the function that it was made from")
    loop = external_ufuncs.loop_for(ufunc, [t for t in types if t is not None])
    if loop is None:
        raise s.refuse("flatten/unknown-call", f"{ufunc.__name__} has no loop over these kinds of numbers that returns "
                       "one float", node, help="pass floats, or compute it outside and pass the result")
    operands = [operand for value, letter in zip(values, loop, strict=False) for operand in _operands(s, value, letter)]
    name = external_ufuncs.register(ufunc)

    def one(part: str) -> Value:
        return s.build.op("ufunc", *operands, kind=FLOAT, loop=loop, part=part, ufunc=name)

    s.widths.seen = True
    return Complex(one("real"), one("imag")) if loop.endswith("D") else s.mark_numpy(one(""))


def _type(value: Abstract) -> type | None:
    if complex_parts(value) is not None:
        return complex
    kind = numeric_kind(value)
    return None if kind is None else {FLOAT: float, BOOL: bool}.get(kind, int)


def _operands(s: Evaluator, value: Abstract, letter: str) -> list[Value]:
    if letter == "D":
        parts = complex_numbers.promoted(s, value)
        return [lane(parts.real), lane(parts.imag)]
    number = lane(value)
    if letter == "d":
        return [number if number.kind is FLOAT else s.build.op("to_float", number)]
    return [scalars.to_kind(s, number, INT)]
