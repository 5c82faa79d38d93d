"""A graph as an SVG picture: nodes in layers from the start to the done token, loops closing upwards."""

from __future__ import annotations

from html import escape

from pyflat.targets.dataflow.export import colour_of, output_type
from pyflat.targets.dataflow.graph import BACK_INPUTS, Graph, Node

WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 132, 26, 18, 46, 20
_ARROW = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0L8 4L0 8z" fill="context-stroke"/></marker></defs>'
)
_DASHES = {"none": "5 3", "i1": "1.5 2.5"}


def to_svg(graph: Graph) -> str:
    """Data edges are solid, control edges dashed, conditions dotted, edges that close a loop red."""
    places = _place(graph)
    width = max(x for x, _ in places.values()) + WIDTH + MARGIN
    height = max(y for _, y in places.values()) + HEIGHT + MARGIN
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="monospace" font-size="11">', _ARROW]
    lines += _edges(graph, places)
    lines += [_box(node, *places[node]) for node in graph.nodes]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _place(graph: Graph) -> dict[Node, tuple[int, int]]:
    """Top left corners: the layer of a node is below all that it reads, except through back edges."""
    layer: dict[Node, int] = {}
    for node in graph.nodes:
        back = BACK_INPUTS.get(node.kind, ())
        before = [layer[s.node] for k, s in enumerate(node.sources) if s is not None and k not in back]
        layer[node] = 1 + max(before, default=-1)
    rows: dict[int, list[Node]] = {}
    for node in graph.nodes:
        rows.setdefault(layer[node], []).append(node)
    places: dict[Node, tuple[int, int]] = {}
    for row in sorted(rows):
        ordered = sorted(rows[row], key=lambda node: _centre(node, places))
        for column, node in enumerate(ordered):
            places[node] = (MARGIN + column * (WIDTH + GAP_X), MARGIN + row * (HEIGHT + GAP_Y))
    return places


def _centre(node: Node, places: dict[Node, tuple[int, int]]) -> float:
    above = [places[source.node][0] for source in node.sources if source is not None and source.node in places]
    return sum(above) / len(above) if above else 0.0


def _edges(graph: Graph, places: dict[Node, tuple[int, int]]) -> list[str]:
    lines = []
    for source, node, index in graph.edges():
        x1 = places[source.node][0] + WIDTH * (source.number + 1) // (len(source.node.outputs) + 1)
        y1 = places[source.node][1] + HEIGHT
        x2, y2 = places[node][0] + WIDTH * (index + 1) // (len(node.inputs) + 1), places[node][1]
        back = index in BACK_INPUTS.get(node.kind, ())
        bend = GAP_Y if back else max(12, (y2 - y1) // 2)
        dash = _DASHES.get(output_type(source))
        style = f' stroke-dasharray="{dash}"' if dash else ""
        lines.append(f'<path d="M{x1} {y1}C{x1} {y1 + bend} {x2} {y2 - bend} {x2} {y2}" fill="none" '
                     f'stroke="{"#c33" if back else "#666"}"{style} marker-end="url(#tip)"/>')
    return lines


def _box(node: Node, x: int, y: int) -> str:
    name = node.name if len(node.name) <= 20 else node.name[:19] + "…"
    return (f'<g><title>{escape(node.name)}</title><rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="5" '
            f'fill="{colour_of(node)}" stroke="#444"/><text x="{x + WIDTH // 2}" y="{y + 17}" '
            f'text-anchor="middle">{escape(name)}</text></g>')
