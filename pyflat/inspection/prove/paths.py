"""A function of the IR as terms: its result leaves, and the condition under which a lane fails.

Every path of the structured form is followed under its condition, and what merges is chosen by the condition of the
way in; the flat form is one path. When a primitive fails is said by the rules of `ir.faults` in both.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence, Set
from dataclasses import dataclass, field
from typing import TypeAlias

import z3

from pyflat.inspection.prove.floats import Term
from pyflat.inspection.prove.terms import OutsideError, Terms, both, choice, negation
from pyflat.ir.build import Builder
from pyflat.ir.faults import fault_condition
from pyflat.ir.nodes import FAULT, Block, Const, Exit, Function, If, Item, Label, Loop, Op, Param, Region, Value
from pyflat.ir.types import Kind

MOST_OPERATIONS = 50_000


Tests: TypeAlias = tuple[tuple[Term, bool], ...]
"""What was tested on the way to some place, in order, and how it came out."""
UNREACHED: Tests = ((z3.BoolVal(False), True),)


@dataclass(frozen=True, slots=True)
class WayOut:
    """One way out of a list: when it is taken, to which label (None: off the end), and with what."""

    tests: Tests
    label: Label | None
    values: tuple[Term, ...]
    kinds: tuple[Kind, ...]

    @property
    def cond(self) -> Term:
        return passed(self.tests)


@dataclass(frozen=True, slots=True)
class Entered:
    """A walk has come to a loop after `tests`, and wants the ways out of it."""

    loop: Loop
    tests: Tests
    inits: tuple[Term, ...]
    walk: Walk

    @property
    def cond(self) -> Term:
        return passed(self.tests)


def kinds_of(values: Sequence[Value]) -> tuple[Kind, ...]:
    return tuple(value.kind for value in values)


Walked: TypeAlias = Generator[Entered, list[WayOut], list[WayOut]]


@dataclass(slots=True)
class Walk:
    """One way through a function, list by list. `fails`: when the lane has failed so far; `wrapping`: operations that
    may leave 64 bits, because only their low bits are read (`analysis.demanded_bits`); `pay` raises when the time is
    over."""

    terms: Terms
    strict: bool
    env: dict[Value, Term]
    wrapping: Set[Op]
    pay: Callable[[], None]
    fails: list[Term] = field(default_factory=list)
    seen: int = 0

    @property
    def failed(self) -> Term:
        return z3.Or(*self.fails) if self.fails else z3.BoolVal(False)

    def inside(self, params: Sequence[Param], values: Sequence[Term]) -> Walk:
        """A walk that begins in a loop of this one, whose parameters have these values; its failures are its own."""
        return Walk(self.terms, self.strict, {**self.env, **dict(zip(params, values, strict=True))},
                    self.wrapping, self.pay)

    def read(self, value: Value) -> Term:
        """The term of a value; operations of fault rules, which stand in no block, are made when they are read."""
        if isinstance(value, Const):
            return self.terms.const(value)
        if value not in self.env and isinstance(value, Op):
            self.env[value] = self.terms.apply(value, [self.read(arg) for arg in value.args])
        return self.env[value]

    def read_all(self, values: Sequence[Value]) -> tuple[Term, ...]:
        return tuple(self.read(value) for value in values)

    def under(self, value: Value, tests: Tests) -> Term:
        """The term of a value that is read after these tests: what is chosen by one of them is known."""
        found = self.read(value)
        while tests and z3.is_app_of(found, z3.Z3_OP_ITE):
            truth = next((truth for test, truth in reversed(tests) if test.eq(found.arg(0))), None)
            if truth is None:
                break
            found = found.arg(1 if truth else 2)
        return found

    def items(self, items: Sequence[Item], tests: Tests = ()) -> Walked:
        """The ways out of a control-flow list that is entered after `tests`; off the end without a Yield: none."""
        left: list[WayOut] = []
        own: tuple[Label | None, ...]
        for item in items:
            match item:
                case Block():
                    for op in item.ops:
                        self.operation(op, tests)
                    if item.end is not None:
                        label = item.end.label if isinstance(item.end, Exit) else None
                        if tests[-1:] == UNREACHED:
                            return left
                        values = tuple(self.under(value, tests) for value in item.end.values)
                        return [*left, WayOut(tests, label, values, kinds_of(item.end.values))]
                    continue
                case If():
                    test = self.under(item.cond, tests)
                    then = yield from self.items(item.then, (*tests, (test, True)))
                    orelse = yield from self.items(item.orelse, (*tests, (test, False)))
                    ways, own = [*then, *orelse], (None,)
                case Region():
                    ways, own = (yield from self.items(item.body, tests)), (None, item.label)
                case Loop():
                    ways, own = (yield Entered(item, tests, self.read_all(item.inits), self)), (item.label,)
            left += [way for way in ways if way.label not in own]
            merged = [way for way in ways if way.label in own]
            self.merge(item.results, merged)
            tests = joined([way.tests for way in merged]) if merged else UNREACHED
        return left

    def operation(self, op: Op, tests: Tests) -> None:
        self.seen += 1
        self.pay()
        if self.seen > MOST_OPERATIONS:
            raise OutsideError(f"the function has more than {MOST_OPERATIONS:,} operations")
        if op.opcode == "fault":
            self.fails.append(both(passed(tests), self.under(op.args[0], tests)))
            return
        self.env[op] = self.terms.apply(op, [self.under(arg, tests) for arg in op.args])
        when = fault_condition(Builder(), op) if self.strict and op not in self.wrapping else None
        if when is not None:
            self.fails.append(both(passed(tests), self.read(when)))

    def merge(self, results: Sequence[Param], ways: Sequence[WayOut]) -> None:
        for place, result in enumerate(results):
            if not ways:
                self.env[result] = self.terms.const(Const(result.kind, None))
                continue
            self.env[result] = chosen([(way.tests, way.values[place]) for way in ways])


def passed(tests: Tests) -> Term:
    """The tests came out like this."""
    found = z3.BoolVal(True)
    for test, truth in tests:
        found = both(found, test if truth else negation(test))
    return found


def joined(ways: Sequence[Tests]) -> Tests:
    """What is known where these ways, of which no two are taken at once, have come together."""
    common = _common(ways)
    rests = [way[common:] for way in ways]
    known = ways[0][:common]
    return known if _is_all(rests) else (*known, (z3.Or(*map(passed, rests)), True))


def chosen(values: Sequence[tuple[Tests, Term]]) -> Term:
    """The value of the way that is taken, chosen test by test: selects are made in the same order, so that the term is
    the same one."""
    (tests, value), *others = values
    if all(other.eq(value) for _, other in others):
        return value
    common = _common([way for way, _ in values])
    split = _split([way[common:] for way, _ in values])
    if split is None:
        return choice(passed(tests), value, chosen(others))
    arms = [chosen([(way[common + 1:], value) for way, value in values if way[common][1] is truth])
            for truth in (True, False)]
    return choice(split, *arms)


def _common(ways: Sequence[Tests]) -> int:
    """How many tests all ways begin with."""
    length = 0
    for tests in zip(*ways, strict=False):
        (test, truth), *others = tests
        if any(other[1] is not truth or not other[0].eq(test) for other in others):
            break
        length += 1
    return length


def _split(ways: Sequence[Tests]) -> Term | None:
    """The test that all ways begin with, where it does not come out alike."""
    if not all(ways) or not all(way[0][0].eq(ways[0][0][0]) for way in ways):
        return None
    return ways[0][0][0] if len({way[0][1] for way in ways}) == 2 else None


def _is_all(ways: Sequence[Tests]) -> bool:
    """One of the ways is taken, whatever the tests give."""
    if not all(ways):
        return True
    test = _split(ways)
    return test is not None and all(_is_all([way[1:] for way in ways if way[0][1] is truth]) for truth in (True, False))


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a function computes in one lane."""

    results: tuple[Term, ...]
    fails: tuple[Term, ...]


def meaning(fn: Function, walk: Walk, ways: Sequence[WayOut]) -> Meaning:
    """The results and faults of a function whose `ways` the walk has found."""
    fails = [*walk.fails, *(way.cond for way in ways if way.label is FAULT)]
    results = [Param(kind) for kind in fn.result_kinds]
    walk.merge(results, [way for way in ways if way.label is not FAULT])
    return Meaning(walk.read_all(results), tuple(fails))
