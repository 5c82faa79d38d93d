"""The text of a function in which calls, attributes and writes go through a watch (`frontend.watched`)."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection
from typing import Any

NAME = "_pyflat_watch"
"""What the watch is called there."""


class NotTranslatedError(Exception):
    """A statement that no watch is kept over."""


class WatchedText(ast.NodeTransformer):
    """The text of a function in which calls, attributes and writes go through the watch."""

    def __init__(self, owner: str, free: Collection[str]):
        self.owner, self.free = owner, free
        self.first = ""
        """The first parameter, for super()."""

    def outermost(self, tree: ast.AST) -> ast.stmt:
        assert isinstance(tree, ast.FunctionDef | ast.Lambda)
        self._defaults(tree, [ast.Constant(None)])
        parameters = [*tree.args.posonlyargs, *tree.args.args]
        self.first = parameters[0].arg if parameters else ""
        if isinstance(tree, ast.Lambda):
            tree.body = self.visit(tree.body)
            return ast.Expr(tree)
        tree.decorator_list, tree.body = [], [each for stmt in tree.body for each in self._statements(stmt)]
        return tree

    def _defaults(self, tree: Any, none: list[ast.expr]) -> None:
        """Defaults were evaluated where the function was made; annotations are not."""
        tree.args.defaults = none * len(tree.args.defaults)
        tree.args.kw_defaults = [default and none[0] for default in tree.args.kw_defaults]
        self._without_annotations(tree)

    @staticmethod
    def _without_annotations(tree: Any) -> None:
        for arg in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs, tree.args.vararg, tree.args.kwarg):
            if arg is not None:
                arg.annotation = None
        if isinstance(tree, ast.FunctionDef):
            tree.returns = None

    def _statements(self, stmt: ast.stmt) -> list[ast.stmt]:
        found = self.visit(stmt)
        return found if isinstance(found, list) else [found]

    @staticmethod
    def _ask(method: str, *args: ast.expr, keywords: list[ast.keyword] | None = None) -> ast.expr:
        return ast.Call(ast.Attribute(ast.Name(NAME, ast.Load()), method, ast.Load()), list(args), keywords or [])

    # --- expressions
    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            if "__class__" not in self.free or not self.first:
                raise NotTranslatedError("it calls super()")
            return self._ask("super", ast.Name("__class__", ast.Load()), ast.Name(self.first, ast.Load()))
        self.generic_visit(node)
        return self._ask("call", node.func, *node.args, keywords=node.keywords)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if node.attr.startswith("__") and not node.attr.endswith("__") and self.owner:
            node.attr = f"_{self.owner}{node.attr}"
        if isinstance(node.ctx, ast.Load):
            return self._ask("get", node.value, ast.Constant(node.attr))
        node.value = self._ask("owned", node.value)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            return self._ask("item", node.value, _as_value(node.slice))
        node.value = self._ask("owned", node.value)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id.startswith("__") and not node.id.endswith("__"):
            raise NotTranslatedError(f"it reads the name {node.id}")
        return node

    def _made(self, node: ast.expr) -> ast.expr:
        self.generic_visit(node)
        return node if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del) else self._ask("made", node)

    visit_BinOp = visit_List = visit_Set = visit_Dict = visit_ListComp = visit_SetComp = visit_DictComp = _made
    visit_GeneratorExp = _made

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        self.generic_visit(node)
        return node

    # --- statements
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        self._without_annotations(node)
        self.generic_visit(node)
        node.decorator_list = [self._ask("decorated", each) for each in node.decorator_list]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if node.value is None:
            return ast.Pass()
        return self.visit(ast.Assign([node.target], node.value))  # type: ignore[no-any-return]

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        before = copy.deepcopy(node.target)
        if not isinstance(before, ast.Name) and not isinstance(before.value, ast.Name):
            raise NotTranslatedError("it assigns in place to a part of an expression")
        before.ctx = ast.Load()
        look = ast.Expr(self._ask("grown", self.visit(before)))
        self.generic_visit(node)
        return [look, node]

    def _loop(self, node: Any) -> ast.stmt:
        self.generic_visit(node)
        node.body.insert(0, ast.Expr(self._ask("iterated")))
        return node  # type: ignore[no-any-return]

    visit_For = visit_While = _loop

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.stmt:
        if set(node.names) & set(self.free):
            raise NotTranslatedError(f"it writes to {node.names[0]}, a variable of an enclosing function")
        return node

    def _import(self, node: ast.Import | ast.ImportFrom) -> list[ast.stmt]:
        if isinstance(node, ast.ImportFrom) and (node.level or node.module is None):
            raise NotTranslatedError("it imports by a relative name")
        names = [each.name for each in node.names]
        asked = [[name] for name in names] if isinstance(node, ast.Import) else [[node.module or "", *names]]
        return [*(ast.Expr(self._ask("imported", *map(ast.Constant, each))) for each in asked), node]

    visit_Import = visit_ImportFrom = _import

    def _not(self, node: ast.AST) -> ast.AST:
        raise NotTranslatedError(f"it has a statement of the kind {type(node).__name__.lower()}")

    visit_Global = visit_With = visit_AsyncWith = visit_AsyncFor = visit_AsyncFunctionDef = visit_Await = _not
    visit_ClassDef = visit_Match = visit_TryStar = _not


def _as_value(place: ast.expr) -> ast.expr:
    """A subscript as an argument: a slice is an object there."""
    if isinstance(place, ast.Slice):
        ends = [each or ast.Constant(None) for each in (place.lower, place.upper, place.step)]
        return WatchedText._ask("slice", *ends)
    if isinstance(place, ast.Tuple):
        return ast.Tuple([_as_value(each) for each in place.elts], ast.Load())
    return place
