"""How a body uses its parameters: as arrays, where it subscripts or iterates over one, or asks for its shape."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

_ATTRIBUTES = frozenset({"shape", "size", "ndim", "dtype", "T"})
_ITERATING = frozenset({"len", "enumerate", "zip", "iter", "reversed"})
Passed = tuple[str, str, int | str]
"""A parameter, the helper that it is passed to, and as which parameter of the helper."""


def uses(tree: cst.CSTNode, names: Sequence[str]) -> tuple[dict[str, str], list[Passed]]:
    """Parameter -> the first use of it as an array; and where parameters are passed on."""
    reader = _Reader(frozenset(names))
    tree.visit(reader)
    return reader.found, reader.passed


class _Reader(cst.CSTVisitor):
    def __init__(self, names: frozenset[str]):
        self.names = names
        self.found: dict[str, str] = {}
        self.passed: list[Passed] = []
        self.rebound: set[str] = set()
        """Names that mean something else by now."""

    def note(self, node: cst.CSTNode, why: str) -> None:
        if isinstance(node, cst.Name) and node.value in self.names and node.value not in self.rebound:
            self.found.setdefault(node.value, why)

    def leave_Assign(self, original_node: cst.Assign) -> None:
        self.rebound.update(target.target.value for target in original_node.targets
                            if isinstance(target.target, cst.Name))

    def visit_Subscript(self, node: cst.Subscript) -> None:
        self.note(node.value, "it is subscripted")

    def visit_For(self, node: cst.For) -> None:
        self.note(node.iter, "it is iterated over")

    def visit_CompFor(self, node: cst.CompFor) -> None:
        self.note(node.iter, "it is iterated over")

    def visit_Attribute(self, node: cst.Attribute) -> None:
        if node.attr.value in _ATTRIBUTES:
            self.note(node.value, f"its .{node.attr.value} is read")

    def visit_Call(self, node: cst.Call) -> None:
        if not isinstance(node.func, cst.Name):
            return
        for position, arg in enumerate(node.args):
            if not isinstance(arg.value, cst.Name) or arg.value.value not in self.names or arg.star:
                continue
            if node.func.value in _ITERATING:
                self.note(arg.value, f"{node.func.value}() is taken of it")
            else:
                self.passed.append((arg.value.value, node.func.value, arg.keyword.value if arg.keyword else position))
