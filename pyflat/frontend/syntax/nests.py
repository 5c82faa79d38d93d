"""How many iterations a nest of loops has at least, as far as its text says that before it runs.

    for i in range(5):               five times what is inside: 5 * (6 + 7)
        for j in range(6): ...
        for k in range(N): ...       N a global int, or a local one that the nest does not bind
        if x > i:
            for m in range(9): ...   may not run

So that a nest that is too long is not unrolled up to its limit first, which takes as long as the limit lets it.
"""

from __future__ import annotations

import builtins

import libcst as cst

from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.values import Static
from pyflat.frontend.syntax import scopes


def least_iterations(s: Evaluator, node: cst.For, length: int) -> int:
    """Iterations of the innermost loops; 0 where something may leave a loop of the nest, or skip a part of it."""
    if s.frame.has_closures or scopes.may_end(node.body):
        return 0
    return length * _inside(s, node.body, scopes.bound_names(node))


def _inside(s: Evaluator, body: cst.BaseSuite, bound: frozenset[str]) -> int:
    """Iterations in one run of a body: 1 where no loop is sure to run."""
    inner = [statement for statement in body.body if isinstance(statement, cst.For)]
    return max(sum(_trips(s, each.iter, bound) * _inside(s, each.body, bound) for each in inner), 1)


def _trips(s: Evaluator, source: cst.BaseExpression, bound: frozenset[str]) -> int:
    """Trips of a loop over a range of known ints; 0 of any other."""
    if not isinstance(source, cst.Call) or not isinstance(source.func, cst.Name) or source.func.value != "range":
        return 0
    values = [_known(s, each.value, bound) for each in source.args if not each.star and each.keyword is None]
    limits = [value for value in values if type(value) is int]
    if len(limits) != len(source.args) or _global(s, "range") is not range:
        return 0
    try:
        return len(range(*limits))
    except (TypeError, ValueError, OverflowError):
        return 0


def _known(s: Evaluator, node: cst.BaseExpression, bound: frozenset[str]) -> object:
    match node:
        case cst.Integer():
            return int(node.value, 0)
        case cst.Name() if node.value in s.frame.local_names:
            value = s.state.locals.get(node.value)
            return value.value if isinstance(value, Static) and node.value not in bound else None
        case cst.Name():
            return _global(s, node.value)
    return None


def _global(s: Evaluator, name: str) -> object:
    """What it means where no function around binds it; evaluating the loop makes the guard."""
    frame = s.frame
    if frame.outer is not None or name in frame.local_names or name in frame.cells:
        return None
    return frame.globals.get(name, getattr(builtins, name, None))
