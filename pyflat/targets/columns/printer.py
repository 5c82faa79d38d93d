"""The table that an engine is, and terms as its texts.

A spelling is a text with {0}, {1}, ... for the operands, with its own parentheses. A term that is used twice would be
written twice: unless it is short, it is named instead, and the names come in stages.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyflat.errors import refuse
from pyflat.functions.records import missing
from pyflat.targets.columns.terms import Rules, Term

Stage = dict[str, str]
"""Names of one stage and their texts, which read only names of earlier stages."""

SHORT = 4
"""So many operations and operands are written again where they are used again."""


@dataclass(frozen=True, slots=True)
class ColumnsEngine:
    """An engine of columns.

    spellings  by operation, or operation and kind of the first operand ("add:i8"), which goes first
    literal    the text of a constant
    rules      operations that are made of others (`columns.expand`)
    chain      how a select starts, whose other arm is a select, and how much of that one is left out then
    divisors   constant divisors are named, too: the engine would multiply by the reciprocal of a number
    depth      operations within each other that one text has at most: parsers have limits
    """

    name: str
    spellings: Mapping[str, str]
    literal: Callable[[Any], str]
    rules: Rules
    chain: tuple[str, int]
    depth: int
    divisors: bool = False

    def spelling(self, term: Term) -> str:
        found = self.spellings.get(f"{term.opcode}:{term.args[0].kind}") or self.spellings.get(term.opcode)
        if found is None:
            operands = " and ".join(arg.kind for arg in term.args)
            raise refuse("flatten/target-operation", missing(self.name, term.opcode, operands), term.span)
        return found


class Printer:
    """Texts of terms; `params` are the texts of the parameters."""

    def __init__(self, engine: ColumnsEngine, params: Sequence[str]):
        self.engine = engine
        self.params = params

    def stages(self, roots: Sequence[Term], name: Callable[[int], str]) -> tuple[list[Stage], list[str]]:
        """Shared and deep terms as stages, and the roots, which read them. `name(k)` is how a text reads name k.

        Raises FlattenError for an operation that the engine lacks."""
        order = in_order(roots)
        named = _named(order, self._uses(order, roots), self.engine.depth)
        if self.engine.divisors:
            named |= _divisors(order)
        names = {term: name(k) for k, term in enumerate(term for term in order if term in named)}
        texts = self._texts(order, names)
        level: dict[Term, int] = {}
        stages: list[Stage] = []
        for term in order:
            level[term] = max((level[arg] for arg in term.args), default=0)
            if term in named:
                if level[term] == len(stages):
                    stages.append({})
                stages[level[term]][names[term]] = _bare(texts[term])
                level[term] += 1
        return stages, [names.get(root) or _bare(texts[root]) for root in roots]

    def _uses(self, order: Iterable[Term], roots: Iterable[Term]) -> Counter[Term]:
        """How often each term is written."""
        uses = Counter(roots)
        for term in order:
            for k, arg in enumerate(term.args):
                uses[arg] += self.engine.spelling(term).count(f"{{{k}}}")
        return uses

    def _texts(self, order: Iterable[Term], names: Mapping[Term, str]) -> dict[Term, str]:
        """The text of each term, in which `names` stand for those that have one."""
        texts: dict[Term, str] = {}
        for term in order:
            match term.opcode:
                case "const":
                    texts[term] = self.engine.literal(term.value)
                case "text":
                    texts[term] = term.value
                case "param":
                    texts[term] = self.params[term.value]
                case _:
                    operands = [names.get(arg) or texts[arg] for arg in term.args]
                    texts[term] = self._spelled(term, operands, names)
        return texts

    def _spelled(self, term: Term, operands: Sequence[str], names: Mapping[Term, str]) -> str:
        if term.opcode != "select" or term.args[2].opcode != "select" or term.args[2] in names:
            return self.engine.spelling(term).format(*operands)
        start, skipped = self.engine.chain
        return start.format(*operands) + operands[2][skipped:]


def in_order(roots: Iterable[Term]) -> list[Term]:
    """What the roots need, each after its operands; the condition of a select comes before its arms."""
    order: dict[Term, None] = {}
    for root in roots:
        stack = [(root, False)]
        while stack:
            term, ready = stack.pop()
            if term in order:
                continue
            if ready:
                order[term] = None
                continue
            stack.append((term, True))
            stack.extend((arg, False) for arg in reversed(term.args))
    return list(order)


def _named(order: Iterable[Term], uses: Mapping[Term, int], limit: int) -> set[Term]:
    """The terms to name: what is used again and is not short, and what nests too deeply."""
    size: dict[Term, int] = {}
    depth: dict[Term, int] = {}
    named: set[Term] = set()
    for term in order:
        size[term] = 1 + sum(1 if arg in named else size[arg] for arg in term.args)
        depth[term] = 1 + max((1 if arg in named else depth[arg] for arg in term.args), default=0)
        if depth[term] > limit or uses[term] > 1 and size[term] > SHORT:
            named.add(term)
    return named


def _divisors(order: Iterable[Term]) -> set[Term]:
    """Divisors that read no column, but those whose reciprocal is exact."""
    fixed: set[Term] = set()
    found: set[Term] = set()
    for term in order:
        if term.opcode == "const" or term.args and all(arg in fixed for arg in term.args):
            fixed.add(term)
        if term.opcode == "truediv" and term.args[1] in fixed and not _is_power_of_two(term.args[1]):
            found.add(term.args[1])
    return found


def _is_power_of_two(term: Term) -> bool:
    return term.opcode == "const" and abs(math.frexp(term.value)[0]) == 0.5


def _bare(text: str) -> str:
    """Without parentheses around the whole."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    level = 0
    for position, sign in enumerate(text):
        level += (sign == "(") - (sign == ")")
        if level == 0:
            return text[1:-1] if position == len(text) - 1 else text
    return text
