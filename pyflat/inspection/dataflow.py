"""Functions as dataflow graphs: lower a Python function, run it token by token, compare it with the original.

    from pyflat import dataflow
    program = dataflow.lower(gcd, [48, 18])
    report = program.run()
    program.value(report), report.done, report.tokens_left        # 6, 1, 0

Numbers among the arguments are tokens of the graph; everything else (strings, None, functions) specialises it.
Integers are Python's: `report.wide` names the nodes that sent more than 64 bits.

Performance figures of a graph: nodes by kind, critical path, initiation intervals, cycles by queue capacity.

The clock model: every node takes one cycle, and a token sent in one cycle can be taken in the next.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median_low
from typing import Any

from pyflat.ir.nodes import Function
from pyflat.ir.recursion import with_room
from pyflat.ir.shape import COMPLEX, Fixed, Leaf, Record, Shape, rebuild, record_of
from pyflat.ir.types import kind_of
from pyflat.runtime.compiled import keep_loops
from pyflat.targets.dataflow import CORRECTED, LITERAL, graph_of
from pyflat.targets.dataflow.graph import BACK_INPUTS, Graph, LoopPorts, Node
from pyflat.targets.dataflow.simulate import Report, Simulation

CAPACITIES = (None, 1, 2, 4, 16)
_PACE = frozenset({"stream", "gate", "carry"})
"""The kinds of node that keep the pace of a loop."""


@dataclass(frozen=True, slots=True)
class LoopFigures:
    """`interval`: cycles from one iteration to the next, measured (None below two iterations).

    `recurrence`: nodes on the longest way from a carried value back to itself: no interval is shorter, unless other
    carried values share the way.
    """

    name: str
    form: str
    raw_tokens: int
    body_tokens: int
    exits: int
    interval: int | None
    recurrence: int


@dataclass(frozen=True, slots=True)
class Figures:
    """`cycles` by capacity of the queues: None without bound; a value of None where that capacity deadlocks."""

    nodes: dict[str, int]
    critical_path: list[str]
    loops: list[LoopFigures]
    cycles: dict[int | None, int | None]


def measure(graph: Graph, arguments: Sequence[Any], capacities: Sequence[int | None] = CAPACITIES) -> Figures:
    """The figures of `graph`, those that depend on data for these arguments."""
    report = Simulation(graph, arguments, trace=True).run_clocked()
    cycles = {capacity: Simulation(graph, arguments, capacity=capacity).run_clocked().cycles for capacity in capacities}
    loops = [_loop_figures(graph, report, loop) for loop in graph.loops]
    return Figures(graph.count_kinds(), [node.name for node in critical_path(graph)], loops, cycles)


def _loop_figures(graph: Graph, report: Report, loop: LoopPorts) -> LoopFigures:
    raw, body, exits = (len(report.values[str(port)]) for port in (loop.raw, loop.body, loop.exits))
    interval, shortest = _interval(graph, report, loop.name), recurrence(graph, loop.name)
    return LoopFigures(loop.name, loop.form, raw, body, exits, interval, shortest)


def _interval(graph: Graph, report: Report, loop: str) -> int | None:
    """The usual number of cycles between tokens of the slowest node that keeps the loop's pace."""
    gaps: list[int] = []
    for node in graph.nodes:
        if node.loop == loop and node.kind in _PACE:
            times = report.times[str(node.out())]
            if len(times) > 2:
                gaps.append(median_low(b - a for a, b in pairwise(times)))
    return max(gaps, default=None)


def critical_path(graph: Graph) -> list[Node]:
    """The longest path through the graph if every loop is entered once, without back edges."""
    longest: dict[Node, tuple[int, Node | None]] = {}
    for node in graph.nodes:
        before = [source.node for source in _forward(node)]
        last = max(before, key=lambda n: longest[n][0], default=None)
        longest[node] = (1 + (longest[last][0] if last else 0), last)
    end: Node | None = max(graph.nodes, key=lambda n: longest[n][0])
    path: list[Node] = []
    while end is not None:
        path.append(end)
        end = longest[end][1]
    return path[::-1]


def recurrence(graph: Graph, loop: str) -> int:
    """The most nodes on a way from a carry of the loop back to its own control or feedback."""
    carries = (node for node in graph.nodes if node.loop == loop and node.kind == "carry")
    return max((_round_trip(graph, node) for node in carries), default=1)


def _round_trip(graph: Graph, start: Node) -> int:
    distance = {start: 1}
    for node in graph.nodes:
        reached = [distance[source.node] for source in _forward(node) if source.node in distance]
        if reached and node is not start:
            distance[node] = 1 + max(reached)
    backs = (start.sources[index] for index in BACK_INPUTS[start.kind])
    return max((distance.get(source.node, 1) for source in backs if source is not None), default=1)


def _forward(node: Node) -> list[Any]:
    """The sources of a node except those through which a loop closes: they are all built before it."""
    back = BACK_INPUTS.get(node.kind, ())
    return [source for index, source in enumerate(node.sources) if index not in back and source is not None]


@dataclass(frozen=True, slots=True)
class Program:
    """A function lowered to a graph, with the argument leaves that it was lowered for."""

    graph: Graph
    function: Function
    result: Shape
    leaves: tuple[Any, ...]

    def simulation(self, leaves: Sequence[Any] | None = None, **options: Any) -> Simulation:
        """A run that has not started: see `Simulation` for seed=, capacity= and trace=."""
        return Simulation(self.graph, self.leaves if leaves is None else leaves, **options)

    def run(self, leaves: Sequence[Any] | None = None, **options: Any) -> Report:
        """Run on other leaves of the same kinds, or on those that the program was lowered for."""
        return self.simulation(leaves, **options).run()

    def value(self, report: Report) -> Any:
        """The function's result, from a report without problems."""
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

    Parameters in `static`, and arguments other than numbers, specialise the graph. Loops stay loops if possible;
    `literal` follows the rules of the specification literally.
    Raises FlattenError if the function cannot be lowered, TypeError if the arguments do not fit.
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
