"""Why a run stands still: from what did not come back to the node that does not send it."""

from __future__ import annotations

from pyflat.targets.dataflow.graph import Node
from pyflat.targets.dataflow.machines import REST, Cell

SWALLOWS = frozenset({"gate", "cond_br"})
"""Kinds that can take tokens and send none on a given output."""


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
