"""Algebra of real numbers: rules that change what floats give. Each names the parts of fast math that it needs.

Before:                              After, with all parts:
    %a = mul %x, 0.0 : f8                %c = mul %y, 6.0 : f8
    %b = mul %y, 2.0 : f8                yield %c
    %c = mul %b, 3.0 : f8
    %d = add %a, %c : f8
    yield %d

    finite           no operand and no result is nan or infinite
    no_signed_zeros  -0.0 is as good as 0.0
    reassoc          sums and products in another order, common factors taken out
    reciprocal       a quotient as a product with the reciprocal
    approx           powers and roots by other operations

`RULES` is the list; a test checks each in exact rational arithmetic and kills its mutants.
"""
# ruff: noqa: N803 - the words of the patterns

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Any

from pyflat.ir.nodes import Function
from pyflat.ir.types import FLOAT
from pyflat.passes.record import STRAIGHT, Pass
from pyflat.passes.rules.patterns import Rule, Where, rules
from pyflat.passes.rules.rewrite import Rules, rewrite


def _literal(compute: Callable[..., float]) -> Where:
    """The literal R of a rule; none that is not finite, or that a quotient cannot give."""

    def where(**literals: float) -> Mapping[str, Any] | None:
        if not all(map(math.isfinite, literals.values())):
            return None
        try:
            made = compute(**literals)
        except ZeroDivisionError:
            return None
        return {"R": made} if math.isfinite(made) else None

    return where


def _rule(part: str, before: str, after: str, compute: Callable[..., float] | None = None, *, by_cost: bool = False
          ) -> Rule:
    return Rule(FLOAT, before, after, _literal(compute) if compute else None, part, by_cost)


def _reciprocal(A: float) -> float:
    """1/A; a subnormal one has lost its digits."""
    inverse = 1.0 / A
    if abs(inverse) < 2.0**-1022:
        raise ZeroDivisionError
    return inverse


_ZEROS = "no_signed_zeros"
FINITE = (
    _rule("finite+no_signed_zeros", "mul(x, 0.0)", "0.0"),
    *rules(FLOAT,
        "sub(x, x) -> 0.0", "truediv(x, x) -> 1.0", "eq(x, x) -> true", "ne(x, x) -> false", "le(x, x) -> true",
        "ge(x, x) -> true", "isnan(x) -> false", "isinf(x) -> false", "isfinite(x) -> true",
        "not(lt(x, y)) -> ge(x, y)", "not(le(x, y)) -> gt(x, y)", "le(sub(x, y), 0.0) -> le(x, y)",
        "ge(sub(x, y), 0.0) -> ge(x, y)", "eq(sub(x, y), 0.0) -> eq(x, y)", "ne(sub(x, y), 0.0) -> ne(x, y)",
        part="finite",
    ),
)
SIGNED_ZEROS = (
    *rules(FLOAT, "add(x, 0.0) -> x", "sub(0.0, x) -> neg(x)", "neg(sub(x, y)) -> sub(y, x)", part=_ZEROS),
    _rule(_ZEROS, "neg(add(x, A))", "sub(R, x)", lambda A: -A),
    *rules(FLOAT,
        "select(lt(x, 0.0), neg(x), x) -> abs(x)", "select(le(x, 0.0), neg(x), x) -> abs(x)",
        "select(gt(x, 0.0), x, neg(x)) -> abs(x)", "select(ge(x, 0.0), x, neg(x)) -> abs(x)", part=_ZEROS,
    ),
    *rules(FLOAT,
        "select(le(x, y), x, y) -> min(x, y)", "select(ge(x, y), x, y) -> max(x, y)", part="finite+no_signed_zeros",
    ),
)
_R = "reassoc"
CONSTANTS = (
    _rule(_R, "add(add(x, A), B)", "add(x, R)", lambda A, B: A + B),
    _rule(_R, "sub(add(x, A), B)", "add(x, R)", lambda A, B: A - B),
    _rule(_R, "add(sub(x, A), B)", "add(x, R)", lambda A, B: B - A),
    _rule(_R, "sub(sub(x, A), B)", "sub(x, R)", lambda A, B: A + B),
    _rule(_R, "add(sub(A, x), B)", "sub(R, x)", lambda A, B: A + B),
    _rule(_R, "sub(sub(A, x), B)", "sub(R, x)", lambda A, B: A - B),
    _rule(_R, "sub(A, add(x, B))", "sub(R, x)", lambda A, B: A - B),
    _rule(_R, "sub(A, sub(B, x))", "add(x, R)", lambda A, B: A - B),
    _rule(_R, "mul(mul(x, A), B)", "mul(x, R)", lambda A, B: A * B),
    _rule(_R, "mul(truediv(x, A), B)", "mul(x, R)", lambda A, B: B / A),
    _rule(_R, "truediv(mul(x, A), B)", "mul(x, R)", lambda A, B: A / B),
    _rule(_R, "truediv(truediv(x, A), B)", "truediv(x, R)", lambda A, B: A * B),
    _rule(_R, "mul(truediv(A, x), B)", "truediv(R, x)", lambda A, B: A * B),
    _rule(_R, "add(x, mul(x, A))", "mul(x, R)", lambda A: A + 1.0),
    _rule(_R, "sub(x, mul(x, A))", "mul(x, R)", lambda A: 1.0 - A),
    _rule(_R, "sub(mul(x, A), x)", "mul(x, R)", lambda A: A - 1.0),
    _rule(_R, "add(mul(x, A), mul(x, B))", "mul(x, R)", lambda A, B: A + B),
)
FACTORS = (
    *rules(FLOAT,
        "add(mul(x, y), mul(x, z)) -> mul(x, add(y, z))", "sub(mul(x, y), mul(x, z)) -> mul(x, sub(y, z))",
        "add(truediv(x, z), truediv(y, z)) -> truediv(add(x, y), z)",
        "sub(truediv(x, z), truediv(y, z)) -> truediv(sub(x, y), z)", part=_R,
    ),
    *rules(FLOAT,
        "sub(add(x, y), y) -> x", "add(sub(x, y), y) -> x", "sub(x, sub(x, y)) -> y", "sub(x, add(x, y)) -> neg(y)",
        "sub(sub(x, y), x) -> neg(y)", "truediv(mul(x, y), y) -> x", "mul(truediv(x, y), y) -> x",
        part="finite+reassoc",
    ),
    *rules(FLOAT,
        "truediv(x, truediv(y, z)) -> truediv(mul(x, z), y)", "truediv(truediv(x, y), z) -> truediv(x, mul(y, z))",
        part=_R,
    ),
)
RECIPROCALS = (
    _rule("reciprocal", "truediv(x, A)", "mul(x, R)", _reciprocal),
    *rules(FLOAT,
        "mul(x, truediv(1.0, y)) -> truediv(x, y)", "truediv(x, truediv(1.0, y)) -> mul(x, y)", part="reciprocal",
    ),
)
POWERS = (
    _rule("approx", "pow(x, 2.0)", "mul(x, x)"),
    _rule("approx", "pow(x, 3.0)", "mul(x, mul(x, x))", by_cost=True),
    _rule("approx", "pow(x, 4.0)", "mul(mul(x, x), mul(x, x))", by_cost=True),
    *rules(FLOAT,
        "pow(x, -1.0) -> truediv(1.0, x)", "pow(x, 0.5) -> sqrt(x)", "mul(sqrt(x), sqrt(x)) -> x",
        "sqrt(mul(x, x)) -> abs(x)", "mul(sqrt(x), sqrt(y)) -> sqrt(mul(x, y))",
        "mul(exp(x), exp(y)) -> exp(add(x, y))", part="approx",
    ),
)
RULES = (*FINITE, *SIGNED_ZEROS, *CONSTANTS, *FACTORS, *RECIPROCALS, *POWERS)


@lru_cache(maxsize=64)
def _allowed(parts: frozenset[str]) -> Rules:
    return Rules([rule for rule in RULES if parts.issuperset(rule.part.split("+"))])


def fold_fast(fn: Function, parts: Collection[str] = ()) -> Function:
    """One sweep of the rules that the parts allow over a flat function; `fn` itself when none pays."""
    return rewrite(fn, _allowed(frozenset(parts)))


PASS = Pass(fold_fast, needs_gone=STRAIGHT)
