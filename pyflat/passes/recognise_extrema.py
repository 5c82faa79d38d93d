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
from pyflat.passes.rules.patterns import Rule, rules
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
        *rules(kind,
            "select(lt(y, x), y, x) -> min(x, y)", "select(gt(y, x), y, x) -> max(x, y)", "min(x, x) -> x",
            "max(x, x) -> x",
        ),
        Rule(kind, "min(min(x, A), B)", "min(x, R)", _min),
        Rule(kind, "max(max(x, A), B)", "max(x, R)", _max),
        Rule(kind, "select(lt(x, A), A, min(x, B))", "clamp(x, A, B)", _ordered),
        Rule(kind, "select(gt(x, B), B, max(x, A))", "clamp(x, A, B)", _ordered),
        Rule(kind, "min(max(x, y), z)", "clamp(x, y, z)"),
        Rule(kind, "max(min(x, B), A)", "clamp(x, A, B)", _ordered),
    )


RULES = (
    *_rules(FLOAT),
    *_rules(INT),
    Rule(FLOAT, "select(le(x, A), x, A)", "min(A, x)", _nonzero),
    Rule(FLOAT, "select(ge(x, A), x, A)", "max(A, x)", _nonzero),
    Rule(FLOAT, "select(le(A, x), A, x)", "min(x, A)", _nonzero),
    Rule(FLOAT, "select(ge(A, x), A, x)", "max(x, A)", _nonzero),
    *rules(INT,
        "select(le(x, y), x, y) -> min(x, y)", "select(ge(x, y), x, y) -> max(x, y)", f"min(x, {INT_MIN}) -> {INT_MIN}",
        f"max(x, {INT_MAX}) -> {INT_MAX}", f"min(x, {INT_MAX}) -> x", f"max(x, {INT_MIN}) -> x",
    ),
    Rule(FLOAT, "min(x, A)", "x", _is_infinity),
    Rule(FLOAT, "max(x, A)", "x", _is_minus_infinity),
    *rules(FLOAT, "min(neg(x), neg(y)) -> neg(max(x, y))", "max(neg(x), neg(y)) -> neg(min(x, y))"),
)
_RULES = Rules(RULES)


def recognise_extrema(fn: Function) -> Function:
    """One sweep over a flat function; `fn` itself when there is nothing to recognise."""
    return rewrite(fn, _RULES)


PASS = Pass(recognise_extrema, needs_gone=STRAIGHT)
