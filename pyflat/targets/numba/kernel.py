"""A kernel as an LLVM module: the inner loop of a ufunc around a function that runs gangs of lanes.

    void kernel(args, dims, steps, state)           NumPy's signature
        uniform arguments, and what depends only on them, are computed once
        feed(all lanes)                             dense operands as they lie, others by blocks (`feed`)
    i8 lanes(count, state, uniform values, pointers)    whole gangs; whether any lane was suspect, or a signal came

The floating-point status of the thread is saved around it all: what is computed for an arm that no lane takes must not
warn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
from llvmlite import ir

from pyflat.analysis.liveness import outer_values, used_outside
from pyflat.functions import libm, ways
from pyflat.functions.vmath import TABLE
from pyflat.ir.formats import F8, FloatFormat
from pyflat.ir.loops import all_ops, definitions, has_loop
from pyflat.ir.nodes import Block, Const, Item, Loop, Op, Param, Value
from pyflat.ir.ops import NUMPY_LOOPS, VECTOR
from pyflat.ir.types import BOOL, FLOAT, Kind
from pyflat.targets.numba.arms import Arm, plan_arms, with_parts
from pyflat.targets.numba.autotune import SHORT_TRIAL, TRIAL, write_choice
from pyflat.targets.numba.called_functions import ALL, called_often
from pyflat.targets.numba.compiled_kernel import ENTRY, NO_BODY, KernelBody, Pattern
from pyflat.targets.numba.conversions import as_lanes
from pyflat.targets.numba.costs import cost_of, is_called
from pyflat.targets.numba.doubtful_lanes import REGISTERS, Doubts, GangOperand, Settling, has_doubts, store_certain
from pyflat.targets.numba.emitter import Emitter, Lane, Ranges, size_of, types_of
from pyflat.targets.numba.feed import LINE, SLOT, SUSPECTS
from pyflat.targets.numba.feed_calls import Wanted, write_feed
from pyflat.targets.numba.integer_narrowing import IntegerNarrowing, narrow_ints
from pyflat.targets.numba.lane_regrouping import Regrouping, Waiting, can_wait, plan_regrouping
from pyflat.targets.numba.library import is_vector_function, library_function
from pyflat.targets.numba.llvm import I1, I8, I32, I64, POINTER, counted, element_at, i64, parted, stack
from pyflat.targets.numba.loop_variance import operand_ranges, suspect_values
from pyflat.targets.numba.loops import Gang, Interrupts
from pyflat.targets.numba.refill import Divergent, Refilled, divergent
from pyflat.targets.numba.symbols import Symbols
from pyflat.targets.numba.vector_math import is_without_branch

PART = 16
"""Bytes of a store that lies in one cache line wherever NumPy has put an array."""


@dataclass(frozen=True)
class LaneLoop:
    """What one compiled loop computes: `roots` are stored, `suspect` is counted in the state."""

    params: tuple[Param, ...]
    items: tuple[Item, ...]
    roots: tuple[Value, ...]
    suspect: Value | None
    floats: FloatFormat = F8
    stored: Mapping[Param, np.dtype[Any]] = field(default_factory=dict)
    """The parameters that are read from memory of another dtype than their lanes have."""
    body: KernelBody = NO_BODY
    """Of a loop of a kernel over arrays, if it is that."""

    @cached_property
    def size(self) -> int:
        return sum(1 for _ in all_ops(list(self.items)))

    @cached_property
    def ranges(self) -> Ranges:
        return ranges_of(self)

    @cached_property
    def called_often(self) -> frozenset[str]:
        ops = list(all_ops(list(self.items)))
        often = called_often(ops)
        if ways.FUNCTIONS.first(bool(often)):
            return often or frozenset(op.opcode for op in ops)
        return frozenset()

    @property
    def results(self) -> tuple[Value, ...]:
        return self.roots if self.suspect is None else (*self.roots, self.suspect)


@dataclass(frozen=True, slots=True)
class Shape:
    """A gang: registers, and lanes in each."""

    width: int
    registers: int

    second_way: bool = True
    """Whether lanes may wait for each other, or get other elements, where the data make that faster."""

    @property
    def lanes(self) -> int:
        return self.width * self.registers

    @property
    def smallest(self) -> Shape:
        """One register, and one way."""
        return replace(self, registers=1, second_way=False)


LOOP_REGISTERS = 4
"""Registers of lanes that run a loop together. Each trip waits for the one before, and the others fill the gaps; more
of them make more lanes wait for the last one, and push values out of the registers. On a Zen 5, of 1, 2, 3, 4 and 6,
four were the fastest or within the noise of it on six of eight loops in float64 and on seven in float32: up to 1.26
times as fast as three."""

STRAIGHT_REGISTERS, MOST_STRAIGHT = 2, 400
"""Registers in straight-line code of up to so many operations: two registers load each literal once, and fill the gaps
of each other's chains. On a Zen 5, of 1, 2, 3, 4 and 6 on ten kernels in both types, the geomean was 1.08 and 1.10
times that of one register; three were better on Black and Scholes (another 1.18) and worse on others."""


MORE_REGISTERS, MOSTLY, LIGHT = 4, 0.25, 64
"""Registers where elementary functions without a branch are more than this share of the cost: on a Zen 5 another 1.09
and 1.16 (Black and Scholes, sRGB; in float32 1.12 and 1.08). And for up to so many operations of which none is
expensive, where what surrounds them counts: another 1.06 to 1.22 (a piecewise function, regions of a steam table)."""
SHORT = 40.0
"""Adds of a function whose branch is left out, for operands in an interval, up to which it counts among these: sine
and cosine, by which distances on the earth become another 1.08 to 1.17 times as fast, and not the tangent, whose chains
four registers do not hold (0.72)."""
MANY_ARMS = 4
"""With so many arms few lanes run together: where none takes any, the tests are what counts, and where one lane in a
hundred does, two registers were 1.4 times as fast as four on a Zen 4."""
EXPENSIVE = 5.0
"""A division, a root, a function."""

LARGE = 1_000
"""With more operations than this there is one register and one way: written eight times, for four registers and two
ways, 7,400 operations took LLVM 17 s and ran in 1.70 ms, written once 0.8 s and 1.72 ms."""


def choose_shape(kernel: LaneLoop, vector_bytes: int) -> Shape:
    """Vectors of the machine's width, as many as the kernel keeps busy. A loop that mostly calls functions lane by lane
    gains nothing by lanes that wait for each other: one lane then."""
    inside = [op for item in kernel.items if isinstance(item, Loop) for op in all_ops([item])]
    called = sum(cost_of(op, 1) for op in inside if is_called(op))
    if 2 * called > sum(cost_of(op, 1) for op in inside):
        return Shape(1, 1)
    if kernel.size > LARGE:
        registers = 1
    elif ways.REGISTERS.forced is not None:
        registers = {"one": 1, "two": 2, "four": 4}[ways.REGISTERS.forced]
    elif has_loop(list(kernel.items)):
        registers = LOOP_REGISTERS
    elif kernel.size > MOST_STRAIGHT:
        registers = 1
    elif _is_light(kernel) or (_mostly_functions(kernel) and _arms(kernel, vector_bytes) < MANY_ARMS):
        registers = MORE_REGISTERS
    else:
        registers = STRAIGHT_REGISTERS
    return Shape(vector_bytes // _lane_bytes(kernel), registers)


def _arms(kernel: LaneLoop, vector_bytes: int) -> int:
    """How many arms straight-line code gets, one after the other."""
    width, outside = vector_bytes // _lane_bytes(kernel), used_outside(kernel.items, kernel.results)
    plans = [plan_arms(item.ops, [op for op in item.ops if op in outside], width)
             for item in kernel.items if isinstance(item, Block)]
    return sum(isinstance(step, Arm) for plan in plans for step in plan or ())


def _mostly_functions(kernel: LaneLoop) -> bool:
    costs = {op: cost_of(op, 1) for op in all_ops(list(kernel.items))}
    return sum(costs[op] for op in costs if _gains_by_many(kernel, op)) > MOSTLY * sum(costs.values())


def _gains_by_many(kernel: LaneLoop, op: Op) -> bool:
    """A function without a branch, one whose branch lanes take so seldom that they had better take it together, or one
    that is called once for all lanes."""
    if op.opcode in VECTOR:
        name, within = op.opcode.removeprefix("vec_"), kernel.ranges.get(op, ())
        return TABLE[name].far is None or (
            cost_of(op, 1) <= SHORT and is_without_branch(name, within, types_of(kernel.floats)[FLOAT]))
    return op.opcode in NUMPY_LOOPS or library_function(op) is not None


def _is_light(kernel: LaneLoop) -> bool:
    return kernel.size <= LIGHT and all(cost_of(op, 1) < EXPENSIVE for op in all_ops(list(kernel.items)))


def _lane_bytes(kernel: LaneLoop) -> int:
    """What a register is divided by: lanes of float32 fill it, and their ints have two."""
    values = [*kernel.params, *all_ops(list(kernel.items))]
    return 4 if kernel.floats is not F8 and any(value.kind is FLOAT for value in values) else 8


def arms_waited(kernel: LaneLoop, shape: Shape) -> int:
    """Arms for which lanes wait, with all arguments varying."""
    regrouping = _regrouping(kernel, shape, list(kernel.items), [], list(kernel.params))
    return 0 if regrouping is None else len(regrouping.arms)


def refills(kernel: LaneLoop, shape: Shape) -> bool:
    """Whether lanes that are done with a loop may get other elements, with all arguments varying."""
    items = list(kernel.items)
    marked = suspect_values(items, kernel.suspect)
    return shape.width > 1 and kernel.size <= LARGE and divergent(items, kernel.results, set(), marked) is not None


def _regrouping(kernel: LaneLoop, shape: Shape, items: list[Item], shared: Sequence[Value], varying: Sequence[Param]
                ) -> Regrouping | None:
    if not shape.second_way or kernel.stored or kernel.size > LARGE or ways.REGROUP.forced == "plain":
        return None
    if not can_wait(shape.width, [_memory(kernel, param) for param in varying]):
        return None  # lanes wait in memory as lanes
    return plan_regrouping(items, kernel.results, shared, varying, shape.width, shape.registers)


def write_kernel(kernel: LaneLoop, pattern: Pattern, shape: Shape) -> tuple[str, Symbols]:
    """The text of the module, and the addresses of the functions and tables that it names."""
    module, symbols = ir.Module("pyflat"), Symbols()
    symbols.flags_stay = kernel.body.raises
    uniform = {p for p, same in zip(kernel.params, pattern, strict=True) if same}
    hoisted, inner = split_uniform(kernel.items, uniform)
    computed = uniform.union(definitions(hoisted))
    shared = with_parts(value for value in outer_values(inner, kernel.results) if value in computed)
    varying = [param for param in kernel.params if param not in uniform]
    lanes = _write_lanes(module, symbols, kernel, shape, shared, varying, inner)
    _Entry(module, symbols, kernel, uniform).write(hoisted, shared, lanes)
    return str(module), symbols


def _write_lanes(module: ir.Module, symbols: Symbols, kernel: LaneLoop, shape: Shape, shared: list[Value],
                 varying: list[Param], inner: list[Item]) -> ir.Function:
    """The function that runs lanes of the kernel's operands. Where lanes that are done with a loop could get other
    elements, or lanes could wait for an expensive arm, it has two ways to choose from."""
    parts = None
    if shape.second_way and shape.width > 1 and kernel.size <= LARGE and ways.REFILL.forced != "plain":
        parts = divergent(inner, kernel.results, set(shared), suspect_values(inner, kernel.suspect))
    narrowed = narrowed_of(kernel, shape)
    ways.note(ways.INTS.name, "narrowed" if narrowed.values else "wide")
    regrouping = _regrouping(kernel, shape, inner, shared, varying)
    differ = set(varying)
    sizes = [size_of(_element(kernel, param)) if param in differ else 0 for param in kernel.params]
    sizes += [size_of(_memory(kernel, root)) for root in kernel.roots]

    def fed(lanes: ir.Function, wanted: Mapping[int, Wanted] | None = None) -> ir.Function:
        return write_feed(lanes, sizes, len(kernel.roots), shape.lanes, wanted or {})

    def lanes(name: str, of: Shape = shape) -> _Lanes:
        return _Lanes(module, symbols, kernel, of, shared, varying, name)

    if parts is not None:
        plain = lanes("plain").write(inner, narrowed, regrouping)
        other = lanes("refilled").write_refilled(parts, narrowed)
    elif regrouping is not None:
        plain = lanes("plain").write(inner, narrowed, None)
        other = lanes("queued").write(inner, narrowed, regrouping)
    elif ways.DOUBTS.first(shape.second_way) and has_doubts(
            inner, len(varying) + len(kernel.roots), kernel.floats, shape.width):
        settled = lanes("settled", Shape(shape.width, REGISTERS)).write_settled(inner, narrowed)
        return fed(lanes("lanes").write_noting(inner, narrowed, settled))
    else:
        alone = lanes("lanes")
        return fed(alone.write(inner, narrowed, None), alone.wanted)
    trial = shape.lanes * (TRIAL if has_loop(inner) else SHORT_TRIAL)
    return write_choice(fed(plain), fed(other), trial, ways.REGROUP if parts is None else ways.REFILL, shape.lanes)


def ranges_of(kernel: LaneLoop) -> Ranges:
    """Where the operands of elementary functions lie that have vector code."""
    if kernel.size > LARGE:
        return {}
    return operand_ranges(kernel.items, kernel.results, kernel.suspect, kernel.floats, is_vector_function)


def narrowed_of(kernel: LaneLoop, shape: Shape) -> IntegerNarrowing:
    """The ints that lanes of this shape keep in 32 bits. The widest vectors (AVX-512) have registers for masks."""
    if shape.width == 1 or ways.INTS.forced == "wide":
        return IntegerNarrowing()
    lane_bytes = _lane_bytes(kernel)
    floats = F8 if lane_bytes == 8 else kernel.floats
    masks = shape.width * lane_bytes == 64
    return narrow_ints(kernel.items, kernel.results, shape.width, floats, mask_registers=masks)


def split_uniform(items: Sequence[Item], uniform: set[Param]) -> tuple[list[Item], list[Item]]:
    """What depends only on operands that are the same in all lanes, and the rest; loops as a whole."""
    known: set[Value] = set(uniform)
    hoisted: list[Item] = []
    inner: list[Item] = []
    for item in items:
        match item:
            case Block():
                early, late = Block(), Block()
                for op in item.ops:
                    same = all(isinstance(a, Const) or a in known for a in op.args)
                    (early if same else late).ops.append(op)
                    known.update([op] if same else [])
                hoisted.append(early)
                inner.append(late)
            case Loop():
                outer = outer_values([item], [])
                same = known.issuperset(outer)
                (hoisted if same else inner).append(item)
                known.update(item.results if same else [])
    return hoisted, inner


def _memory(kernel: LaneLoop, value: Value | Lane) -> ir.Type:
    """Bools are bytes in memory."""
    return I8 if value.kind is BOOL else types_of(kernel.floats)[value.kind]


def _element(kernel: LaneLoop, param: Param) -> ir.Type:
    """What a varying parameter is read from."""
    stored = kernel.stored.get(param)
    return _memory(kernel, param) if stored is None else ir.IntType(8 * stored.itemsize)


def _scalar(emitter: Emitter, kind: Kind, place: Any) -> Lane:
    """What is the same in all lanes, from memory."""
    builder = emitter.builder
    loaded = builder.load(place, typ=I8 if kind is BOOL else emitter.scalars[kind])
    if kind is BOOL:
        loaded = builder.icmp_unsigned("!=", loaded, ir.Constant(I8, 0))
    return Lane(emitter, kind, loaded)


def _in_memory(lane: Lane) -> Any:
    return lane.emit.builder.zext(lane.value, lane.emit.widened(I8)) if lane.kind is BOOL else lane.value


class _Lanes:
    """Writes a function that runs whole gangs."""

    def __init__(self, module: ir.Module, symbols: Symbols, kernel: LaneLoop, shape: Shape, shared: list[Value],
                 varying: list[Param], name: str):
        self.kernel, self.shape, self.shared, self.varying = kernel, shape, shared, varying
        self.function = ir.Function(module, ir.FunctionType(I8, [I64, POINTER, POINTER, POINTER]), name)
        self.function.linkage = "internal"
        self.function.attributes.add("noinline")
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.emitter = Emitter(self.builder, symbols, shape.width, types_of(kernel.floats), ranges=kernel.ranges,
                               calls=kernel.called_often if shape.second_way else ALL)
        self.wanted: dict[int, Wanted] = {}
        """Operands that no lane reads where conditions of uniform values say so, by their number."""

    def write_settled(self, inner: list[Item], narrowed: IntegerNarrowing) -> ir.Function:
        self.emitter.doubts, self.emitter.calls = Doubts(), ALL
        return self.write(inner, narrowed, None)

    def write_noting(self, inner: list[Item], narrowed: IntegerNarrowing, settled: ir.Function) -> ir.Function:
        mask, registers = self.emitter.types[BOOL], range(self.shape.registers)
        self.emitter.doubts = Doubts([stack(self.builder, mask) for _ in registers], mask)
        return self.write(inner, narrowed, None, settled)

    def write(self, inner: list[Item], narrowed: IntegerNarrowing, regrouping: Regrouping | None,
              settled: ir.Function | None = None) -> ir.Function:
        builder, emitter, kernel = self.builder, self.emitter, self.kernel
        count, state, shared, pointers = self._operands()
        suspects = stack(builder, emitter.types[BOOL])
        builder.store(emitter.const(BOOL, False).value, suspects)
        finish = builder.append_basic_block("finish")
        interrupts = Interrupts(emitter, state, finish) if has_loop(inner) else None
        memory = [_element(kernel, param) for param in self.varying]
        marked, outside = suspect_values(inner, kernel.suspect), used_outside(inner, kernel.results)
        gang = Gang(emitter, self.shape.registers, interrupts, shared, marked, outside, narrowed)
        gang.body = kernel.body
        found = stack(builder, I8)
        builder.store(ir.Constant(I8, 0), found)
        if settled is not None:
            with self._settling(settled, memory).gangs(count, self.function.args[1:], found) as start:
                self._gang(gang, inner, pointers, start, suspects)
        elif regrouping is None:
            with counted(builder, count, self.shape.lanes) as start:
                self._gang(gang, inner, pointers, start, suspects)
        else:
            self._with_regrouping(gang, inner, regrouping.early, Waiting(gang, regrouping, memory, count), pointers,
                                  suspects)
        builder.branch(finish)
        builder.position_at_end(finish)
        flags = builder.zext(emitter.any(builder.load(suspects, typ=emitter.types[BOOL])), I8)
        flags = builder.or_(flags, builder.load(found, typ=I8))
        builder.ret(flags if interrupts is None else builder.or_(flags, builder.load(interrupts.left_early, typ=I8)))
        return self.function

    def _settling(self, settled: ir.Function, memory: Sequence[ir.Type]) -> Settling:
        kernel, doubts = self.kernel, self.emitter.doubts
        assert doubts is not None
        numbers = {param: k for k, param in enumerate(kernel.params)}
        inputs = [GangOperand(numbers[param], element) for param, element in zip(self.varying, memory, strict=True)]
        outputs = [GangOperand(len(numbers) + k, _memory(kernel, root)) for k, root in enumerate(kernel.roots)]
        return Settling(self.emitter, doubts, self.shape.lanes, settled, inputs, outputs)

    @property
    def notes(self) -> Doubts | None:
        """Where doubtful lanes are noted, if they are."""
        doubts = self.emitter.doubts
        return None if doubts is None or doubts.are_settled else doubts

    def _operands(self) -> tuple[Any, Any, dict[Value, Lane], list[Any]]:
        """The number of elements, the state, what is the same in all lanes, and the arrays."""
        builder, kernel = self.builder, self.kernel
        count, state, uniforms, places = self.function.args
        shared = {value: _scalar(self.emitter, value.kind, element_at(builder, uniforms, i64(SLOT * k), I8))
                  for k, value in enumerate(self.shared)}
        results = range(len(kernel.params), len(kernel.params) + len(kernel.roots))
        varying = set(self.varying)
        numbers = [*[k for k, param in enumerate(kernel.params) if param in varying], *results]
        pointers = [builder.load(element_at(builder, places, i64(k), POINTER), typ=POINTER) for k in numbers]
        return count, state, shared, pointers

    def write_refilled(self, parts: Divergent, narrowed: IntegerNarrowing) -> ir.Function:
        count, state, shared, pointers = self._operands()
        inputs = list(zip(self.varying, pointers))  # noqa: B905 - the results follow
        outputs = list(zip(self.kernel.roots, pointers[len(self.varying):], strict=True))
        Refilled(self.emitter, parts, shared, inputs, outputs, self.kernel.suspect, narrowed).write(count, state)
        return self.function

    def _gang(self, gang: Gang, items: list[Item], pointers: Sequence[Any], start: Any, suspects: Any) -> None:
        places = [element_at(self.builder, pointer, start, _element(self.kernel, param))
                  for param, pointer in zip(self.varying, pointers, strict=False)]
        if has_loop(items):
            self._load_params(gang, places)
        else:
            gang.loads.update(zip(self.varying, map(self._loader, self.varying, places), strict=True))
        gang.emit(items)
        self._store_results(gang, pointers[len(self.varying):], start)
        self._note_suspects(gang, suspects)
        if gang.loads:
            self._note_wanted(gang)

    def _note_wanted(self, gang: Gang) -> None:
        numbers, slots = ({value: k for k, value in enumerate(values)} for values in (self.kernel.params, self.shared))
        read = {param: gang.loaded.get(param, {}) for param in self.varying}
        self.wanted = {numbers[param]: [[(slots[value], holds) for value, holds in known] for known in each]
                       for param, each in read.items() if () not in each}

    def _with_regrouping(self, gang: Gang, items: list[Item], early: list[Item], waiting: Waiting,
                         pointers: Sequence[Any], suspects: Any) -> None:
        """Gangs of lanes as they come, and of lanes that have waited for each other."""
        operands, results = pointers[: len(self.varying)], pointers[len(self.varying):]
        with waiting.gangs(operands) as places:
            self._load_params(gang, places)
            around = gang.outside
            gang.outside = around | waiting.regrouping.conditions  # none of them may be left to an arm
            gang.emit(early)
            gang.outside = around
            waiting.defer(gang, self.varying)
            gang.emit(items)
            self._note_suspects(gang, suspects)
            with self.builder.if_else(waiting.queued) as (then, otherwise):
                with then:
                    waiting.scatter([([_in_memory(gang.read(r, root)) for r in gang.registers],
                                      _memory(self.kernel, root), target)
                                     for root, target in zip(self.kernel.roots, results, strict=True)])
                with otherwise:
                    self._store_results(gang, results, waiting.start)

    def _load_params(self, gang: Gang, places: Sequence[Any]) -> None:
        for r, lanes in enumerate(gang.sets):
            for param, place in zip(self.varying, places, strict=True):
                lanes[param] = self._load(param, place, i64(r * self.shape.width))

    def _loader(self, param: Param, place: Any) -> Callable[[int], Lane]:
        return lambda register: self._load(param, place, i64(register * self.shape.width))

    def _store_results(self, gang: Gang, pointers: Sequence[Any], start: Any) -> None:
        """Several results that do not all begin at a cache line are stored in parts, of which none lies in two."""
        builder = self.builder
        rows = [(builder.add(start, i64(r * self.shape.width)), r,
                 [gang.read(r, root) for root in self.kernel.roots]) for r in gang.registers]

        def write(store: Callable[[Lane, Any, Any, int], None]) -> None:
            for first, r, lanes in rows:
                for lane, pointer in zip(lanes, pointers, strict=True):
                    store(lane, pointer, first, r)

        if self.notes or len(pointers) < 2 or self.shape.width * _lane_bytes(self.kernel) < LINE:
            write(self._store)
            return
        addresses = reduce(builder.or_, [builder.ptrtoint(pointer, I64) for pointer in pointers])
        apart = builder.icmp_unsigned("!=", builder.and_(addresses, i64(LINE - 1)), i64(0))
        if ways.STORES.forced is not None:
            apart = ir.Constant(I1, ways.STORES.first(True))
        with builder.if_else(apart) as (then, otherwise):
            with then:
                write(self._store_in_parts)
            with otherwise:
                write(self._store)

    def _store_in_parts(self, lane: Lane, pointer: Any, start: Any, register: int) -> None:
        """By 16 bytes, to which NumPy's arrays are aligned."""
        element = _memory(self.kernel, lane)
        lanes = PART // size_of(element)
        if lane.kind is BOOL or lanes >= self.shape.width:
            self._store(lane, pointer, start, register)
            return
        for k, part in enumerate(parted(self.builder, lane.value, lanes)):
            place = element_at(self.builder, pointer, self.builder.add(start, i64(k * lanes)), element)
            self.builder.store(part, place, align=size_of(element))

    def _note_suspects(self, gang: Gang, suspects: Any) -> None:
        if self.kernel.suspect is None:
            return
        for r in gang.registers:
            seen = self.builder.load(suspects, typ=self.emitter.types[BOOL])
            found = gang.read(r, self.kernel.suspect).value
            found = found if gang.active[r] is None else self.builder.and_(found, gang.active[r])
            if self.notes:
                found = self.builder.and_(found, self.builder.not_(self.notes.of(self.emitter, r)))
            self.builder.store(self.builder.or_(seen, found), suspects)

    def _load(self, param: Param, pointer: Any, start: Any) -> Lane:
        element, stored = _element(self.kernel, param), self.kernel.stored.get(param)
        place = element_at(self.builder, pointer, start, element)
        loaded = self.builder.load(place, typ=self.emitter.widened(element), align=size_of(element))
        if stored is not None:
            lane, width = self.emitter.scalars[param.kind], self.emitter.width
            loaded = as_lanes(self.builder, loaded, stored, lane, width, swapped=not stored.isnative)
        elif param.kind is BOOL:
            loaded = self.builder.icmp_unsigned("!=", loaded, self.emitter.splat(ir.Constant(I8, 0)))
        return Lane(self.emitter, param.kind, loaded)

    def _store(self, lane: Lane, pointer: Any, start: Any, register: int) -> None:
        element = I8 if lane.kind is BOOL else types_of(self.kernel.floats)[lane.kind]
        place = element_at(self.builder, pointer, start, element)
        if self.notes:
            doubtful = self.notes.of(self.emitter, register)
            store_certain(self.emitter, _in_memory(lane), place, size_of(element), doubtful)
        else:
            self.builder.store(_in_memory(lane), place, align=size_of(element))


class _Entry:
    """Writes the function that NumPy calls."""

    def __init__(self, module: ir.Module, symbols: Symbols, kernel: LaneLoop, uniform: set[Param]):
        self.kernel, self.uniform = kernel, uniform
        self.function = ir.Function(module, ir.FunctionType(ir.VoidType(), [POINTER] * 4), ENTRY)
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.emitter = Emitter(self.builder, symbols, 1, types_of(kernel.floats), ranges=kernel.ranges)

    def write(self, hoisted: list[Item], shared: list[Value], lanes: ir.Function) -> None:
        builder, kernel = self.builder, self.kernel
        args, dims, steps, state = self.function.args
        total = builder.load(dims, typ=I64)
        start = builder.block.instructions[-1]
        finish = builder.append_basic_block("finish")
        interrupts = Interrupts(self.emitter, state, finish) if has_loop(list(kernel.items)) else None
        gang = Gang(self.emitter, 1, interrupts, {}, set(), used_outside(hoisted, shared), IntegerNarrowing())
        for k, param in enumerate(kernel.params):
            if param in self.uniform:
                place = builder.load(element_at(builder, args, i64(k), POINTER), typ=POINTER)
                gang.sets[0][param] = _scalar(self.emitter, param.kind, place)
        gang.emit(hoisted)
        uniforms = stack(builder, I64, len(shared))
        for k, value in enumerate(shared):
            builder.store(_in_memory(gang.read(0, value)), element_at(builder, uniforms, i64(k), I64))
        flags = builder.call(lanes, [total, i64(0), state, uniforms, args, steps])
        with builder.if_then(builder.trunc(flags, I1), likely=False):
            builder.atomic_rmw("add", element_at(builder, state, i64(SUSPECTS), I64), i64(1), "monotonic")
        builder.branch(finish)
        if kernel.body.raises:
            builder.position_at_end(finish)
        else:
            self._keep_status(start, finish)
        builder.ret_void()

    # --- the floating-point status of the thread: what a kernel raises, stays inside

    def _keep_status(self, start: Any, finish: Any) -> None:
        """Save it behind `start`, restore it in `finish`. Functions of the C library may use more than the vector unit
        has, whose own register costs a tenth of the whole."""
        called = [name for name in self.emitter.symbols if not name.startswith("Py")]
        vector_unit = libm.X86 and not called
        save, restore = ("llvm.x86.sse.stmxcsr", "llvm.x86.sse.ldmxcsr") if vector_unit else ("fegetenv", "fesetenv")
        self.builder.position_after(start)
        buffer = self.builder.alloca(I64, libm.FENV_BYTES // 8)
        buffer.type = POINTER
        self._status_call(save, buffer)
        self.builder.position_at_end(finish)
        self._status_call(restore, buffer)

    def _status_call(self, name: str, buffer: Any) -> None:
        if not name.startswith("llvm."):
            self.emitter.call(name, libm.library_symbol(name), buffer, result=I32, pure=False)
            return
        known = self.function.module.globals.get(name)
        kind = ir.FunctionType(ir.VoidType(), [POINTER])
        self.builder.call(known or ir.Function(self.function.module, kind, name), [buffer])
