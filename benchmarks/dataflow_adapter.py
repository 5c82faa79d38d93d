"""Adapter for the corpus harness: runs real functions of published packages token by token, one lane at a time.

    python run_corpus.py -a benchmarks/dataflow_adapter.py --samples 20

Slow on purpose: each lane is a simulation, and a run that leaves a token, misses its done token or finds a node not
at rest counts as a crash. A function with a lane that only the original can run counts as refused.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pyflat.inspection import dataflow

seeds = itertools.count(1)


class Declined(Exception):
    """A lane that raises, or that only the original can run: it warns, handles an error, or no lane holds a value."""


class LeftOver(AssertionError):
    """A run that is not clean: a bug of the dataflow target."""


REFUSALS = (Declined,)


class Twin:
    """One corpus entry; lowered once for each tuple of argument kinds."""

    def __init__(self, fn: Callable[..., Any], args: Sequence[str], static: Mapping[str, Any]):
        self.fn, self.args, self.static = fn, tuple(args), dict(static)
        self.programs: dict[tuple[str, ...], dataflow.Program] = {}

    def __call__(self, *columns: Any) -> Any:
        lanes = [self.lane(lane) for lane in zip(*map(rows_of, columns), strict=True)]
        found = np.empty(len(lanes), dtype=object)
        found[:] = lanes
        return found

    def lane(self, values: tuple[Any, ...]) -> Any:
        keywords = dict(zip(self.args, values, strict=True))
        key = tuple(map(repr, map(kinds_of, values)))
        if key not in self.programs:
            self.programs[key] = dataflow.lower(self.fn, (), {**keywords, **self.static}, static=self.static)
        program = self.programs[key]
        leaves: list[Any] = []
        for value in values:
            dataflow.shape_of(value, leaves)
        report = program.run(leaves, seed=next(seeds))
        if report.fault is not None:
            raise Declined(str(report.fault))
        if not report.clean:
            raise LeftOver("; ".join(report.problems()))
        return program.value(report)


def kinds_of(value: Any) -> Any:
    return tuple(map(kinds_of, value)) if isinstance(value, tuple) else type(value).__name__


def rows_of(column: Any) -> list[Any]:
    """The lanes of a column as Python numbers; of a tuple of columns, tuples of them."""
    if isinstance(column, tuple):
        return list(zip(*map(rows_of, column), strict=True))
    found: list[Any] = column.tolist()
    return found


def flatten(
    fn: Callable[..., Any], *, args: Sequence[str], static: Mapping[str, Any], types: Mapping[str, Any]
) -> Twin:
    """The harness calls this. A lane of ones is lowered at once, to be refused before anything runs."""
    twin = Twin(fn, args, static)
    ones = {name: _one(types[name]) for name in args}
    dataflow.lower(fn, (), {**ones, **static}, static=static)
    return twin


def _one(kind: Any) -> Any:
    return tuple(map(_one, kind)) if isinstance(kind, tuple) else kind(1)
