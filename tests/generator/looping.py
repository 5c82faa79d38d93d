"""Random loops that lanes leave at very different trips: tests of counters and of floats in one condition, arms that are
worth a branch in front of the test and behind it, functions with rare paths, numbers that overflow or become nan in
lanes that are done."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

from pyflat.testing import EDGE_FLOATS
from tests.generator.lanes import Lane
from tests.generator.program import Program
from tests.generator.statements import Lines, indent

COUNTS = (1, 5, 17, 40, 40, 90, 90, 300, 300, 1_200, 5_000)
"""Lanes of a test: fewer than a register, parts of gangs, trials of both ways."""
WORK = 60_000
"""Trips of all lanes together, about."""
_FLOATS = ("x", "y", "z", "v")
_FUNCTIONS = ("math.sin({})", "math.cos({} * 0.1)", "math.exp(-abs({}))", "math.log(abs({}) + 0.5)", "math.atan({})", "math.erf({})",
              "math.tanh({})", "math.cbrt({})", "math.sqrt(abs({}))", "abs({}) ** 0.6", "abs({}) ** 0.425", "math.gamma(abs({}) % 5.0 + 0.5)",
              "math.exp(min({}, 3.0))", "math.fmod({}, 3.0)", "({}) // 1.5", "math.hypot({}, 1.0)", "({}) ** 3")
_STEPS = ("x = (x + y) / 2", "x *= 0.9", "y = y * 1.5 + 1.0", "x, y = y, x", "x = x * x - y", "y -= z", "x -= 1.25", "n //= 2", "n -= 1",
          "n = n * 3 + 1", "x = x * 0.5 + v", "y += k", "v = v * v + 1.0", "z -= x")
_UPDATES = ("z = z * 0.5 + v", "z += v", "z = v - z", "z = max(z, v)", "x -= v", "x = x - v / (k + 2)", "y = v", "z += x * y", "k += n % 3")
_RESULTS = ("z", "z", "z", "z", "z", "(z, k)", "k", "x", "z + k", "(x, y, z)", "v", "z > x", "k * 1.5", "(n, z)", "z if k > 3 else x", "(k > 2, z, v)")


class _Loops:
    """Lines of a function of the floats x and y and the int n, with z, v and the counter k."""

    def __init__(self, rng: Random):
        self.rng = rng
        self.most = rng.choice((3, 9, 30, 60, 200))
        self.serial = 0

    def value(self) -> str:
        return self.rng.choice((*_FLOATS, "x - y", "x + z", "x * 0.1", "n", "k", "v / 3"))

    def function(self) -> str:
        return self.rng.choice(_FUNCTIONS).format(self.value())

    def condition(self) -> str:
        rng = self.rng
        tests = (f"{rng.choice(_FLOATS)} > {rng.choice(_FLOATS)}", f"{rng.choice(_FLOATS)} < {rng.choice((0.0, 1.0, 10.0, 50.0))}",
                 "n % 2 == 0", "k % 3 == 1", f"k > {rng.randint(0, self.most)}", "n > k", f"abs(x - y) < {rng.choice((0.5, 5, 30))}",
                 "z != z", f"{self.function()} > {rng.choice((0.3, 1.0, 4.0))}")
        first, second = rng.choice(tests), rng.choice(tests)
        return rng.choice((first, first, first, f"{first} and {second}", f"{first} or {second}", f"not ({first})"))

    def chain(self, name: str) -> Lines:
        """Many operations, unrolled or a loop of its own."""
        a, b = self.value(), self.value()
        self.serial += 1
        step = self.rng.choice((f"{name} = {name} * 0.99 + x / ({name} + 1.5) - y / (abs({name}) + 2.0)", f"{name} = {name} * 0.98 + {a} / (abs({b}) + 3.0)",
                                f"{name} = {name} - {a} / (abs({name}) + 1.0)"))
        return [f"{name} = {a} * 1.1", f"for i{self.serial} in range({self.rng.choice((4, 4, 8, 8, 40))}):", f"    {step}"]

    def expensive(self, name: str) -> Lines:
        if self.rng.random() < 0.3:
            return self.chain(name)
        return [f"{name} = {self.function()} + {self.function()}" if self.rng.random() < 0.5 else f"{name} = {self.function()}"]

    def arm(self) -> Lines:
        """An `if` of which at least one side takes long."""
        name = self.rng.choice(("v", "v", "z", "y"))
        cheap = self.rng.choice(([f"{name} = {self.value()}"], ["pass"], [f"{name} += 1.0"], self.expensive(name)))
        lines = [f"if {self.condition()}:", *indent(self.expensive(name))]
        return lines if cheap == ["pass"] else [*lines, "else:", *indent(cheap)]

    def statement(self, inside: int) -> Lines:
        rng, chance = self.rng, self.rng.random()
        if chance < 0.4:
            return self.arm()
        if chance < 0.55:
            return [f"{rng.choice(('z', 'v'))} {rng.choice(('=', '+='))} {self.function()} if {self.condition()} else {rng.choice((self.function(), self.value()))}"]
        if chance < 0.63 and inside < 2:
            return self.loop(inside, rng.choice((3, 6, 12)))
        return [rng.choice(_UPDATES)]

    def loop(self, inside: int, most: int) -> Lines:
        """A loop that ends after `most` trips at the latest."""
        rng = self.rng
        self.serial += 1
        counter = f"c{self.serial}" if inside else "k"
        header = [line for _ in range(rng.randint(1, 2)) for line in self.statement(inside + 1)]
        if rng.random() < 0.6 and not inside:  # what follows an arm right before the test
            header += [*self.arm(), rng.choice(_UPDATES[:4])]
        rest = [rng.choice(("x = (x + y) / 2", "x *= 0.9", *_STEPS))]
        rest += [line for _ in range(rng.randint(0, 1)) for line in (self.statement(inside + 1) if rng.random() < 0.4 else [rng.choice(_STEPS)])]
        leave = rng.choice(("break", "break", "break", "return z" if not inside else "break"))
        limit = rng.choice((f"{counter} > {most}", f"{counter} >= {most}", f"{counter} >= n % {most + 1}"))
        early = rng.choice((self.condition(), f"abs(x - y) < {rng.choice((1, 4))}", f"z > {rng.choice((5, 60))}"))
        kind = rng.random()
        if kind < 0.65:
            test = rng.choice((f"if {early} or {limit}: {leave}", f"if {limit} or {early}: {leave}"))
            return [f"{counter} = 0", "while True:", *indent([*header, f"{counter} += 1", test, *rest])]
        if kind < 0.85:
            again = [f"if {self.condition()}: continue"] if rng.random() < 0.3 else []
            return [f"{counter} = 0", f"while not ({early}) and not ({limit}):", *indent([f"{counter} += 1", *header, *again, *rest])]
        trips = rng.choice((str(most), f"n % {most + 1}"))
        return [f"{counter} = 0", f"for {counter} in range({trips}):", *indent([*header, f"if {early}: {leave}", *rest])]

    def lines(self) -> Lines:
        before = self.arm() if self.rng.random() < 0.3 else []
        after = self.arm() if self.rng.random() < 0.3 else []
        second = self.loop(0, 5) if self.rng.random() < 0.15 else []
        return ["z = 0.0", "v = 1.0", "k = 0", *before, *self.loop(0, self.most), *second, *after]


def generate_loops(seed: int) -> Program:
    """The program of a seed."""
    rng = Random(f"loops {seed}")
    writer = _Loops(rng)
    lines = writer.lines()
    result = rng.choice(_RESULTS)
    lines = [line.replace("return z", f"return {result}") for line in lines]
    source = "\n".join(["import math", "", "", "def main(x, y, n):", *indent([*lines, f"return {result}"])]) + "\n"
    return Program(source, ("f", "f", "i"), seed)


def rows_of(program: Program) -> list[Lane]:
    """Its lanes."""
    rng = Random(program.source)
    loops = program.source.count("while") + program.source.count("for ")
    count = min(rng.choice(COUNTS), WORK // (20 * loops))
    return [(_float(rng), _float(rng), rng.choice((0, 1, -1, 2**31, -7)) if rng.random() < 0.05 else rng.randint(0, 250)) for _ in range(count)]


def _float(rng: Random) -> float:
    match rng.random():
        case p if p < 0.7:
            return rng.uniform(0, 100)
        case p if p < 0.85:
            return rng.uniform(-4, 4)
        case p if p < 0.92:
            return rng.choice((1e308, -1e308, 1e200, 1e5, 3e9, 5e-324, math.inf, -math.inf, math.nan))
        case p if p < 0.96:
            return rng.choice(EDGE_FLOATS)
    return rng.uniform(-1, 1) * 10.0 ** rng.randint(-20, 20)


def columns_of(rows: Sequence[Lane]) -> list[list[bool | int | float]]:
    return [list(column) for column in zip(*rows, strict=True)]
