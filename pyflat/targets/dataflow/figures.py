"""Performance figures of a graph: nodes by kind, critical path, initiation intervals, cycles by queue capacity.

The clock model: every node takes one cycle, and a token sent in one cycle can be taken in the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median_low
from typing import Any

from pyflat.targets.dataflow.graph import BACK_INPUTS, Graph, LoopPorts, Node
from pyflat.targets.dataflow.report import Report
from pyflat.targets.dataflow.simulate import Simulation

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
    """The longest way through the graph when every loop is entered once: back edges are left out."""
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
