"""Random loop nests with affine indices, and which of their loops have iterations that meet, found by running them."""

from __future__ import annotations

import itertools
import linecache
import random
import re

import numpy as np

LENGTH = 40
"""Of each axis: with counters up to some ten most indices are inside."""


class Program:
    """A kernel of arrays `a` and `b` of two axes, and ints `n`, `m` and `p`."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.counters: list[str] = []
        self.names = iter("ijklxyz")
        self.source = "\n".join(["def program(a, b, n, m, p):", *self._loops("    ", self.random.choice((1, 1, 2, 3)))])

    def _loops(self, indent: str, depth: int) -> list[str]:
        name = next(self.names)
        bounds = self._bounds()
        self.counters.append(name)
        lines = [f"{indent}for {name} in range({bounds}):"]
        inner = indent + "    "
        if self.random.random() < 0.25:
            lines.append(f"{inner}if {self._condition()}:")
            inner += "    "
        if depth > 1:
            if self.random.random() < 0.2:
                lines.append(inner + self._statement())
            lines += self._loops(inner, depth - 1)
            if self.random.random() < 0.2:
                lines.append(inner + self._statement())
        else:
            lines += [inner + self._statement() for _ in range(self.random.choice((1, 1, 2)))]
        self.counters.pop()
        return lines

    def _bounds(self) -> str:
        pick = self.random.choice
        around = pick(self.counters) if self.counters else "p"
        return pick(["n", "m", "1, n - 1", f"{around} + 1, n", f"{around}, m", around, f"{around} % 2, n - 1, 2", "n // 2",
                     "n - 1, -1, -1", "0, n, 3", "p, p + n", f"max(0, {around} - 2), min(m, {around} + 3)",
                     f"1 + ({around} + p) % 2, m, 2"])

    def _number(self) -> str:
        pick = self.random.choice
        x, y = (pick(self.counters or ["p"]) for _ in range(2))
        return pick([x, x, x, x, f"{x} + 1", f"{x} - 1", f"2 * {x}", f"2 * {x} + 1", f"3 * {x} + {y}", f"{x} + {y}",
                     f"n - 1 - {x}", f"n - {x}", f"{x} + n", f"{x} + m", f"{x} // 2", f"{x} % 2", f"({x} + 1) % 2",
                     f"{x} & 3", f"{x} >> 1", "p", "0", "1", f"p + {x}", f"{x} - {y}", f"min({x}, {y})", f"abs({x} - {y})",
                     f"{x} * {y}", f"p * {x}"])

    def _condition(self) -> str:
        x, y = (self.random.choice(self.counters) for _ in range(2))
        return self.random.choice([f"({x} + {y}) % 2 == p % 2", f"{x} != {y}", f"{x} < {y}", f"{x} != p", f"{x} >= n // 2",
                                   f"a[{x}, 0] > 0.5"])

    def _element(self) -> str:
        return f"{self.random.choice('aaaab')}[{self._number()}, {self._number()}]"

    def _statement(self) -> str:
        return f"{self._element()} = {self._element()} * 0.5 + {self._element()}"

    def function(self):
        name, names = f"<affine program {id(self)}>", {}
        linecache.cache[name] = (len(self.source), None, self.source.splitlines(keepends=True), name)
        exec(compile(self.source, name, "exec"), names)
        return names["program"]


class _Seen:
    """An array that says which elements are touched."""

    def __init__(self, array, run, name):
        self.array, self.run, self.name = array, run, name

    def __getitem__(self, place):
        self.run.touch(self.name, place, stored=False)
        return self.array[place]

    def __setitem__(self, place, value):
        self.run.touch(self.name, place, stored=True)
        self.array[place] = value


class Run:
    """Runs a program, and finds the lines of the loops of which two iterations meet."""

    def __init__(self, program: Program, numbers: tuple[int, ...]):
        self.meeting: set[int] = set()
        self.wraps = False
        self.around: list[list] = []
        lines = enumerate(program.source.split("\n"), 1)
        text = "\n".join(re.sub(r"in (range\(.*\)):$", rf"in _loop({number}, \1):", line) for number, line in lines)
        names = {"_loop": self._loop}
        exec(text, names)
        arrays = (_Seen(np.ones((LENGTH, LENGTH)), self, name) for name in "ab")
        try:
            names["program"](*arrays, *numbers)
        except IndexError:
            self.wraps = True

    def _loop(self, line, numbers):
        for count in itertools.count():
            if count == len(numbers):
                break
            if count == 0:
                self.around.append([line, 0, {}])
            self.around[-1][1] = count
            yield numbers[count]
        if len(numbers):
            self.around.pop()

    def touch(self, name, place, *, stored):
        self.wraps |= min(place) < 0
        for line, count, touched in self.around:
            counts, written = touched.get((name, *place), (frozenset(), False))
            counts, written = counts | {count}, written or stored
            touched[(name, *place)] = counts, written
            if written and len(counts) > 1:
                self.meeting.add(line)
