"""The dataflow graph as an engine: every lane is one run of the token simulator.

For checking, not for speed. A lane that ends in a fault, a deadlock or with tokens left is suspect: the original
decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyflat.ir.nodes import Block, Exit, Function, If, Item, Label, Loop, Region
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MAX, INT_MIN
from pyflat.passes import pipelines
from pyflat.passes.record import Pass
from pyflat.targets.dataflow.graph import Graph
from pyflat.targets.dataflow.lower import lower
from pyflat.targets.dataflow.needed import must_happen
from pyflat.targets.dataflow.simulate import Simulation
from pyflat.targets.dataflow.states import CORRECTED, Rules
from pyflat.targets.target import Request

_DTYPES = {BOOL: np.bool_, INT: np.int64, FLOAT: np.float64}


def graph_of(structured: Function, rules: Rules = CORRECTED) -> tuple[Graph, Function]:
    """The graph of a structured function, and the canonical form that it was made from."""
    function = pipelines.run(structured, pipelines.dataflow(HOIST_LEAVING))
    return lower(function, rules), function


def engine(request: Request) -> DataflowEngine:
    """The target "dataflow"."""
    return DataflowEngine(request.function)


def text(request: Request) -> str:
    """The graph."""
    return DataflowEngine(request.function).source


class DataflowEngine:
    """Runs lanes through the simulator; `source` is the graph as text."""

    def __init__(self, structured: Function):
        self.graph, self.function = graph_of(structured)

    @property
    def source(self) -> str:
        from pyflat.targets.dataflow.export import to_mlir

        return to_mlir(self.graph)

    def __call__(self, lanes: Sequence[Any], n: int) -> tuple[list[NDArray[Any]], NDArray[np.bool_] | None]:
        kinds = self.function.result_kinds
        results: list[NDArray[Any]] = [np.zeros(n, dtype=_DTYPES[kind]) for kind in kinds]
        suspect = np.zeros(n, dtype=np.bool_)
        columns = [np.broadcast_to(lane, n) for lane in lanes]
        for position in range(n):
            report = Simulation(self.graph, [column[position].item() for column in columns]).run()
            wide = any(kind is INT and not INT_MIN <= value <= INT_MAX
                       for kind, value in zip(kinds, report.results, strict=True) if value is not None)
            if wide or not report.clean:
                suspect[position] = True
                continue
            for column, value in zip(results, report.results, strict=True):
                column[position] = value
        return results, suspect if suspect.any() else None


# --- before exits are lowered: what a loop computes only to leave it moves before its test, where that is harmless
#
# Before:                              After:
#     loop @l (...) {                      loop @l (...) {
#       %go = lt %i, %n                      %go = lt %i, %n
#       if %go {                             %bound = not %unbound
#         yield                              if %go {
#       } else {                               yield
#         %bound = not %unbound              } else {
#         exit @l %s, %bound                   exit @l %s, %bound
#       }                                    }
#
# Then the test is the loop's own condition, and no live mask is carried for a loop that has no other exit.

def hoist_leaving(fn: Function) -> Function:
    """`fn` with the harmless operations of leaving arms in front of their tests."""
    return Function(fn.name, fn.params, _list(fn.body, None), fn.label, fn.result_kinds, fn.form, fn.floats)


def _list(items: list[Item], loop: Label | None) -> list[Item]:
    """A copy of a list; `loop` is the label of the loop whose body it is."""
    new: list[Item] = []
    for item in items:
        match item:
            case Block():
                new.append(Block(item.ops, item.end))
            case Region():
                new.append(Region(item.label, _list(item.body, None), item.results))
            case Loop():
                body = _list(item.body, item.label)
                new.append(Loop(item.label, item.again, item.params, item.inits, body, item.results, hint=item.hint))
            case If():
                then, orelse = _list(item.then, None), _list(item.orelse, None)
                new.append(If(item.cond, then, orelse, item.results, hint=item.hint))
                if loop is not None:
                    _hoist(new, loop)
    return new


def _hoist(items: list[Item], loop: Label) -> None:
    """The last item is an If: empty the arm that leaves the loop and nothing else."""
    before, test = items[-2:]
    assert isinstance(before, Block)
    assert isinstance(test, If)
    for arm in (test.then, test.orelse):
        first = arm[0]
        if len(arm) > 1 or not isinstance(first, Block) or not _leaves(first, loop) or any(map(must_happen, first.ops)):
            continue
        before.ops += first.ops
        first.ops = []


def _leaves(block: Block, loop: Label) -> bool:
    return isinstance(block.end, Exit) and block.end.label is loop


HOIST_LEAVING = Pass(hoist_leaving)
