"""Flat functions of floats in exact rational arithmetic: what fast math may not change."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from pyflat.ir.build import Builder, const
from pyflat.ir.nodes import Block, Const, Function, Label, Op, Param, Value, Yield
from pyflat.ir.types import BOOL, FLOAT
from pyflat.ir.uses import results_of
from tests.passes.rule_checks import NotDefined, rational

LITERALS = (1.0, 2.0, -1.0, 0.5, 3.0, -0.25, 4.0, 0.0)


class FloatPrograms:
    """Random flat functions of four numbers and a bool: trees of sums, products, quotients and selects."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.build = Builder()
        self.params = [Param(FLOAT, name) for name in "xyzw"] + [Param(BOOL, "p")]
        self.values: list[Value] = list(self.params[:4])
        self.fresh: list[Value] = []

    def function(self, size: int = 12) -> Function:
        r = self.random
        for _ in range(size):
            made = r.choice((self.sum, self.product, self.quotients, self.products, self.horizontal, self.choice))()
            self.values.append(made)
            self.fresh.append(made)
        results = self.values[-4:]
        block = Block(self.build.block.ops, Yield(results))
        return Function("f", self.params, [block], Label("return"), [v.kind for v in results], "flat")

    def pick(self) -> Value:
        """A literal, or most often what nothing uses yet."""
        r = self.random
        if r.random() < 0.25:
            return const(r.choice(LITERALS))
        if self.fresh and r.random() < 0.6:
            return self.fresh.pop()
        return r.choice(self.values)

    def sum(self) -> Value:
        op = self.build.op(self.random.choice(("add", "add", "sub")), self.pick(), self.pick())
        return self.build.op("neg", op) if self.random.random() < 0.2 else op

    def product(self) -> Value:
        op = self.build.op("mul", self.pick(), self.pick())
        for _ in range(self.random.randrange(3)):
            op = self.build.op("mul", op, self.pick())
        return op

    def quotients(self) -> Value:
        """Two by the same divisor."""
        divisor = self.random.choice(self.params[:4])
        one = const(1.0) if self.random.random() < 0.3 else self.pick()
        first, second = (self.build.op("truediv", value, divisor) for value in (one, self.pick()))
        return self.build.op("add", first, second)

    def products(self) -> Value:
        """A sum of products and sometimes of something else."""
        total: Value | None = self.pick() if self.random.random() < 0.4 else None
        for _ in range(self.random.randrange(2, 5)):
            term = self.build.op("mul", self.pick(), self.random.choice(self.params[:4]))
            total = term if total is None else self.build.op("add", total, term)
        assert total is not None
        return total

    def horizontal(self) -> Value:
        """The sum of all four parameters, in some order, and sometimes one of them again."""
        lanes = self.random.sample(self.params[:4], 4)
        if self.random.random() < 0.5:
            lanes.append(self.random.choice(lanes))
        total: Value = lanes[0]
        for lane in lanes[1:]:
            total = self.build.op("add", total, lane)
        return total

    def choice(self) -> Value:
        return self.build.op("select", self.params[4], self.pick(), self.pick())


def run_exactly(fn: Function, lane: Sequence[Any]) -> list[Any]:
    """The results in rationals. NotDefined where something is divided by zero."""
    env: dict[Value, Any] = dict(zip(fn.params, lane, strict=True))

    def read(value: Value) -> Any:
        if isinstance(value, Const):
            return Fraction(value.value) if isinstance(value.value, float) else value.value
        return env[value]

    for op in fn.flat_block.ops:
        env[op] = _apply(op, [read(arg) for arg in op.args])
    return [read(value) for value in results_of(fn)]


def _apply(op: Op, args: list[Any]) -> Any:
    match op.opcode:
        case "pack":
            return tuple(args)
        case "dot":
            return sum(a * b for a, b in zip(*args, strict=True))
        case "hadd":
            return sum(args[0])
    return rational(op.opcode, *args)


def exact_lanes(count: int, seed: int = 0) -> list[list[Any]]:
    r = random.Random(seed)
    return [[*(Fraction(r.randint(-9, 9), r.randint(1, 5)) for _ in range(4)), r.random() < 0.5] for _ in range(count)]


def assert_equal_exactly(before: Function, after: Function, count: int = 8, seed: int = 0) -> int:
    """In how many lanes both have a value, and the same one. Where the original divides by zero anything goes; where
    only the other one does, the lane is left out: fast math may divide differently."""
    compared = 0
    for lane in exact_lanes(count, seed):
        try:
            old, new = run_exactly(before, lane), run_exactly(after, lane)
        except NotDefined:
            continue
        assert old == new, (lane, old, new)
        compared += 1
    return compared
