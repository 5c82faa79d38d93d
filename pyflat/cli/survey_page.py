"""What a survey found as one HTML page, which needs nothing beside it."""

from __future__ import annotations

from html import escape
from string import Template
from typing import TYPE_CHECKING

from pyflat.cli.survey import by_module, cells, reason_text, shown_place

if TYPE_CHECKING:
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
