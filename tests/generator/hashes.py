"""Random programs about ints of 64 bits: hashes, generators of random numbers, bitboards."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.generator.program import Program

INDENT = "    "
HEAD = """import math

MASK = 0xFFFFFFFFFFFFFFFF
KEYS = (0x9E3779B97F4A7C15, 3, 0xFFFFFFFFFFFFFFFF, 0x8000000000000000, 0x7FFFFFFFFFFFFFFF)
"""
CONSTANTS = ("0x9E3779B97F4A7C15", "0xbf58476d1ce4e5b9", "0x100000001B3", "MASK", "0x8000000000000000", "255", "1", "-1",
             "31", "2**64", "2**63 + 1", "-(2**63)", "0x5555555555555555")


class _Writer:
    """Lines of a function with the unsigned variables a and b, the ints x, y, n and the counter k."""

    def __init__(self, seed: int):
        self.rng = Random(f"hashes {seed}")

    def pick(self, *choices: Callable[[], str]) -> str:
        return self.rng.choice(choices)()

    def name(self) -> str:
        return self.rng.choice("aabb")

    def residue(self, depth: int) -> str:
        """An expression that is right modulo 2**64, and may be of any size."""
        if depth == 0:
            return self.pick(self.name, self.name, lambda: self.rng.choice(CONSTANTS), lambda: self.rng.choice("xyn"))
        sub = self.residue
        return self.pick(
            lambda: f"({sub(depth - 1)} {self.rng.choice('+-*^|&')} {sub(depth - 1)})",
            lambda: f"({sub(depth - 1)} {self.rng.choice('+-*^|&')} {sub(depth - 1)})",
            lambda: f"({sub(depth - 1)} << {self.rng.choice(('1', '13', '63', '64', 'n % 65', 'k'))})",
            lambda: f"({self.rng.choice('~-')}{sub(depth - 1)})",
            lambda: self.number(depth - 1))

    def number(self, depth: int) -> str:
        """One of [0, 2**64)."""
        return self.pick(
            self.name, lambda: f"({self.residue(depth)} & MASK)", lambda: f"({self.residue(depth)} % 2**64)",
            lambda: f"({self.name()} >> {self.rng.choice(('0', '1', '7', '33', '63', '64', 'n % 66', 'k'))})",
            lambda: f"({self.name()} {self.rng.choice('^|&')} {self.name()})", lambda: f"KEYS[{self.name()} % 5]",
            lambda: f"({self.name()} & -{self.name()})", lambda: f"({self.name()} & {self.rng.choice('xy')})",
            lambda: f"{self.rng.choice(('min', 'max'))}({self.name()}, {self.name()})",
            lambda: f"({self.name()} {self.rng.choice(('%', '//'))} {self.rng.choice(('10', '3', '2**63', 'MASK', '1'))})",
            lambda: f"({self.name()} if {self.test()} else {self.name()})")

    def test(self) -> str:
        other = self.pick(self.name, self.name, lambda: self.rng.choice(CONSTANTS), lambda: self.rng.choice("xyn"))
        sign = self.rng.choice(("<", "<=", ">", ">=", "==", "!="))
        return self.pick(lambda: f"{self.name()} {sign} {other}", lambda: f"{other} {sign} {self.name()}",
                         lambda: f"{self.name()} & {self.rng.choice(('1', '256', '2**63'))}", lambda: f"not {self.name()}",
                         lambda: "n > 2")

    def statements(self, depth: int) -> list[str]:
        return [line for _ in range(self.rng.randint(1, 3)) for line in self.statement(depth)]

    def statement(self, depth: int) -> list[str]:
        kind = self.rng.random()
        if depth and kind < 0.2:
            inner = [INDENT + line for line in self.statements(depth - 1)]
            other = [INDENT + line for line in self.statements(depth - 1)] if self.rng.random() < 0.5 else []
            return [f"if {self.test()}:", *inner, *(["else:", *other] if other else [])]
        if depth and kind < 0.4:
            head = self.rng.choice(("for k in range(3):", "for k in range(n % 5):", "for k in range(8):"))
            return [head, *[INDENT + line for line in self.statements(depth - 1)]]
        if kind < 0.5:
            return [f"{self.name()} {self.rng.choice('^|&')}= {self.number(1)}"]
        return [f"{self.name()} = {self.number(2)}"]

    def result(self) -> str:
        return self.pick(
            lambda: "a", lambda: "(a, b)", lambda: "a ^ b", lambda: "(a >> 11) * 2.0**-53", lambda: "float(a), b % 10",
            lambda: "a / 2**64", lambda: "a.bit_count(), b.bit_length()", lambda: "(a if a > b else b) // 7, a == b",
            lambda: "math.sqrt(a) + b * 0.5", lambda: "int(a), abs(b), +a")


def generate_hashes(seed: int) -> Program:
    """The program of a seed: `main(x, y, n)` of ints."""
    writer = _Writer(seed)
    body = ["k = 1", f"a = {writer.rng.choice(('x & MASK', '0xcbf29ce484222325', '0', '(x * 0x9E3779B97F4A7C15) & MASK'))}",
            "b = (y + 0x9E3779B97F4A7C15) & MASK", *writer.statements(2), *writer.statements(1),
            f"return {writer.result()}"]
    text = "\n".join(["def main(x, y, n):", *(INDENT + line for line in body)])
    return Program(f"{HEAD}\n\n{text}\n", ("i", "i", "i"), seed)
