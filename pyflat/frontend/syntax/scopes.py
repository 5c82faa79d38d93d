"""Which names a function binds: Python's rule, read from the tree. Code objects do not tell: since Python 3.12 theirs
have the variables of comprehensions too, also where the function means a global by the same name."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from pyflat.frontend.capture import Captured, Tree
from pyflat.frontend.spelling import names_in, nodes_in


def _bindings(tree: cst.CSTNode) -> tuple[set[str], set[str]]:
    """The names bound in one scope, and those declared to be of another one; does not enter nested scopes, but what
    belongs to them and is evaluated in this one."""
    bound: set[str] = set()
    outside: set[str] = set()
    todo = [tree]
    while todo:
        node = todo.pop()
        inner: Sequence[cst.CSTNode] | None = None
        match node:
            case cst.AssignTarget() | cst.AugAssign() | cst.AnnAssign() | cst.NamedExpr() | cst.For() | cst.Del():
                bound.update(target_names(node.target))
            case cst.AsName() | cst.MatchAs() | cst.MatchStar():
                bound.update(target_names(node.name))
            case cst.MatchMapping():
                bound.update(target_names(node.rest))
            case cst.ImportAlias():
                bound.add(node.evaluated_alias or node.evaluated_name.split(".")[0])
                inner = ()
            case cst.Global() | cst.Nonlocal():
                outside |= {item.name.value for item in node.names}
            case cst.FunctionDef():
                bound.add(node.name.value)
                inner = node.params, *node.decorators
            case cst.ClassDef():
                bound.add(node.name.value)
                inner = *node.bases, *node.keywords, *node.decorators
            case cst.Lambda():
                inner = node.params,
        todo += node.children if inner is None else inner
    return bound, outside


def written_by_nested(captured: Captured) -> frozenset[str]:
    """The names that functions inside of a function declare `nonlocal`, its own variables or those around it."""
    if "nonlocal" not in captured.source:
        return frozenset()
    return frozenset(item.name.value for node in nodes_in(captured.tree.body) if isinstance(node, cst.Nonlocal)
                     for item in node.names)


def read_names(tree: Tree) -> frozenset[str]:
    """Every name that stands in the body of a function, its own parameters excepted."""
    return frozenset(names_in(tree.body)) - frozenset(parameter_names(tree.params))


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
    bound, outside = _bindings(tree.body)
    return frozenset(bound - outside) | frozenset(parameter_names(tree.params))


def bound_names(statement: cst.BaseCompoundStatement) -> frozenset[str]:
    """Every name that a statement may bind, in this function."""
    return frozenset(_bindings(statement)[0])


def _has(body: cst.BaseSuite, kinds: type | tuple[type, ...]) -> bool:
    """A statement of these kinds stands somewhere in a body, outside of the functions that it defines."""
    return any(isinstance(node, kinds) for node in nodes_in(body, cst.FunctionDef))


def returns(body: cst.BaseSuite) -> bool:
    """The body has a return somewhere."""
    return _has(body, cst.Return)


def yields(tree: Tree) -> bool:
    """It is a generator function."""
    return any(isinstance(node, cst.Yield) for node in nodes_in(tree.body, (cst.FunctionDef, cst.Lambda)))


def may_leave(body: cst.BaseSuite) -> bool:
    """A loop's body has a break or return somewhere."""
    return _has(body, (cst.Break, cst.Return))


def may_end(body: cst.BaseSuite) -> bool:
    """A statement somewhere in a body ends an iteration."""
    return _has(body, (cst.Break, cst.Return, cst.Continue, cst.Raise))


def jumps(body: cst.CSTNode) -> set[str]:
    """Which of break and continue the body of a loop has for that loop."""
    found = set[str]()
    for node in nodes_in(body, (cst.FunctionDef, cst.For, cst.While)):
        match node:
            case cst.Break():
                found.add("break")
            case cst.Continue():
                found.add("continue")
            case cst.For() | cst.While() if node.orelse is not None:
                found |= jumps(node.orelse)
    return found


def target_names(target: cst.CSTNode | None) -> list[str]:
    match target:
        case cst.Name():
            return [target.value]
        case cst.Tuple() | cst.List():
            return [n for e in target.elements for n in target_names(e.value)]
    return []
