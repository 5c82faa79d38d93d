"""Parallel loops whose body is a flat function: blocks of iterations run as its lanes, by the engine of twins.

    while i < upper:
        x = &a[i], or the numbers of a block that are not lanes as they lie, copied
        body(x, ..., results)                       the inner loop of the function's own engine
        if a lane is suspect, or a signal came: the careful version says what happens
        stores of the results, where they were not written in place

The engine has what the code around lanes of a kernel has not: branches around arms, lanes that wait or get new
elements, narrow ints. What is cheap in every lane is left to LLVM, which makes vectors of it in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from functools import cache
from typing import Any

from llvmlite import ir

from pyflat.analysis.kernels import Kernel
from pyflat.analysis.parallel_loops import carries_memory_only, is_alone_parallel
from pyflat.functions import ways
from pyflat.ir.affine import affine, places
from pyflat.ir.loops import Counted, all_ops, definitions, has_loop, recognise_counted
from pyflat.ir.memory import may_warn
from pyflat.ir.nodes import Loop, Op, Param, Value, innermost, raises
from pyflat.ir.types import BOOL, FLOAT, INT, MEMORY, Kind
from pyflat.passes.outline import Outlined, outlined
from pyflat.targets.numba import engine
from pyflat.targets.numba.compiled_kernel import InnerLoop, KernelBody, Pattern
from pyflat.targets.numba.costs import cost_of
from pyflat.targets.numba.emitter import Lane
from pyflat.targets.numba.feed import INTERRUPTED, SUSPECTS
from pyflat.targets.numba.kernels.operations import KernelOperations
from pyflat.targets.numba.kernels.places import CONTIGUOUS, ROWS
from pyflat.targets.numba.kernels.removable import removable
from pyflat.targets.numba.llvm import I8, I64, POINTER, counted, element_at, i64, stack
from pyflat.targets.numba.numpy_loops import calls_numpy

AT_ONCE = 1024
"""Iterations of a block that is copied: with what it is copied from, it stays in the second-level cache."""
EXPENSIVE = 10.0
"""Adds that an operation costs which LLVM makes no vectors of. NumPy's functions alone are called for lanes of a kernel
as well, and of float32 in half the time."""
_LANES = {"f8": FLOAT, "i8": INT, "b1": BOOL}
"""Dtypes whose elements are lanes as they lie."""


@dataclass(frozen=True, slots=True)
class OutlinedLoop:
    """A loop, its body, and the engine that runs that. `indices` are inside, which is tested before."""

    loop: Loop
    counted: Counted
    body: Outlined
    inner: InnerLoop
    indices: frozenset[Op]
    number: int
    uniform: Pattern
    asks: KernelBody

    @property
    def raises(self) -> bool:
        """An iteration may raise by itself, after which others have stored."""
        return raises(self.loop.body)


def plan_outlined(kernel: Kernel, warns: bool) -> dict[Loop, OutlinedLoop]:
    """The loops whose bodies run as flat functions. `warns`: flags that operations raise are looked at."""
    @cache
    def lost() -> Set[Value]:
        return set[Value]().union(*removable(kernel.function, kernel.indices.here, flat=True)) if warns else set()

    return innermost(kernel.function.body, lambda loop, number: _planned(kernel, loop, number, warns, lost))


def _planned(kernel: Kernel, loop: Loop, number: int, warns: bool, lost: Callable[[], Set[Value]]
             ) -> OutlinedLoop | None:
    counted, body = recognise_counted(loop), loop.body[2:]
    ops = list(all_ops(body))
    if counted is None or counted.step != 1 or not carries_memory_only(loop, counted):
        return None
    worth = has_loop(body) or not any(map(calls_numpy, ops)) and any(cost_of(op, 1) >= EXPENSIVE for op in ops)
    if not worth and ways.KERNEL_BODIES.forced is None:
        return None
    if not is_alone_parallel(loop, counted, kernel.surroundings()):
        return None
    found = outlined(kernel.function.name, body, loop, kept=lost() & {*definitions(body)},
                     fast=kernel.fast)
    if found is None or not found.stores or not found.function.params:
        return None
    outside = {*definitions(loop.body)} - {counted.iv}
    if outside & set(found.given):
        return None
    uniform = (*[False] * len(found.loads), *[value is not counted.iv for value in found.given])
    asks = KernelBody(warns and any(may_warn(op.opcode, op.kind) for op in all_ops(found.function.body)), found.endless)
    inner = engine.compile(found.function, body=asks).inner_loop(uniform)
    indices = frozenset(op for op in ops if op.opcode == "index")
    return None if inner is None else OutlinedLoop(loop, counted, found, inner, indices, number, uniform, asks)


def write_outlined(code: KernelOperations, plan: OutlinedLoop) -> None:
    """The iterations of a plan's loop, at the place of the code's builder; the counter has its last value then."""
    _BodyWriter(code, plan).write()


def is_in_place(code: KernelOperations, plan: OutlinedLoop) -> bool:
    """Whether a plan's function reads and writes the arrays themselves."""
    return _BodyWriter(code, plan).in_place


class _BodyWriter:
    def __init__(self, code: KernelOperations, plan: OutlinedLoop):
        self.code, self.plan, self.b = code, plan, code.builder
        self.iv = plan.counted.iv
        memories = code.apart.memories
        stored = {memories[op.attr("array")] for op in plan.body.stores}
        read = {memories[op.attr("array")] for op in plan.body.loads}
        self.operands = [self._is_in_place(op) for op in plan.body.loads]
        self.results = [self._is_in_place(op) and memories[op.attr("array")] not in read
                        and len(stored) == len(plan.body.stores) for op in plan.body.stores]
        self.unread = len(plan.body.function.result_kinds) - 1 - len(plan.body.stores)
        varying = [value for value in plan.body.given if value is self.iv]
        self.in_place = all(self.operands) and all(self.results) and not varying and not self.unread

    def _is_in_place(self, access: Op) -> bool:
        """Its elements lie one after the other, as lanes do."""
        place, (*rows, last) = self.code.places.of[access.attr("array")], places(access)
        forms = [affine(each) for each in rows]
        form = affine(last)
        return place.dtype in _LANES and place.layout in (CONTIGUOUS, ROWS) and not place.ring and (
            form is not None and form[0].get(self.iv) == 1) and all(
            each is not None and self.iv not in each[0] for each in forms)

    def write(self) -> None:
        b, code, plan = self.b, self.code, self.plan
        loop = plan.loop
        first = code.lane(loop.inits[loop.params.index(self.iv)]).value
        upper = code.lane(plan.counted.upper).value
        for param in loop.params:
            code.values[param] = None
        there = [*self.operands, *self.results, *[False] * self.unread]
        buffers = [None if each else stack(b, I64, AT_ONCE) for each in there]
        scalars = {value: stack(b, I64) for value in plan.body.given if value is not self.iv}
        counters = stack(b, I64, AT_ONCE) if self.iv in plan.body.given else None
        for value, place in scalars.items():
            self._put(place, i64(0), code.lane(value))
        if self.in_place:
            count = b.sub(upper, first)
            with b.if_then(b.icmp_signed(">", count, i64(0))):
                self._block(first, count, buffers, scalars, counters)
        else:
            with counted(b, upper, AT_ONCE, first) as start:
                left = b.sub(upper, start)
                count = b.select(b.icmp_signed("<", left, i64(AT_ONCE)), left, i64(AT_ONCE))
                self._block(start, count, buffers, scalars, counters)
        last = b.select(b.icmp_signed(">", upper, first), upper, first)
        code.values[self.iv] = Lane(code.e, INT, last)

    def _block(self, start: Any, count: Any, buffers: list[Any], scalars: Mapping[Value, Any], counters: Any) -> None:
        b, code, body = self.b, self.code, self.plan.body
        places_: list[Any] = []
        for access, buffer in zip(body.loads, buffers, strict=False):
            if buffer is None:
                places_.append(self._address(access, start))
                continue
            with counted(b, count) as k:
                code.values[self.iv] = Lane(code.e, INT, b.add(start, k, flags=["nsw"]))
                load = self._accessed(access)
                self._put(buffer, k, code.lane(load))
            places_.append(buffer)
        for value in body.given:
            if value is self.iv:
                with counted(b, count) as k:
                    self._put(counters, k, Lane(code.e, INT, b.add(start, k, flags=["nsw"])))
            places_.append(counters if value is self.iv else scalars[value])
        outs = buffers[len(body.loads):]
        stored = [self._address(op, start) if out is None else out for op, out in zip(body.stores, outs, strict=False)]
        places_ += [*stored, *outs[len(stored):]]
        self._call(places_, count)
        for op, out in zip(body.stores, outs, strict=False):
            if out is not None:
                with counted(b, count) as k:
                    code.values[self.iv] = Lane(code.e, INT, b.add(start, k, flags=["nsw"]))
                    self._stored(op, self._get(out, k, op.args[-1].kind))

    def _positions(self, access: Op) -> None:
        """Where an element is, at the counter of now."""
        waiting, needed = list(places(access)), list[Op]()
        inside = {*all_ops(self.plan.loop.body[2:])}
        while waiting:
            value = waiting.pop()
            if isinstance(value, Op) and value in inside:
                needed.append(value)
                waiting += value.args
        for op in reversed(needed):
            self.code.op(op)

    def _accessed(self, access: Op) -> Op:
        self._positions(access)
        load = access
        if access.opcode == "store":
            load = Op("load", access.args[:-1], access.args[-1].kind, attrs=access.attrs)
        self.code.op(load)
        return load

    def _stored(self, store: Op, lane: Lane) -> None:
        self._positions(store)
        number = Param(lane.kind)
        self.code.values[number] = lane
        self.code.op(Op("store", (*store.args[:-1], number), MEMORY, attrs=store.attrs))

    def _address(self, access: Op, start: Any) -> Any:
        self.code.values[self.iv] = Lane(self.code.e, INT, start)
        self._positions(access)
        return self.code.places.address(access.attr("array"), [self.code.lane(each) for each in places(access)])

    # --- lanes in memory
    def _element(self, kind: Kind) -> Any:
        return I8 if kind is BOOL else self.code.e.scalars[kind]

    def _put(self, buffer: Any, k: Any, lane: Lane) -> None:
        value = self.b.zext(lane.value, I8) if lane.kind is BOOL else lane.value
        self.b.store(value, element_at(self.b, buffer, k, self._element(lane.kind)))

    def _get(self, buffer: Any, k: Any, kind: Kind) -> Lane:
        element = self._element(kind)
        value = self.b.load(element_at(self.b, buffer, k, element), typ=element)
        return Lane(self.code.e, kind, self.b.icmp_unsigned("!=", value, ir.Constant(I8, 0)) if kind is BOOL else value)

    def _call(self, operands: list[Any], count: Any) -> None:
        b, code, plan = self.b, self.code, self.plan
        body = plan.body
        results = body.function.result_kinds[:-1]
        kinds = [*(param.kind for param in body.function.params), *results]
        uniform = [*[False] * len(body.loads), *[value is not self.iv for value in body.given],
                   *[False] * len(results)]
        data, steps = stack(b, POINTER, len(operands)), stack(b, I64, len(operands))
        for k, (operand, kind, same) in enumerate(zip(operands, kinds, uniform, strict=True)):
            b.store(operand, element_at(b, data, i64(k), POINTER))
            b.store(i64(0 if same else 1 if kind is BOOL else 8), element_at(b, steps, i64(k), I64))
        length = stack(b, I64)
        b.store(count, length)
        state = self._state()
        before = b.load(element_at(b, state, i64(SUSPECTS), I64), typ=I64)
        code.e.call(f"body_{plan.number}", plan.inner.address, data, length, steps, state, result=ir.VoidType(),
                    pure=False)
        now = b.load(element_at(b, state, i64(SUSPECTS), I64), typ=I64)
        left = b.load(element_at(b, state, i64(INTERRUPTED), I64), typ=I64)
        doubt = b.or_(b.icmp_signed("!=", now, before), b.icmp_signed("!=", left, i64(0)))
        go = code.function.append_basic_block("certain")
        b.cbranch(doubt, code.waited, go)
        b.position_at_end(go)


    def _state(self) -> Any:
        """The memory that the body's code shares with Python."""
        name, module = f"pyflat_state_{self.plan.number}", self.code.module
        self.code.symbols[name] = self.plan.inner.state.address
        found = module.globals.get(name) or ir.GlobalVariable(module, I64, name)
        place = self.b.gep(found, [i64(0)], source_etype=I64)
        place.type = POINTER
        return place
