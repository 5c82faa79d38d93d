"""Where the text of a function stands in its file or notebook cell (through `inspect` and `linecache`), and whether
a text is the one that it was compiled from: it is compiled again, and the code objects are compared.

The text of one function is compiled within what surrounds it: the classes and functions of its qualified name, with its
free variables as their parameters. A name gets the scope that it had, and a private one its class. Methods of what the
same text imports are called by other instructions: what a global name holds tells whether it was imported. Where none
of this gives the function's code (it is declared `global` where it is defined) the whole file is compiled.

An import hook may have rewritten the module (pytest its asserts, type checkers their checks): then what it makes of the
same text is compared.
"""

from __future__ import annotations
import __future__

import ast
import inspect
import linecache
import re
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Any, NamedTuple

from pyflat.frontend.uncompiled import codes


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


_FUTURE: int = reduce(or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names))
_FUTURE &= ~inspect.CO_NESTED
_LOCALS = "<locals>"
_PRIVATE = re.compile(r"\b__\w*(?<!__)\b")
Compiler = Callable[[str], types.CodeType | None]


def classes_around(code: types.CodeType) -> list[str]:
    """The classes that the function stands in, the innermost last."""
    parts = code.co_qualname.split(".")
    return [part for part, below in pairwise(parts) if _LOCALS not in (part, below)]


def surroundings(fn: types.FunctionType, text: str, file_text: str, *, alone: bool = True) -> tuple[str, int] | None:
    """A text that is compiled to the function's code among others, and the line of the function there. It is `text`, a
    def with its indentation or a lambda between parentheses at its column, with what may have stood around it, or that
    of the file; None where the function was compiled from something else. `alone`: no other one starts in the same line
    of the file. What only the whole file shows has no class for its private names."""
    code = fn.__code__
    for compiled in _compilers(fn):
        for place, line in _places(fn, text, file_text):
            if _has(compiled(place), code, line, exactly=True):
                return place, line
        if alone and not _PRIVATE.search(text) and _has(compiled(file_text), code, code.co_firstlineno, exactly=True):
            return file_text, code.co_firstlineno
    return None


def placed(fn: types.FunctionType, text: str, file_text: str, line: int, file: str) -> types.CodeType | None:
    """The function's code with the places that `text` has, which starts in this line of the file: a def with its
    indentation, or a lambda between parentheses at its column. None where it was compiled from something else."""
    code = fn.__code__
    for place, below in _places(fn, text, file_text):
        made = _plain(code)(place)
        for each in codes(made) if made is not None else ():
            if each.co_firstlineno == below and each.co_name == code.co_name and _same(each, code, exactly=False):
                return _moved(each, line - below, file).replace(co_qualname=code.co_qualname, co_flags=code.co_flags)
    return None


def _moved(code: types.CodeType, lines: int, file: str) -> types.CodeType:
    consts = tuple(_moved(c, lines, file) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    return code.replace(co_filename=file, co_firstlineno=code.co_firstlineno + lines, co_consts=consts)


def code_in(text: str, file: str, line: int, name: str, features: int) -> types.CodeType | None:
    """The code of the function `name` that starts in this line of a text; of several the outermost."""
    made = compile(text, file, "exec", features, dont_inherit=True)
    return next((each for each in codes(made) if each.co_firstlineno == line and each.co_name == name), None)


def features(code: types.CodeType) -> int:
    """The future statements that were in force."""
    return code.co_flags & _FUTURE


def means_the_same(code: types.CodeType, text: str, renamed: str) -> bool:
    """Whether `renamed`, in classes that change no private name, is `text` in its own but for the positions."""
    place, line = _within(code, text, private=True)
    own, other = _plain(code)(place), _plain(code)(_within(code, renamed, private=False)[0])
    return own is not None and any(
        each.co_name == code.co_name and _has(other, each, line, exactly=False)
        for each in codes(own) if each.co_firstlineno == line)


def _places(fn: types.FunctionType, text: str, file_text: str) -> Iterator[tuple[str, int]]:
    """The text with what may have stood around it, and the line of the function there."""
    within, line = _within(fn.__code__, text, private=True)
    names = _all_names(fn.__code__)
    likely = [name for name in names if _is_imported(fn.__globals__, name)]
    if likely:
        yield f"import {', '.join(likely)}\n{within}", line + 1
    yield within, line
    imported = names & _imports(file_text)
    if imported:
        yield f"import {', '.join(imported)}\n{within}", line + 1


def _all_names(code: types.CodeType) -> set[str]:
    """Also of locals: the compiler takes a local for imported if the module imports something of that name."""
    return {name for each in codes(code) for name in (*each.co_names, *each.co_varnames, *each.co_freevars)}


def _is_imported(scope: Mapping[str, Any], name: str) -> bool:
    value = scope.get(name)
    if isinstance(value, type | types.FunctionType):
        return value.__module__ != scope.get("__name__")
    return isinstance(value, types.ModuleType)


def _within(code: types.CodeType, text: str, *, private: bool) -> tuple[str, int]:
    """The text in its surroundings, and the line of the function there. Not `private`: in classes of underscores only,
    which have no private names."""
    free = ", ".join(name for name in code.co_freevars if name.isidentifier() and name != "__class__")
    lines: list[str] = []
    for part, below in pairwise(code.co_qualname.split(".")):
        if part == _LOCALS:
            continue
        name = part if part.isidentifier() and private else "_"
        lines.append(" " * len(lines) + (f"def {name}({free}):" if below == _LOCALS else f"class {name}:"))
    is_lambda = text.startswith("(\n")
    if is_lambda:
        lines.append(" " * len(lines) + text)
    else:
        if not lines and is_indented(text):
            lines.append("if True:")
        lines.append(text)
    return "\n".join(lines), len(lines) + is_lambda


def _imports(text: str) -> set[str]:
    """What the module imports at its top level, as the compiler sees it."""
    import symtable

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = symtable.symtable(text, "<file>", "exec").get_symbols()
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return set()
    return {symbol.get_name() for symbol in found if symbol.is_imported()}


# --- compilers
def _compilers(fn: types.FunctionType) -> Iterator[Compiler]:
    """Python's own, and that of the import hook that has loaded the function's module: it may raise anything."""
    yield _plain(fn.__code__)
    rewrite = _rewriter(fn.__globals__.get("__loader__"))
    if rewrite is not None:
        yield _quietly(lambda text: rewrite(text, fn.__code__.co_filename), Exception)


def _plain(code: types.CodeType) -> Compiler:
    """Python's own compiler, with the future statements that were in force."""
    return _quietly(lambda text: compile(text, code.co_filename, "exec", features(code), dont_inherit=True),
                    SyntaxError, ValueError, RecursionError, MemoryError)


def _quietly(compiler: Callable[[str], Any], *errors: type[Exception]) -> Compiler:
    """Without a second warning; None where it cannot compile."""
    def compiled(text: str) -> types.CodeType | None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                made = compiler(text)
            except errors:
                return None
        return made if isinstance(made, types.CodeType) else None

    return compiled


def _rewriter(loader: Any) -> Callable[[str, str], Any] | None:
    """How an import hook compiles a text; None for Python's own loaders and for hooks that cannot be asked."""
    if type(loader).__module__.split(".")[0] in ("importlib", "_frozen_importlib_external", "zipimport"):
        return None
    if hasattr(loader, "source_to_code"):
        return lambda text, file: loader.source_to_code(text.encode(), file)
    if type(loader).__module__ == "_pytest.assertion.rewrite":
        return lambda text, file: _with_pytest_asserts(text, file, loader.config)
    return None


def _with_pytest_asserts(text: str, file: str, config: Any) -> types.CodeType:
    from _pytest.assertion.rewrite import rewrite_asserts

    tree = ast.parse(text, filename=file)
    rewrite_asserts(tree, text.encode(), file, config)
    code: types.CodeType = compile(tree, file, "exec", dont_inherit=True)
    return code


# --- comparing
def _has(compiled: types.CodeType | None, code: types.CodeType, line: int, exactly: bool) -> bool:
    return compiled is not None and any(
        each.co_firstlineno == line and _same(each, code, exactly=exactly) for each in codes(compiled))


def _same(a: types.CodeType, b: types.CodeType, *, exactly: bool) -> bool:
    """Equal instructions, names, constants and nested functions; `exactly`: also equal names of functions, and
    places relative to the first line."""
    return (
        _shape(a) == _shape(b)
        and a.co_code == b.co_code
        and a.co_exceptiontable == b.co_exceptiontable
        and len(a.co_consts) == len(b.co_consts)
        and all(_same_constant(x, y, a, b, exactly) for x, y in zip(a.co_consts, b.co_consts, strict=True))
        and (not exactly or a.co_name == b.co_name and _same_places(a, b))
    )


def _shape(code: types.CodeType) -> tuple[object, ...]:
    return (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & ~inspect.CO_NESTED,
            code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)


def _same_constant(x: Any, y: Any, a: types.CodeType, b: types.CodeType, exactly: bool) -> bool:
    """Equal types and values (0.0 is not -0.0), all the way down."""
    if type(x) is not type(y):
        return False
    if isinstance(x, types.CodeType):
        below = x.co_firstlineno - a.co_firstlineno == y.co_firstlineno - b.co_firstlineno
        return (below or not exactly) and _same(x, y, exactly=exactly)
    if isinstance(x, tuple):
        return len(x) == len(y) and all(_same_constant(v, w, a, b, exactly) for v, w in zip(x, y, strict=True))
    if isinstance(x, frozenset):
        return sorted(map(repr, x)) == sorted(map(repr, y))
    return repr(x) == repr(y)


def _same_places(a: types.CodeType, b: types.CodeType) -> bool:
    """Equal lines and columns; equal lines where one of them was compiled without columns."""
    if a.co_linetable == b.co_linetable:
        return True
    if all(any(place[2] is not None for place in code.co_positions()) for code in (a, b)):
        return False
    return _lines(a) == _lines(b)


def _lines(code: types.CodeType) -> list[int | None]:
    return [None if place[0] is None else place[0] - code.co_firstlineno for place in code.co_positions()]
