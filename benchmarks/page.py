"""docs/contributors/benchmarks.md: all rows that `benchmarks.lanes` has measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from benchmarks.environment import ROOT
from benchmarks.report import Row, contenders, groups, markdown, notes, provenance, table

PAGE = ROOT / "docs" / "contributors" / "benchmarks.md"
HEAD = """\
Speed over arrays, relative to numba.vectorize of the unmodified function (1.0; more is faster), on one core. [How it
is measured](measuring.md), and what the contenders are: `numpy` and `numba` are
pyflat's targets with the bits of CPython, `numpy fast` and `fast` those with `math="fast"`; np.where and numexpr are
texts that one writes by hand. The [scoreboard](../compare/scoreboard.md) has one type and size
of these for users. Of the seventeen kernels eleven are the core, by which the [goals](goals.md) are
measured. Ratios are of shortest turns; below each table are those of medians, with half the distance of the
contender's quartiles as a share of its median."""


def medians(rows: Sequence[Row]) -> str:
    """Of one type and size: the ratio of the medians, and half of the contender's own spread."""
    names = contenders(rows)
    lines = [["kernel", *names]]
    for row in rows:
        cells = []
        for name in names:
            ratio, mine = row.ratio_of_medians(name), row.seconds.get(name)
            cells.append("-" if ratio is None or mine is None else f"{ratio:.2f} ±{mine.spread / 2:.0%}")
        lines.append([row.kernel, *cells])
    return markdown(lines)


def missing(rows: Sequence[Row], wanted: Iterable[tuple[int, str, str]]) -> str:
    """Which rows the page lacks; empty where it has all."""
    there = {(row.lanes, row.type, row.kernel) for row in rows}
    left = [key for key in wanted if key not in there]
    parts = [f"{kind} with {lanes:,} lanes: {', '.join(kernel for _, _, kernel in some)}"
             for (lanes, kind), some in groupby(left, lambda key: key[:2])]
    return f"**Not measured yet:** {'; '.join(parts)}." if parts else ""


def text(rows: Sequence[Row], core: frozenset[str], wanted: Iterable[tuple[int, str, str]]) -> str:
    """The page. Rows of sizes and types that are not wanted have no place there."""
    wanted = list(wanted)
    kept = [row for row in rows if (row.lanes, row.type, row.kernel) in set(wanted)]
    order = {kernel: place for place, kernel in enumerate(dict.fromkeys(kernel for *_, kernel in wanted))}
    kept.sort(key=lambda row: order[row.kernel])
    parts = [
        "# Benchmarks",
        "<!-- written by `make ratios`; do not edit -->",
        HEAD, missing(kept, wanted),
    ]
    for (kind, lanes), chosen in groups(kept).items():
        parts += [f"## {kind}, {lanes:,} lanes", table(chosen, core),
                  "<details><summary>medians and spread</summary>", medians(chosen), "</details>",
                  "\n".join(f"- {note}" for note in notes(chosen))]
    parts += ["## Measured with", provenance(kept)]
    return "\n\n".join(part for part in parts if part) + "\n"


def write(rows: Sequence[Row], core: frozenset[str], wanted: Iterable[tuple[int, str, str]]) -> None:
    PAGE.write_text(text(rows, core, wanted), encoding="utf-8")
