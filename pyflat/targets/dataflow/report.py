"""What a simulation reports: results, done tokens, what is left, what stands still, and counts of tokens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pyflat.targets.dataflow.machines import NodeFault


@dataclass(slots=True)
class Report:
    """What a run gave.

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
        """What is wrong with the run, one sentence for each thing; empty when nothing is."""
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
