"""`pyflat survey PATH_OR_MODULE`: what pyflat would do for a library, as a table and a summary by reason.

Exit status: 0, whatever is refused; 2 when PATH_OR_MODULE names nothing.
`page`: the same as one HTML page, which needs nothing beside it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import click

from pyflat.cli.specs import BadSpec

if TYPE_CHECKING:
    from rich.console import Console

    from pyflat.inspection.survey import Row, Survey

_PAGE = Template("""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title: what flattens</title>
<style>
:root { color-scheme: light dark; --line: light-dark(#d8dce2, #3a3f47); --soft: light-dark(#59636e, #9aa4af);
  --flattens: light-dark(#1a7f37, #4ac26b); --refused: light-dark(#b3261e, #ff8a80);
  --timeout: light-dark(#9a6700, #e3b341); --bug: light-dark(#8250df, #c297ff); }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
code { font: 13px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
.bar { display: flex; height: .8rem; border-radius: .4rem; overflow: hidden; background: var(--line); }
.bar i { display: block; }
table { border-collapse: collapse; width: 100%; }
td, th { border-bottom: 1px solid var(--line); padding: .25rem .75rem .25rem 0; text-align: left; vertical-align: top; }
td:first-child { overflow-wrap: anywhere; }
th { color: var(--soft); font-weight: 500; }
.flattens { color: var(--flattens); } .refused { color: var(--refused); }
.timeout { color: var(--timeout); } .bug { color: var(--bug); }
small { color: var(--soft); }
summary { cursor: pointer; font-weight: 600; margin-top: 1rem; }
@media (max-width: 40rem) { td, th { display: block; border: 0; padding: 0; } tr { display: block;
  border-bottom: 1px solid var(--line); padding: .4rem 0; } thead { display: none; } }
</style>
</head>
<body>
<h1>$title</h1>
<p>$said</p>
<div class="bar">$bar</div>
$reasons
<h2>Functions</h2>
$modules
$left_out
</body>
</html>
""")


def page(found: Survey) -> str:
    """The page: the share, the reasons of refusals with counts, a table for each module, what was not tried."""
    counts = found.summary()
    kernels = counts["kernels"]
    said = f"{counts['flattens']} of {kernels} functions and methods flatten" + (
        f" ({counts['share']:.0%})" if kernels else "") + (" (cut by --limit)" if counts["cut"] else "") + (
        f"; {counts['proved']} of them proved" if any(row.proved for row in found.rows) else "")
    shares = ((verdict, counts[verdict]) for verdict in ("flattens", "refused", "timeout", "bug"))
    bar = "".join(f'<i title="{count} {verdict}" style="width:{100 * count / kernels:.2f}%;'
                  f'background:var(--{verdict})"></i>' for verdict, count in shares if count)
    return _PAGE.substitute(title=escape(found.place.title), said=escape(said), bar=bar, reasons=_reasons(found),
                            modules="\n".join(_module(*each, found) for each in by_module(found)),
                            left_out=_left_out(found))


def _reasons(found: Survey) -> str:
    rows = "".join(
        f"<tr><td>{each['count']}</td><td><code>{escape(each['code'])}</code></td>"
        f"<td>{escape(reason_text(each, found))}</td></tr>" for each in found.summary()["by_reason"])
    return rows and ("<h2>Why others do not</h2><table><thead><tr><th>functions</th><th>code</th><th>reason</th></tr>"
                     f"</thead><tbody>{rows}</tbody></table>")


def _module(name: str, rows: list[Row], found: Survey) -> str:
    flat = sum(row.verdict == "flattens" for row in rows)
    body = "".join(_row(row, found) for row in rows)
    return (f"<details open><summary>{escape(name)} <small>{flat} of {len(rows)}</small></summary><table><thead><tr>"
            "<th>function</th><th>verdict</th><th>how, or why not</th><th>where</th></tr></thead>"
            f"<tbody>{body}</tbody></table></details>")


def _row(row: Row, found: Survey) -> str:
    name, verdict, text, where = cells(row, found)
    help_text = f"<br><small>{escape(row.help)}</small>" if row.help else ""
    where = where or (shown_place(f"{row.file}:{row.line}", found) if row.file else "")
    return (f'<tr><td><code>{escape(name)}</code></td><td class="{row.verdict}">{escape(verdict)}</td>'
            f"<td>{escape(text)}{help_text}</td><td><small>{escape(where)}</small></td></tr>")


def _left_out(found: Survey) -> str:
    skipped = found.summary()["skipped"]
    items = "".join(f"<li>{count} {escape(reason)}</li>" for reason, count in skipped.items())
    return items and f"<h2>Not tried</h2><p>They do not look like functions of numbers:</p><ul>{items}</ul>"


_STYLE = {"flattens": "green", "refused": "red", "timeout": "yellow", "bug": "magenta"}


@click.command()
@click.argument("place", metavar="PATH_OR_MODULE")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout, nothing else.")
@click.option("--html", "html", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Also write a page.")
@click.option("--prove", is_flag=True,
              help="Also prove each twin with z3 (pip install '.[prove]' in a checkout).")
@click.option("--trust", is_flag=True,
              help="Also import tests, scripts and setup.py; let imports start programs and use the network.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Try at most N functions.")
@click.option("--timeout", type=click.FloatRange(min=0.1), default=5.0, show_default=True, metavar="S",
              help="Seconds of processor time per function.")
def survey(
    place: str, as_json: bool, html: Path | None, prove: bool, trust: bool, limit: int | None, timeout: float
) -> None:
    """Try to flatten every function that looks like one of numbers.

    Methods are tried, too. PATH_OR_MODULE is a file, a folder, a module or an installed package. Its modules are
    imported in a separate process, with all their side effects: survey only what you would import. Unless --trust is
    given, imports cannot start programs or use the network. The functions are not run.
    """
    from pyflat.inspection.prove import SECONDS
    from pyflat.inspection.survey import NoPlaceError
    from pyflat.inspection.survey import survey as look

    try:
        with _progress() as on_row:
            found = look(place, limit=limit, timeout=timeout, prove=SECONDS if prove else None, trust=trust,
                         on_row=on_row)
    except (NoPlaceError, ImportError) as error:
        raise BadSpec(str(error)) from None
    if html is not None:
        _write(html, found)
    if as_json:
        click.echo(json.dumps(found.as_dict(), indent=1))
    elif sys.stdout.isatty():
        _rich(found)
    else:
        click.echo("\n".join(lines(found)))


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[Row], None] | None]:
    """Which function is being tried, on stderr when that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("importing", total=None)
        yield lambda row: progress.update(task, advance=1, description=f"{row.module[-40:]} {row.function[-40:]}")


def _write(file: Path, found: Survey) -> None:

    try:
        file.write_text(page(found), encoding="utf-8")
    except OSError as error:
        raise click.FileError(str(file), error.strerror or str(error)) from None


# --- the table


def cells(row: Row, found: Survey) -> tuple[str, str, str, str]:
    """Function, verdict, options or reason, place."""
    name = row.function
    if row.verdict == "flattens":
        return name, "flattens", options(row), ""
    if row.verdict == "refused":
        reason = row.message + (f"  `{row.construct}`" if row.construct else "")
        return name, row.code.removeprefix("flatten/"), reason, shown_place(row.at, found)
    return name, row.verdict, row.message, ""


def options(row: Row) -> str:
    """With which kinds and static arguments a function flattens; "" for float lanes alone."""
    parts = [row.use] if row.use else []
    if row.static:
        names = ", ".join(repr(name) for name in row.static)
        parts.append(f"static=({names},), tried with {', '.join(f'{n}={row.fixed[n]}' for n in row.static)}")
    fixed = [f"{name}={value}" for name, value in row.fixed.items() if name not in row.static]
    if fixed:
        parts.append(", ".join(fixed))
    kinds = [f"{name}: {kind}" for name, kind in row.kinds.items() if kind != "float"]
    if kinds:
        parts.append(", ".join(kinds))
    if row.loop:
        parts.append("a loop stays a loop")
    if row.but:
        refused = (f"{call} ({code.removeprefix('flatten/')})" for call, code in row.but.items())
        parts.append("but not " + ", ".join(refused))
    if row.proved:
        parts.append(row.proved)
    return "; ".join(parts)


def shown_place(at: str, found: Survey) -> str:
    """file:line, the file relative to where the survey's modules are."""
    best = at
    for root in (*found.place.path, *sys.path):
        if root and at.startswith(root.rstrip(os.sep) + os.sep):
            best = min(best, at[len(root.rstrip(os.sep)) + 1:], key=len)
    return best


def by_module(found: Survey) -> list[tuple[str, list[Row]]]:
    """The rows of what was tried."""
    groups: dict[str, list[Row]] = {}
    for row in found.rows:
        if row.verdict not in ("skipped", "import-failed"):
            groups.setdefault(shown_place(row.module, found), []).append(row)
    return list(groups.items())


def _rich(found: Survey) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console: Console = Console()
    for module, rows in by_module(found):
        table = Table(title=module, title_justify="left", title_style="bold", expand=True, show_edge=False, box=None)
        for column, ratio in (("function", 3), ("verdict", 2), ("options / reason", 6), ("where", 3)):
            table.add_column(column, ratio=ratio, overflow="fold")
        for row in rows:
            name, verdict, text, where = cells(row, found)
            table.add_row(Text(name), Text(verdict, style=_STYLE.get(row.verdict, "")), Text(text), Text(where))
        console.print(table)
        console.print()
    console.print(Text("\n".join(summary(found))))


def lines(found: Survey) -> list[str]:
    """The table as plain text."""
    text = []
    for module, rows in by_module(found):
        text.append(module)
        made = [cells(row, found) for row in rows]
        name_width = min(40, max(len(row[0]) for row in made))
        verdict_width = max(len(row[1]) for row in made)
        for name, verdict, what, where in made:
            rest = "  ".join(part for part in (what, where) if part)
            text.append(f"  {name:{name_width}}  {verdict:{verdict_width}}  {rest}".rstrip())
        text.append("")
    return [*text, *summary(found)]


def summary(found: Survey) -> list[str]:
    """The counts by reason, and the share."""
    counts = found.summary()
    text = [f"{found.place.title}: {counts['flattens']} of {counts['kernels']} functions flatten"
            + (f" ({counts['share']:.0%})" if counts["kernels"] else "")
            + (" (cut by --limit)" if counts["cut"] else "")]
    for code, count in counts["by_code"].items():
        text.append(f"{count:5}  {code}")
        reasons = [r for r in counts["by_reason"] if r["code"] == code]
        text += [f"         {r['count']:3} {reason_text(r, found)}" for r in reasons[:5]]
        if len(reasons) > 5:
            text.append(f"             and {len(reasons) - 5} other reasons")
    if any(row.proved for row in found.rows):
        text.append(f"{counts['proved']:5}  proved by z3")
    for verdict in ("timeout", "bug"):
        if counts[verdict]:
            text.append(f"{counts[verdict]:5}  {verdict}")
    text += _not_imported(found)
    skipped = counts["skipped"]
    if skipped:
        text.append(f"{sum(skipped.values()):5}  not tried, because they do not look like functions of numbers")
        text += [f"         {count:3} {reason}" for reason, count in skipped.items()]
    if counts["by_code"]:
        text.append("`pyflat codes CODE` explains a code; `pyflat show module:function` shows the whole message.")
    return text


def reason_text(reason: dict[str, Any], found: Survey) -> str:
    """A reason, with its place where it is the same for several functions: a helper that they call."""
    if reason["count"] == 1 or not reason["at"]:
        return str(reason["message"])
    return f"{reason['message']}  `{reason['construct']}`  {shown_place(reason['at'], found)}"


def _not_imported(found: Survey) -> list[str]:
    modules: dict[str, list[str]] = {}
    for row in found.rows:
        if row.verdict == "import-failed":
            modules.setdefault(row.message, []).append(row.module)
    if not modules:
        return []
    text = [f"{sum(map(len, modules.values())):5}  modules cannot be imported"]
    for message, names in modules.items():
        shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        text.append(f"         {len(names):3} {message[:100]} ({shown})")
    return text
