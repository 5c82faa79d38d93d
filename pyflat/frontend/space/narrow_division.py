"""`//` and `%` of float32, operation by operation as NumPy computes them (`npy_divmodf` in its npy_math).

    m = fmod(x, y)      exact
    d = (x - m) / y     each step rounded to float32, then d is floored, and one more where it was nearly the next

Infinities, nan and divisors of zero, at which NumPy may warn, are left to the original.
"""

from __future__ import annotations

from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.ir.build import const
from pyflat.ir.nodes import Value

FORMAT = "f4"


def divided(s: Evaluator, opcode: str, x: Value, y: Value) -> Value:
    """`x // y`, or `x % y` where the opcode is "mod", of two float32 numbers; the result is one."""
    op, zero = s.build.op, const(0.0)
    for number in (x, y):
        heap.suspect_if(s, op("not", op("isfinite", number)), "a float32 that is not finite", s.frame.captured.tree)
    heap.suspect_if(s, op("eq", y, zero), "a division by zero", s.frame.captured.tree)
    rest = op("fmod", x, y)
    quotient = _rounded(s, "divide", _rounded(s, "sub", x, rest), y)
    heap.suspect_if(s, op("not", op("isfinite", quotient)), "a quotient that overflows", s.frame.captured.tree)
    is_whole = op("eq", rest, zero)
    below = op("and", op("not", is_whole), op("ne", op("lt", y, zero), op("lt", rest, zero)))
    if opcode == "mod":
        moved = op("select", below, _rounded(s, "add", rest, y), rest)
        return op("select", is_whole, op("copysign", zero, y), moved)
    quotient = op("select", below, _rounded(s, "sub", quotient, const(1.0)), quotient)
    down = op("floor", quotient)
    nearly = op("gt", _rounded(s, "sub", quotient, down), const(0.5))
    whole = op("select", nearly, _rounded(s, "add", down, const(1.0)), down)
    return op("select", op("eq", quotient, zero), op("copysign", zero, _rounded(s, "divide", x, y)), whole)


def _rounded(s: Evaluator, opcode: str, a: Value, b: Value) -> Value:
    return s.build.op("rounded", s.build.op(opcode, a, b), dtype=FORMAT)
