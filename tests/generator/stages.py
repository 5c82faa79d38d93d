"""The original against the interpreter at every stage: after each pass, and in the forms that keep their loops.

Structured forms must return the same value or fault; forms with faults in them must be suspect wherever the original
raises and right wherever they are not suspect.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pyflat.errors import FlattenError
from pyflat.frontend.result import Specialised
from pyflat.frontend.specialise import specialise
from pyflat.ir.interp import LaneFault, run
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Function
from pyflat.ir.print import format_function
from pyflat.ir.shape import Leaf, Shape, rebuild
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.ir.validate import validate
from pyflat.passes.gather_suspects import drop_faults, gather_suspects
from pyflat.passes.limit_trips import limit_trips
from pyflat.passes.lower_exits import lower_exits
from pyflat.passes.pipelines import flatten_ir
from pyflat.testing import in_kind, same_bits
from tests.generator.lanes import Lane
from tests.generator.outcomes import Expected, Failure, Outcome, Raised, Returned, outside
from tests.generator.program import Program

KINDS = {"f": FLOAT, "i": INT, "b": BOOL}
FEW_TRIPS = 3
"""An unrolling limit that some loops of the programs reach."""


def arguments_of(fn: Callable[..., Any], program: Program) -> dict[str, Shape]:
    names = fn.__code__.co_varnames[: fn.__code__.co_argcount]
    return {name: Leaf(KINDS[kind]) for name, kind in zip(names, program.kinds, strict=True)}


@dataclass(frozen=True)
class Stage:
    """A form of a program. `extra` results stand at its end: the suspect bit, before it which lanes met a limit."""

    name: str
    function: Function
    shape: Shape
    extra: int = 0


def check_stages(
    fn: Callable[..., Any], program: Program, rows: list[Lane], expected: list[Expected], outcome: Outcome, deep: int
) -> Shape:
    """Run every stage in the interpreter, those between passes on `deep` lanes; gives the shape of the result."""
    spec = specialise(fn, arguments_of(fn, program))
    _check_reuse(spec, specialise(fn, arguments_of(fn, program), reuse=False), outcome)
    structured = Stage("structured", spec.function, spec.result)
    passes = [structured]

    def record(name: str, function: Function) -> None:
        if function is not passes[-1].function:
            passes.append(Stage(name, function, spec.result))

    flat = flatten_ir(spec.function, on_pass=record)
    fused = Stage("gather_suspects", gather_suspects(flat), spec.result, 1)
    handled = "try:" in program.source
    plan = [(structured, rows), *((stage, rows[:deep]) for stage in passes[1:]), (fused, rows),
            *((stage, rows[: deep // 2]) for stage in kept_loops(fn, program))]
    for stage, lanes in plan:
        validate(stage.function)
        for row, want in zip(lanes, expected, strict=False):
            failure = _compare_stage(stage, row, want, handled)
            if failure is not None:
                outcome.failures.append(failure)
                return spec.result
    _check_values_slice(drop_faults(flat), fused.function, rows, outcome)
    strict = [_stops(spec.function, row) for row in rows]
    suspects = [run(fused.function, row).values[-1] for row in rows]
    outcome.false_suspects = sum(bool(found) and not stopped for found, stopped in zip(suspects, strict, strict=True))
    return spec.result


def _check_reuse(reused: Specialised, fresh: Specialised, outcome: Outcome) -> None:
    """Calls that are copies of calls before them give the function that evaluating each of them gives."""
    if format_function(reused.function) == format_function(fresh.function):
        return
    flat = [format_function(flatten_ir(spec.function)) for spec in (reused, fresh)]
    if flat[0] != flat[1]:  # the heap forgets dead objects when Python does: operands that nothing reads may differ
        outcome.failures.append(Failure("repeated calls", "the IR differs from that of evaluating every call"))


def kept_loops(fn: Callable[..., Any], program: Program) -> Iterator[Stage]:
    """The forms in which every loop that can stay a loop does."""
    spec = _with_loops(fn, program)
    if spec is None:
        return
    base, shape = spec.function, spec.result
    flat = flatten_ir(base)
    limited = limit_trips(flat, FEW_TRIPS)
    for name, function in (("loops kept", base), ("lower_exits, loops kept", lower_exits(base)), ("masked", flat),
                           ("limit_trips", limited)):
        yield Stage(name, function, shape)
    yield Stage("gather_suspects, limited", gather_suspects(limited, limited=True), shape, 2)


def _with_loops(fn: Callable[..., Any], program: Program) -> Specialised | None:
    """Loops over tuples and tables are always unrolled: as few iterations as the program allows."""
    for iterations in (0, 5, 15, 60):
        try:
            return specialise(fn, arguments_of(fn, program), loops="masked", max_unroll=iterations)
        except FlattenError:
            continue
    return None


def _check_values_slice(values: Function, fused: Function, rows: list[Lane], outcome: Outcome) -> None:
    validate(values)
    if any(op.opcode == "fault" for op in all_ops(values.body)):
        outcome.failures.append(Failure("drop_faults", "a fault operation is left"))
        return
    for row in rows:
        full = run(fused, row)
        if full.suspect or full.values[-1]:
            continue  # the values slice means nothing in this lane: its loops need not even end
        if not all(map(same_bits, run(values, row).values, full.values)):
            outcome.failures.append(Failure("drop_faults", "the values slice differs from the fused form", row))
            return


def _stops(function: Function, row: Lane) -> bool:
    """Whether the strict form stops in this lane: the fault that the flat forms must see, and need no other."""
    try:
        run(function, row)
    except LaneFault:
        return True
    return False


def _compare_stage(stage: Stage, row: Lane, want: Expected, handled: bool) -> Failure | None:
    shape = stage.shape
    try:
        result = run(stage.function, row)
    except LaneFault as error:
        return _compare_fault(stage.name, row, want, shape, error, handled)
    values = result.values[: -stage.extra] if stage.extra else result.values
    suspect = any(result.values[-stage.extra :]) if stage.extra else result.suspect
    if suspect:
        return None
    got = rebuild(shape, iter(values))
    if isinstance(want, Returned) and not outside(want.value, shape) and same_bits(in_kind(want.value, got), got):
        return None
    what = "a lane that raises is not a fault" if isinstance(want, Raised) else "the value differs"
    return Failure(stage.name, what, row, str(want), f"returns {got!r}")


def _compare_fault(
    name: str, row: Lane, want: Expected, shape: Shape, error: LaneFault, handled: bool
) -> Failure | None:
    """A strict stage may also stop where Python goes on with a value that no lane holds."""
    if error.fault.type in ("OutOfLane", "Undecided", "UndecidedError") or (isinstance(want, Returned) and outside(want.value, shape)):
        return None
    if handled:  # a fault that no check tells exactly: the replay runs the handlers, and what comes after them
        return None
    claimed = getattr(builtins, error.fault.type, None)
    if isinstance(want, Raised) and (want.error is claimed or (want.error, claimed) == (NameError, UnboundLocalError)):
        return None
    if isinstance(want, Raised) and {want.error, claimed} <= {ValueError, ZeroDivisionError, OverflowError}:
        return None  # math.pow and ** are one operation that names its faults differently; the replay is exact
    return Failure(name, "the fault differs", row, str(want), str(error))
