"""Algorithms for operands in known intervals have the bits of the whole ones, and leave out what cannot happen."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pyflat.analysis import ranged_machine
from pyflat.analysis.ranged_machine import Ranged, RangedMachine, Special, _Counting, _Node, special
from pyflat.analysis.ranges import ANY_FLOAT, Interval
from pyflat.functions import vmath
from pyflat.functions.vmath import exact
from pyflat.functions.vmath.exact import trigonometric
from pyflat.functions.vmath.machine import F4, F8, Format, NumpyMachine

ALGORITHMS: dict[str, tuple[Callable[..., Any], int]] = {
    **{f"exact {name}": (row.algorithm, row.operands) for name, row in exact.TABLE.items()},
    "exact sin and cos": (trigonometric.sin_and_cos, 1),
    **{f"vector {name}": (row.algorithm, row.operands) for name, row in vmath.TABLE.items()},
}
needs_tables = pytest.mark.skipif(not exact.has_tables(), reason="needs the tables of the C library")


def thresholds(algorithm: Callable[..., Any], operands: int, format: Format = F8) -> list[float]:
    """The constants that the algorithm compares floats with."""
    found: set[float] = set()

    class Noting(RangedMachine):
        def compared(self, opcode: str, number: Any, a: Any, b: Any) -> Ranged:
            within = [self.interval(x) for x in (a, b)]
            found.update(each.low for each in within if each is not None and None not in within
                         and each.low == each.high and math.isfinite(each.low))
            return super().compared(opcode, number, a, b)

        def wide(self) -> Any:
            return Noting(self.inner.wide(), self.outcomes)

    machine = Noting(_Counting(format, False))
    algorithm(machine, *[Ranged(machine, _Node(0.0), ANY_FLOAT)] * operands)
    return sorted(found)


def intervals(random: np.random.Generator, edges: list[float], count: int, format: Format = F8) -> list[Interval]:
    """Intervals that end at thresholds of the algorithm, next to them, and elsewhere."""
    real = np.float64 if format is F8 else np.float32
    found = []
    while len(found) < count:
        ends = []
        for _ in range(2):
            edge = real(random.choice([*edges, 0.0, 1.0, np.inf]) * random.choice([-1.0, 1.0]))
            if random.random() < 0.2:
                edge = real(random.choice([-1.0, 1.0]) * 2.0 ** random.uniform(-20, 10))
            towards = real(random.choice([-np.inf, np.inf]))
            ends.append(float(edge if random.random() < 0.6 else np.nextafter(edge, towards)))
        found.append(Interval(min(ends), max(ends), bool(random.random() < 0.3)))
    return found


def lanes_in(random: np.random.Generator, within: Interval, edges: list[float], count: int, format: Format = F8
             ) -> np.ndarray:
    """Numbers of an interval: its ends, the thresholds in it, and their neighbours among them."""
    real, limits = (np.float64, np.finfo(np.float64)) if format is F8 else (np.float32, np.finfo(np.float32))
    marks = np.array([within.low, within.high, 0.0, -0.0, *edges, *[-x for x in edges]], real)
    with np.errstate(all="ignore"):
        near = [marks, np.nextafter(marks, real(np.inf)), np.nextafter(marks, real(-np.inf))]
        low, high = max(within.low, float(limits.min)), min(within.high, float(limits.max))
        spread = random.uniform(0.0, 1.0, count) * (high / 2 - low / 2) * 2 + low
        sizes = np.exp2(random.uniform(-40, 40, count)) * random.choice([-1.0, 1.0], count)
        near_ends = np.concatenate([low + np.abs(sizes), high - np.abs(sizes)])
        found = np.concatenate([*near, spread.astype(real), sizes.astype(real), near_ends.astype(real)])
    found = found[(found >= within.low) & (found <= within.high)]
    return np.concatenate([found, np.array([np.nan] if within.nan else [], real)]).astype(real)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Bit for bit; any nan is another's equal."""
    whole = np.int64 if a.dtype == np.float64 else np.int32
    return bool(((a.view(whole) == b.view(whole)) | (np.isnan(a) & np.isnan(b))).all())


def results(found: Any, lanes: np.ndarray) -> list[Any]:
    return [np.broadcast_to(each, lanes.shape) for each in (found if isinstance(found, tuple) else (found,))]


def compare(algorithm: Callable[..., Any], within: tuple[Interval, ...], args: list[np.ndarray], format: Format = F8
            ) -> Special:
    """Runs both on lanes of the intervals."""
    nans = tuple(not each.has(0.0) and not each.has(1.0) for each in within[::-1]) if len(within) > 1 else (True,)
    narrowed = special(algorithm, within, nans, format=format)
    machine = NumpyMachine(format)
    with np.errstate(all="ignore"):
        whole, part = algorithm(machine, *args), narrowed(machine, *args)
    values, others = results(whole, args[0]), results(part, args[0])
    doubtful = next((each for each in values if each.dtype == bool), np.zeros(len(args[0]), bool))
    for value, other, never in zip(values, others, narrowed.never or [False] * len(values), strict=True):
        if value.dtype == bool:
            asked = np.ones(len(value), bool)
            for k in narrowed.told_apart:
                asked &= ~np.isnan(args[k])
            assert (value == other)[asked].all()
            assert not (never and value[asked].any())
        else:
            assert same(value[~doubtful], other[~doubtful]), (within, narrowed)
    return narrowed


@needs_tables
@pytest.mark.parametrize("name", ALGORITHMS)
def test_bits_are_those_of_the_whole_algorithm(name):
    algorithm, operands = ALGORITHMS[name]
    random, edges, decided = np.random.default_rng(len(name)), thresholds(algorithm, operands), 0
    for _ in range(12):
        within = tuple(intervals(random, edges, operands))
        lanes = [lanes_in(random, each, edges, 60) for each in within]
        length = max(map(len, lanes))
        args = [random.permutation(np.resize(each, length)) for each in lanes]
        decided += bool(compare(algorithm, within, args).name)
    assert decided or not edges


@pytest.mark.parametrize("name", vmath.TABLE)
def test_bits_of_float32(name):
    algorithm, operands = vmath.TABLE[name].algorithm, vmath.TABLE[name].operands
    random, edges = np.random.default_rng(1), thresholds(algorithm, operands, F4)
    for _ in range(6):
        within = tuple(intervals(random, edges, operands, F4))
        lanes = [lanes_in(random, each, edges, 60, F4) for each in within]
        length = max(map(len, lanes))
        compare(algorithm, within, [random.permutation(np.resize(each, length)) for each in lanes], F4)


@needs_tables
@pytest.mark.parametrize("end", ["low", "high"])
def test_an_interval_that_is_too_short_is_seen(monkeypatch, end):
    """By one number at an end, where a comparison is decided."""
    decided = ranged_machine.decided

    def shorter(each: Interval) -> Interval:
        if each.low == each.high:
            return each
        if end == "low":
            return each._replace(low=math.nextafter(each.low, math.inf))
        return each._replace(high=math.nextafter(each.high, -math.inf))

    monkeypatch.setattr(ranged_machine, "decided", lambda opcode, a, b: decided(opcode, shorter(a), shorter(b)))
    special.cache_clear()
    seen = 0
    for name in ("exact sin", "exact tan", "exact atan", "exact log", "exact acos", "vector log", "vector pow"):
        try:
            test_bits_are_those_of_the_whole_algorithm(name)
        except AssertionError:
            seen += 1
    special.cache_clear()
    assert seen >= 2


@pytest.mark.parametrize(
    ("algorithm", "within", "never", "less"),
    [
        (trigonometric.sin, Interval(-0.8, 0.8), True, 0.75),
        (trigonometric.sin, Interval(-1.5, 1.5), True, 0.85),
        (trigonometric.sin, Interval(-1.5, 1.5, True), True, 0.9),
        (trigonometric.sin, Interval(-1e7, 1e7), True, 0.96),
        (trigonometric.sin, ANY_FLOAT, False, 1.0),
        (exact.TABLE["exp"].algorithm, Interval(-50.0, 0.0, True), True, 0.75),
        (exact.TABLE["exp"].algorithm, Interval(-math.inf, 0.0), False, 0.96),
        (exact.TABLE["log"].algorithm, Interval(1.5, 100.0), True, 0.6),
        (exact.TABLE["log"].algorithm, Interval(2.0**-1022, 100.0), True, 0.95),
        (exact.TABLE["log"].algorithm, Interval(0.0, 100.0), False, 1.0),
        (exact.TABLE["expm1"].algorithm, Interval(-0.3, 0.3), True, 0.6),
    ],
)
def test_what_is_left(algorithm, within, never, less):
    found = special(algorithm, (within,), (True,))
    machine = RangedMachine(_Counting(F8, False))
    whole = ranged_machine._tried(algorithm, (ANY_FLOAT,), machine.inner).cost
    part = ranged_machine._tried(algorithm, found.within or (ANY_FLOAT,), machine.inner).cost
    assert found.never[1:] == (True,) or not never
    assert part <= less * whole


def test_nan_is_told_apart_where_its_function_gives_nan():
    within = (Interval(-0.8, 0.8, True),)
    assert special(trigonometric.sin, within, (True,)).told_apart == (0,)
    assert special(trigonometric.sin, within, (False,)).told_apart == ()
    assert special(exact.TABLE["exp"].algorithm, (Interval(-1.0, 1.0, True),), (True,)).told_apart == ()


def test_the_same_outcomes_are_the_same_function():
    one, other = (special(trigonometric.sin, (Interval(-x, x),), (True,)) for x in (1.0, 1.5))
    assert one.name == other.name != special(trigonometric.sin, (Interval(-3.0, 3.0),), (True,)).name


def test_a_constant_of_a_select_keeps_its_kind():
    machine = RangedMachine(NumpyMachine(F8))
    x = Ranged(machine, np.array([1.0, 2.0]), Interval(1.0, 2.0))
    chosen = machine.select(x < 0.5, x, 0)
    assert chosen.number.dtype == np.float64
    assert machine.interval(chosen) == Interval(0.0, 0.0)


@pytest.mark.parametrize("format", [F8, F4])
def test_constants_are_rounded_to_the_format(format):
    machine = RangedMachine(NumpyMachine(format))
    assert machine.interval(0.1).low == (0.1 if format is F8 else float(np.float32(0.1)))
