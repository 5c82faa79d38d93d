"""Functions as dataflow graphs: lower a Python function, run it token by token, compare it with the original.

    from pyflat import dataflow
    program = dataflow.lower(gcd, [48, 18])
    report = program.run()
    program.value(report), report.done, report.tokens_left        # 6, 1, 0

Numbers among the arguments are tokens of the graph; everything else (strings, None, functions) specialises it.
Integers are Python's: `report.wide` names the nodes that sent more than 64 bits.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyflat.ir.nodes import Function
from pyflat.ir.recursion import with_room
from pyflat.ir.shape import COMPLEX, Fixed, Leaf, Record, Shape, rebuild, record_of
from pyflat.ir.types import kind_of
from pyflat.runtime.compiled import keep_loops
from pyflat.targets.dataflow import CORRECTED, LITERAL, Graph, Report, Simulation, graph_of
from pyflat.targets.dataflow.figures import Figures, measure


@dataclass(frozen=True, slots=True)
class Program:
    """A function lowered to a graph, with the argument leaves that it was lowered for."""

    graph: Graph
    function: Function
    result: Shape
    leaves: tuple[Any, ...]

    def simulation(self, leaves: Sequence[Any] | None = None, **options: Any) -> Simulation:
        """A run that has not started yet: see `Simulation` for seed=, capacity= and trace=."""
        return Simulation(self.graph, self.leaves if leaves is None else leaves, **options)

    def run(self, leaves: Sequence[Any] | None = None, **options: Any) -> Report:
        """Run on other leaves of the same kinds, or on those that the program was lowered for."""
        return self.simulation(leaves, **options).run()

    def value(self, report: Report) -> Any:
        """What the function returns, by a report without problems."""
        return rebuild(self.result, iter(report.results))

    def figures(self) -> Figures:
        return measure(self.graph, self.leaves)


@with_room
def lower(
    fn: Callable[..., Any],
    arguments: Sequence[Any],
    keywords: Mapping[str, Any] | None = None,
    *,
    static: Collection[str] = (),
    literal: bool = False,
) -> Program:
    """The dataflow graph of `fn(*arguments, **keywords)`, for arguments of these kinds.

    The parameters that `static` names specialise the graph, as does what is no number. Loops stay loops where they
    can; `literal` keeps the seed document's rules as they are written.
    Raises FlattenError where the function cannot be lowered, TypeError where the arguments do not fit it.
    """
    leaves: list[Any] = []
    bound = inspect.signature(fn).bind(*arguments, **(keywords or {}))
    shapes: dict[str, Shape] = {
        name: Fixed(value) if name in static else shape_of(value, leaves) for name, value in bound.arguments.items()
    }
    spec = keep_loops(fn, shapes)
    graph, function = graph_of(spec.function, LITERAL if literal else CORRECTED)
    return Program(graph, function, spec.result, tuple(leaves))


def shape_of(value: Any, leaves: list[Any]) -> Shape:
    """The shape of an argument; its numbers are appended to `leaves`."""
    kind = kind_of(value)
    if kind is not None:
        leaves.append(value)
        return Leaf(kind)
    if type(value) is complex:
        leaves += [value.real, value.imag]
        return COMPLEX
    record = record_of(value)
    if record is None:
        return Fixed(value)
    cls, names, items = record
    return Record(cls, names, tuple(shape_of(item, leaves) for item in items))
