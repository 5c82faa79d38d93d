"""Random programs about ints of 64 bits without sign: the original against both engines and the stages."""

from __future__ import annotations

import pytest

from tests.generator import check_program
from tests.generator.hashes import generate_hashes

BATCH = 10


@pytest.mark.turns(3)
@pytest.mark.parametrize("first", range(0, 60, BATCH))
def test_random_hashes(first: int) -> None:
    refused = 0
    for seed in range(first, first + BATCH):
        program = generate_hashes(seed)
        outcome = check_program(program, numba=seed % 10 == 0, count=20, stages=seed % 5 == 0, deep=6)
        assert not outcome.failures, f"seed {seed}: {outcome.failures[0]}\n{program.source}"
        assert outcome.refusal in (None, "", "flatten/int-too-large"), outcome.refusal_text
        refused += bool(outcome.refusal)
    assert refused <= 4


def test_a_seed_gives_the_same_program() -> None:
    assert generate_hashes(5) == generate_hashes(5) != generate_hashes(6)
