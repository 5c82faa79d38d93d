"""A function of the IR as terms: its result leaves, and the condition under which a lane fails.

Every path of the structured form is followed under its condition, and what merges is chosen by the condition of the
way in; the flat form is one path. When a primitive fails is said by the rules of `ir.faults` in both.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence, Set
from dataclasses import dataclass, field
from typing import TypeAlias

import z3

from pyflat.inspection.prove.floats import Term
from pyflat.inspection.prove.terms import OutsideError, Terms, both
from pyflat.ir.build import Builder
from pyflat.ir.faults import fault_condition
from pyflat.ir.nodes import FAULT, Block, Const, Exit, Function, If, Item, Label, Loop, Op, Param, Region, Value
from pyflat.ir.types import Kind

MOST_OPERATIONS = 5_000


@dataclass(frozen=True, slots=True)
class Way:
    """One way out of a list: when it is taken, to which label (None: off the end), and with what."""

    cond: Term
    label: Label | None
    values: tuple[Term, ...]
    kinds: tuple[Kind, ...]


@dataclass(frozen=True, slots=True)
class Entered:
    """A walk has come to a loop under `cond`, and wants the ways out of it."""

    loop: Loop
    cond: Term
    inits: tuple[Term, ...]
    walk: Walk


def kinds_of(values: Sequence[Value]) -> tuple[Kind, ...]:
    return tuple(value.kind for value in values)


Walked: TypeAlias = Generator[Entered, list[Way], list[Way]]


@dataclass(slots=True)
class Walk:
    """One way through a function, list by list. `fails`: when the lane has failed so far; `wrapping`: operations that
    may leave 64 bits, because only their low bits are read (`analysis.demanded_bits`)."""

    terms: Terms
    strict: bool
    env: dict[Value, Term]
    wrapping: Set[Op]
    fails: list[Term] = field(default_factory=list)
    seen: int = 0

    @property
    def failed(self) -> Term:
        return z3.Or(*self.fails) if self.fails else z3.BoolVal(False)

    def inside(self, params: Sequence[Param], values: Sequence[Term]) -> Walk:
        """A walk that begins in a loop of this one, whose parameters have these values; its failures are its own."""
        return Walk(self.terms, self.strict, {**self.env, **dict(zip(params, values, strict=True))},
                    self.wrapping)

    def read(self, value: Value) -> Term:
        """The term of a value; operations of fault rules, which stand in no block, are made when they are read."""
        if isinstance(value, Const):
            return self.terms.const(value)
        if value not in self.env and isinstance(value, Op):
            self.env[value] = self.terms.apply(value, [self.read(arg) for arg in value.args])
        return self.env[value]

    def read_all(self, values: Sequence[Value]) -> tuple[Term, ...]:
        return tuple(self.read(value) for value in values)

    def items(self, items: Sequence[Item], cond: Term) -> Walked:
        """The ways out of a control-flow list that is entered under `cond`; off the end without a Yield: none."""
        left: list[Way] = []
        own: tuple[Label | None, ...]
        for item in items:
            match item:
                case Block():
                    for op in item.ops:
                        self.operation(op, cond)
                    if item.end is not None:
                        label = item.end.label if isinstance(item.end, Exit) else None
                        return [*left, Way(cond, label, self.read_all(item.end.values), kinds_of(item.end.values))]
                    continue
                case If():
                    test = self.read(item.cond)
                    then = yield from self.items(item.then, both(cond, test))
                    orelse = yield from self.items(item.orelse, both(cond, z3.Not(test)))
                    ways, own = [*then, *orelse], (None,)
                case Region():
                    ways, own = (yield from self.items(item.body, cond)), (None, item.label)
                case Loop():
                    ways, own = (yield Entered(item, cond, self.read_all(item.inits), self)), (item.label,)
            left += [way for way in ways if way.label not in own]
            merged = [way for way in ways if way.label in own]
            self.merge(item.results, merged)
            cond = z3.Or([way.cond for way in merged]) if merged else z3.BoolVal(False)
        return left

    def operation(self, op: Op, cond: Term) -> None:
        self.seen += 1
        if self.seen > MOST_OPERATIONS:
            raise OutsideError(f"the function has more than {MOST_OPERATIONS:,} operations")
        if op.opcode == "fault":
            self.fails.append(both(cond, self.read(op.args[0])))
            return
        self.env[op] = self.terms.apply(op, [self.read(arg) for arg in op.args])
        when = fault_condition(Builder(), op) if self.strict and op not in self.wrapping else None
        if when is not None:
            self.fails.append(both(cond, self.read(when)))

    def merge(self, results: Sequence[Param], ways: Sequence[Way]) -> None:
        for place, result in enumerate(results):
            if not ways:
                self.env[result] = self.terms.const(Const(result.kind, None))
                continue
            *others, last = ways
            value = last.values[place]
            for way in reversed(others):
                value = z3.If(way.cond, way.values[place], value)
            self.env[result] = value


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a function computes in one lane."""

    results: tuple[Term, ...]
    fails: tuple[Term, ...]


def meaning(fn: Function, walk: Walk, ways: Sequence[Way]) -> Meaning:
    """Of a function whose `ways` the walk has found."""
    fails = [*walk.fails, *(way.cond for way in ways if way.label is FAULT)]
    results = [Param(kind) for kind in fn.result_kinds]
    walk.merge(results, [way for way in ways if way.label is not FAULT])
    return Meaning(walk.read_all(results), tuple(fails))
