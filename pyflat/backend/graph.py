"""The pure dataflow graph of a flat function: nodes and typed edges, as JSON, DOT and SVG.

There is no control in it: a branch is a `select`. For a self-contained graph with control tokens, see
docs/how-to/dataflow.md.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from typing import Any

from pyflat.backend.flat import FlatFunction, Node
from pyflat.ir.recursion import with_room

_COLOURS = {
    "param": "#dbeafe", "const": "#f3f4f6", "select": "#fde68a", "call": "#fecaca", "part": "#f3f4f6",
    "pack": "#e9d5ff", "dot": "#bbf7d0", "mad": "#bbf7d0", "fma": "#bbf7d0", "lerp": "#bbf7d0", "fault": "#fca5a5",
}


@dataclass(frozen=True, slots=True)
class Edge:
    """`kind` is what flows: "f8", "i8", "b", or "pack"; `operand` says as which operand, `result` as which result."""

    source: Node
    target: Node | None
    operand: int
    kind: str


@dataclass(frozen=True, slots=True)
class FlatGraph:
    """Nodes in the order of the walk, edges by target; the edges of the results come last and have no target."""

    flat: FlatFunction
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    @property
    def counts(self) -> dict[str, int]:
        return self.flat.counts()

    def to_json(self) -> str:
        """{"name", "nodes": [{"id", "opcode", "kind", "inputs", "attrs", "name", "line"}], "edges": [{"from", "to",
        "operand", "kind"}], "results": [{"name", "node"}], "counts"}."""
        nodes = [
            {"id": node.index, "opcode": node.opcode, "kind": node.kind, "inputs": [n.index for n in node.inputs],
             "attrs": _plain(node.attrs), "name": node.name, "line": node.span.line if node.span else None}
            for node in self.nodes
        ]
        edges = [{"from": e.source.index, "to": e.target.index, "operand": e.operand, "kind": e.kind}
                 for e in self.edges if e.target is not None]
        results = [{"name": name, "node": node.index}
                   for name, node in zip(self.flat.result_names, self.flat.results, strict=True)]
        whole = {"name": self.flat.name, "nodes": nodes, "edges": edges, "results": results, "counts": self.counts}
        return json.dumps(whole, indent=2) + "\n"

    def to_dot(self) -> str:
        """Graphviz: bools dotted, vectors bold."""
        look = 'shape=box, style="rounded,filled", fontname="monospace", fontsize=10'
        lines = [f"digraph {json.dumps(self.flat.name)} {{", f"  node [{look}];"]
        lines += [f'  n{n.index} [label={json.dumps(label(n))}, fillcolor="{_COLOURS.get(n.opcode, "#ffffff")}"];'
                  for n in self.nodes]
        for number, name in enumerate(self.flat.result_names):
            lines.append(f'  r{number} [label={json.dumps(name or "result")}, shape=oval, fillcolor="#dbeafe"];')
        for edge in self.edges:
            style = {"b": "dotted", "pack": "bold"}.get(edge.kind, "solid")
            target = f"r{edge.operand}" if edge.target is None else f"n{edge.target.index}"
            several = edge.target is not None and len(edge.target.inputs) > 1
            head = f', headlabel="{edge.operand}", labelfontsize=8' if several else ""
            lines.append(f"  n{edge.source.index} -> {target} [style={style}{head}];")
        return "\n".join([*lines, "}"]) + "\n"

    def to_svg(self) -> str:
        """SVG, laid out by Graphviz. Raises RuntimeError if its program `dot` is not installed."""
        program = shutil.which("dot")
        if program is None:
            raise RuntimeError("SVG needs the program dot of Graphviz (https://graphviz.org/download): install it, or "
                               "take to_dot() elsewhere")
        done = subprocess.run([program, "-Tsvg"], input=self.to_dot(), capture_output=True, text=True, check=True)
        return done.stdout


@with_room
def graph(flat: FlatFunction) -> FlatGraph:
    """The graph of a flat function."""
    edges = [Edge(source, node, k, source.kind) for node in flat.nodes for k, source in enumerate(node.inputs)]
    edges += [Edge(node, None, k, node.kind) for k, node in enumerate(flat.results)]
    return FlatGraph(flat, flat.nodes, tuple(edges))


def label(node: Node) -> str:
    """The text of a node's box."""
    match node.opcode:
        case "param":
            return node.name
        case "const":
            return repr(node.attrs["value"])
        case "call":
            return f"{node.attrs['name']}()"
        case "part":
            return f".{node.attrs['index']}"
    return f"{node.opcode}\n{node.name}" if node.name else node.opcode


def _plain(value: Any) -> Any:
    """Attributes as JSON has them."""
    if isinstance(value, bool | int | str | None):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else repr(value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if hasattr(value, "items"):
        return {key: _plain(item) for key, item in value.items()}
    return str(value)
