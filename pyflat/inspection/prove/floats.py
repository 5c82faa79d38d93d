"""Doubles as 64-bit words in the order of the numbers, for z3: all that is cheap about floats is then about words.

A number that is not negative is its own bits, a negative one the inverted bits of its absolute value: -0.0 is -1, and
0.0 is 0. Every nan is one word, the largest. Comparisons, signs and tests for nan are a few comparisons of words, and
the solver never sees a float, unless an operation has to be bit-precise (`as_double`).
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable
from typing import Any

import z3

Term = Any
"""z3's expressions have no useful static types."""
WORD = z3.BitVecSort(64)
DOUBLE = z3.Float64()
_MASK = 2**63 - 1


def word_of(number: float) -> int:
    """The signed word that stands for a double."""
    if math.isnan(number):
        return NAN_WORD
    bits: int = struct.unpack("<q", struct.pack("<d", number))[0]
    return bits if bits >= 0 else ~(bits & _MASK)


def number_of(word: int) -> float:
    """The double that a signed word stands for."""
    if word == NAN_WORD:
        return math.nan
    size: float = struct.unpack("<d", struct.pack("<q", word if word >= 0 else ~word))[0]
    return size if word >= 0 else -size


NAN_WORD = _MASK


def literal(number: float) -> Term:
    return z3.BitVecVal(word_of(number), 64)


NAN, INF, NEGATIVE_INF = literal(math.nan), literal(math.inf), literal(-math.inf)
ZERO, ONE = literal(0.0), literal(1.0)


def is_double(a: Term) -> Term:
    """The word stands for a double."""
    return z3.Or(a == NAN, z3.And(a >= NEGATIVE_INF, a <= INF))


def is_nan(a: Term) -> Term:
    return a == NAN


def is_inf(a: Term) -> Term:
    return z3.Or(a == INF, a == NEGATIVE_INF)


def is_finite(a: Term) -> Term:
    return z3.And(a > NEGATIVE_INF, a < INF)


def is_zero(a: Term) -> Term:
    return z3.Or(a == 0, a == -1)


def negated(a: Term) -> Term:
    return z3.If(a == NAN, NAN, ~a)


def size(a: Term) -> Term:
    return z3.If(a < 0, ~a, a)


def _place(a: Term) -> Term:
    """The word with -0.0 at the place of 0.0."""
    if z3.is_bv_value(a):
        return ZERO if a.as_signed_long() == -1 else a
    return z3.If(a == -1, ZERO, a)


def _known_place(a: Term) -> int | None:
    """The word of a literal, None for others, that of 0.0 for both zeros."""
    return _place(a).as_signed_long() if z3.is_bv_value(a) else None


def less(a: Term, b: Term) -> Term:
    return _ordered(operator.lt, a, b, a < -1, b > 0)


def at_most(a: Term, b: Term) -> Term:
    return _ordered(operator.le, a, b, a <= 0, b >= -1)


def _ordered(compare: Callable[[Term, Term], Term], a: Term, b: Term, before_zero: Term, after_zero: Term) -> Term:
    match _known_place(a), _known_place(b):
        case _, 0:
            return before_zero
        case _, int(word):
            return compare(a, b) if word != NAN_WORD else z3.BoolVal(False)
        case 0, _:
            return z3.And(after_zero, b != NAN)
        case int(), _:
            return z3.And(compare(a, b), b != NAN)
    return z3.And(compare(_place(a), _place(b)), b != NAN)


def equal(a: Term, b: Term) -> Term:
    for x, y in ((a, b), (b, a)):
        match _known_place(y):
            case 0:
                return is_zero(x)
            case int(word):
                return x == y if word != NAN_WORD else z3.BoolVal(False)
    return z3.And(_place(a) == _place(b), b != NAN)


def as_double(a: Term) -> Term:
    """The word as z3's double; of the word for nan, a nan."""
    return z3.fpBVToFP(z3.If(a < 0, ~a | z3.BitVecVal(-(2**63), 64), a), DOUBLE)
