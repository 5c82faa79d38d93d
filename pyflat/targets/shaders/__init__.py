"""What the shading languages share: a language is a table (`language.Language`), and one printer reads it.

    prepare   flat or masked IR -> the same without faults, in the operations that 32-bit lanes have
    language  the table: types, literals, how each operation is spelled, helper functions
    printer   the prepared function as text

Before:                                After:
    %a = floor_int %x : i8                 %b = floor %x : f8
    %b = to_float %a : f8                  %c = mul %x, %x : f8
    %c = pow %x, 2.0 : f8                  %e = isnan %x : b
    %e = ne %x, %x : b
    fault %d ZeroDivisionError()

The values are those of the fast-math rules: a whole power is a product, `x**0.5` a root, 2.0**x is exp2. A loop ends
after `MAX_TRIPS` trips, whatever 32 bits make of its condition: a shader that does not end takes the machine with it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Container

from pyflat.analysis.liveness import sliced
from pyflat.ir.loops import has_loop
from pyflat.ir.nodes import Function, Value, number
from pyflat.ir.ops import ROUNDED, VECTOR
from pyflat.ir.types import FLOAT
from pyflat.ir.uses import results_of, with_body
from pyflat.passes.pipelines import run, shader
from pyflat.passes.rules.expansions import EXPANSIONS, power, renamed
from pyflat.passes.rules.legalise import Expansions, Legaliser, legalised
from pyflat.passes.rules.patterns import applied, rules
from pyflat.targets.shaders.language import Language, Printed, Spelling, leaf_names
from pyflat.targets.shaders.printer import print_function

__all__ = ["Language", "Printed", "Spelling", "leaf_names", "prepare", "print_function"]

MAX_TRIPS = 65_535
"""What Mesa's software driver runs before it leaves a loop on its own, without a word."""


def prepare(fn: Function, stay: Container[str]) -> Function:
    """A flat or masked function for a language of 32-bit lanes, in which the operations `stay` need no rule."""
    pure = legalised(run(fn, shader(MAX_TRIPS, loops=has_loop(fn.body))), RULES, EXPANSIONS, stay)
    return with_body(pure, sliced(pure.body, results_of(pure)))


def _pow(t: Legaliser, base: Value, exponent: Value) -> Value | None:
    known = number(exponent)
    if known is None or not math.isfinite(known):
        return t("exp2", exponent) if number(base) == 2.0 else None
    if known != int(known):
        return t("sqrt", base) if known == 0.5 else t("fractional_pow", base, exponent)
    if known < 0 and (product := power(t, base, t.const(-known))) is not None:
        return t("truediv", 1.0, product)
    return power(t, base, exponent)


def _round_digits(t: Legaliser, x: Value, digits: Value) -> Value | None:
    known = number(digits)
    if known is None:
        return None
    there, back = ("mul", "truediv") if known >= 0 else ("truediv", "mul")
    return t(back, t("rint", t(there, x, 10.0 ** abs(known))), 10.0 ** abs(known))


def _np_dot(t: Legaliser, *args: Value) -> Value:
    half = len(args) // 2
    products = [t("mul", x, y) for x, y in zip(args[:half], args[half:], strict=True)]
    return functools.reduce(lambda total, product: t("add", total, product), products)


def _hadd(t: Legaliser, x: Value) -> Value:
    return t("dot", x, t("pack", *[1.0] * len(x.args)))


RULES: Expansions = {
    **{name: renamed(name.removeprefix("vec_")) for name in VECTOR},
    **applied(rules(
        FLOAT,
        *(f"to_float({to_int}(x)) -> {rounding}(x)" for to_int, rounding in ROUNDED.items()),
        "floordiv(x, 1.0) -> floor(x)", "mod(x, 1.0) -> sub(x, floor(x))",
        "ne(x, x) -> isnan(x)", "eq(x, x) -> not(isnan(x))",
    )),
    "pow": _pow, "ipow": power, "round_digits": _round_digits, "np_dot": _np_dot, "hadd": _hadd,
}
