"""Several quotients by the same value share one reciprocal.

Before:                              After:
    %a = truediv %x, %d : f8             %r = recip %d : f8
    %b = truediv %y, %d : f8             %a = mul %x, %r : f8
    yield %a, %b                         %b = mul %y, %r : f8
                                         yield %a, %b

One operation more, but each quotient costs several products. Needs the part `reciprocal` of fast math.
"""

from __future__ import annotations

from collections import Counter

from pyflat.ir.nodes import Const, Function, Op, Value
from pyflat.passes.record import STRAIGHT, Pass
from pyflat.passes.rules.rewrite import Sweep, is_literal

LEAST = 2
"""Quotients that make a reciprocal worth it."""


def share_reciprocals(fn: Function) -> Function:
    """`fn`, a flat function, with shared reciprocals; `fn` itself when no divisor is met twice."""
    divisors: Counter[Value] = Counter(op.args[1] for op in fn.flat_block.ops if _is_quotient(op))
    shared = {value for value, count in divisors.items() if count >= LEAST}
    if not shared:
        return fn
    sweep = Sweep(fn)

    def change(op: Op) -> Value | None:
        if not _is_quotient(op) or op.args[1] not in shared:
            return None
        inverse = sweep.emit("recip", sweep.read(op.args[1]), origin=op.origin)
        dividend = op.args[0]
        if isinstance(dividend, Const) and dividend.value == 1.0:
            return inverse
        return sweep.emit("mul", sweep.read(dividend), inverse, origin=op.origin)

    return sweep.over(fn, change)


def _is_quotient(op: Op) -> bool:
    return op.opcode == "truediv" and not is_literal(op.args[1])


PASS = Pass(share_reciprocals, needs_gone=STRAIGHT)
