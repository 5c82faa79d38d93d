"""Random loops on numba in ways that are forced: which of them runs is else decided by costs, the number of lanes and
a clock."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any
from unittest import mock

import numpy as np

import pyflat
from pyflat.errors import FlattenError
from pyflat.ir.shape import Shape
from pyflat.targets.numba import autotune, compiled_kernel, costs, kernel, lane_regrouping, refill
from pyflat.testing import in_kind, lane_of, same_bits
from tests.generator.differential import _where, loaded, shape_of, time_limit
from tests.generator.lanes import Lane
from tests.generator.looping import columns_of, generate_loops, rows_of
from tests.generator.outcomes import Expected, Failure, Outcome, Raised, Returned, observe, outside
from tests.generator.program import Program
from tests.support.patience import HANG

ALONE = 6
"""Lanes that are computed alone as well."""
NEVER = 1e9


@dataclass(frozen=True)
class Way:
    """How a kernel runs. `arms`: which get a branch, "as they cost", "all" or "none"; `lanes`: "plain", "other" (those
    that are done get the next elements, or lanes wait for each other), "both" (in turns), "few" (a small kernel)."""

    arms: str = "as they cost"
    lanes: str = "plain"
    math: str = "exact"
    errors: str = "mask"

    @contextlib.contextmanager
    def forced(self) -> Iterator[None]:
        """For what is compiled in the block."""
        assumed = {"as they cost": costs.measured(), "all": costs.Costs(branch=0.0, guessed_wrong=0.0, regroup=0.0),
                   "none": costs.Costs(branch=NEVER, guessed_wrong=NEVER)}[self.arms]
        with contextlib.ExitStack() as stack:
            stack.enter_context(costs.assume(assumed))
            for module, name, value in self._patches():
                stack.enter_context(mock.patch.object(module, name, value))
            yield

    def _patches(self) -> list[tuple[Any, str, Any]]:
        few = [(compiled_kernel, "FEW_REGISTERS", 2**20 if self.lanes == "few" else 0), (compiled_kernel, "MUCH", 0.0)]
        if self.lanes == "both":
            return [*few, (kernel, "TRIAL", 1), (kernel, "SHORT_TRIAL", 1), (autotune, "STRETCH", 2), (refill, "FEWEST_TRIPS", 0)]
        chosen = (lambda plain, other, trial: other) if self.lanes == "other" else (lambda plain, other, trial: plain)
        return [*few, (kernel, "write_choice", chosen), (refill, "FEWEST_TRIPS", 0), (refill, "MOST_STATE", 40),
                (lane_regrouping, "GANGS", 0)]


WAYS = (Way("all"), Way("none"), Way("all", "other"), Way("as they cost", "other"), Way("all", "both"), Way(), Way("all", "few"),
        Way("all", errors="unchecked"), Way("all", math="fast"), Way("all", "other", "fast"), Way("none", "other"))


def ways_of(seed: int) -> list[Way]:
    """All arms with a branch in the plain way, and another one in turn."""
    return [WAYS[0], WAYS[1 + seed % (len(WAYS) - 1)]]


def check_loops(seed: int, ways: Sequence[Way] | None = None, program: Program | None = None) -> Outcome:
    """Compare the original of a random loop with twins that run in these ways, and with that of NumPy."""
    outcome, program = Outcome(), program or generate_loops(seed)
    rows = rows_of(program)
    try:
        with time_limit(HANG), loaded(program.source) as fn:
            expected = [observe(fn, row) for row in rows]
            outcome.lanes, outcome.raising = len(rows), sum(isinstance(e, Raised) for e in expected)
            shape = shape_of(fn, program, "auto")
            case = _Case(fn, rows, expected, shape)
            loops = Random(seed).choice(("auto", "masked"))
            for way in [None, *(ways_of(seed) if ways is None else ways)]:
                outcome.failures += case.check(way, loops)
                if outcome.failures:
                    break
    except FlattenError as error:
        outcome.refusal, outcome.refusal_text = error.code, str(error)
    except Exception as error:  # noqa: BLE001 - every other exception is a finding
        outcome.failures.append(Failure("crash", f"{type(error).__name__}: {error}", got=_where(error)))
    return outcome


@dataclass(frozen=True)
class _Case:
    fn: Callable[..., Any]
    rows: list[Lane]
    expected: list[Expected]
    shape: Shape

    @property
    def columns(self) -> list[np.ndarray[Any, Any]]:
        return [np.array(column, dtype) for column, dtype in zip(columns_of(self.rows), (float, float, np.int64), strict=True)]

    def check(self, way: Way | None, loops: str) -> list[Failure]:
        """`way` None: the NumPy target."""
        options: dict[str, Any] = {"loops": loops, "cache": False, "none": "object"}
        if way is None:
            return self._masked("numpy", pyflat.twin(self.fn).with_options(target="numpy", errors="mask", **options))
        with way.forced():
            twin = pyflat.twin(self.fn).with_options(target="numba", math=way.math, errors=way.errors, **options)
            if way.errors == "unchecked":
                return self._unchecked(str(way), twin, pyflat.twin(self.fn).with_options(
                    target="numpy", math=way.math, errors=way.errors, **options))
            if way.math == "fast":
                return self._alone(str(way), twin)
            return self._masked(str(way), twin)

    def _masked(self, stage: str, twin: Any) -> list[Failure]:
        """Values, and what is raised, in all lanes."""
        values, faults = twin(*self.columns)
        for i, (row, want) in enumerate(zip(self.rows, self.expected, strict=True)):
            fault = faults[i]
            if isinstance(want, Raised):
                got = "no fault" if fault is None else str(Raised(fault.type, fault.message))
                if got != str(want):
                    return [Failure(stage, f"lane {i} of {len(self.rows)}", row, str(want), got)]
            elif fault is not None or outside(want.value, self.shape):
                if not outside(want.value, self.shape):
                    return [Failure(stage, f"lane {i} of {len(self.rows)}", row, str(want), f"{fault.type} {fault.message}")]
            elif not _same(want, lane_of(values, i, len(self.rows))):
                return [Failure(stage, f"lane {i} of {len(self.rows)}", row, str(want), repr(lane_of(values, i, len(self.rows))))]
        return []

    def _unchecked(self, stage: str, twin: Any, other: Any) -> list[Failure]:
        """Values in lanes that return, as the NumPy target computes them."""
        got, wanted, count = twin(*self.columns), other(*self.columns), len(self.rows)
        for i, want in enumerate(self.expected):
            if isinstance(want, Returned) and not outside(want.value, self.shape):
                value = lane_of(got, i, count)
                if not same_bits(lane_of(wanted, i, count), value):
                    return [Failure(stage, f"lane {i} of {count}", self.rows[i], repr(lane_of(wanted, i, count)), repr(value))]
        return []

    def _alone(self, stage: str, twin: Any) -> list[Failure]:
        """Results do not depend on the other lanes."""
        (values, faults), count = twin(*self.columns), len(self.rows)
        for i in Random(count).sample(range(count), min(ALONE, count)):
            value, fault = twin(*[column[i:i + 1] for column in self.columns])
            if (fault[0] is None) != (faults[i] is None) or (
                    fault[0] is None and not same_bits(lane_of(value, 0, 1), lane_of(values, i, count))):
                return [Failure(stage, f"lane {i} of {count}, alone", self.rows[i], repr(lane_of(value, 0, 1)),
                                repr(lane_of(values, i, count)))]
        return []


def _same(want: Returned, value: Any) -> bool:
    return same_bits(in_kind(want.value, value), value)
