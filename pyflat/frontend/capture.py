"""Live function -> its LibCST tree with source positions, and what its names are bound to.

The text comes from the file or notebook cell that defined the function, and is compared with the function's code: a
file that was edited since gives a refusal, never another function. Only the function's own lines are parsed, so that
capturing from a large module stays cheap. What was captured is kept as long as the code object lives.

Where the nodes of a tree stand in its text is found while the tree writes that text. LibCST's own provider makes three
objects for each node and looks for line ends in each token. Here a place is one number, the offsets of its first and
last character, until it is asked for and a span takes its place; spaces and operators, which nothing asks for, have
none.
"""

from __future__ import annotations

import ast
import dis
import hashlib
import inspect
import linecache
import re
import textwrap
import tokenize
import types
import weakref
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import libcst as cst
from libcst._nodes.internal import CodegenState

from pyflat.errors import FlattenError, Span, refuse
from pyflat.frontend import pieces, recompiled, spelling
from pyflat.frontend.recompiled import TextBlock
from pyflat.ir.recursion import too_deep

_ENDS = re.compile(r"\r\n?|\n")
_SHIFT = 40
_MASK = (1 << _SHIFT) - 1
_SMALL = {cst.BaseParenthesizableWhitespace, cst.BaseBinaryOp, cst.BaseUnaryOp, cst.BaseBooleanOp, cst.BaseCompOp,
          cst.BaseAugOp, cst.AssignEqual, cst.Comment, cst.EmptyLine, cst.Newline, cst.TrailingWhitespace}
"""Nodes that nothing asks for, and at which no other one ends: a bracket may be the end of an import. (These classes
are found without `issubclass`, which keeps two objects for each pair of classes of LibCST that it has compared.)"""
_WITHOUT_PLACE = frozenset(
    cls for cls in vars(cst).values() if isinstance(cls, type) and not _SMALL.isdisjoint(cls.__mro__))


class Places:
    """The places of the nodes of a tree, which is kept alive by whoever asks: they are known by their identity. Those
    of a text into which spaces were put are told of the text without. `shift`: what is to be added to a line of the
    text for that of the file."""

    def __init__(self, text: str, found: dict[int, int | Span], inserted: spelling.Inserted, file: str, shift: int):
        self._lines = [0, *(end.end() for end in _ENDS.finditer(text))]
        self._found, self._inserted, self._file, self._shift = found, inserted, file, shift

    def of(self, node: cst.CSTNode) -> Span | None:
        place = self._found.get(id(node))
        if not isinstance(place, int):
            return place
        line, column = self._position(place >> _SHIFT)
        end_line, end_column = self._position(place & _MASK)
        span = Span(self._file, line + self._shift, column, end_line + self._shift, end_column)
        self._found[id(node)] = span
        return span

    def _position(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._lines, offset)
        column = offset - self._lines[line - 1]
        return line, spelling.without_spaces(column, self._inserted[line]) if line in self._inserted else column


def written(module: cst.Module, inserted: spelling.Inserted, file: str, shift: int) -> tuple[Places, str]:
    """The places of the nodes in their file and the text of the tree."""
    state = _Tokens(module)
    try:
        module._codegen(state)
    except KeyError as error:  # what a RecursionError becomes inside of LibCST, once for each level
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, RecursionError):
            cause = cause.__context__
        raise cause or error from None
    text = "".join(state.tokens)
    return Places(text, state.found, inserted, file, shift), text


class _Tokens(CodegenState):
    """What LibCST's nodes write their tokens to. As its own `PositionProvidingCodegenState`, a node that says where its
    syntax begins and ends has that place, any other one the place of all that it writes."""

    def __init__(self, module: cst.Module):
        super().__init__(module.default_indent, module.default_newline)
        self.offset = 0
        self.found: dict[int, Any] = {}
        """By the identity of nodes, numbers until they are asked for."""
        self.starts: list[int] = []

    def add_indent_tokens(self) -> None:
        self.tokens += self.indent_tokens
        self.offset += sum(map(len, self.indent_tokens))

    def add_token(self, value: str) -> None:
        self.tokens.append(value)
        self.offset += len(value)

    def before_codegen(self, node: cst.CSTNode) -> None:
        self.starts.append(self.offset)

    def after_codegen(self, node: cst.CSTNode) -> None:
        start = self.starts.pop()
        if type(node) not in _WITHOUT_PLACE:
            self.found.setdefault(id(node), start << _SHIFT | self.offset)

    def record_syntactic_position(  # type: ignore[override]
            self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None,
            end_node: cst.CSTNode | None = None) -> _Syntax:
        return _Syntax(self, node, start_node, end_node)


class _Syntax:
    """A context in which a node writes its syntax, from the start of one node to the end of another where given."""

    __slots__ = ("end_node", "node", "start", "start_node", "state")

    def __init__(self, state: _Tokens, node: cst.CSTNode, start_node: cst.CSTNode | None, end_node: cst.CSTNode | None):
        self.state, self.node, self.start_node, self.end_node = state, node, start_node, end_node

    def __enter__(self) -> None:
        self.start = self.state.offset

    def __exit__(self, *_: object) -> None:
        found = self.state.found
        start = self.start if self.start_node is None else found[id(self.start_node)] >> _SHIFT
        end = self.state.offset if self.end_node is None else found[id(self.end_node)] & _MASK
        found[id(self.node)] = start << _SHIFT | end


Tree = cst.FunctionDef | cst.Lambda
Node = TypeVar("Node", bound=cst.CSTNode)
Fact = TypeVar("Fact")


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
    qualname: str
    stored: frozenset[str] = frozenset()
    """The local names, as its code has them."""
    _places: Places | None = field(default=None, repr=False)
    _found: dict[tuple[Callable[[Any], Any], int], tuple[cst.CSTNode, Any]] = field(default_factory=dict, repr=False)
    """By what was looked for and the identity of the node, which is kept."""

    def once(self, look: Callable[[Node], Fact], node: Node) -> Fact:
        """What `look` finds in a node, whose tree is walked once, however often its code is evaluated."""
        key = look, id(node)
        if key not in self._found:
            self._found[key] = node, look(node)
        found: Fact = self._found[key][1]
        return found

    def may_mention(self, name: str) -> bool:
        """The body may have a name that the function is defined by: looked for in its text, which is faster than its
        tree. An identifier that Python spells otherwise (`spelling`) may always be there."""
        return not self.source.isascii() or len(re.findall(rf"\b{name}\b", self.source)) != 1

    def span(self, node: cst.CSTNode) -> Span | None:
        return None if self._places is None else self._places.of(node)


_cache: dict[int, tuple[weakref.ref[types.CodeType], Captured]] = {}
"""By the identity of the code object: equal code may stand in several files."""


def capture(fn: types.FunctionType, *, generators: bool = False) -> Captured:
    """The captured tree of a Python function; `generators`: also of one that is called. FlattenError
    flatten/source-missing without source, flatten/source-changed where the file has another text now."""
    code = fn.__code__
    refused = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | (0 if generators else inspect.CO_GENERATOR)
    if code.co_flags & refused:
        raise _generator(fn)
    known, captured = _cache.get(id(code), (None, None))
    if known is None or captured is None or known() is not code:
        captured = _parse(code, _own_text(fn))
        ident = id(code)
        # No lock: the callback may run wherever an object is freed, also in whoever holds the lock.
        _cache[ident] = weakref.ref(code, lambda _: _cache.pop(ident, None)), captured
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
                  why="the awaited result is not known while flattening, and each element would await it again",
                  help="await outside, and pass the result as an argument of a plain `def`")


_STOPS = ("YIELD_VALUE", "GET_AWAITABLE", "GET_AITER", "GET_YIELD_FROM_ITER", "BEFORE_ASYNC_WITH")


def _place(code: types.CodeType) -> Span:
    return Span(code.co_filename, code.co_firstlineno, 0, code.co_firstlineno, 0)


# --- the text
def surroundings(fn: types.FunctionType) -> tuple[str, int]:
    """A text that has the function in it as it was compiled, and its line there. Raises FlattenError as `capture`."""
    return _own(fn)[1]


def _own_text(fn: types.FunctionType) -> TextBlock:
    """The text that the function was compiled from."""
    return _own(fn)[0]


def _own(fn: types.FunctionType) -> tuple[TextBlock, tuple[str, int]]:
    """The text that the function was compiled from, and as it stands in what surrounds it, with its line there."""
    code = fn.__code__
    lines = recompiled.file_lines(fn)
    candidates = _candidates(fn, lines)
    file_text = "".join(lines)
    is_lambda = code.co_name == "<lambda>"
    own = [(found, place) for found in candidates if (place := recompiled.surroundings(
        fn, found.in_parentheses(found.offset) if is_lambda else found.text, file_text, alone=len(candidates) == 1))]
    if not own:
        raise _changed(fn)
    return min(own, key=lambda pair: len(pair[0].text))  # a lambda in a lambda is in the text of both


def _candidates(fn: types.FunctionType, lines: list[str]) -> list[TextBlock]:
    """The texts at the first line of the function."""
    code = fn.__code__
    try:
        if code.co_name != "<lambda>":
            return [recompiled.find_def(fn, lines)]
        if lines:
            return recompiled.find_lambdas(code.co_firstlineno, lines)
    except (OSError, TypeError, SyntaxError):
        if lines:
            raise _changed(fn) from None
    raise refuse("flatten/source-missing", f"cannot read the source of {fn.__qualname__}", _place(code),
                 help=f"pass the text: `pyflat.twin({_called(fn)}, source=text)`, where {_example(fn)} and "
                 "`exec(text)` has defined it; or define the function in a file or a notebook cell")


def _called(fn: types.FunctionType) -> str:
    return fn.__qualname__.rpartition(">.")[2] if fn.__name__.isidentifier() else "fn"


def _example(fn: types.FunctionType) -> str:
    """A text as the function's may be."""
    names = ", ".join(inspect.signature(fn, follow_wrapped=False).parameters)
    head = f"def {fn.__name__}({names}):" if fn.__name__.isidentifier() else f"fn = lambda {names}:"
    return f'`text = "{head} ..."`'


def give_source(fn: types.FunctionType, source: str) -> None:
    """Tell Python where the text of a function is that it has none of: from now on inspect.getsource, tracebacks and
    pyflat find it. The text may hold more than the function. Its code gets the text's places and stays what it was.

    Raises ValueError where the text is no Python, FlattenError flatten/source-changed where the function was compiled
    from another one.
    """
    text = textwrap.dedent(source).strip("\f\n") + "\n"
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"source= of {fn.__qualname__} is not valid Python: {str(error) or 'too deep'}") from None
    texts = [text]
    if "." in fn.__code__.co_qualname:  # the function alone, without what it stands in
        texts.append("if True:\n" + textwrap.indent(text, "    "))
    for each in texts:
        file = f"<source of {fn.__qualname__} {hashlib.blake2b(each.encode(), digest_size=6).hexdigest()}>"
        code = _placed(fn, each, file)
        if code is not None:
            linecache.cache[file] = (len(each), None, each.splitlines(keepends=True), file)
            fn.__code__ = code
            return
    raise refuse("flatten/source-changed", f"{fn.__qualname__} was not compiled from the text in source=",
                 _place(fn.__code__), why="the text is compiled and compared with the function's own code",
                 help="pass the text from which it was compiled, with the same names and numbers; it may hold more "
                 "than this function")


def _placed(fn: types.FunctionType, text: str, file: str) -> types.CodeType | None:
    """The function's code with its places in this text."""
    is_lambda = fn.__code__.co_name == "<lambda>"
    for found in recompiled.definitions(fn.__code__, text):
        own = found.in_parentheses(found.offset) if is_lambda else found.text
        code = recompiled.placed(fn, own, text, found.first_line, file)
        if code is not None:
            return code
    return None


def _changed(fn: types.FunctionType) -> FlattenError:
    code = fn.__code__
    return refuse("flatten/source-changed", f"{fn.__qualname__} was not compiled from the current text of its file",
                  _place(code), label="this is not its definition")


# --- the tree
def _parse(code: types.CodeType, found: TextBlock) -> Captured:
    is_lambda = code.co_name == "<lambda>"
    if is_lambda:
        above, own = 1, found.in_parentheses(found.column)
        text = own
    else:
        above, own = int(recompiled.is_indented(found.text)), found.text
        text = "if True:\n" * above + own  # in a block, and not moved to the left: its strings stay
    module, places, spelled = _parsed(code, text, found.first_line - 1 - above)
    tree = _find(module, is_lambda)
    if tree is None:
        raise _unparsed(code)
    source = found.text if is_lambda or not above else module.code_for_node(tree)
    around = recompiled.classes_around(code)
    altered = spelling.name_as_python(module, text, around[-1] if around else None)
    if altered:
        spelled = module.code
    if altered or spelled != text:
        const_eval = spelled.partition("\n")[2] if above and not is_lambda else spelled
        if not recompiled.means_the_same(code, own, const_eval):
            raise _unparsed(code)
    return Captured(code.co_name, code.co_filename, found.first_line, source, tree, module, code.co_qualname,
                    frozenset({*code.co_varnames, *code.co_cellvars}), places)


_NOT_PARSED = (cst.ParserSyntaxError, cst.CSTValidationError, TypeError)
"""TypeError comes from LibCST's own checks, of a lambda between brackets."""


def _parsed(code: types.CodeType, text: str, shift: int) -> tuple[cst.Module, Places, str]:
    """The tree, the places of its nodes in the file, and the text of the tree. LibCST is stricter about spaces than
    Python is. `shift`: what is to be added to a line of the text."""
    parts = _pieces(code, text, shift)
    try:
        return (module := pieces.parse(parts)), *written(module, {}, code.co_filename, shift)
    except _NOT_PARSED:
        pass
    try:
        text, inserted = spelling.spaced(text)
        module = pieces.parse([text])
    except (SyntaxError, tokenize.TokenError, *_NOT_PARSED):
        raise _unparsed(code) from None
    return module, *written(module, inserted, code.co_filename, shift)


def _pieces(code: types.CodeType, text: str, shift: int) -> list[str]:
    found = []
    for piece, place in pieces.cut(text):
        if place is not None:
            raise too_deep(f"{code.co_name} nests more than {pieces.MAX_NESTING:,} levels deep here", Span(
                code.co_filename, place.line + shift, place.column, place.end_line + shift, place.end_column))
        found.append(piece)
    return found


def _unparsed(code: types.CodeType) -> FlattenError:
    return refuse("flatten/source-missing", f"the source of {code.co_name} cannot be parsed", _place(code),
                  why="pyflat parses the source with LibCST, which does not accept everything that Python does",
                  help="write it with spaces around the keywords")


def _find(module: cst.Module, is_lambda: bool) -> Tree | None:
    first = module.body[0]
    if isinstance(first, cst.If):
        first = first.body.body[0]  # type: ignore[assignment]
    if not is_lambda:
        return first if isinstance(first, cst.FunctionDef) else None
    assert isinstance(first, cst.SimpleStatementLine)
    statement = first.body[0]
    value = statement.value if isinstance(statement, cst.Expr) else None
    return value if isinstance(value, cst.Lambda) else None


def nested(outer: Captured, tree: Tree) -> Captured:
    """A function defined inside `outer`: shares its module and positions."""
    name = tree.name.value if isinstance(tree, cst.FunctionDef) else "<lambda>"
    return Captured(name, outer.file, outer.first_line, outer.module.code_for_node(tree), tree, outer.module, name,
                    frozenset(), outer._places)
