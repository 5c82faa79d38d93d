"""Random programs about dicts, sets and results of several kinds: the original against both engines and the stages."""

from __future__ import annotations

import pytest

from tests.generator import check_program
from tests.generator.containers import generate_containers
from tests.generator.counters import generate_counters
from tests.generator.turning import generate_turning

PROGRAMS = 8
MEANT = {"", None, "flatten/list-mutation", "flatten/mixed-join", "flatten/too-large", "flatten/result-kind"}


@pytest.mark.turns(4)
@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_dicts(seed: int) -> None:
    program = generate_counters(seed)
    outcome = check_program(program, numba=seed % 4 == 1, count=25, stages=False)
    assert not outcome.failures, f"{outcome.failures[0]}\n{program.source}"
    assert outcome.refusal in MEANT, outcome.refusal_text


@pytest.mark.turns(2)
@pytest.mark.parametrize("seed", range(24))
def test_variables_that_change(seed: int) -> None:
    """In turns of a loop, and after an `if`, a name means something else."""
    program = generate_turning(seed)
    outcome = check_program(program, numba=seed % 4 == 1, count=20, stages=seed % 8 == 2)
    assert not outcome.failures, f"{outcome.failures[0]}\n{program.source}"


@pytest.mark.parametrize("seed", [*range(18), 66, 104, 109, 135])
def test_random_results_of_dicts(seed: int) -> None:
    """An item of a list has the kind that it has in its lane, an int beside floats too."""
    program = generate_containers(seed)
    outcome = check_program(program, numba=seed % 6 == 1, count=15, stages=False)
    assert not outcome.failures, f"{outcome.failures[0]}\n{program.source}"


def test_a_seed_gives_the_same_program() -> None:
    assert generate_counters(5) == generate_counters(5) != generate_counters(6)
