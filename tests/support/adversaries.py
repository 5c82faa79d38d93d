"""Comparing the twins of adversarial functions with their originals, whose results may be objects.

As in `tests/programs/test_adversary.py`, with strings by lane; the lanes of results are compared by class and text.
A function `case_...` agrees in every lane, or the twin says that it cannot hold the result (`LaneError`); one called
`refused_...` is refused, with the code that its docstring names.
"""

from __future__ import annotations

import inspect
import itertools
import math
import random
import sys
import warnings
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import pyflat
from pyflat.testing import lane_of
from tests.support.twins import outcome

FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.0, 2.5, -2.5, 3.0, -7.0, 1e-17, 5e-324, 1e300, -1e300, 2.0**53,
          2.0**63, math.inf, -math.inf, math.nan)
INTS = (0, 1, -1, 2, -2, 3, -3, 4, 5, 7, -10, 63, 64, 100, 2**31, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63))
STRINGS = ("a", "b", "A", "", "C", "F", "K", "kg", "low", "high", "é", "a ", "None", "1")
GRIDS: dict[str, tuple[Any, ...]] = {
    "float": (*FLOATS, 10.0, 99.5), "int": (*INTS, 6, 12, 255), "bool": (False, True), "str": STRINGS,
    "small": tuple(range(-2, 7))}
DTYPES = {"float": np.float64, "int": np.int64, "small": np.int64}
MOST = 220


def functions(*modules: ModuleType, prefix: str) -> dict[str, Callable[..., Any]]:
    """The functions of modules by "module-name", without the prefix."""
    return {f"{module.__name__.rpartition('.')[2]}-{name.removeprefix(prefix)}": fn
            for module in modules for name, fn in vars(module).items() if name.startswith(prefix)}


def columns_of(fn: Callable[..., Any], most: int = MOST) -> list[np.ndarray]:
    """A column for each parameter without default: a part of the product of the edge values of its kind."""
    kinds = [p.annotation for p in inspect.signature(fn).parameters.values() if p.default is p.empty]
    rows = list(itertools.product(*(GRIDS[kind] for kind in kinds)))
    rows = rows if len(rows) <= most else random.Random(7).sample(rows, most)
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


def original(fn: Callable[..., Any], row: tuple[Any, ...]) -> tuple[str, Any]:
    """What the function does for one lane, with empty caches: 0.0 and -0.0 are one key."""
    for each in vars(sys.modules[fn.__module__]).values():
        if hasattr(each, "cache_clear"):
            each.cache_clear()
    with np.errstate(all="ignore"):
        return outcome(fn, row)


def agree(fn: Callable[..., Any], target: str, most: int = MOST) -> None:
    columns = columns_of(fn, most)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pyflat.PerformanceWarning)
        warnings.simplefilter("ignore", pyflat.LaneWarning)
        result, faults = pyflat.twin(fn, target=target, errors="mask", none="object")(*columns)
    for lane in range(len(columns[0])):
        row = tuple(column.item(lane) for column in columns)  # numbers of their own: nan is not the same object twice
        what, expected = original(fn, row)
        fault = faults[lane]
        if what == "raises":
            assert fault and fault.type is expected[0], f"{row}: the original raises {expected}, the twin {fault!r}"
        elif not (fault and fault.type is pyflat.LaneError):
            assert not fault, f"{row}: the original returns {expected!r}, the twin raises {fault.exception()!r}"
            got = lane_of(result, lane, len(columns[0]))
            assert agrees(expected, got), f"{row}: the original returns {expected!r}, the twin {got!r}"


def refused(fn: Callable[..., Any]) -> None:
    """With the code of the docstring, or by name of the arguments."""
    code = rf"\[{inspect.getdoc(fn) or 'flatten/'}"
    with pytest.raises((pyflat.FlattenError, ValueError), match=rf"{code}|the arguments '"):
        pyflat.twin(fn, errors="mask", none="object")(*columns_of(fn))
