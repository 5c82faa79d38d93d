"""A graph as an SVG picture: nodes in layers from the start to the done token, loops closing upwards; and a run as an
HTML page.

The page has the picture, a slider over the firings, and the tokens in every queue. It needs nothing from outside; left
and right arrow keys step.
"""

from __future__ import annotations

import json
from html import escape

from pyflat.targets.dataflow.export import colour_of, output_type
from pyflat.targets.dataflow.graph import BACK_INPUTS, Graph, Node
from pyflat.targets.dataflow.simulate import Simulation, token_text

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


_PAGE = """<!doctype html>
<html><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font-family: sans-serif; margin: 1em; }} #what {{ font-family: monospace; min-height: 1.5em; }}
#bar {{ position: sticky; top: 0; background: #fff; padding: .5em 0; }} input {{ width: 60%; }}
g.fires rect {{ stroke: #d00; stroke-width: 3; }} g.holds rect {{ stroke: #06c; stroke-width: 2; }}
#queues {{ font-family: monospace; white-space: pre; }}
</style></head><body>
<div id="bar"><input id="step" type="range" min="0" max="{last}" value="0"> <span id="number"></span>
<div id="what"></div></div>
{svg}
<div id="queues"></div>
<script>
const edges = {edges}, events = {events};
const boxes = {{}};
for (const g of document.querySelectorAll("g")) boxes[g.querySelector("title").textContent] = g;
function show(step) {{
  const queues = edges.map(() => []);
  for (const event of events.slice(0, step)) {{
    edges.forEach((edge, k) => {{ if (edge[2] === event.node && event.taken.includes(edge[3])) queues[k].shift(); }});
    edges.forEach((edge, k) => {{
      if (edge[0] === event.node && edge[1] in event.sent) queues[k].push(event.sent[edge[1]]);
    }});
  }}
  for (const name in boxes) boxes[name].setAttribute("class", "");
  edges.forEach((edge, k) => {{ if (queues[k].length) boxes[edge[2]].setAttribute("class", "holds"); }});
  const now = step > 0 ? events[step - 1] : null;
  if (now) boxes[now.node].setAttribute("class", "fires");
  document.getElementById("number").textContent = step + " of " + events.length;
  document.getElementById("what").textContent = now ? now.text : "before the first firing";
  document.getElementById("queues").textContent = edges.map((edge, k) => queues[k].length
    ? edge[0] + "." + edge[1] + " \\u2192 " + edge[2] + "." + edge[3] + ":  " + queues[k].join(" ") : "")
    .filter(line => line).join("\\n");
}}
const slider = document.getElementById("step");
slider.addEventListener("input", () => show(+slider.value));
document.addEventListener("keydown", event => {{
  if (event.target === slider) return;
  if (event.key === "ArrowRight") slider.stepUp(); else if (event.key === "ArrowLeft") slider.stepDown(); else return;
  show(+slider.value);
}});
show(0);
</script></body></html>
"""


def to_html(simulation: Simulation) -> str:
    """The page of a finished run; the simulation must have been made with trace=True."""
    graph: Graph = simulation.graph
    edges = [(source.node.name, source.node.outputs[source.number], node.name, node.inputs[index])
             for source, node, index in graph.edges()]
    events = [
        {"node": event.node, "text": str(event).strip(), "taken": [port for port, _ in event.taken],
         "sent": {port: token_text(value) for port, value in event.sent}}
        for event in simulation.events
    ]
    return _PAGE.format(title=escape(graph.name), last=len(events), svg=to_svg(graph), edges=_script(edges),
                        events=_script(events))


def _script(value: object) -> str:
    """JSON that can stand inside a script element."""
    return json.dumps(value).replace("</", "<\\/")
