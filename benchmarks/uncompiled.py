"""The plain Python functions under numba's decorators, and their text."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Iterator
from typing import Any


def plain(value: Any, known: dict[int, Any] | None = None) -> Any:
    """The Python function under a decorator of numba's, with callees that are plain too; None where there is none."""
    known = {} if known is None else known
    if id(value) in known:
        return known[id(value)]
    function = uncompiled(value)
    if function is None:
        return None
    names = dict(function.__globals__)
    bare = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    bare.__kwdefaults__, bare.__module__ = function.__kwdefaults__, function.__module__
    known[id(value)] = bare
    used = set(used_names(function.__code__))
    for name in used:
        value = names.get(name)
        if (callee := plain(value, known)) is not None:
            names[name] = callee
        elif isinstance(value, types.ModuleType):
            names[name] = _with_plain(value, used, known)
    return bare


def _with_plain(module: types.ModuleType, used: set[str], known: dict[int, Any]) -> types.ModuleType:
    """The module, or one that differs from it in that functions of these names are plain."""
    there = vars(module)
    callees = {name: callee for name in used if (callee := plain(there.get(name), known)) is not None}
    if not callees:
        return module
    copy = types.ModuleType(module.__name__)
    vars(copy).update(there, **callees)
    return copy


def uncompiled(value: Any) -> Any:
    """What is under a decorator of numba's, of its ufuncs', or of numbagg's; None where there is none."""
    if type(value).__module__.startswith("numbagg."):
        function = getattr(value, "func", None)
        return function if inspect.isfunction(function) else None
    if not type(value).__module__.startswith("numba."):
        return None
    for one in (value, getattr(value, "gufunc_builder", None), getattr(value, "_dispatcher", None)):
        if (function := getattr(one, "py_func", None)) is not None:
            return function
    return None


def used_names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from used_names(one)


def parsed(function: Any) -> ast.FunctionDef | None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, TypeError, SyntaxError):
        return None
    return tree if isinstance(tree, ast.FunctionDef) else None


def parameters(tree: ast.FunctionDef) -> list[str]:
    return [one.arg for one in (*tree.args.posonlyargs, *tree.args.args)]
