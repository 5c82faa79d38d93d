"""pyflat's docstrings as markup. They are plain text: `code` in backquotes, names in a column with what they mean
beside them, indented blocks of code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import cleandoc

ENTRY = re.compile(r"^(\w+) {2,}(\S.*)$")


def entry_of(line: str, margin: int) -> tuple[str, str, int] | None:
    """The name that a line begins with, what it says, and where that begins; `margin` is where others began."""
    found = ENTRY.match(line)
    if found:
        return found[1], found[2], found.start(2)
    if margin and re.fullmatch(r"\w+ ", line[:margin]):
        return line[:margin].rstrip(), line[margin:], margin
    return None


def entries(text: str) -> dict[str, str]:
    """The names that a docstring explains, with what it says of each."""
    found: dict[str, str] = {}
    name, margin = "", 0
    for line in cleandoc(text).splitlines():
        entry = entry_of(line, margin)
        if entry:
            name, found[entry[0]], margin = entry[0], entry[1], entry[2]
        elif name and line[:margin].isspace():
            found[name] += f" {line.strip()}"
        else:
            name = ""
    return found


def summary(text: str | None) -> str:
    """The first sentence."""
    paragraph = " ".join(cleandoc(text or "").partition("\n\n")[0].split())
    return re.split(r"(?<=[^.][.?!]) (?=[A-Z`])|: (?=`|raise |what )|(?<=\w);", paragraph)[0].rstrip(".:") + "."


def restructured(lines: list[str]) -> list[str]:
    """The same for autodoc."""
    return list(_restructured(lines))


def _restructured(lines: list[str]) -> Iterator[str]:
    margin, code = 0, False
    for number, line in enumerate(lines):
        entry = entry_of(line, margin)
        after_blank = number > 0 and not lines[number - 1].strip()
        if entry:
            yield from ("", f"``{entry[0]}``", f"    {_marked(entry[1])}")
            margin = entry[2]
        elif margin and line[:margin].isspace() and line.strip():
            yield f"    {_marked(line.strip())}"
        elif line.startswith("    ") and (code or after_blank) and not line.lstrip().startswith(">>>"):
            if not code:
                yield from ("::", "")
            code, margin = True, 0
            yield line
        else:
            code, margin = code and not line.strip(), margin if line.strip() == "" else 0
            yield line if line.lstrip().startswith(">>>") else _marked(line)


def _marked(text: str) -> str:
    """Code between backquotes is a literal, a path of a page a link; stars and underscores are themselves."""
    parts = re.split(r"(``.*?``|`[^`]*`)", text)
    shown = "".join(_literal(part) if part.startswith("`") else _escaped(part) for part in parts)
    return re.sub(r"docs/([\w/-]+)\.md", r":doc:`/\1`", shown)


def _escaped(text: str) -> str:
    return re.sub(r"([*\\|]|_(?=\W|$))", r"\\\1", text)


def _literal(part: str) -> str:
    return part if part.startswith("``") else f"`{part}`"
