"""Structured IR to a dataflow graph, by the rules of the seed document on structured control flow, corrected.

An `if` becomes cond_br at its entry and mux at its exit. A counted loop becomes stream, gate, carry and invariant;
any other loop becomes carry, before-region, gate and boundary splits. The raw control of a loop (N + 1 tokens) goes
to what is carried and to what leaves; everything inside the body sees N tokens. Arms and loops have done tokens.

Three rules of the document are wrong as written; `Rules` says how they read here, and LITERAL keeps them:
  1. an arm splits every outside operand, not only the values it yields: otherwise the arm that is not taken
     computes as well, and leaves a token before the mux, which takes it in the next round;
  2. a loop that makes no trip has no body control and so no done token: a stream loop stands in an `if` unless its
     first trip is proven; a `while` sends a control token through its boundary, as a carried value;
  3. `invariant(after_cond, before.control)` takes N + 1 tokens where the body runs N times: the body control of a
     `while` is the before-region's control, gated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from pyflat.errors import InternalError
from pyflat.ir.loops import Counted, LoopParts, is_exit_free
from pyflat.ir.nodes import FALSE, TRUE, Block, Const, Function, If, Item, Loop, Op, Param, Value
from pyflat.ir.ops import OPERATIONS
from pyflat.ir.types import VOID
from pyflat.targets.dataflow.graph import Graph, LoopPorts, Port
from pyflat.targets.dataflow.needed import Needed, header_reads, list_end
from pyflat.targets.dataflow.states import (
    CORRECTED,
    ArmState,
    Leaving,
    Outermost,
    RegionState,
    Repeated,
    Rules,
    ValueSplit,
    WhileBody,
    hint_of,
)


def lower(fn: Function, rules: Rules = CORRECTED) -> Graph:
    """The graph of a structured function as `lower_exits` leaves it."""
    if not is_exit_free(fn.body):
        raise InternalError(f"{fn.name} has exits that are not those of canonical loops")
    graph = Graph(fn.name)
    start = graph.add("source", hint="start", type="none").out()
    state = Outermost(graph, start, "")
    for number, param in enumerate(fn.params):
        node = graph.add("source", hint=hint_of(param), value=number, type=str(param.kind))
        graph.arguments.append(node)
        state.define(param, node.out())
    lowering = _GraphLowering(graph, Needed(fn), rules)
    lowering.lower_list(state, fn.body)
    for number, value in enumerate(list_end(fn.body).values):
        hint = "result" if len(fn.result_kinds) == 1 else f"result{number}"
        graph.results.append(graph.add("sink", state.read(value), hint=hint, value=number, type=str(value.kind)))
    graph.done = graph.add("sink", state.finish(), hint="done", type="none")
    return graph


class _GraphLowering:
    def __init__(self, graph: Graph, needed: Needed, rules: Rules):
        self.graph = graph
        self.needed = needed
        self.rules = rules

    # --- lists

    def lower_list(self, state: RegionState, items: list[Item]) -> None:
        """The operations and nodes of a list, in order; the caller reads what its end carries."""
        for item in items:
            match item:
                case Block():
                    for op in item.ops:
                        if op in self.needed:
                            self.lower_op(state, op)
                case If():
                    if item in self.needed:
                        self.lower_if(state, item)
                case Loop():
                    self.lower_loop(state, item)

    def lower_op(self, state: RegionState, op: Op) -> None:
        sources = state.read_all(op.args)
        match op.opcode:
            case "fault":
                node = state.add("fault", *sources, value=op.attr("fault"))
            case "load":
                node = state.add("load", *sources, hint=op.attr("memory"), value=op.attr("memory"), type=str(op.kind))
            case "store":
                node = state.add("store", *sources, hint=op.attr("memory"), value=op.attr("memory"))
                state.define(op, node.out())
                state.dones.append(node.out())
            case "order":
                node = state.add("join", *(_when_done(source) for source in sources))
                state.define(op, node.out())
            case _:
                node = self.graph.add(op.opcode, *sources, hint=hint_of(op), meaning=_meaning(op), type=str(op.kind),
                                      loop=state.loop)
        if op.kind is not VOID:
            state.define(op, node.out())

    # --- if

    def lower_if(self, state: RegionState, node: If) -> None:
        cond = state.read(node.cond)
        split = ValueSplit(state, cond)
        then, orelse = (ArmState(state, split, taken, self.rules) for taken in (True, False))
        self.lower_list(then, node.then)
        self.lower_list(orelse, node.orelse)
        ends = list_end(node.then).values, list_end(node.orelse).values
        for index, result in enumerate(node.results):
            if result in self.needed:
                self.merge(state, cond, result, then.read_yielded(ends[0][index]), orelse.read_yielded(ends[1][index]))
        self.merge_done(state, cond, then, orelse)

    def merge(self, state: RegionState, cond: Port, result: Param, then: Port, orelse: Port) -> None:
        state.define(result, state.add("mux", cond, orelse, then, hint=hint_of(result), type=str(result.kind)).out())

    def merge_done(self, state: RegionState, cond: Port, then: RegionState, orelse: RegionState) -> None:
        done = state.add("mux", cond, orelse.finish(), then.finish(), hint="done", type="none")
        state.dones.append(done.out())

    # --- loops

    def lower_loop(self, state: RegionState, loop: Loop) -> None:
        counted = self.needed.streams[loop]
        if counted is None:
            self.lower_while(state, loop)
        elif not self.rules.guard_trips or counted.trips:
            self.lower_stream(state, loop, counted)
        else:
            self.lower_guarded(state, loop, counted)

    def lower_guarded(self, state: RegionState, loop: Loop, counted: Counted) -> None:
        """A stream loop that may make no trip: `if lower < upper: loop, else: what leaves at once`."""
        parts = self.needed.loops[loop]
        compare = parts.go
        assert isinstance(compare, Op)
        bounds = state.read_all((counted.lower, counted.upper))
        cond = state.graph.add(compare.opcode, *bounds, hint="any_trip", meaning=_meaning(compare), type="b",
                               loop=state.loop).out()
        split = ValueSplit(state, cond)
        then, orelse = (ArmState(state, split, taken, self.rules) for taken in (True, False))
        self.lower_stream(then, loop, counted)
        for param, init in zip(loop.params, loop.inits, strict=True):
            orelse.alias[param] = init
        orelse.alias[parts.go] = FALSE
        self.lower_header(orelse, parts, [], parts.leave)
        self.lower_exit(orelse, orelse, loop)
        for result in loop.results:
            if result in self.needed:
                self.merge(state, cond, result, then.own[result], orelse.own[result])
        self.merge_done(state, cond, then, orelse)

    def lower_stream(self, state: RegionState, loop: Loop, counted: Counted) -> None:
        parts = self.needed.loops[loop]
        hint = _counter_name(loop, parts, counted)
        name = self.graph.fresh(f"for_{hint}" if hint else "for")
        place = len(self.graph.loops)
        step = state.constant(Const(counted.iv.kind, counted.step))
        stream = self.graph.add("stream", state.read(counted.lower), step, state.read(counted.upper), hint=hint,
                                type="i8", loop=name)
        raw_index, raw = stream.out(0), stream.out(1)
        gate = self.graph.add("gate", raw_index, raw, hint=hint, type="i8", loop=name)
        after_cond = gate.out("after_cond")
        body = Repeated(state, after_cond if self.rules.body_memory else raw, name)
        body.define(counted.iv, gate.out(0))
        boundary = self.boundary(state, raw, name)
        boundary.parent.define(counted.iv, raw_index)
        carried = [p for p in loop.params if p in self.needed and p is not counted.iv]
        patches = [self.carry_token(state, body, p, loop, boundary, raw) if p.kind is VOID else
                   self.carry(state, body, p, loop, boundary, raw) for p in carried]
        body.alias[parts.go] = TRUE
        self.lower_header(body, parts, parts.rest, parts.next)
        self.lower_list(body, parts.rest)
        for patch in patches:
            patch(body)
        done = self.graph.add("cond_br", after_cond, body.finish(), hint="done", type="none", loop=name).out("false")
        leaving = Leaving(state, done, boundary)
        leaving.alias[parts.go] = FALSE
        self.lower_header(leaving, parts, [], parts.leave)
        self.graph.loops.insert(place, LoopPorts(name, "for", raw, body.control, done))
        self.lower_exit(leaving, state, loop)

    def lower_header(self, state: RegionState, parts: LoopParts, items: list[Item], values: list[Value]) -> None:
        """What `items` and `values` read of the header of a stream loop."""
        for op in header_reads(parts, items, values):
            if op in self.needed:
                self.lower_op(state, op)

    def boundary(self, state: RegionState, raw: Port, name: str) -> ValueSplit:
        """The boundary of a loop: what is defined in its parent state is split by the raw control."""
        return ValueSplit(Outermost(self.graph, state.control, name), raw)

    def carry(
        self, state: RegionState, body: RegionState, param: Param, loop: Loop, boundary: ValueSplit, raw: Port
    ) -> Callable[[RegionState], None]:
        """A carried value of a stream loop: N + 1 tokens, split by the raw control. Gives what closes the loop."""
        place = loop.params.index(param)
        node = boundary.parent.add("carry", raw, state.read(loop.inits[place]), None, hint=hint_of(param),
                                   type=str(param.kind))
        boundary.parent.define(param, node.out())
        body.define(param, boundary.side(param, True))
        return lambda after: node.connect("b", after.read(self.needed.loops[loop].next[place]))

    def carry_token(
        self, state: RegionState, body: RegionState, param: Param, loop: Loop, boundary: ValueSplit, raw: Port
    ) -> Callable[[RegionState], None]:
        """A memory token: N tokens under the body's control; what the last iteration leaves goes out."""
        place = loop.params.index(param)
        control = body.again if isinstance(body, Repeated) else raw
        init = state.read(loop.inits[place])
        node = boundary.parent.add("carry", control, init, None, hint=hint_of(param), type="none")
        body.define(param, node.out())

        def close(after: RegionState) -> None:
            last = after.read(self.needed.loops[loop].next[place])
            split = boundary.parent.add("cond_br", control, last, hint=f"{param.name}_token", type="none")
            node.connect("b", split.out("true"))
            boundary.nodes[param] = split
            boundary.parent.define(param, last)

        return close

    def lower_exit(self, leaving: RegionState, state: RegionState, loop: Loop) -> None:
        """The results of a loop, which belong to `state`."""
        for result, value in zip(loop.results, self.needed.loops[loop].leave, strict=True):
            if result in self.needed:
                state.define(result, leaving.read(value))
        if leaving is not state:
            state.dones.append(leaving.finish())

    def lower_while(self, state: RegionState, loop: Loop) -> None:
        parts = self.needed.loops[loop]
        name = self.graph.fresh("while")
        place = len(self.graph.loops)
        before = Repeated(state, None, name)
        carries = {}
        for param, init in zip(loop.params, loop.inits, strict=True):
            if param in self.needed:
                first, kind = state.read(init), str(param.kind)
                carries[param] = before.add("carry", None, first, None, hint=hint_of(param), type=kind)
                before.define(param, carries[param].out())
        self.lower_list(before, parts.header)
        raw = before.read(parts.go)
        gate = before.add("gate", before.control, raw, type="none")
        after_cond = gate.out("after_cond")
        control = gate.out(0)
        if not self.rules.gate_while:
            control = before.add("invariant", after_cond, before.control, hint="control", type="none").out()
        boundary = ValueSplit(before, raw)
        body = WhileBody(before, boundary, control, after_cond, self.rules)
        self.lower_list(body, parts.rest)
        for param, next in zip(loop.params, parts.next, strict=True):
            if param in carries:
                carries[param].connect("b", body.read(next))
        done = self.while_done(state, before, raw, after_cond, body)
        for node in carries.values():
            node.connect("d", raw)
        leaving = Leaving(state, done, boundary)
        self.graph.loops.insert(place, LoopPorts(name, "while", raw, control, done))
        self.lower_exit(leaving, state, loop)
        before.settle(raw)

    def while_done(self, state: RegionState, before: Repeated, raw: Port, after_cond: Port, body: RegionState) -> Port:
        """The control token of the loop goes round with its iterations and leaves at the boundary."""
        if not self.rules.guard_trips:
            return before.add("cond_br", after_cond, body.finish(), hint="done", type="none").out("false")
        chain = before.add("carry", raw, state.control, body.finish(), hint="done", type="none").out()
        if before.dones:
            chain = before.add("join", chain, before.finish()).out()
        return before.add("cond_br", raw, chain, hint="done", type="none").out("false")


def _counter_name(loop: Loop, parts: LoopParts, counted: Counted) -> str:
    """The user's name of the counter: of the variable that holds its last value, where it is a `for`."""
    pairs = zip(loop.params, parts.next, strict=True)
    names = (param.name for param, after in pairs if after is counted.iv)
    return hint_of(counted.iv) or next(names, "")


def _when_done(port: Port) -> Port:
    """The token of a load that says that it has read."""
    return port.node.out("done") if port.node.kind == "load" else port


def _meaning(op: Op) -> Callable[..., Any]:
    """The value of an operation from its operands."""
    python = OPERATIONS[op.opcode].python
    return partial(python, **dict(op.attrs)) if op.attrs else python
