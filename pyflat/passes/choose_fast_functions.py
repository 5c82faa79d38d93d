"""The functions of `math="fast"`: a target's own elementary functions in the place of the C library's.

Before:                              After:
    %a = exp %x : f8                     %a = vec_exp %x : f8
    %b = pow %a, 2.0 : f8                %b = mul %a, %a : f8

Powers with a small literal exponent become products, a quotient or a root where that is within the error of the fast
function and has the special values of a power. Any form of a function; fault conditions that were there look at the new
values.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Const, Function, Value
from pyflat.ir.types import FLOAT
from pyflat.passes.record import Pass
from pyflat.passes.rules.legalise import Expansion, Legaliser, legalised
from pyflat.passes.rules.patterns import applied, rules

_POWER = applied(rules(
    FLOAT,
    "pow(x, 2.0) -> mul(x, x)",
    "pow(x, 3.0) -> mul(mul(x, x), x)",
    "pow(x, 4.0) -> mul(mul(x, x), mul(x, x))",
    "pow(x, -1.0) -> truediv(1.0, x)",
    "pow(x, -2.0) -> mul(truediv(1.0, x), truediv(1.0, x))",
    "pow(x, 0.5) -> select(eq(x, -inf), inf, add(sqrt(x), 0.0))",  # of -0.0 it is 0.0
))["pow"]


def choose_fast_functions(fn: Function, math: Mapping[str, str]) -> Function:
    """`fn` with other operations for those of the C library, as `math` says; `fn` itself where it has none of them."""
    if not any(op.opcode in math for op in all_ops(fn.body)):
        return fn
    return legalised(fn, {name: _chosen(name, fast) for name, fast in math.items()})


def _chosen(name: str, fast: str) -> Expansion:
    def rule(t: Legaliser, *args: Value) -> Value | None:
        if all(isinstance(arg, Const) for arg in args):
            return None
        power = _POWER(t, *args) if name == "pow" and not isinstance(args[0], Const) else None
        return t.raw(fast, *args) if power is None else power

    return rule


PASS = Pass(choose_fast_functions)
