"""Graphs as text for other programs: MLIR-style handshake and dataflow operations, JSON, and Graphviz DOT.

Exports are one way: they are not parsed back.
"""

from __future__ import annotations

import json
import re
from typing import Any

from pyflat.targets.dataflow.graph import Graph, Node, Port

_TYPES = {"b": "i1", "i8": "i64", "f8": "f64", "none": "none", "": "none"}
_DIALECT = {"stream": "dataflow", "gate": "dataflow", "carry": "dataflow", "invariant": "dataflow",
            "cond_br": "handshake", "mux": "handshake", "join": "handshake", "constant": "handshake",
            "load": "handshake", "store": "handshake"}
_INT = {"add": "arith.addi", "sub": "arith.subi", "mul": "arith.muli", "and": "arith.andi", "or": "arith.ori",
        "xor": "arith.xori", "shl": "arith.shli", "shr": "arith.shrsi", "floordiv": "arith.floordivsi"}
_FLOAT = {"add": "arith.addf", "sub": "arith.subf", "mul": "arith.mulf", "truediv": "arith.divf", "neg": "arith.negf",
          "sqrt": "math.sqrt", "exp": "math.exp", "log": "math.log", "sin": "math.sin", "cos": "math.cos"}
_COMPARE = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
_COLOURS = {"stream": "#cfe8ff", "gate": "#cfe8ff", "carry": "#ffe0b3", "invariant": "#fff2b3", "cond_br": "#e2d6ff",
            "mux": "#e2d6ff", "source": "#d5f0d5", "sink": "#d5f0d5", "constant": "#eeeeee", "join": "#eeeeee",
            "load": "#ffd6d6", "store": "#ffd6d6", "fault": "#ffb3b3"}


def output_type(port: Port) -> str:
    """What the tokens of an output are: an MLIR type."""
    match port.node.kind, port.node.outputs[port.number]:
        case (_, "raw_will_continue" | "after_cond"):
            return "i1"
        case ("join" | "store", _) | ("load", "done"):
            return "none"
    return _TYPES[port.node.type]


# --- MLIR


def to_mlir(graph: Graph) -> str:
    """One operation a line; operands may be defined further down, as in every graph region."""
    names = _OutputNames()
    assert graph.done is not None
    start = graph.nodes[0]
    heads = [f"{names.of(node.out())}: {output_type(node.out())}" for node in (*graph.arguments, start)]
    results = [_source(node) for node in (*graph.results, graph.done)]
    types = ", ".join(output_type(port) for port in results)
    lines = [f"handshake.func @{_plain(graph.name)}({', '.join(heads)}) -> ({types}) {{"]
    for name, items in graph.memories.items():
        lines.append(f"  memref.global @{_plain(name)} = dense<{items}>")
    lines += [f"  {_operation(node, names)}" for node in graph.nodes if node.kind not in {"source", "sink"}]
    lines.append(f"  handshake.return {', '.join(map(names.of, results))} : {types}")
    return "\n".join([*lines, "}"]) + "\n"


def _operation(node: Node, names: _OutputNames) -> str:
    outs = ", ".join(names.of(node.out(index)) for index in range(len(node.outputs)))
    ports = [_source_of(node, index) for index in range(len(node.inputs))]
    operands = ", ".join(map(names.of, ports))
    if node.kind == "mux":
        select, *data = map(names.of, ports)
        operands = f"{select} [{', '.join(data)}]"
    types = ", ".join(map(output_type, ports))
    results = ", ".join(output_type(node.out(index)) for index in range(len(node.outputs)))
    head = f"{outs} = " if outs else ""
    return f"{head}{_opcode(node, ports)} {operands}{_attributes(node)} : ({types}) -> ({results})"


def _opcode(node: Node, ports: list[Port]) -> str:
    kind = node.kind
    if kind in _DIALECT:
        return f"{_DIALECT[kind]}.{kind}"
    first = output_type(ports[0]) if ports else "none"
    if kind in _COMPARE:
        return f"arith.cmpf {_COMPARE[kind]}," if first == "f64" else f"arith.cmpi {_signed(kind)},"
    if kind == "select":
        return "arith.select"
    table = _FLOAT if first == "f64" else _INT
    return table.get(kind, f"pyflat.{kind}")


def _signed(kind: str) -> str:
    return kind if kind in {"eq", "ne"} else f"s{kind}"


def _attributes(node: Node) -> str:
    match node.kind:
        case "constant":
            return f" {{value = {_literal(node.value)} : {_TYPES[node.type]}}}"
        case "fault":
            return f' {{type = "{node.value.type}"}}'
        case "load" | "store":
            return f" {{memory = @{_plain(node.value)}}}"
    return ""


def _literal(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _plain(name: str) -> str:
    return re.sub(r"\W", "_", name)


class _OutputNames:
    """%names of outputs: the node's name, and the port's where there are several."""

    def __init__(self) -> None:
        self.known: dict[Port, str] = {}
        self.taken: set[str] = set()

    def of(self, port: Port) -> str:
        if port not in self.known:
            whole = port.node.name if len(port.node.outputs) == 1 else str(port)
            name = base = "%" + _plain(whole)
            number = 1
            while name in self.taken:
                number += 1
                name = f"{base}_{number}"
            self.taken.add(name)
            self.known[port] = name
        return self.known[port]


def _source_of(node: Node, index: int) -> Port:
    port = node.sources[index]
    assert port is not None
    return port


def _source(sink: Node) -> Port:
    return _source_of(sink, 0)


# --- JSON and DOT


def to_json(graph: Graph) -> str:
    """{"name", "nodes": [{"name", "kind", "inputs": {port: output}, "outputs", "type", "loop"}], "loops", ...}."""
    nodes = [
        {"name": node.name, "kind": node.kind, "type": node.type, "loop": node.loop, "outputs": list(node.outputs),
         "inputs": {port: str(_source_of(node, k)) for k, port in enumerate(node.inputs)},
         **({"value": node.value} if node.kind == "constant" else {})}
        for node in graph.nodes
    ]
    loops = [{"name": x.name, "form": x.form, "raw": str(x.raw), "body": str(x.body), "exits": str(x.exits)}
             for x in graph.loops]
    assert graph.done is not None
    whole = {"name": graph.name, "arguments": [node.name for node in graph.arguments], "nodes": nodes, "loops": loops,
             "results": [node.name for node in graph.results], "done": graph.done.name, "memories": graph.memories}
    return json.dumps(whole, indent=2) + "\n"


def to_dot(graph: Graph) -> str:
    """Data edges solid, control dashed, conditions dotted; a box for each loop."""
    number = {node: f"n{index}" for index, node in enumerate(graph.nodes)}
    look = 'shape=box, style="rounded,filled", fontname="monospace"'
    lines = [f"digraph {json.dumps(graph.name)} {{", f"  node [{look}];"]
    for index, loop in enumerate(["", *dict.fromkeys(node.loop for node in graph.nodes if node.loop)]):
        members = [node for node in graph.nodes if node.loop == loop]
        indent = "    " if loop else "  "
        if loop:
            lines.append(f"  subgraph cluster_{index} {{ label={json.dumps(loop)};")
        lines += [f'{indent}{number[node]} [label={json.dumps(node.name)}, fillcolor="{colour_of(node)}"];'
                  for node in members]
        if loop:
            lines.append("  }")
    for source, node, index in graph.edges():
        style = {"none": "dashed", "i1": "dotted"}.get(output_type(source), "solid")
        tail = source.node.outputs[source.number] if len(source.node.outputs) > 1 else ""
        head = node.inputs[index] if len(node.inputs) > 1 else ""
        labels = f'style={style}, taillabel="{tail}", headlabel="{head}"'
        lines.append(f"  {number[source.node]} -> {number[node]} [{labels}];")
    return "\n".join([*lines, "}"]) + "\n"


def colour_of(node: Node) -> str:
    return _COLOURS.get(node.kind, "#ffffff")
