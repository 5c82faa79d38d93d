"""What error bounds take for granted about fast functions, on this machine: the distance from CPython's values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pyflat.functions import lanes, vmath
from pyflat.ir.shape import Leaf
from pyflat.ir.types import FLOAT
from pyflat.passes.accuracy.fast_functions import UNDERFLOWS, inexact_results
from pyflat.runtime import compiled
from pyflat.runtime.settings import resolve, settings
from pyflat.targets.numba.costs import VECTOR_MATH
from pyflat.targets.numpy.costs import NUMPY_MATH

COUNT = 20_000
REACH = {"exp": 745.0, "exp2": 1074.0, "expm1": 709.0, "sinh": 710.0, "cosh": 710.0, "erf": 6.0, "erfc": 27.0, "tanh": 20.0}
INSIDE_ONE = ("asin", "acos", "atanh")
POSITIVE = ("log", "log2", "log10", "pow")


def operands(name: str) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(7)
    magnitudes = np.exp(rng.uniform(-690, 690, COUNT)) * rng.choice((-1.0, 1.0), COUNT)
    reach = REACH.get(name, 1e6)
    spread = [rng.uniform(-reach, reach, COUNT), rng.uniform(-1, 1, COUNT), 1 + rng.uniform(-1e-6, 1e-6, COUNT),
              np.arange(-500, 500) * np.pi / 2, np.arange(-1000.0, 1000.0) / 8]
    if name in INSIDE_ONE:
        return np.clip(np.concatenate([spread[1], 1 - np.exp(rng.uniform(-36, 0, COUNT))]), -1 + 2**-50, 1 - 2**-50)
    found = np.concatenate([magnitudes, *spread])
    if name in POSITIVE:
        return np.abs(found) + 5e-324
    if name == "acosh":
        return 1.0 + np.abs(found)
    return np.maximum(found, -1 + 2**-53) if name == "log1p" else found


def function(target: str, name: str) -> Callable[..., Any]:
    if target == "numpy":
        ufunc = {"powers": "power"}.get(NUMPY_MATH[name].opcode[3:], NUMPY_MATH[name].opcode[3:])
        return getattr(np, ufunc)
    return lambda *args: vmath.evaluate(name, *args)


CASES = [(target, name) for target, table in (("numpy", NUMPY_MATH), ("numba", VECTOR_MATH)) for name in table]
TABLES = {"numpy": NUMPY_MATH, "numba": VECTOR_MATH}


@pytest.mark.parametrize(("target", "name"), CASES)
def test_the_distance_from_the_librarys_value_is_as_the_table_says(target, name):
    x = operands(name)
    args = (x, np.resize(np.linspace(-40.25, 40.0, 1013), len(x))) if name in ("pow", "atan2") else (x,)
    with np.errstate(all="ignore"):
        ours, exact = function(target, name)(*args), getattr(lanes, name)(*args)
        both = np.isfinite(ours) & np.isfinite(exact)
        assert (np.isfinite(ours) == np.isfinite(exact)).all()
        distance = np.abs(ours - exact) / np.spacing(np.abs(exact))
    assert distance[both].max() <= TABLES[target][name].ulps
    assert (np.signbit(ours) == np.signbit(exact))[both].all()


@pytest.mark.parametrize(("target", "name"), [case for case in CASES if case[1] not in (*UNDERFLOWS, "pow", "atan2", "cbrt")])
def test_tiny_operands_give_the_librarys_bits(target, name):
    """There an ulp is no relative error, so that the bounds of these functions leave no room."""
    x = np.exp2(np.arange(-1074.0, -900.0)) * np.array([[1.0], [-1.0], [1.25], [-1.75]])
    x = np.concatenate([x.ravel(), [0.0, -0.0]])
    x = np.abs(x) if name in ("log", "log2", "log10") else x
    with np.errstate(all="ignore"):
        ours, exact = function(target, name)(x), getattr(lanes, name)(x)
    tiny = np.abs(exact) < 2.0**-900
    assert (ours[tiny] == exact[tiny]).all()


@pytest.mark.parametrize(("target", "name"), [case for case in CASES if case[1] in ("log", "log2", "log10")])
def test_the_logarithm_of_one_is_zero(target, name):
    assert function(target, name)(np.ones(8)).tolist() == [0.0] * 8


def test_results_are_inexact_where_a_fast_function_goes_into_them():
    """Not NumPy's functions, not decisions; also by way of a loop."""

    def many(x: float):
        turns, grown, counted = 0, np.tanh(x), 0.0
        while grown < 3.0 and turns < 5:
            grown, counted, turns = grown + math.exp(x), counted + 1.0, turns + 1
        large = math.exp(x) > 1.0
        return np.tanh(x), math.exp(x), grown, counted, turns, large, 2.0 if large else 3.0, math.sqrt(math.log(x))

    options = resolve(settings({"target": "numba", "math": "libm", "max_unroll": 2}))
    flat = compiled.flatten(many, {"x": Leaf(FLOAT)}, options).flat
    assert flat.form == "masked"
    assert inexact_results(flat) == [False, True, True, False, False, False, False, True]
