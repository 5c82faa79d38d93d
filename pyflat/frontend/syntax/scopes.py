"""Which names a function binds: Python's rule, read from the tree. Code objects do not tell: since Python 3.12 theirs
have the variables of comprehensions too, also where the function means a global by the same name."""

from __future__ import annotations

import libcst as cst

from pyflat.frontend.capture import Captured, Tree


class _Bindings(cst.CSTVisitor):
    """Collects the names bound in one scope; does not enter nested scopes."""

    def __init__(self) -> None:
        self.bound: set[str] = set()
        self.outside: set[str] = set()

    def _target(self, node: cst.CSTNode | None) -> None:
        match node:
            case cst.Name():
                self.bound.add(node.value)
            case cst.Tuple() | cst.List():
                for element in node.elements:
                    self._target(element.value)
            case cst.AsName():
                self._target(node.name)

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self._target(node.target)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self._target(node.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self._target(node.target)

    def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
        self._target(node.target)

    def visit_For(self, node: cst.For) -> None:
        self._target(node.target)

    def visit_Del(self, node: cst.Del) -> None:
        self._target(node.target)

    def visit_WithItem(self, node: cst.WithItem) -> None:
        self._target(node.asname)

    def visit_ExceptHandler(self, node: cst.ExceptHandler) -> None:
        self._target(node.name)

    def visit_ImportAlias(self, node: cst.ImportAlias) -> None:
        self.bound.add(node.evaluated_alias or node.evaluated_name.split(".")[0])

    def visit_MatchAs(self, node: cst.MatchAs) -> None:
        self._target(node.name)

    def visit_MatchMapping(self, node: cst.MatchMapping) -> None:
        self._target(node.rest)

    def visit_MatchStar(self, node: cst.MatchStar) -> None:
        self._target(node.name)

    def visit_Global(self, node: cst.Global) -> None:
        self.outside |= {item.name.value for item in node.names}

    def visit_Nonlocal(self, node: cst.Nonlocal) -> None:
        self.outside |= {item.name.value for item in node.names}

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        self.bound.add(node.name.value)
        return self._around(node.params, *node.decorators)

    def visit_ClassDef(self, node: cst.ClassDef) -> bool:
        self.bound.add(node.name.value)
        return self._around(*node.bases, *node.keywords, *node.decorators)

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return self._around(node.params)

    def _around(self, *parts: cst.CSTNode) -> bool:
        """What belongs to a nested scope, but is evaluated in this one."""
        for part in parts:
            part.visit(self)
        return False


class _Nonlocals(cst.CSTVisitor):
    def __init__(self) -> None:
        self.names: set[str] = set()

    def visit_Nonlocal(self, node: cst.Nonlocal) -> None:
        self.names |= {item.name.value for item in node.names}


def written_by_nested(captured: Captured) -> frozenset[str]:
    """The names that functions inside of a function declare `nonlocal`, its own variables or those around it."""
    if "nonlocal" not in captured.source:
        return frozenset()
    visitor = _Nonlocals()
    captured.tree.body.visit(visitor)
    return frozenset(visitor.names)


class _Reads(cst.CSTVisitor):
    def __init__(self) -> None:
        self.names: set[str] = set()

    def visit_Name(self, node: cst.Name) -> None:
        self.names.add(node.value)


def read_names(tree: Tree) -> frozenset[str]:
    """Every name that stands in the body of a function, its own parameters excepted."""
    visitor = _Reads()
    tree.body.visit(visitor)
    return frozenset(visitor.names) - frozenset(parameter_names(tree.params))


def parameter_names(params: cst.Parameters) -> list[str]:
    every = [*params.posonly_params, *params.params]
    names = [p.name.value for p in every]
    if isinstance(params.star_arg, cst.Param):
        names.append(params.star_arg.name.value)
    names += [p.name.value for p in params.kwonly_params]
    if params.star_kwarg is not None:
        names.append(params.star_kwarg.name.value)
    return names


def local_names(tree: Tree) -> frozenset[str]:
    """Parameters and every name that the body binds."""
    visitor = _Bindings()
    tree.body.visit(visitor)
    return frozenset(visitor.bound - visitor.outside) | frozenset(parameter_names(tree.params))


class _Jumps(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: set[str] = set()

    def visit_Break(self, node: cst.Break) -> None:
        self.found.add("break")

    def visit_Continue(self, node: cst.Continue) -> None:
        self.found.add("continue")

    def visit_For(self, node: cst.For) -> bool:
        if node.orelse is not None:
            node.orelse.visit(self)
        return False

    def visit_While(self, node: cst.While) -> bool:
        if node.orelse is not None:
            node.orelse.visit(self)
        return False

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return False


def bound_names(statement: cst.BaseCompoundStatement) -> frozenset[str]:
    """Every name that a statement may bind, in this function."""
    visitor = _Bindings()
    statement.visit(visitor)
    return frozenset(visitor.bound)


class _Returns(cst.CSTVisitor):
    found = False

    def visit_Return(self, node: cst.Return) -> None:
        self.found = True

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return False


def returns(body: cst.BaseSuite) -> bool:
    """The body has a return somewhere."""
    visitor = _Returns()
    body.visit(visitor)
    return visitor.found


class _Leaves(cst.CSTVisitor):
    found = False

    def visit_Break(self, node: cst.Break) -> None:
        self.found = True

    def visit_Return(self, node: cst.Return) -> None:
        self.found = True

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return False


def may_leave(body: cst.BaseSuite) -> bool:
    """A loop's body has a break or return somewhere."""
    visitor = _Leaves()
    body.visit(visitor)
    return visitor.found


class _Ends(_Leaves):
    """Also `continue` and `raise`."""

    def visit_Continue(self, node: cst.Continue) -> None:
        self.found = True

    def visit_Raise(self, node: cst.Raise) -> None:
        self.found = True


def may_end(body: cst.BaseSuite) -> bool:
    """A statement somewhere in a body ends an iteration."""
    visitor = _Ends()
    body.visit(visitor)
    return visitor.found


def jumps(body: cst.BaseSuite) -> set[str]:
    """Which of break and continue the body of a loop has for that loop."""
    visitor = _Jumps()
    body.visit(visitor)
    return visitor.found


def target_names(target: cst.BaseExpression) -> list[str]:
    match target:
        case cst.Name():
            return [target.value]
        case cst.Tuple() | cst.List():
            return [n for e in target.elements for n in target_names(e.value)]
    return []
