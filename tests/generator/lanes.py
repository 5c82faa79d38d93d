"""Inputs for a random program: edge values, the program's own numbers and their neighbours, and random ones."""

from __future__ import annotations

import ast
import math
from random import Random

from pyflat.testing import EDGE_FLOATS, EDGE_INTS, ROUND_FLOATS, literals, neighbours
from tests.generator.program import Program

Lane = tuple[bool | int | float, ...]


def lanes_for(program: Program, count: int) -> list[Lane]:
    """`count` lanes; the same program gives the same lanes."""
    rng = Random(program.source)
    numbers = sorted(set(literals(ast.parse(program.source))))
    floats = [*EDGE_FLOATS, *neighbours(numbers), *(ROUND_FLOATS if "np." in program.source else ())]
    ints = [*EDGE_INTS, *(int(n) for n in numbers if math.isfinite(n) and abs(n) < 2**63)]
    return [tuple(_value(rng, kind, floats, ints) for kind in program.kinds) for _ in range(count)]


def _value(rng: Random, kind: str, floats: list[float], ints: list[int]) -> bool | int | float:
    match kind, rng.random():
        case "b", _:
            return rng.random() < 0.5
        case "i", p if p < 0.4:
            return rng.choice(ints)
        case "i", p if p < 0.95:
            return rng.randint(-6, 12)
        case "i", _:
            return rng.randint(-(2**63), 2**63 - 1)
        case _, p if p < 0.45:
            return rng.choice(floats)
        case _, p if p < 0.7:
            return rng.randint(-12, 12) / 4
        case _, p if p < 0.95:
            return rng.uniform(-4, 4)
    return rng.uniform(-1, 1) * 10.0 ** rng.randint(-20, 20)
