"""Runs: firing orders, bounded queues, the clock, deadlocks with their culprit, traces and figures."""

from __future__ import annotations

import pytest

from pyflat.errors import FlattenError, InternalError
from pyflat.inspection import dataflow
from pyflat.inspection.dataflow import critical_path, recurrence
from pyflat.targets.dataflow import Graph, Simulation
from tests.targets.dataflow import test_counts as programs


def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps


def harmonic(n: int) -> float:
    s = 0.0
    for i in range(1, n):
        s += 1.0 / (i - 3)
    return s


def forever(n: int) -> int:
    while n > 0:
        n += 1
    return n


def last(n: int) -> int:
    for i in range(n):
        pass
    return i


# --- orders and the clock


def test_the_same_seed_is_the_same_run() -> None:
    program = dataflow.lower(collatz, [6])
    first, second, other = (program.simulation(seed=seed, trace=True) for seed in (5, 5, 6))
    reports = [run.run() for run in (first, second, other)]
    assert first.events == second.events
    assert first.events != other.events
    assert reports[0].values == reports[2].values


@pytest.mark.parametrize("capacity", [None, 1, 2, 7])
def test_clocked_runs_give_the_same_tokens(capacity: int | None) -> None:
    program = dataflow.lower(programs.triangle, [])
    clocked = program.simulation(trace=True, capacity=capacity).run_clocked()
    assert clocked.problems() == []
    assert clocked.values == program.run(trace=True).values
    assert clocked.cycles is not None
    assert clocked.cycles < clocked.firings


def test_small_queues_cost_cycles() -> None:
    cycles = dataflow.lower(programs.tens, [20]).figures().cycles
    assert cycles[None] is not None and cycles[1] is not None and cycles[16] is not None
    assert cycles[1] > cycles[16] >= cycles[None]


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_bounded_queues_are_never_overfull(seed: int | None) -> None:
    simulation = dataflow.lower(programs.rectangle_of, [3, 4]).simulation(capacity=1, seed=seed)
    most = 0
    step = simulation.carry_out

    def watch(number: int, what: object) -> None:
        nonlocal most
        step(number, what)  # type: ignore[arg-type]
        most = max(most, *(len(queue) for cell in simulation.cells for queue in cell.queues))

    simulation.carry_out = watch  # type: ignore[method-assign]
    report = simulation.run()
    assert report.problems() == []
    assert most == 1


# --- what is wrong with a run


def test_a_node_that_waits_is_named() -> None:
    graph = Graph("stuck")
    start = graph.add("source", hint="start").out()
    gate = graph.add("gate", start, graph.add("constant", start, value=False).out())
    graph.results = [graph.add("sink", graph.add("join", start, gate.out(0)).out(), hint="result")]
    graph.done = graph.add("sink", start, hint="done")
    report = Simulation(graph).run()
    assert report.deadlock == ("sink_result got no token: join waits for in1 from gate.after_value, and gate is at rest "
                               "and sent none for its last")
    assert report.results == [None]
    assert report.residual == {"source_start.o -> join.in0": 1}


def test_a_circle_of_waiting_nodes_is_named() -> None:
    graph = Graph("circle")
    start = graph.add("source", hint="start").out()
    carry = graph.add("carry", None, start, None)
    carry.connect("d", carry.out())
    carry.connect("b", carry.out())
    inner = graph.add("mux", carry.out(), None, start)
    inner.connect("false", inner.out())
    graph.done = graph.add("sink", inner.out(), hint="done")
    assert Simulation(graph).run().deadlock == "sink_done got no token: mux waits for false from mux.o, which waits for mux in turn"


def test_a_full_queue_is_named() -> None:
    """An operand that arrives long before the other one, while the branch before both can hold one token only."""
    graph = Graph("full")
    start = graph.add("source", hint="start").out()
    zero, one, three = (graph.add("constant", start, value=value).out() for value in (0, 1, 3))
    stream = graph.add("stream", zero, one, three)
    split = graph.add("cond_br", stream.out(1), stream.out(0))
    total = graph.add("add", split.out("true"), split.out("false"), meaning=int.__add__)
    graph.results = [graph.add("sink", total.out(), hint="result")]
    graph.done = graph.add("sink", start, hint="done")
    report = Simulation(graph, capacity=1).run()
    assert report.deadlock is not None
    assert "full" in report.deadlock
    assert Simulation(graph).run().deadlock is None


def test_an_endless_loop_is_told() -> None:
    report = dataflow.lower(forever, [1]).run(max_firings=1000)
    assert report.deadlock == "no end after 1,000 firings"
    assert not report.clean


def test_faults_are_pythons() -> None:
    report = dataflow.lower(harmonic, [5]).run()
    assert report.fault is not None
    assert report.fault.type == "ZeroDivisionError"
    assert dataflow.lower(harmonic, [3]).run().problems() == []


def test_a_name_that_is_not_bound_is_a_fault() -> None:
    program = dataflow.lower(last, [0])
    report = program.run()
    assert report.fault is not None
    assert report.fault.type == "UnboundLocalError"
    assert program.value(program.run([3])) == 2


def test_results_of_other_leaves() -> None:
    program = dataflow.lower(collatz, [1])
    for n in range(1, 12):
        assert program.value(program.run([n])) == collatz(n)


@pytest.mark.parametrize("leaves", [[], [1, 2]])
def test_the_number_of_leaves_is_checked(leaves: list[int]) -> None:
    with pytest.raises(TypeError, match="takes 1 argument leaves"):
        dataflow.lower(collatz, [1]).run(leaves)


def test_the_capacity_is_checked() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        dataflow.lower(collatz, [1]).run(capacity=0)


def test_an_open_input_is_a_bug() -> None:
    graph = Graph("open")
    start = graph.add("source", hint="start").out()
    graph.add("carry", None, start, None)
    graph.done = graph.add("sink", start)
    with pytest.raises(InternalError, match="carry.d is not connected"):
        Simulation(graph)


def test_an_input_is_connected_once() -> None:
    graph = Graph("twice")
    start = graph.add("source", hint="start").out()
    carry = graph.add("carry", None, start, None)
    carry.connect("b", start)
    with pytest.raises(InternalError, match="connected twice"):
        carry.connect("b", start)


def test_refusals_pass_through() -> None:
    def effect(n: int) -> int:
        print(n)
        return n

    with pytest.raises(FlattenError):
        dataflow.lower(effect, [1])


# --- figures


def test_figures_of_gcd() -> None:
    figures = dataflow.lower(programs.gcd, [48, 18]).figures()
    (loop,) = figures.loops
    assert (loop.raw_tokens, loop.body_tokens, loop.exits) == (4, 3, 1)
    assert loop.interval == loop.recurrence == 4  # carry, ne, cond_br, mod
    assert figures.critical_path[0] == "source_start"
    assert figures.cycles[None] == 18
    assert figures.nodes["carry"] == 3


def test_the_critical_path_leaves_out_what_closes_loops() -> None:
    graph = dataflow.lower(programs.triangle, []).graph
    path = critical_path(graph)
    assert len(set(path)) == len(path)
    for before, after in zip(path, path[1:], strict=False):
        assert before in [source.node for source in after.sources if source is not None]
    assert recurrence(graph, "for_j") >= 3  # carry, cond_br, add


# --- the done token


def nested(n: int) -> int:
    s = 0
    while s < n and (n % (s + 1) if s % 2 else True):
        k = s % 3
        while k > 0:
            k -= 1
        s += 1
    return 0


@pytest.mark.parametrize("seed", range(20))
def test_done_comes_after_every_loop_and_branch_is_done(seed: int) -> None:
    """Also those whose values nothing reads, in the body and in the condition."""
    simulation = dataflow.lower(nested, [6]).simulation(seed=seed, trace=True)
    assert simulation.run().problems() == []
    fired = [event.node for event in simulation.events]
    merges = [place for place, name in enumerate(fired) if name.startswith(("mux_done", "cond_br_done"))]
    assert fired.index("sink_done") > max(merges)
