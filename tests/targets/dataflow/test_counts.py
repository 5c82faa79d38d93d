"""Exact token counts of small programs, in many firing orders: results, controls, carried values, exits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pyflat.inspection import dataflow
from pyflat.targets.dataflow import Report

T, F = True, False
ORDERS = [None, *range(1, 20)]


def tens(n: int) -> int:
    s = 100
    for i in range(n):
        s += i * 10
    return s


def rectangle() -> int:
    s = 0
    for i in range(2):
        for j in range(3):
            s += i
    return s


def rectangle_of(n: int, m: int) -> int:
    s = 0
    for i in range(n):
        for j in range(m):
            s += i
    return s


def triangle() -> int:
    s = 0
    for i in range(4):
        for j in range(i):
            s += i * j
    return s


def gcd(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return a


def power() -> int:
    x = 1
    while x < 100:
        x *= 3
    return x


def evens() -> int:
    s = 0
    for i in range(5):
        if i % 2 == 0:
            s += i
    return s


def choose(x: int, y: int, c: bool) -> int:
    return x + y if c else x


def found_at(n: int, k: int) -> int:
    for i in range(n):
        if i * i >= k:
            return i
    return -1


def last_index(n: int) -> int:
    i = -1
    for i in range(n, 0, -2):
        pass
    return i


class Run:
    """A program run in every order: results equal Python's, nothing left, one and the same trace."""

    def __init__(self, fn: Callable[..., Any], arguments: Sequence[Any]):
        self.program = dataflow.lower(fn, arguments)
        reports = [self.program.run(seed=seed, trace=True) for seed in ORDERS]
        self.report: Report = reports[0]
        for report in reports:
            assert report.problems() == []
            assert report.done == 1
            assert self.program.value(report) == fn(*arguments)
            assert report.values == self.report.values

    def loop(self, number: int) -> tuple[list[bool], int, int]:
        """The raw control, and how many tokens body control and exits have."""
        loop = self.program.graph.loops[number]
        raw, body, exits = (self.report.values[str(port)] for port in (loop.raw, loop.body, loop.exits))
        return raw, len(body), len(exits)

    def tokens(self, port: str) -> list[Any]:
        return self.report.values[port]


def test_carried_sum() -> None:
    run = Run(tens, [4])
    assert run.loop(0) == ([T, T, T, T, F], 4, 1)
    assert run.tokens("carry_s.o") == [100, 100, 110, 130, 160]
    assert run.tokens("cond_br_s.false") == [160]
    assert run.tokens("gate_i.after_value") == [0, 1, 2, 3]
    assert run.tokens("gate_i.after_cond") == [T, T, T, F]
    assert run.tokens("stream_i.raw_index") == [0, 1, 2, 3, 4]
    assert run.program.value(run.report) == 160


def test_one_trip() -> None:
    assert Run(tens, [1]).loop(0) == ([T, F], 1, 1)


def test_no_trip_still_has_its_result_and_done() -> None:
    run = Run(tens, [0])
    assert run.program.value(run.report) == 100
    assert run.report.done == 1
    assert run.loop(0) == ([], 0, 0)


@pytest.mark.parametrize(("fn", "arguments"), [(rectangle, []), (rectangle_of, [2, 3])])
def test_rectangle(fn: Callable[..., int], arguments: list[int]) -> None:
    run = Run(fn, arguments)
    assert run.program.value(run.report) == 3
    assert run.loop(0) == ([T, T, F], 2, 1)
    assert run.loop(1) == ([T, T, T, F] * 2, 6, 2)
    repeated = [node for node in run.program.graph.nodes if node.kind == "invariant" and node.loop == "for_j"]
    assert [0, 0, 0, 1, 1, 1] in [run.tokens(str(node.out())) for node in repeated]


def test_proven_trips_need_no_guard() -> None:
    assert "mux" not in dataflow.lower(rectangle, []).graph.count_kinds()
    assert dataflow.lower(rectangle_of, [2, 3]).graph.count_kinds()["mux"] > 0


def test_triangle() -> None:
    run = Run(triangle, [])
    assert run.program.value(run.report) == 11
    assert run.loop(0) == ([T, T, T, T, F], 4, 1)
    raw, body, exits = run.loop(1)
    assert (len(raw), body, exits) == (9, 6, 3)


def test_gcd() -> None:
    run = Run(gcd, [48, 18])
    assert run.program.value(run.report) == 6
    assert run.loop(0) == ([T, T, T, F], 3, 1)
    assert run.tokens("carry_a.o") == [48, 18, 12, 6]


def test_gcd_without_a_trip() -> None:
    run = Run(gcd, [7, 0])
    assert run.program.value(run.report) == 7
    assert run.loop(0) == ([F], 0, 1)


def test_while_with_constants() -> None:
    run = Run(power, [])
    assert run.program.value(run.report) == 243
    raw, body, exits = run.loop(0)
    assert (len(raw), body, exits) == (6, 5, 1)


def test_branch_in_loop() -> None:
    run = Run(evens, [])
    assert run.program.value(run.report) == 6


@pytest.mark.parametrize("c", [True, False])
def test_choice(c: bool) -> None:
    Run(choose, [3, 4, c])


@pytest.mark.parametrize(("n", "k"), [(0, 1), (3, 100), (10, 16)])
def test_return_from_a_loop(n: int, k: int) -> None:
    run = Run(found_at, [n, k])
    raw, body, exits = run.loop(0)
    assert (len(raw), exits) == (body + 1, 1)


@pytest.mark.parametrize("n", [-1, 0, 1, 6, 7])
def test_loop_variable_after_the_loop(n: int) -> None:
    Run(last_index, [n])


def test_loops_come_outermost_first() -> None:
    graph = dataflow.lower(triangle, []).graph
    assert [(loop.name, loop.form) for loop in graph.loops] == [("for_i", "for"), ("for_j", "for")]
    assert graph.count_kinds()["stream"] == 2
