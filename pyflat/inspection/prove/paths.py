"""A function of the IR as terms: its result leaves, and the condition under which a lane fails.

Every path of the structured form is followed under its condition, and what merges is chosen by the condition of the
way in; the flat form is one path. When a primitive fails is said by the rules of `ir.faults` in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import z3

from pyflat.inspection.prove.terms import OutsideError, Term, Terms
from pyflat.ir.build import Builder
from pyflat.ir.faults import fault_condition
from pyflat.ir.nodes import FAULT, Block, Const, Exit, Function, If, Item, Label, Loop, Op, Param, Region, Value

MOST_OPERATIONS = 5_000


@dataclass(frozen=True, slots=True)
class Way:
    """One way out of a list: when it is taken, to which label (None: off the end), and with what."""

    cond: Term
    label: Label | None
    values: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a function computes in one lane."""

    results: tuple[Term, ...]
    fails: Term


@dataclass(slots=True)
class _Walk:
    terms: Terms
    strict: bool
    env: dict[Value, Term]
    fails: list[Term] = field(default_factory=list)
    seen: int = 0

    def read(self, value: Value) -> Term:
        """The term of a value; operations of fault rules, which stand in no block, are made when they are read."""
        if isinstance(value, Const):
            return self.terms.const(value)
        if value not in self.env and isinstance(value, Op):
            self.env[value] = self.terms.apply(value, [self.read(arg) for arg in value.args])
        return self.env[value]

    def items(self, items: list[Item], cond: Term) -> list[Way]:
        """The ways out of a control-flow list that is entered under `cond`."""
        left: list[Way] = []
        for item in items:
            match item:
                case Block():
                    for op in item.ops:
                        self.operation(op, cond)
                    if item.end is not None:
                        label = item.end.label if isinstance(item.end, Exit) else None
                        return [*left, Way(cond, label, tuple(self.read(v) for v in item.end.values))]
                    continue
                case If():
                    test = self.read(item.cond)
                    ways = [*self.items(item.then, z3.And(cond, test)),
                            *self.items(item.orelse, z3.And(cond, z3.Not(test)))]
                    own: tuple[Label | None, ...] = (None,)
                case Region():
                    ways, own = self.items(item.body, cond), (None, item.label)
                case Loop():
                    raise OutsideError("a loop is not unrolled, and a proof about it needs an invariant")
            left += [way for way in ways if way.label not in own]
            merged = [way for way in ways if way.label in own]
            self.merge(item.results, merged)
            cond = z3.Or([way.cond for way in merged]) if merged else z3.BoolVal(False)
        raise OutsideError("control falls off a list")

    def operation(self, op: Op, cond: Term) -> None:
        self.seen += 1
        if self.seen > MOST_OPERATIONS:
            raise OutsideError(f"the function has more than {MOST_OPERATIONS:,} operations")
        if op.opcode == "fault":
            self.fails.append(z3.And(cond, self.read(op.args[0])))
            return
        self.env[op] = self.terms.apply(op, [self.read(arg) for arg in op.args])
        when = fault_condition(Builder(), op) if self.strict else None
        if when is not None:
            self.fails.append(z3.And(cond, self.read(when)))

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


def meaning(fn: Function, terms: Terms, params: Sequence[Term]) -> Meaning:
    """What `fn` computes for these arguments. Raises OutsideError."""
    walk = _Walk(terms, fn.form == "structured", dict(zip(fn.params, params, strict=True)))
    ways = walk.items(fn.body, z3.BoolVal(True))
    fails = [*walk.fails, *(way.cond for way in ways if way.label is FAULT)]
    back = [way for way in ways if way.label is not FAULT]
    results = [Param(kind) for kind in fn.result_kinds]
    walk.merge(results, back)
    return Meaning(tuple(walk.env[result] for result in results), z3.Or(fails) if fails else z3.BoolVal(False))
