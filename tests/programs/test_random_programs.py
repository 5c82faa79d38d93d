"""Random programs: the original against every stage of the flattener and both engines.

`make fuzz` runs as many as wanted; a failure found there becomes a case in `FOUND`.
"""

from __future__ import annotations

import collections
import functools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from tests.generator import Failure, Program, check_program, generate, generate_labelled, programs
from tests.generator.shrink import candidates, minimise
from tests.generator.storage import DTYPES, LAYOUTS, storages
from tests.generator.ways import run_of
from tests.support.numpy_functions import NUMPY_BINARY, NUMPY_UNARY

NUMPY = (*NUMPY_UNARY, *NUMPY_BINARY)
BATCH = 20
PROGRAMS = 240
REFUSED_AT_MOST = 0.10


@pytest.mark.turns(12)
@pytest.mark.parametrize("first", range(0, PROGRAMS, BATCH))
def test_random_programs_do_what_their_originals_do(first: int) -> None:
    refused: collections.Counter[str] = collections.Counter()
    for seed in range(first, first + BATCH):
        program = generate(seed)
        with run_of(seed).forced():
            outcome = check_program(program, numba=seed % 10 == 0, count=30, deep=8)
        assert not outcome.failures, f"seed {seed}: {outcome.failures[0]}\n{program.source}"
        if outcome.refusal:
            refused[outcome.refusal] += 1
    assert refused.total() <= max(4, 2 * REFUSED_AT_MOST * BATCH), refused


@pytest.mark.turns(2)
@pytest.mark.parametrize("first", range(0, 40, BATCH))
def test_random_programs_of_strings_members_and_none(first: int) -> None:
    refused = 0
    for seed in range(first, first + BATCH):
        program = generate_labelled(seed)
        with run_of(seed).forced():
            outcome = check_program(program, numba=seed % 10 == 0, count=24, deep=6, stages=seed % 4 == 0)
        assert not outcome.failures, f"seed {seed}: {outcome.failures[0]}\n{program.source}"
        refused += bool(outcome.refusal)
    assert refused <= 4


@functools.cache
def programs_of_numpy() -> list[Program]:
    return [program for program in map(generate, range(600)) if any(f"np.{name}(" in program.source for name in NUMPY)][:50]


@pytest.mark.turns(10)
@pytest.mark.parametrize("first", range(0, 50, 5))
def test_numpys_functions_on_both_targets_in_both_kinds_of_mathematics(first: int) -> None:
    some = programs_of_numpy()[first : first + 5]
    assert len(some) == 5
    for program in some:
        with run_of(program.seed).forced():
            outcome = check_program(program, numba=True, stages=False)
        assert not outcome.failures, f"seed {program.seed}: {outcome.failures[0]}\n{program.source}"


@settings(max_examples=15, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_programs_drawn_by_hypothesis(program: Program) -> None:
    outcome = check_program(program, count=20, deep=4)
    assert not outcome.failures, f"{outcome.failures[0]}\n{program.source}"


def test_inputs_lie_in_memory_in_every_way() -> None:
    drawn = [storage for seed in range(300) for storage in storages(generate(seed))]
    assert {storage.dtype for storage in drawn} == {np.dtype(dtype) for dtypes in DTYPES.values() for dtype in dtypes}
    assert {storage.layout for storage in drawn} == set(LAYOUTS)
    columns = [storage.array(storage.holds([3, 0, 1])) for storage in drawn]
    assert {column.flags.aligned for column in columns} == {column.flags.writeable for column in columns} == {True, False}
    assert {column.strides[0] // column.itemsize for column in columns} >= {-1, 0, 1, 2, 3}


def test_a_seed_gives_the_same_program() -> None:
    assert [generate(7), generate(8)] == [generate(7), generate(8)]
    assert generate(7).source != generate(8).source


CONSTRUCTS = ("if ", "elif ", "else:", "for ", "while ", "break", "continue", "return ", "raise ", "assert ", "lambda ", " and ",
              " or ", "not ", " if ", "enumerate(", "zip(", "reversed(", "range(", "divmod(", "round(", "min(", "math.sqrt(", "**",
              "try:", "except ", "match ", "case ", "//", "%", "<<", ">>", "~", "*vs", ":=", "+=", " in (", "xs[", "def inner", "lambda e", "math.sin(", "np.tanh(", "np.power(", "FTAB[", "_ret")


@functools.cache
def many_programs() -> str:
    return "".join(generate(seed).source for seed in range(300))


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_the_generator_uses_every_construct(construct: str) -> None:
    assert construct in many_programs()


def test_candidates_of_the_shrinker_are_programs() -> None:
    source = min((generate(seed).source for seed in range(20)), key=len)
    found = list(candidates(source))
    assert len(found) > 50
    assert all(compile(text, "candidate", "exec") for text in found if text.strip())


def test_the_shrinker_keeps_what_the_failure_needs() -> None:
    program = next(p for p in map(generate, range(100)) if "math.sqrt(abs(" in p.source and len(p.source) > 1500)
    found = Failure("pretended", "uses a root")

    def fails(candidate: Program) -> Failure | None:
        return found if "math.sqrt(abs(" in candidate.source else None

    smaller, _ = minimise(program, found, fails, checks=2000)
    assert smaller.source.count("\n") <= 4


FOUND: dict[str, Program] = {
    "the sign of a nan that arithmetic made": Program(
        "import math\ndef main(x):\n    return math.copysign(2.0, -x + 0.0)\n", ("f",)),
    "the smallest int as a result": Program("def main(x):\n    return -9223372036854775808\n", ("f",)),
    "a handler of another kind behind fmod": Program(
        "import math\ndef main(u):\n    try:\n        u = math.fmod(u, 3.0)\n        return True\n    except ValueError:\n"
        "        return 7\n", ("f",)),
    "a constant beyond 2**53 where other lanes return floats": Program(
        "def main(x):\n    if x >= 0.1:\n        return x\n    return 9007199254740993\n", ("f",)),
    "a path that returns nothing": Program("def main(x):\n    if x >= 0.1:\n        return x\n", ("f",)),
}
"""Programs on which an earlier version was wrong: name -> program."""


@pytest.mark.parametrize("name", FOUND)
def test_programs_that_were_once_wrong(name: str) -> None:
    outcome = check_program(FOUND[name], numba=True)
    assert not outcome.failures, outcome.failures[0]
    assert not outcome.refusal
