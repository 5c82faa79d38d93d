"""Where a region of the program stands in the graph: its control token, its values, and how outer values get in.

Every region (function, arm, loop body, ...) has a control port with one token for each time it runs. A value from
outside reaches a region only through the region's own adoption rule, once per region: nothing is inherited
implicitly. Constants are triggered by the region's control.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from pyflat.ir.nodes import Const, Value
from pyflat.ir.types import BOOL, FLOAT, INT, VOID
from pyflat.targets.dataflow.graph import Graph, Node, Port


@dataclass(frozen=True, slots=True)
class Rules:
    """Which of the corrections to the seed document are in force; all off: its literal rules.

    gate_operands   every outside operand of an arm is split by the condition, not only the values it yields
    guard_trips     a stream loop whose first trip is not proven stands in an `if`; a `while` has its own done chain,
                    and its body takes outer values through the boundary
    gate_while      the body control of a `while` is the gated before-region control
    body_memory     control of memory and body inside a counted loop is `after_cond` (off: the raw control, the mistake
                    that the document warns of)
    """

    gate_operands: bool = True
    guard_trips: bool = True
    gate_while: bool = True
    body_memory: bool = True


CORRECTED = Rules()
LITERAL = Rules(gate_operands=False, guard_trips=False, gate_while=False)
_UNDEFINED = {BOOL: False, INT: 0, FLOAT: 0.0, VOID: None}


def hint_of(value: Value) -> str:
    """The user's variable; the hidden counter of a `for` over range has none."""
    return "" if value.name.startswith("range ") else value.name


class RegionState(ABC):
    """A region while it is lowered.

    `own` holds what it defines, `adopted` what it took from outside, `alias` what another value stands for here.
    """

    def __init__(self, graph: Graph, control: Port | None, loop: str):
        self.graph = graph
        self._control = control
        self.loop = loop
        self.own: dict[Value, Port] = {}
        self.adopted: dict[Value, Port] = {}
        self.alias: dict[Value, Value] = {}
        self.constants: dict[object, Port] = {}
        self.dones: list[Port] = []

    @property
    def control(self) -> Port:
        assert self._control is not None
        return self._control

    def define(self, value: Value, port: Port) -> None:
        self.own[value] = port

    def read(self, value: Value) -> Port:
        """The port with one token of `value` for each time the region runs."""
        value = self.alias.get(value, value)
        if isinstance(value, Const):
            return self.constant(value)
        if value in self.own:
            return self.own[value]
        if value not in self.adopted:
            self.adopted[value] = self.adopt(value)
        return self.adopted[value]

    def read_all(self, values: Sequence[Value]) -> list[Port]:
        return [self.read(value) for value in values]

    def constant(self, const: Const) -> Port:
        if const.key not in self.constants:
            value = _UNDEFINED[const.kind] if const.value is None else const.value
            hint = "undefined" if const.value is None else repr(value)
            node = self.add("constant", self.control, hint=hint, value=value, type=str(const.kind))
            self.constants[const.key] = node.out()
        return self.constants[const.key]

    def add(self, kind: str, *sources: Port | None, hint: str = "", value: object = None, type: str = "") -> Node:
        return self.graph.add(kind, *sources, hint=hint, value=value, type=type, loop=self.loop)

    def finish(self) -> Port:
        """The region's done token: its control, once everything inside that has a done token of its own is done."""
        if not self.dones:
            return self.control
        return self.dones[0] if len(self.dones) == 1 else self.add("join", *self.dones).out()

    @abstractmethod
    def adopt(self, value: Value) -> Port:
        """The port through which a value from outside comes in."""


class Outermost(RegionState):
    def adopt(self, value: Value) -> Port:
        raise KeyError(value)


class ValueSplit:
    """One cond_br for each outer value that an arm reads; both arms share it."""

    def __init__(self, parent: RegionState, cond: Port):
        self.parent = parent
        self.cond = cond
        self.nodes: dict[Value | None, Node] = {}

    def side(self, value: Value | None, taken: bool) -> Port:
        """`value` (None: the control token) for the arm that runs when the condition is `taken`."""
        if value not in self.nodes:
            data = self.parent.control if value is None else self.parent.read(value)
            hint = "control" if value is None else hint_of(value)
            kind = "none" if value is None else str(value.kind)
            self.nodes[value] = self.parent.add("cond_br", self.cond, data, hint=hint, type=kind)
        return self.nodes[value].out("true" if taken else "false")


class ArmState(RegionState):
    """An arm of an `if`: what comes from outside is split by the condition."""

    def __init__(self, parent: RegionState, split: ValueSplit, taken: bool, rules: Rules):
        super().__init__(parent.graph, split.side(None, taken), parent.loop)
        self.parent = parent
        self.split = split
        self.taken = taken
        self.rules = rules

    def adopt(self, value: Value) -> Port:
        return self.split.side(value, self.taken) if self.rules.gate_operands else self.parent.read(value)

    def read_yielded(self, value: Value) -> Port:
        """A value that the arm yields: by the literal rules only these are split."""
        if isinstance(value, Const) or value in self.own:
            return self.read(value)
        return self.split.side(value, self.taken)


class Repeated(RegionState):
    """A region in which an outer value is repeated by `invariant` under the control `again` (None: not yet known)."""

    def __init__(self, parent: RegionState, again: Port | None, loop: str):
        super().__init__(parent.graph, None, loop)
        self.parent = parent
        self.again = again
        self.waiting: list[Node] = []
        self._control = self.repeat(parent.control, "control", "none")

    def repeat(self, port: Port, hint: str, type: str) -> Port:
        node = self.add("invariant", self.again, port, hint=hint, type=type)
        if self.again is None:
            self.waiting.append(node)
        return node.out()

    def adopt(self, value: Value) -> Port:
        return self.repeat(self.parent.read(value), hint_of(value), str(value.kind))

    def settle(self, again: Port) -> None:
        """The control is known now."""
        self.again = again
        for node in self.waiting:
            node.connect("d", again)
        self.waiting.clear()


class WhileBody(RegionState):
    """The after-region: what the before-region has is split at the boundary, true comes in, false leaves."""

    def __init__(self, before: Repeated, split: ValueSplit, control: Port, after_cond: Port, rules: Rules):
        super().__init__(before.graph, control, before.loop)
        self.before = before
        self.split = split
        self.after_cond = after_cond
        self.rules = rules

    def adopt(self, value: Value) -> Port:
        if self.rules.guard_trips or value in self.before.own:
            return self.split.side(value, True)
        outer = self.before.parent.read(value)
        return self.add("invariant", self.after_cond, outer, hint=hint_of(value), type=str(value.kind)).out()


class Leaving(RegionState):
    """What runs once when a loop is left: boundary values by `boundary`, all others straight from around the loop."""

    def __init__(self, parent: RegionState, control: Port, boundary: ValueSplit | None):
        super().__init__(parent.graph, control, parent.loop)
        self.parent = parent
        self.boundary = boundary

    def adopt(self, value: Value) -> Port:
        if self.boundary is not None and value in self.boundary.parent.own:
            return self.boundary.side(value, False)
        return self.parent.read(value)
