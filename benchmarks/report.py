"""Tables of the records that `benchmarks.lanes` writes: speed relative to numba.vectorize of the unmodified
function (1.0; more is faster)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.measuring import Timing, geomean

UNIT = "numba.vectorize"


@dataclass(frozen=True, slots=True)
class Row:
    """Seconds per lane of the contenders that ran and agreed."""

    kernel: str
    type: str
    lanes: int
    seconds: Mapping[str, Timing]
    notes: Mapping[str, str]
    environment: Mapping[str, str]
    choices: Mapping[str, str] = field(default_factory=dict)
    """Contender -> which of its variants was the fastest here."""
    parts: Mapping[str, int] = field(default_factory=dict)
    """Contender -> the lanes that it was timed on, where that is not all."""
    asked: frozenset[str] = frozenset()
    """The contenders that were to run."""
    differs: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Of a drawn function: in how many elements a contender's outcome is another than Python's."""
    bits: Mapping[str, int] = field(default_factory=dict)
    """Contender -> how many of the elements that were compared have another last digit than Python's."""

    def ratio(self, contender: str, to: str = UNIT) -> float | None:
        """How many times faster than `to`, by the shortest turns; None where one of them did not run."""
        mine, unit = self.seconds.get(contender), self.seconds.get(to)
        return None if mine is None or unit is None else unit.best / mine.best

    def record(self) -> str:
        """The row as `parse` reads it."""
        return json.dumps(asdict(self) | {"asked": sorted(self.asked)})

    def ratio_of_medians(self, contender: str) -> float | None:
        mine, unit = self.seconds.get(contender), self.seconds.get(UNIT)
        return None if mine is None or unit is None else unit.median / mine.median


def parse(lines: Iterable[str]) -> list[Row]:
    """Records, a JSON object in each line; a later one for the same kernel, type and size replaces an earlier."""
    rows: dict[tuple[str, str, int], Row] = {}
    for line in lines:
        if not line.strip():
            continue
        record: dict[str, Any] = json.loads(line)
        seconds = {name: Timing(**numbers) for name, numbers in record["seconds"].items()}
        row = Row(record["kernel"], record["type"], record["lanes"], seconds, record["notes"], record["environment"],
                  record.get("choices", {}), record.get("parts", {}), frozenset(record.get("asked", ())),
                  record.get("differs", {}), record.get("bits", {}))
        rows[row.kernel, row.type, row.lanes] = row
    return list(rows.values())


def read(path: str | Path) -> list[Row]:
    return parse(Path(path).read_text(encoding="utf-8").splitlines())


def contenders(rows: Sequence[Row]) -> list[str]:
    """Those that ran anywhere, in the order of the records."""
    return list(dict.fromkeys(name for row in rows for name in row.seconds))


def groups(rows: Sequence[Row]) -> dict[tuple[str, int], list[Row]]:
    """By type and size: f8 first, small first."""
    keys = sorted({(row.type, row.lanes) for row in rows}, key=lambda key: (key[1], key[0] != "f8"))
    return {key: [row for row in rows if (row.type, row.lanes) == key] for key in keys}


def markdown(table: Sequence[Sequence[str]]) -> str:
    """Aligned, the first column to the left; the first line is the head."""
    widths = [max(len(line[k]) for line in table) for k in range(len(table[0]))]

    def text(line: Sequence[str]) -> str:
        cells = [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        return "| " + " | ".join([line[0].ljust(widths[0]), *cells]) + " |"

    rule = "|" + "|".join(["-" * (widths[0] + 2), *["-" * (width + 1) + ":" for width in widths[1:]]]) + "|"
    return "\n".join([text(table[0]), rule, *map(text, table[1:])])


def _number(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.2f}"


def _mean(values: Iterable[float | None], total: int) -> str:
    """With the number of kernels where it is not all of them."""
    known = [value for value in values if value is not None]
    return _number(geomean(known)) + ("" if len(known) in {0, total} else f" ({len(known)})")


def table(rows: Sequence[Row], core: frozenset[str]) -> str:
    """Of one type and size: ratios, geometric means of the kernels in `core` and of the rest, and the spread."""
    names = [name for name in contenders(rows) if name != UNIT]
    lines = [["kernel", "ns/lane", *names]]
    for row in rows:
        unit = row.seconds.get(UNIT)
        lines.append([row.kernel, _number(unit and unit.best * 1e9), *[_number(row.ratio(name)) for name in names]])
    for label, chosen in (("core", [row for row in rows if row.kernel in core]),
                          ("other", [row for row in rows if row.kernel not in core])):
        if not chosen:
            continue
        lines.append([f"geomean of the {len(chosen)} {label}", "",
                      *[_mean((row.ratio(name) for row in chosen), len(chosen)) for name in names]])
        lines.append(["  by medians", "",
                      *[_mean((row.ratio_of_medians(name) for row in chosen), len(chosen)) for name in names]])
    spreads = [[row.seconds[name].spread for row in rows if name in row.seconds] for name in [UNIT, *names]]
    lines.append(["median spread", *[f"{median(found):.1%}" if found else "-" for found in spreads]])
    return markdown(lines)


def notes(rows: Sequence[Row]) -> list[str]:
    """What did not run, or not on all lanes, and what was chosen: contender, note, and where."""
    where: dict[tuple[str, str], list[str]] = {}
    seconds: dict[str, list[int]] = {}
    for row in rows:
        for name, note in row.notes.items():
            if found := re.fullmatch(r"one call would take (\d+) s", note):
                seconds.setdefault(name, []).append(int(found[1]))
                note = "one call would take"
            where.setdefault((name, note), []).append(row.kernel)
        for name, count in row.parts.items():
            where.setdefault((name, f"on {count:,} lanes"), []).append(row.kernel)
        for name, choice in row.choices.items():
            where.setdefault((name, choice), []).append(row.kernel)
    lines = []
    for (name, note), kernels in sorted(where.items(), key=lambda item: item[0][0]):
        if note == "one call would take":
            note += " " + " to ".join(map(str, sorted({min(seconds[name]), max(seconds[name])}))) + " s"
        lines.append(f"{name}: {note} ({'all kernels' if len(kernels) == len(rows) else ', '.join(kernels)})")
    return lines


def report(rows: Sequence[Row], core: frozenset[str]) -> str:
    """All tables with their notes, and where and with what it was measured."""
    parts = []
    for (kind, lanes), chosen in groups(rows).items():
        parts += [f"## {kind}, {lanes:,} lanes", table(chosen, core), "\n".join(f"- {note}" for note in notes(chosen))]
    parts += ["## Measured with", provenance(rows)]
    return "\n\n".join(part for part in parts if part) + "\n"


def provenance(rows: Sequence[Row]) -> str:
    """Where, when and with what the rows were measured."""
    facts: dict[str, list[str]] = {}
    for row in rows:
        for name, value in row.environment.items():
            if value not in facts.setdefault(name, []):
                facts[name].append(value)
    if "date" in facts:
        facts["date"] = sorted({min(facts["date"]), max(facts["date"])})
    return "\n".join(f"- {name}: {' ... '.join(values)}" for name, values in facts.items())
