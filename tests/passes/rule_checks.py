"""Rules under test: evaluation of patterns bit by bit and in exact rationals, and mutants of a rule."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from pyflat.ir.ops import COMMUTATIVE, OPERATIONS
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.passes.rules.patterns import Apply, Literal, Pattern, Rule, Word, words
from tests.passes.flat_programs import EDGES, same_bits

MOST = 2500
_VALUES: dict[Kind, tuple[Any, ...]] = {
    **EDGES,
    FLOAT: (*EDGES[FLOAT], 3.0, 7.25, -2.0, 4.0, 1e-310, 2.0**-1022, 2.0**1000, -(2.0**1000), 1.0000000000000002, 0.3),
    INT: (*EDGES[INT], 5, -2, 12, -(2**62)),
}
_LITERALS: dict[Kind, tuple[Any, ...]] = {
    BOOL: (False, True),
    INT: (1, -1, 2, 3, -7, 10, 0, 2**62, -(2**63), 2**63 - 1, 255, 12),
    FLOAT: (1.0, -1.0, 2.0, 0.5, 0.0, -0.0, 3.0, -4.0, 0.1, math.inf, -math.inf, math.nan, 1e308, 5e-324, 2.0**500),
}
_RATIONAL_LITERALS = (0.5, 2.0, -4.0, 0.25, 8.0, -1.0, 1.0)
_DEFAULT = {BOOL: False, INT: 0, FLOAT: math.nan}
Meaning = Callable[..., Any]


class NotDefined(Exception):
    """The operation has no value on these operands."""


# --- bits


def _divide(x: float, y: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(x) / np.float64(y))


def total(opcode: str, *args: Any) -> Any:
    """As the interpreter has it in the flat form."""
    kind = OPERATIONS[opcode].result_kind(tuple(map(_kind, args)))
    assert kind is not None, (opcode, args)
    try:
        value = OPERATIONS[opcode].python(*args)
    except (ArithmeticError, ValueError):
        if opcode in ("floordiv", "mod", "fmod", "remainder", "ipow", "shr"):
            raise NotDefined from None  # the lane is a fault: its value means nothing
        return _DEFAULT[kind]
    return (value + 2**63) % 2**64 - 2**63 if kind is INT else value


def ieee(opcode: str, *args: Any) -> Any:
    """As a processor has it: quotients by zero are infinite."""
    return _divide(*args) if opcode == "truediv" else total(opcode, *args)


def _kind(value: Any) -> Kind:
    return BOOL if isinstance(value, bool) else INT if isinstance(value, int) else FLOAT


# --- exact rationals

_RATIONAL: dict[str, Meaning] = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "truediv": lambda x, y: x / y,
    "neg": lambda x: -x, "abs": abs, "min": min, "max": max, "mad": lambda x, y, z: x * y + z,
    "fma": lambda x, y, z: x * y + z, "lerp": lambda x, y, t: x + t * (y - x), "recip": lambda x: 1 / x,
    "lt": lambda x, y: x < y, "le": lambda x, y: x <= y, "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y,
    "eq": lambda x, y: x == y, "ne": lambda x, y: x != y, "select": lambda c, x, y: x if c else y, "not": lambda p: not p,
    "isnan": lambda x: False, "isinf": lambda x: False, "isfinite": lambda x: True,
}


def rational(opcode: str, *args: Any) -> Any:
    try:
        return _RATIONAL[opcode](*args)
    except ZeroDivisionError:
        raise NotDefined from None


def evaluate(pattern: Pattern, env: Mapping[str, Any], meaning: Meaning, number: Callable[[Any], Any] = lambda v: v) -> Any:
    match pattern:
        case Word():
            return env[pattern.name]
        case Literal():
            return number(pattern.value)
        case Apply():
            return meaning(pattern.opcode, *[evaluate(arg, env, meaning, number) for arg in pattern.args])


# --- does a rule hold


def counterexample(rule: Rule, seed: int = 0) -> str | None:
    """An assignment that shows that the rule is wrong, None when none was found.

    AssertionError when the literals of no assignment satisfy `where`: the rule would never have been tried."""
    if not rule.part:
        return _differs(rule, _assignments(rule, _VALUES, _LITERALS, seed), _same_bits)
    if "approx" in rule.part.split("+"):
        numbers = {FLOAT: (0.3, 1.0, 2.5, 7.25, 0.01, 4.0, -2.5, -1.0)}
        return _differs(rule, _assignments(rule, numbers, {FLOAT: (2.0, 0.5)}, seed), _near)
    chance = random.Random(seed)
    values = tuple(Fraction(chance.randint(-40, 40), chance.randint(1, 12)) for _ in range(14))
    tables = {FLOAT: (*values, Fraction(0), Fraction(1), Fraction(-2)), BOOL: (False, True)}
    return _differs(rule, _assignments(rule, tables, {FLOAT: _RATIONAL_LITERALS}, seed), _same_rational)


def _assignments(rule: Rule, values: Mapping[Kind, tuple[Any, ...]], literals: Mapping[Kind, tuple[Any, ...]], seed: int
                 ) -> Iterator[dict[str, Any]]:
    found = list(words(rule.pattern))
    tables = [(literals if word.literal else values)[word.kind] for word in found]
    size = math.prod(map(len, tables))
    if size <= MOST:
        rows: Any = itertools.product(*tables)
    else:
        chance = random.Random(f"{seed} {rule.before} {rule.after}")
        rows = ([chance.choice(table) for table in tables] for _ in range(MOST))
    for row in rows:
        yield dict(zip((word.name for word in found), row, strict=True))


def _differs(rule: Rule, assignments: Iterator[dict[str, Any]], holds: Callable[[Rule, dict[str, Any]], bool]) -> str | None:
    tried = 0
    for env in assignments:
        given = {name: value for name, value in env.items() if name[0].isupper()}
        made = rule.where(**given) if rule.where else {}
        if made is None:
            continue
        try:
            good = holds(rule, {**env, **made})
        except NotDefined:
            continue
        tried += 1
        if not good:
            return f"{env}: {rule.before} is not {rule.after}"
    assert tried >= 4, f"{rule.before} -> {rule.after}: only {tried} assignments satisfy the rule"
    return None


def _same_bits(rule: Rule, env: dict[str, Any]) -> bool:
    return all(same_bits(evaluate(rule.pattern, env, m), evaluate(rule.replacement, env, m)) for m in (total, ieee))


def _same_rational(rule: Rule, env: dict[str, Any]) -> bool:
    exact = {name: Fraction(v) if isinstance(v, float) else v for name, v in env.items()}

    def number(value: Any) -> Any:
        return Fraction(value) if isinstance(value, float) else value

    before = evaluate(rule.pattern, exact, rational, number)
    return bool(before == evaluate(rule.replacement, exact, rational, number))


def _near(rule: Rule, env: dict[str, Any]) -> bool:
    before, after = (evaluate(p, env, ieee) for p in (rule.pattern, rule.replacement))
    if math.isnan(before):
        raise NotDefined
    return bool(before == after or math.isclose(before, after, rel_tol=1e-12))


# --- mutants

_OTHER = {
    "add": ("sub", "mul"), "sub": ("add",), "mul": ("add", "truediv"), "truediv": ("mul",), "lt": ("le", "gt"),
    "le": ("lt", "ge"), "gt": ("ge", "lt"), "ge": ("gt", "le"), "eq": ("ne", "le"), "ne": ("eq", "lt"), "and": ("or",),
    "or": ("and",), "xor": ("and", "or"), "min": ("max",), "max": ("min",), "neg": ("abs",), "abs": ("neg",), "sqrt": ("abs",),
    "exp": ("abs",), "isnan": ("isinf", "isfinite"),
}


def mutants(rule: Rule) -> Iterator[tuple[str, Rule]]:
    """Wrong versions of a rule, each with what was done to it; harmless changes (operands of a sum exchanged) left
    out."""
    for what, after in _mutated(rule.replacement, rule):
        yield what, _with(rule, rule.pattern, after)
    for what, before in _generalised(rule.pattern):
        if rule.where is not None and any(w.literal and w not in set(words(rule.pattern)) for w in words(before)):
            continue  # `where` does not know the new literal
        if set(w.name for w in words(rule.replacement)) <= {w.name for w in words(before)} | {"R"}:
            yield what, _with(rule, before, rule.replacement)
    if rule.where is not None:
        yield from _other_literals(rule)


def _with(rule: Rule, before: Pattern, after: Pattern) -> Rule:
    made = replace(rule, before=text(before), after=text(after))
    assert text(made.pattern) == text(before) and text(made.replacement) == text(after), (made.before, made.after)
    return made


def text(pattern: Pattern) -> str:
    match pattern:
        case Word():
            return pattern.name
        case Literal():
            return {True: "true", False: "false"}[pattern.value] if isinstance(pattern.value, bool) else repr(pattern.value)
        case Apply():
            return f"{pattern.opcode}({', '.join(map(text, pattern.args))})"


def _mutated(pattern: Pattern, rule: Rule) -> Iterator[tuple[str, Pattern]]:
    match pattern:
        case Word():
            others = [w for w in words(rule.pattern) if w.name != pattern.name and w.kind is pattern.kind]
            for other in others:
                yield f"{pattern.name} became {other.name}", other
            if pattern.kind is not BOOL:
                yield f"{pattern.name} became its negative", Apply("neg", (pattern,))
                one = Literal(1 if pattern.kind is INT else 1.0)
                yield f"{pattern.name} became {pattern.name} + 1", Apply("add", (pattern, one))
            else:
                yield f"{pattern.name} was negated", Apply("not", (pattern,))
        case Literal(value=bool(value)):
            yield "the other truth", Literal(not value)
            same_kind = [w for w in words(rule.pattern) if w.kind is not BOOL]
            if len(same_kind) > 1:
                for opcode in ("lt", "eq", "ge"):
                    yield f"{opcode} instead of a literal", Apply(opcode, (same_kind[0], same_kind[1]))
            else:
                yield "a test instead of a literal", Apply("lt", (same_kind[0], Literal(2.5)))
                yield "another test instead of a literal", Apply("gt", (same_kind[0], Literal(2.5)))
        case Literal() if math.isnan(pattern.value):
            yield from ((f"{value} instead of nan", Literal(value)) for value in (0.0, 1.0))
            yield "a word instead of nan", next(words(rule.pattern))
        case Literal():
            yield "another literal", Literal(pattern.value + 1)
            yield "a negated literal", Literal(-pattern.value - 1)
            first = next(words(rule.pattern))
            yield "a word instead of a literal", first
        case Apply():
            for other in _OTHER.get(pattern.opcode, ()):
                if OPERATIONS[other].result_kind(_operand_kinds(pattern, rule)) is not None:
                    yield f"{pattern.opcode} became {other}", Apply(other, pattern.args)
            ordered = pattern.opcode not in COMMUTATIVE and not (pattern.opcode in ("min", "max") and _any_order(rule))
            if len(pattern.args) > 1 and ordered:
                yield from _exchanged(pattern)
            if len(pattern.args) == 1:
                yield f"{pattern.opcode} dropped", pattern.args[0]
            for k, arg in enumerate(pattern.args):
                for what, changed in _mutated(arg, rule):
                    if _harmless(pattern.opcode, changed):
                        continue
                    yield what, Apply(pattern.opcode, (*pattern.args[:k], changed, *pattern.args[k + 1 :]))


def _any_order(rule: Rule) -> bool:
    """Only nan and the sign of zero tell min(x, y) from min(y, x)."""
    return rule.kind is INT or bool(rule.part)


def _harmless(opcode: str, inner: Pattern) -> bool:
    """The sign of an operand of abs, and for isnan anything that leaves nan alone."""
    changed = inner.opcode if isinstance(inner, Apply) else ""
    if opcode == "abs" and isinstance(inner, Apply) and inner.opcode in ("mul", "truediv"):
        return any(isinstance(arg, Apply) and arg.opcode == "neg" for arg in inner.args)
    return opcode == "abs" and changed == "neg" or opcode == "isnan" and changed in ("neg", "add")


def _exchanged(pattern: Apply) -> Iterator[tuple[str, Pattern]]:
    *front, a, b = pattern.args
    fused = pattern.opcode in ("mad", "fma")
    if a != b and not fused:
        yield "operands exchanged", Apply(pattern.opcode, (*front, b, a))
    if fused:
        yield "the term became a factor", Apply(pattern.opcode, (b, *front, a))


def _operand_kinds(pattern: Apply, rule: Rule) -> tuple[Kind, ...]:
    return tuple(_kind_of(arg, rule) for arg in pattern.args)


def _kind_of(pattern: Pattern, rule: Rule) -> Kind:
    match pattern:
        case Word():
            return pattern.kind
        case Literal():
            return _kind(pattern.value)
        case Apply():
            found = OPERATIONS[pattern.opcode].result_kind(_operand_kinds(pattern, rule))
            assert found is not None
            return found


def _generalised(pattern: Pattern) -> Iterator[tuple[str, Pattern]]:
    """Patterns that match too much: a word that occurs twice becomes two, a literal any value."""
    seen: list[str] = []
    for path, leaf in _leaves(pattern, ()):
        if isinstance(leaf, Word):
            if leaf.name in seen:
                yield f"the second {leaf.name} is any value", _put(pattern, path, Word(_fresh(leaf), leaf.kind, leaf.literal))
            seen.append(leaf.name)
        else:
            kind = _kind(leaf.value)
            yield f"{leaf.value} is any value", _put(pattern, path, Word(_fresh(Word("q", kind, False)), kind, False))


def _fresh(word: Word) -> str:
    stem = {BOOL: "p", INT: "n", FLOAT: "w"}[word.kind]
    return f"{stem}other".upper() if word.literal else f"{stem}other"


def _leaves(pattern: Pattern, path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Word | Literal]]:
    if not isinstance(pattern, Apply):
        yield path, pattern
        return
    for k, arg in enumerate(pattern.args):
        yield from _leaves(arg, (*path, k))


def _put(pattern: Pattern, path: tuple[int, ...], leaf: Pattern) -> Pattern:
    if not path:
        return leaf
    assert isinstance(pattern, Apply)
    args = list(pattern.args)
    args[path[0]] = _put(args[path[0]], path[1:], leaf)
    return Apply(pattern.opcode, tuple(args))


def _other_literals(rule: Rule) -> Iterator[tuple[str, Rule]]:
    where = rule.where
    assert where is not None

    def changed(change: Callable[[Any], Any]) -> Callable[..., Any]:
        def other(**literals: Any) -> Any:
            made = where(**literals)
            return None if made is None else {name: change(value) for name, value in made.items()}

        return other

    if any(w.name == "R" for w in words(rule.replacement)):
        yield "R + 1", replace(rule, where=changed(lambda v: total("add", v, type(v)(1))))
        yield "R negated", replace(rule, where=changed(lambda v: total("neg", total("add", v, type(v)(0)))))
    else:
        yield "without its condition", replace(rule, where=lambda **_: {})


# --- in tests


def identity(rule: Rule) -> str:
    return f"{rule.kind} {rule.before} -> {rule.after}".replace(" ", "_")


def survivors(rule: Rule) -> list[str]:
    """The mutants of a rule that hold, and how many there are where there are fewer than three."""
    made = list(mutants(rule))
    few = [f"only {len(made)} mutants"] if len(made) < 3 else []
    return few + [f"{what}: {mutant.before} -> {mutant.after}" for what, mutant in made if holds(mutant)]


def holds(mutant: Rule) -> bool:
    try:
        return counterexample(mutant) is None
    except KeyError:  # a word that the left side does not bind
        return False
