"""LLVM is told whether the vectors of a kernel are its own choice, which decides how wide they are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pyflat.functions import ways
from pyflat.targets.numba.library import has_library_vectors
from tests.targets.numba.kernels.planned import code_of
from tests.targets.numba.kernels.test_lanes import assert_agree

needs_vectors = pytest.mark.skipif(not has_library_vectors(), reason="functions are called lane by lane here")

ATTRIBUTE = '"min-legal-vector-width"="0"'


def smoothed(a, b):
    for i in range(1, len(a) - 1):
        b[i] = a[i - 1] + a[i] + a[i + 1]


def waves(a, b):
    for i in range(len(a)):
        b[i] = math.sin(a[i])


def test_a_kernel_without_lanes_leaves_the_width_to_llvm():
    assert ATTRIBUTE in code_of(smoothed, np.ones(9), np.ones(9)).text()


@needs_vectors
def test_a_kernel_with_lanes_keeps_its_registers():
    with ways.forced(kernel_bodies="in place"):
        code = code_of(waves, np.ones(9), np.ones(9))
    assert code.lanes
    assert ATTRIBUTE not in code.text()


def test_values_stay_the_same():
    draw = np.random.default_rng(16).normal(size=203)
    assert_agree(smoothed, lambda: (draw.copy(), np.zeros(203)))
