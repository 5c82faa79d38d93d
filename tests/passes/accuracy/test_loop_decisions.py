"""Random source with loops that decide by inexact values, on numba: each lane has a limit that it meets exactly in some
trip."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyflat
import pyflat.passes.accuracy.exact_retry
from pyflat.passes.accuracy import carried_bounds, choose_math
from tests.generator.differential import loaded
from tests.generator.outcomes import Raised, observe

FUNCTIONS = ("math.sin({})", "math.cos({})", "math.tanh({})", "math.atan({})", "math.exp(-abs({}))", "math.sqrt(abs({}))",
             "math.log(1.0 + abs({}))", "({}) * 0.7", "math.erf({})", "abs({}) ** 0.3")


def expression(r: random.Random, names: str, depth: int) -> str:
    if depth == 0:
        return r.choice((*names, "0.5", "1.25"))
    if r.random() < 0.5:
        return r.choice(FUNCTIONS).format(expression(r, names, depth - 1))
    return f"({expression(r, names, depth - 1)} {r.choice('+-*')} {expression(r, names, depth - 1)})"


def newton(r: random.Random) -> str:
    return f"""
    for _ in range(20):
        d = (x - 0.7 * math.sin(x) - {expression(r, "ab", 1)}) / (1.0 - 0.7 * math.cos(x))
        x = x - d
        n += 1
        if seen(abs(d)) < limit or abs(d) < 1e-14:
            break"""


def two_exits(r: random.Random) -> str:
    return f"""
    while n < 15:
        n += 1
        x, y = math.tanh({expression(r, "xyab", 2)}), math.atan({expression(r, "xyab", 2)})
        if seen(x) > limit:
            break
        if y > x:
            m += 1"""


def nested(r: random.Random) -> str:
    return f"""
    while seen(abs({expression(r, "xyab", 2)})) > limit and n < 20:
        n += 1
        x = 0.5 * x + 0.3 * math.sin({expression(r, "xyab", 1)})
        z = y
        while math.exp(-abs(z)) < 0.9 and m < 200:
            z = 0.6 * z + 0.1 * {expression(r, "xb", 1)}
            m += 1
        y = z * 0.9 + x"""


def summed(r: random.Random) -> str:
    return f"""
    t = 0.0
    while seen(t) < limit and n < 25:
        n += 1
        t = t + abs({expression(r, "xyab", 2)})
        x = math.cos({expression(r, "xyab", 1)})
        if x < y:
            y = {expression(r, "xab", 1)}
            m += 2"""


def program(r: random.Random, kind: Callable[[random.Random], str]) -> tuple[str, list[tuple[float, float, float]]]:
    """A function of two numbers and a limit, and lanes for it."""
    text = f"""import math
def main(a, b, limit):
    x, y, n, m = a, b, 0, 0{kind(r)}
    return n, m, math.floor(math.tanh(x) * 9.0), x
"""
    found: list[float] = []
    scope: dict[str, Any] = {"seen": lambda value: found.append(value) or value}
    exec(text, scope)
    rows = []
    for _ in range(150):
        a, b = r.uniform(-3, 3), r.uniform(-3, 3)
        found.clear()
        scope["main"](a, b, 1e300 if kind is two_exits or kind is summed else 0.0)
        rows += [(a, b, value) for value in r.sample(found, min(len(found), 4))]
    return text.replace("seen", ""), rows


@pytest.mark.parametrize("fine", [carried_bounds.FINE, math.inf], ids=["summed up", "first order"])
@pytest.mark.parametrize("kind", [newton, two_exits, nested, summed])
@pytest.mark.parametrize("seed", range(3))
def test_loops_of_random_source_decide_as_cpython(seed, kind, fine, monkeypatch):
    monkeypatch.setattr(pyflat.passes.accuracy.exact_retry, "WORTH_COMPILING", 10**9)
    monkeypatch.setattr(choose_math, "WORTH_CARRYING", 0.0)
    monkeypatch.setattr(carried_bounds, "FINE", fine)
    r = random.Random(f"{seed} {kind.__name__}")
    source, rows = program(r, kind)
    with loaded(source) as fn:
        twin = pyflat.twin(fn, target="numba", math="vector", errors="mask", cache=False)
        got, faults = twin(*[np.array(column) for column in zip(*rows, strict=True)])
        assert kind is not newton or '"x error": f8' in twin.show(stage="flat")
        for i, row in enumerate(rows):
            want = observe(fn, row)
            if isinstance(want, Raised):
                assert faults[i] is not None, (row, source)
                continue
            assert [leaf[i].item() for leaf in got[:3]] == list(want.value[:3]), (row, source)
            assert math.isclose(got[3][i], want.value[3], rel_tol=1e-6, abs_tol=1e-9), (row, source)


@pytest.mark.parametrize("fine", [carried_bounds.FINE, math.inf], ids=["summed up", "first order"])
def test_a_missing_alarm_is_noticed(fine, monkeypatch):
    monkeypatch.setattr(choose_math._Draft, "mark", lambda *args: None)
    with pytest.raises(AssertionError):
        test_loops_of_random_source_decide_as_cpython(0, newton, fine, monkeypatch)
