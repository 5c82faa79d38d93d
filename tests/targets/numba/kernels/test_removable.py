"""Operations that LLVM could leave out though NumPy warns at them, and those that something keeps."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import pyflat
from pyflat.frontend.kernels import specialise_kernel
from pyflat.ir.memory import ArrayArgument
from pyflat.ir.shape import Leaf
from pyflat.ir.types import FLOAT
from pyflat.passes import pipelines
from pyflat.targets.numba.kernels.removable import removable

HUGE = 1e308


def overwritten(a):
    for i in range(len(a)):
        a[i] += a[i]
        a[i] = 1.0


def overwritten_at_once(a):
    a[0] = a[0] * 2.0
    a[0] = 1.0


def overwritten_in_a_short_loop(a):
    for i in range(3):
        a[i] = a[i] * 2.0
    for i in range(3):
        a[i] = 1.0


def last_one_counts(a):
    s = 0.0
    for i in range(len(a)):
        s = a[i] * 2.0
    return s


def last_store_counts(a):
    out = np.zeros(len(a))
    for i in range(len(a)):
        out[0] = a[i] * 2.0
    return out


def needed_in_one_arm(a):
    n = 0
    for i in range(len(a)):
        x = a[i] * 2.0
        if a[i] < 0.0:
            a[i] = x
    return n


def only_compared(a):
    for i in range(len(a)):
        if a[i] * a[i] < 0.0:
            a[i] = 0.0


def never_looked_at(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i] * 2.0
    return 1


def compared_with_itself(a):
    for i in range(len(a)):
        if a[i] + a[i] > a[i] * 2.0:
            a[i] = 1.0


def used_where_nothing_is_less_than_itself(a):
    for i in range(len(a)):
        s = 0.5
        for j in range(len(a)):
            s = s + a[i] * 2.0
        if a[i] < a[i]:
            a[i] = s * 2.0


def left_early(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i] * 2.0
        if i == 1:
            return -1.0
    return s


def summed_for_a_choice(a):
    best = 0.0
    for i in range(2, len(a)):
        s = 0.0
        for j in range(i):
            s += a[j] * 2.0
        best = max(best, s)
    return best if a[0] > 0.5 else 0.0


@pytest.mark.parametrize("function", [overwritten, overwritten_at_once, overwritten_in_a_short_loop, last_one_counts,
                                      last_store_counts, needed_in_one_arm, only_compared, never_looked_at, left_early,
                                      compared_with_itself, used_where_nothing_is_less_than_itself,
                                      summed_for_a_choice])
@pytest.mark.parametrize("target", ["numba", "numpy"])
def test_an_operation_without_a_use_warns(function, target):
    twin = pyflat.flatten(target=target)(function).flat
    for values, count in (([1.0, 2.0, 3.0, 4.0], 0), ([1.0, HUGE, 3.0, 4.0], 1), ([HUGE, 2.0, 3.0, 4.0], 1)):
        found = []
        for each in (function, twin):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                each(np.array(values))
            found.append([str(warning.message) for warning in caught])
        assert found[0] == found[1]
        assert count == 0 or found[0] or function is overwritten_at_once


def _removable(function, *, flat=False, **arguments):
    kernel = specialise_kernel(function, arguments)
    return [op.opcode for op in removable(pipelines.run(kernel.function, pipelines.kernel(kernel)), flat=flat)[0]]


ARRAY, OTHER, NUMBER = ArrayArgument("f8", 1, 0), ArrayArgument("f8", 1, 1), Leaf(FLOAT)


def kept_by_a_store(a, out):
    for i in range(1, len(a)):
        out[i - 1] = (a[i] - a[i - 1]) * 0.5


def kept_by_the_sum(a, out):
    for i in range(len(a)):
        s = 0.0
        for j in range(len(a)):
            s += a[i] * a[j]
        out[i] = s


def kept_by_both_arms(a, out):
    for i in range(1, len(a)):
        if a[0] > 0.0:
            d = a[i] - a[i - 1]
        else:
            d = a[i] + a[i - 1]
        out[i] = d * 2.0


def kept_by_a_later_loop(a, out):
    s = 0.0
    for i in range(len(a)):
        s += a[i]
    for i in range(len(a)):
        out[i] = out[i] / s


@pytest.mark.parametrize("function", [kept_by_a_store, kept_by_the_sum, kept_by_both_arms, kept_by_a_later_loop])
def test_what_is_needed_costs_nothing(function):
    assert _removable(function, a=ARRAY, out=OTHER) == []


def test_a_sum_of_which_one_way_returns_nothing():
    assert "add" in _removable(left_early, a=ARRAY)


def counted_trips(a, out):
    for i in range(len(a)):
        x, n = a[i], 0
        while n < len(out) and x * x < 100.0:
            x = x * x + 1.0
            n += 1
        out[i] = n


def tried_at_all(a, out):
    for i in range(len(a)):
        x, y = a[i], 0.0
        while x * x < 100.0:
            x = x * x + 1.0
            y = 2.0
        out[i] = y


def test_a_flat_function_tests_what_tells_how_long_a_loop_runs():
    assert _removable(counted_trips, a=ARRAY, out=OTHER) != []
    assert _removable(counted_trips, flat=True, a=ARRAY, out=OTHER) == []
    assert "mul" in _removable(tried_at_all, flat=True, a=ARRAY, out=OTHER)


def test_what_a_loop_ends_with_is_kept_instead_of_all_it_adds():
    kernel = specialise_kernel(summed_for_a_choice, {"a": ARRAY})
    ops, ends = removable(pipelines.run(kernel.function, pipelines.kernel(kernel)))
    assert not ops and sorted(end.name for end in ends) == ["best", "s"]


def by_an_element(a, out):
    for i in range(3):
        out[i] = i / a[i]


def by_a_truth(a, out):
    for i in range(len(a)):
        out[i] = np.float64(1.0) / (a[i] > 0)


def by_one_of_two(a, out):
    for i in range(len(a)):
        out[i] = np.float64(1.0) / ((3 if a[i] > 0 else 0) * 2)


def by_nothing(a, out):
    for i in range(len(a)):
        n = int(a[i])
        x = np.float64(1.0) / (n - n)


def by_a_count(a, out):
    for i in range(len(a)):
        n = 0
        for j in range(2):
            if a[j] > 0 and i > 1:
                n = 4
                break
        out[i] = np.float64(1.0) / n


@pytest.mark.parametrize("dtype", [bool, "i4", "f8"])
@pytest.mark.parametrize("function", [by_an_element, by_a_truth, by_one_of_two, by_a_count, by_nothing])
def test_a_quotient_by_one_of_two_numbers_warns(function, dtype):
    wanted = []
    for each in (function, pyflat.twin(function, target="numba")):
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter("always")
            each(np.array([0, 1, 0], dtype), np.zeros(3))
        wanted.append(sorted(str(one.message) for one in shown))
    assert wanted[0]
    assert wanted[0] == wanted[1]


def behind_a_loop_of_numpys(a, b, q):
    for i in range(len(a)):
        x = a[i] / b[i]
    if a[0] >= np.tanh(q):
        x = 1.0
    return len(a)


def test_a_loop_of_numpys_clears_no_flag_that_was_raised_before():
    twin = pyflat.twin(behind_a_loop_of_numpys).with_options(target="numba")
    for _ in range(3):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            twin(np.ones(9), np.array([1.0] * 5 + [0.0] * 4), 2)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert twin(np.ones(9), np.ones(9), 2) == 9
