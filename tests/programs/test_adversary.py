"""What a language lawyer would try: small functions over edge grids, every lane compared with the original.

The functions are in tests/support/adversary, one module per subject; each `case_` function becomes a test. Lanes in
which the original raises must be faults of the same class. A `refused_` function was once flattened to something else.
"""

from __future__ import annotations

import inspect
import itertools
import random
import warnings
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import pyflat
from pyflat.testing import in_kind, lane_of, same_bits
from tests.support.adversaries import FLOATS, INTS
from tests.support.adversary import (
    aliasing,
    builtins_and_math,
    calls,
    exceptions,
    faults_and_loops,
    integers,
    iterators,
    joins,
    kinds,
    laziness,
    numbers,
    objects,
    order_and_scopes,
    sequences,
    statements,
    tables_and_loops,
    views,
)
from tests.support.twins import outcome

GRIDS: dict[str, tuple[Any, ...]] = {"float": FLOATS, "int": INTS, "bool": (False, True)}
DTYPES = {"float": np.float64, "int": np.int64, "bool": np.bool_}
MOST = 300

MODULES = (aliasing, builtins_and_math, calls, exceptions, faults_and_loops, integers, iterators, joins, kinds, laziness, numbers,
           objects, order_and_scopes, sequences, statements, tables_and_loops, views)


def cases(*modules: ModuleType, prefix: str = "case_") -> list[Any]:
    return [pytest.param(fn, id=f"{module.__name__.rpartition('.')[2]}-{name.removeprefix(prefix)}")
            for module in modules for name, fn in vars(module).items() if name.startswith(prefix)]


def lanes_of(fn: Callable[..., Any]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The kinds of the parameters without default, and a part of the product of their edge values."""
    parameters = inspect.signature(fn).parameters.values()
    kinds = [p.annotation for p in parameters if p.default is p.empty]
    rows = list(itertools.product(*(GRIDS[kind] for kind in kinds)))
    return kinds, rows if len(rows) <= MOST else random.Random(len(kinds)).sample(rows, MOST)


def agree(fn: Callable[..., Any], target: str) -> None:
    kinds, rows = lanes_of(fn)
    columns = [np.array([row[i] for row in rows], DTYPES[kind]) for i, kind in enumerate(kinds)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pyflat.PerformanceWarning)
        result, faults = pyflat.twin(fn, target=target, errors="mask")(*columns)
    for lane, row in enumerate(rows):
        fault = faults[lane]
        check(fn, row, lane_of(result, lane, len(rows)), fault.type if fault else None)


def fits(value: Any, like: Any) -> bool:
    """Whether a lane of the kind of `like` can hold what the original returned."""
    if isinstance(like, tuple | list):
        return type(value) is type(like) and len(value) == len(like) and all(map(fits, value, like))
    value = value.item() if isinstance(value, np.generic) else value
    match like:
        case bool():
            return isinstance(value, bool)
        case int():
            return isinstance(value, int) and -(2**63) <= value < 2**63
        case _:
            return isinstance(value, float) or isinstance(value, int) and abs(value) < 2**1023 and float(value) == value


def check(fn: Callable[..., Any], row: Sequence[Any], got: Any, raised: type[Exception] | None) -> None:
    with np.errstate(all="ignore"):
        what, expected = outcome(fn, row)
    if what == "raises":
        assert raised is expected[0], f"{row}: the original raises {expected}, the twin gives {raised or got!r}"
        return
    if raised is pyflat.LaneError:
        assert not fits(expected, got), f"{row}: a lane can hold {expected!r}"
        return
    assert raised is None, f"{row}: the original returns {expected!r}, the twin raises {raised!r}"
    assert same_bits(in_kind(expected, got), got), f"{row}: the original returns {expected!r}, the twin {got!r}"


@pytest.mark.parametrize("fn", cases(*MODULES))
def test_numpy_agrees(fn: Callable[..., Any]) -> None:
    agree(fn, "numpy")


@pytest.mark.parametrize("fn", cases(*MODULES)[::25])
def test_numba_agrees(fn: Callable[..., Any]) -> None:
    agree(fn, "numba")


@pytest.mark.parametrize("fn", cases(*MODULES, prefix="refused_"))
def test_refused(fn: Callable[..., Any]) -> None:
    kinds, rows = lanes_of(fn)
    columns = [np.array([row[i] for row in rows], DTYPES[kind]) for i, kind in enumerate(kinds)]
    with pytest.raises(pyflat.FlattenError):
        pyflat.twin(fn)(*columns)
