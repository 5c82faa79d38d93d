"""The spelling of a captured text: what the parser needs, and what Python makes of identifiers.

Python's own parser takes `x if(a)else y`, LibCST does not take all of that: such texts get their spaces. Python takes
identifiers in their normal form (NFKC), and private names `__x` in a class C as `_C__x`; the tree gets these names, so
that whoever reads it meets the names that the function has.
"""

from __future__ import annotations

import io
import keyword
import re
import tokenize
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping

import libcst as cst

Inserted = Mapping[int, list[int]]
"""Line -> the columns of the original text before which a space was put."""
_PRIVATE = re.compile(r"\b__\w")


# --- spaces
def spaced(text: str) -> tuple[str, Inserted]:
    """The text with a space on both sides of each keyword, and without form feeds before statements. Raises
    tokenize.TokenError or SyntaxError where it has no tokens."""
    lines = list(io.StringIO(text))  # splitlines would split at form feeds too
    inserted: dict[int, set[int]] = {}
    starts: set[int] = set()
    before = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        row, column = token.start
        if before is not None and before.end == token.start and before.string.strip() and token.string.strip() and (
                keyword.iskeyword(before.string) or keyword.iskeyword(token.string)):
            inserted.setdefault(row, set()).add(column)
        if before is None or before.end[0] < row:
            starts.add(row)
        before = token
    return "".join(_with_spaces(line, sorted(inserted.get(row, ())), row in starts)
                   for row, line in enumerate(lines, 1)), {row: sorted(found) for row, found in inserted.items()}


def _with_spaces(line: str, columns: list[int], is_start: bool) -> str:
    parts = [line[a:b] for a, b in zip([0, *columns], [*columns, len(line)], strict=True)]
    text = " ".join(parts)
    margin = len(text) - len(text.lstrip(" \t\f"))
    return text[:margin].rpartition("\f")[2] + text[margin:] if is_start else text


def without_spaces(column: int, inserted: list[int]) -> int:
    """The column in the original text of a line into which spaces were put."""
    shifted = [before + k for k, before in enumerate(inserted)]
    return column - bisect_right(shifted, column - 1)


# --- identifiers
def name_as_python(module: cst.Module, text: str, private: str | None) -> bool:
    """Gives the identifiers of a tree the names that Python has for them, in place: the nodes stay the keys of their
    positions. `private` is the class in which the text stands. Whether there was any."""
    owner = private.lstrip("_") if private is not None else ""
    if text.isascii() and not (owner and _PRIVATE.search(text)):
        return False
    public: set[cst.CSTNode | None] = set()  # keywords of calls and class patterns, and what is imported by a path
    renamed = False
    for node in nodes_in(module):
        match node:
            case cst.Arg():
                public.add(node.keyword)
            case cst.MatchKeywordElement():
                public.add(node.key)
            case cst.ImportAlias():
                public.update(_path(node.name))
            case cst.ImportFrom():
                public.update(_path(node.module))
            case cst.Name():
                name = unicodedata.normalize("NFKC", node.value)
                if owner and name.startswith("__") and not name.endswith("__") and node not in public:
                    name = f"_{owner}{name}"
                if name != node.value:
                    object.__setattr__(node, "value", name)
                    renamed = True
    return renamed


def _path(node: cst.CSTNode | None) -> Iterator[cst.CSTNode]:
    """The names of a path with dots; none of one without."""
    while isinstance(node, cst.Attribute):
        yield node.attr
        node = node.value
        yield node


# --- what is in a tree
def nodes_in(node: cst.CSTNode, closed: type | tuple[type, ...] = ()) -> Iterator[cst.CSTNode]:
    """A node and all below it, in the order of the source; nothing inside of the `closed`. (libcst.matchers, which can
    say this too, takes a tenth of a second to import.)"""
    todo = [node]
    while todo:
        found = todo.pop()
        yield found
        if not isinstance(found, closed):
            todo += reversed(found.children)


def names_in(node: cst.CSTNode) -> Iterator[str]:
    """The names that are read or bound in a piece of source, in its order."""
    return (found.value for found in nodes_in(node) if isinstance(found, cst.Name))
