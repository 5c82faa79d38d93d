"""What the benchmark of other people's functions compares, takes from docstrings, and says."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.real_functions import Case, Result, different_lanes, measure, summary
from benchmarks.real_sample import Chosen, chosen_cases, example
from benchmarks.real_taxes import tax_functions


def scaled(x, y=2.0, method=None):
    """x times y.

    >>> scaled("three")
    'no numbers'
    >>> scaled(
    ...     3, y=-1.5)
    -4.5
    """
    return x * y


def undocumented(x):
    return x


def test_the_first_example_with_numbers_only():
    assert example(scaled, {"x": "float", "y": "float"}) == {"x": 3.0, "y": -1.5}
    assert example(scaled, {"x": "int", "y": "float"}) == {"x": 3, "y": -1.5}
    assert example(scaled, {"x": "float"}) is None, "the survey knows no kind for y"
    assert example(undocumented, {"x": "float"}) is None


def test_columns_lie_around_the_numbers_and_ints_stay_ints():
    columns = Chosen(__name__, "scaled", {"x": 100, "y": -1.5}, 0.1).columns(500)
    assert columns["x"].dtype == np.int64
    assert columns["x"].min() >= 90
    assert columns["x"].max() <= 110
    assert columns["y"].min() >= -1.65
    assert columns["y"].max() <= -1.35


def test_lanes_differ_in_a_bit():
    one, other = np.array([0.0, math.nan, 1.0]), np.array([-0.0, -math.nan, 1.0])
    assert different_lanes([one], [other]) == 1
    assert different_lanes([one, one], [one, other]) == 1
    assert different_lanes([np.array([1.0, 3.0])], [np.array([1, 2], np.int32)]) == 1


@pytest.mark.parametrize("form", ["positional", "keyword"])
def test_both_contenders_of_a_case_compute_the_function(form):
    chosen = Chosen(__name__, "scaled", {"x": 3.0, "y": -1.5}, 0.5)
    (case,) = chosen_cases(chosen, ((300, form),))
    columns = chosen.columns(300)
    assert (case.lanes, case.form, case.original) == (300, form, True)
    for run in (case.twin, case.loop):
        assert run()[0].tolist() == (columns["x"] * columns["y"]).tolist()


def test_a_result_that_differs_is_told():
    case = Case("f", "positional", 3, lambda: (np.zeros(3),), lambda: (np.array([0.0, 1.0, 0.0]),))
    assert measure(case, 1, 0.01).different == 1


def test_the_table_counts_and_names():
    results = [Result("f", "positional", 10, 1.0, 4.0, 0, True), Result("g", "positional", 10, 2.0, 1.0, 3, False)]
    text = summary(results)
    assert "1.41" in text, "the geomean of 4 and 0.5"
    assert "| positional |    10 |         2 |    1.41 |          1 |               1 |          1 of 2 |" in text
    assert text.index("g 0.50") < text.index("f 4.00")


def test_functions_that_a_decorator_keeps():
    def iterate(func):
        applied_jitted_f, in_args, all_out_args = (lambda out, x: None), ["x"], ["out"]

        def wrapper():
            return func, applied_jitted_f, in_args, all_out_args

        return wrapper

    module = SimpleNamespace(f=iterate(scaled), g=scaled, n=3)
    assert tax_functions(module)["f"].original is scaled
    assert list(tax_functions(module)) == ["f"]
