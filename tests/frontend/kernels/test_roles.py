"""Which parameters are arrays, as a body says."""

from __future__ import annotations

import ast
from itertools import pairwise

import numpy as np
import pytest

import pyflat
from pyflat.frontend import roles


def test_a_helper_is_read_once_for_all_that_is_passed_to_it(monkeypatch):
    text = "def last(a, b, c, d, e):\n    return a[0] + b[0] + c[0] + d[0] + e[0]\n"
    names = ["last", *[f"f{k}" for k in range(5)]]
    for inner, name in pairwise(names):
        text += f"def {name}(a, b, c, d, e):\n    return {inner}(a, b, c, d, e)\n"
    made: dict = {}
    exec(text, made)
    read, body = [], ast.parse(text).body
    bodies = {node.name: node.body for node in body if isinstance(node, ast.FunctionDef)}
    monkeypatch.setattr(roles, "_body", lambda function: read.append(function) or bodies[function.__name__])
    assert set(roles.array_parameters(made["f4"])) == set("abcde")
    assert len(read) == len(names)


def zone(latitude, longitude):
    if isinstance(latitude, np.ndarray):
        latitude = latitude.flat[0]
    if isinstance(longitude, list | np.ndarray):
        longitude = longitude[longitude.size // 2]
    return int((longitude + 180.0) / 6.0) + 1 if latitude < 84.0 else 0


def doubled_or_summed(x):
    if hasattr(x, "__len__") and len(x) > 1:
        return x.sum()
    return 2.0 * x


def walked(x):
    if isinstance(x, np.ndarray):
        return sum(value for value in x)
    elif isinstance(x, int):
        return x + 1
    return x


def chosen(x):
    y = x[0] if isinstance(x, np.ndarray) else x + 1.0
    if not isinstance(x, list | np.ndarray):
        return y
    else:
        return y + len(x)


def either(x):
    if isinstance(x, list) or isinstance(x, np.ndarray):
        return x[-1]
    return 0.0 if not hasattr(x, "shape") or x.ndim == 0 else x.sum()


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", [zone, doubled_or_summed, walked, chosen, either])
def test_functions_that_ask_whether_they_have_a_number_are_functions_of_lanes(fn, target):
    columns = [np.array([1.0, 85.0, -3.5]), np.array([3.0, 100.0, -70.0])][: fn.__code__.co_argcount]
    found = pyflat.twin(fn, target=target)(*columns)
    assert found.tolist() == [fn(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
    assert not roles.array_parameters(fn)


def test_an_array_that_is_used_without_being_asked_for_is_one():
    def total(x, scale):
        if isinstance(scale, np.ndarray):
            scale = scale[0]
        s = 0.0
        if isinstance(x, np.ndarray):
            s = x[0]
        for i in range(len(x)):
            s += scale * x[i]
        return s

    assert list(roles.array_parameters(total)) == ["x"]


def test_a_question_that_need_not_hold_asks_nothing():
    def first(x, n):
        if isinstance(x, np.ndarray) or n > 3:
            return x[n]
        return n

    def second(x, n):
        if not isinstance(x, list) and n < 0:
            return n
        else:
            return len(x)

    assert list(roles.array_parameters(first)) == list(roles.array_parameters(second)) == ["x"]
