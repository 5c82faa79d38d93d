"""A report as HTML: a page that needs nothing beside it, and a fragment for notebooks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from itertools import count
from keyword import kwlist
from string import Template

from pyflat.inspection.report import Report, ReportLine, ReportPart

_STYLE = """
.pyflat-report { --line: color-mix(in srgb, currentColor 20%, transparent);
  --soft: color-mix(in srgb, currentColor 65%, transparent); --heat: #e8930c;
  --mark: color-mix(in srgb, #ffb020 25%, transparent); --bad: #dc4c41; --good: #2f9e4f; --blue: #3b82f6;
  font: 15px/1.45 system-ui, sans-serif; text-align: left; }
.pyflat-report .sides { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 1.5rem; }
.pyflat-report .side { overflow-x: auto; border: 1px solid var(--line); border-radius: .4rem; padding: .5rem 0; }
.pyflat-report .row { display: flex; gap: .75rem; padding: 0 .75rem; font: 13px/1.5 ui-monospace, monospace;
  white-space: pre; min-width: max-content; text-decoration: none; color: inherit; }
.pyflat-report .row .n { color: var(--soft); min-width: 2.5em; text-align: right; user-select: none; }
.pyflat-report .row .s { color: var(--soft); min-width: 2.75em; text-align: right; user-select: none; }
.pyflat-report .remark { padding: 0 .75rem 0 7rem; font-size: 13px; color: var(--soft); }
.pyflat-report .remark b { font-weight: 600; }
.pyflat-report .fault b, .pyflat-report .refused b { color: var(--bad); }
.pyflat-report .select b, .pyflat-report .branch b, .pyflat-report .loop b { color: var(--blue); }
.pyflat-report .call b, .pyflat-report .array b { color: var(--good); }
.pyflat-report .tc { color: var(--soft); font-style: italic; }
.pyflat-report .tk { color: color-mix(in srgb, currentColor 35%, #a43cc9); }
.pyflat-report .tq { color: color-mix(in srgb, currentColor 35%, #2f9e4f); }
.pyflat-report .td { color: color-mix(in srgb, currentColor 35%, #2f74d0); }
.pyflat-report .gone-line { opacity: .55; }
.pyflat-report .refused-line { outline: 1px solid var(--bad); outline-offset: -1px; }
.pyflat-report .on { background: var(--mark) !important; }
.pyflat-report .twin { position: sticky; top: 0; align-self: start; }
.pyflat-report h3 { margin: 1rem 0 .4rem; font-size: 15px; } .pyflat-report small { color: var(--soft); }
.pyflat-report pre.more { overflow-x: auto; font: 13px/1.5 ui-monospace, monospace; }
.pyflat-report summary { cursor: pointer; }
@media (max-width: 60rem) { .pyflat-report .twin { position: static; }
  .pyflat-report .sides { grid-template-columns: minmax(0, 1fr); } }
"""

_SCRIPT = """
(root => {
  const light = (key, on) => root.querySelectorAll('[data-' + key[0] + '~="' + key.slice(1) + '"]')
    .forEach(row => row.classList.toggle('on', on));
  root.querySelectorAll('.row[data-links]').forEach(row => {
    const keys = row.dataset.links.split(' ').filter(Boolean);
    for (const [name, on] of [['mouseenter', true], ['mouseleave', false], ['focus', true], ['blur', false]])
      row.addEventListener(name, () => { keys.forEach(key => light(key, on)); row.classList.toggle('on', on); });
  });
})(document.getElementById('$identity'));
"""

_PAGE = Template("""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$name: report</title>
<style>:root { color-scheme: light dark; } body { margin: 1.5rem auto; padding: 0 1rem; max-width: 100rem; }</style>
</head>
<body>
$fragment
</body>
</html>
""")

_numbers = count()
_STRING = r"""(?P<q>\'\'\'|\"{3}|'|")(?:\\.|(?!(?P=q))[\s\S])*(?P=q)"""
_TOKENS = re.compile(rf"(?P<tc>#.*)|(?P<tq>{_STRING})|\b(?:(?P<tk>{'|'.join(kwlist)})|(?P<td>\d[\w.]*))\b")
_WORDS = {"select": "select", "branch": "branch", "loop": "loop", "call": "function", "array": "array",
          "fault": "error", "refused": "refused"}


def _coloured(lines: Sequence[str]) -> list[str]:
    """Lines of Python as HTML, with comments, strings, keywords and numbers marked."""
    text, shown, end = "\n".join(lines), "", 0
    for token in _TOKENS.finditer(text):
        parts = (f'<span class="{token.lastgroup}">{escape(part)}</span>' for part in token[0].split("\n"))
        shown, end = shown + escape(text[end:token.start()]) + "\n".join(parts), token.end()
    return (shown + escape(text[end:])).split("\n") if lines else []


def page(found: Report) -> str:
    """The page."""
    return _PAGE.substitute(name=escape(found.name), fragment=fragment(found))


def fragment(found: Report) -> str:
    """The report for a place inside of a page: with its own style and script, under a name of its own."""
    identity = f"pyflat-report-{next(_numbers)}"
    facts = "".join(f"<li>{escape(fact)}</li>" for fact in found.facts)
    source = "".join(_part(identity, part) for part in found.parts)
    back = _back(found)
    text = "".join(_text_row(identity, number, line, back.get(number, []))
                   for number, line in enumerate(_coloured(found.text)))
    twin = f'<div class="twin"><h3>Generated twin</h3><div class="side">{text}</div></div>' if text else ""
    counted = any(line.share for part in found.parts for line in part.lines)
    legend = "" if found.refused else (
        f"<p><small>{'Lines are coloured by their share of the cost. ' if counted else ''}Grey lines generate no code. "
        "Point at a line to see what belongs to it.</small></p>")
    what = "The whole message" if found.refused else "The output of explain()"
    more = f'<details><summary>{what}</summary><pre class="more">{escape(found.more)}</pre></details>'
    script = _SCRIPT.replace("$identity", identity)
    return (f'<div class="pyflat-report" id="{identity}"><style>{_STYLE}</style>'
            f"<h2>{escape(found.name)} <small>{escape(found.title)}</small></h2><ul>{facts}</ul>{legend}"
            f'<div class="sides"><div>{source}</div>{twin}</div>{more}<script>{script}</script></div>')


def _back(found: Report) -> dict[int, list[str]]:
    """Lines of the twin -> the source lines' names."""
    back: dict[int, list[str]] = {}
    for part in found.parts:
        for line in part.lines:
            for number in line.linked:
                back.setdefault(number, []).append(_key(part, line))
    return back


def _key(part: ReportPart, line: ReportLine) -> str:
    """Names a line of source on its page."""
    return f"{part.name.replace('.', '-').replace('<', '').replace('>', '')}-{line.number}"


def _part(identity: str, part: ReportPart) -> str:
    texts = _coloured([line.text for line in part.lines])
    rows = "".join(_source_row(identity, part, line, text) for line, text in zip(part.lines, texts, strict=True))
    return (f"<h3>{escape(part.name)} <small>{escape(part.file)}</small></h3>"
            f'<div class="side">{rows or "<p>its source cannot be read</p>"}</div>')


def _source_row(identity: str, part: ReportPart, line: ReportLine, text: str) -> str:
    sorts = {remark.sort for remark in line.remarks}
    classes = ["row", *(f"{sort}-line" for sort in ("gone", "refused") if sort in sorts)]
    heat = f"color-mix(in srgb, var(--heat) {min(85, 8 + 100 * line.share):.0f}%, transparent)"
    style = f' style="background: {heat}"' if line.share >= 0.005 else ""
    links = " ".join(f"t{number}" for number in line.linked)
    share = f"{line.share:.0%}" if line.share >= 0.005 else ""
    target = f' href="#{identity}-t{line.linked[0]}"' if line.linked else ""
    remarks = "".join(f'<div class="remark {remark.sort}"><b>{_WORDS[remark.sort]}</b> {escape(remark.text)}</div>'
                      for remark in line.remarks if remark.sort != "gone")
    title = "".join(f' title="{escape(remark.text)}"' for remark in line.remarks if remark.sort == "gone")
    key = _key(part, line)
    tag = "a" if target else "div"
    return (f'<{tag} class="{" ".join(classes)}" id="{identity}-{key}" data-s="{key}" data-links="{links}"'
            f'{target}{title}{style}><span class="n">{line.number}</span><span class="s">{share}</span>'
            f"<span>{text or ' '}</span>"
            f"</{tag}>{remarks}")


def _text_row(identity: str, number: int, text: str, back: list[str]) -> str:
    links = " ".join(f"s{key}" for key in back)
    target = f' href="#{identity}-{back[0]}"' if back else ""
    tag = "a" if target else "div"
    return (f'<{tag} class="row" id="{identity}-t{number}" data-t="{number}" data-links="{links}"{target}>'
            f'<span class="n">{number + 1}</span><span>{text or " "}</span></{tag}>')
