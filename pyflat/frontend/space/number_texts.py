"""Numbers as format() writes them: the characters of an int, and what float() and int() read from a float's text.

    format(n, "08b").count("1")      the digits of n in base 2, behind as many zeros as a lane lacks
    float(f"{x:.3g}")                x, rounded to three significant digits
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from pyflat.frontend.library import stdlib
from pyflat.frontend.space import ragged, scalars
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import lane
from pyflat.frontend.state.values import UNBOUND, Abstract, Arguments, Char, GuardedUnion, NumberText, Static
from pyflat.ir.build import const
from pyflat.ir.nodes import Value
from pyflat.ir.types import BOOL, FLOAT, INT

Items = Sequence[Abstract]
MAX_DIGITS = 300
"""Behind the point, or in all; with more, `round` gives the number itself as float() of the text does."""
MAX_WIDTH = 128
_INT = re.compile(r"(?:(.)?([<>=^]))?([-+ ]?)(#?)(0?)(\d{0,3})([bdoxX]?)", re.DOTALL)
_FLOAT = re.compile(r"(?:(?: ?[<>^])?[-+ ]?#?(?:[1-9]\d*)?)(?:\.(\d+))?([fFeEgG]?)")
_BASES = {"": 10, "d": 10, "b": 2, "o": 8, "x": 16, "X": 16}


@dataclass(frozen=True, slots=True)
class IntFormat:
    """What a format specification says of an int."""

    base: int
    sign: str
    """What positive numbers have in the place of the "-"."""
    prefix: str
    upper: bool
    fill: str
    align: str
    width: int


def int_format(value: Abstract) -> IntFormat | None:
    """How an int is written; None for other texts, and for formats whose characters are not made."""
    if not isinstance(value, NumberText) or value.number.kind is FLOAT:
        return None
    found = _INT.fullmatch(value.spec)
    if found is None or value.converted and (found[3] or found[4] or found[7] or found[2] == "="):
        return None
    fill, align, sign, other, zero, width, kind = found.groups("")
    if int(width or 0) > MAX_WIDTH or value.converted and zero:
        return None
    if value.number.kind is not INT and not (kind or sign or other or zero or align or width):
        return None  # str() of a bool
    align = align or ("=" if zero else "<" if value.converted else ">")
    prefix = f"0{kind}" if other and kind not in ("", "d") else ""
    return IntFormat(_BASES[kind], sign.strip("-"), prefix, kind == "X", fill or (zero or " "), align, int(width or 0))


def characters(s: Evaluator, value: NumberText, how: IntFormat) -> Items:
    """The characters, with gaps."""
    number = scalars.to_kind(s, value.number, INT)
    negative = s.build.op("lt", number, const(0))
    front: list[Abstract] = [GuardedUnion(negative, Static("-"), UNBOUND)]
    if how.sign:
        front.append(GuardedUnion(s.build.op("not", negative), Static(how.sign), UNBOUND))
    front += map(Static, how.prefix)
    digits = _digits(s, s.build.op("abs", number), how)
    if not how.width:
        return [*front, *digits]
    missing = scalars.binary(s, "sub", Static(how.width), ragged.length(s, [*front, *digits]))
    half = scalars.binary(s, "floordiv", missing, Static(2))
    before: Abstract = {"<": Static(0), "^": half}.get(how.align, missing)
    after: Abstract = {"<": missing, "^": scalars.binary(s, "sub", missing, half)}.get(how.align, Static(0))
    left, right = (filling(s, how.fill, count, how.width) for count in (before, after))
    return [*front, *left, *digits] if how.align == "=" else [*left, *front, *digits, *right]


def filling(s: Evaluator, fill: str, missing: Abstract, most: int) -> Items:
    """A character, `missing` times."""
    if isinstance(missing, Static):
        return [Static(fill)] * missing.value
    return [GuardedUnion(s.build.op("gt", lane(missing), const(k)), Static(fill), UNBOUND) for k in range(most)]


def _digits(s: Evaluator, size: Value, how: IntFormat) -> Items:
    digits: list[Abstract] = []
    power = 1
    while power < 2**63:
        digit = s.build.op("mod", s.build.op("floordiv", size, const(power)), const(how.base))
        char = Char(digit, True, how.base == 2)
        if how.base > 10:
            code, letter = (s.build.op("add", digit, const(ord(first) - value))
                            for first, value in (("0", 0), ("A" if how.upper else "a", 10)))
            char = Char(s.build.op("select", s.build.op("lt", digit, const(10)), code, letter), False)
        digits.append(char if power == 1 else GuardedUnion(s.build.op("ge", size, const(power)), char, UNBOUND))
        power *= how.base
    return digits[::-1]


# --- read again
def read_int(s: Evaluator, value: Abstract) -> Value | None:
    """int(text) of a float that was written without digits behind the point; None for other texts."""
    found = _FLOAT.fullmatch(value.spec) if isinstance(value, NumberText) and not value.converted else None
    if found is None or not isinstance(value, NumberText) or found[1] != "0" or found[2] not in ("f", "F") \
            or "#" in value.spec or value.number.kind is not FLOAT:
        return None
    heap.raise_if(s, s.build.op("not", s.build.op("isfinite", value.number)), ValueError)
    return s.build.op("to_int", s.build.op("round_digits", value.number, const(0)))


def read_float(s: Evaluator, value: Abstract, node: cst.CSTNode) -> Value | None:
    """float(text) of a number that was written; None for texts that hold more, or of which it is not known.

    The text has the nearest decimal number with that many digits behind the point, ties by the exact value: round()
    has the same.
    """
    found = _FLOAT.fullmatch(value.spec) if isinstance(value, NumberText) and not value.converted else None
    if found is None or not isinstance(value, NumberText):
        return None
    digits, kind = found[1], found[2].lower()
    if not kind and (digits or value.number.kind is BOOL):
        return None
    number = scalars.to_kind(s, value.number, FLOAT)
    if not kind:
        return number
    count = int(digits) if digits else 6
    if count > MAX_DIGITS:
        return None
    if kind == "f":
        return s.build.op("round_digits", number, const(count))
    s.require_float64(f"{count} significant digits", node)
    significant = Static(count + 1 if kind == "e" else max(count, 1))
    rounded = s.space.call(Static(stdlib.round_to_significant), Arguments([number, significant], {}), node)
    assert isinstance(rounded, Value)
    return rounded
