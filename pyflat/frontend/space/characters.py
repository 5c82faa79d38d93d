"""The digits of an int: `str(n)` and `bin(n)` of a lane, as one character after the other.

    sum(int(c) for c in str(n))     n = 407: the characters '4', '0', '7', of which each is a number (Char)

A text is as long as a number can get, and the places that a lane has not are gaps, as in a list whose length differs
from lane to lane (`ragged`). A text of digits and a sign is equal to another one where both have the same length and
the same value in base 11, the sign being a digit; numbers of more than 18 digits overflow there, and are replayed.

Numbers as format() writes them are the characters of an int, and what float() and int() read from a float's text.

    format(n, "08b").count("1")      the digits of n in base 2, behind as many zeros as a lane lacks
    float(f"{x:.3g}")                x, rounded to three significant digits
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import libcst as cst

from pyflat.frontend.library import stdlib
from pyflat.frontend.space import ragged, scalars
from pyflat.frontend.state import heap, templates
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import alternatives, bound_part, folded, lane, maybe_unbound, numeric_kind
from pyflat.frontend.state.values import (
    UNBOUND,
    Abstract,
    Arguments,
    Char,
    Chars,
    GuardedUnion,
    NumberText,
    Static,
    Text,
    Written,
)
from pyflat.ir.build import const
from pyflat.ir.nodes import Value
from pyflat.ir.types import BOOL, FLOAT, INT

Items = Sequence[Abstract]
_DIGITS = "0123456789"
MAX_ONE_WORD = 20
"""Characters of an int in base 10: those of 19 digits and a sign may overflow one word, and are replayed."""
_ZERO, _MINUS = ord("0"), ord("-")


def items_of(s: Evaluator, value: Abstract) -> Items | None:
    """The characters, with gaps; None for a text of which they are not known."""
    match value:
        case Static() if type(value.value) is str:
            return [Static(each) for each in value.value]
        case Char():
            return [value]
        case Chars():
            return value.items
        case NumberText() if (how := int_format(value)) is not None:
            return characters(s, value, how)
        case Written() if is_text(value):
            return items_of(s, joined(s, value.parts))
    return None


def code_of(s: Evaluator, value: Abstract) -> Value:
    """The code point of one character."""
    if isinstance(value, Char):
        return s.build.op("add", value.number, const(_ZERO)) if value.decimal else value.number
    assert isinstance(value, Static)
    return const(ord(value.value))


def digit_of(s: Evaluator, value: Abstract) -> Value:
    """The digit that a character is, 0 for others."""
    if isinstance(value, Char) and value.decimal:
        return value.number
    return s.build.op("select", is_digit(s, value), s.build.op("sub", code_of(s, value), const(_ZERO)), const(0))


def is_digit(s: Evaluator, value: Abstract) -> Value:
    if isinstance(value, Char) and value.decimal:
        return const(True)
    code = code_of(s, value)
    return s.build.op("and", s.build.op("ge", code, const(_ZERO)), s.build.op("le", code, const(_ZERO + 9)))


def is_minus(s: Evaluator, value: Abstract) -> Value:
    if isinstance(value, Char) and value.decimal:
        return const(False)
    return s.build.op("eq", code_of(s, value), const(_MINUS))


def joined(s: Evaluator, parts: Items) -> Abstract:
    """The text that has the characters of `parts`."""
    found: list[Abstract] = []
    for part in parts:
        present, text = ragged.split_gap(s, part)
        items = None if text is UNBOUND else items_of(s, text)
        if text is UNBOUND:
            continue
        if items is None:
            return Text()
        if isinstance(present, Static):
            found += items
            continue
        for item in items:
            here, value = ragged.split_gap(s, item)
            both = present if isinstance(here, Static) else s.build.op("and", present, here)
            found.append(GuardedUnion(both, value, UNBOUND))
    if all(isinstance(item, Static) for item in found):
        return Static("".join(item.value for item in found if isinstance(item, Static)))
    return Chars(tuple(found))


# --- what is asked of a text
def length(s: Evaluator, value: Abstract, items: Items, node: cst.CSTNode) -> Abstract:
    """len(text)"""
    if isinstance(value, NumberText) and value.spec == "#b":
        total = s.space.call(Static(int.bit_length), Arguments([value.number], {}), node)
        for more in (Static(2), s.build.op("lt", value.number, const(0)), s.build.op("eq", value.number, const(0))):
            total = scalars.binary(s, "add", total, more)
        return total
    return ragged.length(s, items)


def number(s: Evaluator, items: Items, base: int, digit: Callable[[Abstract], Value]) -> Abstract:
    """Horner's rule over the characters that a lane has."""
    total: Abstract = Static(0)
    for item in items:
        present, value = ragged.split_gap(s, item)
        if value is UNBOUND:
            continue
        longer = scalars.binary(s, "add", scalars.binary(s, "mul", total, Static(base)), digit(value))
        total = longer if isinstance(present, Static) else s.build.op("select", present, lane(longer), lane(total))
    return total


def equal(s: Evaluator, a: Items, b: Items, node: cst.CSTNode) -> Abstract:
    """Whether two texts have the same characters."""
    if not any(map(maybe_unbound, [*a, *b])):
        if len(a) != len(b):
            return Static(False)
        return all_of(s, [s.build.op("eq", code_of(s, x), code_of(s, y)) for x, y in zip(a, b, strict=True)])
    known = [[item.value for item in items if isinstance(item, Static)] for items in (a, b)]
    for each, other in ((known[0], b), (known[1], a)):
        if any(char not in "-0123456789" for char in each) and len(each) in (len(a), len(b)) and _are_digits(other):
            return Static(False)
    alphabet = _alphabet([*a, *b])
    if alphabet is None:
        raise s.refuse("flatten/unsupported-expression", "this comparison of computed strings", node,
                       why="only texts of digits and known characters are compared", help="compare the numbers")
    same_length = scalars.compare(s, "eq", ragged.length(s, a), ragged.length(s, b))
    if isinstance(same_length, Static) and not same_length.value:
        return Static(False)

    def same_value() -> Abstract:
        longest = max(len(a), len(b))
        pairs = zip(*(_words(s, items, alphabet, longest) for items in (a, b)), strict=False)
        return s.space.truth(all_of(s, [lane(scalars.compare(s, "eq", x, y)) for x, y in pairs]))

    return s.space.truth(s.branch(lane(same_length), same_value, lambda: Static(False)))


def all_of(s: Evaluator, tests: Sequence[Value]) -> Value:
    found: Value = const(True)
    for test in tests:
        found = s.build.op("and", found, test)
    return found


def any_of(s: Evaluator, tests: Sequence[Value]) -> Value:
    found: Value = const(False)
    for test in tests:
        found = s.build.op("or", found, test)
    return found


def _are_digits(items: Items) -> bool:
    """All are digits or a sign: known ones, or out of `_digits` in base 10."""
    values = map(bound_part, items)
    return all(isinstance(v, Char) and v.decimal or isinstance(v, Static) and v.value in "-0123456789" for v in values)


def _alphabet(items: Items) -> str | None:
    """The characters that may be in a text, digits first; None where they are not known."""
    values = [one for item in items for one in alternatives(item) if one is not UNBOUND]
    if any(isinstance(one, Char) and not one.decimal for one in values):
        return None
    digits = "01" if all(isinstance(one, Static) or isinstance(one, Char) and one.binary for one in values) else _DIGITS
    known = "".join(sorted({one.value for one in values if isinstance(one, Static)}))
    return digits + "".join(each for each in known if each not in digits)


def _words(s: Evaluator, items: Items, alphabet: str, longest: int) -> list[Abstract]:
    """The characters that a lane has as digits of ints, as many in each as 63 bits hold."""
    base = len(alphabet)
    size = max(k for k in range(1, 64) if base**k < 2**63)
    if longest <= (size if base > len(_DIGITS) + 1 else max(size, MAX_ONE_WORD)):
        return [number(s, items, base, functools.partial(_place_in, s, alphabet))]
    words: list[Abstract] = [Static(0)] * -(-len(items) // size)
    rank: Abstract = Static(0)
    for at, item in enumerate(items):
        present, value = ragged.split_gap(s, item)
        for k in range(at // size + 1):
            inside = s.build.op("and", s.build.op("ge", lane(rank), const(k * size)),
                                s.build.op("lt", lane(rank), const((k + 1) * size)))
            longer = scalars.binary(s, "add", scalars.binary(s, "mul", words[k], Static(base)),
                                    _place_in(s, alphabet, value))
            words[k] = scalars.choose(s, s.build.op("and", lane(present), inside), longer, words[k])
        rank = scalars.binary(s, "add", rank, present)
    return words


def _place_in(s: Evaluator, alphabet: str, value: Abstract) -> Value:
    def place(one: Abstract) -> Value:
        if isinstance(one, Char):
            return one.number
        assert isinstance(one, Static)
        return const(alphabet.index(one.value))

    return folded(value, place, lambda *parts: s.build.op("select", *parts))


def compare(s: Evaluator, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    """A comparison of two values, one of which is a text of lanes."""
    left, right = items_of(s, a), items_of(s, b)
    if left is None or right is None:
        if opcode in ("eq", "ne") and not any(isinstance(v, Text) and items_of(s, v) is None for v in (a, b)):
            return Static(opcode == "ne")
        raise s.refuse("flatten/unsupported-expression", "this comparison of computed strings", node)
    if opcode in ("eq", "ne"):
        same = equal(s, left, right, node)
        return scalars.negate(s, same) if opcode == "ne" else same
    if len(left) != 1 or len(right) != 1:
        raise s.refuse("flatten/unsupported-expression", "the order of computed strings", node,
                       why="only single characters are ordered", help="compare the numbers")
    return s.build.op(opcode, code_of(s, left[0]), code_of(s, right[0]))


def is_text(value: Abstract) -> bool:
    """A string whose characters are lanes."""
    if isinstance(value, Written):
        return all(is_text(part) or templates.is_known(part) for part in value.parts)
    return isinstance(value, Char | Chars) or int_format(value) is not None


def among(s: Evaluator, items: Items, wanted: Abstract, node: cst.CSTNode) -> Static | Value:
    """`wanted in text` for one character."""
    found = items_of(s, wanted)
    if found is None or len(found) != 1:
        raise s.refuse("flatten/unsupported-expression", "a search for a string in a computed one", node,
                       why="only single characters are found")
    here: Value = const(False)
    for held in each_equal(s, items, found[0]):
        here = s.build.op("or", here, held)
    return here


def each_equal(s: Evaluator, items: Items, wanted: Abstract) -> list[Value]:
    tests: list[Value] = []
    for item in items:
        present, value = ragged.split_gap(s, item)
        if value is not UNBOUND:
            same = s.build.op("eq", code_of(s, value), code_of(s, wanted))
            tests.append(s.build.op("and", lane(present), same))
    return tests


def count(s: Evaluator, value: Abstract, items: Items, wanted: Abstract, node: cst.CSTNode) -> Abstract:
    binary = isinstance(value, NumberText) and value.spec in ("b", "#b") and not value.converted
    if binary and isinstance(value, NumberText) and isinstance(wanted, Static) and wanted.value == "1":
        return s.space.call(Static(int.bit_count), Arguments([value.number], {}), node)
    found = items_of(s, wanted)
    if found is None or len(found) != 1:
        raise s.refuse("flatten/unsupported-expression", "a search for a string in a computed one", node,
                       why="only single characters are found")
    total: Abstract = Static(0)
    for held in each_equal(s, items, found[0]):
        total = scalars.binary(s, "add", total, held)
    return total


def at(s: Evaluator, items: Items, position: Abstract, node: cst.CSTNode) -> Abstract:
    """`text[position]`"""
    if numeric_kind(position) not in (INT, BOOL):
        raise s.raised(TypeError, node)
    backwards = isinstance(position, Static) and position.value < 0
    if isinstance(position, Static):
        wanted: Value = const(-1 - position.value if backwards else position.value)
    else:
        place = scalars.to_kind(s, lane(position), INT)
        from_end = s.build.op("add", place, lane(ragged.length(s, items)))
        wanted = s.build.op("select", s.build.op("lt", place, const(0)), from_end, place)
    rank: Abstract = Static(0)
    there: Value = const(False)
    decimal = all(isinstance(ragged.split_gap(s, item)[1], Char) and _are_digits([item]) for item in items)
    found: Value = const(0)
    for item in reversed(items) if backwards else items:
        present, value = ragged.split_gap(s, item)
        if value is UNBOUND:
            continue
        here = s.build.op("and", lane(present), s.build.op("eq", lane(rank), wanted))
        found = s.build.op("select", here, digit_of(s, value) if decimal else code_of(s, value), found)
        there = s.build.op("or", there, here)
        rank = scalars.binary(s, "add", rank, present)
    heap.raise_if(s, s.build.op("not", there), IndexError)
    return Char(found, decimal)


def part(s: Evaluator, items: Items, which: slice, node: cst.CSTNode) -> Abstract:
    """`text[a:b]`, forwards or backwards."""
    if which.step not in (None, 1, -1):
        raise s.refuse("flatten/unsupported-expression", "this slice of a computed string", node)
    if which.step == -1:
        return _backwards(s, items, which, node)
    if which.start is None and which.stop is None:
        return Chars(tuple(items))
    total = ragged.length(s, items)
    bounds = [bound if bound is None or bound >= 0 else scalars.binary(s, "add", total, Static(bound))
              for bound in (which.start, which.stop)]
    rank: Abstract = Static(0)
    kept: list[Abstract] = []
    for item in items:
        present, value = ragged.split_gap(s, item)
        if value is UNBOUND:
            continue
        here = lane(present)
        for bound, opcode in zip(bounds, ("ge", "lt"), strict=True):
            if bound is not None:
                limit = lane(Static(bound) if isinstance(bound, int) else bound)
                here = s.build.op("and", here, s.build.op(opcode, lane(rank), limit))
        kept.append(GuardedUnion(here, value, UNBOUND))
        rank = scalars.binary(s, "add", rank, present)
    return Chars(tuple(kept))


def _backwards(s: Evaluator, items: Items, which: slice, node: cst.CSTNode) -> Abstract:
    """`text[a:b:-1]`: what lies between both, of which a belongs to it and b does not, from its end."""
    if which.stop == -1:
        return Static("")
    first = None if which.stop is None else which.stop + 1
    last = None if which.start in (None, -1) else which.start + 1
    found = part(s, items, slice(first, last), node)
    assert isinstance(found, Chars)
    return Chars(found.items[::-1])


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
