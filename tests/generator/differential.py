"""The oracle: the original against the interpreter at every stage, and against the twins.

For each lane the original runs on Python scalars. Structured forms must return the same value or fault; forms with
faults in them must be suspect wherever the original raises and right wherever they are not suspect. The twins
must give every returned value, and raise what the original raises in the lowest failing lane.
"""

from __future__ import annotations

import builtins
import contextlib
import itertools
import linecache
import signal
import sys
import tempfile
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

import pyflat
from pyflat.compiled import compilations
from pyflat.errors import FlattenError
from pyflat.ir.interp import LaneFault, run
from pyflat.ir.nodes import Block, Function, walk
from pyflat.ir.shape import Leaf, Record, Shape, rebuild
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MAX, INT_MIN
from pyflat.testing import in_kind, lane_of, same_bits
from tests.generator.lanes import Lane, lanes_for
from tests.generator.program import Program

KINDS = {"f": FLOAT, "i": INT, "b": BOOL}
DTYPES = {"f": np.float64, "i": np.int64, "b": np.bool_}
Target = Literal["numpy", "numba"]
_numbers = itertools.count()


class Slow(BaseException):
    """A check took longer than its limit."""


@dataclass(frozen=True)
class Failure:
    """One difference. `stage` is "structured", the name of a pass, "fused", or a target."""

    stage: str
    what: str
    lane: Lane | None = None
    expected: str = ""
    got: str = ""

    def __str__(self) -> str:
        place = f" for inputs {self.lane!r}" if self.lane is not None else ""
        return f"[{self.stage}] {self.what}{place}\n    original: {self.expected}\n    pyflat:   {self.got}"


@dataclass
class Outcome:
    """What checking one program gave; `refusal` is the code of a FlattenError."""

    refusal: str = ""
    refusal_text: str = ""
    failures: list[Failure] = field(default_factory=list)
    lanes: int = 0
    raising: int = 0
    false_suspects: int = 0


@dataclass(frozen=True)
class Returned:
    value: Any

    def __str__(self) -> str:
        return f"returns {self.value!r}"


@dataclass(frozen=True)
class Raised:
    error: type[BaseException]
    message: str

    def __str__(self) -> str:
        return f"raises {self.error.__name__}: {self.message}"


Expected = Returned | Raised


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
    """Raise Slow in the main thread when the block takes longer (where the platform has SIGALRM)."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(*_: object) -> None:
        raise Slow(f"more than {seconds} s")

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def observe(fn: Callable[..., Any], args: Sequence[Any]) -> Expected:
    """What a call does: any exception is an answer here."""
    try:
        return Returned(fn(*args))
    except Exception as error:  # noqa: BLE001 - the exception is what is compared
        return Raised(type(error), str(error))


def outside(value: Any, shape: Shape) -> bool:
    """Whether Python's value exists but no lane holds it: None, a complex number, an int too large for its leaf."""
    if isinstance(value, tuple | list):
        items = shape.items if isinstance(shape, Record) else (shape,) * len(value)
        return any(map(outside, value, items))
    real = isinstance(shape, Leaf) and shape.kind is FLOAT
    if isinstance(value, int) and not real and not INT_MIN <= value <= INT_MAX:
        return True
    inexact = isinstance(value, int) and (abs(value) >= 2**1024 or float(value) != value)
    return value is None or isinstance(value, complex) or (inexact and real)


def check_program(
    program: Program, *, numba: bool = False, lanes: Sequence[Lane] | None = None, count: int = 40, deep: int = 12,
    limit: float = 60.0, stages: bool = True,
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
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        expected = [observe(fn, row) for row in rows]
        outcome.lanes = len(rows)
        outcome.raising = sum(isinstance(e, Raised) for e in expected)
        if deep:
            shape = check_stages(fn, program, rows, expected, outcome, deep)
        else:
            shape = shape_of(fn, program)
        for target in targets:
            if outcome.failures:
                break
            outcome.failures += check_twin(fn, program, rows, expected, shape, target)


def arguments_of(fn: Callable[..., Any], program: Program) -> dict[str, Shape]:
    names = fn.__code__.co_varnames[: fn.__code__.co_argcount]
    return {name: Leaf(KINDS[kind]) for name, kind in zip(names, program.kinds, strict=True)}


def shape_of(fn: Any, program: Program) -> Shape:
    """The shape of the result; what is built for it is what the twin will run. Raises FlattenError."""
    twin = _twin(fn, "numpy")
    return compilations(fn).get(fn, arguments_of(fn, program), twin.options.as_built).result


def _twin(fn: Callable[..., Any], target: Target) -> Any:
    return pyflat.twin(fn).with_options(target=target, math="libm")


# --- the interpreter at every stage


def check_stages(
    fn: Callable[..., Any], program: Program, rows: list[Lane], expected: list[Expected], outcome: Outcome, deep: int
) -> Shape:
    """Run every stage in the interpreter; gives the shape of the result."""
    from pyflat.ir.validate import validate
    from pyflat.passes.gather_suspects import drop_faults, gather_suspects
    from pyflat.passes.pipeline import flatten_ir
    from pyflat.specialise import specialise

    spec = specialise(fn, arguments_of(fn, program))
    validate(spec.function)
    result: Shape = spec.result
    stages: list[tuple[str, Function, bool]] = [("structured", spec.function, False)]

    def record(name: str, function: Function) -> None:
        validate(function)
        if function is not stages[-1][1]:
            stages.append((name, function, False))

    flat = flatten_ir(spec.function, on_pass=record)
    strict = [_stops(spec.function, row) for row in rows]
    fused = gather_suspects(flat)
    validate(fused)
    stages.append(("gather_suspects", fused, True))
    values = drop_faults(flat)
    validate(values)
    blocks = [item for item in walk(values.body) if isinstance(item, Block)]
    if any(op.opcode == "fault" for block in blocks for op in block.ops):
        outcome.failures.append(Failure("drop_faults", "a fault operation is left"))
    for position, (name, function, suspects) in enumerate(stages):
        outer = position in (0, len(stages) - 1)
        for row, want in zip(rows if outer else rows[:deep], expected, strict=False):
            failure = _compare_stage(name, function, result, row, want, suspects, "try:" in program.source)
            if failure is not None:
                outcome.failures.append(failure)
                return result
    for row, stopped in zip(rows, strict, strict=True):
        full = run(fused, row)
        outcome.false_suspects += bool(full.values[-1]) and not stopped
        if full.suspect or full.values[-1]:
            continue  # the values slice means nothing in this lane: its loops need not even end
        if not all(map(same_bits, run(values, row).values, full.values)):
            outcome.failures.append(Failure("drop_faults", "the values slice differs from the fused form", row))
            break
    return result


def _stops(function: Function, row: Lane) -> bool:
    """Whether the strict form stops in this lane: the fault that the flat forms must see, and need no other."""
    try:
        run(function, row)
    except LaneFault:
        return True
    return False


def _compare_stage(
    name: str, function: Function, shape: Shape, row: Lane, want: Expected, suspects: bool, handled: bool
) -> Failure | None:
    try:
        result = run(function, row)
    except LaneFault as error:
        return _compare_fault(name, row, want, shape, error, handled)
    values = result.values[:-1] if suspects else result.values
    suspect = result.values[-1] if suspects else result.suspect
    if suspect:
        return None
    got = rebuild(shape, iter(values))
    if isinstance(want, Returned) and not outside(want.value, shape) and same_bits(in_kind(want.value, got), got):
        return None
    what = "a lane that raises is not a fault" if isinstance(want, Raised) else "the value differs"
    return Failure(name, what, row, str(want), f"returns {got!r}")


def _compare_fault(
    name: str, row: Lane, want: Expected, shape: Shape, error: LaneFault, handled: bool
) -> Failure | None:
    """A strict stage may also stop where Python goes on with a value that no lane holds."""
    if error.fault.type == "OutOfLane" or (isinstance(want, Returned) and outside(want.value, shape)):
        return None
    if handled:  # a fault that no check tells exactly: the replay runs the handlers, and what comes after them
        return None
    claimed = getattr(builtins, error.fault.type, None)
    if isinstance(want, Raised) and (want.error is claimed or (want.error, claimed) == (NameError, UnboundLocalError)):
        return None
    if isinstance(want, Raised) and {want.error, claimed} <= {ValueError, ZeroDivisionError, OverflowError}:
        return None  # math.pow and ** are one operation that names its faults differently; the replay is exact
    return Failure(name, "the fault differs", row, str(want), str(error))


# --- the twins


def columns(rows: Sequence[Lane], kinds: Sequence[str]) -> list[np.ndarray[Any, Any]]:
    return [np.array([row[i] for row in rows], dtype=DTYPES[kind]) for i, kind in enumerate(kinds)]


def check_twin(
    fn: Callable[..., Any], program: Program, rows: list[Lane], expected: list[Expected], shape: Shape, target: Target
) -> list[Failure]:
    twin = _twin(fn, target)
    raising = [i for i, e in enumerate(expected) if isinstance(e, Raised)]
    unheld = [i for i, e in enumerate(expected) if isinstance(e, Returned) and outside(e.value, shape)]
    clean = [i for i in range(len(rows)) if i not in raising and i not in unheld]
    failures = _check_values(twin, program, [rows[i] for i in clean], [expected[i] for i in clean], target)
    if raising:
        batch = [rows[i] for i in range(len(rows)) if i not in unheld]
        failures += _check_raises(twin, program, batch, rows[raising[0]], expected[raising[0]], target)
    for i in unheld[:1]:
        got = observe(twin, columns([rows[i]], program.kinds))
        if isinstance(got, Returned):
            failures.append(Failure(target, "no lane holds the result", rows[i], str(expected[i]), str(got)))
    if clean and not failures:
        failures += _check_scalars(twin, rows[clean[0]], expected[clean[0]], target)
    return failures


def _check_raises(
    twin: Callable[..., Any], program: Program, batch: list[Lane], lane: Lane, want: Expected, target: str
) -> list[Failure]:
    got = observe(twin, columns(batch, program.kinds))
    if got == want:
        return []
    return [Failure(target, "the batch must raise what its lowest failing lane raises", lane, str(want), str(got)[:300])]


def _check_values(
    twin: Callable[..., Any], program: Program, rows: list[Lane], expected: list[Expected], target: str
) -> list[Failure]:
    """The whole batch, then backwards through a strided view: results do not depend on the position."""
    columns_ = columns(rows, program.kinds)
    forward = observe(twin, columns_)
    backward = observe(twin, [np.repeat(c, 2)[::-2] for c in columns_])
    for order, got in ((1, forward), (-1, backward)):
        if isinstance(got, Raised):
            return [Failure(target, "a batch of lanes that all return raises", None, "", str(got)[:400])]
        for i, (row, want) in enumerate(zip(rows[::order], expected[::order], strict=True)):
            assert isinstance(want, Returned)
            value = lane_of(got.value, i, len(rows))
            if not same_bits(in_kind(want.value, value), value):
                return [Failure(target, "the value differs", row, str(want), f"returns {value!r}")]
    return []


def _check_scalars(twin: Callable[..., Any], lane: Lane, want: Expected, target: str) -> list[Failure]:
    got = observe(twin, lane)
    assert isinstance(want, Returned)
    if isinstance(got, Returned) and same_bits(in_kind(want.value, got.value), got.value):
        return []
    return [Failure(target, "a call with Python scalars differs", lane, str(want), str(got))]

