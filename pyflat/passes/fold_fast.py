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
from pyflat.ir.types import FLOAT, Kind
from pyflat.passes.record import STRAIGHT, Pass
from pyflat.passes.rules.patterns import Rule, Where
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


def _rule(part: str, name: str, before: str, after: str, compute: Callable[..., float] | None = None,
          *, by_cost: bool = False, kind: Kind = FLOAT) -> Rule:
    return Rule(name, kind, before, after, _literal(compute) if compute else None, part, by_cost)


def _reciprocal(A: float) -> float:
    """1/A; a subnormal one has lost its digits."""
    inverse = 1.0 / A
    if abs(inverse) < 2.0**-1022:
        raise ZeroDivisionError
    return inverse


_ZEROS = "no_signed_zeros"
FINITE = (
    _rule("finite+no_signed_zeros", "times zero", "mul(x, 0.0)", "0.0"),
    _rule("finite", "minus itself", "sub(x, x)", "0.0"),
    _rule("finite", "by itself", "truediv(x, x)", "1.0"),
    _rule("finite", "equal to itself", "eq(x, x)", "true"),
    _rule("finite", "unequal to itself", "ne(x, x)", "false"),
    _rule("finite", "at most itself", "le(x, x)", "true"),
    _rule("finite", "at least itself", "ge(x, x)", "true"),
    _rule("finite", "never nan", "isnan(x)", "false"),
    _rule("finite", "never infinite", "isinf(x)", "false"),
    _rule("finite", "always finite", "isfinite(x)", "true"),
    _rule("finite", "not less", "not(lt(x, y))", "ge(x, y)"),
    _rule("finite", "not at most", "not(le(x, y))", "gt(x, y)"),
    _rule("finite", "difference at most zero", "le(sub(x, y), 0.0)", "le(x, y)"),
    _rule("finite", "difference at least zero", "ge(sub(x, y), 0.0)", "ge(x, y)"),
    _rule("finite", "difference zero", "eq(sub(x, y), 0.0)", "eq(x, y)"),
    _rule("finite", "difference not zero", "ne(sub(x, y), 0.0)", "ne(x, y)"),
)
SIGNED_ZEROS = (
    _rule(_ZEROS, "plus zero", "add(x, 0.0)", "x"),
    _rule(_ZEROS, "from zero", "sub(0.0, x)", "neg(x)"),
    _rule(_ZEROS, "negated difference", "neg(sub(x, y))", "sub(y, x)"),
    _rule(_ZEROS, "negated sum", "neg(add(x, A))", "sub(R, x)", lambda A: -A),
    _rule(_ZEROS, "abs by lt", "select(lt(x, 0.0), neg(x), x)", "abs(x)"),
    _rule(_ZEROS, "abs by le", "select(le(x, 0.0), neg(x), x)", "abs(x)"),
    _rule(_ZEROS, "abs by gt", "select(gt(x, 0.0), x, neg(x))", "abs(x)"),
    _rule(_ZEROS, "abs by ge", "select(ge(x, 0.0), x, neg(x))", "abs(x)"),
    _rule("finite+no_signed_zeros", "min or equal", "select(le(x, y), x, y)", "min(x, y)"),
    _rule("finite+no_signed_zeros", "max or equal", "select(ge(x, y), x, y)", "max(x, y)"),
)
_R = "reassoc"
CONSTANTS = (
    _rule(_R, "add twice", "add(add(x, A), B)", "add(x, R)", lambda A, B: A + B),
    _rule(_R, "add, subtract", "sub(add(x, A), B)", "add(x, R)", lambda A, B: A - B),
    _rule(_R, "subtract, add", "add(sub(x, A), B)", "add(x, R)", lambda A, B: B - A),
    _rule(_R, "subtract twice", "sub(sub(x, A), B)", "sub(x, R)", lambda A, B: A + B),
    _rule(_R, "from literal, add", "add(sub(A, x), B)", "sub(R, x)", lambda A, B: A + B),
    _rule(_R, "from literal, subtract", "sub(sub(A, x), B)", "sub(R, x)", lambda A, B: A - B),
    _rule(_R, "literal less sum", "sub(A, add(x, B))", "sub(R, x)", lambda A, B: A - B),
    _rule(_R, "literal less rest", "sub(A, sub(B, x))", "add(x, R)", lambda A, B: A - B),
    _rule(_R, "scale twice", "mul(mul(x, A), B)", "mul(x, R)", lambda A, B: A * B),
    _rule(_R, "divide, scale", "mul(truediv(x, A), B)", "mul(x, R)", lambda A, B: B / A),
    _rule(_R, "scale, divide", "truediv(mul(x, A), B)", "mul(x, R)", lambda A, B: A / B),
    _rule(_R, "divide twice", "truediv(truediv(x, A), B)", "truediv(x, R)", lambda A, B: A * B),
    _rule(_R, "scaled ratio", "mul(truediv(A, x), B)", "truediv(R, x)", lambda A, B: A * B),
    _rule(_R, "itself and a multiple", "add(x, mul(x, A))", "mul(x, R)", lambda A: A + 1.0),
    _rule(_R, "itself less a multiple", "sub(x, mul(x, A))", "mul(x, R)", lambda A: 1.0 - A),
    _rule(_R, "multiple less itself", "sub(mul(x, A), x)", "mul(x, R)", lambda A: A - 1.0),
    _rule(_R, "two multiples", "add(mul(x, A), mul(x, B))", "mul(x, R)", lambda A, B: A + B),
)
FACTORS = (
    _rule(_R, "common factor", "add(mul(x, y), mul(x, z))", "mul(x, add(y, z))"),
    _rule(_R, "common factor of difference", "sub(mul(x, y), mul(x, z))", "mul(x, sub(y, z))"),
    _rule(_R, "common divisor", "add(truediv(x, z), truediv(y, z))", "truediv(add(x, y), z)"),
    _rule(_R, "common divisor of difference", "sub(truediv(x, z), truediv(y, z))", "truediv(sub(x, y), z)"),
    _rule("finite+reassoc", "there and back", "sub(add(x, y), y)", "x"),
    _rule("finite+reassoc", "back and there", "add(sub(x, y), y)", "x"),
    _rule("finite+reassoc", "rest of rest", "sub(x, sub(x, y))", "y"),
    _rule("finite+reassoc", "beyond", "sub(x, add(x, y))", "neg(y)"),
    _rule("finite+reassoc", "short of itself", "sub(sub(x, y), x)", "neg(y)"),
    _rule("finite+reassoc", "times, by", "truediv(mul(x, y), y)", "x"),
    _rule("finite+reassoc", "by, times", "mul(truediv(x, y), y)", "x"),
    _rule(_R, "by a ratio", "truediv(x, truediv(y, z))", "truediv(mul(x, z), y)"),
    _rule(_R, "divide by both", "truediv(truediv(x, y), z)", "truediv(x, mul(y, z))"),
)
RECIPROCALS = (
    _rule("reciprocal", "by a literal", "truediv(x, A)", "mul(x, R)", _reciprocal),
    _rule("reciprocal", "times a reciprocal", "mul(x, truediv(1.0, y))", "truediv(x, y)"),
    _rule("reciprocal", "by a reciprocal", "truediv(x, truediv(1.0, y))", "mul(x, y)"),
)
POWERS = (
    _rule("approx", "square", "pow(x, 2.0)", "mul(x, x)"),
    _rule("approx", "cube", "pow(x, 3.0)", "mul(x, mul(x, x))", by_cost=True),
    _rule("approx", "fourth power", "pow(x, 4.0)", "mul(mul(x, x), mul(x, x))", by_cost=True),
    _rule("approx", "inverse", "pow(x, -1.0)", "truediv(1.0, x)"),
    _rule("approx", "root", "pow(x, 0.5)", "sqrt(x)"),
    _rule("approx", "square of root", "mul(sqrt(x), sqrt(x))", "x"),
    _rule("approx", "root of square", "sqrt(mul(x, x))", "abs(x)"),
    _rule("approx", "product of roots", "mul(sqrt(x), sqrt(y))", "sqrt(mul(x, y))"),
    _rule("approx", "product of exps", "mul(exp(x), exp(y))", "exp(add(x, y))"),
)
RULES = (*FINITE, *SIGNED_ZEROS, *CONSTANTS, *FACTORS, *RECIPROCALS, *POWERS)


@lru_cache(maxsize=64)
def _allowed(parts: frozenset[str]) -> Rules:
    return Rules([rule for rule in RULES if parts.issuperset(rule.part.split("+"))])


def fold_fast(fn: Function, parts: Collection[str] = ()) -> Function:
    """One sweep of the rules that the parts allow over a flat function; `fn` itself when none pays."""
    return rewrite(fn, _allowed(frozenset(parts)))


PASS = Pass(fold_fast, needs_gone=STRAIGHT)
