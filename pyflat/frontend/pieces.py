"""A long function is read in pieces. LibCST has the text in a tree of its own before it makes its nodes: some 12 KiB a
line, ten times what the nodes take, and nearly half of the time.

A piece is a group of whole statements of the function's body: the first one with what stands above the body, each
other one below a line `if True:`. The statements of all pieces are the body of the first one's function.
"""

from __future__ import annotations

import ast
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import libcst as cst

from pyflat.functions.locks import brief

LINES = 200
"""Lines of a piece, or more where it cannot end there."""

SHORT = 400
"""A text of so many characters is parsed where it is: it nests no deeper, and so takes at most half a MiB of stack."""

_STACK = 64 * 2**20
_DEF = re.compile(r"([ \t]*)(?:async[ \t]+)?def\b")
_STATEMENT = re.compile(r"(?!(?:else|elif|except|finally)\b)[^\s#)\]}]")
R = TypeVar("R")


class TextPiece(NamedTuple):
    """A text that parses alone, if the whole does, and its first construct that nests too deep, at its place in the
    whole text."""

    text: str
    deep: TextPlace | None


# --- cutting
def cut(text: str) -> Iterator[TextPiece]:
    """The pieces of a text, one where it is short or no function. None ends within a string, brackets or a statement
    with a block: it would not parse alone."""
    if len(text) <= MAX_NESTING:
        yield TextPiece(text, None)
        return
    lines = text.split("\n")
    first, wanted = 0, LINES
    above: list[str] = []
    margins = _margins(lines) if len(lines) > 2 * LINES and "\r" not in text and "\f" not in text else ("", "")
    for line in _starts(lines, margins[1]):
        if line - first < wanted:
            continue
        piece = "\n".join([*above, *lines[first:line], ""])
        try:
            deep = too_deep(piece)
        except SyntaxError:
            wanted = 2 * (line - first)
            continue
        yield TextPiece(piece, deep and deep.moved(first - len(above)))
        first, wanted, above = line, LINES, _above(margins[0])
    piece = "\n".join([*above, *lines[first:]])
    try:
        deep = too_deep(piece)
    except SyntaxError:
        deep = None
    yield TextPiece(piece, deep and deep.moved(first - len(above)))


def _margins(lines: Sequence[str]) -> tuple[str, str]:
    """Those of the function and of its body; no text where there is none."""
    heads = ((number, found[1]) for number, line in enumerate(lines) if (found := _DEF.match(line)))
    number, outer = next(heads, (len(lines), ""))
    inner = {line[:len(line) - len(line.lstrip())] for line in lines[number + 1:] if line.strip()}
    return outer, min((margin for margin in inner if len(margin) > len(outer)), key=len, default="")


def _starts(lines: Sequence[str], margin: str) -> Iterator[int]:
    """The lines that may begin a statement of the body, below one with code: empty lines and comments may belong to
    what is above them or below."""
    if not margin:
        return
    for number, (before, line) in enumerate(pairwise(lines), 1):
        if line.startswith(margin) and _STATEMENT.match(line, len(margin)) and before.strip() \
                and not before.lstrip().startswith("#"):
            yield number


def _above(margin: str) -> list[str]:
    """The lines that a piece stands below."""
    return ["if True:", f"{margin}if True:"] if margin else ["if True:"]


# --- parsing
def parse(pieces: Sequence[str]) -> cst.Module:
    """`cst.parse_module` of the text that the pieces are from; of all but short texts on a thread with stack enough for
    what `too_deep` lets through."""
    if len(pieces) == 1 and len(pieces[0]) <= SHORT:
        return cst.parse_module(pieces[0])
    return _on_a_large_stack(lambda: _joined(list(map(cst.parse_module, pieces))))


def _joined(modules: Sequence[cst.Module]) -> cst.Module:
    """The first of the modules, whose function has the statements of all."""
    first, last = modules[0], modules[-1]
    if first is last:
        return first
    levels = 1 if isinstance(first.body[0], cst.FunctionDef) else 2
    inner = [_blocks(module, levels)[-1] for module in modules]
    object.__setattr__(inner[0], "body", tuple(statement for block in inner for statement in block.body))
    for owner, end in zip([first, *_blocks(first, levels)], [last, *_blocks(last, levels)], strict=True):
        object.__setattr__(owner, "footer", end.footer)
    object.__setattr__(first, "has_trailing_newline", last.has_trailing_newline)
    return first


def _blocks(module: cst.Module, levels: int) -> list[Any]:
    """The blocks of the statements that everything else stands in, from outside."""
    found: list[Any] = [module]
    for _ in range(levels):
        found.append(found[-1].body[0].body)
    return found[1:]


def _on_a_large_stack(make: Callable[[], R]) -> R:
    found: list[R] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            found.append(make())
        except BaseException as error:  # noqa: BLE001 - raised in the calling thread
            raised.append(error)

    thread = threading.Thread(target=run, name="pyflat-parse")
    with brief:
        size = threading.stack_size(_STACK)
        try:
            thread.start()
        finally:
            threading.stack_size(size)
    thread.join()
    if raised:
        raise raised[0]
    return found[0]


# --- how deep a text nests
MAX_NESTING = 1_200
"""Levels of statements and expressions inside each other; `a + b + c` are two."""

_SHORT_STATEMENT = MAX_NESTING // 8
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
    the text does not parse.

    LibCST's parser recurses on the C stack, some 2 kB for each level, and its memory grows with the square of the
    nesting: 1.4 GB for 5,000 minus signs in a row. Python's own parser has bounds.
    """
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
        (node.end_col_offset or _SHORT_STATEMENT) - node.col_offset < _SHORT_STATEMENT)
