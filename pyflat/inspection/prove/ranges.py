"""Between which words a term lies, whatever the parameters are: read off it, from the operands to the result.

The rules for ints are those of unbounded ints: a result that could leave 64 bits may be any word. Of floats there is as
much as the tests for overflow of ints need: these compare products and powers of operands as floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import z3

from pyflat.inspection.prove.floats import Term, number_of, size, word_of
from pyflat.inspection.prove.terms import Application
from pyflat.ir.types import FLOAT, INT, INT_MAX, INT_MIN, Kind

Range = tuple[int, int]
ANY: Range = (INT_MIN, INT_MAX)
MOST_BITS = 64


class Ranges:
    """Ranges of terms, each found once. `made_by`: the operation whose result a term is."""

    def __init__(self, made_by: Callable[[Term], Application | None]):
        self._made_by = made_by
        self._found: dict[int, tuple[Term, Range]] = {}

    def of(self, term: Term) -> Range:
        place = term.get_id()
        if place not in self._found:
            low, high = self._read(term)
            self._found[place] = term, (low, high) if low >= INT_MIN and high <= INT_MAX else ANY
        return self._found[place][1]

    def _read(self, term: Term) -> Range:
        if z3.is_bv_value(term):
            return term.as_signed_long(), term.as_signed_long()
        made = self._made_by(term)
        if made is not None:
            rule = _RULES.get((made.opcode, made.kinds[0]))
            return rule(*map(self.of, made.args)) if rule else ANY
        match term.decl().kind():
            case z3.Z3_OP_ITE if term.eq(size(term.arg(2))):
                low, high = self.of(term.arg(2))
                return (low, high) if low >= 0 else (0, max(high, ~low))
            case z3.Z3_OP_ITE:
                (a, b), (c, d) = self.of(term.arg(1)), self.of(term.arg(2))
                return min(a, c), max(b, d)
            case z3.Z3_OP_BADD | z3.Z3_OP_BMUL as kind if term.num_args() == 2:
                combine = _added if kind == z3.Z3_OP_BADD else _multiplied
                return combine(self.of(term.arg(0)), self.of(term.arg(1)))
            case z3.Z3_OP_BSUB:
                (a, b), (c, d) = self.of(term.arg(0)), self.of(term.arg(1))
                return a - d, b - c
        return ANY


def _span(numbers: Sequence[int]) -> Range:
    return min(numbers), max(numbers)


def _added(a: Range, b: Range) -> Range:
    return a[0] + b[0], a[1] + b[1]


def _multiplied(a: Range, b: Range) -> Range:
    return _span([x * y for x in a for y in b])


def _mod(a: Range, b: Range) -> Range:
    if b[0] <= 0:
        return ANY
    return (0, min(b[1] - 1, a[1])) if a[0] >= 0 else (0, b[1] - 1)


def _floordiv(a: Range, b: Range) -> Range:
    return _span([x // y for x in a for y in b]) if b[0] > 0 else ANY


def _power(a: Range, b: Range) -> Range:
    size = max(map(abs, a))
    if b[0] < 0 or (size > 1 and b[1] * size.bit_length() > 2 * MOST_BITS):
        return ANY
    most = max(size ** b[1], 1) if size > 1 else 1
    return (0 if a[0] >= 0 else -most), most


def _is_finite(a: Range) -> bool:
    return all(math.isfinite(number_of(word)) for word in a)


def _as_float(a: Range) -> Range:
    return word_of(float(a[0])), word_of(float(a[1]))


def _float_product(a: Range, b: Range) -> Range:
    if not _is_finite(a) or not _is_finite(b):
        return ANY
    return _span([word_of(number_of(x) * number_of(y)) for x in a for y in b])


def _float_power(a: Range, b: Range) -> Range:
    if not _is_finite(a) or not _is_finite(b) or min(a[0], b[0]) < 0:
        return ANY
    try:
        most = max(number_of(a[1]) ** number_of(b[1]), 1.0)
    except OverflowError:
        return ANY
    return 0, word_of(most * (1 + 1e-12))


_RULES: dict[tuple[str, Kind], Callable[..., Range]] = {
    ("mod", INT): _mod, ("floordiv", INT): _floordiv, ("mul", INT): _multiplied, ("ipow", INT): _power,
    ("to_float", INT): _as_float, ("mul", FLOAT): _float_product, ("pow", FLOAT): _float_power,
}
