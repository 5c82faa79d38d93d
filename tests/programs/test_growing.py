"""Random programs about lists that grow in loops: the original against both engines and the stages."""

from __future__ import annotations

import pytest

from tests.generator import check_program
from tests.generator.growing import generate_growing

PROGRAMS = 8
MEANT = {"", None, "flatten/list-mutation", "flatten/mixed-join", "flatten/too-large"}


@pytest.mark.turns(2)
@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_lists(seed: int) -> None:
    program = generate_growing(seed)
    outcome = check_program(program, numba=seed == 5, count=25, stages=False)
    assert not outcome.failures, f"{outcome.failures[0]}\n{program.source}"
    assert outcome.refusal in MEANT, outcome.refusal_text


def test_a_seed_gives_the_same_program() -> None:
    assert generate_growing(5) == generate_growing(5) != generate_growing(6)
