"""What each kind of node does with the tokens in its queues: one small state machine for each kind.

A machine looks at the heads of the queues and gives the step that the node can take now, or None. A step says
from which inputs a token is taken, what goes out, and the state after it: nothing happens until the simulator
carries it out, so that a full queue further on can hold the node back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from pyflat.targets.dataflow.graph import Node

REST = "rest"
"""The state of a node between activations."""

CONTROL = None
"""The value of a control token."""


class NodeFault(Exception):
    """What Python raises in a node."""

    def __init__(self, node: Node, type: str, message: str):
        super().__init__(f"{type}: {message}" if message else type)
        self.node = node
        self.type = type
        self.message = message


class Step(NamedTuple):
    """Inputs to take from, (output, value) pairs to send, the next state, and a write (memory, index, value)."""

    takes: tuple[int, ...]
    sends: tuple[tuple[int, Any], ...]
    state: Any = REST
    write: tuple[list[Any], int, Any] | None = None


@dataclass(eq=False, slots=True)
class Cell:
    """A node while it runs."""

    node: Node
    number: int
    queues: list[deque[Any]]
    state: Any
    memory: list[Any]
    machine: Callable[[Cell], Step | None]


def _source(cell: Cell) -> Step | None:
    return None if cell.state is REST else Step((), ((0, cell.state[0]),))


def _sink(cell: Cell) -> Step | None:
    return Step((0,), ()) if cell.queues[0] else None


def _constant(cell: Cell) -> Step | None:
    return Step((0,), ((0, cell.node.value),)) if cell.queues[0] else None


def _stream(cell: Cell) -> Step | None:
    """Sends one pair of tokens a step: the index, and whether the loop goes on."""
    takes: tuple[int, ...] = ()
    if cell.state is REST:
        if not all(cell.queues):
            return None
        takes = (0, 1, 2)
        index, step, stop = (queue[0] for queue in cell.queues)
        if step == 0:
            raise NodeFault(cell.node, "ValueError", "range() arg 3 must not be zero")
    else:
        index, step, stop = cell.state
    goes_on = index < stop if step > 0 else index > stop
    state = (index + step, step, stop) if goes_on else REST
    return Step(takes, ((0, index), (1, goes_on)), state)


def _gate(cell: Cell) -> Step | None:
    """Values while the loop goes on; the control of the body is the raw control without its first token."""
    values, conds = cell.queues
    if not values or not conds:
        return None
    goes_on = conds[0]
    sends: tuple[tuple[int, Any], ...] = ((0, values[0]),) if goes_on else ()
    if cell.state is not REST:
        sends += ((1, goes_on),)
    return Step((0, 1), sends, "inside" if goes_on else REST)


def _carry(cell: Cell) -> Step | None:
    again, first, feedback = cell.queues
    if cell.state is REST:
        return Step((1,), ((0, first[0]),), "inside") if first else None
    if not again:
        return None
    if not again[0]:
        return Step((0,), ())
    return Step((0, 2), ((0, feedback[0]),), "inside") if feedback else None


def _invariant(cell: Cell) -> Step | None:
    again, first = cell.queues
    if cell.state is REST:
        return Step((1,), ((0, first[0]),), (first[0],)) if first else None
    if not again:
        return None
    return Step((0,), ((0, cell.state[0]),), cell.state) if again[0] else Step((0,), ())


def _cond_br(cell: Cell) -> Step | None:
    conds, values = cell.queues
    if not conds or not values:
        return None
    return Step((0, 1), ((0 if conds[0] else 1, values[0]),))


def _mux(cell: Cell) -> Step | None:
    selectors = cell.queues[0]
    if not selectors:
        return None
    side = 2 if selectors[0] else 1
    return Step((0, side), ((0, cell.queues[side][0]),)) if cell.queues[side] else None


def _join(cell: Cell) -> Step | None:
    return Step(tuple(range(len(cell.queues))), ((0, CONTROL),)) if all(cell.queues) else None


def _load(cell: Cell) -> Step | None:
    if not all(cell.queues):
        return None
    index = _checked_index(cell, "list index out of range")
    return Step((0, 1), ((0, cell.memory[index]), (1, CONTROL)))


def _store(cell: Cell) -> Step | None:
    if not all(cell.queues):
        return None
    index = _checked_index(cell, "list assignment index out of range")
    return Step((0, 1, 2), ((0, CONTROL),), REST, (cell.memory, index, cell.queues[2][0]))


def _checked_index(cell: Cell, message: str) -> int:
    index: int = cell.queues[1][0]
    if not -len(cell.memory) <= index < len(cell.memory):
        raise NodeFault(cell.node, "IndexError", message)
    return index


def _fault(cell: Cell) -> Step | None:
    if not cell.queues[0]:
        return None
    if cell.queues[0][0]:
        raise NodeFault(cell.node, cell.node.value.type, cell.node.value.message)
    return Step((0,), ())


def _arithmetic(cell: Cell) -> Step | None:
    queues = cell.queues
    for queue in queues:
        if not queue:
            return None
    assert cell.node.meaning is not None
    try:
        value = cell.node.meaning(*[queue[0] for queue in queues])
    except (ArithmeticError, ValueError, IndexError) as error:
        raise NodeFault(cell.node, type(error).__name__, str(error)) from error
    return Step(tuple(range(len(queues))), ((0, value),))


MACHINES: dict[str, Callable[[Cell], Step | None]] = {
    "source": _source, "sink": _sink, "constant": _constant, "stream": _stream, "gate": _gate, "carry": _carry,
    "invariant": _invariant, "cond_br": _cond_br, "mux": _mux, "join": _join, "load": _load, "store": _store,
    "fault": _fault,
}


def machine_of(node: Node) -> Callable[[Cell], Step | None]:
    return MACHINES.get(node.kind, _arithmetic)
