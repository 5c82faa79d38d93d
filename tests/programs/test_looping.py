"""Loops that lanes leave at very different trips: the original against both engines, on numba in forced ways and for
other processors."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pyflat
from tests.generator.looping import generate_loops
from tests.generator.numba_ways import WAYS, Way, check_loops

PROCESSORS = {"own": {}, "avx2": {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx,+avx2,+fma,+bmi,+bmi2,+sse4.2,+popcnt"},
              "sse": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}}


@pytest.fixture(params=PROCESSORS)
def cpu(request, monkeypatch):
    """The processor that code is made for; all machines with AVX2 can run it."""
    for name, value in PROCESSORS[request.param].items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("seed", [6, 9, 32, 34, 100, 101, 102])
def test_random_loops(seed: int) -> None:
    program = generate_loops(seed)
    outcome = check_loops(seed)
    assert not outcome.failures, f"{outcome.failures[0]}\n{program.source}"
    assert outcome.refusal in ("", "flatten/loop-too-long"), outcome.refusal_text


def test_random_loops_on_other_processors(cpu: None) -> None:
    for seed in (6, 32):
        outcome = check_loops(seed, (Way("all"), Way("all", "other")))
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


@pytest.mark.parametrize("way", [*WAYS[:4], Way("as they cost", errors="unchecked")], ids=str)
@pytest.mark.parametrize("function", [chains, powers, kepler])
def test_a_lane_that_is_done_keeps_what_an_arm_gave_it(function, way, cpu):
    """What the results are made of is computed in arms, or has rare paths; these run for lanes that go on."""
    random = np.random.default_rng(0)
    high = 0.95 if function is kepler else 100.0
    x, y = random.uniform(0.0, 100.0, 600), random.uniform(0.0, high, 600)
    x[::97] = 1e308 if function is kepler else 100.0
    with way.forced():
        found = pyflat.twin(function, target="numba", errors=way.errors, cache=False)(x, y)
    found = found[0] if way.errors == "mask" else found
    assert found.tolist() == [function(*row) for row in zip(x.tolist(), y.tolist(), strict=True)]
