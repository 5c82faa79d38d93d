"""Random programs on complex numbers: `main` takes floats, ints and bools, makes complex numbers of them, and returns
parts, so that the lanes and the oracle of the other programs serve these too.

Names are complex in some lanes and real in others, change their kind in loops, and go through helpers, lists and
handlers. abs() of a nan is left out: CPython 3.11 raises there what an earlier operation has left in errno.
"""

from __future__ import annotations

from random import Random

from tests.generator.program import Program

PRELUDE = """\
import cmath
import math

UNIT = 0.5 - 1.5j
ROOTS = (1j, -0.5 + 0.75j, 2.0, -1)


def size(z):
    return abs(z) if z == z else math.nan


def turn(z, w=1j):
    if z == w:
        return z
    return z * w
"""
SAFE = ("sqrt", "atan", "asinh", "asin", "acos", "acosh", "tanh")
RISKY = ("exp", "log", "sin", "cos", "tan", "sinh", "cosh", "atanh", "log10")
INDENT = "    "


class Writer:
    def __init__(self, rng: Random):
        self.rng = rng
        self.names = ["z", "w"]
        self.serial = 0
        self.budget = rng.choice((8, 14, 20))
        self.wild = rng.choice((0.0, 0.05, 0.4))
        self.looping = 0

    # --- expressions
    def number(self, depth: int) -> str:
        """A complex number or a real one."""
        pick = self.rng.choice
        if depth <= 0 or self.rng.random() < 0.2:
            return pick((*self.names, *self.names, "x", "n", "UNIT", "1j", "2", "0.5", "-0.0", "b", "(3 - 2j)"))
        sub = depth - 1
        match self.rng.randrange(13):
            case 0 | 1 | 2:
                return f"({self.number(sub)} {pick(('+', '-', '*'))} {self.number(sub)})"
            case 3:
                divisor = self.number(0) if self.rng.random() < self.wild else f"({self.real(sub)} ** 2 + 1)"
                return f"({self.number(sub)} / {divisor})"
            case 4:
                exponent = pick(("2", "3", "0.5", "-1", "0", "1j")) if self.rng.random() < self.wild else pick("23")
                return f"({self.complex(sub)}) ** {exponent}"
            case 5:
                name = pick(RISKY) if self.rng.random() < self.wild else pick(SAFE)
                return f"cmath.{name}({self.number(sub)})"
            case 6:
                return f"({self.number(sub)} if {self.test(sub)} else {self.number(sub)})"
            case 7:
                return f"complex({self.real(sub)}, {self.real(sub)})"
            case 8:
                return f"({self.complex(sub)}).conjugate()"
            case 9:
                return f"turn({self.number(sub)}{pick(('', f', {self.number(0)}'))})"
            case 10:
                return f"-{self.number(0)}"
            case 11:
                return f"ROOTS[n % {pick('34')}]"
        return f"sum([{self.number(sub)}, {self.number(0)}])"

    def complex(self, depth: int) -> str:
        """Complex in every lane."""
        return f"{self.number(depth)} + {self.rng.choice(('0j', '1j', 'UNIT', '(1 + 0j)'))}"

    def real(self, depth: int) -> str:
        pick = self.rng.choice
        match self.rng.randrange(6):
            case 0:
                return f"size({self.number(depth)})"
            case 1:
                return f"({self.complex(depth)}).{pick(('real', 'imag'))}"
            case 2:
                return f"{pick(self.names)}.{pick(('real', 'imag'))}"
        return pick(("x", "y", "0.25", "1.0", "n"))

    def test(self, depth: int) -> str:
        pick = self.rng.choice
        match self.rng.randrange(5):
            case 0:
                return f"{self.number(depth)} {pick(('==', '!='))} {self.number(0)}"
            case 1:
                return f"isinstance({pick(self.names)}, complex)"
            case 2:
                return f"cmath.{pick(('isnan', 'isfinite', 'isinf'))}({self.number(depth)})"
            case 3:
                return pick(("b", *self.names))
        return f"{self.real(depth)} {pick(('<', '>=', '>'))} {self.real(0)}"

    # --- statements
    def suite(self, depth: int, most: int) -> list[str]:
        lines: list[str] = []
        for _ in range(self.rng.randint(1, most)):
            lines += self.statement(depth)
        return lines

    def statement(self, depth: int) -> list[str]:
        self.budget -= 1
        if self.budget < 0 or depth <= 0:
            return self.assignment()
        match self.rng.randrange(10):
            case 0 | 1:
                orelse = ["else:", *self.inside(depth)] if self.rng.random() < 0.6 else []
                return [f"if {self.test(1)}:", *self.inside(depth), *orelse]
            case 2 | 3 if self.looping < 2:
                return self.loop(depth)
            case 4:
                handler = self.rng.choice(("ZeroDivisionError", "(ValueError, OverflowError)", "ArithmeticError"))
                return ["try:", *self.inside(depth), f"except {handler}:", *self.inside(0)]
            case 5 if self.looping:
                return [f"if {self.test(1)}:", INDENT + self.rng.choice(("break", "continue"))]
            case 6 if self.rng.random() < 0.5:
                return [f"if {self.test(1)}:", f"{INDENT}return {self.result()}"]
        return self.assignment()

    def inside(self, depth: int) -> list[str]:
        return [INDENT + line for line in self.suite(depth - 1, 2)]

    def assignment(self) -> list[str]:
        name = self.rng.choice(self.names)
        match self.rng.randrange(4):
            case 0:
                return [f"{name} {self.rng.choice(('+=', '-=', '*='))} {self.number(1)}"]
            case 1:
                other = self.rng.choice(self.names)
                return [f"{name}, {other} = {self.number(1)}, {self.number(1)}"]
        return [f"{name} = {self.number(2)}"]

    def loop(self, depth: int) -> list[str]:
        self.serial += 1
        self.looping += 1
        count = self.rng.choice(("3", "n % 4", "2"))
        head, first = [f"for k{self.serial} in range({count}):"], []
        if self.rng.random() < 0.3:
            counter = f"t{self.serial}"
            head = [f"{counter} = 0", f"while size({self.rng.choice(self.names)}) < 4.0 and {counter} < n % 6:"]
            first = [f"{INDENT}{counter} += 1"]
        body = self.inside(depth)
        self.looping -= 1
        return [*head, *first, *body]

    def result(self) -> str:
        a, b = self.rng.choice(self.names), self.rng.choice(self.names)
        return f"{a}.real, {b}.imag"


def generate_complex(seed: int) -> Program:
    """The complex program of a seed."""
    rng = Random(f"complex {seed}")
    writer = Writer(rng)
    start = [f"z = {rng.choice(('complex(x, y)', 'x + 1j * y', '0', 'complex(y, n)', '1j'))}",
             f"w = {rng.choice(('x', 'complex(y, x)', 'UNIT', '0.0', 'z', 'n'))}"]
    body = [*start, *writer.suite(3, 5), f"return {writer.result()}"]
    text = "\n".join(["def main(x, y, n, b):", *(INDENT + line for line in body)])
    return Program(f"{PRELUDE}\n\n{text}\n", ("f", "f", "i", "b"), seed)
