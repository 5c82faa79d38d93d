"""What notebooks show of `explain()` and `profile()`: the facts of the text, as tables with bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from pyflat.inspection.source_map import SourceLine

if TYPE_CHECKING:
    from pyflat.inspection.explain import Explanation
    from pyflat.inspection.explain_kernel import KernelExplanation
    from pyflat.inspection.profile import Profile

# A notebook may be light on a dark system: colours are those of its text, or between light and dark.
_STYLE = """
.pyflat-facts { font: 14px/1.45 system-ui, sans-serif; overflow-x: auto; text-align: left;
  --line: color-mix(in srgb, currentColor 20%, transparent); --then: #3b82f6; --else: #e8930c; }
.pyflat-facts table { border-collapse: collapse; margin: .2rem 0 .8rem; }
.pyflat-facts caption { text-align: left; font-weight: 600; padding: .2rem 0; white-space: nowrap; }
.pyflat-facts td, .pyflat-facts th { padding: .1rem .6rem .1rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); }
.pyflat-facts .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.pyflat-facts code { white-space: pre; }
.pyflat-facts .bar { display: flex; width: 10rem; height: .8em; margin-top: .3em; background: var(--line); }
"""


@dataclass(frozen=True, slots=True)
class CodeCell:
    """A cell with source text."""

    text: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A cell with parts of a whole: of one, or of two that stand against each other."""

    parts: tuple[float, ...]


Cell = str | int | float | CodeCell | Bar


def of_explanation(found: Explanation) -> str:
    """What a twin costs."""
    operations = [(family.name, family.count, family.cost, Bar((family.cost / (found.cost or 1),)))
                  for family in found.operations]
    branches = [(_line(arms.place), CodeCell(arms.condition or _text(arms.place)), arms.then, arms.orelse, arms.copies)
                for arms in found.branches]
    loops = [(_line(place), CodeCell(_text(place)), what) for place, what in found.loops]
    functions = [(called.name, called.count, called.whose, called.why) for called in found.functions]
    costs = f"Estimated cost: {found.cost:,} (error checks: {found.detection:,}); {found.counts}"
    return _fragment(
        f"{found.name}({found.kinds}) on {found.target}", [costs, *found.slower],
        _table("operations", ("", "count", "cost", ""), operations),
        _table("branches, and the cost of each side", ("", "", "then", "else", "copies"), branches),
        _table("loops", ("", "", ""), loops), _table("elementary functions", ("", "count", "", ""), functions))


def of_profile(found: Profile, title: str) -> str:
    """Where lanes go."""
    branches = [(_line(row.place), CodeCell(row.shown), row.then, row.orelse, Bar((row.share, 1.0 - row.share)),
                 f"{row.mixed:.0%}", f"{row.dead} is never taken" if row.dead else "") for row in found.branches]
    tables = [_table("branches", ("", "", "then", "else", "", "SIMD groups with both", ""), branches)]
    for loop in found.loops:
        trips = [(trips, lanes, Bar((lanes / max(loop.entries, 1),))) for trips, lanes in loop.histogram]
        tables.append(_table(f"{_line(loop.place)}: {loop.shown}", ("iterations", "elements", ""), trips))
    loops = [f"{_line(loop.place)}: median {loop.median:,g} iterations, mean {loop.mean:,.4g}; {loop.used:.0%} of a "
             f"SIMD group's iterations are used" for loop in found.loops]
    return _fragment(title, loops, *tables)


def of_kernel(found: KernelExplanation) -> str:
    """What becomes of a kernel."""
    arrays = [(array.name, array.where + (f" ({array.kept})" if array.kept else ""), f"{array.dtype}, {array.rank}-D",
               " and ".join(what for what, does in (("read", array.read), ("written", array.written)) if does),
               f"{array.size} bytes", array.layout, _line(array.place)) for array in found.arrays]
    loops = [(_line(loop.place), CodeCell("  " * loop.depth + _text(loop.place)),
              "lanes" if loop.parallel else "in order", loop.why) for loop in found.loops]
    same = [f"the same for all iterations: {name}" for name in found.numbers]
    return _fragment(f"{found.name} on {found.target}", same, _table("arrays", ("",) * 7, arrays),
                     _table("loops", ("",) * 4, loops))


def _line(place: SourceLine | None) -> str:
    return f"line {place.line}" if place is not None else ""


def _text(place: SourceLine | None) -> str:
    return place.text if place is not None else ""


def _fragment(title: str, facts: Iterable[str], *tables: str) -> str:
    listed = "".join(f"<li>{escape(fact)}</li>" for fact in facts)
    return (f'<div class="pyflat-facts"><style>{_STYLE}</style><b>{escape(title)}</b>'
            f'{f"<ul>{listed}</ul>" if listed else ""}{"".join(tables)}</div>')


def _table(caption: str, head: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Nothing where there are no rows."""
    if not rows:
        return ""
    names = "".join(f"<th{_number(cell)}>{escape(name)}</th>" for name, cell in zip(head, rows[0], strict=True))
    top = f"<tr>{names}</tr>" if any(head) else ""
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><caption>{escape(caption)}</caption>{top}{body}</table>"


def _number(cell: Cell) -> str:
    return ' class="number"' if isinstance(cell, int | float) else ""


def _cell(cell: Cell) -> str:
    match cell:
        case CodeCell(text=text):
            return f"<td><code>{escape(text)}</code></td>"
        case Bar(parts=parts):
            inner = "".join(f'<i style="width: {100 * part:.1f}%; background: var(--{name})"></i>'
                            for part, name in zip(parts, ("then", "else"), strict=False))
            return f'<td><span class="bar">{inner}</span></td>'
        case str():
            return f"<td>{escape(cell)}</td>"
    return f"<td{_number(cell)}>{cell:,}</td>"
