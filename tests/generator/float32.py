"""Random programs in float32: the interpreter at every stage, and both engines, against the interpreter in float32.

There is no CPython to compare with. A lane that no form suspects has the value of the structured form in float32, the
same bits on every engine; a suspect one raises what the original (in float64) raises, and where that returns, it has
the value of float32 too, or fails because float32 alone fails.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import pyflat
from pyflat.errors import FlattenError
from pyflat.frontend.specialise import specialise
from pyflat.ir.formats import F4
from pyflat.ir.interp import LaneFault, TripLimit, run
from pyflat.ir.nodes import Function
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.shape import Shape, rebuild
from pyflat.ir.validate import validate
from pyflat.passes.demote_floats import demote_floats
from pyflat.passes.gather_suspects import gather_suspects
from pyflat.passes.pipelines import fast, flatten_ir
from pyflat.passes.pipelines import run as run_passes
from pyflat.runtime.faults import Float32Reference, LaneError
from pyflat.targets import target as known_targets
from pyflat.testing import lane_of, same_bits
from tests.generator.differential import Slow, loaded, time_limit
from tests.generator.lanes import Lane, lanes_for
from tests.generator.outcomes import Expected, Failure, Outcome, Raised, Returned, observe
from tests.generator.program import Program
from tests.generator.shrink import minimise
from tests.generator.stages import arguments_of
from tests.generator.storage import Storage, arrays, held, native, storages
from tests.support.patience import HANG

EDGES = (1.401298464324817e-45, -1.401298464324817e-45, 1.1754943508222875e-38, F4.largest, -F4.largest, 2.0**24,
         2.0**24 + 2, 2.0**-126 * (1 - 2.0**-23), 88.72283935546875, 1e20, 1e-20)
"""Numbers that are edges of float32, for some of the float lanes."""


def check_narrow(
    program: Program, *, numba: bool = False, count: int = 40, deep: int = 12, limit: float = HANG, stages: bool = True,
    lanes: Sequence[Lane] | None = None, math: str = "exact",
) -> Outcome:
    """Compare both engines with the interpreter on `count` lanes, and the stages between passes on `deep` of them.
    `math` as the option: with "fast" each engine has functions of its own, and the interpreter has them too."""
    outcome = Outcome()
    rows = narrow_lanes(program, count) if lanes is None else list(lanes)
    try:
        with time_limit(limit), loaded(program.source) as fn:
            _check(fn, program, rows, outcome, ("numpy", "numba") if numba else ("numpy",), deep if stages else 0,
                   math)
    except FlattenError as error:
        outcome.refusal, outcome.refusal_text = error.code, str(error)
    except Slow as error:
        outcome.failures.append(Failure("time", str(error)))
    except Exception as error:  # noqa: BLE001 - every other exception is a finding
        outcome.failures.append(Failure("crash", f"{type(error).__name__}: {error}"))
    return outcome


def shrink_narrow(program: Program, failure: Failure, *, numba: bool = False, checks: int = 2000,
                  math: str = "exact") -> tuple[Program, Failure]:
    """A smaller program with a failure of the same stage, and that failure."""

    def fails(candidate: Program) -> Failure | None:
        outcome = check_narrow(candidate, numba=numba, count=20, limit=5.0, math=math)
        return next((found for found in outcome.failures if found.stage == failure.stage), None)

    return minimise(program, failure, fails, checks)


def narrow_lanes(program: Program, count: int) -> list[Lane]:
    """The program's lanes, rounded to float32; in every fourth one edges of that format."""
    rows: list[Lane] = []
    for number, row in enumerate(lanes_for(program, count)):
        edges = iter(EDGES[number % len(EDGES):] + EDGES)
        rows.append(tuple(_narrow(v, kind, next(edges) if number % 4 == 3 else None)
                          for v, kind in zip(row, program.kinds, strict=True)))
    return rows


def _narrow(value: Any, kind: str, edge: float | None) -> Any:
    if kind != "f":
        return value
    return F4.rounded(float(value if edge is None else edge))




def _check(fn: Callable[..., Any], program: Program, rows: list[Lane], outcome: Outcome, targets: Sequence[str],
           deep: int, math: str) -> None:
    spec = specialise(fn, arguments_of(fn, program), floats=F4)
    exact = demote_floats(spec.function)
    given = storages(program, most_bits=32)
    stored = held(rows, given)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Bitwise inversion", DeprecationWarning)  # ~True, since 3.12
        originals = [observe(fn, row) for row in rows]
        others = [observe(fn, row) for row in stored]
    outcome.lanes = len(rows)
    for target in targets:
        structured = exact
        if math == "fast":
            known = known_targets.of(target)
            structured = run_passes(exact, fast(known.fast_functions(), contract=known.fuses_products()))
        validate(structured)
        forms: list[tuple[str, Function]] = []
        fused = gather_suspects(flatten_ir(structured, on_pass=lambda name, form: forms.append((name, form))))
        oracle = Float32Reference(lambda: structured)
        expected = [_expected(oracle, fused, row, original, spec.result, outcome)
                    for row, original in zip(rows, originals, strict=True)]
        outcome.raising = sum(isinstance(e, Raised) for e in expected)
        _check_stages([*forms, ("gather_suspects", fused)], rows[:deep], oracle, outcome)
        if not outcome.failures:
            memory = [Storage(np.dtype(np.float32)) if s.dtype.kind == "f" else s for s in native(program.kinds)]
            outcome.failures += _check_twin(fn, program, rows, expected, target, math, memory)
        if not outcome.failures:
            expected = [_expected(oracle, fused, row, original, spec.result, outcome)
                        for row, original in zip(stored, others, strict=True)]
            outcome.failures += _check_twin(fn, program, stored, expected, target, math, given)
        if outcome.failures:
            return


def _check_stages(forms: Sequence[tuple[str, Function]], rows: Sequence[Lane], oracle: Float32Reference,
                  outcome: Outcome) -> None:
    for name, form in forms if rows else []:
        validate(form)
        if format_function(parse_function(format_function(form))) != format_function(form):
            outcome.failures.append(Failure(name, "the text is not read back"))
        for row in rows:
            _compare_stage(name, form, row, oracle, outcome, extra=int(name == "gather_suspects"))


def _expected(oracle: Float32Reference, fused: Function, row: Lane, original: Expected, shape: Shape, outcome: Outcome
              ) -> Expected:
    suspect = run(fused, row).values[-1]
    if suspect and isinstance(original, Raised):
        return original
    try:
        return Returned(rebuild(shape, iter(oracle.values(row))))
    except LaneError as error:
        if not suspect:
            outcome.failures.append(Failure("gather_suspects", f"no fault suspects a lane that fails: {error}", row))
        return Raised(LaneError, str(error))


def _compare_stage(name: str, form: Function, row: Lane, oracle: Float32Reference, outcome: Outcome,
                   extra: int) -> None:
    try:
        found = run(form, row)
    except LaneFault as stop:
        values, suspect, problem = (), False, f"stops: {stop}"
    except TripLimit:
        values, suspect, problem = (), False, "does not end"
    else:
        values, suspect, problem = found.values, found.suspect or bool(extra and found.values[-1]), ""
    if suspect:
        return
    try:
        wanted = oracle.values(row)
    except LaneError as error:
        if not problem:
            outcome.failures.append(Failure(name, "a lane that fails is not suspect", row, str(error), str(values)))
        return
    if problem.startswith("stops: OutOfLane"):
        return  # before `convert_ifs` it is not known of which ints the low bits are enough
    got = values[: len(values) - extra]
    if problem or not all(map(same_bits, wanted, got)):
        outcome.failures.append(Failure(name, "the value differs", row, str(wanted), problem or str(got)))


def _check_twin(fn: Callable[..., Any], program: Program, rows: list[Lane], expected: list[Expected], target: str,
                math: str, memory: Sequence[Storage]) -> list[Failure]:
    """The whole batch, and backwards through a strided view."""
    twin = pyflat.twin(fn).with_options(target=target, math=math, dtype="float32", errors="mask")
    columns = arrays(rows, memory)
    for order in (1, -1):
        given = columns if order == 1 else [np.repeat(c, 2)[::-2] for c in columns]
        quiet = "ignore" if "np." in program.source else "raise"  # NumPy's own warnings, where an original runs
        with warnings.catch_warnings(), np.errstate(all=quiet):
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", "Bitwise inversion", DeprecationWarning)  # ~True, since 3.12
            values, faults = twin(*given)
        for i, (row, want) in enumerate(zip(rows[::order], expected[::order], strict=True)):
            fault = faults[i]
            if isinstance(want, Raised):
                if fault is None or (fault.type, fault.message) != (want.error, want.message):
                    return [Failure(target, "another exception", row, str(want), str(fault))]
                continue
            value = lane_of(values, i, len(rows))
            if fault is not None or not same_bits(_rounded(want.value), _rounded(value)):
                return [Failure(target, "the value differs", row, str(want), f"{value!r} {fault}")]
    return []


def _rounded(value: Any) -> Any:
    """What is the same in all lanes is rounded where it becomes an array."""
    match value:
        case float():
            return F4.rounded(value)
        case tuple() | list():
            items = [_rounded(item) for item in value]
            return type(value)._make(items) if hasattr(value, "_make") else type(value)(items)
        case dict():
            return {key: _rounded(item) for key, item in value.items()}
        case _:
            return value
