"""Narrowed integers: which int64 values of a kernel are kept, and computed, in 32 bits.

    %h = and %23, 4294967295        exact: between 0 and 2**32 - 1, so that 32 bits hold it
    %24 = shr %h, 13                exact
    %25 = xor %h, %24               exact
    %26 = mul %25, 1274126177       low: may be larger, but all its users read only its low 32 bits
    %h.1 = and %26, 4294967295      exact

An operation on 32-bit lanes takes half a register where floats are float64, and one instead of two where they are
float32; a product of 64-bit lanes takes several instructions on most processors. Bits of results do not change: who
needs 64 bits extends an exact value, and nothing needs more of a low one.

What is exact, intervals say (`loop_variance`). What is low, the users say: the low bits of + - * << and bitwise
operations come from the low bits of their operands. Undefined values are 0 on this target. Lanes that do not run hold
any numbers, in 32 bits others than in 64, and nothing looks at them.

Values that hang together in operations are narrowed together or not at all: if what their operations save is more than
what conversions at the border cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntFlag
from math import inf

from llvmlite import ir

from pyflat.analysis.intervals import Interval
from pyflat.functions import ways
from pyflat.ir.formats import F8, FloatFormat
from pyflat.ir.loops import take_apart
from pyflat.ir.nodes import Block, Const, Item, Loop, Op, Value, number, power_of_two
from pyflat.ir.ops import COMPARISONS, LOW_BITS, ROUNDED
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.targets.numba.costs import cost_of
from pyflat.targets.numba.emitter import Emitter, Lane
from pyflat.targets.numba.jit import processor
from pyflat.targets.numba.llvm import I32
from pyflat.targets.numba.loop_variance import intervals_of_ints

LEAST_GAIN = 3.0
"""Adds of a register that narrowing has to save more than, for values that hang together: less is not seen."""

TRIPS = 8.0
"""How often a loop is assumed to run, for that sum."""

MOST_OPERATIONS = 20_000
"""Beyond it nothing is narrowed: it takes too long to find out."""

_LOWEST, _HIGHEST, _LIMIT = -(2**31), 2**31 - 1, 2**32


class Narrow(IntFlag):
    """What an int32 says about the int64 value: the value modulo 2**32 (LOW) and, by its flags, the value itself as a
    signed or as an unsigned number; with both it is not negative and below 2**31."""

    LOW = 0
    SIGNED = 1
    UNSIGNED = 2


_NOT_EXACT = Narrow.LOW


@dataclass(frozen=True)
class IntegerNarrowing:
    """`values` are kept in 32 bits. `reads`: operations with another result that read 32-bit operands, and those of
    `values` that need exact ones; how they read them, SIGNED or UNSIGNED."""

    values: Mapping[Value, Narrow] = field(default_factory=dict)
    reads: Mapping[Op, Narrow] = field(default_factory=dict)

    def __contains__(self, value: Value) -> bool:
        return value in self.values or value in self.reads


def narrow_ints(items: Sequence[Item], results: Sequence[Value], width: int, floats: FloatFormat = F8, *,
                mask_registers: bool = True) -> IntegerNarrowing:
    """What of a flat or masked list runs in 32 bits, on registers of `width` lanes. `results` are needed whole.
    `mask_registers`: a comparison gives bits, not lanes as wide as its operands."""
    program = _Program(items, results)
    if len(program.order) > MOST_OPERATIONS or not any(value.kind is INT for value in program.order):
        return IntegerNarrowing()
    known = intervals_of_ints(items, floats)
    if known is None:
        return IntegerNarrowing()
    exact = {value: _form_of(interval) for value, interval in known.items()}
    values = _narrowable(program, exact)
    reads = _reads(program, exact, values)
    return _profitable(program, values, reads, _Prices(width, floats, mask_registers))


# --- what is known


def _form_of(interval: Interval) -> Narrow:
    form = Narrow.LOW
    if interval.low >= _LOWEST and interval.high <= _HIGHEST:
        form |= Narrow.SIGNED
    if interval.low >= 0 and interval.high < _LIMIT:
        form |= Narrow.UNSIGNED
    return form


# --- what can be narrowed


class _Program:
    """The int side of a list: `order` are operations, loop parameters and results; `sources` of the latter two are the
    values that they take; `users` of each value; `whole` is read in 64 bits by something that is none of them."""

    def __init__(self, items: Sequence[Item], results: Sequence[Value]):
        self.order: list[Value] = []
        self.sources: dict[Value, list[Value]] = {}
        self.users: dict[Value, list[Value]] = {}
        self.depths: dict[Value, int] = {}
        self.params: set[Value] = set()
        self.whole: set[Value] = set(results)
        self._note(items, 0)
        for value in self.order:
            for used in value.args if isinstance(value, Op) else self.sources[value]:
                self.users.setdefault(used, []).append(value)

    def _note(self, items: Sequence[Item], depth: int) -> None:
        for item in items:
            match item:
                case Block():
                    for op in item.ops:
                        self._add(op, depth)
                case Loop():
                    parts = take_apart(item)
                    for param, init, after in zip(item.params, item.inits, parts.next, strict=True):
                        self._add(param, depth + 1)
                        self.sources[param] = [init, after]
                        self.params.add(param)
                    self._note(parts.header, depth + 1)
                    self._note(parts.rest, depth + 1)
                    for result, value in zip(item.results, parts.leave, strict=True):
                        self._add(result, depth)
                        self.sources[result] = [value]

    def _add(self, value: Value, depth: int) -> None:
        self.order.append(value)
        self.depths[value] = depth


def _exactly(value: Value, exact: Mapping[Value, Narrow]) -> Narrow:
    if isinstance(value, Const):
        number = 0 if value.value is None else int(value.value)
        return _form_of(Interval(number, number))
    return exact.get(value, _NOT_EXACT)


def _one(form: Narrow) -> Narrow | None:
    """The way to read operands that have this in common."""
    return Narrow.SIGNED if Narrow.SIGNED in form else Narrow.UNSIGNED if Narrow.UNSIGNED in form else None


def _reading(op: Op, exact: Mapping[Value, Narrow]) -> Narrow | None:
    """How an operation in 32 bits reads its int operands, None where there is no such operation."""
    first = op.args[0]
    ints = [arg for arg in op.args if arg.kind is INT]
    match op.opcode:
        case opcode if opcode in (*LOW_BITS, "select") and op.kind is INT:
            return Narrow.LOW
        case "shl":
            return Narrow.LOW if number(op.args[1]) in range(32) else None
        case "mod" if op.kind is INT and 0 < power_of_two(op.args[1]) <= _LIMIT:
            return Narrow.LOW
        case "shr":
            return _one(_exactly(first, exact)) if number(op.args[1]) in range(32) else None
        case "floordiv" if op.kind is INT and 0 < power_of_two(op.args[1]) <= _LIMIT // 2:
            return _one(_exactly(first, exact))
        case opcode if opcode in ROUNDED:
            return Narrow.LOW if first.kind is BOOL or Narrow.SIGNED in exact[op] else None
        case "abs" | "gather" if ints:
            return Narrow.SIGNED if Narrow.SIGNED in _exactly(first, exact) else None
        case "floordiv" | "mod" | "to_float" | "exact_float" if ints:
            return _one(_common(ints, exact))
        case opcode if opcode in COMPARISONS and ints:
            return _one(_common(ints, exact))
    return None


def _common(values: Iterable[Value], exact: Mapping[Value, Narrow]) -> Narrow:
    form = Narrow.SIGNED | Narrow.UNSIGNED
    for value in values:
        form &= _exactly(value, exact)
    return form


def _narrowable(program: _Program, exact: Mapping[Value, Narrow]) -> dict[Value, Narrow]:
    """The values that 32 bits can hold: exact ones, and those of which nothing reads more."""
    found: dict[Value, Narrow] = {}
    for value in program.order:
        if value.kind is not INT:
            continue
        read = _reading(value, exact) if isinstance(value, Op) else Narrow.LOW
        if read is not None and (exact[value] or read is Narrow.LOW):
            found[value] = exact[value]
    waiting = [value for value in found if not exact[value]]
    while waiting:
        value = waiting.pop()
        if value not in found or (value not in program.whole and
                                  all(_reads_low(user, found, exact) for user in program.users.get(value, ()))):
            continue
        del found[value]
        sources = value.args if isinstance(value, Op) else program.sources[value]
        waiting += [each for each in sources if each in found and not exact[each]]
    return found


def _reads_low(user: Value, found: Mapping[Value, Narrow], exact: Mapping[Value, Narrow]) -> bool:
    """Whether a user is in 32 bits itself, and the low ones of its operands suffice."""
    return user in found and (not isinstance(user, Op) or _reading(user, exact) is Narrow.LOW)


def _reads(program: _Program, exact: Mapping[Value, Narrow], values: Mapping[Value, Narrow]) -> dict[Op, Narrow]:
    found: dict[Op, Narrow] = {}
    for op in program.order:
        if not isinstance(op, Op):
            continue
        if op in values or (op.kind is not INT and any(arg in values for arg in op.args)):
            read = _reading(op, exact)
            if read:
                found[op] = read
    return found


# --- what pays


_WITHOUT = {"mul": 4.0, "shr": 2.0, "to_float": 4.0, "exact_float": 4.0, "abs": 1.0, **dict.fromkeys(COMPARISONS, -0.5)}
"""What AVX2 has for 32-bit lanes only, in instructions more; masks have to be as wide as floats."""


@dataclass(frozen=True)
class _Prices:
    """In adds of a register of floats."""

    width: int
    floats: FloatFormat
    mask_registers: bool

    @property
    def conversion(self) -> float:
        """Between 32 and 64 bits; two registers to one and a move where floats are float32."""
        return 1.0 if self.floats is F8 else 3.0

    def saved(self, op: Op) -> float:
        """What an operation costs less. Half a register saves time where a whole one has 512 bits; where it has fewer,
        only what 64-bit lanes have no instruction for."""
        power = op.opcode in ("floordiv", "mod") and 0 < power_of_two(op.args[1]) <= _LIMIT
        wide = 1.0 if self.floats is F8 else 2.0  # registers of int64 for one of floats
        if op.opcode in ("floordiv", "mod") and not power:
            return cost_of(op, self.width) * wide / 2
        if self.floats is F8 and not self.mask_registers:
            return _WITHOUT.get(op.opcode, 0.0)
        if op.kind is FLOAT:
            return 0.0 if self.floats is F8 else wide
        if op.kind is BOOL and self.floats is not F8:
            return 2.0  # a comparison, and putting the masks of two registers together
        if op.opcode == "gather" or power:
            return wide  # the index is looked at, an item is an item; shifts and masks
        return cost_of(op, self.width) * wide / 2

    @property
    def merged(self) -> float:
        """What a loop parameter saves, of a lane that waits."""
        return 1.0 if self.floats is not F8 else 0.5 if self.mask_registers else 0.0


def _profitable(program: _Program, values: dict[Value, Narrow], reads: dict[Op, Narrow],
                prices: _Prices) -> IntegerNarrowing:
    """Those groups of values that save more than they cost."""
    inside = dict.fromkeys([*values, *reads])
    groups = _Groups(inside)
    for value in inside:
        for used in _sources(program, value):
            if used in values:
                groups.join(value, used)
    gains: dict[Value, float] = {}
    truncated: set[tuple[Value, Value]] = set()

    def add(group: Value, gain: float, place: Value) -> None:
        gains[group] = gains.get(group, 0.0) + gain * TRIPS ** program.depths.get(place, 0)

    for value in inside:
        group = groups.find(value)
        if isinstance(value, Op):
            add(group, prices.saved(value), value)
        elif value in program.params:
            add(group, prices.merged, value)
        for used in _sources(program, value):
            if used.kind is not INT or isinstance(used, Const) or used in values or (group, used) in truncated:
                continue
            truncated.add((group, used))
            add(group, -prices.conversion, used)
        if value in values and (value in program.whole or
                                any(user not in inside for user in program.users.get(value, ()))):
            add(group, -prices.conversion, value)
    kept = {group for group, gain in gains.items() if gain > (LEAST_GAIN if ways.INTS.forced is None else -inf)}
    return IntegerNarrowing({value: form for value, form in values.items() if groups.find(value) in kept},
                            {op: form for op, form in reads.items() if groups.find(op) in kept})


def _sources(program: _Program, value: Value) -> Sequence[Value]:
    return value.args if isinstance(value, Op) else program.sources[value]


class _Groups:
    """Disjoint sets of values."""

    def __init__(self, values: Iterable[Value]):
        self.parents: dict[Value, Value] = {value: value for value in values}

    def find(self, value: Value) -> Value:
        while self.parents[value] is not value:
            self.parents[value] = value = self.parents[self.parents[value]]
        return value

    def join(self, a: Value, b: Value) -> None:
        self.parents[self.find(a)] = self.find(b)


# --- the low 32 bits of whole float32 numbers, of any size, without int64
#
# A hash of a lattice point needs no more of it than these. AVX-512 converts half a register of float32 to int64 at a
# time and takes that apart again: six operations for a register. What is left of a number by the nearest multiple of
# 2**32 is exact and within int32, where its low bits are those of the number: four.

_LANES = 16


def takes_low_bits(emit: Emitter) -> bool:
    """Whether `low_bits` is for these lanes: registers of AVX-512."""
    return emit.narrow and emit.width == _LANES and processor().vector_bytes == 64


def low_bits(short: Emitter, number: Lane) -> Lane:
    """The low bits of a whole number as int32; of infinity and nan some int."""
    emit = number.emit
    multiple = emit.intrinsic("llvm.rint", number * 2.0**-32)
    rest = emit.intrinsic("llvm.fma", multiple, emit.lift(-(2.0**32), number.kind), number)
    # LLVM's own conversion says nothing of 2**31, which gives the right bits by this instruction.
    name, type_ = "llvm.x86.avx512.mask.cvttps2dq.512", short.types[INT]
    mask, nearest = ir.Constant(ir.IntType(_LANES), -1), ir.Constant(I32, 4)
    return Lane(short, INT, emit.llvm(name, type_, rest.value, ir.Constant(type_, None), mask, nearest))
