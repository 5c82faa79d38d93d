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
from pyflat.passes.rules.patterns import Rule, Where
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
    Rule("add a negative", FLOAT, "add(x, neg(y))", "sub(x, y)"),
    Rule("subtract a negative", FLOAT, "sub(x, neg(y))", "add(x, y)"),
    Rule("product of negatives", FLOAT, "mul(neg(x), neg(y))", "mul(x, y)"),
    Rule("quotient of negatives", FLOAT, "truediv(neg(x), neg(y))", "truediv(x, y)"),
    Rule("times -1", FLOAT, "mul(x, -1.0)", "neg(x)", free=True),
    Rule("by -1", FLOAT, "truediv(x, -1.0)", "neg(x)", free=True),
    Rule("negative times literal", FLOAT, "mul(neg(x), A)", "mul(x, R)", literal(_negated)),
    Rule("negative by literal", FLOAT, "truediv(neg(x), A)", "truediv(x, R)", literal(_negated)),
    Rule("literal by negative", FLOAT, "truediv(A, neg(x))", "truediv(R, x)", literal(_negated)),
    Rule("negated product", FLOAT, "neg(mul(x, A))", "mul(x, R)", literal(_negated)),
    Rule("negated quotient", FLOAT, "neg(truediv(x, A))", "truediv(x, R)", literal(_negated)),
    Rule("negated ratio", FLOAT, "neg(truediv(A, x))", "truediv(R, x)", literal(_negated)),
    Rule("product of sizes", FLOAT, "mul(abs(x), abs(y))", "abs(mul(x, y))"),
    Rule("square of size", FLOAT, "mul(abs(x), abs(x))", "mul(x, x)"),
    Rule("quotient of sizes", FLOAT, "truediv(abs(x), abs(y))", "abs(truediv(x, y))"),
    Rule("its own sign", FLOAT, "copysign(x, x)", "x"),
    Rule("scaled by one", FLOAT, "ldexp(x, 0)", "x"),
    Rule("scaled zero", FLOAT, "ldexp(0.0, n)", "0.0"),
    Rule("scaled negative zero", FLOAT, "ldexp(-0.0, n)", "-0.0"),
    Rule("next to itself", FLOAT, "nextafter(x, x)", "x"),
    Rule("size of exp", FLOAT, "abs(exp(x))", "exp(x)"),
    Rule("nan of negative", FLOAT, "isnan(neg(x))", "isnan(x)"),
    Rule("nan of size", FLOAT, "isnan(abs(x))", "isnan(x)"),
)
POWERS = (
    Rule("power of one", FLOAT, "pow(1.0, x)", "1.0"),
    Rule("power zero", FLOAT, "pow(x, 0.0)", "1.0"),
    Rule("power one", FLOAT, "pow(x, 1.0)", "x"),
    Rule("by a power of two", FLOAT, "truediv(x, A)", "mul(x, R)", _inverse),
    Rule("scale twice", FLOAT, "mul(mul(x, A), B)", "mul(x, R)", _scaling),
)
NEGATED_COMPARISONS = tuple(
    rule
    for opcode, mirrored in (("lt", "gt"), ("le", "ge"), ("eq", "eq"), ("ne", "ne"))
    for rule in (
        Rule(f"{opcode} of negatives", FLOAT, f"{opcode}(neg(x), neg(y))", f"{mirrored}(x, y)"),
        Rule(f"{opcode} of negative", FLOAT, f"{opcode}(neg(x), A)", f"{mirrored}(x, R)", literal(_negated)),
        *((Rule(f"{mirrored} of negative", FLOAT, f"{mirrored}(neg(x), A)", f"{opcode}(x, R)", literal(_negated)),)
          if opcode != mirrored else ()),
    )
)
DIFFERENCES = (
    Rule("negative difference", FLOAT, "lt(sub(x, y), 0.0)", "lt(x, y)"),
    Rule("positive difference", FLOAT, "gt(sub(x, y), 0.0)", "gt(x, y)"),
)


def _comparisons(kind: Kind) -> tuple[Rule, ...]:
    """Two comparisons of the same values, or of one value with two literals."""
    return (
        Rule("less or equal", kind, "or(lt(x, y), eq(x, y))", "le(x, y)"),
        Rule("at most, not equal", kind, "and(le(x, y), ne(x, y))", "lt(x, y)"),
        Rule("at most and at least", kind, "and(le(x, y), ge(x, y))", "eq(x, y)"),
        Rule("less and greater", kind, "and(lt(x, y), gt(x, y))", "false"),
        Rule("less and equal", kind, "and(lt(x, y), eq(x, y))", "false"),
        Rule("less and at most", kind, "and(lt(x, y), le(x, y))", "lt(x, y)"),
        Rule("less or at most", kind, "or(lt(x, y), le(x, y))", "le(x, y)"),
        Rule("less and not equal", kind, "and(lt(x, y), ne(x, y))", "lt(x, y)"),
        Rule("below both", kind, "and(lt(x, A), lt(x, B))", "lt(x, R)", literal(_lower)),
        Rule("below one", kind, "or(lt(x, A), lt(x, B))", "lt(x, R)", literal(_upper)),
        Rule("above both", kind, "and(gt(x, A), gt(x, B))", "gt(x, R)", literal(_upper)),
        Rule("above one", kind, "or(gt(x, A), gt(x, B))", "gt(x, R)", literal(_lower)),
        Rule("at most both", kind, "and(le(x, A), le(x, B))", "le(x, R)", literal(_lower)),
        Rule("at least both", kind, "and(ge(x, A), ge(x, B))", "ge(x, R)", literal(_upper)),
        Rule("empty range", kind, "and(gt(x, A), lt(x, B))", "false", only(lambda A, B: B <= A)),
        Rule("two values at once", kind, "and(eq(x, A), eq(x, B))", "false", only(lambda A, B: A != B)),
    )


NANS = (
    *(Rule(f"{opcode} of nan", FLOAT, f"{opcode}(x, nan)", "nan")
      for opcode in ("add", "sub", "mul", "truediv", "floordiv", "mod", "fmod", "remainder")),
    *(Rule(f"{opcode} of nan first", FLOAT, f"{opcode}(nan, x)", "nan")
      for opcode in ("sub", "truediv", "floordiv", "mod", "fmod", "remainder")),
    *(Rule(f"{opcode} with nan", FLOAT, f"{opcode}(x, nan)", "false") for opcode in ("lt", "le", "gt", "ge", "eq")),
    Rule("ne with nan", FLOAT, "ne(x, nan)", "true"),
)
"""Any nan is as good as any other."""
WHOLE_DIVISION = (
    Rule("int: by itself", INT, "floordiv(x, x)", "1"),
    Rule("int: rest of itself", INT, "mod(x, x)", "0"),
    Rule("int: zero by", INT, "floordiv(0, x)", "0"),
    Rule("int: rest of zero", INT, "mod(0, x)", "0"),
    Rule("int: one to the power", INT, "ipow(1, x)", "1"),
    Rule("int: all bits shifted", INT, "shr(-1, x)", "-1"),
    Rule("int: shifted by itself", INT, "shr(x, x)", "0"),
)
"""Where these operations raise, the lane is a fault, and its value means nothing."""
INTEGERS = (
    Rule("int: add a negative", INT, "add(x, neg(y))", "sub(x, y)"),
    Rule("int: subtract a negative", INT, "sub(x, neg(y))", "add(x, y)"),
    Rule("int: product of negatives", INT, "mul(neg(x), neg(y))", "mul(x, y)"),
    Rule("int: times -1", INT, "mul(x, -1)", "neg(x)", free=True),
    Rule("int: negated difference", INT, "neg(sub(x, y))", "sub(y, x)"),
    Rule("int: add twice", INT, "add(add(x, A), B)", "add(x, R)", literal(lambda A, B: wrap(A + B))),
    Rule("int: add, subtract", INT, "sub(add(x, A), B)", "add(x, R)", literal(lambda A, B: wrap(A - B))),
    Rule("int: subtract, add", INT, "add(sub(x, A), B)", "add(x, R)", literal(lambda A, B: wrap(B - A))),
    Rule("int: subtract twice", INT, "sub(sub(x, A), B)", "sub(x, R)", literal(lambda A, B: wrap(A + B))),
    Rule("int: from literal, add", INT, "add(sub(A, x), B)", "sub(R, x)", literal(lambda A, B: wrap(A + B))),
    Rule("int: from literal, subtract", INT, "sub(sub(A, x), B)", "sub(R, x)", literal(lambda A, B: wrap(A - B))),
    Rule("int: scale twice", INT, "mul(mul(x, A), B)", "mul(x, R)", literal(lambda A, B: wrap(A * B))),
    Rule("int: there and back", INT, "sub(add(x, y), y)", "x"),
    Rule("int: back and there", INT, "add(sub(x, y), y)", "x"),
    Rule("int: rest of rest", INT, "sub(x, sub(x, y))", "y"),
    Rule("int: beyond", INT, "sub(x, add(x, y))", "neg(y)"),
    Rule("int: common factor", INT, "add(mul(x, y), mul(x, z))", "mul(x, add(y, z))"),
    Rule("int: common factor of difference", INT, "sub(mul(x, y), mul(x, z))", "mul(x, sub(y, z))"),
    Rule("int: mask twice", INT, "and(and(x, A), B)", "and(x, R)", literal(lambda A, B: A & B)),
    Rule("int: set twice", INT, "or(or(x, A), B)", "or(x, R)", literal(lambda A, B: A | B)),
    Rule("int: flip twice", INT, "xor(xor(x, A), B)", "xor(x, R)", literal(lambda A, B: A ^ B)),
    Rule("int: less or greater", INT, "or(lt(x, y), gt(x, y))", "ne(x, y)"),
)
BOOLS = (
    Rule("neither", BOOL, "and(not(p), not(q))", "not(or(p, q))"),
    Rule("not both", BOOL, "or(not(p), not(q))", "not(and(p, q))"),
    Rule("both flipped", BOOL, "xor(not(p), not(q))", "xor(p, q)"),
    Rule("both flipped, equal", BOOL, "eq(not(p), not(q))", "eq(p, q)"),
    Rule("both flipped, different", BOOL, "ne(not(p), not(q))", "ne(p, q)"),
    Rule("common alternative", BOOL, "and(or(p, q), or(p, r))", "or(p, and(q, r))"),
    Rule("common condition", BOOL, "or(and(p, q), and(p, r))", "and(p, or(q, r))"),
    Rule("one of two", BOOL, "or(and(p, q), and(not(p), r))", "select(p, q, r)"),
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
