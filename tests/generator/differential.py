"""The oracle: the original against the interpreter at every stage, and against the twins.

For each lane the original runs on Python scalars. The stages are compared in `stages.py`; the twins must give every
returned value, and raise what the original raises in the lowest failing lane. Twins run with dense arrays of the dtypes
that lanes have, then with inputs of other dtypes, byte orders and layouts (`storage.py`).
"""

from __future__ import annotations

import contextlib
import itertools
import linecache
import re
import signal
import sys
import tempfile
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

import pyflat
from pyflat.errors import FlattenError
from pyflat.functions import ways
from pyflat.ir.interp import run
from pyflat.ir.shape import Shape, rebuild
from pyflat.runtime.compiled import compilations, flatten
from pyflat.testing import in_kind, lane_of, same_bits
from tests.generator.calls import check_calls
from tests.generator.lanes import Lane, lanes_for
from tests.generator.outcomes import Expected, Failure, Outcome, Raised, Returned, observe, outside
from tests.generator.program import Program
from tests.generator.stages import arguments_of, check_stages
from tests.generator.storage import Storage, arrays, held, native, storages
from tests.support.patience import HANG

Target = Literal["numpy", "numba"]
Loops = Literal["auto", "masked", "short"]
SHORT = 4
"""Iterations of a nest, with "short"; longer ones are kept."""
Math = Literal["exact", "fast"]
_numbers = itertools.count()


class Slow(BaseException):
    """A check took longer than its limit."""


@contextlib.contextmanager
def loaded(source: str) -> Iterator[Callable[..., Any]]:
    """The function `main` of a module with this source, whose text can be found while the block runs."""
    name = f"pyflat_random_{next(_numbers)}"
    with tempfile.TemporaryDirectory(prefix="pyflat-") as folder:
        path = Path(folder) / f"{name}.py"
        path.write_text(source)
        module = types.ModuleType(name)
        module.__file__ = str(path)
        sys.modules[name] = module
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SyntaxWarning)
                exec(compile(source, str(path), "exec"), module.__dict__)
            linecache.getlines(str(path))
            yield module.main
        finally:
            del sys.modules[name]
            linecache.cache.pop(str(path), None)


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise Slow in the main thread when the block takes more of the processor's time (where the platform can)."""
    if not hasattr(signal, "SIGPROF"):
        yield
        return

    def stop(*_: object) -> None:
        raise Slow(f"more than {seconds} s")

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


def check_program(
    program: Program, *, numba: bool = False, lanes: Sequence[Lane] | None = None, count: int = 40, deep: int = 12,
    limit: float = HANG, stages: bool = True,
) -> Outcome:
    """Compare the original with every stage on `count` lanes (the stages between passes on `deep` of them); without
    `stages` with the twins only, which takes a third of the time."""
    outcome = Outcome()
    rows = list(lanes) if lanes is not None else lanes_for(program, count)
    try:
        with time_limit(limit), loaded(program.source) as fn:
            _check(fn, program, rows, outcome, ("numpy", "numba") if numba else ("numpy",), deep if stages else 0)
    except FlattenError as error:
        outcome.refusal, outcome.refusal_text = error.code, str(error)
    except Slow as error:
        outcome.failures.append(Failure("time", str(error)))
    except Exception as error:  # noqa: BLE001 - every other exception is a finding
        outcome.failures.append(Failure("crash", f"{type(error).__name__}: {error}", got=_where(error)))
    return outcome


def _where(error: BaseException) -> str:
    trace, lines = error.__traceback__, []
    while trace is not None:
        code = trace.tb_frame.f_code
        lines.append(f"{Path(code.co_filename).name}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return " < ".join(reversed(lines[-6:]))


def _check(
    fn: Callable[..., Any], program: Program, rows: list[Lane], outcome: Outcome, targets: Sequence[Target], deep: int
) -> None:
    quiet: Literal["ignore", "raise"] = "ignore" if "np." in program.source else "raise"
    with warnings.catch_warnings(), np.errstate(all=quiet):
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Bitwise inversion", DeprecationWarning)  # ~True, since 3.12
        for _ in range(3):  # CPython's own sign of a nan changes when its interpreter specialises an operation
            expected = [observe(fn, row) for row in rows]
        outcome.lanes = len(rows)
        outcome.raising = sum(isinstance(e, Raised) for e in expected)
        if deep:
            shape = check_stages(fn, program, rows, expected, outcome, deep)
        else:
            shape = shape_of(fn, program)
        for target in targets:
            if not outcome.failures:
                outcome.failures += check_twin(fn, program, rows, expected, shape, target)
            if not outcome.failures and deep:
                fast = _fast(fn, program, rows[:deep], expected, target)
                outcome.failures += check_twin(fn, program, rows[:deep], fast, shape, target, "fast")
        if not outcome.failures and re.search(r"\b(for|while)\b", program.source):
            for loops in _ways_to_keep(fn, program):
                kept = shape_of(fn, program, loops)
                outcome.failures += check_twin(fn, program, rows, expected, kept, targets[-1], loops=loops)
        if not outcome.failures:
            outcome.failures += _check_storage(fn, program, rows, shape, targets)


def _check_storage(
    fn: Callable[..., Any], program: Program, rows: list[Lane], shape: Shape, targets: Sequence[Target]
) -> list[Failure]:
    """The twins with inputs as they may lie in memory; the lanes are what that memory holds. numba's kernels are those
    for many lanes here, and those for few before."""
    given = storages(program)
    lanes = held(rows, given)
    expected = [observe(fn, lane) for lane in lanes]
    with ways.forced(few="many"):
        found = (check_twin(fn, program, lanes, expected, shape, target, given=given) for target in targets)
        return next((failures for failures in found if failures), [])


def _ways_to_keep(fn: Any, program: Program) -> list[Loops]:
    """Loops that stay loops: all that can, and those of nests longer than a few iterations, where what follows lets
    them."""
    try:
        shape_of(fn, program, "short")
    except FlattenError:
        return ["masked"]
    return ["masked", "short"]


def shape_of(fn: Any, program: Program, loops: Loops = "auto") -> Shape:
    """The shape of the result; what is built for it is what the twin will run. Raises FlattenError."""
    twin = _twin(fn, "numpy", loops=loops)
    return compilations(fn).get(fn, arguments_of(fn, program), twin.options.as_built).result


def _fast(
    fn: Any, program: Program, rows: Sequence[Lane], originals: Sequence[Expected], target: Target
) -> list[Expected]:
    """What lanes give with `math="fast"`: the interpreter's values, with that target's functions and fused products, and
    where that suspects a lane, the original's."""
    options = _twin(fn, target, "fast").options
    done = flatten(fn, arguments_of(fn, program), options, engine=True)
    found = [run(done.flat, row) for row in rows]
    return [original if lane.suspect else Returned(rebuild(done.spec.result, iter(lane.values)))
            for lane, original in zip(found, originals, strict=False)]


def _twin(fn: Callable[..., Any], target: Target, math: Math = "exact", loops: Loops = "auto") -> Any:
    ways: dict[str, Any] = {"max_unroll": SHORT} if loops == "short" else {"loops": loops}
    return pyflat.twin(fn).with_options(target=target, math=math, none="object", **ways)


# --- the twins


def columns(rows: Sequence[Lane], kinds: Sequence[str]) -> list[np.ndarray[Any, Any]]:
    return arrays(rows, native(kinds))


def check_twin(
    fn: Callable[..., Any], program: Program, rows: list[Lane], expected: list[Expected], shape: Shape, target: Target,
    math: Math = "exact", loops: Loops = "auto", given: Sequence[Storage] | None = None,
) -> list[Failure]:
    """`given` is the memory of the arguments, which holds the lanes: dense arrays of the kinds where nothing is said."""
    twin, memory = _twin(fn, target, math, loops), given or native(program.kinds)
    raising = [i for i, e in enumerate(expected) if isinstance(e, Raised)]
    unheld = [i for i, e in enumerate(expected) if isinstance(e, Returned) and outside(e.value, shape)]
    clean = [i for i in range(len(rows)) if i not in raising and i not in unheld]
    failures = _check_values(twin, memory, [rows[i] for i in clean], [expected[i] for i in clean], target)
    if raising:
        batch = [rows[i] for i in range(len(rows)) if i not in unheld]
        failures += _check_raises(twin, memory, batch, rows[raising[0]], expected[raising[0]], target)
    for i in unheld[:1]:
        got = observe(twin, arrays([rows[i]], memory))
        if isinstance(got, Returned):
            failures.append(Failure(target, "no lane holds the result", rows[i], str(expected[i]), str(got)))
    if clean and not failures:
        failures += _check_scalars(twin, rows[clean[0]], expected[clean[0]], target)
        lanes = [rows[i] for i in clean]
        failures += check_calls(twin, fn, arrays(lanes, memory), lanes, program.source, target)
    return failures


def _check_raises(
    twin: Callable[..., Any], memory: Sequence[Storage], batch: list[Lane], lane: Lane, want: Expected, target: str
) -> list[Failure]:
    got = observe(twin, arrays(batch, memory))
    if got == want:
        return []
    return [Failure(target, "the batch must raise what its lowest failing lane raises", lane, str(want), str(got)[:300])]


def _check_values(
    twin: Callable[..., Any], memory: Sequence[Storage], rows: list[Lane], expected: list[Expected], target: str
) -> list[Failure]:
    """The whole batch twice (the second call may be made by a plan, with dense arrays by machine code alone), backwards
    through a strided view, and as a matrix: results do not depend on the position."""
    columns_ = arrays(rows, memory)
    if target == "numba":
        from pyflat.targets.numba import dense_calls

        dense_calls._function()  # from now on it takes calls from the first
    calls = [(1, lambda: twin(*columns_)), (1, lambda: twin(*columns_)),
             (-1, lambda: twin(*[np.repeat(c, 2)[::-2] for c in columns_]))]
    if columns_ and len(rows) % 2 == 0:
        calls.append((1, lambda: _flattened(twin(*_matrices(columns_)), (2, len(rows) // 2))))
    for order, call in calls:
        got = observe(call, ())
        if isinstance(got, Raised):
            return [Failure(target, "a batch of lanes that all return raises", None, "", str(got)[:400])]
        for i, (row, want) in enumerate(zip(rows[::order], expected[::order], strict=True)):
            assert isinstance(want, Returned)
            value = lane_of(got.value, i, len(rows))
            if not same_bits(in_kind(want.value, value, got.value), value):
                return [Failure(target, "the value differs", row, str(want), f"returns {value!r}")]
    return []


def _matrices(columns: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """Two rows of lanes; every other array in Fortran's order."""
    return [c.reshape(2, -1).copy(order="F" if k % 2 else "C") for k, c in enumerate(columns)]


def _flattened(value: Any, shape: tuple[int, ...]) -> Any:
    """The arrays of this shape in a result as one row of lanes."""
    match value:
        case np.ndarray():
            return value.reshape(-1, *value.shape[len(shape):])
        case tuple() | list():
            items = [_flattened(item, shape) for item in value]
            return type(value)._make(items) if hasattr(value, "_make") else type(value)(items)
        case dict():
            return {key: _flattened(item, shape) for key, item in value.items()}
    return value


def _check_scalars(twin: Callable[..., Any], lane: Lane, want: Expected, target: str) -> list[Failure]:
    """Twice: the second call may be made by a plan."""
    assert isinstance(want, Returned)
    for got in (observe(twin, lane), observe(twin, lane)):
        if not isinstance(got, Returned) or not same_bits(in_kind(want.value, got.value), got.value):
            return [Failure(target, "a call with Python scalars differs", lane, str(want), str(got))]
    return []

