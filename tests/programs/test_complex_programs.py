"""Random programs on complex numbers: the original against both engines, and against the stages of the flattener."""

from __future__ import annotations

import pytest

from tests.generator import check_program
from tests.generator.complex_programs import generate_complex

BATCH = 20


@pytest.mark.turns(5)
@pytest.mark.parametrize("first", range(0, 100, BATCH))
def test_random_complex_programs(first: int) -> None:
    refused = 0
    for seed in range(first, first + BATCH):
        program = generate_complex(seed)
        outcome = check_program(program, numba=seed % 10 == 0, count=30, stages=False)
        assert not outcome.failures, f"seed {seed}: {outcome.failures[0]}\n{program.source}"
        refused += bool(outcome.refusal)
    assert refused <= 2


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4])
def test_stages_of_complex_programs(seed: int) -> None:
    program = generate_complex(seed)
    outcome = check_program(program, count=20, deep=4)
    assert not outcome.failures, f"{outcome.failures[0]}\n{program.source}"


def test_a_seed_gives_the_same_program() -> None:
    assert generate_complex(5) == generate_complex(5) != generate_complex(6)
