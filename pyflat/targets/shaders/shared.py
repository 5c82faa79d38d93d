"""The part of the table that WGSL and GLSL have in common, and the limits of 32-bit lanes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pyflat.errors import refuse
from pyflat.functions.records import spellings
from pyflat.ir.shape import Fixed, Leaf, Shape
from pyflat.targets.shaders.language import COMPARISON, LOGIC, PRODUCT, SUM, UNARY, Spelling, call, infix, prefix


def functions(language: str) -> dict[str, Spelling]:
    """The mathematical functions of a language ("wgsl", "glsl")."""
    return {name: Spelling(text) for name, text in spellings(language).items()}


I32_MIN, I32_MAX = -(2**31), 2**31 - 1
SPELLINGS: dict[str, Spelling] = {
    **{name: infix(sign, level) for name, sign, level in (
        ("add", "+", SUM), ("sub", "-", SUM), ("mul", "*", PRODUCT), ("truediv", "/", PRODUCT),
        ("eq", "==", COMPARISON), ("ne", "!=", COMPARISON), ("lt", "<", COMPARISON), ("le", "<=", COMPARISON),
        ("gt", ">", COMPARISON), ("ge", ">=", COMPARISON), ("and:b", "&&", LOGIC), ("or:b", "||", LOGIC),
        ("xor:b", "!=", COMPARISON), ("and:i8", "&", 2), ("or:i8", "|", 2), ("xor:i8", "^", 2))},
    "neg": prefix("-"), "not": prefix("!"), "invert": prefix("~"),
    **{name: call(name) for name in ("abs", "floor", "ceil", "trunc")},
    "floordiv:i8": call("floor_div", 2), "mod:i8": call("floor_mod", 2),
    "floordiv:f8": call("floor_quotient", 2), "mod:f8": call("floor_remainder", 2),
    "fractional_pow": call("pow", 2), "ipow": call("int_pow", 2),
    "shl": call("shift_left", 2), "shr": call("shift_right", 2), "place": call("place", 2),
    "min": call("min", 2), "max": call("max", 2), "clamp": call("clamp", 3), "fma": call("fma", 3),
    "lerp": call("mix", 3), "mad": Spelling("{0} * {1} + {2}", SUM, (PRODUCT, UNARY, PRODUCT)), "dot": call("dot", 2),
}
"""`place(i, size)` is where Python's index i lies in a table; `fractional_pow` has an exponent that is no whole
number, so that no negative base has a value."""


def check_int(value: int, language: str) -> int:
    """The constant itself. Raises FlattenError where 32 bits do not hold it."""
    if not I32_MIN <= value <= I32_MAX:
        raise refuse("flatten/target-operation", f"the integer {value} does not fit into the 32 bits of {language}",
                     help="use a float, or smaller numbers")
    return value


def is_finite(value: float) -> bool:
    """In 32 bits."""
    with np.errstate(over="ignore"):
        return math.isfinite(np.float32(value))


def float_bits(value: float) -> str:
    """The nearest 32-bit float as the literal of its bits."""
    with np.errstate(over="ignore"):
        return f"0x{int(np.float32(value).view(np.uint32)):08x}u"


def float_text(value: float) -> str | None:
    """The shortest decimal of the nearest 32-bit float, None for infinities and nan."""
    with np.errstate(over="ignore"):
        near = np.float32(value)
    if not math.isfinite(near):
        return None
    plain = near == 0 or 1e-4 <= abs(near) < 1e8
    text = np.format_float_positional(near, trim="0") if plain else repr(float(str(near)))
    return text if "." in text or "e" in text else f"{text}.0"


def colour(values: Sequence[str], opaque: str) -> str:
    """The four components that one result (grey), three (rgb) or four (rgba) make."""
    match values:
        case [grey]:
            return ", ".join([grey, grey, grey, opaque])
        case [_, _, _]:
            return ", ".join([*values, opaque])
    return ", ".join(values)


def leaf_names(shape: Shape, prefix: str = "") -> list[str]:
    """A name for each leaf of a result: "value" for a number, "x" and "light_x" for fields, "item_0" for tuples."""
    match shape:
        case Leaf():
            return [prefix or "value"]
        case Fixed():
            return []
    names = shape.names or [f"item_{position}" for position in range(len(shape.items))]
    return [leaf for name, item in zip(names, shape.items, strict=True)
            for leaf in leaf_names(item, f"{prefix}_{name}" if prefix else str(name))]
