"""The dataflow graph as an engine: every lane is one run of the token simulator.

For checking, not for speed. A lane that ends in a fault, a deadlock or with tokens left is suspect: the original
decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyflat.ir.nodes import Function
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MAX, INT_MIN
from pyflat.passes import pipelines
from pyflat.targets.dataflow.graph import Graph
from pyflat.targets.dataflow.lower import lower
from pyflat.targets.dataflow.prepare import HOIST_LEAVING
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
