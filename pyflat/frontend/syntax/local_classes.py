"""Classes that a function defines: the statement runs once, while flattening, with what it is known to mean.

What the body of such a class computes is the same in each call: its methods, constants, and names that are static
around it. A method that reads a lane of the function is refused.
"""

from __future__ import annotations

import builtins
import dis
import inspect
import types
from collections.abc import Iterator
from typing import Any

import libcst as cst

from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import describe
from pyflat.frontend.state.values import UNBOUND, Abstract, Closure, Static

_METHODS = (property, staticmethod, classmethod)
_WHY = "a class is made once, while flattening"
_HELP = "define the class outside the function, and pass it the values it needs"


def define(s: Evaluator, node: cst.ClassDef) -> None:
    """Binds the name of the class."""
    for part in _outside_of_methods(s, node):
        raise s.refuse("flatten/unsupported-statement", "this part of a class that a function defines", part, why=_WHY,
                       help=_HELP)
    code = _code_of(s, node)
    cells = {name: types.CellType() for name in code.co_freevars}
    for name, cell in cells.items():
        if name != node.name.value:
            cell.cell_contents = _known(s, name, node)
    bases = [_static(s, base.value) for base in node.bases]
    decorators: list[Any] = [_static(s, decorator.decorator) for decorator in node.decorators]
    body = types.FunctionType(code, s.frame.globals, code.co_name, None, tuple(cells.values()))
    made = builtins.__build_class__(body, node.name.value, *bases)
    for decorate in reversed(decorators):
        made = decorate(made)
    if node.name.value in cells:
        _require_one_binding(s, node.name.value, node)
        cells[node.name.value].cell_contents = made
    s.space.assign(node.name, Static(made))


def _outside_of_methods(s: Evaluator, node: cst.ClassDef) -> Iterator[cst.CSTNode]:
    """What the body of a class reads or runs besides literals, annotations and the definitions of methods."""
    yield from node.keywords
    for statement in node.body.body:
        if isinstance(statement, cst.FunctionDef):
            parameters = statement.params
            for param in (*parameters.posonly_params, *parameters.params, *parameters.kwonly_params):
                if param.default is not None and not _is_literal(param.default):
                    yield param.default
            for decorator in statement.decorators:
                if not _is_of_methods(s, decorator.decorator):
                    yield decorator
        elif isinstance(statement, cst.SimpleStatementLine):
            for part in statement.body:
                value = part.value if isinstance(part, cst.Assign | cst.AnnAssign | cst.Expr) else None
                if value is not None and not _is_literal(value) or not isinstance(
                        part, cst.Assign | cst.AnnAssign | cst.Expr | cst.Pass):
                    yield part
        else:
            yield statement


def _is_literal(value: cst.BaseExpression) -> bool:
    if isinstance(value, cst.UnaryOperation):
        return _is_literal(value.expression)
    if isinstance(value, cst.Tuple):
        return all(_is_literal(element.value) for element in value.elements)
    if isinstance(value, cst.Name):
        return value.value in ("True", "False", "None")
    return isinstance(value, cst.BaseNumber | cst.SimpleString | cst.ConcatenatedString)


def _is_of_methods(s: Evaluator, decorator: cst.BaseExpression) -> bool:
    if isinstance(decorator, cst.Attribute) and isinstance(decorator.value, cst.Name):
        return decorator.attr.value == "setter"
    found = s.space.evaluate(decorator) if isinstance(decorator, cst.Name) else None
    return isinstance(found, Static) and found.value in _METHODS


def _code_of(s: Evaluator, node: cst.ClassDef) -> types.CodeType:
    """What Python has compiled the body of the class to."""
    function = s.frame.function
    outer = function.__code__ if isinstance(function, types.FunctionType) else None
    named = [code for code in (outer.co_consts if outer is not None else ())
             if isinstance(code, types.CodeType) and code.co_name == node.name.value]
    if len(named) != 1:
        raise s.refuse("flatten/unsupported-statement", "a class definition inside of a nested function, or one of "
                       "several of this name, cannot be flattened", node, why=_WHY, help=_HELP)
    return named[0]


def _known(s: Evaluator, name: str, node: cst.ClassDef) -> object:
    """The object that a name around the class means."""
    found = s.state.locals.get(name, UNBOUND)
    if not isinstance(found, Static):
        raise s.refuse("flatten/unsupported-statement", f"a class reads {name!r}, which is {_shown(found)}", node,
                       why=_WHY, help=_HELP)
    _require_one_binding(s, name, node)
    return found.value


def _require_one_binding(s: Evaluator, name: str, node: cst.ClassDef) -> None:
    """A method sees what a name means when it runs: nothing may bind it again."""
    function, tree = s.frame.function, s.frame.captured.tree
    assert isinstance(function, types.FunctionType)
    code = function.__code__
    parameters = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS) \
        + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    bound = [found for found in dis.get_instructions(code) if found.opname in ("STORE_DEREF", "DELETE_DEREF")]
    times = (name in code.co_varnames[:parameters]) + sum(found.argval == name for found in bound)
    if times > 1 or node not in tree.body.children:
        raise s.refuse("flatten/unsupported-statement", f"a class reads {name!r}, which is assigned again, or is "
                       "inside another statement", node, why=_WHY, help=_HELP)


def _shown(value: Abstract) -> str:
    return "a function of this one" if isinstance(value, Closure) else describe(value)


def _static(s: Evaluator, node: cst.BaseExpression) -> object:
    found = s.space.evaluate(node)
    if not isinstance(found, Static):
        raise s.refuse("flatten/unsupported-statement", f"a class is made with {_shown(found)}", node, why=_WHY,
                       help=_HELP)
    return found.value
