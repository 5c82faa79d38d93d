"""The functions of docs/examples/ against what people use for them, on one core:

    python -m benchmarks.fields [--write] [PAGE ...]

prints the table of each page, or puts it there. The functions are those of the pages' own blocks.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from datetime import date
from functools import cache, partial
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numba
import numba.extending
import numpy as np

import pyflat
from benchmarks.environment import processor
from benchmarks.measuring import keep_freed_memory, round_robin
from benchmarks.report import markdown

PAGES = Path(__file__).resolve().parents[1] / "docs" / "examples"
COUNT, PART = 1_000_000, 10_000
"""Elements, and those of them that contenders get which call Python for each."""
Run = Callable[..., Any]


def page(name: str) -> ModuleType:
    """A page's python blocks as a module, freshly executed."""
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    file = Path(tempfile.mkdtemp()) / f"{name}.py"
    file.write_text("\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with contextlib.redirect_stdout(io.StringIO()):
        spec.loader.exec_module(module)
    return module


# --- by hand, as whole-array NumPy


def daylight(day: np.ndarray, latitude: np.ndarray) -> np.ndarray:
    anomaly = np.radians(357.528 + 0.9856003 * day)
    sun = np.radians(280.46 + 0.9856474 * day) + np.radians(1.915 * np.sin(anomaly) + 0.02 * np.sin(2.0 * anomaly))
    tilt = np.arcsin(np.sin(np.radians(23.439)) * np.sin(sun))
    phi = np.radians(latitude)
    x = (np.sin(np.radians(-0.833)) - np.sin(phi) * np.sin(tilt)) / (np.cos(phi) * np.cos(tilt))
    return np.degrees(np.arccos(np.clip(x, -1.0, 1.0))) / 7.5


def heat_index(t: np.ndarray, humidity: np.ndarray) -> np.ndarray:
    simple = 0.5 * (t + 61.0 + (t - 68.0) * 1.2 + humidity * 0.094)
    full = (-42.379 + 2.04901523 * t + 10.14333127 * humidity - 0.22475541 * t * humidity
            - 0.00683783 * t * t - 0.05481717 * humidity * humidity + 0.00122874 * t * t * humidity
            + 0.00085282 * t * humidity * humidity - 0.00000199 * t * t * humidity * humidity)
    dry = full - (13.0 - humidity) / 4.0 * np.sqrt((17.0 - abs(t - 95.0)) / 17.0)
    damp = full + (humidity - 85.0) / 10.0 * ((87.0 - t) / 5.0)
    return np.select([(simple + t) / 2.0 < 80.0, (humidity < 13.0) & (t >= 80.0) & (t <= 112.0),
                      (humidity > 85.0) & (t >= 80.0) & (t <= 87.0)], [simple, dry, damp], full)


@cache
def brackets() -> tuple[tuple[float, float], ...]:
    return page("taxes").BRACKETS


def income_tax(taxable: np.ndarray) -> np.ndarray:
    tax, start = np.zeros_like(taxable), 0.0
    for end, rate in brackets():
        tax += np.clip(taxable - start, 0.0, end - start) * rate
        start = end
    return tax


def damage(strength: np.ndarray, roll: np.ndarray, armour: np.ndarray, blessed: np.ndarray) -> np.ndarray:
    hit = strength + roll // 4
    left = hit - np.where(blessed, armour // 2, armour)
    return np.select([roll == 1, roll == 20, left > 0], [0, 2 * hit, left], np.where(roll >= 15, 1, 0))


def matplotlib_hsv(r: np.ndarray, g: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
    from matplotlib.colors import rgb_to_hsv
    return tuple(rgb_to_hsv(np.stack([r, g, b], axis=-1)).T)


# --- what is measured


class FieldCase(NamedTuple):
    page: str
    function: str
    columns: Callable[[np.random.Generator, int], list[np.ndarray]]
    hand: tuple[str, Run] | None = None
    rows: bool = False
    """People also apply it to the rows of a frame."""


def quotes(rng: np.random.Generator, n: int) -> list[np.ndarray]:
    """Prices of options whose volatilities are 0.1 to 0.6."""
    prices = pyflat.twin(page("finance").call_price)
    spot, strike, years = rng.uniform(90.0, 110.0, n), rng.uniform(80.0, 120.0, n), rng.uniform(0.2, 2.0, n)
    rate = np.full(n, 0.02)
    return [prices(spot, strike, years, rate, rng.uniform(0.1, 0.6, n)), spot, strike, years, rate]


CASES = [
    FieldCase("finance", "implied", quotes, rows=True),
    FieldCase("finance", "days_30_360", lambda rng, n: [
        rng.integers(low, high, n) for _ in range(2) for low, high in ((2020, 2050), (1, 13), (1, 32))]),
    FieldCase("taxes", "net", lambda rng, n: [
        rng.uniform(0.0, 300_000.0, n).round(2), rng.integers(0, 4, n), rng.random(n) < 0.5], rows=True),
    FieldCase("taxes", "income_tax", lambda rng, n: [rng.uniform(0.0, 300_000.0, n).round(2)],
         ("`np.clip` by hand", income_tax)),
    FieldCase("comfort", "heat_index", lambda rng, n: [rng.uniform(60.0, 120.0, n), rng.uniform(0.0, 100.0, n)],
         ("`np.select` by hand", heat_index)),
    FieldCase("calendars", "easter", lambda rng, n: [rng.integers(1583, 10_000, n)]),
    FieldCase("calendars", "daylight", lambda rng, n: [rng.uniform(0.0, 365.0, n), rng.uniform(-89.0, 89.0, n)],
         ("`np.clip` by hand", daylight)),
    FieldCase("colour", "rgb_to_hsv", lambda rng, n: list(rng.random((3, n))),
              ("`matplotlib.colors.rgb_to_hsv`", matplotlib_hsv)),
    FieldCase("colour", "foliage", lambda rng, n: list(rng.random((3, n)))),
    FieldCase("series", "switch", lambda rng, n: [
        np.sin(np.arange(n) / 30.0) + rng.normal(0.0, 0.4, n), np.full(n, -0.5), np.full(n, 0.5), np.full(n, 5)]),
    FieldCase("series", "runs", lambda rng, n: [rng.integers(0, 2, n)]),
    FieldCase("games", "damage", lambda rng, n: [
        rng.integers(1, 15, n), rng.integers(1, 21, n), rng.integers(0, 15, n), rng.random(n) < 0.3],
        ("`np.select` by hand", damage)),
    FieldCase("games", "biome", lambda rng, n: [rng.uniform(0.0, 90.0, n), rng.uniform(0.0, 60.0, n), np.full(n, 7)]),
]


def kernel(function: Run, columns: Sequence[np.ndarray]) -> Any:
    """A call of an index loop: the first column is its array, and it writes into a new one."""
    out = np.zeros(len(columns[0]), np.int64)
    function(columns[0], *(column[0] for column in columns[1:]), out)
    return out


def compiled(name: str, function: str) -> Run:
    """numba's, with all functions of the page that it calls: a ufunc, or a loop where the result is a tuple."""
    module = page(name)
    helpers = [module.colorsys.rgb_to_hsv] if name == "colour" else vars(module).values()
    for helper in helpers:
        if isinstance(helper, FunctionType):
            numba.extending.register_jitable(helper)
    if function == "rgb_to_hsv":
        return over_tuples(numba.njit(module.colorsys.rgb_to_hsv))
    return numba.njit(getattr(module, function)) if name == "series" else numba.vectorize(getattr(module, function))


def over_tuples(function: Run) -> Run:
    @numba.njit
    def loop(r: Any, g: Any, b: Any) -> Any:
        h, s, v = np.empty_like(r), np.empty_like(r), np.empty_like(r)
        for i in range(len(r)):
            h[i], s[i], v[i] = function(r[i], g[i], b[i])
        return h, s, v

    return loop


def contenders(case: FieldCase) -> dict[str, tuple[Run, int]]:
    """Name -> call on columns, and how many elements it gets."""
    module = page(case.page)
    function = module.colorsys.rgb_to_hsv if case.function == "rgb_to_hsv" else getattr(module, case.function)
    twins = {f"the twin, {target}": pyflat.twin(function, target=target, parallel=False)
             for target in ("numba", "numpy")}
    if case.page == "series":
        loops = {name: (partial(kernel, twin), COUNT) for name, twin in twins.items()}
        jitted = partial(kernel, compiled(case.page, case.function))
        return {**loops, "Python's loop": (partial(kernel, function), PART), "`numba.njit`": (jitted, COUNT)}
    found: dict[str, tuple[Run, int]] = {
        name: (lambda columns, twin=twin: twin(*columns), COUNT) for name, twin in twins.items()}
    vectorized = np.vectorize(function)
    found["`np.vectorize`"] = (lambda columns: vectorized(*columns), PART)
    if case.rows:
        found["`DataFrame.apply`"] = (lambda columns: apply(function, columns), PART)
    if case.hand:
        name, by_hand = case.hand
        found[name] = (lambda columns: by_hand(*columns), COUNT)
    fast = compiled(case.page, case.function)
    found["`numba.njit`, a loop" if case.function == "rgb_to_hsv" else "`numba.vectorize`"] = (
        lambda columns: fast(*columns), COUNT)
    return found


def apply(function: Run, columns: Sequence[np.ndarray]) -> Any:
    import pandas as pd
    frame = pd.DataFrame(dict(enumerate(columns)))
    return frame.apply(lambda row: function(*row), axis=1).to_numpy()


def other(result: Any, wanted: Any) -> int:
    """How many elements have other values, also in the last bit."""
    pairs = list(zip(result, wanted, strict=True)) if isinstance(wanted, tuple) else [(result, wanted)]
    return int(np.count_nonzero(np.any([np.asarray(a) != np.asarray(b) for a, b in pairs], axis=0)))


def table(case: FieldCase) -> str:
    columns = case.columns(np.random.default_rng(1), COUNT)
    part = [column[:PART] for column in columns]
    calls = contenders(case)
    exact = next(call for name, (call, _) in calls.items() if name in ("`np.vectorize`", "Python's loop"))(part)
    runs = {name: partial(call, columns if count == COUNT else part) for name, (call, count) in calls.items()}
    times = {name: taken.over(calls[name][1]).best for name, taken in round_robin(runs, 15, 2.0).items()}
    twin = times["the twin, numba"]
    rows = [[name, digits(seconds * 1e9), digits(seconds / twin), f"{other(calls[name][0](part), exact):,}"]
            for name, seconds in times.items()]
    return markdown([[f"`{case.function}`", "ns per element", "time, twin = 1", f"other results of {PART:,}"], *rows])


def digits(number: float) -> str:
    """Two of them, or all before the point."""
    return f"{number:,.0f}" if number >= 9.95 else f"{number:.1f}" if number >= 0.995 else f"{number:.2f}"


def main(arguments: Sequence[str]) -> None:
    keep_freed_memory()
    asked = [name for name in arguments if name != "--write"]
    for name in dict.fromkeys(case.page for case in CASES if not asked or case.page in asked):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            tables = [table(case) for case in CASES if case.page == name]
        when = f"{date.today():%d %B %Y}".lstrip("0")
        text = "\n\n".join([*tables, f"Measured on {COUNT:,} elements, one core of {processor()}, {when}."])
        print(text, end="\n\n", flush=True)
        if "--write" in arguments:
            file = PAGES / f"{name}.md"
            old = file.read_text(encoding="utf-8")
            file.write_text(re.sub(r"^\| `\w+` +\| ns.*^Measured on .*?$", text, old,
                                   flags=re.MULTILINE | re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
