"""Pairs of values that meet at five places: after an `if`, in a loop, at a return, in the result of a kernel, and in
groups of lanes. Each place takes what the others take, and gives what Python gives."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyflat
from pyflat.frontend.specialise import specialise
from pyflat.ir.print import format_function
from pyflat.ir.shape import Leaf
from pyflat.ir.types import FLOAT
from tests.generator.differential import loaded

HEAD = """
import collections
import enum

class Colour(enum.Enum):
    RED = 1
    BLUE = 2

Point = collections.namedtuple("Point", "u v")
"""
VALUES = {
    "int": "int(x)", "float": "x * 0.5", "bool": "(x > 1.0)", "None": "None", "string": "'low'", "other string": "'high'",
    "text": "f'{int(x)} items'", "pair": "(x, 1.0)", "triple": "(x, 1.0, 2.0)", "list": "[x, 1.0]",
    "dict": "{'a': x}", "other dict": "{'b': x}", "complex": "complex(x, 1.0)", "namedtuple": "Point(x, 1.0)",
    "64 bits": "((int(x) * 6364136223846793005) & 0xFFFFFFFFFFFFFFFF)", "enum": "Colour.RED",
}
PLACES = {
    "return": """
def main(x):
    if x > 1.0:
        return {a}
    return {b}
""",
    "if": """
def main(x):
    if x > 1.0:
        v = {a}
    else:
        v = {b}
    return v
""",
    "loop": """
def main(x):
    v = {a}
    n = int(x)
    while n > 0:
        v = {b}
        n -= 1
    return v
""",
    "kernel": """
def main(x, arr):
    if arr[0] > 1.0:
        return {a}
    return {b}
""",
    "group": """
def main(x, how):
    if how == "one":
        return {a}
    return {b}
""",
}
NUMBERS = [0.0, 0.5, 1.5, 2.0, 3.0]
HOW = ["one", "two", "one", "two", "one"]
REFUSED = {("kernel", "64 bits"): "an int beyond 63 bits in a kernel is a NumPy scalar: np.uint64(...)"}
"""A place and a value, and the reason: 15 pairs of 600."""


def is_same(got: Any, wanted: Any, *, joined: bool) -> bool:
    """An array of numbers has one dtype for all of them (`joined`); whatever else a lane has is what Python gives."""
    if joined and isinstance(wanted, bool | int | float | complex):
        return got == wanted or math.isnan(wanted) and math.isnan(got)
    return type(got) is type(wanted) and repr(got) == repr(wanted)


def run(place: str, fn: Callable[..., Any]) -> list[tuple[Any, Any]]:
    """What the twin gives, and the original; nothing where an int of 64 bits meets floats, which is a LaneError."""
    if place == "kernel":
        twin = pyflat.twin(fn)
        return [(twin(x, np.array([x])), fn(x, np.array([x]))) for x in NUMBERS]
    rest = [np.array(HOW)] if place == "group" else []
    got = pyflat.twin(fn, none="object")(np.array(NUMBERS), *rest)
    columns = zip(NUMBERS, *rest, strict=True)
    return list(zip(got.tolist() if isinstance(got, np.ndarray) else got, itertools.starmap(fn, columns), strict=True))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("a", "b"), list(itertools.combinations(VALUES, 2)))
def test_a_pair_of_values_meets(place, a, b):
    with loaded(HEAD + PLACES[place].format(a=VALUES[a], b=VALUES[b])) as fn:
        if (place, a) in REFUSED or (place, b) in REFUSED:
            with pytest.raises(pyflat.FlattenError):
                run(place, fn)
            return
        try:
            found = run(place, fn)
        except pyflat.LaneError:
            assert {a, b} & {"float", "complex"} and "64 bits" in (a, b)  # an array of floats does not hold the int
            return
    for got, wanted in found:
        assert is_same(got, wanted, joined=place != "kernel"), (got, wanted)


def formats(n, x):
    v = f"{n:>4}"
    while n > 0:
        v = f"{n:03d}" if n % 2 else f"{n}"
        if x > n:
            v = f"{n} of {x:.1f}"
        n -= 2
    return v


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_strings_of_several_formats_meet(target):
    n, x = np.array([0, 1, 2, 5, 6]), np.array([0.5, 0.5, 3.0, 9.0, 0.0])
    assert pyflat.twin(formats, target=target)(n, x).tolist() == list(map(formats, n.tolist(), x.tolist()))


def both_of_one_if(x, y):
    if x > y:
        a, b = 1, y
    else:
        a, b = "low", "high"
    return a < b


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_values_of_one_if_are_split_together(target):
    """1 < "high" would be a TypeError, which no lane asks for."""
    assert "fault" not in format_function(specialise(both_of_one_if, {"x": Leaf(FLOAT), "y": Leaf(FLOAT)}).function)
    x, y = np.array([2.0, 1.0, 3.0]), np.array([1.0, 2.0, 2.0])
    twin = pyflat.twin(both_of_one_if, target=target)
    assert twin(x, y).tolist() == list(map(both_of_one_if, x.tolist(), y.tolist()))
