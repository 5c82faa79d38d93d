"""Live function -> its LibCST tree with source positions, and what its names are bound to.

The text comes from the file or notebook cell that defined the function (through `inspect` and `linecache`). Only the
function's own lines are parsed, so that capturing from a large module stays cheap.
"""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import re
import textwrap
import threading
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from pyflat.errors import FlattenError, Span, refuse

Tree = cst.FunctionDef | cst.Lambda


@dataclass(eq=False)
class Captured:
    """The tree of one function. Positions are those of the defining file."""

    name: str
    file: str
    first_line: int
    source: str
    """Dedented text of the definition, decorators included."""
    tree: Tree
    module: cst.Module
    code: types.CodeType | None
    _indent: int = 0
    _positions: dict[cst.CSTNode, CodeRange] = field(default_factory=dict, repr=False)

    def span(self, node: cst.CSTNode) -> Span | None:
        place = self._positions.get(node)
        if place is None:
            return None
        shift = self.first_line - 1
        return Span(self.file, place.start.line + shift, place.start.column + self._indent,
                    place.end.line + shift, place.end.column + self._indent)


_cache: dict[tuple[types.CodeType, str], tuple[str, Captured]] = {}
_lock = threading.Lock()


def capture(fn: types.FunctionType) -> Captured:
    """The captured tree of a Python function; FlattenError flatten/source-missing without source."""
    code = fn.__code__
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise _generator(fn)
    text, indent, first_line = _source_lines(fn)
    with _lock:
        known = _cache.get((code, code.co_filename))
    if known is not None and known[0] == text:
        return known[1]
    captured = _parse(code, text, indent, first_line)
    with _lock:
        _cache[code, code.co_filename] = (text, captured)
    return captured


def _generator(fn: types.FunctionType) -> FlattenError:
    """The refusal of a generator or coroutine, at its first `yield`, `await` or `async`."""
    code = fn.__code__
    stops = [i.positions for i in dis.get_instructions(code) if i.opname in _STOPS and i.positions]
    span = next((Span(code.co_filename, p.lineno, p.col_offset or 0, p.end_lineno, p.end_col_offset)
                 for p in stops if p.lineno and p.end_lineno and p.end_col_offset), _place(code))
    if code.co_flags & inspect.CO_GENERATOR:
        return refuse("flatten/generator", f"{fn.__qualname__} is a generator: it has a `yield`", span,
                      help="return a tuple instead of yielding")
    return refuse("flatten/generator", f"{fn.__qualname__} is a coroutine (`async def`)", span,
                  why="what it waits for is not known while flattening, and would be waited for once per lane",
                  help="await outside, and pass the result as an argument of a plain `def`")


_STOPS = ("YIELD_VALUE", "GET_AWAITABLE", "GET_AITER", "GET_YIELD_FROM_ITER", "BEFORE_ASYNC_WITH")


def _place(code: types.CodeType) -> Span:
    return Span(code.co_filename, code.co_firstlineno, 0, code.co_firstlineno, 0)


def _source_lines(fn: types.FunctionType) -> tuple[str, int, int]:
    """The function's text, dedented, the columns that were taken off, and its first line."""
    code = fn.__code__
    if code.co_name == "<lambda>":
        return _lambda_source(code)
    try:
        linecache.checkcache(code.co_filename)
        lines, first = _block(fn) or inspect.getsourcelines(code)
    except (OSError, TypeError, IndentationError, SyntaxError):
        raise refuse("flatten/source-missing", f"cannot read the source of {fn.__qualname__}", _place(code)) from None
    indent = len(lines[0]) - len(lines[0].lstrip())
    return _dedent("".join(lines), indent), indent, first


_STARTS = re.compile(r"\s*(@|def\s|async\s+def\s)")


def _block(fn: types.FunctionType) -> tuple[list[str], int] | None:
    """What inspect.getsourcelines finds in most cases. To be told a code object's module, it looks at the path of every
    module there is: 50 ms in the first call of a process."""
    code = fn.__code__
    lines = linecache.getlines(code.co_filename, fn.__globals__)
    first = code.co_firstlineno
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
    if end == start + 1 or block[-1].lstrip().startswith("#") or "\\" in text or "\t" in text:
        return None
    try:
        compile(f"if True:\n{text}" if margin else text, "<block>", "exec", ast.PyCF_ONLY_AST)
    except (SyntaxError, ValueError):
        return None
    return block


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip())


def _dedent(text: str, indent: int) -> str:
    """Takes `indent` columns off every line that is not inside a string literal."""
    if indent == 0:
        return text
    plain = textwrap.dedent(text)
    if not plain[:1].isspace():
        return plain
    wrapped = cst.parse_module("if True:\n" + text)
    outer = wrapped.body[0]
    assert isinstance(outer, cst.If)
    return wrapped.code_for_node(outer.body.body[0])


def _lambda_source(code: types.CodeType) -> tuple[str, int, int]:
    """The text of a lambda: found in its file by line and, when several stand there, by the columns of its code."""
    lines = linecache.getlines(code.co_filename)
    missing = refuse("flatten/source-missing", "cannot read the source of this lambda", _place(code))
    if not lines:
        raise missing
    text = "".join(lines)
    try:
        tree = ast.parse(text)
    except SyntaxError:
        raise missing from None
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda) and n.lineno == code.co_firstlineno]
    columns = {p[2] for p in code.co_positions() if p[0] is not None and p[2] is not None}
    if len(found) > 1:
        found = [n for n in found if n.body.col_offset in columns or n.body.end_col_offset in
                 {p[3] for p in code.co_positions()}] or found
    if len(found) > 1:
        found = [n for n in found if _same_lambda(n, code)]
    if len(found) != 1:
        raise refuse("flatten/source-missing", "several lambdas on one line cannot be told apart", _place(code),
                     help="write one lambda per line, or a def")
    segment = ast.get_source_segment(text, found[0])
    assert segment is not None
    return segment, found[0].col_offset, found[0].lineno


def _same_lambda(node: ast.Lambda, code: types.CodeType) -> bool:
    compiled = compile(ast.Expression(node), "<lambda>", "eval").co_consts[0]
    return bool(compiled.co_code == code.co_code and compiled.co_consts == code.co_consts
                and compiled.co_varnames == code.co_varnames)


def _parse(code: types.CodeType, text: str, indent: int, first_line: int) -> Captured:
    is_lambda = code.co_name == "<lambda>"
    try:
        # A lambda may span lines: parentheses make it a statement; they stand on a line of their own.
        module = cst.parse_module(f"(\n{text}\n)\n" if is_lambda else text)
    except cst.ParserSyntaxError as error:
        raise refuse("flatten/source-missing", f"the source of {code.co_name} does not parse", _place(code)) from error
    # `resolve` of the wrapper would walk the tree once more, for batched providers that there are none of.
    positions = cast(Mapping[cst.CSTNode, CodeRange], PositionProvider()._gen(MetadataWrapper(module, True)))
    tree = _find(module, is_lambda)
    if tree is None or (isinstance(tree, cst.FunctionDef) and tree.name.value != code.co_name):
        raise refuse("flatten/source-missing", f"the file no longer has {code.co_name} at this line", _place(code),
                     help="the file has changed since it was imported: reload the module")
    return Captured(code.co_name, code.co_filename, first_line - (1 if is_lambda else 0), text, tree, module, code,
                    indent, dict(positions))


def _find(module: cst.Module, is_lambda: bool) -> Tree | None:
    first = module.body[0]
    if not is_lambda:
        return first if isinstance(first, cst.FunctionDef) else None
    assert isinstance(first, cst.SimpleStatementLine)
    statement = first.body[0]
    value = statement.value if isinstance(statement, cst.Expr) else None
    return value if isinstance(value, cst.Lambda) else None


def nested(outer: Captured, tree: Tree, code: types.CodeType | None) -> Captured:
    """A function defined inside `outer`: shares its module and positions."""
    name = tree.name.value if isinstance(tree, cst.FunctionDef) else "<lambda>"
    return Captured(name, outer.file, outer.first_line, outer.module.code_for_node(tree), tree, outer.module, code,
                    outer._indent, outer._positions)
