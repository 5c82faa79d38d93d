"""Comparing a twin with its original over a grid of edge lanes."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

import pyflat
from pyflat.testing import in_kind, lane_of, same_bits

FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 0.75, 1.5, 2.0, 2.5, -2.5, 3.0, 4.0, 10.0, -7.0, 5e-324, 1e300, 2.0**53,
          math.inf, -math.inf, math.nan)
INTS = (0, 1, -1, 2, 3, -3, 4, 5, 7, 10, -10, 100, 2**31, 2**53 + 1, 2**63 - 1, -(2**63))
BOOLS = (False, True)
PARTS = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 5e-324, 1e-160, 1e200, 710.0, math.inf, -math.inf, math.nan)
COMPLEX = tuple(complex(x, y) for x in PARTS for y in PARTS)
GRIDS: dict[str, tuple[Any, ...]] = {"f": FLOATS, "i": INTS, "b": BOOLS, "c": COMPLEX}
DTYPES = {"f": np.float64, "i": np.int64, "b": np.bool_, "c": np.complex128}
MOST = 600


def grid(kinds: str) -> list[tuple[Any, ...]]:
    """All combinations of edge values, or a fixed random part of them."""
    rows = list(itertools.product(*(GRIDS[k] for k in kinds)))
    return rows if len(rows) <= MOST else Random(kinds).sample(rows, MOST)


def outcome(fn: Callable[..., Any], args: Sequence[Any]) -> tuple[str, Any]:
    """("returns", value) or ("raises", type and message)."""
    try:
        return "returns", fn(*args)
    except Exception as error:  # noqa: BLE001 - the exception is what is compared
        return "raises", (type(error), str(error))


def held(what: tuple[str, Any]) -> tuple[str, Any]:
    """What the twin is to do where the original does this: an int beyond 64 bits is an error of pyflat's."""
    values = what[1] if isinstance(what[1], tuple) else (what[1],)
    large = any(isinstance(v, int) and not -(2**63) <= v < 2**63 for v in values)
    return ("raises", (pyflat.LaneError, None)) if what[0] == "returns" and large else what


def same_error(got: tuple[str, Any], expected: tuple[str, Any]) -> bool:
    return got == expected or (expected[1][1] is None and got[0] == "raises" and got[1][0] is expected[1][0])


def columns(rows: Sequence[Sequence[Any]], kinds: str) -> list[np.ndarray[Any, Any]]:
    return [np.array([row[i] for row in rows], dtype=DTYPES[kind]) for i, kind in enumerate(kinds)]


def agree(
    fn: Callable[..., Any], kinds: str, *, target: str = "numpy", rows: Sequence[Sequence[Any]] | None = None, **options: Any
) -> Any:
    """Assert that the twin of `fn` does in every lane what `fn` does; returns the twin.

    kinds: one letter for each argument (f, i, b, c). Lanes in which the original raises are asked one by one; so are
    those in which it returns an int that no lane holds, which must raise LaneError.
    """
    twin = pyflat.twin(fn, target=target, **options)
    lanes = list(rows) if rows is not None else grid(kinds)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arrays = columns(lanes, kinds)
        expected = [held(outcome(fn, [a[i].item() for a in arrays])) for i in range(len(lanes))]  # two nan are two objects
        clean = [i for i, (what, _) in enumerate(expected) if what == "returns"]
        result = twin(*columns([lanes[i] for i in clean], kinds)) if clean else None
        for place, i in enumerate(clean):
            value = lane_of(result, place, len(clean))
            assert same_bits(in_kind(expected[i][1], value, result), value), f"{lanes[i]}: {expected[i][1]!r} but the twin {value!r}"
        failing = [i for i, (what, _) in enumerate(expected) if what == "raises"]
        for i in failing[:20]:
            assert same_error(outcome(twin, columns([lanes[i]], kinds)), expected[i]), f"{lanes[i]}: {expected[i]}"
        if failing:
            assert same_error(outcome(twin, columns(lanes, kinds)), expected[failing[0]])
    return twin


def refused(fn: Callable[..., Any], *values: Any, **options: Any) -> pyflat.FlattenError:
    """The refusal that flattening `fn` for these arguments gives."""
    with pytest.raises(pyflat.FlattenError) as caught:
        pyflat.twin(fn, **options)(*values)
    return caught.value
