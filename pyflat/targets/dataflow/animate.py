"""A run as one HTML page: the picture of the graph, a slider over the firings, and the tokens in every queue.

The page needs nothing from outside. Left and right arrow keys step.
"""

from __future__ import annotations

import json
from html import escape

from pyflat.targets.dataflow.draw import to_svg
from pyflat.targets.dataflow.graph import Graph
from pyflat.targets.dataflow.report import token_text
from pyflat.targets.dataflow.simulate import Simulation

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
