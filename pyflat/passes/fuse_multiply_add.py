"""A product that is only added to something is one operation with the sum.

Before:                              After:
    %a = mul %x, %y : f8                 %b = mad %x, %y, %z : f8
    %b = add %a, %z : f8                 yield %b
    yield %b

`mad(x, y, z)` is x*y + z with one or two roundings, as the backend has it; `fma` has one. Needs the part `contract` of
fast math: a fused product differs from two operations in the last digit.
"""
# ruff: noqa: N803 - the words of the patterns

from __future__ import annotations

from functools import lru_cache

from pyflat.ir.nodes import Function
from pyflat.ir.types import FLOAT
from pyflat.passes.record import STRAIGHT, Pass
from pyflat.passes.rules.patterns import Rule, rules
from pyflat.passes.rules.rewrite import Rules, rewrite


def _minus(A: float) -> dict[str, float]:
    return {"R": -A}


def fusing(opcode: str) -> tuple[Rule, ...]:
    return (
        Rule(FLOAT, "add(mul(x, y), z)", f"{opcode}(x, y, z)", part="contract"),
        Rule(FLOAT, "sub(mul(x, y), A)", f"{opcode}(x, y, R)", _minus, part="contract"),
        Rule(FLOAT, "sub(z, mul(x, A))", f"{opcode}(x, R, z)", _minus, part="contract"),
        *rules(FLOAT,
            f"sub(z, mul(neg(x), y)) -> {opcode}(x, y, z)", f"sub(mul(x, y), neg(z)) -> {opcode}(x, y, z)",
            part="contract",
        ),
    )


@lru_cache(maxsize=2)
def _fusing(opcode: str) -> Rules:
    return Rules(fusing(opcode))


def fuse_multiply_add(fn: Function, opcode: str = "mad") -> Function:
    """One sweep over a flat function; `fn` itself when nothing fuses. `opcode` is "mad" or "fma"."""
    return rewrite(fn, _fusing(opcode))


PASS = Pass(fuse_multiply_add, needs_gone=STRAIGHT)
