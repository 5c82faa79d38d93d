"""How deep the text of a function nests, asked before LibCST reads it.

LibCST's parser recurses on the C stack, some 2 kB for each level, and its memory grows with the square of the nesting:
1.4 GB for 5,000 minus signs in a row. Python's own parser has bounds.
"""

from __future__ import annotations

import ast
import threading
from typing import NamedTuple

import libcst as cst

from pyflat.functions.locks import brief

MAX_NESTING = 1_200
"""Levels of statements and expressions inside each other; `a + b + c` are two."""

SHORT = 400
"""A text of so many characters is parsed where it is: it nests no deeper, and so takes at most half a MiB of stack."""

_STACK = 64 * 2**20


class Place(NamedTuple):
    """Where a text nests deeper than `MAX_NESTING`: 1-based lines, 0-based columns, within the text."""

    line: int
    column: int
    end_line: int
    end_column: int


def too_deep(text: str) -> Place | None:
    """The first construct that lies deeper than `MAX_NESTING`; None where there is none, or no tree to tell."""
    if len(text) <= MAX_NESTING:
        return None
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    except (RecursionError, MemoryError):
        return Place(1, 0, 1, 0)
    level: list[ast.AST] = [tree]
    for _ in range(MAX_NESTING):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return None
    node = next((node for node in level if isinstance(node, ast.expr | ast.stmt)), None)
    if node is None:
        return None
    return Place(node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)


def parse_module(text: str) -> cst.Module:
    """`cst.parse_module`; of all but short texts on a thread with stack enough for what `too_deep` lets through."""
    if len(text) <= SHORT:
        return cst.parse_module(text)
    found: list[cst.Module | BaseException] = []

    def parse() -> None:
        try:
            found.append(cst.parse_module(text))
        except BaseException as error:  # noqa: BLE001 - raised in the calling thread
            found.append(error)

    thread = threading.Thread(target=parse, name="pyflat-parse")
    with brief:
        size = threading.stack_size(_STACK)
        try:
            thread.start()
        finally:
            threading.stack_size(size)
    thread.join()
    (result,) = found
    if isinstance(result, BaseException):
        raise result
    return result
