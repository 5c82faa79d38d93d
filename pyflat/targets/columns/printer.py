"""The table that an engine is, and terms as its texts.

A spelling is a text with {0}, {1}, ... for the operands, with its own parentheses. A term that is used twice would be
written twice: unless it is short, it is named instead, and the names come in stages.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyflat.backend import FlatFunction
from pyflat.errors import refuse
from pyflat.functions.records import missing
from pyflat.ir.nodes import Const, Op, Value
from pyflat.ir.shape import Fixed, Labels, Leaf, Maybe, Ragged, Record, Shape, Texts
from pyflat.passes.rules.legalise import Expansions
from pyflat.targets.columns.terms import Given, Piece, Terms

Stage = dict[str, str]
"""Names of one stage and their texts, which read only names of earlier stages."""

SHORT = 4
"""So many operations and operands are written again where they are used again."""


@dataclass(frozen=True, slots=True)
class ColumnsEngine:
    """An engine of columns.

    spellings  by operation, or operation and kind of the first operand ("add:i8"), which goes first
    literal    the text of a constant
    rules      what the engine makes of operations in its own way (`passes.rules.legalise`)
    stay       the operations that need no rule: what it spells, and what it refuses
    chain      how a select starts, whose other arm is a select, and how much of that one is left out then
    divisors   constant divisors are named, too: the engine would multiply by the reciprocal of a number
    depth      operations within each other that one text has at most: parsers have limits
    """

    name: str
    spellings: Mapping[str, str]
    literal: Callable[[Any], str]
    rules: Expansions
    stay: frozenset[str]
    chain: tuple[str, int]
    depth: int
    divisors: bool = False

    def spelling(self, term: Op) -> str:
        found = self.spellings.get(f"{term.opcode}:{term.args[0].kind}") or self.spellings.get(term.opcode)
        if found is None:
            operands = " and ".join(str(arg.kind) for arg in term.args)
            raise refuse("flatten/target-operation", missing(self.name, term.opcode, operands), term.span)
        return found


class Printer:
    """Texts of terms; `params` are the texts of the parameters."""

    def __init__(self, engine: ColumnsEngine, params: Sequence[str]):
        self.engine = engine
        self.params = params

    def stages(self, roots: Sequence[Value], name: Callable[[int], str]) -> tuple[list[Stage], list[str]]:
        """Shared and deep terms as stages, and the roots, which read them. `name(k)` is how a text reads name k.

        Raises FlattenError for an operation that the engine lacks."""
        order = in_order(roots)
        named = _named(order, self._uses(order, roots), self.engine.depth)
        if self.engine.divisors:
            named |= _divisors(order)
        names = {term: name(k) for k, term in enumerate(term for term in order if term in named)}
        texts = self._texts(order, names)
        level: dict[Value, int] = {}
        stages: list[Stage] = []
        for term in order:
            level[term] = max((level[arg] for arg in term.args), default=0)
            if term in named:
                if level[term] == len(stages):
                    stages.append({})
                stages[level[term]][names[term]] = _bare(texts[term])
                level[term] += 1
        return stages, [names.get(root) or _bare(texts[root]) for root in roots]

    def _uses(self, order: Iterable[Value], roots: Iterable[Value]) -> Counter[Value]:
        """How often each term is written."""
        uses = Counter(roots)
        for term in order:
            if isinstance(term, Op):
                for k, arg in enumerate(term.args):
                    uses[arg] += self.engine.spelling(term).count(f"{{{k}}}")
        return uses

    def _texts(self, order: Iterable[Value], names: Mapping[Value, str]) -> dict[Value, str]:
        """The text of each term, in which `names` stand for those that have one."""
        texts: dict[Value, str] = {}
        for term in order:
            match term:
                case Const():
                    texts[term] = self.engine.literal(term.value)
                case Piece():
                    texts[term] = term.text
                case Given():
                    texts[term] = self.params[term.number]
                case Op():
                    operands = [names.get(arg) or texts[arg] for arg in term.args]
                    texts[term] = self._spelled(term, operands, names)
        return texts

    def _spelled(self, term: Op, operands: Sequence[str], names: Mapping[Value, str]) -> str:
        if not _is_select(term) or not _is_select(term.args[2]) or term.args[2] in names:
            return self.engine.spelling(term).format(*operands)
        start, skipped = self.engine.chain
        return start.format(*operands) + operands[2][skipped:]


def _is_select(value: Value) -> bool:
    return isinstance(value, Op) and value.opcode == "select"


def in_order(roots: Iterable[Value]) -> list[Value]:
    """What the roots need, each after its operands; the condition of a select comes before its arms."""
    order: dict[Value, None] = {}
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


def _named(order: Iterable[Value], uses: Mapping[Value, int], limit: int) -> set[Value]:
    """The terms to name: what is used again and is not short, and what nests too deeply."""
    size: dict[Value, int] = {}
    depth: dict[Value, int] = {}
    named: set[Value] = set()
    for term in order:
        size[term] = 1 + sum(1 if arg in named else size[arg] for arg in term.args)
        depth[term] = 1 + max((1 if arg in named else depth[arg] for arg in term.args), default=0)
        if depth[term] > limit or uses[term] > 1 and size[term] > SHORT:
            named.add(term)
    return named


def _divisors(order: Iterable[Value]) -> set[Value]:
    """Divisors that read no column, but those whose reciprocal is exact."""
    fixed: set[Value] = set()
    found: set[Value] = set()
    for term in order:
        if isinstance(term, Const) or term.args and all(arg in fixed for arg in term.args):
            fixed.add(term)
        if isinstance(term, Op) and term.opcode == "truediv":
            found.update(value for value in term.args[1:] if value in fixed and not _is_power_of_two(value))
    return found


def _is_power_of_two(term: Value) -> bool:
    return isinstance(term, Const) and abs(math.frexp(term.value or 0.0)[0]) == 0.5


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


# --- results that are objects: strings, and null for None
def with_objects(
    t: Terms, flat: FlatFunction, results: list[Value], text: Callable[[str], str], null: str
) -> tuple[list[str], list[Value]]:
    """Names and terms of the results, with strings for codes and null for None. `text` writes a string."""
    source = zip(flat.result_names, results, strict=True)
    made = [*_Objects(t, flat, text, null).results(flat.result, source), *source]  # the last is the mask of faults
    return [name for name, _ in made], [term for _, term in made]


class _Objects:
    def __init__(self, t: Terms, flat: FlatFunction, text: Callable[[str], str], null: str):
        self.t = t
        self.flat = flat
        self.text = text
        self.null = null

    def results(self, shape: Shape, source: Iterator[tuple[str, Value]]) -> Iterator[tuple[str, Value]]:
        match shape:
            case Leaf():
                yield next(source)
            case Record():
                for item in shape.items:
                    yield from self.results(item, source)
            case Labels():
                name, code = next(source)
                yield name, self.chosen([self.literal(item) for item in shape.table], code, {})
            case Texts() | Ragged():
                if isinstance(shape, Texts) and shape.mixed:
                    raise refuse("flatten/result-kind", f"{self.flat.name} gives numbers in some lanes and other "
                                 "objects in others", why="a column holds values of one kind",
                                 help="return None instead of the other objects, or two results, as in (value, label)")
                raise refuse("flatten/result-kind", f"{self.flat.name} gives strings or lists that are made from lanes",
                             help="return the numbers that they are made of")
            case Maybe():
                inner = list(self.results(shape.inner, source))
                where = next(source)[1]
                for name, term in inner:
                    yield name, self.select(where, self.literal(None), term)
            case Fixed():
                pass

    def literal(self, item: Any) -> Value:
        """A string or null."""
        if item is not None and type(item) is not str:
            raise refuse("flatten/result-kind", f"{self.flat.name} gives {item!r}: columns hold numbers and strings",
                         help="return a string, as the name or value of an enum member is")
        shown = self.null if item is None else self.text(item)
        return Piece(shown)

    def select(self, where: Value, then: Value, orelse: Value) -> Value:
        if isinstance(where, Const):
            return then if where.value else orelse
        return Op("select", (where, then, orelse), orelse.kind)

    def chosen(self, texts: list[Value], code: Value, known: dict[Value, Value]) -> Value:
        """A tree of selects among codes is one among strings."""
        if code not in known:
            if isinstance(code, Const):
                known[code] = texts[int(code.value or 0)]
            elif isinstance(code, Op) and code.opcode == "select":
                known[code] = self.select(code.args[0], self.chosen(texts, code.args[1], known),
                                          self.chosen(texts, code.args[2], known))
            else:
                found = texts[-1]
                for position in range(len(texts) - 2, -1, -1):
                    found = self.select(self.t("eq", code, position), texts[position], found)
                known[code] = found
        return known[code]
