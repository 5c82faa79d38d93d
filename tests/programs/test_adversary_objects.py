"""What people return and hold, as a language lawyer would try it: labels, ints, classes, effects, containers, wrappers.

As `test_adversary.py`, with strings by lane and results that are objects, whose lanes are compared by class and text.
"""

from __future__ import annotations

import inspect
import itertools
import math
import random
import warnings
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

import pyflat
from pyflat.testing import lane_of
from tests.programs.test_adversary import FLOATS, INTS, cases
from tests.support.adversary import classes, containers, decorators, effects, returned, whole_numbers, wrappers
from tests.support.twins import outcome

STRINGS = ("a", "b", "A", "", "C", "F", "K", "kg", "low", "high", "é", "a ", "None", "1")
GRIDS: dict[str, tuple[Any, ...]] = {
    "float": (*FLOATS, 10.0, 99.5), "int": (*INTS, 6, 12, 255), "bool": (False, True), "str": STRINGS,
    "small": tuple(range(-2, 7))}
DTYPES = {"float": np.float64, "int": np.int64, "small": np.int64}
MOST = 220
MODULES = (returned, whole_numbers, classes, effects, containers, decorators, wrappers)


def columns_of(fn: Callable[..., Any]) -> list[np.ndarray]:
    kinds = [p.annotation for p in inspect.signature(fn).parameters.values() if p.default is p.empty]
    rows = list(itertools.product(*(GRIDS[kind] for kind in kinds)))
    rows = rows if len(rows) <= MOST else random.Random(7).sample(rows, MOST)
    return [np.array([row[i] for row in rows], DTYPES.get(kind)) for i, kind in enumerate(kinds)]


def shown(value: Any) -> Any:
    """A value by its class and text, containers by their items."""
    if isinstance(value, tuple | list):
        return type(value), tuple(map(shown, value))
    if isinstance(value, np.ndarray):
        return value.dtype, shown(value.tolist())
    if is_dataclass(value):
        return type(value), tuple(shown(getattr(value, each.name)) for each in fields(value))
    return type(value), repr(value)


def agrees(expected: Any, got: Any) -> bool:
    """Exactly, or as the kind that the lanes of a result have together: bools among ints, ints among floats."""
    if isinstance(expected, np.generic):  # an array of results has NumPy's numbers anyway
        expected = expected.item()
    if isinstance(expected, tuple | list):
        return type(got) is type(expected) and len(got) == len(expected) and all(map(agrees, expected, got))
    if isinstance(expected, int) and type(got) is float:
        return float(expected) == got if abs(expected) < 2**1023 else math.isinf(got)
    if isinstance(expected, int) and type(got) is int:  # a member of an IntEnum among ints
        return expected == got
    return shown(expected) == shown(got)


def agree(fn: Callable[..., Any], target: str) -> None:
    columns = columns_of(fn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pyflat.PerformanceWarning)
        warnings.simplefilter("ignore", pyflat.LaneWarning)
        result, faults = pyflat.twin(fn, target=target, errors="mask", none="object")(*columns)
    for lane in range(len(columns[0])):
        row = tuple(column.item(lane) for column in columns)  # numbers of their own: nan is not the same object twice
        with np.errstate(all="ignore"):
            what, expected = outcome(fn, row)
        fault = faults[lane]
        if what == "raises":
            assert fault and fault.type is expected[0], f"{row}: the original raises {expected}, the twin {fault!r}"
        elif not (fault and fault.type is pyflat.LaneError):
            assert not fault, f"{row}: the original returns {expected!r}, the twin raises {fault.exception()!r}"
            got = lane_of(result, lane, len(columns[0]))
            assert agrees(expected, got), f"{row}: the original returns {expected!r}, the twin {got!r}"


@pytest.mark.parametrize("fn", cases(*MODULES))
def test_numpy_agrees(fn: Callable[..., Any]) -> None:
    agree(fn, "numpy")


@pytest.mark.parametrize("fn", cases(*MODULES))
def test_numba_agrees(fn: Callable[..., Any]) -> None:
    agree(fn, "numba")


@pytest.mark.parametrize("fn", cases(*MODULES, prefix="refused_"))
def test_refused(fn: Callable[..., Any]) -> None:
    """With a code, or by name of the arguments."""
    columns = columns_of(fn)
    with pytest.raises((pyflat.FlattenError, ValueError), match=r"\[flatten/|the arguments '"):
        pyflat.twin(fn, errors="mask", none="object")(*columns)
