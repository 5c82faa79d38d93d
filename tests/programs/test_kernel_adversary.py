"""Kernels that a language lawyer would write (tests/support/kernels): a twin does what its original does, or is refused.

`refused_` kernels must be refused: they write what belongs to the module. Of the others only those in `REFUSED` may be.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

import pyflat
from tests.generator.kernels.differential import Outcome, compare
from tests.generator.kernels.inputs import Written
from tests.support.kernels import (
    aliasing,
    constants,
    control,
    dtypes,
    functions,
    indices,
    memory,
    order,
    routines,
    wholes,
)

MODULES = (aliasing, constants, control, dtypes, functions, indices, memory, order, routines, wholes)


def cases(prefix: str, *modules: ModuleType) -> list[Any]:
    return [pytest.param(fn, id=f"{module.__name__.rpartition('.')[2]}-{name.removeprefix(prefix)}")
            for module in modules for name, fn in vars(module).items() if name.startswith(prefix)]


def checked(fn: Any, call: Any) -> Outcome:
    """On every set of arguments; the first difference ends it."""
    outcome = Outcome()
    for text in fn.given:
        compare(fn, call, Written(text), outcome)
        if outcome.failures:
            break
    return outcome


@pytest.mark.turns(3)
@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", cases("case_", *MODULES))
def test_the_twin_does_what_the_original_does(fn: Any, target: str) -> None:
    outcome = checked(fn, pyflat.twin(fn).with_options(target=target))
    assert not outcome.failures, str(outcome.failures[0])


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", cases("refused_", *MODULES))
def test_what_must_be_refused(fn: Any, target: str) -> None:
    for text in fn.given:
        with pytest.raises(pyflat.FlattenError):
            pyflat.twin(fn).with_options(target=target)(*Written(text).arguments())


def test_there_are_many() -> None:
    assert len(cases("case_", *MODULES)) >= 200


@pytest.mark.parametrize("fn", cases("case_", *MODULES))
def test_the_original_does_the_same_each_time(fn: Any) -> None:
    outcome = checked(fn, fn)
    assert not outcome.failures and not outcome.slow, str(outcome.failures[:1])
