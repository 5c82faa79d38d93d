"""Ways forced on random programs (`pyflat.functions.ways`): each value, and each pair of values of two ways.

`COVERING` is a table of rows, one value for each way, in which every pair occurs. A program runs as it is decided, or
in the row of its seed. Random loops run in rows of their own, with thousands of lanes.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

import pyflat
from pyflat.errors import FlattenError
from pyflat.functions import ways
from pyflat.ir.shape import Shape
from pyflat.testing import in_kind, lane_of, same_bits
from tests.generator.differential import _where, loaded, shape_of, time_limit
from tests.generator.kept import own_cache
from tests.generator.lanes import Lane
from tests.generator.looping import columns_of, generate_loops, rows_of
from tests.generator.outcomes import Expected, Failure, Outcome, Raised, Returned, observe, outside
from tests.generator.program import Program
from tests.support.patience import HANG
from tests.support.processors import OWN, levels, made_for

ALONE = 6
"""Lanes that are computed alone as well."""
Choice = tuple[str, str]


def covering(of: Mapping[str, Sequence[str]], seed: int = 0) -> list[dict[str, str]]:
    """Rows with a value for each name, so that each pair of values of two names is in one: each row is the best of some
    random ones, grown value by value."""
    rng, rows = Random(seed), list[dict[str, str]]()
    open_pairs = {frozenset(pair) for a, b in itertools.combinations(of, 2)
                  for pair in itertools.product([(a, value) for value in of[a]], [(b, value) for value in of[b]])}

    def new(row: Mapping[str, str], choice: Choice) -> int:
        return sum(frozenset((choice, other)) in open_pairs for other in row.items())

    def grown() -> dict[str, str]:
        row = dict(sorted(next(iter(sorted(map(sorted, open_pairs))))))
        for name in rng.sample([name for name in of if name not in row], len(of) - len(row)):
            values = rng.sample(list(of[name]), len(of[name]))
            row[name] = max(values, key=lambda value: new(row, (name, value)))
        return row

    while open_pairs:
        row = max((grown() for _ in range(8)), key=lambda row: sum(new(row, each) for each in row.items()))
        open_pairs -= {frozenset(pair) for pair in itertools.combinations(row.items(), 2)}
        rows.append({name: row[name] for name in of})
    return rows


COVERING = covering({way.name: way.values for way in ways.REGISTRY.values()})


@dataclass(frozen=True)
class Run:
    """How twins run: ways by name, the processor that code is made for, and options."""

    choices: Mapping[str, str] = field(default_factory=dict)
    processor: str = OWN
    math: str = "exact"
    errors: str = "mask"

    @contextlib.contextmanager
    def forced(self) -> Iterator[None]:
        disk = own_cache() if self.choices.get("origin") == "disk" else contextlib.nullcontext()
        with ways.forced(**self.choices), made_for(self.processor), disk:
            yield

    def __str__(self) -> str:
        said = [f"{name}={value}" for name, value in self.choices.items()]
        said += [self.processor] if self.processor != OWN else []
        return ",".join([*said, self.math, self.errors])


def run_of(seed: int) -> Run:
    """Every third program runs as it is decided, the others in rows; all processors take turns."""
    here = levels()
    row = seed % 3 and COVERING[seed // 3 % len(COVERING)]
    return Run(row or {}, here[seed // 7 % len(here)])


def _loops(lanes: str = "plain", arms: str = "", **options: str) -> Run:
    choices = {"arms": arms} if arms else {}
    return Run(choices | {"few": "few" if lanes == "few" else "many", "refill": _REFILL.get(lanes, "plain"),
                          "regroup": _REGROUP.get(lanes, "plain")}, **options)


_REFILL, _REGROUP = {"other": "refilled", "both": "turns"}, {"other": "waiting", "both": "turns"}

RUNS = (_loops(arms="branch"), _loops(arms="select"), _loops("other", "branch"), _loops("other"), _loops("both", "branch"),
        _loops(), _loops("few", "branch"), _loops(arms="branch", errors="unchecked"), _loops(arms="branch", math="fast"),
        _loops("other", "branch", math="fast"), _loops("other", "select"))


def runs_of(seed: int) -> list[Run]:
    """All arms with a branch in the plain way, another one in turn, and a row of the table."""
    return [RUNS[0], RUNS[1 + seed % (len(RUNS) - 1)], run_of(3 * seed + 1)]


def check_loops(seed: int, runs: Sequence[Run] | None = None, program: Program | None = None) -> Outcome:
    """Compare the original of a random loop with twins that run in these ways, and with that of NumPy."""
    outcome, program = Outcome(), program or generate_loops(seed)
    rows = rows_of(program)
    try:
        with time_limit(HANG), loaded(program.source) as fn:
            expected = [observe(fn, row) for row in rows]
            outcome.lanes, outcome.raising = len(rows), sum(isinstance(e, Raised) for e in expected)
            shape = shape_of(fn, program, "auto")
        loops = Random(seed).choice(("auto", "masked"))
        for run in [None, *(runs_of(seed) if runs is None else runs)]:
            with time_limit(HANG), loaded(program.source) as fn:  # nothing that other runs have compiled
                outcome.failures += _Case(fn, rows, expected, shape).check(run, loops)
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

    def check(self, run: Run | None, loops: str) -> list[Failure]:
        """`run` None: the NumPy target."""
        options: dict[str, Any] = {"loops": loops, "none": "object"}
        if run is None:
            return self._masked("numpy", pyflat.twin(self.fn).with_options(target="numpy", errors="mask", **options))
        with run.forced():
            twin = pyflat.twin(self.fn).with_options(target="numba", math=run.math, errors=run.errors, **options)
            if run.errors == "unchecked":
                return self._unchecked(str(run), twin, pyflat.twin(self.fn).with_options(
                    target="numpy", math=run.math, errors=run.errors, **options))
            if run.math == "fast":
                return self._alone(str(run), twin)
            return self._masked(str(run), twin)

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
