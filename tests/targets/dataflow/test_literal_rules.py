"""The rules of the specification as they are written: three of them leave tokens behind or lose the done token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyflat.inspection import dataflow
from pyflat.targets.dataflow import Report, Rules, Simulation, lower
from tests.targets.dataflow import test_counts as programs


def literally(fn: Callable[..., Any], arguments: list[Any]) -> tuple[dataflow.Program, Report]:
    program = dataflow.lower(fn, arguments, literal=True)
    return program, program.run()


def only(fn: Callable[..., Any], arguments: list[Any], rules: Rules) -> Report:
    """One rule as written, the others corrected."""
    program = dataflow.lower(fn, arguments)
    return Simulation(lower(program.function, rules), program.leaves).run()


def test_operands_of_an_arm_that_is_not_taken_stay() -> None:
    report = only(programs.choose, [3, 4, False], Rules(gate_operands=False))
    assert report.results == [3]
    assert report.residual == {"add.o -> mux.true": 1}
    assert only(programs.choose, [3, 4, True], Rules(gate_operands=False)).problems() == []


def test_and_make_the_sum_of_evens_two() -> None:
    report = only(programs.evens, [], Rules(gate_operands=False))
    assert report.results == [2]
    assert report.tokens_left == 2
    assert literally(programs.evens, [])[1].results == [2]


def test_a_loop_without_a_trip_has_no_done_token() -> None:
    report = only(programs.tens, [0], Rules(guard_trips=False))
    assert report.results == [100]
    assert report.done == 0
    assert report.deadlock is not None
    assert "sink_done got no token" in report.deadlock
    assert "gate_i" in report.deadlock


def test_a_while_without_a_trip_has_none_either() -> None:
    assert only(programs.gcd, [7, 0], Rules(guard_trips=False)).done == 0


def test_nested_loops_deadlock() -> None:
    report = only(programs.triangle, [], Rules(guard_trips=False))
    assert report.done == 0
    assert report.deadlock is not None
    assert "gate_j" in report.deadlock


def test_while_body_gets_a_control_token_more() -> None:
    program, report = literally(programs.power, [])
    (loop,) = program.graph.loops
    assert report.sent[loop.body.node.name]["o"] == 6
    assert report.results == [243]
    assert any("constant_3.o" in edge for edge in report.residual)
    alone = only(programs.power, [], Rules(gate_while=False))
    assert not alone.clean


@pytest.mark.parametrize("arguments", [[1], [4]])
def test_loops_with_trips_and_no_branches_are_right(arguments: list[int]) -> None:
    assert literally(programs.tens, arguments)[1].problems() == []
