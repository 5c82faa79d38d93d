"""More exact algebra: rules that look deeper than one operation and keep every bit.

Before:                              After:
    %a = neg %y : f8                     %c = sub %x, %y : f8
    %c = add %x, %a : f8                 %d = lt %x, 1.0 : b
    %p = lt %x, 1.0 : b                  yield %c, %d
    %q = lt %x, 2.0 : b
    %d = and %p, %q : b
    yield %c, %d

`RULES` is the list. Each is exact in every lane: for signed zeros, infinities and nan (any nan is as good as any
other), and for ints modulo 2**64, so that what a `fault` operation looks at stays right. A test runs every rule on all
edge values and kills its mutants.
"""
# ruff: noqa: N803 - the words of the patterns

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from pyflat.ir.nodes import Function
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MIN, Kind
from pyflat.passes.record import STRAIGHT, Pass
from pyflat.passes.rules.patterns import Rule, Where, rules
from pyflat.passes.rules.rewrite import Rules, rewrite


def wrap(value: int) -> int:
    """Modulo 2**64, as int64."""
    return (value - INT_MIN) % 2**64 + INT_MIN


def literal(compute: Callable[..., Any]) -> Where:
    """The literal R of a rule, of its other literals; no nan among them."""

    def where(**literals: Any) -> Mapping[str, Any] | None:
        if any(map(math.isnan, literals.values())):
            return None
        made = compute(**literals)
        return None if isinstance(made, float) and math.isnan(made) else {"R": made}

    return where


def only(condition: Callable[..., bool]) -> Where:
    """The rule applies only to literals like these."""
    return lambda **literals: {} if condition(**literals) else None


def _is_power_of_two(value: float) -> bool:
    return math.isfinite(value) and value != 0.0 and abs(math.frexp(value)[0]) == 0.5


def _inverse(A: float) -> Mapping[str, Any] | None:
    """1/A where the product with it is the quotient by A, bit for bit."""
    return {"R": 1.0 / A} if _is_power_of_two(A) and 2.0**-1022 <= abs(1.0 / A) <= 2.0**1022 else None


def _scaling(A: float, B: float) -> Mapping[str, Any] | None:
    """Scaling up twice by powers of two loses nothing before it overflows."""
    up = _is_power_of_two(A) and _is_power_of_two(B) and abs(A) >= 1.0 and abs(B) >= 1.0
    return {"R": A * B} if up and math.isfinite(A * B) else None


def _negated(A: float) -> float:
    return -A


def _lower(A: float, B: float) -> float:
    return min(A, B)


def _upper(A: float, B: float) -> float:
    return max(A, B)


SIGNS = (
    *rules(FLOAT,
        "add(x, neg(y)) -> sub(x, y)", "sub(x, neg(y)) -> add(x, y)", "mul(neg(x), neg(y)) -> mul(x, y)",
        "truediv(neg(x), neg(y)) -> truediv(x, y)",
    ),
    Rule(FLOAT, "mul(x, -1.0)", "neg(x)", free=True),
    Rule(FLOAT, "truediv(x, -1.0)", "neg(x)", free=True),
    Rule(FLOAT, "mul(neg(x), A)", "mul(x, R)", literal(_negated)),
    Rule(FLOAT, "truediv(neg(x), A)", "truediv(x, R)", literal(_negated)),
    Rule(FLOAT, "truediv(A, neg(x))", "truediv(R, x)", literal(_negated)),
    Rule(FLOAT, "neg(mul(x, A))", "mul(x, R)", literal(_negated)),
    Rule(FLOAT, "neg(truediv(x, A))", "truediv(x, R)", literal(_negated)),
    Rule(FLOAT, "neg(truediv(A, x))", "truediv(R, x)", literal(_negated)),
    *rules(FLOAT,
        "mul(abs(x), abs(y)) -> abs(mul(x, y))", "mul(abs(x), abs(x)) -> mul(x, x)",
        "truediv(abs(x), abs(y)) -> abs(truediv(x, y))", "copysign(x, x) -> x", "ldexp(x, 0) -> x",
        "ldexp(0.0, n) -> 0.0", "ldexp(-0.0, n) -> -0.0", "nextafter(x, x) -> x", "abs(exp(x)) -> exp(x)",
        "isnan(neg(x)) -> isnan(x)", "isnan(abs(x)) -> isnan(x)",
    ),
)
POWERS = (
    *rules(FLOAT, "pow(1.0, x) -> 1.0", "pow(x, 0.0) -> 1.0", "pow(x, 1.0) -> x"),
    Rule(FLOAT, "truediv(x, A)", "mul(x, R)", _inverse),
    Rule(FLOAT, "mul(mul(x, A), B)", "mul(x, R)", _scaling),
)
NEGATED_COMPARISONS = tuple(
    rule
    for opcode, mirrored in (("lt", "gt"), ("le", "ge"), ("eq", "eq"), ("ne", "ne"))
    for rule in (
        Rule(FLOAT, f"{opcode}(neg(x), neg(y))", f"{mirrored}(x, y)"),
        Rule(FLOAT, f"{opcode}(neg(x), A)", f"{mirrored}(x, R)", literal(_negated)),
        *((Rule(FLOAT, f"{mirrored}(neg(x), A)", f"{opcode}(x, R)", literal(_negated)),)
          if opcode != mirrored else ()),
    )
)
DIFFERENCES = (
    *rules(FLOAT, "lt(sub(x, y), 0.0) -> lt(x, y)", "gt(sub(x, y), 0.0) -> gt(x, y)"),
)


def _comparisons(kind: Kind) -> tuple[Rule, ...]:
    """Two comparisons of the same values, or of one value with two literals."""
    return (
        *rules(kind,
            "or(lt(x, y), eq(x, y)) -> le(x, y)", "and(le(x, y), ne(x, y)) -> lt(x, y)",
            "and(le(x, y), ge(x, y)) -> eq(x, y)", "and(lt(x, y), gt(x, y)) -> false",
            "and(lt(x, y), eq(x, y)) -> false", "and(lt(x, y), le(x, y)) -> lt(x, y)",
            "or(lt(x, y), le(x, y)) -> le(x, y)", "and(lt(x, y), ne(x, y)) -> lt(x, y)",
        ),
        Rule(kind, "and(lt(x, A), lt(x, B))", "lt(x, R)", literal(_lower)),
        Rule(kind, "or(lt(x, A), lt(x, B))", "lt(x, R)", literal(_upper)),
        Rule(kind, "and(gt(x, A), gt(x, B))", "gt(x, R)", literal(_upper)),
        Rule(kind, "or(gt(x, A), gt(x, B))", "gt(x, R)", literal(_lower)),
        Rule(kind, "and(le(x, A), le(x, B))", "le(x, R)", literal(_lower)),
        Rule(kind, "and(ge(x, A), ge(x, B))", "ge(x, R)", literal(_upper)),
        Rule(kind, "and(gt(x, A), lt(x, B))", "false", only(lambda A, B: B <= A)),
        Rule(kind, "and(eq(x, A), eq(x, B))", "false", only(lambda A, B: A != B)),
    )


NANS = (
    *(Rule(FLOAT, f"{opcode}(x, nan)", "nan")
      for opcode in ("add", "sub", "mul", "truediv", "floordiv", "mod", "fmod", "remainder")),
    *(Rule(FLOAT, f"{opcode}(nan, x)", "nan")
      for opcode in ("sub", "truediv", "floordiv", "mod", "fmod", "remainder")),
    *(Rule(FLOAT, f"{opcode}(x, nan)", "false") for opcode in ("lt", "le", "gt", "ge", "eq")),
    Rule(FLOAT, "ne(x, nan)", "true"),
)
"""Any nan is as good as any other."""
WHOLE_DIVISION = (
    *rules(INT,
        "floordiv(x, x) -> 1", "mod(x, x) -> 0", "floordiv(0, x) -> 0", "mod(0, x) -> 0", "ipow(1, x) -> 1",
        "shr(-1, x) -> -1", "shr(x, x) -> 0",
    ),
)
"""Where these operations raise, the lane is a fault, and its value means nothing."""
INTEGERS = (
    *rules(INT, "add(x, neg(y)) -> sub(x, y)", "sub(x, neg(y)) -> add(x, y)", "mul(neg(x), neg(y)) -> mul(x, y)"),
    Rule(INT, "mul(x, -1)", "neg(x)", free=True),
    Rule(INT, "neg(sub(x, y))", "sub(y, x)"),
    Rule(INT, "add(add(x, A), B)", "add(x, R)", literal(lambda A, B: wrap(A + B))),
    Rule(INT, "sub(add(x, A), B)", "add(x, R)", literal(lambda A, B: wrap(A - B))),
    Rule(INT, "add(sub(x, A), B)", "add(x, R)", literal(lambda A, B: wrap(B - A))),
    Rule(INT, "sub(sub(x, A), B)", "sub(x, R)", literal(lambda A, B: wrap(A + B))),
    Rule(INT, "add(sub(A, x), B)", "sub(R, x)", literal(lambda A, B: wrap(A + B))),
    Rule(INT, "sub(sub(A, x), B)", "sub(R, x)", literal(lambda A, B: wrap(A - B))),
    Rule(INT, "mul(mul(x, A), B)", "mul(x, R)", literal(lambda A, B: wrap(A * B))),
    *rules(INT,
        "sub(add(x, y), y) -> x", "add(sub(x, y), y) -> x", "sub(x, sub(x, y)) -> y", "sub(x, add(x, y)) -> neg(y)",
        "add(mul(x, y), mul(x, z)) -> mul(x, add(y, z))", "sub(mul(x, y), mul(x, z)) -> mul(x, sub(y, z))",
    ),
    Rule(INT, "and(and(x, A), B)", "and(x, R)", literal(lambda A, B: A & B)),
    Rule(INT, "or(or(x, A), B)", "or(x, R)", literal(lambda A, B: A | B)),
    Rule(INT, "xor(xor(x, A), B)", "xor(x, R)", literal(lambda A, B: A ^ B)),
    Rule(INT, "or(lt(x, y), gt(x, y))", "ne(x, y)"),
)
BOOLS = (
    *rules(BOOL,
        "and(not(p), not(q)) -> not(or(p, q))", "or(not(p), not(q)) -> not(and(p, q))",
        "xor(not(p), not(q)) -> xor(p, q)", "eq(not(p), not(q)) -> eq(p, q)", "ne(not(p), not(q)) -> ne(p, q)",
        "and(or(p, q), or(p, r)) -> or(p, and(q, r))", "or(and(p, q), and(p, r)) -> and(p, or(q, r))",
        "or(and(p, q), and(not(p), r)) -> select(p, q, r)",
    ),
)
RULES = (
    *SIGNS, *POWERS, *NEGATED_COMPARISONS, *DIFFERENCES, *_comparisons(FLOAT), *_comparisons(INT), *INTEGERS, *BOOLS,
    *NANS, *WHOLE_DIVISION,
)
_RULES = Rules(RULES)


def fold_identities(fn: Function) -> Function:
    """One sweep of the rules over a flat function; `fn` itself when none pays."""
    return rewrite(fn, _RULES)


PASS = Pass(fold_identities, needs_gone=STRAIGHT)
