"""What a printed twin says of the lanes that it does not answer for, and its test for them beside it."""

from __future__ import annotations

import linecache
import os

from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import TRIP_LIMIT, Function

MOST = 20
"""Places that are named."""
WIDTH = 100


def with_fault_notes(text: str, flat: Function) -> str:
    """The text with a comment, below its title, of where `flat` may raise; the text itself where it cannot."""
    places = _places(flat)
    if not places:
        return text
    notes = ["# not for lanes in which the original raises, or an int leaves 64 bits, in"]
    notes += [f"#   {place}" for place in places[:MOST]]
    if len(places) > MOST:
        notes.append(f"#   and {len(places) - MOST} more places")
    lines = text.split("\n")
    end = next(k for k, line in enumerate(lines) if not line.startswith("#"))
    return "\n".join([*lines[:end], *notes, *lines[end:]])


def _places(flat: Function) -> list[str]:
    """Exception, line and its text, once each and in the order of the program."""
    found: dict[str, None] = {}
    for op in all_ops(flat.body):
        if op.opcode != "fault" or (fault := op.attr("fault")) == TRIP_LIMIT:
            continue
        span = fault.span or op.span
        where = "" if span is None else f"{os.path.basename(span.file)}:{span.line}"
        line = "" if span is None else linecache.getline(span.file, span.line).strip()
        found[f"{where}  {fault.type}: {line}"[:WIDTH].strip(": ")] = None
    return list(found)


def beside(text: str, test: str) -> str:
    """Two modules as one: the imports and constants of both, and both functions."""
    _, first, function = _taken_apart(text)
    title, _, _ = _taken_apart(text)
    _, second, other = _taken_apart(test)
    more = [line for line in second if line not in first]
    return "\n".join([*title, *first, *more, *([""] * bool(more)), *function, "", *other])


def _taken_apart(text: str) -> tuple[list[str], list[str], list[str]]:
    """The comment at the top, imports and constants, the function with its decorator."""
    lines = text.rstrip("\n").split("\n")
    top = next(k for k, line in enumerate(lines) if not line.startswith("#"))
    start = next(k for k, line in enumerate(lines) if line.startswith(("@", "def ")))
    return lines[:top], lines[top:start], [*lines[start:], ""]
