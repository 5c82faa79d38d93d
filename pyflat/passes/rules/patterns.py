"""Rewrite rules as text: `add(x, neg(y))` becomes `sub(x, y)`.

In a pattern a lower-case word is any value, the same word the same value; one that starts with an upper-case letter is
any literal; numbers, `inf`, `nan`, `true` and `false` are themselves, bit for bit. Words that start with p are bools,
those that start with n ints, all others are of the rule's kind. An operation of the table matches itself, in either
order where the order is free, and a comparison its mirror image. The right side is made of the same words, and of the
literals that `where` computes:

    Rule(INT, "add(add(x, A), B)", "add(x, R)", where=lambda A, B: {"R": wrap(A + B)})

`where` takes the literals and gives the new ones by name, or None where the rule does not apply.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyflat.ir.build import const
from pyflat.ir.nodes import Const, Op, Value
from pyflat.ir.ops import COMMUTATIVE, MIRRORED, OPERATIONS
from pyflat.ir.types import BOOL, INT, Kind
from pyflat.passes.rules.logic import same

Where = Callable[..., Mapping[str, Any] | None]
_TOKEN = re.compile(r"\s*(-?inf\b|[A-Za-z_]\w*|-?\d+(?:\.\d*)?(?:e-?\d+)?|[(),])")


@dataclass(frozen=True, slots=True)
class Word:
    """A variable, or with `literal` a literal that the rule binds."""

    name: str
    kind: Kind
    literal: bool


@dataclass(frozen=True, slots=True)
class Literal:
    value: bool | int | float


@dataclass(frozen=True, slots=True)
class Apply:
    opcode: str
    args: tuple[Pattern, ...]


Pattern = Word | Literal | Apply


@dataclass(eq=False)
class Rule:
    """`before` may become `after`, where it does not make the function larger.

    part     "" for rules that keep every bit, else the parts of fast math that the rule needs, "a+b": see
             `backend.fast_math`
    by_cost  it may make more operations, if they cost less
    free     it need not pay: the right side is the form that other rules expect
    """

    kind: Kind
    before: str
    after: str
    where: Where | None = None
    part: str = ""
    by_cost: bool = False
    free: bool = False

    @cached_property
    def pattern(self) -> Apply:
        found = parse_pattern(self.before, self.kind)
        assert isinstance(found, Apply)
        return found

    @cached_property
    def needs_literal(self) -> bool:
        """One of the operands must be a literal."""
        return any(isinstance(a, Literal) or isinstance(a, Word) and a.literal for a in self.pattern.args)

    @cached_property
    def replacement(self) -> Pattern:
        return parse_pattern(self.after, self.kind)


Bindings = dict[str, Value]


@dataclass(slots=True, eq=False)
class Match:
    bindings: Bindings
    inner: tuple[Op, ...]
    """The operations below the root that the pattern names."""


def parse_pattern(text: str, kind: Kind) -> Pattern:
    """The tree of a pattern. Raises ValueError with the text for what is none."""
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != re.sub(r"\s", "", text):
        raise ValueError(f"pattern {text!r}")
    found, rest = _parse(tokens, kind)
    if rest:
        raise ValueError(f"pattern {text!r}: {' '.join(rest)} is left")
    return found


def _parse(tokens: list[str], kind: Kind) -> tuple[Pattern, list[str]]:
    word, *rest = tokens
    if word in ("true", "false"):
        return Literal(word == "true"), rest
    if word[0].isdigit() or word[0] == "-" or word in ("inf", "nan"):
        return Literal(float(word) if any(c in word for c in ".enf") else int(word)), rest
    if not rest or rest[0] != "(":
        letter = word[0].lower()
        return Word(word, BOOL if letter == "p" else INT if letter == "n" else kind, word[0].isupper()), rest
    if word not in OPERATIONS:
        raise ValueError(f"there is no operation {word}")
    args: list[Pattern] = []
    while rest[0] != ")":
        arg, rest = _parse(rest[1:], kind)
        args.append(arg)
    return Apply(word, tuple(args)), rest[1:]


def words(pattern: Pattern) -> Iterator[Word]:
    """Each word of a pattern once, in order."""
    seen: dict[str, Word] = {}
    _collect(pattern, seen)
    yield from seen.values()


def _collect(pattern: Pattern, seen: dict[str, Word]) -> None:
    match pattern:
        case Word():
            seen.setdefault(pattern.name, pattern)
        case Apply():
            for arg in pattern.args:
                _collect(arg, seen)


def rules(kind: Kind, *lines: str, part: str = "") -> tuple[Rule, ...]:
    """Rules written "before -> after"."""
    return tuple(Rule(kind, before, after, part=part) for line in lines for before, after in (line.split(" -> "),))


def applied(rules: Iterable[Rule]) -> dict[str, Applied]:
    """By operation what applies its rules."""
    by_opcode: dict[str, Applied] = {}
    for rule in rules:
        opcode = rule.before.partition("(")[0]
        by_opcode.setdefault(opcode, Applied(opcode)).rules.append(rule)
    return by_opcode


class Applied:
    """A rule(emit, *operands), which tries the rules of one operation in order and emits what the first that matches
    becomes, whether that pays or not; None where none does. Patterns are parsed when they are needed."""

    def __init__(self, opcode: str):
        self.opcode, self.rules = opcode, list[Rule]()

    @cached_property
    def looks(self) -> list[tuple[Rule, Callable[[Sequence[Value], bool], bool]]]:
        return [(rule, _look(rule)) for rule in self.rules]

    def __call__(self, emit: Callable[..., Value], *args: Value) -> Value | None:
        literal = Const in map(type, args)
        for rule, look in self.looks:
            if look(args, literal):
                for found in _matches(rule, self.opcode, args):
                    return built(rule.replacement, found.bindings, emit)
        return None


def _look(rule: Rule) -> Callable[[Sequence[Value], bool], bool]:
    """A quick look at operands, of which one may be a literal: whether they may match."""
    first, *others = rule.pattern.args
    if rule.needs_literal:
        return lambda args, literal: literal
    if isinstance(first, Apply) and not others:
        return lambda args, literal: getattr(args[0], "opcode", "") == first.opcode
    if others == [first]:
        return lambda args, literal: literal or args[0] is args[1]
    return lambda args, literal: True


def built(pattern: Pattern, bound: Bindings, emit: Callable[..., Value]) -> Value:
    """A pattern as operations of what its words are."""
    match pattern:
        case Literal():
            return const(pattern.value)
        case Word():
            return bound[pattern.name]
        case Apply():
            return emit(pattern.opcode, *[built(arg, bound, emit) for arg in pattern.args])


def matches(rule: Rule, op: Op) -> Iterator[Match]:
    """The ways in which `op` is the left side of `rule`, with the literals of `where` bound."""
    return _matches(rule, op.opcode, op.args)


def _matches(rule: Rule, opcode: str, args: Sequence[Value]) -> Iterator[Match]:
    for bindings, inner in _apply(rule.pattern, opcode, args, {}, ()):
        if rule.where is None:
            yield Match(bindings, inner)
            continue
        literals = {name: v.value for name, v in bindings.items() if name[0].isupper() and isinstance(v, Const)}
        made = rule.where(**literals)
        if made is not None:
            yield Match({**bindings, **{name: const(value) for name, value in made.items()}}, inner)


Found = Iterator[tuple[Bindings, tuple[Op, ...]]]


def _apply(pattern: Apply, opcode: str, args: Sequence[Value], bound: Bindings, inner: tuple[Op, ...]) -> Found:
    if len(args) != len(pattern.args):
        return
    if opcode == pattern.opcode:
        yield from _all(pattern.args, args, bound, inner)
    if pattern.opcode == (opcode if opcode in COMMUTATIVE else MIRRORED.get(opcode)):
        yield from _all(pattern.args, args[::-1], bound, inner)


def _all(patterns: Sequence[Pattern], values: Sequence[Value], bound: Bindings, inner: tuple[Op, ...]) -> Found:
    if not patterns:
        yield bound, inner
        return
    for bindings, ops in _one(patterns[0], values[0], bound, inner):
        yield from _all(patterns[1:], values[1:], bindings, ops)


def _one(pattern: Pattern, value: Value, bound: Bindings, inner: tuple[Op, ...]) -> Found:
    match pattern:
        case Literal():
            if same(value, const(pattern.value)):
                yield bound, inner
        case Word():
            known = bound.get(pattern.name)
            if known is not None:
                if same(known, value):
                    yield bound, inner
            elif value.kind is pattern.kind and _fits(pattern, value):
                yield {**bound, pattern.name: value}, inner
        case Apply():
            if isinstance(value, Op):
                yield from _apply(pattern, value.opcode, value.args, bound, (*inner, value))


def _fits(word: Word, value: Value) -> bool:
    if isinstance(value, Const):
        return value.value is not None
    return not word.literal
