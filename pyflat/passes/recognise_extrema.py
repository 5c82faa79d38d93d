"""Python's min and max, and clamping, written with comparisons.

Before:                              After:
    %p = lt %x, 0.0 : b                  %r = clamp %x, 0.0, 1.0 : f8
    %q = gt %x, 1.0 : b                  yield %r
    %a = select %q, 1.0, %x : f8
    %r = select %p, 0.0, %a : f8
    yield %r

`min(a, b)` is `b if b < a else a`, and `max` likewise: which operand comes first decides about nan and about the sign
of zero, so every rule keeps that order; `clamp(x, low, high)` is `min(max(x, low), high)`. Exact. A comparison with
`<=` is a min only where the operands cannot be zeros of two signs: for ints, and where one of them is a literal other
than zero; for the rest see the part no_signed_zeros of fast math.
"""
# ruff: noqa: N803 - the words of the patterns

from __future__ import annotations

import math

from pyflat.ir.nodes import Function
from pyflat.ir.types import FLOAT, INT, INT_MAX, INT_MIN, Kind
from pyflat.passes.record import STRAIGHT, Pass
from pyflat.passes.rules.patterns import Rule
from pyflat.passes.rules.rewrite import Rules, rewrite


def _nonzero(A: float) -> dict[str, float] | None:
    return {} if A != 0 else None


def _ordered(A: float, B: float) -> dict[str, float] | None:
    return {} if A <= B else None


def _min(A: float, B: float) -> dict[str, float] | None:
    return None if math.isnan(A) or math.isnan(B) else {"R": min(A, B)}


def _max(A: float, B: float) -> dict[str, float] | None:
    return None if math.isnan(A) or math.isnan(B) else {"R": max(A, B)}


def _is_infinity(A: float) -> dict[str, float] | None:
    return {} if math.inf == A else None


def _is_minus_infinity(A: float) -> dict[str, float] | None:
    return {} if -math.inf == A else None


def _rules(kind: Kind) -> tuple[Rule, ...]:
    return (
        Rule("min", kind, "select(lt(y, x), y, x)", "min(x, y)"),
        Rule("max", kind, "select(gt(y, x), y, x)", "max(x, y)"),
        Rule("min of itself", kind, "min(x, x)", "x"),
        Rule("max of itself", kind, "max(x, x)", "x"),
        Rule("min twice", kind, "min(min(x, A), B)", "min(x, R)", _min),
        Rule("max twice", kind, "max(max(x, A), B)", "max(x, R)", _max),
        Rule("below, else min", kind, "select(lt(x, A), A, min(x, B))", "clamp(x, A, B)", _ordered),
        Rule("above, else max", kind, "select(gt(x, B), B, max(x, A))", "clamp(x, A, B)", _ordered),
        Rule("min of max", kind, "min(max(x, y), z)", "clamp(x, y, z)"),
        Rule("max of min", kind, "max(min(x, B), A)", "clamp(x, A, B)", _ordered),
    )


RULES = (
    *_rules(FLOAT),
    *_rules(INT),
    Rule("min with literal", FLOAT, "select(le(x, A), x, A)", "min(A, x)", _nonzero),
    Rule("max with literal", FLOAT, "select(ge(x, A), x, A)", "max(A, x)", _nonzero),
    Rule("min of literal", FLOAT, "select(le(A, x), A, x)", "min(x, A)", _nonzero),
    Rule("max of literal", FLOAT, "select(ge(A, x), A, x)", "max(x, A)", _nonzero),
    Rule("int: min or equal", INT, "select(le(x, y), x, y)", "min(x, y)"),
    Rule("int: max or equal", INT, "select(ge(x, y), x, y)", "max(x, y)"),
    Rule("int: min with the least", INT, f"min(x, {INT_MIN})", f"{INT_MIN}"),
    Rule("int: max with the most", INT, f"max(x, {INT_MAX})", f"{INT_MAX}"),
    Rule("int: min with the most", INT, f"min(x, {INT_MAX})", "x"),
    Rule("int: max with the least", INT, f"max(x, {INT_MIN})", "x"),
    Rule("min with infinity", FLOAT, "min(x, A)", "x", _is_infinity),
    Rule("max with minus infinity", FLOAT, "max(x, A)", "x", _is_minus_infinity),
    Rule("min of negatives", FLOAT, "min(neg(x), neg(y))", "neg(max(x, y))"),
    Rule("max of negatives", FLOAT, "max(neg(x), neg(y))", "neg(min(x, y))"),
)
_RULES = Rules(RULES)


def recognise_extrema(fn: Function) -> Function:
    """One sweep over a flat function; `fn` itself when there is nothing to recognise."""
    return rewrite(fn, _RULES)


PASS = Pass(recognise_extrema, needs_gone=STRAIGHT)
