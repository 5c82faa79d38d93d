"""The goal line for speed, line by line: what was measured, what the goal is, whether it holds.

    python -m benchmarks.goals [--results FILE] [--stored] [--docs]

Ratios come from records of `benchmarks.lanes`; those that FILE (out/bench.jsonl) lacks, or has from other sources, are
measured first and added to it, but with `--stored`. Calls, imports and compiling are measured anew. `--docs` writes
docs/contributors/goals.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import numpy as np

import pyflat
from benchmarks import startup
from benchmarks.contenders import CONTENDERS, UNIT
from benchmarks.environment import ROOT, describe, processor, processor_family, sources
from benchmarks.kernels import KERNELS
from benchmarks.lanes import CORE, finished, keep, row
from benchmarks.measuring import geomean
from benchmarks.report import Row, markdown, read
from benchmarks.row import TYPES, Limits

PAGE = ROOT / "docs" / "contributors" / "goals.md"
RESULTS = "out/bench.jsonl"
MIDDLE, LARGE = 1 << 18, 1 << 24
SMALL = (1 << 10, 1 << 12, MIDDLE)
NUMPY = ("numpy", "numpy fast")
JAX = ("jax", "jax.vmap")
GEOMEAN = {"AuthenticAMD 25": {"f8": 5.2, "f4": 10.5}, "AuthenticAMD 26": {"f8": 7.5, "f4": 17.0}}
"""Of fast math over numba.vectorize, by family of processors: Zen 3 and 4 have vector units of 256 bits, Zen 5 of
512. Other families have no goal."""
PEERS = {"gcc -ffast-math": ("gcc fast",), "clang -ffast-math": ("clang fast",), "ISPC, its best width": ("ispc",),
         "Dr.Jit": ("drjit",), "JAX": JAX}
LEVEL, AHEAD = 0.95, 1.1
"""Of fast math over each peer: on every kernel, and in the geometric mean."""
COLLATZ = 3.5
OVER_WHERE, FIRST, SECOND, IMPORT, DECORATION, LINEAR = 4.0, 0.25, 0.05, 15e-3, 100e-6, 1.1
LANES = "python -m benchmarks.lanes --sizes {} --types {}"
STARTUP = "python -m benchmarks.startup"


@dataclass(frozen=True, slots=True)
class Line:
    """One goal; holds None where nothing was measured, `measured` says why."""

    subject: str
    goal: str
    measured: str
    holds: bool | None
    command: str

    @property
    def verdict(self) -> str:
        return {True: "holds", False: "does not hold", None: "not measured"}[self.holds]


def missing(subject: str, goal: str, command: str, why: str = "no results") -> Line:
    return Line(subject, goal, why, None, command)


def _listed(ratios: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {ratio:.2f}" for name, ratio in sorted(ratios.items(), key=lambda item: item[1]))


def core(rows: Iterable[Row], kind: str, lanes: int) -> list[Row]:
    return [found for found in rows if (found.type, found.lanes) == (kind, lanes) and found.kernel in CORE]


def over_unit(rows: Sequence[Row], kind: str, engine: str, least: float | None) -> list[Line]:
    """The geometric mean over numba.vectorize, where that has a goal, and that no kernel is slower."""
    command = LANES.format(MIDDLE, kind)
    chosen = core(rows, kind, MIDDLE)
    ratios = {found.kernel: ratio for found in chosen if (ratio := found.ratio(engine)) is not None}
    subject = f"{kind}: `{engine}` over numba.vectorize, geomean of the eleven"
    goal = "none for this family" if least is None else f">= {least}"
    lowest = f"{kind}: `{engine}` over numba.vectorize, every kernel"
    if ratios.keys() != CORE:
        why = f"{len(ratios)} of {len(CORE)} kernels ran"
        return [missing(subject, goal, command, why), missing(lowest, ">= 1", command, why)]
    mean = geomean(list(ratios.values()))
    below = {name: ratio for name, ratio in ratios.items() if ratio < 1.0}
    return [
        Line(subject, goal, f"{mean:.2f}", None if least is None else mean >= least, command),
        Line(lowest, ">= 1", f"{_listed(below)} below" if below else f"least {_listed(ratios).split(',')[0]}",
             not below, command),
    ]


def over_peers(rows: Sequence[Row], kind: str, engine: str, label: str, peers: Sequence[str]) -> list[Line]:
    """Our engine against the faster of the peers: on every kernel, and in the geometric mean."""
    command = LANES.format(MIDDLE, kind)
    every, mean = f"{kind}: `{engine}` over {label}, every kernel", f"{kind}: `{engine}` over {label}, geomean"
    goals = f">= {LEVEL}", f">= {AHEAD}"
    ratios = {}
    for found in core(rows, kind, MIDDLE):
        against = [ratio for peer in peers if (ratio := found.ratio(engine, to=peer)) is not None]
        if against:
            ratios[found.kernel] = min(against)
    if ratios.keys() != CORE:
        why = f"{len(ratios)} of {len(CORE)} kernels ran with both"
        return [missing(subject, goal, command, why) for subject, goal in zip((every, mean), goals, strict=True)]
    behind = {name: ratio for name, ratio in ratios.items() if ratio < LEVEL}
    text = f"{_listed(behind)} behind" if behind else f"least {_listed(ratios).split(',')[0]}"
    middle = geomean(list(ratios.values()))
    return [Line(every, goals[0], text, not behind, command),
            Line(mean, goals[1], f"{middle:.2f}", middle >= AHEAD, command)]


def divergent(rows: Sequence[Row]) -> Line:
    """A loop over ints whose trips differ by lane."""
    command, subject = LANES.format(MIDDLE, "f8") + " --kernels collatz", "collatz: `fast` over numba.vectorize"
    for found in core(rows, "f8", MIDDLE):
        if found.kernel == "collatz" and (ratio := found.ratio("fast")) is not None:
            return Line(subject, f">= {COLLATZ}", f"{ratio:.2f}", ratio >= COLLATZ, command)
    return missing(subject, f">= {COLLATZ}", command)


def same_text(identical: Mapping[str, bool]) -> Line:
    """`identical`: kernel -> whether engine and printed text gave the same bits."""
    different = [name for name, same in identical.items() if not same]
    same = f"the same on {len(identical)} kernels that are straight-line code"
    found = f"different: {', '.join(different)}" if different else same
    return Line("NumPy target and the np.where text that `show` prints", "the same bits", found, not different,
                "python -m benchmarks.goals")


def numpy_target(rows: Sequence[Row], engine: str, kind: str) -> list[Line]:
    """Against hand-written np.where."""
    command = LANES.format("{}", kind) + f" --contenders np.where,'{engine}'"
    large = {found.kernel: ratio for found in core(rows, kind, LARGE)
             if (ratio := found.ratio(engine, to="np.where")) is not None}
    subject = f"{kind}: `{engine}` over np.where, {LARGE:,} lanes, geomean"
    goal = f">= {OVER_WHERE:.0f}"
    lines = [missing(subject, goal, command.format(LARGE))] if not large else [
        Line(subject, goal, f"{geomean(list(large.values())):.2f} on {len(large)} kernels: {_listed(large)}",
             geomean(list(large.values())) >= OVER_WHERE, command.format(LARGE))]
    for lanes in SMALL:
        ratios = {found.kernel: ratio for found in core(rows, kind, lanes)
                  if (ratio := found.ratio(engine, to="np.where")) is not None}
        subject = f"{kind}: `{engine}` over np.where, {lanes:,} lanes, every kernel"
        behind = {name: ratio for name, ratio in ratios.items() if ratio < 1.0}
        lines.append(missing(subject, ">= 1", command.format(lanes)) if not ratios else Line(
            subject, ">= 1", f"{_listed(behind)} behind" if behind else f"least {_listed(ratios).split(',')[0]}",
            not behind, command.format(lanes)))
    return lines


def same_bits(names: Iterable[str], lanes: int = 4096) -> dict[str, bool]:
    """Kernel -> whether the NumPy engine gives the bits of the text that `show` prints, where it prints one that runs:
    a loop that stays one is no np.where text."""
    found = {}
    for name in names:
        kernel = KERNELS[name]
        columns = kernel.lanes(lanes)
        twin = pyflat.twin(kernel.function, target="numpy")
        try:
            printed = twin.function
        except pyflat.FlattenError:
            continue
        with np.errstate(all="ignore"):
            text = np.broadcast_to(np.asarray(printed(*columns)), lanes)
        engine = np.asarray(twin(*columns))
        found[name] = engine.dtype == text.dtype and engine.tobytes() == np.ascontiguousarray(text).tobytes()
    return found


def _worst(seconds: Mapping[str, float], goal: float) -> str:
    over = {name: taken for name, taken in seconds.items() if taken > goal}
    last = max(seconds, key=lambda name: seconds[name])
    text = f"{seconds[last]:.3f} s at most ({last})"
    return text + (f"; {len(over)} of {len(seconds)} take longer than {goal} s" if over else "")


def start(names: list[str]) -> list[Line]:
    """Flattening, compiling, the next process, imports."""
    calls, imports = startup.second(names)
    fresh = startup.first(names)
    alone = {module: startup.import_seconds(module) for module in ("numba", "llvmlite.binding")}
    own, decoration, sizes = startup.import_seconds("pyflat", "numpy"), startup.decoration(), startup.growth()
    power = startup.exponent(sizes)
    beyond = ", ".join(f"{module} {seconds:.2f} s" for module, seconds in alone.items())
    steps = ", ".join(f"{size:,} operations {seconds:.2f} s" for size, seconds in sizes.items())
    return [
        Line("flatten and compile, after warm-up", f"<= {FIRST} s", _worst(fresh, FIRST), max(fresh.values()) <= FIRST,
             STARTUP),
        Line("first call of a second process, beyond the imports", f"<= {SECOND} s",
             f"{_worst(calls, SECOND)}; imports {imports:.2f} s ({beyond} alone)", max(calls.values()) <= SECOND,
             STARTUP),
        Line("`import pyflat` beyond NumPy", f"<= {IMPORT * 1e3:.0f} ms", f"{own * 1e3:.1f} ms", own <= IMPORT,
             STARTUP),
        Line("decorating a function", "microseconds", f"{decoration * 1e6:.0f} µs", decoration <= DECORATION, STARTUP),
        Line("time to flatten, 10^2 .. 10^5 operations", "linear", f"power {power:.2f} in the last step ({steps})",
             power <= LINEAR, STARTUP),
    ]


def overheads() -> list[Line]:
    """Calls with few lanes, from `benchmarks.overhead`: subject, seconds, and the seconds that are the goal."""
    command = "python -m benchmarks.overhead"
    module = import_module("benchmarks.overhead") if find_spec("benchmarks.overhead") else None
    measure: Callable[[], Iterable[tuple[str, float, float]]] | None = getattr(module, "goals", None)
    if measure is None:
        return [missing("calls with few lanes", "microseconds", command, "benchmarks.overhead has no goals")]
    return [Line(subject, f"<= {goal * 1e6:.2f} µs", f"{taken * 1e6:.2f} µs", taken <= goal, command)
            for subject, taken, goal in measure()]


def lines(rows: Sequence[Row], identical: Mapping[str, bool]) -> list[Line]:
    """Those that are ratios."""
    found, goals = [], GEOMEAN.get(processor_family(), {})
    for kind in TYPES:
        found += over_unit(rows, kind, "numba", None)[1:]
        found += over_unit(rows, kind, "fast", goals.get(kind))
        for label, peers in PEERS.items():
            found += over_peers(rows, kind, "fast", label, peers)
    found.append(divergent(rows))
    for kind, engine in product(TYPES, NUMPY):
        found += numpy_target(rows, engine, kind)
    return [*found, same_text(identical)]


def wanted() -> list[tuple[str, str, int, tuple[str, ...]]]:
    """The rows that the goals are about: kernel, type, lanes, contenders."""
    every = (UNIT, *[name for name in CONTENDERS if name != UNIT])
    texts = (UNIT, "np.where", *NUMPY)
    names = [name for name in KERNELS if name in CORE]
    rows = [(name, kind, MIDDLE, every) for kind in TYPES for name in names]
    small = product(TYPES, (*SMALL, LARGE), names)
    return rows + [(name, kind, lanes, texts) for kind, lanes, name in small if lanes != MIDDLE]


def complete(path: Path, limits: Limits) -> list[Row]:
    """The records of the file, and those that it lacks or has from other sources, measured now and added to it."""
    rows = read(path) if path.exists() else []
    here = {"sources": sources(), "processor": processor()}
    for kernel, kind, lanes, names in wanted():
        if (lanes, kind, kernel) not in finished(rows, names, here):
            keep(path, row(kernel, kind, lanes, names, limits))
    return read(path)


def page(found: Sequence[Line], facts: Mapping[str, str], rows: Sequence[Row]) -> str:
    table = [["line", "goal", "measured", "", "command"]]
    table += [[line.subject, line.goal, line.measured, line.verdict, f"`{line.command}`"] for line in found]
    dates = sorted({stamp for one in rows if (stamp := one.environment.get("date"))})
    commits = list(dict.fromkeys(commit for one in rows if (commit := one.environment.get("commit"))))
    count = sum(line.holds is True for line in found)
    about = f"""\
What the project wants to reach on one core, and what one machine measured; the goal over numba.vectorize depends on the
family of the processor: {'; '.join(f"{name} {goals['f8']} in float64 and {goals['f4']} in float32"
                                   for name, goals in GEOMEAN.items())}. `numba` and `numpy` are the targets with
the bits of CPython; `fast` is the numba target with `math="fast"`, `numpy fast` the NumPy target with NumPy's
functions, as an np.where text has them. Ratios are of shortest turns, with
{MIDDLE:,} lanes unless another number is named ([how it is measured](measuring.md))."""
    parts = [
        "# Goals for speed",
        "<!-- written by `python -m benchmarks.goals --docs`; do not edit -->",
        about,
        f"**{count} of {len(found)} lines hold.**",
        markdown(table),
        "## Measured with",
        "\n".join(f"- {name}: {value}" for name, value in facts.items()),
    ]
    if dates:
        parts.append(f"The ratios are from {dates[0]} to {dates[-1]}, commit {', '.join(commits)}.")
    return "\n\n".join(parts) + "\n"


def versions(rows: Sequence[Row]) -> dict[str, str]:
    """Of the peers, as the records have them; the machine and our own as they are now."""
    found: dict[str, str] = {}
    for one in rows:
        found |= one.environment
    return found | describe()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", default=RESULTS, help="records of benchmarks.lanes")
    parser.add_argument("--stored", action="store_true", help="measure no rows that the records lack")
    parser.add_argument("--docs", action="store_true", help="write docs/contributors/goals.md")
    parser.add_argument("--budget", type=float, default=1.0, help="seconds for each contender and row")
    options = parser.parse_args()
    path = Path(options.results)
    rows = read(path) if options.stored else complete(path, Limits(budget=options.budget, longest=5.0))
    found = lines(rows, same_bits(KERNELS)) + start(list(KERNELS)) + overheads()
    text = page(found, versions(rows), rows)
    print(text)
    if options.docs:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
