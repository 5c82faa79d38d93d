"""Rolled loops over blocks of lanes, for LLVM to vectorise.

A loop of one lane is a chain of operations that wait for each other. Here `WIDTH` lanes run each trip together: an
inner loop over the lanes of the block, straight-line code that LLVM turns into vector instructions. The state of the
block lies in arrays on the stack; a lane that is done keeps its state, and the block is left when no lane is live.

    for each block:                           items before the loop, loop, items after it
        for k in lanes: ... store x[k]        what a later part needs goes through arrays
        for k in lanes: s[k] = init
        do: any = false
            for k in lanes: go = header(s[k]); s[k] = go ? rest(s[k]) : s[k]; any |= go
        while any
        for k in lanes: header(s[k]) again, for the results
        for k in lanes: ...

Only loops of operations that have vector instructions run like that; others run lane by lane (`numba_loops`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba.core import cgutils

from pyflat.ir.liveness import captured, outer_values
from pyflat.ir.loops import all_ops, has_loop, take_apart
from pyflat.ir.nodes import Block, Const, Item, Loop, Op, Param, Value
from pyflat.ir.types import BOOL
from pyflat.targets.numba_loops import Interrupts
from pyflat.targets.numba_ops import I1, I8, I64, OPERATORS, TYPES, Emitter, Lane

WIDTH = 32
"""Lanes of a block: a few of the widest registers."""

_VECTOR = OPERATORS.keys() | {"select", "floor", "ceil", "trunc", "rint", "sqrt", "np_sqrt", "copysign", "to_float",
                              "exact_float", "shl", "shr"}


def is_wide(loop: Loop) -> bool:
    """The body is straight-line code of operations that vector registers know."""
    return not has_loop(loop.body) and all(map(_is_vector, all_ops(loop.body)))


def _is_vector(op: Op) -> bool:
    if op.opcode in ("floordiv", "mod"):
        divisor = op.args[1].value if isinstance(op.args[1], Const) else None
        return isinstance(divisor, int) and divisor > 0 and divisor & (divisor - 1) == 0
    return op.opcode in _VECTOR or (op.opcode == "to_int" and op.args[0].kind is BOOL)


class Blocks:
    """Writes the parts of a kernel's body, block by block of lanes.

    `lanes` has the uniform values and is what `emit_list` reads and adds to; `load(param, index)` reads an argument.
    """

    def __init__(
        self,
        emitter: Emitter,
        lanes: dict[Value, Lane],
        interrupts: Interrupts,
        emit_list: Callable[[Sequence[Item]], None],
        load: Callable[[Param, Any], Lane],
    ):
        self.emitter, self.builder = emitter, emitter.builder
        self.lanes, self.uniform = lanes, dict(lanes)
        self.interrupts = interrupts
        self.emit_list = emit_list
        self.load = load
        self.arrays: dict[Value, Any] = {}
        self.base: Any = None
        self.count: Any = None

    def write(self, items: Sequence[Item], total: Any, roots: Sequence[Value], store: Callable[[Any], None]) -> None:
        """`store(index)` writes the results of one lane, `roots`."""
        builder = self.builder
        parts = _parts(items)
        uses = [outer_values(part, roots if number == len(parts) - 1 else []) for number, part in enumerate(parts)]
        width = ir.Constant(I64, WIDTH)
        blocks = builder.udiv(builder.add(total, ir.Constant(I64, WIDTH - 1)), width)
        with cgutils.for_range(builder, blocks, intp=I64) as block:
            self.base = builder.mul(block.index, width)
            left = builder.sub(total, self.base)
            self.count = builder.select(builder.icmp_signed("<", left, width), left, width)
            for number, part in enumerate(parts):
                later = {value for each in uses[number + 1 :] for value in each}
                if isinstance(part[0], Loop):
                    self._loop(part[0], later)
                    continue
                with self._each_lane(uses[number]) as (k, index):
                    self.emit_list(part)
                    for value in all_ops(part):
                        self._keep(value, later, k)
                    for item in part:
                        for result in item.results if isinstance(item, Loop) else ():
                            self._keep(result, later, k)
                    if number == len(parts) - 1:
                        store(index)

    def _loop(self, loop: Loop, later: set[Value]) -> None:
        builder, parts = self.builder, take_apart(loop)
        outer = captured(loop)
        start = [value for value in [*loop.inits, *outer] if not isinstance(value, Const)]
        with self._each_lane(start) as (k, _):
            for param, init in zip(loop.params, loop.inits, strict=True):
                self._put(param, self._read(init), k)
            for value in outer:
                if value not in self.uniform:
                    self._put(value, self._read(value), k)
        state = [*loop.params, *outer]
        trip, done = builder.append_basic_block("trip"), builder.append_basic_block("done")
        live = cgutils.alloca_once(builder, I8)
        builder.branch(trip)
        builder.position_at_end(trip)
        builder.store(ir.Constant(I8, 0), live)
        with self._each_lane(state) as (k, _):
            self.emit_list(parts.header)
            go = self._read(parts.go)
            before = [self.lanes[param] for param in loop.params]
            self.emit_list(parts.rest)
            after = [self._read(value) for value in parts.next]
            for param, old, new in zip(loop.params, before, after, strict=True):
                self._put(param, self.emitter.select(go, new, old), k)
            builder.store(builder.or_(builder.load(live), builder.zext(go.value, I8)), live)
        self.interrupts.count_trip()
        builder.cbranch(builder.icmp_unsigned("!=", builder.load(live), ir.Constant(I8, 0)), trip, done)
        builder.position_at_end(done)
        with self._each_lane(state) as (k, _):
            self.emit_list(parts.header)
            for result, value in zip(loop.results, parts.leave, strict=True):
                if result in later:
                    self._put(result, self._read(value), k)

    # --- values of one lane

    @contextmanager
    def _each_lane(self, used: Sequence[Value]) -> Iterator[tuple[Any, Any]]:
        """A loop over the lanes of the block in which the `used` values of other parts can be read."""
        with cgutils.for_range(self.builder, self.count, intp=I64) as inner:
            index = self.builder.add(self.base, inner.index)
            self.lanes.clear()
            self.lanes.update(self.uniform)
            for value in used:
                if value in self.arrays:
                    self.lanes[value] = self._get(value, inner.index)
                elif isinstance(value, Param) and value not in self.uniform:
                    self.lanes[value] = self.load(value, index)
            yield inner.index, index

    def _read(self, value: Value) -> Lane:
        return self.emitter.const(value.kind, value.value) if isinstance(value, Const) else self.lanes[value]

    def _keep(self, value: Value, later: set[Value], k: Any) -> None:
        if value in later:
            self._put(value, self.lanes[value], k)

    def _place(self, value: Value, k: Any) -> tuple[Any, Any]:
        element = I8 if value.kind is BOOL else TYPES[value.kind]
        if value not in self.arrays:
            with self.builder.goto_entry_block():
                array = self.builder.alloca(ir.ArrayType(element, WIDTH))
                array.align = 64
            self.arrays[value] = array
        return self.builder.gep(self.arrays[value], [ir.Constant(I64, 0), k], inbounds=True), element

    def _put(self, value: Value, lane: Lane, k: Any) -> None:
        pointer, _ = self._place(value, k)
        self.builder.store(self.builder.zext(lane.value, I8) if value.kind is BOOL else lane.value, pointer)

    def _get(self, value: Value, k: Any) -> Lane:
        pointer, element = self._place(value, k)
        loaded = self.builder.load(pointer, typ=element)
        return Lane(self.emitter, value.kind, self.builder.trunc(loaded, I1) if value.kind is BOOL else loaded)


def _parts(items: Sequence[Item]) -> list[list[Item]]:
    """The list cut before and after each wide loop; the last part is no loop."""
    parts: list[list[Item]] = [[]]
    for item in items:
        if isinstance(item, Loop) and is_wide(item):
            parts += [[item], []]
        else:
            parts[-1].append(item)
    return [part or [Block()] for part in parts]
