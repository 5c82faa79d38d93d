"""Dicts, objects and lists that the paths leave in different shapes: every use of one is refused, never guessed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyflat
from tests.support.twins import agree


class Held:
    def __init__(self, a):
        self.a = a


def a_key_on_one_path(x):
    d = {"a": x}
    if x > 1:
        d["b"] = 1.0
    return d


def a_key_in_an_inner_dict(x):
    d = {"k": {"a": x}}
    if x > 1:
        d["k"]["b"] = 1.0
    return d, 1.0


def a_key_after_a_fault(x):
    d = {"a": x}
    try:
        d["b"] = 1 / x
    except ZeroDivisionError:
        pass
    return d


def an_attribute_on_one_path(x):
    o = Held(x)
    if x > 1:
        o.b = 2.0
    return o


def truth_of_a_dict(x):
    d = {}
    if x > 1:
        d["b"] = 1.0
    return 1.0 if d else 0.0


def negated(x):
    d = {}
    if x > 1:
        d["b"] = 1.0
    return not d


REFUSED = [a_key_on_one_path, a_key_in_an_inner_dict, a_key_after_a_fault, an_attribute_on_one_path]  # fmt: skip


@pytest.mark.parametrize("fn", REFUSED)
def test_it_is_refused(fn: Callable[..., Any]) -> None:
    with pytest.raises(pyflat.FlattenError, match=r"keys|attributes") as caught:
        pyflat.twin(fn)(np.array([2.0, -1.0, 0.0]))
    assert "before the condition" in str(caught.value)


def same_keys(x):
    d = {"a": x, "b": math.nan}
    if x > 1:
        d["b"] = 1.0
    return d


def unused_afterwards(x):
    d = {"a": x}
    if x > 1:
        d["b"] = 1.0
    return x


@pytest.mark.parametrize("fn", [same_keys, unused_afterwards, truth_of_a_dict, negated])
def test_what_is_left_alike_or_not_read_flattens(fn: Callable[..., Any]) -> None:
    agree(fn, "f")
