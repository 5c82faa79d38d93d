"""The digits of an int: `str(n)` and `bin(n)` of a lane, as one character after the other.

    sum(int(c) for c in str(n))     n = 407: the characters '4', '0', '7', of which each is a number (Char)

A text is as long as a number can get, and the places that a lane has not are gaps, as in a list whose length differs
from lane to lane (`ragged`). A text of digits and a sign is equal to another one where both have the same length and
the same value in base 11, the sign being a digit; numbers of more than 18 digits overflow there, and are replayed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import libcst as cst

from pyflat.frontend.space import ragged, scalars, text_errors
from pyflat.frontend.state import heap, written
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import lane, maybe_unbound, numeric_kind
from pyflat.frontend.state.values import (
    UNBOUND,
    Abstract,
    Arguments,
    Char,
    Chars,
    GuardedUnion,
    IntText,
    Static,
    Text,
    Written,
)
from pyflat.ir.build import const
from pyflat.ir.nodes import Value
from pyflat.ir.types import BOOL, INT

Items = Sequence[Abstract]
_PREFIX = {10: "", 2: "0b", 8: "0o", 16: "0x"}
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
        case IntText():
            return _digits(s, value.number, value.base)
        case Written() if is_text(value):
            return items_of(s, joined(s, value.parts))
    return None


def _digits(s: Evaluator, number: Value, base: int) -> Items:
    size = s.build.op("abs", number)
    sign = GuardedUnion(s.build.op("lt", number, const(0)), Static("-"), UNBOUND)
    digits: list[Abstract] = []
    power = 1
    while power < 2**63:
        digit = s.build.op("mod", s.build.op("floordiv", size, const(power)), const(base))
        char = Char(digit, True)
        if base > 10:
            code, letter = (s.build.op("add", digit, const(offset)) for offset in (_ZERO, ord("a") - 10))
            char = Char(s.build.op("select", s.build.op("lt", digit, const(10)), code, letter), False)
        digits.append(char if power == 1 else GuardedUnion(s.build.op("ge", size, const(power)), char, UNBOUND))
        power *= base
    return [sign, *map(Static, _PREFIX[base]), *reversed(digits)]


def code_of(s: Evaluator, value: Abstract) -> Value:
    """The code point of one character."""
    if isinstance(value, Char):
        return s.build.op("add", value.number, const(_ZERO)) if value.decimal else value.number
    assert isinstance(value, Static)
    return const(ord(value.value))


def _digit_of(s: Evaluator, value: Abstract) -> Value:
    """The digit that a character is, 0 for others."""
    if isinstance(value, Char) and value.decimal:
        return value.number
    return s.build.op("select", _is_digit(s, value), s.build.op("sub", code_of(s, value), const(_ZERO)), const(0))


def _is_digit(s: Evaluator, value: Abstract) -> Value:
    if isinstance(value, Char) and value.decimal:
        return const(True)
    code = code_of(s, value)
    return s.build.op("and", s.build.op("ge", code, const(_ZERO)), s.build.op("le", code, const(_ZERO + 9)))


def _is_minus(s: Evaluator, value: Abstract) -> Value:
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
    if isinstance(value, IntText) and value.base == 2:
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


def to_int(s: Evaluator, items: Items, node: cst.CSTNode) -> Abstract:
    """int(text): digits, of which one at least, and a sign in front of them."""
    if len(items) == 1 and isinstance(only := items[0], Char) and only.decimal:
        return only.number
    wrong: Value = const(False)
    negative: Value = const(False)
    count: Abstract = Static(0)
    rank: Abstract = Static(0)
    for item in items:
        present, value = ragged.split_gap(s, item)
        if value is UNBOUND:
            continue
        minus = s.build.op("and", _is_minus(s, value), s.build.op("eq", lane(rank), const(0)))
        digit = _is_digit(s, value)
        neither = s.build.op("not", s.build.op("or", minus, digit))
        wrong = s.build.op("or", wrong, s.build.op("and", lane(present), neither))
        negative = s.build.op("or", negative, s.build.op("and", lane(present), minus))
        count = scalars.binary(s, "add", count, s.build.op("and", lane(present), digit))
        rank = scalars.binary(s, "add", rank, present)
    heap.raise_if(s, s.build.op("or", wrong, s.build.op("eq", lane(count), const(0))), ValueError)

    size = lane(number(s, items, 10, functools.partial(_digit_of, s)))
    return s.build.op("select", negative, s.build.op("neg", size), size)


def equal(s: Evaluator, a: Items, b: Items, node: cst.CSTNode) -> Abstract:
    """Whether two texts have the same characters."""
    if not any(map(maybe_unbound, [*a, *b])):
        if len(a) != len(b):
            return Static(False)
        return _all(s, [s.build.op("eq", code_of(s, x), code_of(s, y)) for x, y in zip(a, b, strict=True)])
    known = [[item.value for item in items if isinstance(item, Static)] for items in (a, b)]
    for each, other in ((known[0], b), (known[1], a)):
        if any(char not in "-0123456789" for char in each) and len(each) in (len(a), len(b)) and _are_digits(other):
            return Static(False)
    if not (_are_digits(a) and _are_digits(b)):
        raise s.refuse("flatten/unsupported-expression", "this comparison of strings made from lanes", node,
                       why="only the decimal digits of ints are compared", help="compare the numbers")
    same_length = scalars.compare(s, "eq", ragged.length(s, a), ragged.length(s, b))
    if isinstance(same_length, Static) and not same_length.value:
        return Static(False)

    def same_value() -> Abstract:
        left, right = (number(s, items, 11, functools.partial(_in_base_11, s)) for items in (a, b))
        return s.space.truth(scalars.compare(s, "eq", left, right))

    return s.space.truth(s.branch(lane(same_length), same_value, lambda: Static(False)))


def _all(s: Evaluator, tests: list[Value]) -> Value:
    found: Value = const(True)
    for test in tests:
        found = s.build.op("and", found, test)
    return found


def _are_digits(items: Items) -> bool:
    """All are digits or a sign: known ones, or out of `_digits` in base 10."""
    values = [item.then if isinstance(item, GuardedUnion) and item.orelse is UNBOUND else item for item in items]
    return all(isinstance(v, Char) and v.decimal or isinstance(v, Static) and v.value in "-0123456789" for v in values)


def _in_base_11(s: Evaluator, value: Abstract) -> Value:
    return s.build.op("select", _is_minus(s, value), const(10), _digit_of(s, value))


def compare(s: Evaluator, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    """A comparison of two values, one of which is a text of lanes."""
    left, right = items_of(s, a), items_of(s, b)
    if left is None or right is None:
        if opcode in ("eq", "ne") and not any(isinstance(v, Text) and items_of(s, v) is None for v in (a, b)):
            return Static(opcode == "ne")
        raise s.refuse("flatten/unsupported-expression", "this comparison of strings made from lanes", node)
    if opcode in ("eq", "ne"):
        same = equal(s, left, right, node)
        return scalars.negate(s, same) if opcode == "ne" else same
    if len(left) != 1 or len(right) != 1:
        raise s.refuse("flatten/unsupported-expression", "the order of strings made from lanes", node,
                       why="only single characters are ordered", help="compare the numbers")
    return s.build.op(opcode, code_of(s, left[0]), code_of(s, right[0]))


def is_text(value: Abstract) -> bool:
    """A string whose characters are lanes."""
    if isinstance(value, Written):
        return all(is_text(part) or written.is_known(part) for part in value.parts)
    return isinstance(value, Char | Chars | IntText)


def among(s: Evaluator, items: Items, wanted: Abstract, node: cst.CSTNode) -> Static | Value:
    """`wanted in text` for one character."""
    found = items_of(s, wanted)
    if found is None or len(found) != 1:
        raise s.refuse("flatten/unsupported-expression", "a search for a string in one made from lanes", node,
                       why="only single characters are found")
    here: Value = const(False)
    for held in _each_equal(s, items, found[0]):
        here = s.build.op("or", here, held)
    return here


def _each_equal(s: Evaluator, items: Items, wanted: Abstract) -> list[Value]:
    tests: list[Value] = []
    for item in items:
        present, value = ragged.split_gap(s, item)
        if value is not UNBOUND:
            same = s.build.op("eq", code_of(s, value), code_of(s, wanted))
            tests.append(s.build.op("and", lane(present), same))
    return tests


def count(s: Evaluator, value: Abstract, items: Items, wanted: Abstract, node: cst.CSTNode) -> Abstract:
    if isinstance(value, IntText) and value.base == 2 and isinstance(wanted, Static) and wanted.value == "1":
        return s.space.call(Static(int.bit_count), Arguments([value.number], {}), node)
    found = items_of(s, wanted)
    if found is None or len(found) != 1:
        raise s.refuse("flatten/unsupported-expression", "a search for a string in one made from lanes", node,
                       why="only single characters are found")
    total: Abstract = Static(0)
    for held in _each_equal(s, items, found[0]):
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
        found = s.build.op("select", here, _digit_of(s, value) if decimal else code_of(s, value), found)
        there = s.build.op("or", there, here)
        rank = scalars.binary(s, "add", rank, present)
    heap.raise_if(s, s.build.op("not", there), IndexError)
    return Char(found, decimal)


def part(s: Evaluator, items: Items, which: slice, node: cst.CSTNode) -> Abstract:
    """`text[a:b]`, forwards, or all of it backwards."""
    if which.step not in (None, 1, -1) or which.step == -1 and (which.start, which.stop) != (None, None):
        raise s.refuse("flatten/unsupported-expression", "this slice of a string made from lanes", node)
    if which.step == -1:
        return Chars(tuple(reversed(items)))
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


def method(s: Evaluator, value: Abstract, name: str, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """A method of a text of lanes; Text for one that is not computed."""
    items, values = items_of(s, value), arguments.positional
    match name:
        case "count" if items is not None and len(values) == 1 and not arguments.named:
            return count(s, value, items, values[0], node)
        case "isdigit" | "isdecimal" | "isnumeric" if isinstance(value, Char) and not (values or arguments.named):
            return _is_digit(s, value)
    return text_errors.by_method(s, value, name, arguments, node)
