"""Random nested loops: Python's result in every firing order, nothing left, one signature (see
benchmarks/dataflow_fuzz.py)."""

from __future__ import annotations

import pytest

from benchmarks.dataflow_fuzz import Score, check
from pyflat.inspection import dataflow
from pyflat.ir.interp import run
from tests.targets.dataflow.loop_programs import LoopPrograms, arguments_for, load


@pytest.mark.turns(3)
@pytest.mark.parametrize("first", range(100_000, 100_200, 20))
def test_every_order_gives_pythons_result(first: int) -> None:
    score = Score()
    for seed in range(first, first + 20):
        check(seed, 5, score)
    assert score.bad == []
    assert score.programs == 20


def test_literal_rules_fail_for_some() -> None:
    score = Score()
    for seed in range(40):
        check(seed, 1, score)
    assert score.literal["right"] < 30
    assert score.literal["deadlock or fault"] > 5


def test_the_interpreter_agrees() -> None:
    """The same structured function, by the interpreter and by tokens."""
    for seed in range(200_000, 200_040):
        fn, arguments = load(LoopPrograms(seed).source()), arguments_for(seed)
        program = dataflow.lower(fn, arguments)
        assert tuple(program.run().results) == run(program.function, program.leaves).values


def test_the_generator_makes_loops_of_every_form() -> None:
    text = "".join(LoopPrograms(seed).source() for seed in range(100))
    for construct in ("for ", "while ", "if ", "else:", "break", "continue", "return (", ", -1):"):
        assert construct in text
