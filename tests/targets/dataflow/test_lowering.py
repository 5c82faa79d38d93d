"""Lowering of IR that source programs seldom make, and refusals of forms that belong to other ways out."""

from __future__ import annotations

import pytest

from pyflat.errors import InternalError
from pyflat.ir.build import Builder, const
from pyflat.ir.interp import run
from pyflat.ir.nodes import FAULT, Block, Exit, Fault, Function, If, Label, Loop, Param, Region, Yield
from pyflat.ir.types import BOOL, INT
from pyflat.passes.lower_exits import lower_exits
from pyflat.targets.dataflow import Simulation, lower


def counted_with_condition_used(step: int = 1, stop: int | None = None) -> Function:
    """for i in range(0, n or stop, step): s += 1 if go else 100; gives `go`, the loop's own condition, and s."""
    count, index, total = Param(INT, "n"), Param(INT, "i"), Param(INT, "s")
    label, again = Label("loop"), Label("next")
    build = Builder()
    with build.detached() as header:
        go = build.op("lt" if step > 0 else "gt", index, count if stop is None else const(stop))
        other = build.op("not", go)
    with build.detached() as rest:
        added = build.op("add", total, build.op("select", go, const(1), const(100)))
        build.end(Yield([build.op("add", index, const(step)), added]))
    carried, results = [Param(INT, "i"), Param(INT, "s")], [Param(BOOL), Param(BOOL), Param(INT)]
    leave = [Block([], Exit(label, [go, other, total]))]
    loop = Loop(label, again, [index, total], [const(0), const(0)],
                [*header, If(go, rest, leave, carried), Block([], Yield(carried))], results)
    return Function("f", [count], [Block(), loop, Block([], Yield(results))], Label("return"), [BOOL, BOOL, INT])


@pytest.mark.parametrize("n", [0, 1, 3])
def test_condition_of_a_counted_loop_is_a_value_too(n: int) -> None:
    fn = counted_with_condition_used()
    graph = lower(fn)
    assert graph.loops[0].form == "for"
    report = Simulation(graph, [n]).run()
    assert report.problems() == []
    assert tuple(report.results) == run(fn, [n]).values == (False, True, n)


@pytest.mark.parametrize(("step", "stop", "trips"), [(1, 0, 0), (1, -1, 0), (1, 1, 1), (-1, 0, 0), (-2, -3, 2), (-1, 1, 0)])
def test_constant_bounds_are_guarded_unless_there_is_a_trip(step: int, stop: int, trips: int) -> None:
    graph = lower(counted_with_condition_used(step, stop))
    report = Simulation(graph, [0]).run()
    assert report.problems() == []
    assert report.results == [False, True, trips]
    assert ("mux" in graph.count_kinds()) is (trips == 0)


def test_a_loop_that_counts_away_from_its_bound_is_no_stream() -> None:
    """range would be empty where the loop never ends."""
    fn = counted_with_condition_used()
    (loop,) = (item for item in fn.body if isinstance(item, Loop))
    test = loop.body[-2]
    assert isinstance(test, If)
    last = test.then[-1]
    assert isinstance(last, Block)
    assert last.end is not None
    build = Builder()
    last.end.values[0] = build.op("add", loop.params[0], const(-1))
    last.ops += build.block.ops
    graph = lower(fn)
    assert graph.loops[0].form == "while"
    assert Simulation(graph, [0]).run().results == [False, True, 0]
    endless = Simulation(graph, [1], max_firings=2000).run()
    assert endless.deadlock == "no end after 2,000 firings"


def test_a_loop_left_where_its_condition_holds() -> None:
    """`if stop: exit else: go on`: the raw control is the negation."""
    count, index = Param(INT, "n"), Param(INT, "i")
    label = Label("loop")
    build = Builder()
    with build.detached() as header:
        stop = build.op("ge", index, count)
    with build.detached() as rest:
        build.end(Yield([build.op("add", index, const(1))]))
    carried, result = [Param(INT, "i")], Param(INT, "i")
    test = If(stop, [Block([], Exit(label, [index]))], rest, carried)
    loop = Loop(label, Label("next"), [index], [const(0)], [*header, test, Block([], Yield(carried))], [result])
    fn = Function("f", [count], [Block(), loop, Block([], Yield([result]))], Label("return"), [INT])
    graph = lower(lower_exits(fn))
    for n in (0, 1, 4):
        report = Simulation(graph, [n]).run()
        assert report.problems() == []
        assert report.results == [n]
    assert graph.count_kinds()["not"] == 1


def function_of(*items: object) -> Function:
    return Function("f", [], list(items), Label("return"), [])  # type: ignore[arg-type]


@pytest.mark.parametrize("items", [
    (Block(), Region(Label("r"), [Block([], Yield())]), Block([], Yield())),
    (Block([], Exit(FAULT, (), Fault("ValueError"))),),
    (Block(), Loop(Label("loop"), Label("next"), [], [], [Block([], Yield())]), Block([], Yield())),
])
def test_exits_must_be_lowered_before(items: tuple[object, ...]) -> None:
    with pytest.raises(InternalError, match="exits that are not those of canonical loops"):
        lower(function_of(*items))
