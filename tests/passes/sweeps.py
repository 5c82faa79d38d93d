"""What the tests of backends' passes share: one sweep over a text, random functions whose values must stay, and mutants."""

from __future__ import annotations

import random
from typing import Any

import pytest

from pyflat.ir.build import Builder, const
from pyflat.ir.nodes import Block, Function, Label, Param, Value, Yield
from pyflat.ir.print import format_function
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.ir.validate import validate
from pyflat.passes.prune_dead import prune_dead
from tests.passes.flat_programs import FlatPrograms, assert_equal, body_of, flat, samples
from tests.passes.rational import FloatPrograms, assert_equal_exactly
from tests.support.edits import Edit, mutated


def swept(change: Any, body: str, **options: Any) -> str:
    fn = flat(body)
    text = format_function(fn)
    after = prune_dead(change(fn, **options))
    validate(after)
    assert format_function(fn) == text
    return body_of(after)


def lines(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().splitlines())


def stays(change: Any, body: str, **options: Any) -> None:
    fn = flat(body)
    assert change(fn, **options) is fn


class TreePrograms(FlatPrograms):
    """Operations that cannot fault, most of them on values that nothing else uses: trees of predicates and selects."""

    def __init__(self, seed: int):
        super().__init__(seed)
        self.fresh: list[Value] = []

    def function(self, size: int = 18) -> Function:
        for _ in range(size):
            self.fresh.append(self.one())
        results = self.fresh[-5:]
        block = Block(self.build.block.ops, Yield(results))
        return Function("f", self.params, [block], Label("return"), [v.kind for v in results], "flat")

    def one(self) -> Value:
        r = self.random
        match r.randrange(8):
            case 0 | 1:
                return self.add("not", self.take(BOOL))
            case 2 | 3:
                return self.add(r.choice(("and", "or")), self.take(BOOL), self.take(BOOL))
            case 4:
                return self.add(r.choice(("xor", "eq", "ne")), self.take(BOOL), self.take(BOOL))
            case 5:
                kind = r.choice((INT, FLOAT))
                return self.add(r.choice(("lt", "ge", "eq", "gt", "le", "ne")), self.take(kind), self.take(kind))
            case 6:
                return self.select()
            case _:
                return self.add("gather", self.take(INT), kind=FLOAT, table=r.choice(((1.0, 2.0), (2.0, -1.0))))

    def select(self) -> Value:
        """Of two operations of the same opcode that may share an operand; or of two bools."""
        r = self.random
        if r.random() < 0.4:
            return self.add("select", self.take(BOOL), self.take(BOOL), self.take(BOOL))
        cond, shared = self.take(BOOL), self.value(FLOAT)
        opcode = r.choice(("add", "sub", "mul", "neg", "gather", "sub"))
        if opcode == "neg":
            arms = [self.add("neg", self.value(FLOAT)) for _ in range(2)]
        elif opcode == "gather":
            arms = [self.add("gather", self.value(INT), kind=FLOAT, table=r.choice(((1.0, 2.0), (2.0, -1.0)))) for _ in range(2)]
        else:
            pairs = ([shared, self.value(FLOAT)] for _ in range(2))
            arms = [self.add(opcode, *(pair if r.random() < 0.6 else pair[::-1])) for pair in pairs]
        return self.add("select", cond, *arms)

    def take(self, kind: Kind) -> Value:
        """Most often something that nothing uses yet."""
        free = [value for value in self.fresh if value.kind is kind]
        if free and self.random.random() < 0.8:
            found = self.random.choice(free)
            self.fresh.remove(found)
            return found
        return self.random.choice([p for p in self.params if p.kind is kind])


def chains(seed: int) -> Function:
    """`if p: acc = f(acc)` several times, with few conditions, where f may be a choice of its own."""
    r, build = random.Random(seed), Builder()
    p, q, i, x, y = params = [Param(BOOL, "p"), Param(BOOL, "q"), Param(INT, "i"), Param(FLOAT, "x"), Param(FLOAT, "y")]
    both, neither = build.op("and", p, q), build.op("not", p)
    start: list[Value] = [x, i]
    accs = list(start)
    for _ in range(12):
        k = r.randrange(len(accs))
        acc, other = accs[k], (i if accs[k].kind is INT else r.choice((x, y, const(0.5))))
        new: Value = build.op(r.choice(("add", "mul", "sub")), *r.sample((acc, other), 2))
        cond = r.choice((p, p, p, q, both, neither))
        if r.random() < 0.4:
            test = build.op("lt", new, acc)
            if r.random() < 0.5:
                cond = build.op("and", *r.sample((cond, test), 2))
            else:
                new = build.op("select", test, new, acc)
        old = r.choice((acc, start[k]))
        accs[k] = build.op("select", cond, *(new, old) if r.random() < 0.7 else (old, new))
    return Function("f", params, [Block(build.block.ops, Yield(accs))], Label("return"), [v.kind for v in accs], "flat")


def exactly_right(change: Any, seeds: range = range(45)) -> None:
    for seed in seeds:
        for fn in (FlatPrograms(seed).function(25), TreePrograms(seed).function(), TreePrograms(seed + 1000).function(),
                   chains(seed), chains(seed + 1000), chains(seed + 2000)):
            after = change(fn)
            validate(after)
            assert_equal(fn, after, samples(fn, 15, seed))


def rationally_right(change: Any, seeds: range = range(80)) -> None:
    compared = 0
    for seed in seeds:
        fn = FloatPrograms(seed).function()
        after = change(fn)
        validate(after)
        assert prune_size(after) <= prune_size(fn) + (4 if "recip" in format_function(after) else 0)
        compared += assert_equal_exactly(fn, after, 6, seed)
    assert compared > 2 * len(seeds)


def prune_size(fn: Function) -> int:
    return len([op for op in prune_dead(fn).flat_block.ops if op.opcode != "pack"])


def dies(check: Any, function: str, edit: Edit, module: str = "") -> None:
    """The function of a pass, with one thing changed, does not pass the check."""
    mutant = getattr(mutated(f"pyflat.passes.{module or function}", edit), function)
    with pytest.raises((AssertionError, KeyError, ValueError, TypeError, IndexError)):
        check(mutant)
