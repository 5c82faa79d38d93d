"""What made a function large: the loops and helpers that most of its operations come from, for `flatten/too-large`."""

from __future__ import annotations

import ast
import linecache
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pyflat.errors import FlattenError, Note, Span, refuse
from pyflat.ir.nodes import Origin

MOST = 3
"""Loops and helpers that a refusal names."""

_LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.Lambda)
_OTHER_HELP = "shorten the loop, or flatten the inner function on its own"


_Counts = Counter[tuple[Span, int]]
"""Operations by their place and the frame that they were inlined for."""


class _LargePart(NamedTuple):
    """A loop or a function of the source."""

    span: Span
    is_loop: bool
    function: str
    """Its name, or that of the function around it."""


def too_large(message: str, origins: Iterable[Origin | None], span: Span | None = None, *,
              other: str = "") -> FlattenError:
    """The refusal of operations that come from these places; `other` is what helps besides."""
    counts = Counter((origin.span, origin.frame) for origin in origins if origin and origin.span)
    grouped = _grouped(counts)
    largest = sorted(grouped.items(), key=lambda each: -sum(each[1].values()))[:MOST]
    notes = tuple(Note(_sentence(part, found), part.span) for part, found in largest)
    help = "; ".join([*_help([part for part, _ in largest]), *([other] if other else [])])
    return refuse("flatten/too-large", message, span, notes=notes, help=help or _OTHER_HELP)


def _grouped(counts: _Counts) -> dict[_LargePart, _Counts]:
    """The operations of each innermost loop or function."""
    parts = {file: _parts(file) for file in {span.file for span, _ in counts}}
    found: dict[_LargePart, _Counts] = {}
    known: dict[Span, _LargePart | None] = {}
    for (span, frame), count in counts.items():
        if span not in known:
            around = [part for part in parts[span.file] if _inside(span, part.span)]
            known[span] = around[-1] if around else None
        if (part := known[span]) is not None:
            found.setdefault(part, Counter())[span, frame] += count
    return found


def _inside(inner: Span, outer: Span) -> bool:
    return (outer.line, outer.column) <= (inner.line, inner.column) < (outer.end_line, outer.end_column)


def _parts(file: str) -> list[_LargePart]:
    """The loops and functions of a file, the outer ones first."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found: list[_LargePart] = []
    waiting: list[tuple[ast.AST, str]] = [(tree, "")]
    while waiting:
        above, function = waiting.pop()
        for node in ast.iter_child_nodes(above):
            name = function
            if isinstance(node, _FUNCTIONS):
                name = getattr(node, "name", "lambda")
            if isinstance(node, (*_LOOPS, *_FUNCTIONS)):
                span = Span(file, node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
                found.append(_LargePart(span, isinstance(node, _LOOPS), name))
            waiting.append((node, name))
    return sorted(found, key=lambda part: (*part.span[1:3], -part.span.end_line, -part.span.end_column))


def _sentence(part: _LargePart, found: _Counts) -> str:
    calls = len({frame for _, frame in found})
    often = f", inlined {calls:,} times" if calls > 1 else ""
    if not part.is_loop:
        return f"{sum(found.values()):,} operations are those of {part.function}{often}"
    places: Counter[Span] = Counter()
    for (span, _), count in found.items():
        places[span] += count
    (place, most), = places.most_common(1)
    return (f"{sum(found.values()):,} operations are those of a loop in {part.function}{often}; "
            f"`{_text(place)}` is {most:,} of them")


def _text(span: Span) -> str:
    line = linecache.getline(span.file, span.line).rstrip("\n")
    return line[span.column:span.end_column if span.end_line == span.line else None].strip()


def _help(parts: Sequence[_LargePart]) -> list[str]:
    has_loop = any(part.is_loop for part in parts)
    first = ['loops="masked" keeps a loop whose body needs no known index'] if has_loop else []
    in_a_loop = "" if has_loop else ', or in a loop with loops="masked"'
    return first + [f"call {part.function} fewer times{in_a_loop}, or pass its results as arguments"
                    for part in parts if not part.is_loop]
