"""`pyflat bench SPEC [DATA...]`: how fast a twin is beside what people use, on the user's own arrays."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from pyflat.cli.explain import arguments
from pyflat.cli.specs import BadSpec, bound, find_function, one_line
from pyflat.targets.target import require

if TYPE_CHECKING:
    import numpy as np

    from pyflat.runtime.twins import Twin

    Call = Callable[..., Any]

BASE = "np.vectorize"
_COMPARED = 1000
_ROUNDS = 7
_SECONDS = 10.0
_WORDS = 160


@dataclass(frozen=True, slots=True)
class BenchRow:
    """A contender: the seconds of its fastest call, whether its first lanes are the original's, and why it has no
    time."""

    name: str
    seconds: float | None
    same: bool
    why: str = ""


@click.command()
@click.argument("spec")
@click.argument("data", nargs=-1)
@click.option("--lanes", type=click.IntRange(min=1), default=100_000, show_default=True,
              help="Number of random elements if no DATA is given.")
@click.option("--range", "limits", type=(float, float), default=(0.0, 1.0), show_default=True, metavar="LOW HIGH",
              help="Range of the random floats and ints.")
@click.option("--kinds", metavar="f8,i8,b", help="Kinds of random arguments; default: annotations, defaults, float.")
@click.option("--plot", metavar="FILE",
              help="Draw the bars to a file (.svg, .png); needs matplotlib: pip install '.[plot]' in a checkout.")
def bench(
    spec: str, data: tuple[str, ...], lanes: int, limits: tuple[float, float], kinds: str | None, plot: str | None
) -> None:
    """Time the exact twins of SPEC against np.vectorize and numba.

    All get the same arrays. DATA are arguments as for `pyflat profile`: file.npy, file.npz:name, file.csv:column, or a
    Python literal. Without DATA the elements are random. The module of SPEC is imported, and the function runs. All
    contenders run alternately in this process, after one warm-up call each; the fastest call of each is reported.
    """
    import pyflat

    fn = bound(find_function(spec), {})
    original = pyflat.twin(fn).__wrapped__
    try:
        given = _given(original, data) if data else _random(pyflat.twin(fn), lanes, limits, kinds)
        rows = measured(contenders(original), original, given)
        if plot is not None:
            _figure(rows, spec).savefig(plot)
    except (TypeError, ValueError, ImportError, OSError) as error:
        raise BadSpec(" ".join(str(error).split())) from error
    click.echo("\n".join(table(rows, _count(given))))


# --- arguments


def _given(fn: Call, data: tuple[str, ...]) -> tuple[Any, ...]:
    """DATA in the order of the parameters."""
    positional, named = arguments(data)
    found = inspect.signature(fn).bind(*positional, **named)
    found.apply_defaults()
    return (*found.args, *found.kwargs.values())


def _random(twin: Twin[..., Any], lanes: int, limits: tuple[float, float], kinds: str | None) -> tuple[Any, ...]:
    """Lanes by the kinds of the parameters, the same in each run."""
    import numpy as np

    from pyflat.inspection.explain import Explanation

    low, high = limits
    if not low < high:
        raise ValueError(f"--range {low:g} {high:g}: LOW must be less than HIGH")
    explained = twin.explain(kinds)
    if not isinstance(explained, Explanation):
        raise TypeError("a kernel over arrays has no lanes: give its arguments as DATA")
    rng = np.random.default_rng(0)
    draw: dict[str, Callable[[], np.ndarray]] = {
        "f8": lambda: rng.uniform(low, high, lanes), "b": lambda: rng.random(lanes) < 0.5,
        "i8": lambda: rng.integers(int(low), max(int(high), int(low) + 1), lanes, endpoint=True)}
    found = []
    for item in explained.kinds.split(", ") if explained.kinds else ():
        name, _, kind = item.partition(": ")
        if kind not in draw:
            raise TypeError(f"cannot draw random values for {name}: {kind}; give the arguments as DATA")
        found.append(draw[kind]())
    return tuple(found)


def _count(given: Sequence[Any]) -> int:
    import numpy as np

    return int(np.broadcast(*given).size) if given else 1


# --- times


def contenders(fn: Call) -> dict[str, Callable[[], Call]]:
    """Name -> what makes the call."""
    import numpy as np

    import pyflat

    def compiled() -> Call:
        made: Call = require("numba", "numba.vectorize").vectorize(fn)
        return made

    return {BASE: lambda: np.vectorize(fn), "numba.vectorize": compiled,
            "twin, numpy": lambda: pyflat.twin(fn, target="numpy"),
            "twin, numba": lambda: pyflat.twin(fn, target="numba")}


def measured(makers: dict[str, Callable[[], Call]], fn: Call, given: Sequence[Any]) -> list[BenchRow]:
    """All of them in turns, until enough rounds or seconds have passed; who raises says so instead."""
    calls: dict[str, Call] = {}
    failed: dict[str, str] = {}
    same: dict[str, bool] = {}
    expected = _expected(fn, given)
    for name, make in makers.items():
        _say(f"compiles {name}")
        try:
            calls[name] = make()
            same[name] = _is_same(calls[name](*given), expected)
        except Exception as error:  # noqa: BLE001 - whatever a contender raises is what is to be said of it
            calls.pop(name, None)
            failed[name] = one_line(error)[:_WORDS]
    best = dict.fromkeys(calls, float("inf"))
    started = time.perf_counter()
    for turn in range(_ROUNDS):
        if time.perf_counter() - started > _SECONDS:
            break
        for name, call in calls.items():
            _say(f"round {turn + 1} of {_ROUNDS}: {name}")
            before = time.perf_counter()
            call(*given)
            best[name] = min(best[name], time.perf_counter() - before)
    _say("")
    return [BenchRow(name, best.get(name), same.get(name, False), failed.get(name, "")) for name in makers]


def _expected(fn: Call, given: Sequence[Any]) -> np.ndarray | Exception:
    """What the original says of the first lanes, or the exception of one."""
    import numpy as np

    columns = [np.ravel(column)[:_COMPARED].tolist() for column in np.broadcast_arrays(*given)] if given else []
    try:
        return np.array([fn(*lane) for lane in zip(*columns, strict=True)])
    except Exception as error:  # noqa: BLE001 - a contender that returns then differs
        return error


def _is_same(found: Any, expected: np.ndarray | Exception) -> bool:
    """Whether the first lanes are equal, NaN to NaN."""
    import numpy as np

    if isinstance(expected, Exception):
        return False
    joined = np.stack(np.broadcast_arrays(*found), axis=-1) if isinstance(found, tuple) else np.asarray(found)
    lanes = joined.reshape(-1, *expected.shape[1:])[:len(expected)]
    return np.array_equal(lanes, expected, equal_nan=expected.dtype.kind in "fc")


def _say(text: str) -> None:
    """What is being done, on stderr when that is a terminal."""
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{text}\r", err=True, nl=False)


# --- what is printed


def table(rows: Sequence[BenchRow], lanes: int) -> list[str]:
    """A line for each contender, with how many times as fast as np.vectorize it is."""
    base = next((row.seconds for row in rows if row.name == BASE), None)
    found = [f"{lanes:,} lanes", f"{'':16} {'ms':>10} {'ns a lane':>10} {'times':>8}  same as the original"]
    for row in rows:
        if row.seconds is None:
            found.append(f"{row.name:16} {'-':>10} {'-':>10} {'-':>8}  {row.why}")
            continue
        times = f"{base / row.seconds:,.1f}" if base is not None else "-"
        same = "yes" if row.same else "NO"
        each = row.seconds * 1e9 / max(lanes, 1)
        found.append(f"{row.name:16} {row.seconds * 1e3:10,.3f} {each:10,.1f} {times:>8}  {same}")
    return found


def _figure(rows: Sequence[BenchRow], title: str) -> Any:
    """How many times as fast as np.vectorize, a bar each."""
    from matplotlib.figure import Figure

    timed = [(row.name, row.seconds) for row in rows if row.seconds]
    if not timed:
        raise ValueError("no contender could be measured: there is nothing to draw")
    slowest = max(seconds for _, seconds in timed)
    base = dict(timed).get(BASE, slowest)
    figure = Figure(figsize=(7, 0.7 + 0.5 * len(timed)), layout="constrained")
    axes = figure.subplots()
    bars = axes.barh([name for name, _ in timed], [base / seconds for _, seconds in timed])
    axes.bar_label(bars, fmt="{:,.1f}", padding=3)
    axes.margins(x=0.2)  # room for the longest bar's label
    axes.invert_yaxis()
    axes.set_xlabel(f"times as fast as {BASE if BASE in dict(timed) else 'the slowest'}")
    axes.set_title(title)
    return figure
