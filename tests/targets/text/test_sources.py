"""Random sources through the whole pipeline: the printed NumPy text computes what the flat function computes."""

from __future__ import annotations

import linecache
import math
import random
import warnings

import numpy as np
import pytest

from pyflat.frontend.specialise import specialise
from pyflat.ir.interp import run
from pyflat.ir.shape import Leaf
from pyflat.ir.types import FLOAT, INT
from pyflat.passes.gather_suspects import drop_faults
from pyflat.passes.pipelines import flatten_ir
from pyflat.targets.text import globals_needed, render
from tests.targets.text.test_random import TOTAL, lanes_of, same_bits

LITERALS = ["2", "0.5", "1e-3", "0x1F", "1_000", "-3", "2.50", "K", "M"]
SPACES = ["{} {} {}", "{}{}{}", "{}  {} {}", "({} {} {})", "( {}{} {})"]


class Writer:
    """Writes a small function with the user's own formatting: floats x, y, locals, an int n."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.names = ["x", "y", "n"]
        self.lines: list[str] = []

    def expression(self, depth: int) -> str:
        rng = self.rng
        if depth == 0 or rng.random() < 0.2:
            return rng.choice(self.names) if rng.random() < 0.75 else rng.choice(LITERALS)
        pick = rng.random()
        if pick < 0.1:
            return f"-{self.expression(depth - 1)}" if rng.random() < 0.5 else f"- ({self.expression(depth - 1)})"
        if pick < 0.2:
            return f"helper({self.expression(depth - 1)})"
        if pick < 0.27:
            return f"max({self.expression(depth - 1)}, {self.expression(depth - 1)})"
        if pick < 0.34:
            return f"({self.expression(depth - 1)} if {self.condition(depth - 1)} else {self.expression(depth - 1)})"
        sign = rng.choice(["+", "-", "-", "*", "*", "/"])
        right = self.expression(depth - 1)
        if rng.random() < 0.5 and not right.isidentifier():
            right = f"({right})"
        return rng.choice(SPACES).format(self.expression(depth - 1), sign, right)

    def condition(self, depth: int) -> str:
        one = f"{self.expression(depth)} {self.rng.choice(['<', '<=', '>', '==', '!='])} {self.expression(depth)}"
        pick = self.rng.random()
        if pick < 0.2:
            return f"not {one}"
        return f"{one} {self.rng.choice(['and', 'or'])} {self.condition(depth)}" if pick < 0.35 else one

    def block(self, indent: str, size: int) -> None:
        for _ in range(size):
            name = self.rng.choice(["x", "a", "b", "h", "np", "t0"])
            pick = self.rng.random()
            if pick < 0.25:
                self.lines.append(f"{indent}if {self.condition(1)}:")
                known = list(self.names)
                self.block(indent + "    ", 1)
                self.names = known
                if self.rng.random() < 0.5:
                    self.lines.append(f"{indent}else:")
                    self.block(indent + "    ", 1)
                    self.names = known
            elif pick < 0.33:
                self.lines.append(f"{indent}if {self.condition(1)}:\n{indent}    return {self.expression(2)}")
            elif pick < 0.45 and name in self.names and name != "n":
                self.lines.append(f"{indent}{name} {self.rng.choice('+-*')}= {self.expression(1)}  # in place")
            else:
                self.lines.append(f"{indent}{name} = {self.expression(3)}")
                if name not in self.names:
                    self.names.append(name)

    def function(self, name: str) -> str:
        self.block("    ", 6)
        return "\n".join([f"def {name}(x, y, n):", *self.lines, f"    return 1.0*({self.expression(2)})"]) + "\n"


HELPER = "K = 0.25\nM = 3\ndef helper(a):\n    b = a - 1.5\n    if b > 0:\n        return b*b\n    return b/ 2\n"


def made(seed: int):
    """A function from random source, as if typed at a prompt."""
    source = HELPER + Writer(seed).function("f")
    file = f"<random text {seed}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace: dict = {}
    exec(compile(source, file, "exec"), namespace)
    return namespace["f"]


def extreme(first, *rest, better):
    for item in rest:
        first = item if better(item, first) else first
    return first


NEUTRAL = {
    "select": lambda p, a, b: a if p else b,
    "max": lambda *a: extreme(*a, better=lambda x, y: x > y),
    "float": np.float64,
    "math": math,
}
"""What the neutral text means, on NumPy scalars."""


@pytest.mark.parametrize("seed", range(150))
def test_printed_source_computes_what_the_flat_function_computes(seed):
    check(seed)


def check(seed: int) -> None:
    spec = specialise(made(seed), {"x": Leaf(FLOAT), "y": Leaf(FLOAT), "n": Leaf(INT)})
    flat = drop_faults(flatten_ir(spec.function))
    printed = render(spec, flat, target="numpy", name="twin")
    namespace = globals_needed(spec)
    exec(compile(printed, "<twin>", "exec"), namespace)
    neutral = dict(NEUTRAL)
    plain = render(spec, flat, target="neutral", name="twin")
    exec(compile(plain, "<twin>", "exec"), neutral)
    arrays = lanes_of(flat, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = np.broadcast_to(namespace["twin"](*[a.copy() for a in arrays]), (24,))
    for lane in range(24):
        (wanted,) = run(flat, [a[lane].item() for a in arrays], elementary=TOTAL).values
        assert same_bits(found[lane].item(), wanted), printed
        with np.errstate(all="ignore"):
            one = neutral["twin"](*[a[lane] for a in arrays])
        assert same_bits(float(one), wanted), plain
