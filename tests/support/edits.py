"""One edit of a Python source, said by what it changes: formatting, line breaks and comments do not matter."""

from __future__ import annotations

import ast
import copy
import importlib
import re
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_BODIES = ("body", "orelse", "finalbody")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Edit:
    """In `where` (the qualified name of a function or class, or a name that the module assigns), `old` becomes `new`.

    Both are expressions, or both are statements. A statement with the body `...` is the line above the body alone: what
    follows stays as it is. `old` must occur once; it is compared by its tree.
    """

    where: str
    old: str
    new: str

    def tree(self, source: str) -> ast.Module:
        """The changed module. ValueError where there is no such place, or more than one."""
        module = ast.parse(source)
        scope = _scope(module, self.where)
        try:
            old, new = _expression(self.old), _expression(self.new)
        except SyntaxError:
            found = _change_statements(scope, ast.parse(self.old).body, ast.parse(self.new).body)
        else:
            found = _change_expression(scope, old, new)
        if found != 1:
            raise ValueError(f"{self.old!r} occurs {found} times in {self.where or 'the module'}")
        return ast.fix_missing_locations(module)

    def apply(self, source: str) -> str:
        """The changed source, in which only the tree is the same as that of the text that it was made from."""
        return ast.unparse(self.tree(source))


def _expression(text: str) -> ast.expr:
    return ast.parse(text.strip(), mode="eval").body


def _dump(node: ast.AST) -> str:
    return re.sub(r"ctx=(Load|Store|Del)\(\)", "", ast.dump(node))


def _scope(module: ast.Module, where: str) -> ast.AST:
    """The one node of that name."""
    scope: ast.AST = module
    for name in where.split(".") if where else ():
        found = [node for node in _named(scope) if _defines(node, name)]
        if len(found) != 1:
            raise ValueError(f"{where} is defined {len(found)} times")
        scope = found[0]
    return scope


def _named(scope: ast.AST) -> Iterator[ast.AST]:
    """Definitions of a scope, also those below `if` and `with`."""
    for node in ast.iter_child_nodes(scope):
        yield node
        if not isinstance(node, (*_SCOPES, ast.expr)):
            yield from _named(node)


def _defines(node: ast.AST, name: str) -> bool:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return node.name == name
        case ast.Assign():
            return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
        case ast.AnnAssign():
            return isinstance(node.target, ast.Name) and node.target.id == name
    return False


def _change_expression(scope: ast.AST, old: ast.expr, new: ast.expr) -> int:
    wanted, found = _dump(old), 0
    for parent in list(ast.walk(scope)):
        for field, value in ast.iter_fields(parent):
            if isinstance(value, ast.expr) and _dump(value) == wanted:
                setattr(parent, field, copy.deepcopy(new))
                found += 1
            elif isinstance(value, list):
                for k, each in enumerate(value):
                    if isinstance(each, ast.expr) and _dump(each) == wanted:
                        value[k] = copy.deepcopy(new)
                        found += 1
    return found


def _change_statements(scope: ast.AST, old: list[ast.stmt], new: list[ast.stmt]) -> int:
    found = 0
    for parent in list(ast.walk(scope)):
        for field in _BODIES:
            body = getattr(parent, field, None)
            if not isinstance(body, list):
                continue
            for start in range(len(body) - len(old) + 1):
                part = body[start : start + len(old)]
                if all(map(_fits, old, part)):
                    body[start : start + len(old)] = _filled(new, old, part)
                    found += 1
    return found


def _is_open(node: ast.AST) -> bool:
    """A statement with the body `...`."""
    body = getattr(node, "body", None)
    return isinstance(body, list) and len(body) == 1 and _dump(body[0]) == _dump(ast.Expr(ast.Constant(...)))


def _fits(pattern: ast.stmt, node: ast.stmt) -> bool:
    if not _is_open(pattern) or type(pattern) is not type(node):
        return _dump(pattern) == _dump(node)
    return _dump(_header(pattern)) == _dump(_header(node))


def _header(node: ast.stmt) -> ast.stmt:
    bare = copy.copy(node)
    for field in _BODIES:
        if hasattr(bare, field):
            setattr(bare, field, [])
    return bare


def _filled(new: list[ast.stmt], old: list[ast.stmt], part: list[ast.stmt]) -> list[ast.stmt]:
    """The new statements, with the bodies of the old ones where they are left open."""
    bodies = [node for pattern, node in zip(old, part, strict=True) if _is_open(pattern)]
    made = copy.deepcopy(new)
    for node in filter(_is_open, made):
        source = bodies.pop(0)
        for field in _BODIES:
            if hasattr(node, field) and hasattr(source, field):
                setattr(node, field, getattr(source, field))
    return made


def mutated(module: str, edit: Edit) -> types.ModuleType:
    """A module of the package with one thing changed, beside the original."""
    original = importlib.import_module(module)
    made = types.ModuleType(f"{module}_mutant")
    sys.modules[made.__name__] = made  # dataclasses look there
    try:
        tree = edit.tree(Path(str(original.__file__)).read_text(encoding="utf-8"))
        exec(compile(tree, f"<mutant of {module}>", "exec"), made.__dict__)
    finally:
        del sys.modules[made.__name__]
    return made
