"""Linear interpolation in its two spellings is one operation.

Before:                              After:
    %a = sub 1.0, %t : f8                %d = lerp %x, %y, %t : f8
    %b = mul %x, %a : f8                 yield %d
    %c = mul %y, %t : f8
    %d = add %b, %c : f8
    yield %d

`lerp(x, y, t)` is x + t*(y - x) or x*(1 - t) + y*t, as the backend has it; they differ in the last digits, and at t = 1
in whether y comes out. Needs the parts `reassoc` and `contract` of fast math.
"""

from __future__ import annotations

from pyflat.ir.nodes import Function
from pyflat.ir.types import FLOAT
from pyflat.passes.record import STRAIGHT, Pass
from pyflat.passes.rules.patterns import rules
from pyflat.passes.rules.rewrite import Rules, rewrite

_PARTS = "reassoc+contract"




RULES = (
    *rules(FLOAT,
        "add(x, mul(t, sub(y, x))) -> lerp(x, y, t)", "sub(x, mul(t, sub(x, y))) -> lerp(x, y, t)",
        "add(mul(x, sub(1.0, t)), mul(y, t)) -> lerp(x, y, t)", "mad(t, sub(y, x), x) -> lerp(x, y, t)",
        "mad(x, sub(1.0, t), mul(y, t)) -> lerp(x, y, t)", "mad(y, t, mul(x, sub(1.0, t))) -> lerp(x, y, t)",
        part=_PARTS,
    ),
)
_RULES = Rules(RULES)


def recognise_lerp(fn: Function) -> Function:
    """One sweep over a flat function; `fn` itself when there is nothing to recognise."""
    return rewrite(fn, _RULES)


PASS = Pass(recognise_lerp, needs_gone=STRAIGHT)
