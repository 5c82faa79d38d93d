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
from pyflat.passes.rules.patterns import Rule
from pyflat.passes.rules.rewrite import Rules, rewrite

_PARTS = "reassoc+contract"




RULES = (
    Rule("from the first end", FLOAT, "add(x, mul(t, sub(y, x)))", "lerp(x, y, t)", None, _PARTS),
    Rule("from the other end", FLOAT, "sub(x, mul(t, sub(x, y)))", "lerp(x, y, t)", None, _PARTS),
    Rule("weights", FLOAT, "add(mul(x, sub(1.0, t)), mul(y, t))", "lerp(x, y, t)", None, _PARTS),
    Rule("from the first end, fused", FLOAT, "mad(t, sub(y, x), x)", "lerp(x, y, t)", None, _PARTS),
    Rule("weights, fused", FLOAT, "mad(x, sub(1.0, t), mul(y, t))", "lerp(x, y, t)", None, _PARTS),
    Rule("weights, fused the other way", FLOAT, "mad(y, t, mul(x, sub(1.0, t)))", "lerp(x, y, t)", None, _PARTS),
)
_RULES = Rules(RULES)


def recognise_lerp(fn: Function) -> Function:
    """One sweep over a flat function; `fn` itself when there is nothing to recognise."""
    return rewrite(fn, _RULES)


PASS = Pass(recognise_lerp, needs_gone=STRAIGHT)
