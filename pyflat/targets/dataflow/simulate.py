"""The token simulator: runs a graph in any firing order, or clock by clock, and reports what is left.

Nodes fire as soon as their tokens are there. `seed` chooses the order: None takes them in turn, a number draws them
at random. The result, and the number of tokens on every port, do not depend on it: that is what makes the graph
right, and the tests run each program in many orders. `capacity` bounds the queues. `run_clocked` fires everything
that can fire once a cycle.

A run of a right graph ends with its results, exactly one done token, no token left anywhere and every node at rest.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyflat.ir.types import INT_MAX, INT_MIN
from pyflat.targets.dataflow.graph import Graph, Node
from pyflat.targets.dataflow.machines import REST, Cell, NodeFault, Step, machine_of


@dataclass(slots=True)
class Report:
    """The outcome of a run: results, done tokens, leftover tokens, stalled nodes, and counts of tokens.

    results      the result leaves; None where a result did not come
    done         number of done tokens
    residual     tokens left, by edge ("carry_s.o -> add.in0")
    deadlock     None, or what did not come and the node where it stops
    unrest       nodes that are not at rest
    fault        None, or what Python raises, and the node
    firings      steps of all nodes; `cycles` is None unless the run was clocked and came to its end
    sent, taken  tokens that each output sent and each input took, by node and port
    values       the tokens themselves and `times` when they were sent, by "node.port", when traced
    memories     contents at the end
    wide         nodes that sent an int beyond 64 bits: Python's value is right, a machine needs more bits there
    """

    results: list[Any] = field(default_factory=list)
    done: int = 0
    residual: dict[str, int] = field(default_factory=dict)
    deadlock: str | None = None
    unrest: list[str] = field(default_factory=list)
    fault: NodeFault | None = None
    firings: int = 0
    cycles: int | None = None
    sent: dict[str, dict[str, int]] = field(default_factory=dict)
    taken: dict[str, dict[str, int]] = field(default_factory=dict)
    values: dict[str, list[Any]] = field(default_factory=dict)
    times: dict[str, list[int]] = field(default_factory=dict)
    memories: dict[str, list[Any]] = field(default_factory=dict)
    wide: list[str] = field(default_factory=list)

    @property
    def tokens_left(self) -> int:
        return sum(self.residual.values())

    @property
    def clean(self) -> bool:
        """One done token, every queue empty, every node at rest, no fault."""
        return not self.problems()

    def problems(self) -> list[str]:
        """The problems of the run, one sentence each; empty if there are none."""
        found = [f"the program raises {self.fault} in {self.fault.node.name}"] if self.fault else []
        if self.deadlock is not None:
            found.append(f"deadlock: {self.deadlock}")
        if self.done != 1 and not self.fault:
            found.append(f"{self.done} done tokens instead of 1")
        for edge, count in self.residual.items():
            found.append(f"{count} extra token{'s' if count > 1 else ''} on {edge}{self._counts(edge)}")
        found += [f"{name} is not at rest" for name in self.unrest]
        return found

    def _counts(self, edge: str) -> str:
        """How far the inputs of a node are apart: the sign of a wrong control stream."""
        output, reader = edge.split(" -> ")
        node, port = output.rsplit(".", 1)
        consumer, index = reader.rsplit(".", 1)
        return f": {self.sent[node][port]} sent, {self.taken[consumer][index]} taken"

    def tokens(self) -> dict[str, dict[str, int]]:
        """Tokens by node and port: taken by inputs, sent by outputs."""
        return {name: {**self.taken[name], **sent} for name, sent in self.sent.items()}


@dataclass(frozen=True, slots=True)
class Event:
    """One firing, for the stepwise trace: `time` counts firings, or cycles when clocked."""

    time: int
    node: str
    taken: tuple[tuple[str, Any], ...]
    sent: tuple[tuple[str, Any], ...]

    def __str__(self) -> str:
        sent = f" -> {_ports(self.sent)}" if self.sent else ""
        return f"{self.time:5d}  {self.node}({_ports(self.taken)}){sent}"


def _ports(tokens: tuple[tuple[str, Any], ...]) -> str:
    return ", ".join(f"{port}={token_text(value)}" for port, value in tokens)


def token_text(value: Any) -> str:
    """A token in a trace: a dot for control, T and F for conditions."""
    if value is None:
        return "."
    return ("T" if value else "F") if isinstance(value, bool) else repr(value)


MAX_FIRINGS = 2_000_000


class Simulation:
    """One run of `graph` on argument values (one for each of `graph.arguments`) and initial memories."""

    def __init__(
        self,
        graph: Graph,
        arguments: Sequence[Any] = (),
        *,
        seed: int | None = None,
        capacity: int | None = None,
        trace: bool = False,
        max_firings: int = MAX_FIRINGS,
    ):
        if len(arguments) != len(graph.arguments):
            raise TypeError(f"{graph.name} takes {len(graph.arguments)} argument leaves, not {len(arguments)}")
        if capacity is not None and capacity < 1:
            raise ValueError("the capacity of a queue is at least 1")
        self.graph = graph
        self.random = None if seed is None else random.Random(seed)
        self.capacity = capacity
        self.trace = trace
        self.max_firings = max_firings
        self.memories = {name: list(items) for name, items in graph.memories.items()}
        self.events: list[Event] = []
        self.time = 0
        self.firings = 0
        self.fault: NodeFault | None = None
        self._build(arguments)

    def _build(self, arguments: Sequence[Any]) -> None:
        number = self.number = {node: index for index, node in enumerate(self.graph.nodes)}
        self.cells: list[Cell] = []
        for node in self.graph.nodes:
            memory = self.memories[node.value] if node.kind in {"load", "store"} else []
            state = ((None if node.value is None else arguments[node.value]),) if node.kind == "source" else REST
            queues: list[deque[Any]] = [deque() for _ in node.inputs]
            self.cells.append(Cell(node, number[node], queues, state, memory, machine_of(node)))
        self.readers: list[list[list[tuple[int, int]]]] = [[[] for _ in node.outputs] for node in self.graph.nodes]
        for source, node, index in self.graph.edges():
            self.readers[number[source.node]][source.number].append((number[node], index))
        self.feeders = [[number[s.node] for s in node.sources if s is not None] for node in self.graph.nodes]
        self.sent = [[0] * len(node.outputs) for node in self.graph.nodes]
        self.taken = [[0] * len(node.inputs) for node in self.graph.nodes]
        self.values: list[list[list[Any]]] = [[[] for _ in node.outputs] for node in self.graph.nodes]
        self.times: list[list[list[int]]] = [[[] for _ in node.outputs] for node in self.graph.nodes]
        assert self.graph.done is not None
        self.done = self.graph.done
        self.arrived: dict[Node, list[Any]] = {node: [] for node in (*self.graph.results, self.done)}
        self.wide: set[int] = set()

    # --- in any order

    def run(self) -> Report:
        """Fire until nothing can fire."""
        order = _Order(len(self.cells), self.random)
        while (number := order.take()) is not None and self.firings < self.max_firings:
            step = self.plan(number)
            if step is None or self.full_reader(number, step) is not None:
                continue
            self.time += 1
            self.carry_out(number, step)
            order.put(number)
            for reader in self.reached(number, step):
                order.put(reader)
            if self.capacity is not None:
                for index in step.takes:
                    order.put(self.feeders[number][index])
        return self.report()

    def plan(self, number: int) -> Step | None:
        """The step that the node can take now; None if there is none, or after a fault."""
        if self.fault is not None:
            return None
        cell = self.cells[number]
        try:
            return cell.machine(cell)
        except NodeFault as fault:
            self.fault = fault
            return None

    def reached(self, number: int, step: Step) -> Iterator[int]:
        for output, _ in step.sends:
            for reader, _ in self.readers[number][output]:
                yield reader

    def full_reader(self, number: int, step: Step) -> int | None:
        """A node whose queue is full, so that the step cannot send; the node's own reads make room first."""
        if self.capacity is None:
            return None
        for output, _ in step.sends:
            for reader, index in self.readers[number][output]:
                freed = 1 if reader == number and index in step.takes else 0
                if len(self.cells[reader].queues[index]) - freed >= self.capacity:
                    return reader
        return None

    def carry_out(self, number: int, step: Step) -> None:
        cell = self.cells[number]
        self.firings += 1
        tokens = [cell.queues[index].popleft() for index in step.takes]
        for index in step.takes:
            self.taken[number][index] += 1
        cell.state = step.state
        if step.write is not None:
            memory, place, value = step.write
            memory[place] = value
        for output, value in step.sends:
            self.send(number, output, value)
        if cell.node in self.arrived:
            self.arrived[cell.node] += tokens
        if self.trace:
            node = cell.node
            taken = tuple((node.inputs[index], token) for index, token in zip(step.takes, tokens, strict=True))
            self.events.append(Event(self.time, node.name, taken, tuple((node.outputs[o], v) for o, v in step.sends)))

    def send(self, number: int, output: int, value: Any) -> None:
        self.sent[number][output] += 1
        if type(value) is int and not INT_MIN <= value <= INT_MAX:
            self.wide.add(number)
        if self.trace:
            self.values[number][output].append(value)
            self.times[number][output].append(self.time)
        for reader, index in self.readers[number][output]:
            self.cells[reader].queues[index].append(value)

    # --- clock by clock

    def run_clocked(self) -> Report:
        """Every node that can fire does so once a cycle; tokens sent in a cycle can be taken in the next."""
        while self.firings < self.max_firings:
            steps = [(cell.number, step) for cell in self.cells if (step := self.plan(cell.number)) is not None
                     and self.full_reader(cell.number, step) is None]
            if not steps:
                break
            for number, step in steps:
                self.carry_out(number, step)
            self.time += 1
        report = self.report()
        report.cycles = self.time if report.done == 1 and report.deadlock is None else None
        return report

    # --- the report

    def report(self) -> Report:
        names = [node.name for node in self.graph.nodes]
        report = Report(firings=self.firings, fault=self.fault, memories=self.memories)
        report.results = [self.arrived[node][0] if self.arrived[node] else None for node in self.graph.results]
        report.done = len(self.arrived[self.done])
        report.residual = self.left_tokens()
        report.unrest = [cell.node.name for cell in self.cells if cell.state is not REST]
        report.wide = [names[number] for number in sorted(self.wide)]
        for node, sent, taken in zip(self.graph.nodes, self.sent, self.taken, strict=True):
            report.sent[node.name] = dict(zip(node.outputs, sent, strict=True))
            report.taken[node.name] = dict(zip(node.inputs, taken, strict=True))
        if self.fault is None:
            report.deadlock = self.find_deadlock()
        if self.trace:
            for node, values, times in zip(self.graph.nodes, self.values, self.times, strict=True):
                report.values.update((str(node.out(k)), tokens) for k, tokens in enumerate(values))
                report.times.update((str(node.out(k)), when) for k, when in enumerate(times))
        return report

    def left_tokens(self) -> dict[str, int]:
        left: dict[str, int] = {}
        for source, node, index in self.graph.edges():
            queue = self.cells[self.number[node]].queues[index]
            if queue:
                left[f"{source} -> {node.name}.{node.inputs[index]}"] = len(queue)
        return left

    def find_deadlock(self) -> str | None:
        """What did not come, and why; None when every result and a done token came."""
        if self.firings >= self.max_firings:
            return f"no end after {self.firings:,} firings"
        missing = [node for node in (*self.graph.results, self.done) if not self.arrived[node]]
        if not missing:
            return None
        blocked = {}
        for cell in self.cells:
            step = self.plan(cell.number)
            full = None if step is None else self.full_reader(cell.number, step)
            if full is not None:
                blocked[cell.node] = self.graph.nodes[full]
        return find_culprit(missing[0], {cell.node: cell for cell in self.cells}, blocked)


class _Order:
    """The nodes that may be able to fire: each at most once, taken in turn or drawn at random."""

    def __init__(self, size: int, random: random.Random | None):
        self.random = random
        self.waiting = deque(range(size))
        self.drawn = list(range(size))
        self.inside = [True] * size

    def put(self, number: int) -> None:
        if self.inside[number]:
            return
        self.inside[number] = True
        (self.waiting if self.random is None else self.drawn).append(number)

    def take(self) -> int | None:
        if self.random is None:
            if not self.waiting:
                return None
            number = self.waiting.popleft()
        else:
            if not self.drawn:
                return None
            place = int(self.random.random() * len(self.drawn))
            self.drawn[place], self.drawn[-1] = self.drawn[-1], self.drawn[place]
            number = self.drawn.pop()
        self.inside[number] = False
        return number


SWALLOWS = frozenset({"gate", "cond_br"})
"""Kinds that can take tokens and send none on a given output."""


# --- why a run stands still: from what did not come back to the node that does not send it
def find_culprit(missing: Node, cell_of: dict[Node, Cell], blocked: dict[Node, Node]) -> str:
    """Who is to blame that sink `missing` got nothing. `blocked`: nodes held back by a full queue of another node."""
    path: list[Node] = [missing]
    while True:
        node = path[-1]
        cell = cell_of[node]
        if node in blocked:
            following = blocked[node]
            why = f"{node.name} finds the queue of {following.name} full"
        else:
            index = awaited_input(cell)
            source = node.sources[index]
            assert source is not None
            following = source.node
            why = f"{node.name} waits for {node.inputs[index]} from {source}"
            if _swallowed(cell_of[following]):
                return f"{missing.name} got no token: {why}, and {following.name} is at rest and sent none for its last"
        if following in path:
            return f"{missing.name} got no token: {why}, which waits for {node.name} in turn"
        if following.kind == "source":
            return f"{missing.name} got no token: {why}, which has sent its token"
        path.append(following)


def awaited_input(cell: Cell) -> int:
    """The input that the node cannot go on without."""
    queues, kind = cell.queues, cell.node.kind
    match kind:
        case "carry" | "invariant":
            if cell.state is REST:
                return 1
            return 0 if not queues[0] else len(queues) - 1
        case "mux":
            return 0 if not queues[0] else 2 if queues[0][0] else 1
    return next((index for index, queue in enumerate(queues) if not queue), 0)


def _swallowed(cell: Cell) -> bool:
    """It took all that came and has nothing more to send."""
    return cell.node.kind in SWALLOWS and cell.state is REST and not any(cell.queues)
