"""target="dataflow": every lane through the token simulator, faults by replay."""

from __future__ import annotations

import colorsys
import math

import numpy as np
import pytest

import pyflat


def gcd(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return a


def quotient(a: float, b: float) -> float:
    if a > 0.0:
        return a / b
    return -a


def shift(n: int) -> int:
    return (n << 40) % 1000


def test_a_loop_runs_in_every_lane():
    assert pyflat.twin(gcd, target="dataflow")(np.array([48, 7, 0]), np.array([18, 0, 5])).tolist() == [6, 7, 5]


def test_a_function_of_the_standard_library():
    rows = [(0.2, 0.4, 0.9), (0.5, 0.5, 0.5), (1.0, 0.0, 0.25)]
    hues = pyflat.twin(colorsys.rgb_to_hsv).to("dataflow")(*np.array(rows).T)
    assert list(zip(*(h.tolist() for h in hues), strict=True)) == [colorsys.rgb_to_hsv(*row) for row in rows]


def test_a_failing_lane_raises_pythons_error():
    twin = pyflat.twin(quotient, target="dataflow")
    assert twin(np.array([1.0, -3.0]), np.array([2.0, 0.0])).tolist() == [0.5, 3.0]
    with pytest.raises(ZeroDivisionError, match="division by zero") as caught:
        twin(np.array([1.0, 1.0]), np.array([2.0, 0.0]))
    assert "lane 1" in caught.value.__notes__[0]


def test_ints_are_pythons_between_the_nodes():
    assert pyflat.twin(shift, target="dataflow")(np.array([2**40 + 1])).tolist() == [shift(2**40 + 1)]


def test_no_lanes():
    assert pyflat.twin(math_root, target="dataflow")(np.empty(0)).dtype == np.float64


def math_root(x: float) -> float:
    return math.sqrt(x)
