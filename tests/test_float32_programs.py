"""Random programs in float32: every stage in the interpreter and both engines compute the same bits.

`python -m benchmarks.fuzz --dtype float32` runs as many as wanted.
"""

from __future__ import annotations

import pytest

from tests.generator import generate
from tests.generator.narrow import check_narrow

BATCH = 20
PROGRAMS = 120


@pytest.mark.parametrize("first", range(0, PROGRAMS, BATCH))
def test_random_programs_compute_the_same_in_float32_everywhere(first: int) -> None:
    refused = 0
    for seed in range(first, first + BATCH):
        program, math = generate(seed), "vector" if seed % 3 == 0 else "libm"
        outcome = check_narrow(program, numba=seed % 10 == 0, count=30, deep=6, math=math)
        assert not outcome.failures, f"seed {seed}: {outcome.failures[0]}\n{program.source}"
        refused += bool(outcome.refusal)
    assert refused <= 5
