"""The source of a function as a module of its own: with its helpers, and the constants and modules that they read.

What Cython and Pythran compile. The text is the function's own; only annotations change.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from benchmarks.contenders.record import UnavailableError


@dataclass
class Standalone:
    """imports are lines; functions are trees by their names, helpers before who calls them."""

    name: str
    imports: list[str] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)

    def text(self) -> str:
        constants = [f"{name} = {value!r}" for name, value in self.constants.items()]
        parts = [*self.imports, *constants, *(ast.unparse(tree) for tree in self.functions.values())]
        return "\n".join(parts) + "\n"

    def numbers(self) -> dict[str, float]:
        return {name: value for name, value in self.constants.items() if type(value) in (int, float)}


def standalone(function: Callable[..., Any], annotate: Callable[[str | None], str | None] = lambda _name: None
               ) -> Standalone:
    """`annotate` replaces the names of annotations; None leaves one out. Raises `UnavailableError` for what has no
    place in such a module."""
    found = Standalone(function.__name__)
    _add(found, function, annotate)
    return found


def tree_of(function: Callable[..., Any]) -> ast.FunctionDef:
    """Without decorators and docstring."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, TypeError) as error:
        raise UnavailableError("has no source") from error
    assert isinstance(tree, ast.FunctionDef)
    tree.decorator_list = []
    if ast.get_docstring(tree) is not None:
        tree.body = tree.body[1:] or [ast.Pass()]
    return tree


def _add(found: Standalone, function: Callable[..., Any], annotate: Callable[[str | None], str | None]) -> None:
    tree = tree_of(function)
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = _annotation(annotate, node.annotation)
        elif isinstance(node, ast.FunctionDef):
            node.returns = _annotation(annotate, node.returns)
    captured = inspect.getclosurevars(function)
    names = {**captured.globals, **captured.nonlocals}
    for name, value in names.items():
        if isinstance(value, ModuleType):
            _once(found.imports, f"import {value.__name__}" + (f" as {name}" if name != value.__name__ else ""))
        elif isinstance(value, FunctionType):
            if name not in found.functions and value is not function:
                if value.__name__ != name:
                    raise UnavailableError(f"calls {value.__name__} by another name")
                _add(found, value, annotate)
        elif isinstance(value, BuiltinFunctionType) and value.__module__ in ("math", "builtins"):
            _once(found.imports, f"from {value.__module__} import {value.__name__} as {name}")
        elif _literal(value):
            found.constants[name] = value
        elif isinstance(value, type):
            raise UnavailableError(f"reads the class {name}")
        else:
            raise UnavailableError(f"reads {name}, which is of the type {type(value).__name__}")
    found.functions[function.__name__] = tree


def _annotation(annotate: Callable[[str | None], str | None], old: ast.expr | None) -> ast.expr | None:
    name = annotate(ast.unparse(old).strip("'") if old is not None else None)
    return ast.parse(name, mode="eval").body if name else None


def _once(lines: list[str], line: str) -> None:
    if line not in lines:
        lines.append(line)


def _literal(value: Any) -> bool:
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError):
        return False


