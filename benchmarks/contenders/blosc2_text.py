"""python-blosc2's DSL, compiled (`jit=True`), on one thread, over NumPy arrays: the function's own text.

What is only spelled otherwise there is respelled: no docstring and annotations, `exp` for `math.exp`, fmax and fmin for
max and min (which are reductions there), numbers for global constants. What has no other spelling (helpers, conditional
expressions, assignments to parameters or tuples) is its note.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from benchmarks.contenders.record import Columns, Contender, Run, UnavailableError, optional, result_type
from benchmarks.contenders.standalone import tree_of
from benchmarks.kernels import Kernel

PAIRS = {"max": "fmax", "min": "fmin"}


class _Spelling(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = names

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(node.arg)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return ast.Name(node.attr) if ast.unparse(node.value) == "math" else node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.names.get(node.id)
        return ast.Constant(value) if type(value) in (int, float) else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in PAIRS and len(node.args) > 1:
            first, *rest = node.args
            for each in rest:
                first = ast.Call(ast.Name(PAIRS[node.func.id]), [first, each], [])
            return first
        return node


def text_of(kernel: Kernel) -> str:
    names = inspect.getclosurevars(kernel.function).globals
    tree = _Spelling(names).visit(tree_of(kernel.function))
    tree.returns = None
    tree.args.args = tree.args.args[:kernel.function.__code__.co_argcount]
    helpers = [name for name, value in names.items() if callable(value) and not isinstance(value, BuiltinFunctionType)]
    if helpers:
        raise UnavailableError(f"a kernel calls no other function: {', '.join(helpers)}")
    return ast.unparse(ast.fix_missing_locations(tree))


def _make(kernel: Kernel, lanes: Columns) -> Run:
    blosc2 = optional("blosc2")
    text = text_of(kernel)
    blosc2.set_nthreads(1)
    dtype = result_type(kernel, lanes)
    try:
        made = optional("blosc2.dsl_kernel").kernel_from_source(text)
        blosc2.lazyudf(made, tuple(lanes), dtype=dtype, jit=True)[:]
    except (ValueError, RuntimeError) as error:
        raise UnavailableError(_said(str(error))) from error
    return lambda: np.asarray(blosc2.lazyudf(made, tuple(lanes), dtype=dtype, jit=True)[:])


def _said(message: str) -> str:
    """Without the listing of the kernel."""
    _, _, details = message.partition("; details: ")
    words = details.partition(", parse")[0] or message.partition(" at line ")[0].split(".\n")[-1]
    return " ".join(words.split())


def _versions() -> Mapping[str, str]:
    return {"blosc2": str(optional("blosc2").__version__)}


CONTENDERS = (Contender("blosc2", _make, local=True, versions=_versions),)
