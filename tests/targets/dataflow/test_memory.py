"""Memory: loads and stores in the order that their tokens give, by real lowering of IR with memory operations."""

from __future__ import annotations

import pytest

from pyflat.targets.dataflow import Graph, Report, Rules, Simulation, lower
from tests.targets.dataflow.memory_programs import add_in_loop


def run(graph: Graph, contents: list[int], trips: int, **options: object) -> Report:
    graph.memories["A"] = contents
    return Simulation(graph, [trips, None], **options).run()  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [None, *range(1, 20)])
def test_every_element_is_incremented(seed: int | None) -> None:
    graph = lower(add_in_loop(0, 1))
    report = run(graph, [10, 20, 30], 3, seed=seed)
    assert report.memories == {"A": [11, 21, 31]}
    assert report.problems() == []
    (loop,) = graph.loops
    body = report.sent[loop.body.node.name]
    assert body == {"o": 3}
    assert report.taken["load_A"] == {"ctrl": 3, "index": 3}
    assert report.taken["store_A"] == {"ctrl": 3, "index": 3, "value": 3}


def test_wired_to_raw_control_there_is_one_token_more_and_it_is_named() -> None:
    graph = lower(add_in_loop(0, 1), Rules(body_memory=False))
    report = run(graph, [10, 20, 30], 3)
    (loop,) = graph.loops
    assert report.sent[loop.body.node.name] == {"o": 4}
    assert not report.clean
    assert any("1 extra token on carry_A.o -> load_A.ctrl: 4 sent, 3 taken" in problem for problem in report.problems())


@pytest.mark.parametrize("seed", range(20))
def test_a_load_sees_the_store_of_the_iteration_before(seed: int) -> None:
    report = run(lower(add_in_loop(1, 1)), [5, 0, 0, 0], 3, seed=seed)
    assert report.memories == {"A": [5, 6, 7, 8]}
    assert report.problems() == []


@pytest.mark.parametrize("trips", [0, 1])
def test_few_trips(trips: int) -> None:
    report = run(lower(add_in_loop(0, 1)), [10], trips)
    assert report.memories == {"A": [10 + trips]}
    assert report.problems() == []


def test_initial_contents_are_not_written() -> None:
    graph = lower(add_in_loop(0, 1))
    contents = [10, 20, 30]
    run(graph, contents, 3)
    assert contents == [10, 20, 30]


def test_index_out_of_range_is_pythons_error() -> None:
    report = run(lower(add_in_loop(0, 1)), [10, 20], 3)
    assert report.fault is not None
    assert (report.fault.type, report.fault.message) == ("IndexError", "list index out of range")
    assert not report.clean


@pytest.mark.parametrize("seed", range(20))
def test_done_comes_after_the_last_store(seed: int) -> None:
    graph = lower(add_in_loop(0, 1))
    graph.memories["A"] = [10, 20, 30]
    simulation = Simulation(graph, [3, None], seed=seed, trace=True)
    simulation.run()
    fired = [event.node for event in simulation.events]
    last_store = max(place for place, name in enumerate(fired) if name == "store_A")
    assert fired.index("sink_done") > last_store
