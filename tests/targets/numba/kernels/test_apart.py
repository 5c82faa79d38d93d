"""What LLVM is told of arrays that share no element, and of those that do."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.numba.kernels.planned import code_of
from tests.targets.numba.kernels.test_lanes import assert_agree


def doubled(a, out):
    for i in range(a.shape[0]):
        out[i] = a[i] * 2.0


def test_accesses_name_their_memory_and_all_others():
    text = code_of(doubled, np.ones(3), np.ones(3)).text()
    marks = [line.partition("!alias.scope")[2] for line in text.splitlines() if "!alias.scope" in line]
    own, others = zip(*(mark.replace("!noalias", "").split(",") for mark in marks), strict=True)
    assert len(set(own)) == len(set(others)) == 2


@pytest.mark.parametrize("gap", [1, 2, 9])
def test_arrays_that_overlap_are_not_taken_for_others(gap):
    """What is written is read again so many elements later."""
    draw = np.random.default_rng(9).normal(size=100)
    assert_agree(doubled, lambda: ((b := draw.copy())[:-gap], b[gap:]))
