"""What LLVM is asked to do with a kernel depends on its shape alone, and values on neither."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pyflat
from pyflat.targets.numba import compilation, jit
from pyflat.targets.numba.jit import Passes


def straight(x: float) -> float:
    return math.exp(x) * 2.0 - x


def looped(x: float) -> float:
    steps = 0.0
    while x > 1.0 and steps < 300.0:
        x, steps = x * 0.5 + math.log(2.5), steps + 1.0
    return steps


@pytest.mark.parametrize(("fn", "passes"), [(straight, Passes.STRAIGHT), (looped, Passes.LOOPS)])
def test_loops_decide_which_passes_run(fn, passes, monkeypatch):
    asked = []
    compile_ir = compilation.compile_ir
    monkeypatch.setattr(compilation, "compile_ir",
                        lambda *given, passes, **more: asked.append(passes) or compile_ir(*given, passes=passes, **more))
    pyflat.twin(fn, target="numba", cache=False)(np.linspace(-2.0, 30.0, 50))
    assert asked == [passes]


@pytest.mark.parametrize("fn", [straight, looped])
def test_values_are_the_same_after_any_passes(fn, monkeypatch):
    x = np.concatenate([np.linspace(-2.0, 30.0, 1_000), [np.nan, np.inf, -np.inf, -0.0]])
    expected = [fn(value) if value < np.inf else None for value in x.tolist()]
    translated = jit._translated
    monkeypatch.setattr(jit, "opened", lambda: None)
    for passes in Passes:
        monkeypatch.setattr(jit, "_translated", lambda text, cpu, _, chosen=passes: translated(text, cpu, chosen))
        got = pyflat.twin(fn, target="numba", cache=False)(x)
        assert [a for a, b in zip(got.tolist(), expected, strict=True) if b is not None] == [
            b for b in expected if b is not None]
