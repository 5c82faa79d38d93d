"""What terms can be, read off them from the operands to the result, and formulas that are so decided without z3.

    impossible(And(x <= 3, 10 < x * 2))      what a conjunction says of its terms narrows them, until one part is false

A term that chooses is what its arms are where they are chosen; where that does not suffice, a disjunction of the
question is gone through part by part. Everything is a superset of what is possible: what is found impossible is so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import z3

from pyflat.inspection.prove.floats import NAN_WORD, Term
from pyflat.inspection.prove.ranges import (
    ANY,
    NOTHING,
    WordSet,
    applied,
    at_least,
    at_most,
    exact,
    fits,
    flipped,
    joined,
    meet,
    of_kind,
    sizes,
    with_sizes,
    without,
    words,
)
from pyflat.inspection.prove.terms import Terms
from pyflat.ir.ops import MIRRORED, OPPOSITE
from pyflat.ir.types import BOOL, INT_MAX, INT_MIN

INSIDE = 4
"""Operations below a chosen arm that are looked at again, knowing that it is chosen."""
ROUNDS = 3
"""How often a conjunction is gone through: what is said last may narrow what is said first."""
MOST_PARTS = 8
"""Parts of a disjunction that are looked at one by one, at most. are looked at one by one."""


@dataclass(frozen=True, slots=True, eq=False)
class _AskedTerm:
    """A term with what z3 says of it, asked once: asking takes long."""

    place: int
    term: Term
    sort: str
    parts: tuple[_AskedTerm, ...]
    is_word: bool
    bit: int
    made: Any = None
    value: int = 0
    below: int = 0
    """The bits of this node and of all that it is made of."""


_SORTS = {
    z3.Z3_OP_ITE: "if", z3.Z3_OP_AND: "and", z3.Z3_OP_OR: "or", z3.Z3_OP_NOT: "not", z3.Z3_OP_TRUE: "true",
    z3.Z3_OP_FALSE: "false", z3.Z3_OP_EQ: "eq", z3.Z3_OP_DISTINCT: "ne", z3.Z3_OP_XOR: "xor",
    z3.Z3_OP_IMPLIES: "implies",
    z3.Z3_OP_SLT: "lt", z3.Z3_OP_SLEQ: "le", z3.Z3_OP_SGT: "gt", z3.Z3_OP_SGEQ: "ge",
    z3.Z3_OP_BADD: "add", z3.Z3_OP_BSUB: "sub", z3.Z3_OP_BMUL: "mul", z3.Z3_OP_BNEG: "neg", z3.Z3_OP_BNOT: "invert",
    z3.Z3_OP_BAND: "and", z3.Z3_OP_BOR: "or", z3.Z3_OP_BXOR: "xor", z3.Z3_OP_BASHR: "shr", z3.Z3_OP_BSHL: "shl",
}


class Bounds:
    """Where the terms of one proof lie."""

    def __init__(self, terms: Terms, pay: Callable[[], None] = lambda: None):
        self._terms = terms
        self._pay = pay
        self._nodes: dict[int, _AskedTerm] = {}
        self._always = _Assumed(None, pay)
        self._refuted: dict[int, bool] = {}

    def of(self, term: Term) -> WordSet:
        """What the term can be, whatever the parameters are."""
        return self._always.words(self._node(term))

    def refuted(self, question: Term) -> bool:
        """Whether nothing makes the question true."""
        node = self._node(question)
        if node.place not in self._refuted:
            known = _Assumed(self._always, self._pay)
            self._refuted[node.place] = not known.assume_all(node, ROUNDS) or self._in_parts(node, known)
        return self._refuted[node.place]

    def _in_parts(self, question: _AskedTerm, known: _Assumed) -> bool:
        """Whether each part of one of its disjunctions is impossible."""
        for node in _conjuncts(question):
            if node.sort == "or":
                open_parts = [part for part in node.parts if known.truth(part) is not False]
            elif node.sort == "not" and node.parts[0].sort == "and":
                open_parts = [part for part in node.parts[0].parts if known.truth(part) is not True]
            else:
                continue
            self._pay()
            wanted = node.sort == "or"
            if len(open_parts) <= MOST_PARTS and all(
                not _Assumed(known, self._pay).assume_all(question, 1, [(part, wanted)]) for part in open_parts
            ):
                return True
        return False

    def _node(self, term: Term) -> _AskedTerm:
        place = term.get_id()
        found = self._nodes.get(place)
        if found is None:
            found = self._nodes[place] = self._read(term, place)
        return found

    def _read(self, term: Term, place: int) -> _AskedTerm:
        if z3.is_bv_value(term):
            return _AskedTerm(place, term, "literal", (), True, 0, value=term.as_signed_long())
        made = self._terms.made_by(term)
        if made is not None:
            return self._made(place, term, "made", tuple(map(self._node, made.args)), made.kind is not BOOL, made)
        sort = _SORTS.get(term.decl().kind(), "")
        if not sort:
            kind = self._terms.kind_of(term)
            return self._made(place, term, "fresh", (), z3.is_bv(term), ANY if kind is None else of_kind(kind))
        parts = tuple(map(self._node, term.children()))
        if sort == "if" and (shape := _shape(parts)):
            return self._made(place, term, shape, parts[2:] if shape != "negated" else parts[2].parts, True)
        return self._made(place, term, sort, parts, z3.is_bv(term))

    def _made(self, place: int, term: Term, sort: str, parts: tuple[_AskedTerm, ...], is_word: bool, made: Any = None
              ) -> _AskedTerm:
        bit = below = 1 << len(self._nodes)
        for part in parts:
            below |= part.below
        return _AskedTerm(place, term, sort, parts, is_word, bit, made, below=below)


def _shape(parts: Sequence[_AskedTerm]) -> str:
    """The operations of floats that are written as choices (`floats`)."""
    cond, then, orelse = parts
    if cond.sort == "lt" and then.sort == "invert" and cond.parts[0] is orelse and then.parts[0] is orelse \
            and _is(cond.parts[1], 0):
        return "size"
    if cond.sort == "eq" and _is(cond.parts[1], NAN_WORD) and _is(then, NAN_WORD) and orelse.sort == "invert" \
            and cond.parts[0] is orelse.parts[0]:
        return "negated"
    if cond.sort == "eq" and _is(cond.parts[1], -1) and _is(then, 0) and cond.parts[0] is orelse:
        return "placed"
    return ""


def _is(node: _AskedTerm, word: int) -> bool:
    return node.sort == "literal" and node.value == word


def _conjuncts(node: _AskedTerm) -> list[_AskedTerm]:
    found, waiting = [], [node]
    while waiting:
        each = waiting.pop()
        if each.sort == "and":
            waiting += reversed(each.parts)
        elif each.sort == "not" and each.parts[0].sort == "or":
            waiting += [_negation(part) for part in reversed(each.parts[0].parts)]
        else:
            found.append(each)
    return found


def _negation(node: _AskedTerm) -> _AskedTerm:
    if node.sort == "not":
        return node.parts[0]
    return _AskedTerm(-node.place - 1, node.term, "not", (node,), False, 0, below=node.below)


class _ContradictionError(Exception):
    """Nothing is left of what a term may be."""


class _Assumed:
    """What terms are where something is assumed besides of what another one knows (`outer`). Beyond `depth` operations
    below what is asked a term is what it is there."""

    def __init__(self, outer: _Assumed | None, pay: Callable[[], None], depth: int | None = None):
        self._outer = outer
        self._pay = pay
        self._left = depth
        self._changed = 0
        self._narrowed: dict[int, WordSet] = dict(outer._narrowed) if outer else {}
        self._truths: dict[int, bool] = dict(outer._truths) if outer else {}
        self._found: dict[int, WordSet] = {}
        self._said: dict[int, bool | None] = {}

    def assume_all(self, question: _AskedTerm, rounds: int, more: Sequence[tuple[_AskedTerm, bool]] = ()) -> bool:
        """Whether the question, and what more is said, can be."""
        try:
            for node, truth in more:
                self.assume(node, truth)
            for _ in range(rounds):
                before = len(self._truths), dict(self._narrowed)
                for node in _conjuncts(question):
                    self.assume(node, True)
                self._found, self._said = {}, {}
                if before == (len(self._truths), self._narrowed):
                    break
            return all(self._truth(node) is not False for node in _conjuncts(question))
        except _ContradictionError:
            return False

    # --- what formulas say

    def assume(self, node: _AskedTerm, truth: bool) -> None:
        if self._truths.get(node.place, truth) is not truth:
            raise _ContradictionError
        if node.sort not in ("true", "false"):
            self._truths[node.place] = truth
            self._changed |= node.bit
        self._pay()
        match node.sort, truth:
            case "not", _:
                self.assume(node.parts[0], not truth)
            case ("and", True) | ("or", False):
                for part in node.parts:
                    self.assume(part, truth)
            case ("or", True) | ("and", False):
                self._assume_last(node.parts, truth)
            case "if", _:
                cond = self.truth(node.parts[0])
                if cond is not None:
                    self.assume(node.parts[1 if cond else 2], truth)
            case ("true", False) | ("false", True):
                raise _ContradictionError
            case (("lt" | "le" | "gt" | "ge" | "eq" | "ne"), _) if node.parts[0].is_word:
                self._compare(node.sort if truth else OPPOSITE[node.sort], *node.parts)

    def _assume_last(self, parts: Sequence[_AskedTerm], truth: bool) -> None:
        """One of the parts has this truth: it is known which, where all others have not."""
        left = [part for part in parts if self.truth(part) is not (not truth)]
        if not left:
            raise _ContradictionError
        if len(left) == 1:
            self.assume(left[0], truth)

    def _compare(self, comparison: str, a: _AskedTerm, b: _AskedTerm) -> None:
        self._narrow(a, _beside(comparison, self.words(a), self.words(b)))
        self._narrow(b, _beside(MIRRORED[comparison], self.words(b), self.words(a)))

    def _narrow(self, node: _AskedTerm, found: WordSet) -> None:
        if found.is_empty:
            raise _ContradictionError
        if node.sort == "literal":
            return
        before = self._narrowed.get(node.place)
        now = found if before is None else meet(before, found)
        if now.is_empty:
            raise _ContradictionError
        if now == before:
            return
        self._narrowed[node.place] = now
        self._changed |= node.bit
        self._found.pop(node.place, None)
        match node.sort:
            case "size":
                self._narrow(node.parts[0], meet(self.words(node.parts[0]), with_sizes(now)))
            case "negated":
                self._narrow(node.parts[0], meet(self.words(node.parts[0]), flipped(now)))
            case "placed":
                inner = joined(now, words([(-1, -1)])) if now.holds(0) else now
                self._narrow(node.parts[0], meet(self.words(node.parts[0]), inner))
            case "add" | "sub" if len(node.parts) == 2 and fits(node.sort, [self.words(part) for part in node.parts]):
                self._narrow_summands(node.sort, now, *node.parts)
            case "if":
                self._choose(node, now)

    def _narrow_summands(self, sort: str, total: WordSet, a: _AskedTerm, b: _AskedTerm) -> None:
        back = "sub" if sort == "add" else "add"
        self._narrow(a, meet(self.words(a), exact(back, [total, self.words(b)])))
        others = [total, self.words(a)] if sort == "add" else [self.words(a), total]
        self._narrow(b, meet(self.words(b), exact("sub", others)))

    def _choose(self, node: _AskedTerm, now: WordSet) -> None:
        """Where one arm of a choice cannot be, the other one was chosen."""
        for place, truth in ((1, False), (2, True)):
            if meet(self.words(node.parts[place]), now).is_empty:
                self.assume(node.parts[0], truth)
                self._narrow(node.parts[2 if place == 1 else 1], now)

    # --- what follows

    def truth(self, node: _AskedTerm) -> bool | None:
        known = self._truths.get(node.place)
        if known is not None:
            return known
        if node.place not in self._said:
            outer = self._outer if self._left == 0 or not node.below & self._changed else None
            self._said[node.place] = self._truth(node) if outer is None else outer.truth(node)
        return self._said[node.place]

    def _truth(self, node: _AskedTerm) -> bool | None:
        match node.sort:
            case "true" | "false":
                return node.sort == "true"
            case "not":
                inner = self.truth(node.parts[0])
                return None if inner is None else not inner
            case "and" | "or":
                decisive = node.sort == "or"
                truths = [self.truth(part) for part in node.parts]
                return decisive if decisive in truths else None if None in truths else not decisive
            case "implies":
                if self.truth(node.parts[0]) is False:
                    return True
            case "if":
                cond = self.truth(node.parts[0])
                if cond is not None:
                    return self.truth(node.parts[1 if cond else 2])
            case "xor" | "eq" | "ne" if not node.parts[0].is_word:
                a, b = map(self.truth, node.parts)
                return None if a is None or b is None else (a is b) is (node.sort == "eq")
            case "lt" | "le" | "gt" | "ge" | "eq" | "ne":
                return _compared(node.sort, self.words(node.parts[0]), self.words(node.parts[1]))
        return None

    def words(self, node: _AskedTerm) -> WordSet:
        """What a term can be."""
        found = self._found.get(node.place)
        if found is not None:
            return found
        if self._outer is not None and (self._left == 0 or not node.below & self._changed):
            found = self._outer.words(node)
        elif self._left is None:
            found = self._words(node)
        else:
            self._left -= 1
            found = self._words(node)
            self._left += 1
        narrowed = self._narrowed.get(node.place)
        found = self._found[node.place] = found if narrowed is None else meet(found, narrowed)
        return found

    def _words(self, node: _AskedTerm) -> WordSet:
        match node.sort:
            case "literal":
                return words([(node.value, node.value)])
            case "fresh":
                always: WordSet = node.made
                return always
            case "made":
                made = node.made
                operands = [ANY if kind is BOOL else self.words(part)
                            for part, kind in zip(node.parts, made.kinds, strict=True)]
                return applied(made.opcode, made.kinds, made.kind, operands, made.attrs)
            case "size":
                return sizes(self.words(node.parts[0]))
            case "negated":
                return flipped(self.words(node.parts[0]))
            case "placed":
                inner = self.words(node.parts[0])
                return joined(without(inner, -1), words([(0, 0)])) if inner.holds(-1) else inner
            case "if":
                return self._chosen(node)
            case "and" if (total := _tested_total(node)) and fits(total.sort, list(map(self.words, total.parts))):
                return words([(0, INT_MAX)])
        found = self.words(node.parts[0])
        if len(node.parts) == 1:
            return exact(node.sort, [found])
        for part in node.parts[1:]:
            found = exact(node.sort, [found, self.words(part)])
        return found

    def _chosen(self, node: _AskedTerm) -> WordSet:
        cond, *arms = node.parts
        known = self.truth(cond)
        if known is not None:
            return self.words(arms[0 if known else 1])
        found = NOTHING
        for arm, truth in zip(arms, (True, False), strict=True):
            if self._left is not None:
                found = joined(found, self.words(arm))
                continue
            here = _Assumed(self, self._pay, INSIDE)
            try:
                here.assume(cond, truth)
                found = joined(found, here.words(arm))
            except _ContradictionError:
                continue
        return found


def _tested_total(node: _AskedTerm) -> _AskedTerm | None:
    """The sum or difference of which a conjunction of signs says that it left 64 bits (`ir.faults`)."""
    if len(node.parts) != 2 or any(part.sort != "xor" for part in node.parts):
        return None
    (a, b), (c, total) = (part.parts for part in node.parts)
    if total.sort == "add" and b is total and total.parts == (a, c):
        return total
    if total.sort == "sub" and a is c and total.parts == (a, b):
        return total
    return None


def _beside(comparison: str, a: WordSet, b: WordSet) -> WordSet:
    """What is left of `a` where it compares so with `b`."""
    if a.is_empty or b.is_empty:
        return NOTHING
    match comparison:
        case "lt":
            return at_most(a, b.high - 1) if b.high > INT_MIN else NOTHING
        case "le":
            return at_most(a, b.high)
        case "gt":
            return at_least(a, b.low + 1) if b.low < INT_MAX else NOTHING
        case "ge":
            return at_least(a, b.low)
        case "eq":
            return meet(a, b)
    return without(a, b.low) if b.low == b.high else a


def _compared(comparison: str, a: WordSet, b: WordSet) -> bool | None:
    """What a comparison gives, where it gives the same for all words."""
    if a.is_empty or b.is_empty:
        return None
    if _beside(comparison, a, b).is_empty:
        return False
    return True if _beside(OPPOSITE[comparison], a, b).is_empty else None
