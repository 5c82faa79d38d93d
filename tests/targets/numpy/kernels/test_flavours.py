"""Python's floats and NumPy's on the NumPy target: they warn and raise at other things, and are other numbers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pyflat
from tests.generator.kernels.differential import bits


def division_of_python(a, y):
    return 1.0 / float(a[0])


def power_of_python(a, y):
    return float(a[0]) ** -1.0


def narrow_argument(a, y):
    y += a[0]
    return y


def ints_make_floats_numpy(a, y):
    for i in range(len(a)):
        y = y * (a[i] * y)
    return y


def quotient_of_either(a, y):
    for i in range(len(a)):
        y = y * a[i]
        y = y // 3
    return y


def power_of_numpy(a, y):
    return a[0] ** 2.0 * 1e300 * 1e300


CASES = [
    (division_of_python, np.zeros(1), 0.0), (division_of_python, np.zeros(1, np.float32), 0.0),
    (power_of_python, np.zeros(1), 0.0), (narrow_argument, np.ones(1, np.int64), np.float32(0.1)),
    (narrow_argument, np.ones(1, np.uint8), np.int8(100)), (narrow_argument, np.ones(1), np.bool_(True)),
    (ints_make_floats_numpy, np.array([8, 9, -4] * 9), 2.0), (quotient_of_either, np.full(3, 1e200), 1e200),
    (quotient_of_either, np.full(3, 1 << 40), 1e300), (power_of_numpy, np.array([1e5]), 0.0),
]


@pytest.mark.parametrize("how", ["warn", "ignore", "raise"])
@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize(("function", "array", "number"), CASES)
def test_a_float_is_whose_it_is(function, array, number, target, how):
    if target == "numba":
        pytest.importorskip("llvmlite")
    seen = []
    for each in (function, pyflat.flatten(target=target)(function).flat):
        with np.errstate(all=how), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = bits(each(array.copy(), number))
            except ArithmeticError as error:
                found = type(error), str(error)
        seen.append((found, [str(warning.message) for warning in caught]))
    assert seen[0] == seen[1]
