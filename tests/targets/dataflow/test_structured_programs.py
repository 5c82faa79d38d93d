"""Random structured functions (regions, exits, loops, raises) by tokens against the interpreter on the original."""

from __future__ import annotations

from typing import Any

import pytest

from pyflat.ir.interp import LaneFault, run
from pyflat.ir.nodes import Function
from pyflat.passes.lower_exits import lower_exits
from pyflat.targets.dataflow import Simulation, lower
from pyflat.targets.dataflow.engine import hoist_leaving
from tests.passes.structured_programs import StructuredPrograms, bits, lanes


def expected_of(fn: Function, arguments: tuple[Any, ...]) -> tuple[Any, ...] | str:
    """The values of a lane, or the type of what is raised."""
    try:
        return run(fn, arguments).values
    except LaneFault as raised:
        return raised.fault.type


@pytest.mark.parametrize("first", range(0, 100, 20))
def test_tokens_give_what_the_interpreter_gives(first: int) -> None:
    compared = 0
    for seed in range(first, first + 20):
        fn = StructuredPrograms(seed, loops=True).function()
        graph = lower(lower_exits(hoist_leaving(fn)))
        for number, arguments in enumerate(lanes(fn, 6, seed)):
            expected = expected_of(fn, arguments)
            if expected == "OutOfLane":
                continue  # Python goes on there, and so do tokens
            compared += 1
            report = Simulation(graph, arguments, seed=number or None).run()
            if isinstance(expected, str):
                assert report.fault is not None, (seed, arguments)
            else:
                assert report.problems() == [], (seed, arguments)
                assert list(map(bits, report.results)) == list(map(bits, expected)), (seed, arguments)
    assert compared > 50
