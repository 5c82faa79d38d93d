"""docs/compare/scoreboard.md, its pictures and its records: `make scoreboard`.

The seventeen kernels and the functions of benchmarks/drawn.json, in float64 over 262,144 elements, by what people would
choose. Each row is a process of its own, pinned to one core, in which contenders take turns (`benchmarks.row`).

    python -m benchmarks.scoreboard [--out FILE] [--only NAME,...] [--minutes 10] [--seed N]
    python -m benchmarks.scoreboard --write [--out FILE]      the page from the records that there are

Rows that FILE has from these sources and this processor are not measured again. `--seed` draws other functions first.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks import bars, drawn
from benchmarks.environment import ROOT, processor, sources
from benchmarks.kernels import KERNELS
from benchmarks.lanes import finished, keep, measured, summary
from benchmarks.measuring import geomean
from benchmarks.report import UNIT, Row, markdown, notes, parse, read
from benchmarks.row import Limits

PAGE = ROOT / "docs" / "compare" / "scoreboard.md"
RECORDS = ROOT / "benchmarks" / "recorded.jsonl", ROOT / "benchmarks" / "recorded_drawn.jsonl"
"""Of the kernels, and of the drawn functions."""
LANES = 262144
LONGEST = 240.0
"""Seconds for a drawn function and all its contenders."""
TOOLS: Mapping[str, tuple[str, str]] = {
    "np.vectorize": ("np.vectorize", "the function"), UNIT: (UNIT, "the function, helpers under `njit`"),
    "cython": ("Cython", "the function with C types"), "pythran": ("Pythran", "the function with an export line"),
    "blosc2": ("blosc2 DSL", "the function in its spelling"), "np.where": ("np.where", "by hand"),
    "numexpr": ("numexpr", "by hand, as a string"), "polars": ("Polars", "by hand, as expressions"),
    "jax": ("JAX", "by hand"), "drjit": ("Dr.Jit", "by hand"),
    "numpy": ("pyflat, NumPy target", "the function"),
}
"""Name of the contender -> how the page calls it, and what it runs."""
OURS = {"numba": "exact", "fast": "fast"}
FOR_KERNELS = [UNIT, *(name for name in TOOLS if name != UNIT), *OURS]
FOR_DRAWN = [UNIT, "numba.njit", "np.vectorize", "cython", "pythran", "blosc2", "numpy", *OURS]
NAMES = {name: called for name, (called, _) in TOOLS.items()} | {
    "numba.njit": "numba.njit, a loop", "numba": "pyflat, exact", "fast": "pyflat, fast"}
PICTURES = {"benchmarks.svg": bars.PEERS, "scoreboard.svg": {name: f"than {NAMES[name]}" for name in TOOLS} | {
    "numpy": "than pyflat on NumPy"}}

HEAD = """\
How long the same functions take as [twins](../explanation/lanes.md#the-words) and with what people use instead, in one
run. [pyflat and the alternatives](index.md) says what each tool refuses, what it computes differently, and when to take
it. [How it is
measured](../contributors/measuring.md): one core, float64, {lanes:,} elements, all make a new array.
Results are checked before anything is timed: within 1e-9 of Python's for all but one element in a thousand. The
processor: {processor}."""
FASTER = """\
## How much faster than what people use

Bars are geometric means over {count} functions with branches and loops; thin lines go from the function that gains
least to that which gains most. *Exact* twins have Python's bits; *fast* ones are made with `math="fast"`, as one
compiles C with `-ffast-math`.

![times as fast as np.vectorize, np.where by hand and numba.vectorize](benchmarks.svg)

## Against each tool

A number in brackets is that of the functions that the tool runs, where it is not all {count}: pyflat is compared on
these. *Python's bits in*: for how many of them all of 2,000 elements are equal to Python's in the last digit too.

![times as fast as each of the tools](scoreboard.svg)"""
EACH = """\
## Function by function

Against numba.vectorize of the same text:

![times as fast as numba.vectorize, function by function](benchmarks-functions.svg)

Nanoseconds for an element; the shortest is bold:"""
DRAWN = """\
## Functions that were drawn at random

The {kernels} functions above were chosen by us. These {count} were drawn, with seed {seed}, from the public functions
of {packages}.
A function takes part if Python alone returns one number for it around the arguments of its docstring's first example;
in packages without examples, around arguments that a search found. The packages take turns. Whether pyflat or any other
tool takes the function was not asked.

Each tool that reads Python gets the function as it is. *Other values*: functions for which it returns other numbers
than Python in any of {normal} ordinary elements, by more than {ulps} units in the last place, or one number for a
whole array (a function may treat arrays as a case of their own). *Other at the edges*: functions for which its outcome,
the number or the type of the exception, is not Python's when one argument is 0, negative, ten million times larger or
smaller, or nan. For this each element gets a call of its own."""
AFTER = """\
Cython runs with `cdivision=True`, as people set it for speed; it then divides as C does. Its default raises as Python
does. numba.vectorize never raises `ZeroDivisionError`; numba.njit does. `math="fast"` is allowed to be off by more."""


def short(ratio: float | None) -> str:
    return "-" if ratio is None or math.isnan(ratio) else bars.short(ratio)


def versus(rows: Sequence[Row], ours: str, peer: str) -> str:
    return short(geomean(bars.ratios(rows, ours, peer)))


def against(rows: Sequence[Row]) -> str:
    """The table of all tools, and where an exact twin is slower."""
    lines = [["tool, and what it runs", "functions", "Python's bits in", "exact twin, times as fast", "fast twin"]]
    slower = []
    for name, (called, text) in TOOLS.items():
        ratios = {row.kernel: ratio for row in rows if (ratio := row.ratio("numba", to=name)) is not None}
        less = [f"{kernel} ({bars.short(ratio)})" for kernel, ratio in ratios.items() if ratio < 1.0]
        slower += [f"than {called} in {', '.join(less)}"] if less else []
        lines.append([f"{called}: {text}", f"{len(ratios)} of {len(rows)}", right(rows, name),
                      versus(rows, "numba", name), versus(rows, "fast", name)])
    every = f"{len(rows)} of {len(rows)}"
    lines += [[f"{NAMES[name]}: the function", every, right(rows, name), "", ""] for name in OURS]
    return f"{markdown(lines)}\n\nThe exact twin is slower {'; '.join(slower)}."


def right(rows: Sequence[Row], name: str) -> str:
    """For how many functions all compared elements have Python's bits."""
    return str([row.bits.get(name) for row in rows].count(0))


def times(rows: Sequence[Row], names: Sequence[str], labels: Mapping[str, str]) -> str:
    lines = [["function", *(NAMES[name] for name in names)]]
    for row in rows:
        best = min((found.best for found in row.seconds.values()), default=0.0)
        cells = [row.seconds.get(name) for name in names]
        texts = ["-" if found is None else _nanoseconds(found.best) for found in cells]
        lines.append([labels.get(row.kernel, f"`{row.kernel}`"),
                      *(f"**{text}**" if found is not None and found.best == best else text
                        for text, found in zip(texts, cells, strict=True))])
    return markdown(lines)


def _nanoseconds(seconds: float) -> str:
    ns = seconds * 1e9
    return f"{ns:,.0f}" if ns >= 99.5 else f"{ns:.1f}" if ns >= 9.95 else f"{ns:.2f}"


def taken(rows: Sequence[Row]) -> str:
    """The table of the drawn functions: which are taken, and which are right."""
    lines = [["tool", "takes", "other values", "other at the edges", "exact twin, times as fast", "fast twin"]]
    for name in FOR_DRAWN:
        found = [row.differs[name] for row in rows if name in row.differs]
        lines.append([NAMES[name], f"{len(found)} of {len(rows)}", str(sum(each["values"] > 0 for each in found)),
                      str(sum(each["edges"] > 0 for each in found)),
                      *("" if name in OURS else versus(rows, ours, name) for ours in OURS)])
    return markdown(lines)


def refused(rows: Sequence[Row], names: Sequence[str]) -> str:
    """What did not run, and why; pyflat once, since its targets take the same functions."""
    names = [name for name in names if name not in ("numpy", "fast")]
    lines = []
    for note in notes([Row(row.kernel, row.type, row.lanes, row.seconds, {
            name: text for name, text in row.notes.items() if name in names}, {}) for row in rows]):
        name, _, rest = note.partition(": ")
        message, _, where = rest.removeprefix(f"{name}: ").rpartition(" (")
        message = message.replace("% of lanes", "% of the elements").replace("`", "'")
        lines.append(f"- {NAMES[name]}: `{message}` ({where}")
    return "\n".join(lines)


def measured_with(rows: Sequence[Row]) -> str:
    facts: dict[str, str] = {}
    for row in rows:
        facts |= row.environment
    hidden = ("commit", "sources", "cores")
    return "\n".join(f"- {name}: {value}" for name, value in facts.items() if name not in hidden)


def text(kernels: Sequence[Row], others: Sequence[Row]) -> str:
    draw = drawn.record()
    made_on = kernels[0].environment.get("processor", "not known")
    made_on += " (as most laptops, without AVX-512)" if "AVX2" in made_on else ""
    packages = ", ".join(["the standard library's `calendar`",
                          *(f"{name} {version}" for name, version in draw["packages"].items())])
    labels = {name: f"{called} (`{name}`)" for name, called in bars.FUNCTIONS.items()}
    reasons = "; ".join(f"{reason} ({count})" for reason, count in sorted(draw["rejected"].items()))
    return "\n\n".join([
        "# Scoreboard",
        "<!-- written by `make scoreboard`; do not edit -->",
        HEAD.format(lanes=LANES, processor=made_on),
        FASTER.format(count=len(kernels)), against(kernels), EACH, times(kernels, FOR_KERNELS, labels),
        "What did not run, and why:", refused(kernels, FOR_KERNELS),
        DRAWN.format(kernels=len(kernels), count=len(others), seed=draw["seed"], packages=packages,
                     normal=drawn.NORMAL, ulps=drawn.ULPS),
        taken(others), AFTER, "Nanoseconds for an element:", times(others, FOR_DRAWN, {}),
        f"Left out of the draw: {reasons}.", "What did not run, and why:", refused(others, FOR_DRAWN),
        "## Measured with", measured_with([*kernels, *others]),
        "`make scoreboard` measures it all again; `make scoreboard SCOREBOARD_ARGS='--seed 7'` draws other functions.",
    ]) + "\n"


def pictures(kernels: Sequence[Row]) -> dict[str, str]:
    return {name: bars.summary(kernels, peers) for name, peers in PICTURES.items()} | {
        "benchmarks-functions.svg": bars.functions(kernels)}


def write(rows: Sequence[Row]) -> None:
    """The page and its pictures from these rows, which become the records."""
    order = {name: place for place, name in enumerate([*KERNELS, *drawn.drawn()])}
    rows = sorted((row for row in rows if row.kernel in order), key=lambda row: order[row.kernel])
    parts = [[row for row in rows if (row.kernel in KERNELS) == ours] for ours in (True, False)]
    for path, part in zip(RECORDS, parts, strict=True):
        path.write_text("".join(f"{row.record()}\n" for row in part), encoding="utf-8")
    PAGE.parent.mkdir(exist_ok=True)
    for name, picture in pictures(parts[0]).items():
        (PAGE.parent / name).write_text(picture, encoding="utf-8")
    PAGE.write_text(text(*parts), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "scoreboard.jsonl")
    parser.add_argument("--only", help="names of functions")
    parser.add_argument("--minutes", type=float, default=math.inf, help="start no row after so many")
    parser.add_argument("--seed", type=int, help="draw the functions again")
    parser.add_argument("--write", action="store_true", help="measure nothing")
    options = parser.parse_args()
    if options.seed is not None:
        subprocess.run([sys.executable, "-m", "benchmarks.drawn", "--seed", str(options.seed)], cwd=ROOT, check=True)
    rows = read(options.out) if options.out.exists() else []
    if not options.write:
        here = {"sources": sources(), "processor": processor()}
        for names, keys in ((FOR_KERNELS, list(KERNELS)), (FOR_DRAWN, list(drawn.drawn()))):
            done = finished(rows, names, here)
            left = [key for name in keys if (not options.only or name in options.only.split(","))
                    and (key := (LANES, "f8", name)) not in done]
            longest = LONGEST if names is FOR_DRAWN else None
            for line in measured(left, names, Limits(), options.minutes * 60, longest):
                keep(options.out, line)
                print(summary(parse([line])[0]), flush=True)
        rows = read(options.out)
    write(rows)


if __name__ == "__main__":
    main()
