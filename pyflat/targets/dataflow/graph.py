"""The dataflow graph: nodes joined by edges that carry tokens, one first-in-first-out queue for each input.

An output goes to every input that names it: each consumer gets its own copy (the fork is implicit), and a token
that nothing reads is dropped. The nodes and their ports, after the seed document on lowering to dataflow:

    source                                    one token at the start: an argument, or the control token `start`
    sink(in)                                  takes the results and the `done` token
    constant(ctrl) -> o                       its value once for each control token
    stream(start, step, stop)                 the raw index and T for each iteration, then the last index and F:
        -> raw_index, raw_will_continue       N + 1 tokens
    gate(value, cond) -> after_value,         the values of the N iterations, and the control stream of the body:
        after_cond                            `cond` without its first token
    carry(d, a, b) -> o                       a; then b for each true d; a false d ends the activation
    invariant(d, a) -> o                      a; then a again for each true d; a false d ends the activation
    cond_br(cond, data) -> true, false        data to one of two sides
    mux(sel, false, true) -> o                takes a token from one side only
    join(in0, in1, ...) -> o                  a control token when all have come
    load(ctrl, index) -> value, done          memory, ordered by control tokens
    store(ctrl, index, value) -> done
    fault(cond)                               Python raises here when cond is true
    add, lt, select, ...                      every other operation of the IR: one result from its operands
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pyflat.errors import InternalError

INPUTS: dict[str, tuple[str, ...]] = {
    "source": (), "sink": ("in",), "constant": ("ctrl",), "stream": ("start", "step", "stop"),
    "gate": ("value", "cond"), "carry": ("d", "a", "b"), "invariant": ("d", "a"), "cond_br": ("cond", "data"),
    "mux": ("sel", "false", "true"), "load": ("ctrl", "index"), "store": ("ctrl", "index", "value"),
    "fault": ("cond",),
}
OUTPUTS: dict[str, tuple[str, ...]] = {
    "sink": (), "fault": (), "stream": ("raw_index", "raw_will_continue"), "gate": ("after_value", "after_cond"),
    "cond_br": ("true", "false"), "load": ("value", "done"), "store": ("done",),
}
BACK_INPUTS = {"carry": (0, 2), "invariant": (0,)}
"""The inputs through which a loop closes: by number, for each kind."""


class Port(NamedTuple):
    """One output of a node."""

    node: Node
    number: int

    def __str__(self) -> str:
        return f"{self.node.name}.{self.node.outputs[self.number]}"


@dataclass(eq=False, slots=True)
class Node:
    """`sources[k]` is the output that input k reads; None only while a loop is being closed.

    meaning   of an arithmetic node: its value from its operands
    value     of a constant, a source's argument number, a fault, or the memory that load and store work on
    loop      the name of the innermost loop that the node belongs to, "" outside
    """

    kind: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    sources: list[Port | None]
    meaning: Callable[..., Any] | None = None
    value: Any = None
    type: str = ""
    loop: str = ""

    def out(self, port: str | int = 0) -> Port:
        return Port(self, port if isinstance(port, int) else self.outputs.index(port))

    def connect(self, port: str, source: Port) -> None:
        """Close a loop: fill an input that was left open."""
        index = self.inputs.index(port)
        if self.sources[index] is not None:
            raise InternalError(f"{self.name}.{port} is connected twice")
        self.sources[index] = source

    def __repr__(self) -> str:
        return f"<{self.name}>"


@dataclass(slots=True)
class LoopPorts:
    """Where to look at a loop: its raw control, what its body sees, and what leaves it."""

    name: str
    form: str
    raw: Port
    body: Port
    exits: Port


@dataclass(slots=True)
class Graph:
    """Nodes in the order of their construction. `results` and `done` are sinks, `memories` initial contents."""

    name: str
    nodes: list[Node] = field(default_factory=list)
    arguments: list[Node] = field(default_factory=list)
    results: list[Node] = field(default_factory=list)
    done: Node | None = None
    loops: list[LoopPorts] = field(default_factory=list)
    memories: dict[str, list[Any]] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)

    def add(
        self,
        kind: str,
        *sources: Port | None,
        hint: str = "",
        meaning: Callable[..., Any] | None = None,
        value: Any = None,
        type: str = "",
        loop: str = "",
    ) -> Node:
        """A new node. `hint` (a user's variable) becomes part of its name."""
        inputs = INPUTS.get(kind) or tuple(f"in{k}" for k in range(len(sources)))
        if len(inputs) != len(sources):
            raise InternalError(f"{kind} takes {len(inputs)} inputs, not {len(sources)}")
        outputs = OUTPUTS.get(kind, ("o",))
        node = Node(kind, self.fresh(f"{kind}_{hint}" if hint else kind), inputs, outputs, list(sources), meaning,
                    value, type, loop)
        self.nodes.append(node)
        return node

    def fresh(self, name: str) -> str:
        count = self.names[name] = self.names.get(name, 0) + 1
        return name if count == 1 else f"{name}#{count}"

    def edges(self) -> Iterator[tuple[Port, Node, int]]:
        """(output, consumer, number of its input) for every edge."""
        for node in self.nodes:
            for index, source in enumerate(node.sources):
                if source is None:
                    raise InternalError(f"{node.name}.{node.inputs[index]} is not connected")
                yield source, node, index

    def count_kinds(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for node in self.nodes:
            counts[node.kind] = counts.get(node.kind, 0) + 1
        return dict(sorted(counts.items()))

    def node(self, name: str) -> Node:
        """The node of that name. Raises KeyError."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise KeyError(name)
