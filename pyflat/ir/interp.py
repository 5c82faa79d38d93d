"""The interpreter: runs a Function of any form on one lane of Python scalars.

Structured functions run *strictly*: the first operation that cannot give Python's value raises LaneFault.
Flat and masked functions run *totally*: every operation gives a value, and the result says whether the lane is
suspect; a suspect lane leaves every loop. In float32 operations of floats are total in both (`ir.semantics`).
`elementary` replaces the functions of accuracy LIBM and NUMPY, so that the interpreter can be compared bit for
bit with any target; without it they are CPython's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyflat.errors import InternalError
from pyflat.ir.formats import F8, FloatFormat
from pyflat.ir.memory import ACCESSES
from pyflat.ir.nodes import (
    FAULT,
    Block,
    Const,
    Exit,
    Fault,
    Function,
    If,
    Item,
    Label,
    Loop,
    Op,
    Param,
    Region,
    Value,
    Yield,
)
from pyflat.ir.opaque_calls import OpaqueCalls
from pyflat.ir.ops import OPERATIONS, OutOfLane
from pyflat.ir.recursion import with_room
from pyflat.ir.semantics import meaning
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MAX, INT_MIN, MEMORY, PACK, VOID, Kind

Elementary = Mapping[str, Callable[..., Any]]
LANE_BITS = 64
MOST_BITS = 4096
"""Bits of an int without bounds; beyond it the lane is given up."""


class LaneFault(Exception):
    """What Python would have raised in this lane, or a value that no lane can hold."""

    def __init__(self, fault: Fault):
        super().__init__(f"{fault.type}: {fault.message}")
        self.fault = fault


class TripLimit(Exception):
    """A loop ran longer than `max_trips` of the call."""


@dataclass(frozen=True, slots=True)
class LaneResult:
    """What one lane of a flat function gives: the result leaves, and whether they mean nothing."""

    values: tuple[Any, ...]
    suspect: bool


_DEFAULT: dict[Kind, Any] = {BOOL: False, INT: 0, FLOAT: math.nan, PACK: (), MEMORY: None}


OTHERWISE: dict[Kind, Any] = {BOOL: True, INT: 1, FLOAT: 1.0, PACK: (), MEMORY: None}
"""Other values for what is undefined than those that it has."""


def instead(opcode: str, kind: Kind, error: Exception) -> Any:
    """What a total operation gives where Python raises: infinity where it grows beyond the floats."""
    row = OPERATIONS.get(opcode)
    if isinstance(error, OverflowError) and row is not None and row.faults in ("overflow", "near_overflow_up"):
        return math.inf
    return _DEFAULT[kind]


def _wrap(value: int) -> int:
    return (value - INT_MIN) % 2**64 + INT_MIN


@with_room
def run(
    fn: Function,
    args: Sequence[Any],
    *,
    elementary: Elementary | None = None,
    max_trips: int = 100_000,
    on_op: Callable[[Op, Any], None] | None = None,
    calls: OpaqueCalls | None = None,
    functions: Mapping[str, Function] | None = None,
    wrapping: Collection[Op] = (),
    unbounded: bool = False,
    undefined: Mapping[Kind, Any] | None = None,
) -> LaneResult:
    """Run one lane; `on_op(op, value)` is called after each operation that gives a value. `calls` says what opaque
    calls mean, `functions` are those of the module. The ints of `wrapping` may leave 64 bits in the structured form
    too, where all that counts are their low bits (`analysis.demanded_bits`); `unbounded`: all of its ints are Python's,
    up to `MOST_BITS`. `undefined`: what undefined values are.

    Raises LaneFault in the structured form, TripLimit when a loop does not end."""
    machine = _Machine(fn.total, elementary or {}, max_trips, on_op, calls, fn.floats, wrapping)
    machine.bits = MOST_BITS if unbounded and not fn.total else LANE_BITS
    machine.undefined = undefined or _DEFAULT
    machine.functions = functions or {}
    return LaneResult(machine.run_function(fn, args), machine.suspect)


class _Machine:
    def __init__(
        self,
        total: bool,
        elementary: Elementary,
        max_trips: int,
        on_op: Callable[[Op, Any], None] | None = None,
        calls: OpaqueCalls | None = None,
        floats: FloatFormat = F8,
        wrapping: Collection[Op] = (),
    ):
        self.wrapping = wrapping
        self.calls = calls
        self.floats = floats
        self.env: dict[Value, Any] = {}
        self.total = total
        self.elementary = elementary
        self.max_trips = max_trips
        self.on_op = on_op
        self.bits = LANE_BITS
        self.suspect = False
        self.undefined: Mapping[Kind, Any] = _DEFAULT
        self.functions: Mapping[str, Function] = {}

    def run_function(self, fn: Function, args: Sequence[Any]) -> tuple[Any, ...]:
        for param, arg in zip(fn.params, args, strict=True):
            self.env[param] = arg if fn.floats is F8 or param.kind is not FLOAT else fn.floats.rounded(arg)
        leave = self.run_list(fn.body)
        if isinstance(leave, Exit) and leave.label is not fn.label:
            raise InternalError(f"exit to {leave.label} left the function")
        return tuple(self.read(value) for value in leave.values)

    def read(self, value: Value) -> Any:
        if isinstance(value, Const):
            return self.undefined[value.kind] if value.value is None else value.value
        return self.env[value]

    def assign(self, targets: Sequence[Param], sources: Sequence[Value]) -> None:
        for target, value in zip(targets, [self.read(v) for v in sources], strict=True):
            self.env[target] = value

    def holds(self, cond: Value) -> bool:
        """The condition of an If; in the masked form that is the test of a loop, which suspect lanes leave."""
        return self.read(cond) and not self.suspect

    def run_list(self, items: list[Item]) -> Yield | Exit:
        for item in items:
            match item:
                case Block():
                    for op in item.ops:
                        self.run_op(op)
                    if item.end is not None:
                        return self._leave(item.end)
                case If():
                    leave = self.run_list(item.then if self.holds(item.cond) else item.orelse)
                    if isinstance(leave, Exit):
                        return leave
                    self.assign(item.results, leave.values)
                case Region():
                    leave = self.run_list(item.body)
                    if isinstance(leave, Exit) and leave.label is not item.label:
                        return leave
                    self.assign(item.results, leave.values)
                case Loop():
                    left = self.run_loop(item)
                    if left is not None:
                        return left
        raise InternalError("control fell off a list without an end")

    def run_loop(self, loop: Loop) -> Exit | None:
        self.assign(loop.params, loop.inits)
        for _ in range(self.max_trips):
            leave = self.run_list(loop.body)
            label: Label | None = leave.label if isinstance(leave, Exit) else None
            if label is loop.label:
                self.assign(loop.results, leave.values)
                return None
            if isinstance(leave, Exit) and label is not loop.again:
                return leave
            self.assign(loop.params, leave.values)
        raise TripLimit

    def _leave(self, end: Any) -> Yield | Exit:
        if isinstance(end, Exit) and end.label is FAULT:
            raise LaneFault(end.fault or Fault("Exception"))
        assert isinstance(end, Yield | Exit)
        return end

    def run_op(self, op: Op) -> None:
        args = [self.read(a) for a in op.args]
        if op.opcode == "fault":
            if args[0]:
                if not self.total:
                    raise LaneFault(op.attr("fault"))
                self.suspect = True
            return
        if op.opcode == "call":
            self.run_call(op, args)
            return
        if op.opcode == "invoke":
            values = self.run_function(self.functions[op.attr("callee")], args)
            self.env[op] = values if op.kind is PACK else (*values, None)[0]
            return
        if op.opcode in ACCESSES:
            self.env[op] = ACCESSES[op.opcode](args, **dict(op.attrs))
            if self.on_op is not None:
                self.on_op(op, self.env[op])
            return
        attrs = dict(op.attrs)
        function = self.elementary.get(op.opcode) or meaning(op.opcode, self.floats)
        try:
            value = function(*args, **attrs)
            if op.kind is INT and not INT_MIN <= value <= INT_MAX and value.bit_length() >= self.bits:
                if not self.total and op not in self.wrapping:
                    raise OutOfLane(f"an int beyond {self.bits} bits")
                value = _wrap(value)
        except (ArithmeticError, ValueError, IndexError) as error:
            if not self.total:
                raise LaneFault(Fault(type(error).__name__, str(error))) from error
            value = attrs["table"][0] if op.opcode == "gather" else instead(op.opcode, op.kind, error)
        self.env[op] = value
        if self.on_op is not None:
            self.on_op(op, value)

    def run_call(self, op: Op, args: list[Any]) -> None:
        """An opaque call; one whose guard does not hold gives nothing that is used."""
        value = None if op.attr("guarded") and not args[0] else self.meaning_of_call(op)(*args)
        if op.kind is not VOID:
            self.env[op] = _DEFAULT[op.kind] if value is None else value
        if self.on_op is not None:
            self.on_op(op, value)

    def meaning_of_call(self, op: Op) -> Callable[..., Any]:
        if self.calls is None:
            raise InternalError(f"the interpreter has no meaning of the opaque call of {op.attr('name')}")
        return self.calls.meaning(op)
