"""Loops that lanes leave at very different trips: the original against both engines, on numba in forced ways and for
other processors."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pyflat
from tests.generator.looping import generate_loops
from tests.generator.ways import RUNS, Run, check_loops
from tests.support.processors import levels, made_for


@pytest.fixture(params=levels())
def cpu(request):
    """The processor that code is made for."""
    with made_for(request.param):
        yield


@pytest.mark.parametrize("seed", [6, 9, 32, 34, 100, 101, 102])
def test_random_loops(seed: int) -> None:
    program = generate_loops(seed)
    outcome = check_loops(seed)
    assert not outcome.failures, f"{outcome.failures[0]}\n{program.source}"
    assert outcome.refusal in ("", "flatten/loop-too-long"), outcome.refusal_text


def test_random_loops_on_other_processors(cpu: None) -> None:
    for seed in (6, 32):
        outcome = check_loops(seed, (RUNS[0], RUNS[2]))
        assert not outcome.failures, f"{outcome.failures[0]}\n{generate_loops(seed).source}"


def test_a_seed_gives_the_same_program() -> None:
    assert generate_loops(5) == generate_loops(5) != generate_loops(6)


def chains(x: float, y: float):
    n = 0
    z = 0.0
    while True:
        if x > y:
            v = x * 1.1
            for _ in range(40):
                v = v * 0.99 + x / (v + 1.0) - y / (v + 2.0)
        else:
            v = y * 0.7
            for _ in range(40):
                v = v * 0.98 + y / (v + 3.0)
        z = z * 0.5 + v
        n += 1
        if abs(x - y) < 1 or n > 50:
            break
        x = (x + y) / 2
    return z


def powers(x: float, y: float):
    n = 0
    z = 0.0
    while True:
        z += x**0.6 if x > y else y**0.425
        n += 1
        if abs(x - y) < 1 or n > 50:
            break
        x = (x + y) / 2
    return z


def kepler(mean: float, e: float):
    anomaly = mean
    n = 0
    while True:
        step = (anomaly - e * math.sin(anomaly) - mean) / (1 - e * math.cos(anomaly))
        anomaly -= step
        n += 1
        if abs(step) < 1e-10 or n >= 50:
            break
    return anomaly


@pytest.mark.turns(2)
@pytest.mark.parametrize("run", [*RUNS[:4], Run(errors="unchecked")], ids=str)
@pytest.mark.parametrize("function", [chains, powers, kepler])
def test_a_lane_that_is_done_keeps_what_an_arm_gave_it(function, run, cpu):
    """What the results are made of is computed in arms, or has rare paths; these run for lanes that go on."""
    random = np.random.default_rng(0)
    high = 0.95 if function is kepler else 100.0
    x, y = random.uniform(0.0, 100.0, 600), random.uniform(0.0, high, 600)
    x[::97] = 1e308 if function is kepler else 100.0
    with run.forced():
        found = pyflat.twin(function, target="numba", errors=run.errors, cache=False)(x, y)
    found = found[0] if run.errors == "mask" else found
    assert found.tolist() == [function(*row) for row in zip(x.tolist(), y.tolist(), strict=True)]
