"""The table that a C-like language is: everything the printer does not know by itself.

A spelling is a text with {0}, {1}, ... for the operands, the level of its operator, and the lowest level that each
operand may have without parentheses. Levels order what may stand bare inside of what: atoms and calls above unary
operators, above products, sums, comparisons, logic, and bit operations, which always get parentheses, because the
languages differ there (WGSL forbids `a & b == c` and `a && b || c`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pyflat.errors import refuse
from pyflat.functions.records import spellings
from pyflat.ir.ops import COMPARISONS, ROUNDED, SIGNS
from pyflat.ir.shape import Fixed, Labels, Leaf, Maybe, Ragged, Shape, Strings, Texts
from pyflat.ir.types import Kind
from pyflat.passes.rules.legalise import legal

ATOM, UNARY, PRODUCT, SUM, COMPARISON, LOGIC, BITS, CHOICE = 10, 9, 8, 7, 5, 3, 2, 1
Literal = Callable[[Kind, bool | int | float | None], str]


@dataclass(frozen=True, slots=True)
class Spelling:
    """How an operation is written. `operands` are the levels that operands need, the last one for all further ones;
    `chains`: the left operand may be the same operation without parentheses."""

    text: str
    level: int = ATOM
    operands: tuple[int, ...] = (CHOICE,)
    chains: bool = False


def infix(sign: str, level: int) -> Spelling:
    """A binary operator."""
    bare = {SUM: (SUM, PRODUCT), PRODUCT: (PRODUCT, UNARY), COMPARISON: (SUM, SUM), LOGIC: (COMPARISON, COMPARISON)}
    return Spelling(f"{{0}} {sign} {{1}}", level, bare.get(level, (UNARY, UNARY)), chains=level == LOGIC)


def call(name: str, operands: int = 1) -> Spelling:
    """A function of so many operands."""
    return Spelling(f"{name}({', '.join(f'{{{k}}}' for k in range(operands))})")


def prefix(sign: str) -> Spelling:
    """A unary operator."""
    return Spelling(f"{sign}{{0}}", UNARY, (ATOM,))


@dataclass(frozen=True, slots=True)
class Language:
    """A target of the C-like printer.

    spellings    by operation, or operation and kind of the first operand ("floordiv:i8"), which goes first
    helpers      functions that spellings and other helpers call, by name; printed where they are used
    constant     a binding: {type} {name} {value};   variable: the same, assigned later
    literal      a constant; raises FlattenError for one that the language has not
    table        a module-level array of constants: name, type, literals -> text; `unsigned` is the type of bit patterns
    function     the first line of a function: name, (name, kind) of the parameters, result type -> text
    vector       the type of so many floats
    record       the declaration of a type with fields: name, (name, kind) of the fields -> text
    """

    name: str
    types: Mapping[Kind, str]
    spellings: Mapping[str, Spelling]
    helpers: Mapping[str, str]
    reserved: frozenset[str]
    constant: str
    variable: str
    loop: str
    literal: Literal
    unsigned: str
    vector: Callable[[int], str]
    table: Callable[[str, str, Sequence[str]], str]
    function: Callable[[str, Sequence[tuple[str, Kind]], str], str]
    record: Callable[[str, Sequence[tuple[str, Kind]]], str]

    @property
    def stay(self) -> frozenset[str]:
        """The operations that need no rule: what it spells, and what it refuses."""
        return legal(self.spellings, self.name.lower())

    def spelling(self, opcode: str, kind: Kind | None) -> Spelling | None:
        """The row for an operation whose first operand has this kind, None where there is none."""
        return self.spellings.get(f"{opcode}:{kind}") or self.spellings.get(opcode)

    def helpers_in(self, text: str) -> list[str]:
        """The helper functions that `text` calls, directly or not, each after those that it calls itself."""
        found: dict[str, None] = {}

        def visit(source: str, skip: str = "") -> None:
            for name in re.findall(r"\b[a-z_0-9]+\b(?=\()", source):
                if name in self.helpers and name not in found and name != skip:
                    visit(self.helpers[name], name)
                    found[name] = None

        visit(text)
        return [self.helpers[name] for name in found]


@dataclass(frozen=True, slots=True)
class Printed:
    """A function as text: `text` is the function and everything it needs, to be called as `name(params...)`.

    With one result it returns a scalar, with more a record of type `record` with the names of `results` as fields.
    """

    name: str
    params: tuple[tuple[str, Kind], ...]
    results: tuple[tuple[str, Kind], ...]
    text: str
    record: str = ""
    taken: frozenset[str] = field(default_factory=frozenset)
    """Names that the text uses at module level."""

    @property
    def values(self) -> list[str]:
        """An expression for each result of a call that is named `result`."""
        return [f"result.{field}" for field, _ in self.results] if self.record else ["result"]

    def of_a_pixel(self, uniform: Sequence[bool], from_host: Callable[[str, Kind], str], places: Sequence[str]
                   ) -> list[str]:
        """The arguments for a pixel: fields of `uniforms`, and the two `places` that differ from pixel to pixel."""
        place = iter(places)
        return [from_host(f"uniforms.{name}", kind) if fixed else next(place)
                for (name, kind), fixed in zip(self.params, uniform, strict=True)]


# --- the part of the table that WGSL and GLSL have in common, and the limits of 32-bit lanes
def functions(language: str) -> dict[str, Spelling]:
    """The mathematical functions of a language ("wgsl", "glsl")."""
    return {name: Spelling(text) for name, text in spellings(language).items()}


def whole(cast: str, rint: str) -> dict[str, Spelling]:
    """The ints of rounded floats; `cast` truncates."""
    texts = {"trunc": "{0}", "rint": f"{rint}({{0}})"}
    return {name: Spelling(f"{cast}({texts.get(rounding, rounding + '({0})')})") for name, rounding in ROUNDED.items()}


I32_MIN, I32_MAX = -(2**31), 2**31 - 1
SPELLINGS: dict[str, Spelling] = {
    **{name: infix(SIGNS[name.partition(":")[0]], level) for level, names in (
        (SUM, ("add", "sub")), (PRODUCT, ("mul", "truediv")), (COMPARISON, (*COMPARISONS, "eq:b", "ne:b")),
        (BITS, ("and:i8", "or:i8", "xor:i8"))) for name in names},
    "and:b": infix("&&", LOGIC), "or:b": infix("||", LOGIC), "xor:b": infix("!=", COMPARISON),
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

COMMON_HELPERS = {
    "floor_quotient": """float floor_quotient(float a, float b) {
    return floor(a / b);
}""",
    "floor_remainder": """float floor_remainder(float a, float b) {
    return a - b * floor(a / b);
}""",
    "trunc_remainder": """float trunc_remainder(float a, float b) {
    return a - b * trunc(a / b);
}""",
    "nearest_remainder": """float nearest_remainder(float a, float b) {
    return a - b * roundEven(a / b);
}""",
    "hypot": """float hypot(float a, float b) {
    return length(vec2(a, b));
}""",
    "copy_sign": """float copy_sign(float a, float b) {
    return uintBitsToFloat((floatBitsToUint(a) & 0x7fffffffu) | (floatBitsToUint(b) & 0x80000000u));
}""",
    "is_finite": """bool is_finite(float x) {
    return (floatBitsToUint(x) & 0x7fffffffu) < 0x7f800000u;
}""",
    # asin and acos of drivers are wrong in the fourth digit
    "arc_sine": """float arc_sine(float x) {
    return atan(x, sqrt((1.0 - x) * (1.0 + x)));
}""",
    "arc_cosine": """float arc_cosine(float x) {
    return atan(sqrt((1.0 - x) * (1.0 + x)), x);
}""",
    "log10": """float log10(float x) {
    return log2(x) * 0.30103;
}""",
    "log1p": """float log1p(float x) {
    float s = x / (2.0 + x);
    float square = s * s;
    float series = 2.0 * s * (1.0 + square * (0.33333334 + square * (0.2 + square * 0.14285715)));
    return abs(x) < 0.25 ? series : log(1.0 + x);
}""",
    "expm1": """float expm1(float x) {
    float tail = 0.041666668 + x * (0.008333334 + x * 0.0013888889);
    float series = x * (1.0 + x * (0.5 + x * (0.16666667 + x * tail)));
    return abs(x) < 0.3 ? series : exp(x) - 1.0;
}""",
    "cbrt": """float cbrt(float x) {
    return sign(x) * pow(abs(x), 0.33333334);
}""",
    # Abramowitz and Stegun 7.1.26: absolute error below 1.5e-7
    "erf": """float erf(float x) {
    float a = abs(x);
    float t = 1.0 / (1.0 + 0.3275911 * a);
    float series = t * (0.2548296 + t * (-0.28449672 + t * (1.4214138 + t * (-1.4531521 + t * 1.0614054))));
    return sign(x) * (1.0 - series * exp(-a * a));
}""",
    "erfc": """float erfc(float x) {
    return 1.0 - erf(x);
}""",
}
"""Helper functions that differ in syntax alone, as GLSL."""


def literals(language: str, whole: str, least: str, real: str, special: str) -> Literal:
    """How a language writes constants: an integer, the least of them, a float, and one that has no decimals, by its
    bits. What it gives raises FlattenError for an integer that 32 bits do not hold."""

    def literal(kind: Kind, value: bool | int | float | None) -> str:
        if kind is Kind.BOOL:
            return "true" if value else "false"
        if kind is not Kind.INT:
            near = 0.0 if value is None else float(value)
            text = float_text(near)
            return special.format(float_bits(near)) if text is None else real.format(text)
        number = int(value or 0)
        if not I32_MIN <= number <= I32_MAX:
            raise refuse("flatten/target-operation",
                         f"the integer {number} does not fit into the 32 bits of {language}",
                         help="use a float, or smaller numbers")
        return least if number == I32_MIN else whole.format(number)

    return literal


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
        case Labels():
            return [f"{prefix}_code" if prefix else "code"]
        case Maybe():
            return [*leaf_names(shape.inner, prefix), f"{prefix}_is_none" if prefix else "is_none"]
        case Texts() | Ragged() | Strings():
            raise refuse("flatten/result-kind", "a shader gives no strings and lists",
                         help="return the numbers that they are made of")
        case Fixed():
            return []
    names = shape.names or [f"item_{position}" for position in range(len(shape.items))]
    return [leaf for name, item in zip(names, shape.items, strict=True)
            for leaf in leaf_names(item, f"{prefix}_{name}" if prefix else str(name))]
