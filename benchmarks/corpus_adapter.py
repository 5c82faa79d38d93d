"""Adapter for the corpus harness: scores pyflat on real functions of published packages.

    python run_corpus.py -a benchmarks/corpus_adapter.py          # PYFLAT_TARGET=numba for the other engine

A refusal is a FlattenError, which the harness recognises by its name. `with_errors` says which lanes raise: the batch
is split until every part either returns or is one lane.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pyflat

Array = np.ndarray[Any, Any]
Column = Array | tuple[Any, ...]
NONE_AS_NAN = False
MAX_BY_KIND = 4096
"""Lanes of a call up to which single lanes are asked for their kind; longer calls are for timing."""


class Twin:
    """The twin of one corpus entry, called positionally with the columns of its varying arguments."""

    def __init__(self, fn: Callable[..., Any], args: Sequence[str], static: Mapping[str, Any]):
        target = os.environ.get("PYFLAT_TARGET", "numpy")
        self.twin = pyflat.twin(fn, target=target, static=tuple(static), math="exact")
        self.args = tuple(args)
        self.static = dict(static)

    def __call__(self, *columns: Column) -> Any:
        result = self._call(columns)
        return self._by_kind(result, columns) if length(columns) <= MAX_BY_KIND else result

    def _call(self, columns: Sequence[Any]) -> Any:
        return self.twin(**dict(zip(self.args, columns, strict=True)), **self.static)

    def _by_kind(self, result: Any, columns: Sequence[Column], path: tuple[int, ...] = ()) -> Any:
        """Arrays of complex numbers as objects, which the harness compares by kind: where the imaginary part is zero,
        a call with this lane alone says whether it is a float."""
        if isinstance(result, tuple | list):
            return type(result)(self._by_kind(item, columns, (*path, i)) for i, item in enumerate(result)) \
                if type(result) in (tuple, list) else result
        if not (isinstance(result, np.ndarray) and result.dtype.kind == "c" and (result.imag == 0.0).any()):
            return result
        lanes = result.astype(object)
        for lane in np.flatnonzero(result.imag == 0.0):
            one = self._call([scalar(column, lane) for column in columns])
            for step in path:
                one = one[step]
            lanes[lane] = one
        return lanes

    def with_errors(self, *columns: Column) -> tuple[Any, Array]:
        """Per-lane results as an object array (nan where the original raises), and the mask of raising lanes."""
        n = length(columns)
        values = np.full(n, np.nan, dtype=object)
        raising = np.zeros(n, dtype=bool)
        self._fill(columns, 0, n, values, raising)
        return values, raising

    def _fill(self, columns: Sequence[Column], start: int, stop: int, values: Array, raising: Array) -> None:
        """Results of the lanes start to stop; a part that raises is halved."""
        if start == stop:
            return
        try:
            result = self(*(part(c, start, stop) for c in columns))
        except pyflat.FlattenError:
            raise
        except Exception:  # noqa: BLE001 - whatever the original raises
            if stop - start == 1:
                raising[start] = True
                return
            middle = (start + stop) // 2
            self._fill(columns, start, middle, values, raising)
            self._fill(columns, middle, stop, values, raising)
            return
        for lane in range(start, stop):
            values[lane] = lane_value(result, lane - start)


def length(columns: Sequence[Column]) -> int:
    first = columns[0]
    return length(first) if isinstance(first, tuple) else len(first)


def scalar(column: Column, lane: int) -> Any:
    return tuple(scalar(c, lane) for c in column) if isinstance(column, tuple) else column[lane].item()


def part(column: Column, start: int, stop: int) -> Column:
    if isinstance(column, tuple):
        return tuple(part(c, start, stop) for c in column)
    return column[start:stop]


def lane_value(result: Any, lane: int) -> Any:
    if isinstance(result, tuple | list):
        return tuple(lane_value(item, lane) for item in result)
    return result[lane] if isinstance(result, np.ndarray) and result.ndim else result


def flatten(
    fn: Callable[..., Any], *, args: Sequence[str], static: Mapping[str, Any], types: Mapping[str, Any]
) -> Twin:
    """The harness calls this; `types` is not needed, the columns' dtypes say it."""
    del types
    return Twin(fn, args, static)
