"""`twin.profile(*arrays)`: which arms and how many trips the lanes of some arrays take; branch coverage by data.

Copies of a branch or loop (unrolled iterations, a helper called twice) are one row, that of their place in the source.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pyflat.inspection.counting import BranchCount, Counts, LoopCount, count_lanes
from pyflat.inspection.source_map import SourceLine, SourceMap, test_of
from pyflat.ir.loops import all_ops
from pyflat.ir.recursion import with_room
from pyflat.runtime.arrays import Lanes
from pyflat.runtime.calls import Caller
from pyflat.runtime.compiled import specialised
from pyflat.runtime.settings import Options
from pyflat.targets.target import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SAMPLE = 200_000
"""Lanes that are looked at, at most: runs of `RUN` neighbours from everywhere in the arrays."""
RUN = 64
GANG = 8
"""Lanes that the divergence is counted for: a register of float64 with AVX-512."""
MEMORY = 2**28
MAX_TRIPS = 100_000
SECONDS = 20.0
BAR = 24


@dataclass(frozen=True, slots=True)
class BranchRow:
    """A branch: how often a lane took each arm. `mixed`: the share of the gangs of 8 lanes that came here in which some
    lanes took one arm and some the other."""

    place: SourceLine | None
    condition: str
    then: int
    orelse: int
    mixed: float

    @property
    def dead(self) -> str:
        """The arm that no lane took: "then", "else", "both", or ""."""
        return {(True, True): "both", (True, False): "then", (False, True): "else"}.get(
            (not self.then, not self.orelse), "")

    @property
    def share(self) -> float:
        """The share that took the first arm, among lanes that came here."""
        return self.then / max(self.then + self.orelse, 1)

    @property
    def shown(self) -> str:
        return self.condition or (self.place.text if self.place else "")


@dataclass(frozen=True, slots=True)
class LoopRow:
    """A loop: how often a lane came to it, and how many trips it made. `used`: of the trips that gangs of 8 lanes make
    until their last lane is done, the share in which a lane still runs. `histogram` has (trips, lanes) in bins."""

    place: SourceLine | None
    entries: int
    least: int
    median: float
    mean: float
    most: int
    used: float
    histogram: tuple[tuple[str, int], ...]

    @property
    def shown(self) -> str:
        return self.place.text if self.place else ""


@dataclass(frozen=True)
class Profile:
    """Where the lanes of a call go. `str()` of it is a table; `as_dict()` is for programs; `plot()` a figure.

    lanes is the number of lanes of the call, looked_at that of the lanes this is about; failed of them end in an
    operation that raises, or that the original has to compute; unfinished were still in a loop at the limit.
    """

    name: str
    lanes: int
    looked_at: int
    failed: int
    unfinished: int
    branches: tuple[BranchRow, ...]
    loops: tuple[LoopRow, ...]

    @property
    def dead(self) -> tuple[BranchRow, ...]:
        """The branches of which an arm is never taken."""
        return tuple(row for row in self.branches if row.dead)

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def plot(self) -> Figure:
        """The shares of the arms and the trips of the loops as a matplotlib figure. ImportError without matplotlib."""
        return _figure(self)

    def __str__(self) -> str:
        return "\n".join(_text(self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from pyflat.inspection.fragments import of_profile

        return of_profile(self, headline(self))


@with_room
def profile(caller: Caller, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], options: Options) -> Profile:
    """The profile of a call. Raises FlattenError where the function cannot be flattened."""
    ready = caller.ready(args, kwargs, options)
    lanes, options = ready.context.lanes, ready.context.options
    spec = specialised(caller.callee.function, ready.arguments, options)
    operations = sum(1 for _ in all_ops(spec.function.body)) + len(lanes.inputs) + 1
    chosen = _chosen(lanes, max(RUN, min(SAMPLE, MEMORY // 8 // operations)))
    inputs = [lane[chosen] if isinstance(lane, np.ndarray) else lane for lane in lanes.inputs]
    counts = count_lanes(spec.function, inputs, len(chosen), gang=GANG, calls=spec.opaque,
                         max_trips=options.max_trips or MAX_TRIPS, seconds=SECONDS)
    places = SourceMap(spec.function)
    return Profile(name, lanes.count, len(chosen), counts.failed, counts.unfinished,
                   tuple(_branch_rows(places, counts)), tuple(_loop_rows(places, counts)))


def _chosen(lanes: Lanes, most: int) -> np.ndarray[Any, Any]:
    """The lanes to look at; without those that no lane holds."""
    whole = np.arange(lanes.count)
    if lanes.count > most:
        starts = np.linspace(0, lanes.count - RUN, most // RUN).astype(np.intp)
        whole = np.unique((starts[:, None] + np.arange(RUN)).reshape(-1))
    return whole if lanes.suspect is None else whole[~lanes.suspect[whole]]


def _branch_rows(places: SourceMap, counts: Counts) -> Iterator[BranchRow]:
    tests = {test_of(loop.node) for loop in places.loops}
    rows: dict[tuple[SourceLine | None, str], BranchCount] = {}
    for branch in places.branches:
        if branch.node in tests:
            continue
        found = counts.branches.get(branch.node, BranchCount())
        row = rows.setdefault((branch.place, branch.expression), BranchCount())
        row.then += found.then
        row.orelse += found.orelse
        row.gangs += found.gangs
        row.mixed += found.mixed
    for (place, expression), row in rows.items():
        yield BranchRow(place, expression, row.then, row.orelse, row.mixed / max(row.gangs, 1))


def _loop_rows(places: SourceMap, counts: Counts) -> Iterator[LoopRow]:
    rows: dict[SourceLine | None, LoopCount] = {}
    for loop in places.loops:
        found = counts.loops.get(loop.node, LoopCount())
        row = rows.setdefault(loop.place, LoopCount())
        row.trips += found.trips
        row.gang_trips += found.gang_trips
    for place, row in rows.items():
        trips = np.concatenate([np.zeros(0, np.int64), *row.trips])
        if not len(trips):
            yield LoopRow(place, 0, 0, 0.0, 0.0, 0, 1.0, ())
            continue
        used = float(trips.sum()) / row.gang_trips if row.gang_trips else 1.0
        yield LoopRow(place, len(trips), int(trips.min()), float(np.median(trips)), float(trips.mean()),
                      int(trips.max()), used, tuple(_histogram(trips)))


def _histogram(trips: np.ndarray[Any, Any]) -> Iterator[tuple[str, int]]:
    """At most ten bins, each number of its own where there are few."""
    low, high = int(trips.min()), int(trips.max())
    edges = np.unique(np.linspace(low, high + 1, min(10, high - low + 1) + 1).astype(np.int64))
    found, _ = np.histogram(trips, edges)
    for start, stop, count in zip(edges[:-1].tolist(), edges[1:].tolist(), found.tolist(), strict=True):
        yield (str(start) if stop == start + 1 else f"{start}-{stop - 1}"), count


# --- the page


def bar(share: float) -> str:
    """A share as a bar of `BAR` characters."""
    full = round(share * BAR)
    return "█" * full + "·" * (BAR - full)


def headline(found: Profile) -> str:
    text = f"{found.name}: {found.lanes:,} elements"
    if found.looked_at != found.lanes:
        text += f", {found.looked_at:,} of them sampled"
    if found.failed:
        text += f", {found.failed:,} raise or fall back to the original"
    if found.unfinished:
        text += f", {found.unfinished:,} still in a loop at the iteration limit"
    return text


def _text(found: Profile) -> Iterator[str]:
    yield headline(found)
    if found.branches:
        yield from ("", f"{'':10} {'then':>10} {'else':>10}  {'share of then':{BAR + 4}}  mixed")
    for row in found.branches:
        note = f"  <- {row.dead} never taken" if row.dead else ""
        yield (f"{_line(row.place)} {row.then:10,} {row.orelse:10,}  {bar(row.share)} {row.share:4.0%} {row.mixed:6.0%}"
               f"  {row.shown}{note}")
    for loop in found.loops:
        yield from ("", f"{_line(loop.place)} {loop.shown}")
        yield (f"{'':10} iterations {loop.least:,} to {loop.most:,}, median {loop.median:,g}, mean {loop.mean:,.4g}; "
               f"{loop.used:.0%} of a SIMD group's iterations are used")
        for trips, lanes in loop.histogram:
            share = lanes / max(loop.entries, 1)
            yield f"{trips:>10} {lanes:10,}  {bar(share)} {share:4.0%}"


def _line(place: SourceLine | None) -> str:
    return f"{f'line {place.line}' if place else '?':>10}"


def _figure(found: Profile) -> Figure:
    require("matplotlib", "a plot (the profile as text has bars too)")
    from matplotlib.figure import Figure

    rows = max(len(found.branches), 1)
    figure = Figure(figsize=(8, 1.2 + 0.3 * rows + 2.0 * len(found.loops)), layout="constrained")
    heights = [0.3 * rows + 0.5, *[2.0] * len(found.loops)]
    axes = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)
    top = axes[0][0]
    names = [f"{row.place.line if row.place else '?'}: {row.shown[:50]}" for row in found.branches]
    shares = np.array([row.share for row in found.branches])
    top.barh(names, shares, color="#3b82f6", label="then")
    top.barh(names, 1.0 - shares, left=shares, color="#f59e0b", label="else")
    top.invert_yaxis()
    top.set_title(headline(found))
    top.set_xlim(0.0, 1.0)
    if names:
        top.legend(loc="lower right")
    for axis, loop in zip(axes[1:, 0], found.loops, strict=True):
        axis.bar([trips for trips, _ in loop.histogram], [lanes for _, lanes in loop.histogram], color="#10b981")
        axis.set_title(f"{loop.place.line if loop.place else '?'}: iterations of {loop.shown}")
    return figure
