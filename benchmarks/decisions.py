"""What CPython's decisions cost with `math="vector"`: `python -m benchmarks.decisions [--docs]`.

Ten kernels with elementary functions before decisions, on three kinds of inputs:

    sorted        lanes in order, so that neighbours take the same arms
    random        the usual case
    adversarial   thresholds hit exactly, again and again

For each: how much longer the vector twin takes than one that does not look at its decisions (an internal switch), how
much shorter than `math="libm"`, and the share of lanes that are near a decision and run again. Contenders take turns
on prepared arrays, and the shortest run of each counts. `--docs` writes docs/explanation/decisions.md.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import numpy.typing as npt

import pyflat
from pyflat.passes.accuracy import ExactRetry
from pyflat.passes.gather_suspects import gather_suspects
from pyflat.passes.pipelines import with_fast_functions
from pyflat.runtime.arguments import classify
from pyflat.runtime.arrays import prepare
from pyflat.runtime.compiled import Engine, flatten
from pyflat.targets.numba import engine as numba_engine
from pyflat.targets.numba.costs import VECTOR_MATH
from pyflat.targets.numpy import engine as numpy_engine
from pyflat.targets.numpy.costs import NUMPY_MATH

PAGE = Path(__file__).resolve().parent.parent / "docs" / "explanation" / "decisions.md"
COMPILERS: dict[str, Callable[..., Engine]] = {"numpy": numpy_engine.compile, "numba": numba_engine.compile}
TABLES = {"numpy": NUMPY_MATH, "numba": VECTOR_MATH}
Lanes = tuple[npt.NDArray[np.float64], ...]
Call = Callable[[], object]


# --- the kernels


def option_price(spot: float, strike: float, years: float, rate: float, sigma: float) -> float:
    """A call of Black and Scholes; deep in or out of the money it is not computed."""
    root = sigma * math.sqrt(years)
    d1 = (math.log(spot / strike) + (rate + 0.5 * sigma * sigma) * years) / root
    if d1 > 6.0:
        return spot - strike * math.exp(-rate * years)
    if d1 < -6.0:
        return 0.0
    d2 = d1 - root
    above = 0.5 * (1.0 + math.erf(d1 * 0.7071067811865476))
    below = 0.5 * (1.0 + math.erf(d2 * 0.7071067811865476))
    return spot * above - strike * math.exp(-rate * years) * below


def within_reach(lat1: float, lon1: float, lat2: float, lon2: float) -> bool:
    """Whether two places (radians) are less than 500 km apart."""
    a = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    return 12742.0 * math.asin(math.sqrt(min(1.0, a))) < 500.0


def srgb_byte(linear: float) -> int:
    """A linear intensity as a byte of sRGB."""
    if linear <= 0.0031308:
        return round(255.0 * 12.92 * linear)
    return round(255.0 * (1.055 * linear ** (1 / 2.4) - 0.055))


def saturation(kelvin: float) -> float:
    """Pieces of an exponential curve, over ice and over water, with a limit."""
    t = kelvin - 273.15
    pressure = 6.1115 * math.exp(22.452 * t / (272.55 + t)) if t < 0 else 6.1121 * math.exp(17.502 * t / (240.97 + t))
    if pressure > 100.0:
        return 100.0 + math.log(pressure / 100.0)
    return pressure


def digits(x: float) -> int:
    """The decimal digits before the point."""
    if x < 1.0:
        return 0
    return math.floor(math.log10(x)) + 1


def wind_chill(celsius: float, wind: float) -> float:
    """The felt temperature, rounded to a tenth, and never above the real one."""
    if wind < 4.8 or celsius > 10.0:
        return celsius
    power = wind**0.16
    felt = 13.12 + 0.6215 * celsius - 11.37 * power + 0.3965 * celsius * power
    return round(min(felt, celsius), 1)


def tax(income: float) -> int:
    """A schedule with a progressive zone, in whole units."""
    if income <= 10000.0:
        return 0
    if income <= 60000.0:
        return math.floor(0.14 * (income - 10000.0) * ((income - 10000.0) / 50000.0) ** 0.35)
    return math.floor(7000.0 + 0.42 * (income - 60000.0))


def minute_of_noon(day: float, longitude: float) -> int:
    """The minute of the day of the highest sun, by the equation of time."""
    b = 2.0 * math.pi * (day - 81.0) / 364.0
    minutes = 9.87 * math.sin(2.0 * b) - 7.53 * math.cos(b) - 1.5 * math.sin(b)
    return math.floor((720.0 - 4.0 * longitude - minutes) % 1440.0)


def kepler(mean: float, eccentricity: float) -> float:
    """The true anomaly, by Newton's method until it settles."""
    e = mean
    for _ in range(20):
        step = (e - eccentricity * math.sin(e) - mean) / (1.0 - eccentricity * math.cos(e))
        e -= step
        if abs(step) < 1e-12:
            break
    far, near = math.sqrt(1.0 + eccentricity), math.sqrt(1.0 - eccentricity)
    return 2.0 * math.atan2(far * math.sin(e / 2), near * math.cos(e / 2))


def implied_volatility(price: float, strike: float) -> float:
    """By bisection: every step is a decision about a price."""
    low, high = 0.01, 2.0
    for _ in range(16):
        sigma = 0.5 * (low + high)
        d1 = (math.log(100.0 / strike) + 0.5 * sigma * sigma) / sigma
        above = 0.5 * (1.0 + math.erf(d1 * 0.7071067811865476))
        below = 0.5 * (1.0 + math.erf((d1 - sigma) * 0.7071067811865476))
        if 100.0 * above - strike * below > price:
            high = sigma
        else:
            low = sigma
    return 0.5 * (low + high)


@dataclass(frozen=True)
class Kernel:
    """A function, the ranges of its arguments, and a few argument tuples at which it decides exactly."""

    function: Callable[..., Any]
    ranges: tuple[tuple[float, float], ...]
    edges: tuple[tuple[float, ...], ...]


def _threshold(function: Callable[[float], float], target: float, low: float, high: float) -> float:
    """Where a rising function reaches a target, to the last bit."""
    for _ in range(2000):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if function(middle) < target else (low, middle)
    return high


def _gamma(linear: float) -> float:
    return 255.0 * (1.055 * linear ** (1 / 2.4) - 0.055)


def _progressive(income: float) -> float:
    return 0.14 * (income - 10000.0) * ((income - 10000.0) / 50000.0) ** 0.35


def _over_water(kelvin: float) -> float:
    t = kelvin - 273.15
    return 6.1121 * math.exp(17.502 * t / (240.97 + t))


def _warmth(celsius: float, wind: float) -> float:
    power = wind**0.16
    return 13.12 + 0.6215 * celsius - 11.37 * power + 0.3965 * celsius * power


def _noon(day: float, west: float) -> float:
    b = 2.0 * math.pi * (day - 81.0) / 364.0
    return 720.0 + 4.0 * west - (9.87 * math.sin(2.0 * b) - 7.53 * math.cos(b) - 1.5 * math.sin(b))


def kernels() -> list[Kernel]:
    degree = math.pi / 180.0
    bytes_ = [(_threshold(_gamma, k + 0.5, 0.004, 1.0),) for k in range(20, 250)]
    units = [(_threshold(_progressive, k, 10001.0, 6e4),) for k in range(5, 4000, 7)]
    noons = [(float(day), -_threshold(partial(_noon, day), minute, -180.0, 180.0))
             for day in range(1, 366, 5) for minute in range(200, 1200, 200)]
    tenths = [(-10.0, _threshold(lambda wind: -_warmth(-10.0, wind), k + 0.05, 5.0, 120.0)) for k in range(14, 30)]
    money = [(100.0 * math.exp(6.0 * s * math.sqrt(y) - (r + 0.5 * s * s) * y), 100.0, y, r, s)
             for s in (0.1, 0.2, 0.3) for y in (0.25, 0.5, 1.0, 2.0) for r in (0.0, 0.02, 0.05)]
    places = [(0.0, x * degree, 0.0, x * degree + 500.0 / 6371.0) for x in range(-170, 170)]
    return [
        Kernel(option_price, ((60.0, 160.0), (80.0, 120.0), (0.1, 2.0), (0.0, 0.05), (0.1, 0.5)), tuple(money)),
        Kernel(within_reach, ((-1.5, 1.5), (-3.1, 3.1), (-1.5, 1.5), (-3.1, 3.1)), tuple(places)),
        Kernel(srgb_byte, ((0.0, 1.0),), tuple(bytes_)),
        Kernel(saturation, ((220.0, 330.0),), ((_threshold(_over_water, 100.0, 300.0, 400.0),),)),
        Kernel(digits, ((0.5, 1e6),), tuple((10.0**k,) for k in range(16))),
        Kernel(wind_chill, ((-40.0, 15.0), (0.0, 120.0)), tuple(tenths)),
        Kernel(tax, ((0.0, 100000.0),), tuple(units)),
        Kernel(minute_of_noon, ((1.0, 365.0), (-180.0, 180.0)), tuple(noons)),
        Kernel(kepler, ((0.0, 6.28), (0.0, 0.7)), tuple((m / 8, 0.5) for m in range(50))),
        Kernel(implied_volatility, ((5.0, 40.0), (80.0, 120.0)), ((38.2924922548026, 100.0), (7.96556745540, 100.0))),
    ]


def inputs(kernel: Kernel, count: int) -> dict[str, Lanes]:
    rng = np.random.default_rng(1)
    random = tuple(rng.uniform(low, high, count) for low, high in kernel.ranges)
    order = np.argsort(random[0])
    edges = np.array(kernel.edges)
    return {"sorted": tuple(lane[order] for lane in random), "random": random,
            "adversarial": tuple(np.resize(edges[:, k], count) for k in range(edges.shape[1]))}


# --- measuring


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    kernel: str
    target: str
    lanes: str
    overhead: float
    speedup: float
    share: float
    differing: int


class _Twin:
    """Engines of one kernel on one target: with decisions, without, and exact."""

    def __init__(self, function: FunctionType, lanes: Lanes, target: Any):
        twin = pyflat.twin(function, target=target, math="libm")
        call = classify(twin._parameters.bind(lanes, {}), twin._parameters, ())
        exact = flatten(function, call.arguments, twin.options).flat
        self.inputs = prepare(call).inputs
        self.engines: dict[str, Engine] = {
            name: COMPILERS[target](gather_suspects(form), unchecked=False)
            for name, form in (("libm", exact), ("decisions", with_fast_functions(exact, TABLES[target])),
                               ("vector", with_fast_functions(exact, TABLES[target], decide=False)))}

    def calls(self, lanes: Lanes) -> dict[str, Call]:
        count = len(lanes[0])
        made: dict[str, Call] = {name: partial(engine, lanes, count) for name, engine in self.engines.items()}
        retry = ExactRetry(lambda: self.engines["libm"])
        engine = self.engines["decisions"]

        def decided() -> object:
            leaves, suspect = engine(lanes, count)
            if suspect is not None:
                retry.settle(lanes, leaves, suspect)
            return leaves

        retry._seen = 10**6
        return {**made, "decisions": decided}

    def share(self, lanes: Lanes) -> float:
        _, suspect = self.engines["decisions"](lanes, len(lanes[0]))
        return 0.0 if suspect is None else float(suspect.mean())

    def differing(self, lanes: Lanes) -> int:
        """In how many lanes the twin without decisions gives another int or bool, or a value 1e-9 away."""
        count = len(lanes[0])
        ours, theirs = self.engines["vector"](lanes, count)[0], self.engines["libm"](lanes, count)[0]
        return sum(int((~np.isclose(a, b, rtol=1e-9, atol=1e-12)).sum()) for a, b in zip(ours, theirs, strict=True))


def measure(calls: dict[str, Call], repeats: int) -> dict[str, float]:
    best = dict.fromkeys(calls, math.inf)
    for call in calls.values():
        call()
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.thread_time()  # other work on the machine counts less
            call()
            best[name] = min(best[name], time.thread_time() - start)
    return best


def rows(count: int, repeats: int, targets: Sequence[str]) -> list[Row]:
    found = []
    for target in targets:
        for kernel in kernels():
            assert isinstance(kernel.function, FunctionType)
            ways = inputs(kernel, count)
            twin = _Twin(kernel.function, ways["random"], target)
            for name, lanes in ways.items():
                best = measure(twin.calls(lanes), repeats)
                row = Row(kernel.function.__name__, target, name, best["decisions"] / best["vector"],
                          best["libm"] / best["decisions"], twin.share(lanes), twin.differing(lanes))
                found.append(row)
                print(f"{row.kernel:<20}{row.target:<7}{row.lanes:<13}{row.overhead:>8.2f}{row.speedup:>8.2f}"
                      f"{100 * row.share:>10.4f} %{row.differing:>9}", flush=True)
    return found


def page(found: Sequence[Row], count: int) -> str:
    lines = [HEAD.format(count=count)]
    for target in dict.fromkeys(row.target for row in found):
        lines += ["", f"## {target}", "", "| kernel | lanes | decisions cost | against libm | run again | would flip |",
                  "|---|---|---|---|---|---|"]
        for row in found:
            if row.target == target:
                again = f"{100 * row.share:.4f} %" if 0 < row.share < 0.001 else f"{100 * row.share:.0f} %"
                lines.append(f"| `{row.kernel}` | {row.lanes} | {row.overhead:.2f} | {row.speedup:.1f} | {again} "
                             f"| {row.differing:,} |")
        usual = sorted(row.overhead for row in found if row.target == target and row.lanes != "adversarial")
        lines += ["", f"The median of the decisions' cost on sorted and random lanes is {usual[len(usual) // 2]:.2f}."]
    return "\n".join(lines) + "\n"


HEAD = """# Decisions

<!-- written by `python -m benchmarks.decisions --docs`; do not edit -->

With `math="vector"` elementary functions are faster ones, and the last digits of inexact results differ from CPython's.
What such values *decide* does not: comparisons, floor and round, int, `//` and `%`, indexes, and whether something
fails. `floor(exp(log(k)))` is CPython's for every k, though the vector math has other digits than the C library.

- Error bounds go along with inexact values: constants where they can be, otherwise a few operations beside the value.
- A lane in which a decision is nearer to its threshold than the bound is run again by a second twin, with the C
  library's functions (the first 500 such lanes by the original, before that twin is compiled). `twin.stats.rerun`
  counts them. Where no lane is near, nothing happens.
- A loop that decides by inexact values which it changes carries a bound for each of them from trip to trip, where fast
  functions gain more than that costs; with derivatives, where it ends by a tolerance below 1e-8.
- What has no bound stays with the C library: functions behind long chains of decisions (a bisection closes in on its
  threshold), and behind operations whose error is not known.
- `decisions=False` leaves decisions to the faster functions. `errors="unchecked"` checks nothing, decisions neither.

`math="libm"` is the default on NumPy, where the gain is small: every bit is CPython's. On numba `math="vector"` is
the default. The tables say what it costs and gains. {count:,} lanes on one machine; *decisions cost*: times as long
as with `decisions=False`; *against libm*: how many times faster than `math="libm"`; *run again*: lanes near a
decision; *would flip*: lanes that come out wrong without the look. In *adversarial* lanes thresholds are hit exactly.
`kepler` is a loop on numba; on NumPy it has become straight-line code, in which bounds grow with each step, and half of
the lanes run again. `implied_volatility` bisects, and keeps exact functions in the later steps."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lanes", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--target", choices=("numpy", "numba"))
    parser.add_argument("--docs", action="store_true", help="write docs/explanation/decisions.md")
    chosen = parser.parse_args()
    print(f"{'kernel':<20}{'target':<7}{'lanes':<13}{'/vector':>8}{'libm/':>8}{'run again':>12}{'flips':>9}")
    found = rows(chosen.lanes, chosen.repeats, [chosen.target] if chosen.target else ["numba", "numpy"])
    if chosen.docs:
        PAGE.write_text(page(found, chosen.lanes), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
