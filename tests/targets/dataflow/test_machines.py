"""Each kind of node on its own: what goes in, what comes out, and that it is at rest in the end."""

from __future__ import annotations

import operator
from typing import Any

import pytest

from pyflat.ir.nodes import Fault
from pyflat.targets.dataflow import Graph, Report, Simulation

T, F = True, False


def feed(kind: str, *streams: list[Any], **attributes: Any) -> tuple[dict[str, list[Any]], Report]:
    """What a node sends for these streams of tokens, by port; each stream is fed by a node that counts through it."""
    graph = Graph("test")
    start = graph.add("source", hint="start").out()
    sources = [_tokens(graph, start, stream) for stream in streams]
    node = graph.add(kind, *sources, **attributes)
    graph.done = graph.add("sink", start, hint="done")
    report = Simulation(graph, trace=True).run()
    return {port: report.values[f"{node.name}.{port}"] for port in node.outputs}, report


def _tokens(graph: Graph, start: Any, stream: list[Any]) -> Any:
    """A stream node and an operation that looks the tokens up."""
    zero, one, length = (graph.add("constant", start, value=value).out() for value in (0, 1, len(stream)))
    counter = graph.add("stream", zero, one, length)
    index = graph.add("gate", counter.out(0), counter.out(1)).out(0)
    return graph.add("lookup", index, meaning=stream.__getitem__).out()


def test_stream_counts_up_down_and_not_at_all() -> None:
    sent, report = feed("stream", [0, 5, 3], [1, -2, 1], [3, 0, 3])
    assert sent["raw_index"] == [0, 1, 2, 3, 5, 3, 1, -1, 3]
    assert sent["raw_will_continue"] == [T, T, T, F, T, T, T, F, F]
    assert report.clean


def test_stream_without_a_step_raises_as_range_does() -> None:
    _, report = feed("stream", [0], [0], [3])
    assert report.fault is not None
    assert (report.fault.type, report.fault.message) == ("ValueError", "range() arg 3 must not be zero")


def test_gate_drops_the_last_value_and_the_first_condition() -> None:
    sent, report = feed("gate", [0, 1, 2, 3], [T, T, T, F])
    assert sent == {"after_value": [0, 1, 2], "after_cond": [T, T, F]}
    assert report.clean


def test_gate_of_a_loop_without_a_trip_sends_nothing() -> None:
    sent, report = feed("gate", [7, 8, 9], [F, T, F])
    assert sent == {"after_value": [8], "after_cond": [F]}
    assert report.clean


def test_carry_takes_the_start_then_the_feedback() -> None:
    sent, report = feed("carry", [T, T, F, F, T, F], [1, 2, 3], [10, 20, 30])
    assert sent["o"] == [1, 10, 20, 2, 3, 30]
    assert report.clean


def test_carry_in_the_middle_is_not_at_rest() -> None:
    _, report = feed("carry", [T], [1], [10])
    assert report.unrest == ["carry"]
    assert "carry is not at rest" in report.problems()


def test_invariant_repeats() -> None:
    sent, report = feed("invariant", [T, T, F, F], [1, 2])
    assert sent["o"] == [1, 1, 1, 2]
    assert report.clean


def test_branch_and_mux_are_inverse() -> None:
    sent, _ = feed("cond_br", [T, F, T], [1, 2, 3])
    assert sent == {"true": [1, 3], "false": [2]}
    sent, report = feed("mux", [T, F, T], [2], [1, 3])
    assert sent == {"o": [1, 2, 3]}
    assert report.clean


def test_mux_leaves_the_other_side_alone() -> None:
    sent, report = feed("mux", [T], [2], [1])
    assert sent == {"o": [1]}
    assert report.residual == {"lookup#2.o -> mux.false": 1}


def test_join_waits_for_all() -> None:
    sent, report = feed("join", [1, 2], [3, 4])
    assert sent == {"o": [None, None]}
    assert report.clean


def test_arithmetic_takes_one_token_of_each_operand() -> None:
    sent, _ = feed("sub", [5, 7], [1, 2], meaning=operator.sub)
    assert sent == {"o": [4, 5]}


def test_arithmetic_raises_as_python_does() -> None:
    _, report = feed("floordiv", [1], [0], meaning=operator.floordiv)
    assert report.fault is not None
    assert report.fault.type == "ZeroDivisionError"
    assert "ZeroDivisionError" in report.problems()[0]


@pytest.mark.parametrize("raises", [False, True])
def test_fault_raises_where_its_condition_holds(raises: bool) -> None:
    _, report = feed("fault", [F, raises], value=Fault("KeyError", "'x'"))
    assert (report.fault is not None) is raises
    if report.fault is not None:
        assert (report.fault.type, report.fault.message) == ("KeyError", "'x'")


def test_wide_integers_are_named_and_right() -> None:
    sent, report = feed("mul", [2**62], [4], meaning=operator.mul)
    assert sent == {"o": [2**64]}
    assert report.wide == ["mul"]
