"""How deep the text of a function nests, asked before LibCST reads it.

LibCST's parser recurses on the C stack, some 2 kB for each level, and its memory grows with the square of the nesting:
1.4 GB for 5,000 minus signs in a row. Python's own parser has bounds.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

MAX_NESTING = 1_200
"""Levels of statements and expressions inside each other; `a + b + c` are two."""

SHORT = MAX_NESTING // 8
"""A statement of so many characters in one line nests no deeper than half of that."""


class TextPlace(NamedTuple):
    """Where a text nests deeper than `MAX_NESTING`: 1-based lines, 0-based columns, within the text."""

    line: int
    column: int
    end_line: int
    end_column: int

    def moved(self, lines: int) -> TextPlace:
        return self._replace(line=self.line + lines, end_line=self.end_line + lines)


def too_deep(text: str) -> TextPlace | None:
    """The first construct that lies deeper than `MAX_NESTING`; None where there is none. SyntaxError, ValueError where
    the text does not parse."""
    try:
        tree = ast.parse(text)
    except (RecursionError, MemoryError):
        return TextPlace(1, 0, 1, 0)
    level: list[ast.AST] = [tree]
    for depth in range(MAX_NESTING):
        level = [child for node in level for child in ast.iter_child_nodes(node)
                 if depth > MAX_NESTING // 2 or not _is_short(child)]
        if not level:
            return None
    node = next((node for node in level if isinstance(node, ast.expr | ast.stmt)), None)
    if node is None:
        return None
    return TextPlace(node.lineno, node.col_offset,
                     node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)


def _is_short(node: ast.AST) -> bool:
    return isinstance(node, ast.stmt) and node.lineno == node.end_lineno and (
        (node.end_col_offset or SHORT) - node.col_offset < SHORT)
