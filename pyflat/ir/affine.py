"""Indices as sums: `2 * %i + %j - 1`, whose symbols are counters of loops, lengths, and whatever else is an int.

    constant   3                one place
    iterator   %i               a counter alone
    affine     2 * %i + %j - 1  a sum of symbols with factors, and a number
    dynamic    %7               computed in the loop: a symbol like others here, which no loop counts
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal, NamedTuple

from pyflat.ir.nodes import Const, Op, Value
from pyflat.ir.types import INT

Shape = Literal["constant", "iterator", "affine", "dynamic"]
_TERM = re.compile(r"([+-]?)(?:(\d+)\*)?(?:(%[^\s*+-]+|%\"[^\"]*\")|(\d+))")


class Affine(NamedTuple):
    """A sum of symbols, none with the factor 0, and a number."""

    terms: dict[Value, int]
    offset: int

    def shape(self, counters: Collection[Value]) -> Shape:
        """What it is where these are the counters of the loops around."""
        if not self.terms:
            return "constant"
        if any(symbol not in counters and isinstance(symbol, Op) for symbol in self.terms):
            return "dynamic"
        alone = len(self.terms) == 1 and set(self.terms.values()) == {1} and not self.offset
        return "iterator" if alone and counters & self.terms.keys() else "affine"

    def plus(self, other: Affine, factor: int = 1) -> Affine:
        """self + factor * other"""
        total = dict(self.terms)
        for symbol, times in other.terms.items():
            total[symbol] = total.get(symbol, 0) + factor * times
        return Affine({symbol: times for symbol, times in total.items() if times}, self.offset + factor * other.offset)

    def minus(self, other: Affine) -> Affine:
        return self.plus(other, -1)

    def shifted(self, number: int) -> Affine:
        return Affine(self.terms, self.offset + number)

    def times(self, factor: int) -> Affine:
        return ZERO.plus(self, factor)

    def without(self, symbols: Collection[Value]) -> Affine:
        return Affine({symbol: times for symbol, times in self.terms.items() if symbol not in symbols}, self.offset)

    def substituted(self, stand: Mapping[Value, Affine]) -> Affine:
        """The sum with sums for some of its symbols."""
        total = self.without(stand)
        for symbol, times in self.terms.items():
            if symbol in stand:
                total = total.plus(stand[symbol], times)
        return total

    def solved(self, symbol: Value, place: Affine) -> Affine | None:
        """What a symbol is where the sum is `place`; None where that need not be an int."""
        factor = self.terms.get(symbol, 0)
        return place.minus(self.without([symbol])).times(factor) if factor in (1, -1) else None

    def text(self, name: Callable[[Value], str]) -> str:
        """`2 * %i + %j - 1`, by the names of its symbols."""
        parts = [(times, f"{abs(times)} * {name(symbol)}" if abs(times) > 1 else name(symbol))
                 for symbol, times in self.terms.items()]
        if self.offset or not parts:
            parts.append((self.offset, str(abs(self.offset))))
        first = f"{'-' * (parts[0][0] < 0)}{parts[0][1]}"
        return " ".join([first, *(f"{'-' if times < 0 else '+'} {part}" for times, part in parts[1:])])


ZERO = Affine({}, 0)


def symbol(value: Value) -> Affine:
    return Affine({value: 1}, 0)


def parsed(text: str, value: Callable[[str], Value]) -> Affine:
    """A sum as `Affine.text` writes it. ValueError for other texts."""
    found, at, rest = ZERO, 0, text.replace(" ", "")
    while at < len(rest):
        term = _TERM.match(rest, at)
        if term is None or at and not term[1]:
            raise ValueError(f"{text!r} is not a sum of symbols with factors, such as '2 * %i + %j - 1'")
        factor = (-1 if term[1] == "-" else 1) * int(term[2] or 1)
        found = found.plus(symbol(value(term[3])) if term[3] else Affine({}, int(term[4])), factor)
        at = term.end()
    return found


def affine(value: Value, exact: Collection[Value] | None = None) -> Affine | None:
    """A position as a sum; an index that is inside is what it was made of. `exact`: the ints of which the sums cannot
    leave 64 bits, where that counts; None for what is no int."""
    if isinstance(value, Const) and value.value is not None:
        return Affine({}, int(value.value))
    if value.kind is not INT:
        return None
    if isinstance(value, Op):
        if value.opcode == "index" and exact is None:
            return affine(value.args[0])
        if value.opcode == "select" and value.args[1] is value.args[2]:
            return affine(value.args[1], exact)
        if exact is None or value in exact:
            return _of_op(value, exact) or symbol(value)
    return symbol(value)


def _of_op(op: Op, exact: Collection[Value] | None) -> Affine | None:
    if op.opcode in ("add", "sub"):
        first, second = (affine(arg, exact) for arg in op.args)
        return None if first is None or second is None else first.plus(second, 1 if op.opcode == "add" else -1)
    if op.opcode == "mul":
        for factor, other in (op.args, op.args[::-1]):
            inner = affine(other, exact) if isinstance(factor, Const) and factor.value else None
            if inner is not None and isinstance(factor, Const):
                return inner.times(int(factor.value or 0))
    return None


def places(op: Op) -> Sequence[Value]:
    """The positions of a load or a store."""
    return op.args[1:-1] if op.opcode == "store" else op.args[1:]
