"""Where the text of a function stands in its file or notebook cell (through `inspect` and `linecache`)."""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import types
import warnings
from typing import NamedTuple


class TextBlock(NamedTuple):
    """A text that may be the function's: of a def with its indentation; of a lambda the expression alone."""

    text: str
    first_line: int
    column: int = 0
    """Where a lambda starts, in characters."""
    offset: int = 0
    """Where a lambda starts, in bytes, as code objects have it."""

    def in_parentheses(self, column: int) -> str:
        """A lambda as a statement. It may span lines: the parentheses stand on lines of their own."""
        return f"(\n{' ' * column}{self.text}\n)\n"


def file_lines(fn: types.FunctionType) -> list[str]:
    """The lines of the function's file as they are now."""
    linecache.checkcache(fn.__code__.co_filename)
    return linecache.getlines(fn.__code__.co_filename, fn.__globals__)


def find_def(fn: types.FunctionType, lines: list[str]) -> TextBlock:
    """The def at the function's first line. Raises OSError, TypeError, IndentationError or SyntaxError where there is
    none."""
    found, first = _block(fn, lines) or inspect.getsourcelines(fn.__code__)
    return TextBlock("".join(found), first)


def find_lambdas(line: int, lines: list[str]) -> list[TextBlock]:
    """The lambdas that start in this line. Raises SyntaxError."""
    text = "".join(lines)
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Lambda) and node.lineno == line:
            column = len(lines[node.lineno - 1].encode()[: node.col_offset].decode())
            segment = ast.get_source_segment(text, node)
            assert segment is not None
            found.append(TextBlock(segment, node.lineno, column, node.col_offset))
    return found


def definitions(code: types.CodeType, text: str) -> list[TextBlock]:
    """All defs of the code's name in a text, with their decorators, or all lambdas."""
    lines = text.splitlines(keepends=True)
    tree = list(ast.walk(ast.parse(text)))
    if code.co_name == "<lambda>":
        starts = sorted({node.lineno for node in tree if isinstance(node, ast.Lambda)})
        return [found for line in starts for found in find_lambdas(line, lines)]
    found = []
    for node in tree:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            found.append(TextBlock("".join(lines[first - 1:node.end_lineno]), first))
    return found


_STARTS = re.compile(r"\s*(@|def\s|async\s+def\s)")


def _block(fn: types.FunctionType, lines: list[str]) -> tuple[list[str], int] | None:
    """What inspect.getsourcelines finds in most cases. To be told a code object's module, it looks at the path of every
    module there is: 50 ms in the first call of a process."""
    first = fn.__code__.co_firstlineno
    if not 1 <= first <= len(lines) or not _STARTS.match(lines[first - 1]):
        return None
    below = lines[first - 1:]
    return _indented(below) or inspect.getblock(below), first


def _indented(lines: list[str]) -> list[str] | None:
    """What inspect.getblock finds, without its tokens: a def and the lines below that stand farther in. None where the
    block may end elsewhere: a line in a string or between brackets can stand anywhere (the text up to there does not
    parse), one after a backslash too, and a comment below the last statement belongs to the def or not."""
    start = 0
    while lines[start].lstrip().startswith("@") and start + 1 < len(lines):
        start += 1
    margin = _margin(lines[start])
    end = start + 1
    for number, line in enumerate(lines[end:], end):
        text = line.strip()
        inside = _margin(line) > margin
        if text and not inside and not text.startswith("#"):
            break
        if text and inside:
            end = number + 1
    block = lines[:end]
    text = "".join(block)
    if end == start + 1 or block[-1].lstrip().startswith("#") or any(c in text for c in "\\\t\f"):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:  # code takes a quarter of the memory of Python's tree
            compile(f"if True:\n{text}" if margin else text, "<block>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
    return block


def is_indented(text: str) -> bool:
    """Whether the first line stands farther in than a module's: a form feed counts columns anew."""
    space = text[:_margin(text)]
    return space.rpartition("\f")[2] != ""


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip())
