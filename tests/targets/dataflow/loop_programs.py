"""Random functions of nested loops and branches, as source text: what the dataflow target is fuzzed with.

    source = LoopPrograms(7).source()          always the same text for the same seed
    f = load(source)                           a Python function f(a, b, c) of small ints

Loops always end: `for` runs over a range of at most four, `while` counts a variable of its own down. Values stay
small, so that differing tokens differ in the result. There are zero-trip loops, loops left by break and return,
iterations cut short by continue, and else suites of loops.
"""

from __future__ import annotations

import itertools
import linecache
import random
from collections.abc import Callable
from typing import Any

ARGUMENTS = ("a", "b", "c")
_numbers = itertools.count()


class LoopPrograms:
    """`exits=False` leaves out break, continue and early return."""

    def __init__(self, seed: int, *, exits: bool = True):
        self.random = random.Random(seed)
        self.exits = exits
        self.lines: list[str] = []
        self.names = [*ARGUMENTS, "s", "t"]
        self.loops = 0
        self.budget = self.random.randint(4, 14)

    def source(self) -> str:
        self.line(0, f"def f({', '.join(ARGUMENTS)}):")
        self.line(1, "s = 1")
        self.line(1, "t = a")
        self.suite(1, 0)
        self.line(1, "return s, t")
        return "\n".join(self.lines) + "\n"

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def suite(self, indent: int, loops: int) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.statement(indent, loops)
        if indent == 1:
            while self.budget > 0:
                self.statement(indent, loops)

    def statement(self, indent: int, loops: int) -> None:
        r = self.random
        self.budget -= 1
        if indent > 5 or self.budget <= 0:
            return self.assignment(indent)
        draw = r.random()
        if draw < 0.30:
            return self.branch(indent, loops)
        if draw < 0.62 and loops < 3:
            return self.for_loop(indent, loops) if r.random() < 0.6 else self.while_loop(indent, loops)
        return self.assignment(indent)

    def assignment(self, indent: int) -> None:
        name = self.random.choice(["s", "t", "s", "t", "a"])
        self.line(indent, f"{name} = ({self.expression(2)}) % {self.random.choice([7, 50, 1000])}")

    def branch(self, indent: int, loops: int) -> None:
        r = self.random
        self.line(indent, f"if {self.condition()}:")
        self.suite(indent + 1, loops)
        if self.exits and r.random() < 0.3:
            self.line(indent + 1, self.exit(loops))
        if r.random() < 0.5:
            self.line(indent, "else:")
            self.suite(indent + 1, loops)

    def exit(self, loops: int) -> str:
        found = ["break", "continue", "break", "continue"] if loops else []
        return self.random.choice([*found, f"return {self.expression(1)}, t"])

    def for_loop(self, indent: int, loops: int) -> None:
        r = self.random
        self.loops += 1
        name = f"i{self.loops}"
        top = r.choice([str(r.randint(0, 4)), f"({self.expression(1)}) % 4", f"{r.choice(self.names)} % 5 - 1"])
        bounds = r.choice([top, top, f"{r.randint(-1, 2)}, {top}", f"{top}, {r.randint(-1, 2)}, -1", f"0, {top}, 2"])
        self.line(indent, f"for {name} in range({bounds}):")
        self.names.append(name)
        self.suite(indent + 1, loops + 1)
        self.names.remove(name)
        self.orelse(indent, loops)

    def while_loop(self, indent: int, loops: int) -> None:
        self.loops += 1
        name = f"k{self.loops}"
        self.line(indent, f"{name} = ({self.expression(1)}) % 4")
        test = self.random.choice([f"{name} > 0", f"{name} > 0 and ({self.condition()})", f"{name}"])
        self.line(indent, f"while {test}:")
        self.line(indent + 1, f"{name} -= 1")
        self.names.append(name)
        self.suite(indent + 1, loops + 1)
        self.names.remove(name)
        self.orelse(indent, loops)

    def orelse(self, indent: int, loops: int) -> None:
        if self.random.random() < 0.15:
            self.line(indent, "else:")
            self.assignment(indent + 1)

    def condition(self) -> str:
        r = self.random
        simple = f"{self.expression(1)} {r.choice(['<', '<=', '==', '!=', '>'])} {self.atom()}"
        if r.random() < 0.2:
            return f"{simple} {r.choice(['and', 'or'])} {self.atom()} > {self.atom()}"
        return simple if r.random() < 0.8 else f"{self.atom()} % 2"

    def expression(self, depth: int) -> str:
        r = self.random
        if depth == 0 or r.random() < 0.2:
            return self.atom()
        a, b = self.expression(depth - 1), self.expression(depth - 1)
        match r.randrange(7):
            case 0:
                return f"({a} if {self.atom()} < {self.atom()} else {b})"
            case 1:
                return f"{r.choice(['min', 'max'])}({a}, {b})"
            case 2:
                return f"({a}) // {r.randint(2, 5)}"
            case 3:
                return f"({a}) * ({b})"
        return f"({a} {r.choice('+-')} {b})"

    def atom(self) -> str:
        r = self.random
        return str(r.randint(-2, 9)) if r.random() < 0.25 else r.choice(self.names)


def load(source: str) -> Callable[..., Any]:
    """The function `f` of the text, whose source can be found."""
    name = f"<loops {next(_numbers)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {}
    exec(compile(source, name, "exec"), namespace)
    found: Callable[..., Any] = namespace["f"]
    return found


def arguments_for(seed: int) -> list[int]:
    return [random.Random(seed ^ 0x5EED).randint(-3, 6) for _ in ARGUMENTS] if seed % 4 else [0, 1, 2]
