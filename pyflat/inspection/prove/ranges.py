"""Sets of words, for what the operations can give: an interval of negative words, one of the others, and nan.

A number that is not zero stays apart from zero on both sides, which is what division asks. The rules for ints are
those of unbounded ints: a result that could leave 64 bits may be any word. The rules for floats round as the operation
does, which keeps order; where an operation may raise, its result may be any double.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from pyflat.functions.records import RECORDS
from pyflat.inspection.prove.floats import NAN_WORD, number_of, word_of
from pyflat.ir.ops import PRIMITIVES, ROUNDED
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MAX, INT_MIN, Kind

Range = tuple[int, int]
MOST_BITS = 64
INF_WORD, NEGATIVE_INF_WORD = word_of(math.inf), word_of(-math.inf)


class WordSet(NamedTuple):
    """The words of two intervals, and the word for nan where `nan` says so."""

    negative: Range | None
    positive: Range | None
    nan: bool = False

    @property
    def parts(self) -> list[Range]:
        return [part for part in (self.negative, self.positive) if part is not None]

    @property
    def is_empty(self) -> bool:
        return not self.parts and not self.nan

    @property
    def low(self) -> int:
        return self.parts[0][0] if self.parts else NAN_WORD

    @property
    def high(self) -> int:
        return NAN_WORD if self.nan else self.parts[-1][1]

    @property
    def may_be_nan(self) -> bool:
        return not self.is_empty and self.high == NAN_WORD

    def holds(self, word: int) -> bool:
        return self.nan and word == NAN_WORD or any(low <= word <= high for low, high in self.parts)


def words(ranges: Iterable[Range], *, nan: bool = False) -> WordSet:
    """The least set with all words of these ranges; a range may be empty."""
    negative: Range | None = None
    positive: Range | None = None
    for low, high in ranges:
        if low < 0 and low <= high:
            first, last = low, min(high, -1)
            negative = (first, last) if negative is None else (min(negative[0], first), max(negative[1], last))
        if high >= 0 and low <= high:
            first, last = max(low, 0), high
            positive = (first, last) if positive is None else (min(positive[0], first), max(positive[1], last))
    return WordSet(negative, positive, nan)


ANY = words([(INT_MIN, INT_MAX)])
DOUBLES = words([(NEGATIVE_INF_WORD, INF_WORD)], nan=True)
NOTHING = WordSet(None, None)


def of_kind(kind: Kind) -> WordSet:
    return DOUBLES if kind is FLOAT else ANY


def joined(a: WordSet, b: WordSet) -> WordSet:
    if a == b:
        return a
    return words([*a.parts, *b.parts], nan=a.nan or b.nan)


def meet(a: WordSet, b: WordSet) -> WordSet:
    if a == b:
        return a
    both = [(max(p[0], q[0]), min(p[1], q[1])) for p, q in itertools.product(a.parts, b.parts)]
    return words(both, nan=a.may_be_nan and b.may_be_nan and (a.nan or b.nan))


def at_least(a: WordSet, low: int) -> WordSet:
    return meet(a, words([(low, INT_MAX)]))


def at_most(a: WordSet, high: int) -> WordSet:
    return meet(a, words([(INT_MIN, high)]))


def without(a: WordSet, word: int) -> WordSet:
    """Without this word where it is an end of an interval."""
    parts = [(low + (low == word), high - (high == word)) for low, high in a.parts]
    return words(parts, nan=a.nan and word != NAN_WORD)


def flipped(a: WordSet) -> WordSet:
    """The words with inverted bits; of doubles that are not nan, the negative numbers."""
    return words([(~high, ~low) for low, high in a.parts], nan=a.nan)


def sizes(a: WordSet) -> WordSet:
    return words([(~high, ~low) if high < 0 else (low, high) for low, high in a.parts], nan=a.nan)


def with_sizes(a: WordSet) -> WordSet:
    """All words whose sizes are in the set."""
    return words([each for low, high in a.parts if high >= 0 for each in ((low, high), (~high, ~low))], nan=a.nan)


# --- ints: each rule gives the ends of what unbounded ints would be, None for any word


def within(ends: Sequence[int] | None) -> WordSet:
    if ends is None or min(ends) < INT_MIN or max(ends) > INT_MAX:
        return ANY
    return words([(min(ends), max(ends))])


def _corners(function: Callable[[int, int], int]) -> Callable[[Range, Range], Sequence[int] | None]:
    return lambda a, b: [function(x, y) for x in a for y in b]


def _mod(a: Range, b: Range) -> Sequence[int] | None:
    if b[0] <= 0:
        return (b[0] + 1, 0) if b[1] < 0 else None
    if a[0] >= 0:
        return a if a[1] < b[0] else (0, min(b[1] - 1, a[1]))
    return 0, b[1] - 1


def _floordiv(a: Range, b: Range) -> Sequence[int] | None:
    return [x // y for x in a for y in b] if b[0] > 0 or b[1] < 0 else None


def _power(a: Range, b: Range) -> Sequence[int] | None:
    size = max(map(abs, a))
    if b[0] < 0 or (size > 1 and b[1] * size.bit_length() > 2 * MOST_BITS):
        return None
    most = max(size ** b[1], 1) if size > 1 else 1
    return (0 if a[0] >= 0 else -most), most


def _bits_and(a: Range, b: Range) -> Sequence[int] | None:
    masks = [part[1] for part in (a, b) if part[0] >= 0]
    return (0, min(masks)) if masks else None


def _bits_or(a: Range, b: Range) -> Sequence[int] | None:
    if a[0] >= 0 and b[0] >= 0:
        return 0, (1 << max(a[1], b[1]).bit_length()) - 1
    return INT_MIN, -1  # one of them is negative, as each part has one sign


def _bits_xor(a: Range, b: Range) -> Sequence[int] | None:
    if (a[0] < 0) is not (b[0] < 0):
        return INT_MIN, -1
    return (0, (1 << max(a[1], b[1]).bit_length()) - 1) if a[0] >= 0 else (0, INT_MAX)


def _shr(a: Range, b: Range) -> Sequence[int] | None:
    return [x >> y for x in a for y in b] if b[0] >= 0 and b[1] < MOST_BITS else None


def _shl(a: Range, b: Range) -> Sequence[int] | None:
    return [x << y for x in a for y in b] if b[0] >= 0 and b[1] < MOST_BITS else None


OF_INTS: dict[str, Callable[..., Sequence[int] | None]] = {
    "add": _corners(lambda x, y: x + y), "sub": _corners(lambda x, y: x - y), "mul": _corners(lambda x, y: x * y),
    "mod": _mod, "floordiv": _floordiv, "ipow": _power, "and": _bits_and, "or": _bits_or, "xor": _bits_xor,
    "shr": _shr, "shl": _shl, "neg": lambda a: [-x for x in a], "invert": lambda a: [~x for x in a],
}


def exact(opcode: str, operands: Sequence[WordSet]) -> WordSet:
    """The range of an operation on ints, part by part."""
    found = NOTHING
    for parts in itertools.product(*(operand.parts for operand in map(_as_int, operands))):
        found = joined(found, within(OF_INTS[opcode](*parts)))
    return found


def fits(opcode: str, operands: Sequence[WordSet]) -> bool:
    """Whether a sum or difference of ints never leaves 64 bits."""
    for parts in itertools.product(*(operand.parts for operand in map(_as_int, operands))):
        ends = OF_INTS[opcode](*parts)
        if ends is None or min(ends) < INT_MIN or max(ends) > INT_MAX:
            return False
    return True


def _as_int(a: WordSet) -> WordSet:
    return joined(a._replace(nan=False), words([(INT_MAX, INT_MAX)])) if a.nan else a


# --- floats: each rule takes two numbers for each operand, the ends of a part without zero in it


Ends = tuple[float, float]
Result = tuple[float, float, bool]
"""The least and the largest number, and whether nan is one of them."""


def _add(a: Ends, b: Ends) -> Result:
    low, high = a[0] + b[0], a[1] + b[1]
    opposed = any(x == -y and math.isinf(x) for x in a for y in b)
    return (-math.inf if low != low else low), (math.inf if high != high else high), opposed


def _size(a: Ends) -> tuple[float, float, float]:
    """The ends of the absolute value, and the sign."""
    negative = math.copysign(1.0, a[0]) < 0
    return (-a[1], -a[0], -1.0) if negative else (a[0], a[1], 1.0)


def _signed(low: float, high: float, sign: float, nan: bool) -> Result:
    return (low, high, nan) if sign > 0 else (-high, -low, nan)


def _mul(a: Ends, b: Ends) -> Result:
    (a_low, a_high, a_sign), (b_low, b_high, b_sign) = _size(a), _size(b)
    low, high = a_low * b_low, a_high * b_high
    lost = a_low == 0 and b_high == math.inf or b_low == 0 and a_high == math.inf
    return _signed(0.0 if low != low else low, math.inf if lost else high, a_sign * b_sign, lost)


def _truediv(a: Ends, b: Ends) -> Result | None:
    (a_low, a_high, a_sign), (b_low, b_high, b_sign) = _size(a), _size(b)
    if b_low == 0:
        return None
    lost = a_high == math.inf and b_high == math.inf
    low = 0.0 if lost or b_high == math.inf else a_low / b_high
    high = math.inf if a_high == math.inf else a_high / b_low
    return _signed(low, high, a_sign * b_sign, lost)


def _float_mod(a: Ends, b: Ends) -> Result | None:
    if not (b[0] > 0 or b[1] < 0):
        return None
    lost = math.isinf(a[0]) or math.isinf(a[1])
    if b[1] < 0:
        return b[0], -0.0, lost
    return 0.0, (min(a[1], b[1]) or 0.0) if a[0] >= 0 else b[1], lost


def _float_floordiv(a: Ends, b: Ends) -> Result | None:
    """The quotient, give or take one and what rounding adds."""
    quotient = _truediv(a, b)
    if quotient is None or not all(map(math.isfinite, (*a, *quotient[:2]))):
        return None
    low, high, nan = quotient
    return low - 1.0 - abs(low) * 1e-9, high + 1.0 + abs(high) * 1e-9, nan


def _rounding(opcode: str) -> Callable[[Ends], Result]:
    function = PRIMITIVES[opcode].python
    return lambda a: (function(a[0]), function(a[1]), False)


def _sqrt(a: Ends) -> Result | None:
    return None if a[0] < 0 else (math.sqrt(a[0]), math.sqrt(a[1]), False)


def _float_power(a: Ends, b: Ends) -> Result | None:
    if not all(map(math.isfinite, (*a, *b))) or min(a[0], b[0]) < 0:
        return None
    try:
        most = max(a[1] ** b[1], 1.0)
    except OverflowError:
        return None
    return -0.0, most * (1 + 1e-12), False


_OF_FLOATS: dict[str, Callable[..., Result | None]] = {
    "add": _add, "mul": _mul, "truediv": _truediv, "mod": _float_mod, "floordiv": _float_floordiv, "sqrt": _sqrt,
    "np_sqrt": _sqrt, "pow": _float_power,
    **{opcode: _rounding(opcode) for opcode in ("floor", "ceil", "trunc", "rint")},
}
_MAY_MISS_NAN = {"pow"}
"""nan ** 0.0 is a number: an operand that is nan does not make the result nan."""


def of_floats(opcode: str, operands: Sequence[WordSet]) -> WordSet:
    found = words([], nan=any(operand.may_be_nan for operand in operands))
    if opcode in _MAY_MISS_NAN and found.nan:
        return DOUBLES
    for parts in itertools.product(*map(_numbers, operands)):
        result = _OF_FLOATS[opcode](*parts)
        if result is None:
            return DOUBLES
        found = joined(found, words([(word_of(result[0]), word_of(result[1]))], nan=result[2]))
    return found


def _numbers(a: WordSet) -> Iterator[Ends]:
    for low, high in a.parts:
        first, last = max(low, NEGATIVE_INF_WORD), min(high, INF_WORD)
        if first <= last:
            yield number_of(first), number_of(last)


def _to_float(a: WordSet) -> WordSet:
    return words([(word_of(float(low)), word_of(float(high))) for low, high in _as_int(a).parts])


def _rounded_to_int(opcode: str) -> Callable[[WordSet], WordSet]:
    function: Callable[[float], int] = PRIMITIVES[opcode].python

    def rule(a: WordSet) -> WordSet:
        ends = [number for part in _numbers(a) for number in part]
        if a.may_be_nan or any(not -(2.0**63) <= number < 2.0**63 for number in ends):
            return ANY
        return words([(function(low), function(high)) for low, high in _numbers(a)])

    return rule


_ROUNDED = {opcode: _rounded_to_int(opcode) for opcode in ROUNDED}


def applied(opcode: str, kinds: Sequence[Kind], kind: Kind, operands: Sequence[WordSet],
            attrs: Sequence[tuple[str, Any]]) -> WordSet:
    """What an operation on operands of these sets can give."""
    if any(operand.is_empty for operand in operands):
        return NOTHING
    if kind is INT and kinds[0] is INT and opcode in OF_INTS:
        return exact(opcode, operands)
    if kind is FLOAT and kinds[0] is FLOAT and opcode in _OF_FLOATS:
        return of_floats(opcode, operands)
    if opcode == "to_float" and kinds[0] is INT:
        return _to_float(operands[0])
    if opcode in _ROUNDED and kinds[0] is FLOAT:
        return _ROUNDED[opcode](operands[0])
    if opcode == "gather" and kind is not BOOL:
        return _of_rows(attrs[0][1], kind)
    return _of_record(opcode) if kind is FLOAT else ANY


def _of_rows(rows: Sequence[Any], kind: Kind) -> WordSet:
    if kind is INT:
        return words([(min(rows), max(rows))])
    numbers = [word_of(row) for row in rows if row == row]
    return words([(word, word) for word in numbers], nan=len(numbers) < len(rows))


def _of_record(opcode: str) -> WordSet:
    record = RECORDS.get(opcode)
    low, high = (record and record.range) or (-math.inf, math.inf)
    if record is not None and record.rises_to is not None:
        low = 0.0
    return words([(word_of(low or -0.0), word_of(high or 0.0))], nan=True)
