"""Lanes that get the next element when they are done compute what waiting lanes compute, bit for bit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import pyflat
from pyflat.functions import ways
from pyflat.passes.gather_suspects import gather_suspects
from pyflat.targets.numba import engine as numba_target
from pyflat.targets.numba import refill as numba_refill
from tests.targets.test_masked_loops import FUNCTIONS, check, collatz, columns, compare, newton, rolled_programs


@pytest.fixture
def refilled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Every loop that can be is refilled, in small steps; gives the names of the functions that were written."""
    monkeypatch.setattr(numba_refill, "TRIPS", 3)
    written: list[str] = []
    write = numba_refill.Refilled.write

    def noting(self: numba_refill.Refilled, *args: Any) -> None:
        written.append("refilled")
        write(self, *args)

    monkeypatch.setattr(numba_refill.Refilled, "write", noting)
    with ways.forced(refill="refilled"):
        yield written


@pytest.mark.parametrize(("fn", "kinds"), FUNCTIONS, ids=[fn.__name__ for fn, _ in FUNCTIONS])
def test_every_lane_is_pythons(fn: Callable[..., Any], kinds: str, refilled: list[str]) -> None:
    check(fn, columns(kinds), "numba", cache=False)


def test_random_loops(refilled: list[str]) -> None:
    for seed, fn, masked in rolled_programs(range(300, 330)):
        fused = gather_suspects(masked)
        compare(fused, fn, seed, numba_target.compile(fused), 90)
    assert len(refilled) >= 5


def test_the_choice_between_both_changes_nothing() -> None:
    """Both ways run parts of the same call."""
    rng = np.random.default_rng(5)
    for fn, lanes in ((collatz, rng.integers(1, 1000, 5_003)), (newton, rng.uniform(0, 1e9, 5_003))):
        wanted = np.array([fn(x) for x in lanes.tolist()])
        with ways.forced(refill="turns"):
            twin = pyflat.twin(fn, target="numba", cache=False)
            assert (twin(lanes) == wanted).all()
            assert (twin(lanes[::3]) == wanted[::3]).all()


def test_short_loops_and_uniform_loops_are_not_refilled() -> None:
    def short(x: float):
        for _ in range(40):
            x = x / 2
            if x < 1.0:
                break
        return x

    def uniform(x: float, n: int):
        for _ in range(n):
            x = x / 2
        return x

    x = np.linspace(1, 1e9, 100)
    for twin, args in ((pyflat.twin(short, target="numba", loops="masked"), (x,)),
                       (pyflat.twin(uniform, target="numba"), (x, 100)), (pyflat.twin(newton, target="numba"), (x,))):
        twin(*args)
        assert ("refill" in twin.stats.ways) == (twin.original is newton)


def upwards(start: int, limit: int, x: float) -> int:
    trips = 0
    i = start
    while i < limit and x < 1e9:
        x = x * 1.5 + 1.0
        i += 3
        trips += 1
    return trips


def downwards(start: int, limit: int, x: float) -> float:
    i = start
    while limit <= i and x < 1e9:
        x = x * 1.5 + 1.0
        i -= 2
    return x


def both(start: int, limit: int, x: float) -> float:
    i = start
    j = 40
    while i <= limit and j > 0 and x < 1e9:
        x = x * 1.5 + 1.0
        i += 7
        j -= 1
    return x


@pytest.mark.parametrize("fn", [upwards, downwards, both])
def test_counters_end_at_their_limits(fn: Callable[..., Any], refilled: list[str]) -> None:
    """Limits of each lane, beyond the start or before it, near and far, and at the ends of int64."""
    rng, most = np.random.default_rng(8), 2**63 - 1
    start, distance = rng.integers(-1000, 1000, 1500), rng.integers(-20, 40, 1500)
    start[::5] = rng.choice([most - 60, most - 150, -most + 30, -most + 90, 0], 300)
    limit = start + distance
    limit[::7] = rng.choice([most, -most - 1, most - 1, -most], len(limit[::7]))
    start = np.where((limit > most - 200) & (fn is downwards), 0, start)
    lanes = start, limit, rng.choice([0.0, 1.0, 1e5, 2e9], 1500)
    found = pyflat.twin(fn, target="numba", cache=False)(*lanes)
    assert refilled
    assert found.tolist() == [fn(*lane) for lane in zip(*[each.tolist() for each in lanes], strict=True)]


def test_single_precision(refilled: list[str]) -> None:
    def halvings(x: float):
        n = 0
        while x > 1.0:
            x = x * 0.5
            n += 1
        return n, x

    x = np.geomspace(1e-3, 1e30, 3_001).astype(np.float32)
    n, rest = pyflat.twin(halvings, target="numba", dtype="float32", cache=False)(x)
    assert refilled
    assert rest.dtype == np.float32
    wanted = [halvings(v) for v in x]
    assert n.tolist() == [w[0] for w in wanted]
    assert rest.tolist() == [float(w[1]) for w in wanted]


def test_suspect_lanes_are_found_wherever_they_are_done(refilled: list[str]) -> None:
    """Their bits are stored where there are any; the others' bits are zero from the beginning."""
    def halved(x: float) -> float:
        n = 0.0
        while x > 1.0:
            x = x / 2.0
            n = n + 1.0
        return 1.0 / (n - 37.0)

    lanes = 2.0 ** (np.arange(700) % 50)
    lanes[(np.arange(700) % 50 == 37) & (np.arange(700) % 3 > 0)] = 3.0
    twin = pyflat.twin(halved, target="numba", cache=False, errors="nan")
    for each in (lanes, lanes[:330], lanes[lanes != 2.0**37]):
        wanted = [math.nan if x == 2.0**37 else halved(x) for x in each.tolist()]
        assert np.array_equal(twin(each), wanted, equal_nan=True)
    assert refilled
