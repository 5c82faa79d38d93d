"""Random programs in float32: every stage in the interpreter and both engines compute the same bits.

`python -m benchmarks.fuzz --dtype float32` runs as many as wanted.
"""

from __future__ import annotations

import pytest

from tests.generator import Program, generate
from tests.generator.array_programs import source
from tests.generator.complex_programs import generate_complex
from tests.generator.float32 import check_narrow

BATCH = 20
PROGRAMS = 120


@pytest.mark.turns(3)
@pytest.mark.parametrize("first", range(0, PROGRAMS, BATCH))
def test_random_programs_compute_the_same_in_float32_everywhere(first: int) -> None:
    refused = 0
    for seed in range(first, first + BATCH):
        program, math = generate(seed), "fast" if seed % 3 == 0 else "exact"
        outcome = check_narrow(program, numba=seed % 10 == 0, count=30, deep=6, math=math)
        assert not outcome.failures, f"seed {seed}: {outcome.failures[0]}\n{program.source}"
        refused += bool(outcome.refusal)
    assert refused <= 5


@pytest.mark.turns(2)
@pytest.mark.parametrize("first", range(0, 40, BATCH))
def test_random_arrays_compute_the_same_in_float32_everywhere(first: int) -> None:
    for seed in range(first, first + BATCH):
        program = Program(source(seed).replace("def f(", "def main("), ("f", "f", "i", "i"), seed)
        outcome = check_narrow(program, numba=seed % 10 == 0, count=20, deep=4, math="fast" if seed % 2 else "exact")
        assert not outcome.failures, f"seed {seed}: {outcome.failures[0]}\n{program.source}"
        assert outcome.refusal in ("", "flatten/list-mutation", "flatten/mixed-join")


def test_random_complex_programs_compute_the_same_or_are_refused() -> None:
    done = 0
    for seed in range(40):
        program = generate_complex(seed)
        outcome = check_narrow(program, count=15, deep=3) if set(program.kinds) <= {"f", "i", "b"} else None
        if outcome is not None:
            assert not outcome.failures, f"seed {seed}: {outcome.failures[0]}\n{program.source}"
            done += not outcome.refusal
    assert done >= 4
