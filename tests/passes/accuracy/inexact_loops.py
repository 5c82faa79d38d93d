"""Random functions with loops that decide by inexact values, and a machine that keeps what each trip begins with."""

from __future__ import annotations

import math
from typing import Any

from pyflat.ir.build import Builder, const
from pyflat.ir.interp import _Machine as Machine
from pyflat.ir.interp import run
from pyflat.ir.nodes import Block, Const, Exit, Function, If, Item, Label, Loop, Op, Param, Value, Yield
from pyflat.ir.ops import COMPARISONS
from pyflat.ir.types import FLOAT
from tests.passes.accuracy.inexact_programs import TOTAL, InexactPrograms

MAX_TRIPS = 12


class InexactLoops(InexactPrograms):
    """Loops that end by a comparison of what they change, nested ones, flags of a break: thresholds are what is
    compared there in some trip of some lane."""

    def __init__(self, seed: int):
        super().__init__(seed)
        self.thresholds: list[tuple[Op, Const]] = []

    def masked(self, size: int) -> Function:
        for _ in range(self.random.randrange(4)):
            self.step()
        self.loop(size, 1)
        for _ in range(self.random.randrange(4)):
            self.step()
        results = [self.floats[-1], self.floats[-2], self.ints[-1], *self.bools[-2:]]
        self.build.items[-1] = Block(self.build.block.ops, Yield(results))
        fn = Function("f", self.params, self.build.items, Label("return"), [v.kind for v in results], "masked")
        self.aim(fn)
        return fn

    def aim(self, fn: Function) -> None:
        """Move each threshold to a value that is compared with it."""
        for compared, threshold in self.thresholds:
            (number,) = [arg for arg in compared.args if arg is not threshold] or [threshold]
            seen: list[float] = []
            for lane in self.random.sample(self.lanes, 6):
                run(fn, lane, on_op=lambda op, value, number=number: seen.append(value) if op is number else None)
            finite = [value for value in seen if math.isfinite(value)]
            if finite:
                value = self.random.choice(finite)
                for _ in range(self.random.choice((0, 0, 0, 1, 2))):
                    value = math.nextafter(value, self.random.choice((-math.inf, math.inf)))
                threshold.value = value

    def compared(self, value: Value) -> Op:
        """A comparison with a threshold of its own."""
        threshold = Const(FLOAT, 1.0)
        op = self.op(self.random.choice(COMPARISONS), *self.random.sample((value, threshold), 2))
        self.thresholds.append((op, threshold))
        return op

    def param(self, init: Value, name: str) -> Param:
        param = Param(init.kind, name)
        for known in self.known:
            known[param] = init.value if isinstance(init, Const) else known[init]
            if known[param] is None:
                known[param] = TOTAL[init.kind]
        return param

    def loop(self, size: int, depth: int) -> None:
        r, outside = self.random, self.build
        outer = list(self.floats), list(self.ints), list(self.bools)
        inits: list[Value] = [*[self.float() for _ in range(r.randint(1, 3))], const(0), const(True), Const(FLOAT, None)]
        params = [self.param(init, f"p{depth}{k}") for k, init in enumerate(inits)]
        *numbers, count, flag, late = params
        self.floats += numbers
        self.build, parts = Builder(), []
        within = self.op("lt", count, const(r.randint(2, MAX_TRIPS)))
        go = within
        if r.random() < 0.5:
            if r.random() < 0.5:
                self.step()
            go = self.op("and", go, self.compared(r.choice(numbers)))
        breaks = r.random() < 0.6
        if breaks:
            go = self.op("and", flag, go)
        parts.append(self.finish(Yield([])))
        parts[0][-1].end = None
        visible = list(self.floats)
        self.build = Builder()
        for _ in range(r.randint(2, size)):
            self.step()
        if depth < 2 and r.random() < 0.35:
            self.loop(size // 2, depth + 1)
        after: list[Value] = [self.next(number) for number in numbers]
        for k, made in list(enumerate(after))[1:]:
            if r.random() < 0.5 and isinstance(made, Op):
                after[k] = self.op("select", self.compared(made), *r.sample((made, numbers[k]), 2))
        after.append(self.op("add", count, const(1)))
        last = self.change(numbers[0], after[0])
        after += [self.op("not", self.compared(last)) if breaks else flag, r.choice((after[0], numbers[0]))]
        parts.append(self.finish(Yield(after)))
        left: list[Value] = [r.choice([*numbers, late if breaks else numbers[0]]), r.choice(visible), count]
        if breaks and r.random() < 0.5:
            left[:2] = [late, r.choice(outer[0])]  # then the last trip of the rest is for the break alone
        left = [numbers[0] if isinstance(value, Const) else value for value in left]
        results = [Param(value.kind, f"q{depth}{k}") for k, value in enumerate(left)]
        for known in self.known:
            known.update({result: known[value] for result, value in zip(results, left, strict=True)})
        label, again = Label(f"loop{depth}"), Label(f"next{depth}")
        carried = [Param(value.kind) for value in after]
        test = If(go, parts[1], [Block([], Exit(label, left))], carried)
        body: list[Item] = [*parts[0], test, Block([], Yield(carried))]
        self.floats, self.ints, self.bools = outer
        self.floats += results[:2]
        self.ints.append(results[2])
        self.build = outside
        self.build.items += [Loop(label, again, params, inits, body, results), Block()]

    def finish(self, end: Yield) -> list[Item]:
        """The list that is being built, with this end."""
        items = self.build.items
        items[-1] = Block(self.build.block.ops, end)
        return items

    def next(self, number: Value) -> Value:
        """What a trip makes of a parameter: mostly no wild growth."""
        made, other = self.float(), self.float()
        match self.random.randrange(9):
            case 7:
                return self.newton(number, made)
            case 8:
                grown = self.op("exp", self.op("neg", self.op("abs", number)))
                return self.op("sub", self.op("mul", grown, made), self.op("mul", number, const(0.25)))
            case 0:
                return self.op("sin", made)
            case 1:
                return self.op("tanh", made)
            case 2:
                return self.op("add", number, self.op("mul", const(0.125), self.op("atan", made)))
            case 3:
                return self.op("sub", number, self.op("truediv", self.op("sin", made), self.op("add", const(1.5), self.op("abs", other))))
            case 4:
                return self.op("mul", const(0.5), self.op("add", number, self.op("cos", number)))
            case 5 if self.bools:
                return self.op("select", self.random.choice(self.bools), number, self.op("sin", made))
        return made if not isinstance(made, Const) else self.op("cos", number)

    def newton(self, number: Value, other: Value) -> Value:
        """A step towards a root of x - a sin(x) - b."""
        wave = self.op("mul", const(0.6), self.op("sin", number))
        slope = self.op("sub", const(1.0), self.op("mul", const(0.6), self.op("cos", number)))
        above = self.op("sub", self.op("sub", number, wave), other)
        return self.op("sub", number, self.op("truediv", above, slope))

    def change(self, before: Value, after: Value) -> Value:
        if self.random.random() < 0.4:
            return after if isinstance(after, Op) else self.op("neg", after)
        return self.op("abs", self.op("sub", after, before))


class Recorder(Machine):
    """Keeps what the trips of each loop begin with, and how far it is off, as the loop says (`errors`)."""

    def __init__(self, elementary: Any, errors: dict[Param, Param]):
        super().__init__(True, elementary, 100_000)
        self.errors = errors
        self.trips: dict[Label, list[dict[Param, tuple[float, float]]]] = {}

    def run_loop(self, loop: Loop) -> Exit | None:
        self.assign(loop.params, loop.inits)
        while True:
            begins = {param: (self.env[param], self.env.get(self.errors.get(param, param), math.inf)) for param in loop.params
                      if param.kind is FLOAT}
            leave = self.run_list(loop.body)
            if isinstance(leave, Exit):
                assert leave.label is loop.label
                self.assign(loop.results, leave.values)
                return None
            self.trips.setdefault(loop.label, []).append(begins)
            self.assign(loop.params, leave.values)


