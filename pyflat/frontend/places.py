"""Where the nodes of a LibCST tree stand in its text, found while the tree writes that text.

LibCST's own provider makes three objects for each node and looks for line ends in each token. Here a place is one
number, the offsets of its first and last character, until it is asked for and a span takes its place; spaces and
operators, which nothing asks for, have none.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any

import libcst as cst
from libcst._nodes.internal import CodegenState

from pyflat.errors import Span
from pyflat.frontend import spelling

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
