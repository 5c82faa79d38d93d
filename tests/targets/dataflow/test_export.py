"""Exports: every node and edge is there, the text is well formed, pictures show every node."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

import pytest

from pyflat.inspection import dataflow
from pyflat.targets.dataflow import Graph, Simulation, lower
from pyflat.targets.dataflow.draw import to_html, to_svg
from pyflat.targets.dataflow.export import to_dot, to_json, to_mlir
from tests.targets.dataflow import test_counts as programs
from tests.targets.dataflow.memory_programs import add_in_loop

GCD = """\
handshake.func @gcd(%source_a: i64, %source_b: i64, %source_start: none) -> (i64, none) {
  %invariant_control = dataflow.invariant %ne, %source_start : (i1, none) -> (none)
  %carry_a = dataflow.carry %ne, %source_a, %cond_br_b_true : (i1, i64, i64) -> (i64)
  %carry_b = dataflow.carry %ne, %source_b, %mod_b : (i1, i64, i64) -> (i64)
  %constant_0 = handshake.constant %invariant_control {value = 0 : i64} : (none) -> (i64)
  %ne = arith.cmpi ne, %carry_b, %constant_0 : (i64, i64) -> (i1)
  %gate_after_value, %gate_after_cond = dataflow.gate %invariant_control, %ne : (none, i1) -> (none, i1)
  %cond_br_a_true, %cond_br_a_false = handshake.cond_br %ne, %carry_a : (i1, i64) -> (i64, i64)
  %cond_br_b_true, %cond_br_b_false = handshake.cond_br %ne, %carry_b : (i1, i64) -> (i64, i64)
  %mod_b = pyflat.mod %cond_br_a_true, %cond_br_b_true : (i64, i64) -> (i64)
  %carry_done = dataflow.carry %ne, %source_start, %gate_after_value : (i1, none, none) -> (none)
  %cond_br_done_true, %cond_br_done_false = handshake.cond_br %ne, %carry_done : (i1, none) -> (none, none)
  handshake.return %cond_br_a_false, %cond_br_done_false : i64, none
}
"""


def graphs() -> dict[str, Graph]:
    found = {fn.__name__: dataflow.lower(fn, list(arguments)).graph for fn, arguments in (
        (programs.gcd, (48, 18)), (programs.triangle, ()), (programs.evens, ()), (programs.found_at, (9, 4)))}
    memory = lower(add_in_loop(0, 1))
    memory.memories["A"] = [1, 2, 3]
    return {**found, "memory": memory}


GRAPHS = graphs()


def test_mlir_of_gcd() -> None:
    assert to_mlir(GRAPHS["gcd"]) == GCD


@pytest.mark.parametrize("name", GRAPHS)
def test_mlir_defines_what_it_uses_once(name: str) -> None:
    text = to_mlir(GRAPHS[name])
    head, *lines = text.splitlines()
    defined = re.findall(r"%\w+(?=:)", head)
    for line in lines:
        left, equals, _ = line.partition(" = ")
        if equals and "%" in left:
            defined += re.findall(r"%\w+", left)
    assert len(set(defined)) == len(defined)
    assert set(re.findall(r"%\w+", text)) == set(defined)


@pytest.mark.parametrize("name", GRAPHS)
def test_json_has_every_node_and_edge(name: str) -> None:
    graph = GRAPHS[name]
    read = json.loads(to_json(graph))
    assert [node["name"] for node in read["nodes"]] == [node.name for node in graph.nodes]
    outputs = {f"{node['name']}.{port}" for node in read["nodes"] for port in node["outputs"]}
    inputs = [source for node in read["nodes"] for source in node["inputs"].values()]
    assert set(inputs) <= outputs
    assert len(inputs) == sum(1 for _ in graph.edges())


@pytest.mark.parametrize("name", GRAPHS)
def test_dot_has_every_node_and_edge(name: str) -> None:
    graph = GRAPHS[name]
    text = to_dot(graph)
    assert text.count(" -> ") == sum(1 for _ in graph.edges())
    assert text.count("fillcolor=") == len(graph.nodes)
    assert text.count("subgraph") == len(graph.loops)
    assert text.count("{") == text.count("}")


@pytest.mark.parametrize("name", GRAPHS)
def test_svg_has_every_node_and_edge_and_no_overlap(name: str) -> None:
    graph = GRAPHS[name]
    root = ET.fromstring(to_svg(graph))
    space = "{http://www.w3.org/2000/svg}"
    assert sorted(title.text or "" for title in root.iter(f"{space}title")) == sorted(node.name for node in graph.nodes)
    places = [(box.get("x"), box.get("y")) for box in root.iter(f"{space}rect")]
    assert len(set(places)) == len(graph.nodes)
    assert len(root.findall(f"{space}path")) == sum(1 for _ in graph.edges())


def test_page_has_every_firing() -> None:
    program = dataflow.lower(programs.evens, [])
    simulation = program.simulation(trace=True)
    report = simulation.run()
    text = to_html(simulation)
    found = re.search(r"events = (\[.*\]);\n", text)
    assert found is not None
    events = json.loads(found[1])
    assert len(events) == report.firings
    sent = [event["sent"]["o"] for event in events if event["node"] == "carry_s" and event["sent"]]
    assert sent == ["0", "0", "0", "2", "2", "6"]
    assert text.count("<rect") == len(program.graph.nodes)
    assert "{{" not in text


def test_page_cannot_be_left_by_a_name() -> None:
    graph = Graph("</script>")
    start = graph.add("source", hint="</script>").out()
    graph.done = graph.add("sink", start, hint="done")
    simulation = Simulation(graph, trace=True)
    simulation.run()
    assert to_html(simulation).count("</script>") == 1
