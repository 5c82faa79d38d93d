"""What people return and hold, as a language lawyer would try it: labels, ints, classes, effects, containers, wrappers.

As `test_adversary.py`, with strings by lane and results that are objects. The second half of the modules is run in groups,
of which numba takes a part: all of it, over more lanes, is `make adversary`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.programs.test_adversary import cases
from tests.support.adversaries import agree, functions, refused
from tests.support.adversary import (
    asked_to_compare,
    cached,
    captured_state,
    classes,
    containers,
    counters,
    decorators,
    effects,
    jumps_in_finally,
    labels,
    leaving,
    raising,
    returned,
    texts,
    whole_numbers,
    wrapped,
    wrappers,
    written,
)

MODULES = (returned, whole_numbers, classes, effects, containers, decorators, wrappers)
GROUPED = (labels, captured_state, wrapped, leaving, jumps_in_finally, cached, asked_to_compare, raising, texts,
           written, counters)
GROUP = 12


def groups(prefix: str, step: int = 1) -> list[Any]:
    """Functions of one module, a few together."""
    found = []
    for module in GROUPED:
        each = list(functions(module, prefix=prefix).items())[::step]
        for at in range(0, len(each), GROUP):
            found.append(pytest.param([fn for _, fn in each[at:at + GROUP]], id=each[at][0]))
    return found


@pytest.mark.parametrize("fn", cases(*MODULES))
def test_numpy_agrees(fn: Callable[..., Any]) -> None:
    agree(fn, "numpy")


@pytest.mark.parametrize("fn", cases(*MODULES))
def test_numba_agrees(fn: Callable[..., Any]) -> None:
    agree(fn, "numba")


@pytest.mark.parametrize("fn", cases(*MODULES, prefix="refused_"))
def test_refused(fn: Callable[..., Any]) -> None:
    refused(fn)


@pytest.mark.turns(2)
@pytest.mark.parametrize("group", groups("case_"))
def test_groups_agree_on_numpy(group: list[Callable[..., Any]]) -> None:
    for fn in group:
        agree(fn, "numpy", most=60)


@pytest.mark.turns(2)
@pytest.mark.parametrize("group", groups("case_", step=3))
def test_groups_agree_on_numba(group: list[Callable[..., Any]]) -> None:
    for fn in group:
        agree(fn, "numba", most=60)


@pytest.mark.parametrize("group", groups("refused_"))
def test_groups_are_refused(group: list[Callable[..., Any]]) -> None:
    for fn in group:
        refused(fn)
