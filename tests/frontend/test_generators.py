"""Generator functions: what is refused, and random programs. (What is flattened: `constructs.generators`.)"""

from __future__ import annotations

import numpy as np
import pytest

import pyflat
from tests.frontend.constructs import generators
from tests.generator import check_program
from tests.generator.generating import generate_generating

REFUSED = {
    generators.REFUSED_sent_to: "send",
    generators.REFUSED_consumed_twice: "used a second time",
    generators.REFUSED_returned: "returns an iterator",
    generators.REFUSED_finally_of_a_broken_loop: "when its consumer stops",
    generators.REFUSED_function_of_a_generator_that_ended: "a generator that has ended",
    generators.REFUSED_rows_one_by_one: "used a second time",
    generators.REFUSED_argument_that_changes: "used a second time",
    generators.REFUSED_at_other_places_by_lane: "used a second time",
    generators.REFUSED_more_than_were_made: "more than 32 items",
    generators.REFUSED_zip_that_may_see: "one by one here",
}


@pytest.mark.parametrize("fn", REFUSED, ids=lambda fn: fn.__name__)
def test_refusals_say_where_and_what_helps(fn):
    with pytest.raises(pyflat.FlattenError, match=REFUSED[fn]) as caught:
        pyflat.twin(fn)(np.array([1.5, 3.0]))
    assert caught.value.diagnostic.span is not None
    assert caught.value.diagnostic.help


def delegating(x):
    return sum(outer(x))


def outer(x):
    got = yield from inner(x)
    yield got * 2.0


def inner(x):
    yield x
    return x + 1.0


def endless(x):
    total = 0.0
    for v in halves_for_ever(x):
        if not abs(v) > 1.0:
            break
        total += v
    return total


def halves_for_ever(x):
    while True:
        yield x
        x *= 0.5


def helped(x):
    total = total_of(v * 2.0 for v in inner(x))
    return total + total_of(i * x for i in range(int(x)))


def total_of(items):
    total = 0.0
    for v in items:
        total = total * 0.5 + v
    return total


@pytest.mark.parametrize("fn", [delegating, endless, helped])
@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_values(fn, target):
    xs = np.array([0.0, 1.0, 2.5, 7.0])
    got = pyflat.twin(fn, target=target)(xs)
    assert got.tolist() == [fn(float(x)) for x in xs]


@pytest.mark.turns(2)
@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed):
    program = generate_generating(seed)
    outcome = check_program(program, numba=seed % 4 == 1, count=20, stages=seed % 6 == 2)
    assert not outcome.failures, f"{outcome.failures[0]}\n{program.source}"
