"""Captured instances of subclasses of ndarray, int and float, whose operators are not those of their base."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyflat
from tests.support.twins import agree

MATRIX = np.array([[1.0, 2.0], [3.0, 4.0]]).view(np.matrix)
MASKED = np.ma.array([1.0, 2.0], mask=[False, True])
MAPPED = np.array([1.0, 2.0]).view(np.memmap)
NOTHING = np.ma.masked


class Whole(int):
    def __mul__(self, other):
        return 55

    __rmul__ = __mul__

    def __lt__(self, other):
        return True

    __gt__ = __lt__


class Float(float):
    def __add__(self, other):
        return 100.0

    __radd__ = __add__


TWO = Whole(2)
ONE = Float(1.0)


def product_of_matrices(x):
    return ((MATRIX * 2.0) * (MATRIX * x))[0, 0]


def item_of_a_matrix(x):
    return MATRIX[0][0, 1] * x


def masked_item(x):
    return (MASKED * x)[1]


def from_a_default(x, m=MASKED):
    return (m * x)[0]


def at_a_lane(n, m=MASKED):
    return m[n % 2]


def masked_sum(x):
    return sum(MASKED) * x


def masked_constant(x):
    return x if NOTHING is None else -x


REFUSED = [product_of_matrices, item_of_a_matrix, masked_item, from_a_default, masked_sum, masked_constant]


@pytest.mark.parametrize("fn", REFUSED)
def test_arrays_with_their_own_operators_are_refused(fn: Callable[..., Any]) -> None:
    with pytest.raises(pyflat.FlattenError, match="an array that is a numpy"):
        pyflat.twin(fn)(np.array([1.0, -2.0]))


def test_a_masked_table_at_a_lane_is_refused() -> None:
    with pytest.raises(pyflat.FlattenError, match="an array that is a numpy"):
        pyflat.twin(at_a_lane)(np.array([1, 2]))


def mapped_item(x):
    return (MAPPED * x)[1]


def left_int(n):
    return TWO * n, n * TWO


def left_float(x):
    return x + ONE, ONE + x


def float_compared(x):
    return x < TWO, TWO < x, x == TWO, TWO != x


@pytest.mark.parametrize(("fn", "kind"), [(mapped_item, "f"), (left_int, "i"), (left_float, "f"), (float_compared, "f")])
def test_the_subclass_is_asked_where_python_asks_it(fn: Callable[..., Any], kind: str) -> None:
    agree(fn, kind)


def float_before_int(x):
    return x * TWO


def known_before_int(x):
    return x + (2.0 * TWO)


@pytest.mark.parametrize("fn", [float_before_int, known_before_int])
def test_a_number_that_answers_first_is_not_passed_over(fn: Callable[..., Any]) -> None:
    with pytest.raises(pyflat.FlattenError, match="answers __"):
        pyflat.twin(fn)(np.array([1.0, -2.0]))
