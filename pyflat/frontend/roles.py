"""Which parameters a body uses as arrays: it subscripts or iterates over one, or asks for its length or shape. And
which as strings: it compares one with literals.

Python's own parser reads the body: whether a call is one of a kernel is asked also where a twin comes from disk, and
LibCST need not be there.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

_ATTRIBUTES = frozenset({"shape", "size", "ndim", "dtype", "T", "flat"})
_ITERATING = frozenset({"len", "enumerate", "zip", "iter", "reversed"})
"""What goes over its first argument, zip over all of them: the second one of enumerate is a number."""
OVER_ALL = frozenset({"sum", "prod", "mean", "std", "var", "any", "all", "max", "min", "argmax", "argmin", "cumsum",
                      "cumprod", "argsort", "dot", "searchsorted"})
"""Methods that go over all elements. (Functions that do, as np.sum, may mean a lane: `two_readings`.)"""
_JOINING = frozenset({"concatenate", "vstack", "hstack", "column_stack", "stack"})
"""What takes arrays in a sequence."""
_METHODS = frozenset({"copy", "ravel", "flatten", "reshape", "fill", "transpose", "swapaxes", "nonzero"})
"""Methods that Python's numbers do not have."""
_OF_ARRAYS = frozenset({
    "flip", "flipud", "fliplr", "roll", "unique", "histogram", "bincount", "convolve", "correlate", "nonzero",
    "flatnonzero", "argwhere", "percentile", "quantile", "repeat", "tile", "append", "sort", "diff", "ndenumerate",
    "solve", "inv", "det", "cholesky", "swapaxes", "reshape"})
"""Functions of NumPy's that are about several elements: of one number they raise, or say nothing."""
_OF_TWO = frozenset({"convolve", "correlate", "solve"})
_SAME = frozenset({"asarray", "ascontiguousarray", "asfortranarray", "atleast_1d"})
"""Functions of NumPy's that give their operand, mostly."""
_NO_ARRAYS = (bool, int, float, complex, str, tuple, list, dict, "bool", "int", "float", "complex", "str", "tuple",
              "list", "dict")
"""Annotations of parameters that are none."""
WORDS = _ATTRIBUTES | OVER_ALL | _JOINING | _METHODS | _OF_ARRAYS | {"len"}
"""Names one of which a function has that uses an array without a subscript or a loop over it."""
Passed = tuple[str, str, int | str]
"""A parameter, the helper that it is passed to, and as which parameter of the helper."""


def array_parameters(function: types.FunctionType, seen: frozenset[Any] = frozenset()) -> dict[str, str]:
    """The parameters that the body uses as arrays, and why; empty if the source is missing."""
    names = [name for name, each in inspect.signature(function, follow_wrapped=False).parameters.items()
             if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD) and each.annotation not in _NO_ARRAYS]
    body = _body(function)
    if body is None:
        return {}
    parameters = inspect.signature(function, follow_wrapped=False).parameters
    reader = _RoleReader(names, {name for name in names if "ndarray" in str(parameters[name].annotation).lower()},
                         function.__globals__)
    for node in body:
        reader.visit(node)
    found = reader.found
    for name, callee, theirs in _through_helpers(function, reader.passed, array_parameters, seen):
        found.setdefault(name, f"{callee} {theirs.removeprefix('it ')}")
    return found


def _through_helpers(function: types.FunctionType, passed: Iterable[Passed],
                     of: Callable[[types.FunctionType, frozenset[Any]], dict[str, str]], seen: frozenset[Any]
                     ) -> Iterator[tuple[str, str, str]]:
    """The parameters that are passed to helpers as parameters that are found there: the helper, and what was found."""
    found: dict[Any, dict[str, str]] = {}
    for name, callee, position in passed:
        helper = function.__globals__.get(callee)
        if not isinstance(helper, types.FunctionType) or helper in seen or helper is function:
            continue
        theirs = list(inspect.signature(helper, follow_wrapped=False).parameters)
        if helper not in found:  # once for all that is passed to it
            found[helper] = of(helper, seen | {function})
        target = theirs[position] if isinstance(position, int) and position < len(theirs) else position
        if target in found[helper]:
            yield name, callee, found[helper][str(target)]


def _body(function: types.FunctionType) -> list[ast.AST] | None:
    """The statements of a function, the expression of a lambda; None where they are not found."""
    try:
        with warnings.catch_warnings(action="ignore"):  # Python has said what it thinks of this text
            tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return None
    code = function.__code__
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
            return list(node.body)
        arguments = code.co_varnames[:code.co_argcount]
        if isinstance(node, ast.Lambda) and tuple(a.arg for a in node.args.args) == arguments:
            return [node.body]
    return None


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The names that an assignment binds, and what to."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for name, item in zip(target.elts, value.elts, strict=True):
            yield from _pairs(name, item)


class _RoleReader(ast.NodeVisitor):
    def __init__(self, names: Sequence[str], annotated: set[str], known: Mapping[str, Any]):
        self.names, self.annotated, self.known = frozenset(names), annotated, known
        self.found: dict[str, str] = {}
        self.passed: list[Passed] = []
        self.rebound: set[str] = set()
        """Names that mean something else by now."""
        self.same: dict[str, str] = {}
        """Names of what parameters are, as arrays: `x = np.asarray(parameter)`."""

    def note(self, node: ast.AST, why: str) -> None:
        if (name := self.parameter(node)) is not None:
            self.found.setdefault(name, why)

    def parameter(self, node: ast.AST) -> str | None:
        """The parameter that an expression is."""
        if isinstance(node, ast.Name):
            return self.same.get(node.id, node.id if node.id in self.names and node.id not in self.rebound else None)
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            return None
        return self.parameter(node.args[0]) if node.func.attr in _SAME else None

    def _may_be_number(self, node: ast.AST) -> bool:
        """It is an array by np.asarray, as functions say that take numbers and arrays, and then look which."""
        return not isinstance(node, ast.Name) or node.id in self.same

    def _is_module(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Attribute):
            return self._is_module(node.value)
        return isinstance(node, ast.Name) and isinstance(self.known.get(node.id), types.ModuleType)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        pairs = [(target, self.parameter(value)) for each in node.targets for target, value in _pairs(each, node.value)]
        for target, meant in pairs:
            self.rebound.add(target)
            self.same.pop(target, None)
            if meant is not None:
                self.same[target] = meant

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if not isinstance(node.slice, ast.Constant) or not self._may_be_number(node.value):
            self.note(node.value, "it is subscripted")
        self.generic_visit(node)

    def visit_If(self, node: ast.If | ast.IfExp) -> None:
        """What is done where `isinstance(x, ...)` or `hasattr(x, ...)` holds is no use of x as an array: the function
        takes numbers as well, and lanes are numbers."""
        then, orelse = _asked(node.test)
        for part, names in ((node.test, then | orelse), (node.body, then), (node.orelse, orelse)):
            kept, self.names = self.names, self.names - names
            for each in part if isinstance(part, list) else [part]:
                self.visit(each)
            self.names = kept

    visit_IfExp = visit_If

    def visit_For(self, node: ast.For) -> None:
        self.note(node.iter, "it is iterated over")
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self.note(node.iter, "it is iterated over")
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if node.attr in _ATTRIBUTES and not self._may_be_number(node.value):
            self.note(node.value, f"its .{node.attr} is read")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, ast.MatMult):
            for side in (node.left, node.right):
                self.note(side, "it is a factor of @")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name):
            for position, value in _given(node):
                if node.func.id in _ITERATING:
                    if node.func.id == "zip" and isinstance(position, int) or position in (0, "iterable"):
                        self.note(value, f"{node.func.id}() is taken of it")
                elif isinstance(value, ast.Name) and value.id in self.names:
                    self.passed.append((value.id, node.func.id, position))
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _JOINING:
            given = (value for _, value in _given(node) if isinstance(value, ast.Tuple | ast.List))
            for part in (each for value in given for each in value.elts):
                self.note(part, f"{node.func.attr} joins it with others")
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS | _OF_ARRAYS:
            if node.func.attr in _METHODS:
                self.note(node.func.value, f"its .{node.func.attr}() is called")
            if node.func.attr in _OF_ARRAYS and self._is_module(node.func.value):
                for part in node.args[:2 if node.func.attr in _OF_TWO else 1]:
                    self.note(part, f"{node.func.attr} is taken of it")
        elif isinstance(node.func, ast.Attribute) and node.func.attr in OVER_ALL:
            self.note(node.func.value, f"its .{node.func.attr}() is taken")
            for name in (each for value in node.args for each in ast.walk(value) if isinstance(each, ast.Name)):
                if name.id in self.annotated:
                    self.note(name, f"its annotation is one of arrays, and {node.func.attr} is taken of it")
        self.generic_visit(node)


def _asked(test: ast.expr) -> tuple[frozenset[str], frozenset[str]]:
    """The names that were asked for what they are, and are it: where the test holds, and where it does not."""
    nothing = frozenset[str]()
    match test:
        case ast.Call(func=ast.Name(id="isinstance" | "hasattr"), args=[ast.Name(id=name), _]):
            return frozenset([name]), nothing
        case ast.UnaryOp(op=ast.Not()):
            return _asked(test.operand)[::-1]
        case ast.BoolOp():
            then, orelse = zip(*map(_asked, test.values), strict=True)
            if isinstance(test.op, ast.And):
                return nothing.union(*then), orelse[0].intersection(*orelse)
            return then[0].intersection(*then), nothing.union(*orelse)
    return nothing, nothing


def _given(node: ast.Call) -> Iterator[tuple[int | str, ast.AST]]:
    yield from enumerate(node.args)
    yield from ((keyword.arg, keyword.value) for keyword in node.keywords if keyword.arg is not None)


def compared_with_strings(function: types.FunctionType, seen: frozenset[Any] = frozenset()) -> dict[str, str]:
    """The parameters that the body, or a helper, compares with literal strings, by `==`, `!=`, `in`, `not in` or
    `match`, and how. Nothing where there is no source."""
    reader = _ComparisonReader(inspect.signature(function, follow_wrapped=False).parameters)
    for node in _body(function) or ():
        reader.visit(node)
    for name, _, how in _through_helpers(function, reader.passed, compared_with_strings, seen):
        reader.found.setdefault(name, how)
    return reader.found


class _ComparisonReader(ast.NodeVisitor):
    def __init__(self, names: Iterable[str]):
        self.names = set(names)
        self.found: dict[str, str] = {}
        self.passed: list[Passed] = []

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        self.names.difference_update(target.id for target in node.targets if isinstance(target, ast.Name))

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for left, sign, right in zip(sides, node.ops, node.comparators, strict=False):
            if isinstance(sign, ast.Eq | ast.NotEq):
                self._note(left, [right])
                self._note(right, [left])
            elif isinstance(sign, ast.In | ast.NotIn) and isinstance(right, ast.Tuple | ast.List | ast.Set):
                self._note(left, right.elts)
        self.generic_visit(node)

    def visit_Match(self, node: ast.Match) -> None:
        for pattern in (each for case in node.cases for each in _alternatives(case.pattern)):
            if isinstance(pattern, ast.MatchValue):
                self._note(node.subject, [pattern.value])
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name):
            self.passed += [(value.id, node.func.id, place) for place, value in _given(node)
                            if isinstance(value, ast.Name) and value.id in self.names]
        self.generic_visit(node)

    def _note(self, side: ast.expr, others: Sequence[ast.expr]) -> None:
        if isinstance(side, ast.Name) and side.id in self.names and others and all(map(_is_string, others)):
            self.found.setdefault(side.id, ast.unparse(others[0]))


def _alternatives(pattern: ast.pattern) -> list[ast.pattern]:
    return pattern.patterns if isinstance(pattern, ast.MatchOr) else [pattern]


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
