"""A loop whose iterations are the lanes of vector registers: what it does, written for gangs of iterations.

    while upper - i >= 32: 32 lanes, all of them; i += 32           four registers of 8 lanes, say
    if upper - i > 16: 32 lanes under a mask, and that is the end
    while i < upper: 8 lanes under a mask; i += 8

What is the same in all lanes is computed once, by the code around. An `if` that differs between lanes computes both
arms under masks, and chooses. Faults and stores are those of lanes that run; floating-point flags that other lanes
raise are found out by the careful version.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from pyflat.ir.affine import affine, places
from pyflat.ir.build import Builder
from pyflat.ir.faults import can_fault, fault_condition
from pyflat.ir.loops import all_ops, has_loop
from pyflat.ir.nodes import Block, Const, If, Item, Loop, Op, Param, Value, Yield
from pyflat.ir.types import BOOL, FLOAT, INT, MEMORY
from pyflat.targets.numba.emitter import Emitter, Lane
from pyflat.targets.numba.jit import processor
from pyflat.targets.numba.kernels.lane_plans import LanePlan, entry_of, is_consecutive, is_function
from pyflat.targets.numba.kernels.operations import RAISES_FLAGS
from pyflat.targets.numba.llvm import I32, I64, counted, element_at, i64, joined, parted, phi_of, suffix
from pyflat.targets.numba.ops import wraps

if TYPE_CHECKING:
    from pyflat.targets.numba.kernels.emit import KernelCode

REGISTERS = 4
"""Registers of lanes that run together: each waits for its own chain of operations, and the others fill the gaps."""


def lanes_in_register() -> int:
    """Lanes of float64 in a register."""
    return max(processor().vector_bytes // 8, 2)


def write_lanes(code: KernelCode, plan: LanePlan, after: Any) -> None:
    """The loop of a plan, at the place of the code's builder; it goes on in the block `after`."""
    b, width = code.builder, lanes_in_register()
    start, upper = plan.loop.inits[plan.loop.params.index(plan.counted.iv)], code.lane(plan.counted.upper).value
    lower, gang = code.lane(start).value, REGISTERS * width
    code.values.update(dict.fromkeys(plan.loop.params))
    waits = has_loop(plan.loop.body) and any(can_fault(op) for op in all_ops(plan.loop.body)
                                             if op.opcode != "index" and op not in code.modest)

    def run(registers: int, first: Any, end: Any = None) -> None:
        if waits:
            code.leave_after_fault()
        LoopGang(code, plan, registers, first, end).items(plan.loop.body[2:])

    whole = b.sub(upper, b.srem(b.sub(upper, lower), i64(gang)))
    with counted(b, whole, gang, lower) as first:
        run(REGISTERS, first)
    with b.if_else(b.icmp_signed(">", b.sub(upper, first), i64(gang // 2))) as (most, rest):
        with most:
            run(REGISTERS, first, upper)
        with rest, counted(b, upper, width, first) as number:
            run(1, number, upper)
    b.branch(after)


class LoopGang:
    """The body of the loop for some registers of lanes, whose iterations begin with `first`; `upper`: not all of them
    may be there. `sets`: what differs between lanes, for each register."""

    def __init__(self, code: KernelCode, plan: LanePlan, registers: int, first: Any, upper: Any = None):
        self.code, self.plan, self.b, self.first = code, plan, code.builder, first
        self.e = Emitter(code.builder, code.symbols, lanes_in_register())
        self.registers = range(registers)
        self.sets: list[dict[Value, Lane]] = [{} for _ in self.registers]
        self.active: list[Any] = [None for _ in self.registers]
        width = self.e.width
        iota = ir.Constant(ir.VectorType(I64, width), list(range(width)))
        for r in self.registers:
            start = self.b.add(first, i64(r * width), flags=["nsw"])
            lane = Lane(self.e, INT, self.b.add(self.e.broadcast(INT, start).value, iota, flags=["nsw"]))
            self.sets[r][plan.counted.iv] = lane
            if upper is not None:
                self.active[r] = lane.compare("<", Lane(self.e, INT, self.e.broadcast(INT, upper).value)).value
        self.there = list(self.active)
        """Lanes that are iterations."""

    # --- values
    def varies(self, value: Value) -> bool:
        return value in self.plan.varying

    def read(self, r: int, value: Value) -> Lane:
        if isinstance(value, Const):
            return self.e.const(value.kind, value.value)
        found = self.sets[r].get(value)
        return self.e.broadcast(value.kind, self.code.lane(value).value) if found is None else found

    def _bind(self, param: Param, values: Sequence[Any]) -> None:
        """Values of LLVM's: one for each register, or one for all."""
        if param.kind is MEMORY:
            self.code.values[param] = None
        elif not self.varies(param):
            self.code.values[param] = Lane(self.code.e, param.kind, values[0])
        else:
            for r in self.registers:
                self.sets[r][param] = Lane(self.e, param.kind, values[r])
                if param in self.code.ended:
                    self.code.keep(self.sets[r][param])

    def _bind_all(self, params: Sequence[Param], values: Sequence[Sequence[Any]]) -> None:
        for param, each in zip(params, values, strict=True):
            self._bind(param, each)

    def _given(self, param: Param, value: Value) -> list[Any]:
        """What a parameter or result takes from a value."""
        if param.kind is MEMORY:
            return []
        if not self.varies(param):
            return [self.code.opaque(value, self.code.lane(value)).value]
        return [self.code.opaque(value, self.read(r, value)).value for r in self.registers]

    # --- control
    def items(self, items: list[Item]) -> Sequence[Value]:
        """A list; what it yields."""
        for item in items:
            match item:
                case Block():
                    for op in item.ops:
                        self.op(op)
                    if isinstance(item.end, Yield):
                        return item.end.values
                case If() if self.varies(item.cond):
                    self._choice(item)
                case If():
                    self._branch(item)
                case Loop():
                    self._loop(item)
        return ()

    def _choice(self, node: If) -> None:
        """Both arms under masks."""
        around, conditions = self.active, [self.read(r, node.cond) for r in self.registers]
        given: list[list[list[Any]]] = []
        for items, wanted in ((node.then, conditions), (node.orelse, [~each for each in conditions])):
            self.active = around
            self.active = self._masks(wanted)
            given.append(self._guarded(items, node.results) if _is_guarded(items) else self._arm(items, node.results))
        self.active = around
        for result, yes, no in zip(node.results, *given, strict=True):
            self._bind(result, [self.b.select(c.value, x, y) for c, x, y in zip(conditions, yes, no, strict=False)])

    def _arm(self, items: list[Item], results: Sequence[Param]) -> list[list[Any]]:
        values = self.items(items)
        return [self._given(result, value) for result, value in zip(results, values, strict=True)]

    def _guarded(self, items: list[Item], results: Sequence[Param]) -> list[list[Any]]:
        """An arm that no lane may enter unless one takes it."""
        before, any_lane = self.b.block, self.e.any(reduce(self.b.or_, self.active))
        inside, join = (self.code.function.append_basic_block(name) for name in ("arm", "joined"))
        self.b.cbranch(any_lane, inside, join)
        self.b.position_at_end(inside)
        given = self._arm(items, results)
        end = self.b.block
        self.b.branch(join)
        self.b.position_at_end(join)
        return [[phi_of(self.b, (value, end), (ir.Constant(value.type, ir.Undefined), before)) for value in values]
                for values in given]

    def _branch(self, node: If) -> None:
        """An `if` that is the same in all lanes."""
        blocks = [self.code.function.append_basic_block(name) for name in ("then", "else", "join")]
        self.b.cbranch(self.code.lane(node.cond).value, *blocks[:2])
        ways: list[tuple[list[list[Any]], Any]] = []
        for block, items in zip(blocks, (node.then, node.orelse), strict=False):
            self.b.position_at_end(block)
            given = self._arm(items, node.results)
            ways.append((given, self.b.block))
            self.b.branch(blocks[2])
        self.b.position_at_end(blocks[2])
        for result, yes, no in zip(node.results, ways[0][0], ways[1][0], strict=True):
            self._bind(result, [phi_of(self.b, (x, ways[0][1]), (y, ways[1][1])) for x, y in zip(yes, no, strict=True)])

    def _loop(self, loop: Loop) -> None:
        """A loop that all lanes leave together."""
        entry = entry_of(loop)
        assert entry is not None
        rest, end = (self.code.function.append_basic_block(name) for name in ("rest", "end"))
        inits = [self._given(p, v) for p, v in zip(loop.params, loop.inits, strict=True)]
        before, head = self.b.block, self.b.append_basic_block("head")
        self.b.branch(head)
        self.b.position_at_end(head)
        phis = [[phi_of(self.b, (value, before)) for value in values] for values in inits]
        self._bind_all(loop.params, phis)
        self.items(entry.header)
        leave = [self._given(result, value) for result, value in zip(loop.results, entry.leave, strict=True)]
        go = self.code.lane(entry.test.cond).value
        self.b.cbranch(go, *((rest, end) if entry.goes_on_if else (end, rest)))
        self.b.position_at_end(rest)
        self._bind_all(entry.test.results, self._arm(entry.arm, entry.test.results))
        following = self._arm(entry.rest, loop.params)
        for phi, value in zip(chain.from_iterable(phis), chain.from_iterable(following), strict=True):
            phi.add_incoming(value, self.b.block)
        self.b.branch(head)
        self.b.position_at_end(end)
        self._bind_all(loop.results, leave)

    @contextmanager
    def under(self, conditions: Sequence[tuple[Value, bool]]) -> Iterator[None]:
        """What is written inside is for lanes in which these hold."""
        around = self.active
        for condition, holds in conditions:
            met = [self.read(r, condition) for r in self.registers]
            self.active = self._masks([each if holds else ~each for each in met])
        yield
        self.active = around

    def _masks(self, conditions: Sequence[Lane]) -> list[Any]:
        return [each.value if mask is None else self.b.and_(mask, each.value)
                for mask, each in zip(self.active, conditions, strict=True)]

    def choose(self, result: Value, condition: Value, yes: Value, no: Value) -> None:
        """One of two numbers, in each lane."""
        for r in self.registers:
            self.sets[r][result] = self.e.select(*[self.read(r, value) for value in (condition, yes, no)])

    # --- operations
    def op(self, op: Op) -> None:
        if op.opcode == "store":
            self._store(op)
        elif not self.varies(op):
            self.code.op(op)
        elif op.opcode == "load":
            self._load(op)
        elif op.opcode == "index":
            for r in self.registers:  # inside, no lane counts from the end
                self.sets[r][op] = self.read(r, op.args[0])
        else:
            values = self._together(op) if is_function(op) else None
            for r in self.registers:
                self.e.active = self.active[r]
                self._compute(r, op, None if values is None else values[r])

    def _together(self, op: Op) -> list[Any] | None:
        """A function of the lanes of all registers at once: one branch for all that are in doubt. None where they are
        no power of two."""
        count, b = len(self.registers), self.b
        if count & (count - 1) or count == 1:
            return None
        e = Emitter(b, self.code.symbols, self.e.width * count)
        e.active = None if self.active[0] is None else joined(b, self.active)
        args = [Lane(e, arg.kind, joined(b, [self.read(r, arg).value for r in self.registers])) for arg in op.args]
        return parted(b, self.code.value_of(e, op, args).value, self.e.width)

    def _compute(self, r: int, op: Op, value: Any) -> None:
        mask, lanes = self.active[r], self.sets[r]
        args = [self.read(r, arg) for arg in op.args]
        if mask is not None and op.opcode in RAISES_FLAGS and args[-1].kind is FLOAT:
            harmless = self.code.hidden(self.e.const(FLOAT, 1))  # else LLVM would choose between two quotients
            args[-1] = self.e.select(Lane(self.e, BOOL, mask), args[-1], harmless)
        lanes[op] = self.code.value_of(self.e, op, args) if value is None else Lane(self.e, op.kind, value)
        if op in self.code.modest:
            return
        if op in self.code.removable:
            self.code.keep(lanes[op])
        self._note(self.code.wrapped, wraps(self.e, op, args), mask)
        build = Builder()
        condition = fault_condition(build, op)
        if condition is None:
            return
        for each in build.block.ops:
            lanes[each] = self.code.value_of(self.e, each, [self.read(r, arg) for arg in each.args])
        self._note(self.code.faulted, self.read(r, condition).value, mask)

    def _note(self, flag: Any, met: Any, mask: Any) -> None:
        if met is not None:
            self.code.note(flag, self.e.any(met if mask is None else self.b.and_(mask, met)))

    # --- memory
    def _address(self, op: Op) -> Any:
        """Where the element of the first lane is."""
        *rows, last = places(op)
        form = affine(last)
        assert form is not None
        number: Any = i64(form[1])
        for value, factor in form[0].items():
            term = self.first if value is self.plan.counted.iv else self.code.lane(value).value
            number = self.b.add(number, term if factor == 1 else self.b.mul(term, i64(factor)))
        return self.code.places.address(op.attr("array"), [*map(self.code.lane, rows), Lane(self.code.e, INT, number)])

    def _elements(self, op: Op) -> tuple[str, ir.Type, list[Any], int]:
        dtype = self.code.places.of[op.attr("array")].dtype
        element, size = self.code.places.element(dtype)
        address = self._address(op)
        addresses = [element_at(self.b, address, i64(r * self.e.width), element) for r in self.registers]
        return dtype, self.e.widened(element), addresses, size

    def put(self, op: Op, buffer: Any) -> None:
        """The numbers of all lanes, one after the other; of bools, ints."""
        for r in self.registers:
            value = self.read(r, op).value
            value = self.b.zext(value, self.e.types[INT]) if op.kind is BOOL else value
            place = element_at(self.b, buffer, i64(r * self.e.width), value.type.element)
            self.b.store(value, place, align=8)

    def _gather(self, op: Op) -> None:
        dtype = self.code.places.of[op.attr("array")].dtype
        element, size = self.code.places.element(dtype)
        type_ = self.e.widened(element)
        name = f"llvm.masked.gather.{suffix(type_)}.v{self.e.width}p0"
        for r in self.registers:
            addresses = self.code.places.addresses(self.e, op.attr("array"),
                                                   [self.read(r, each) for each in places(op)])
            there = self.e.const(BOOL, True).value if self.active[r] is None else self.active[r]
            value = self.e.llvm(name, type_, addresses, ir.Constant(I32, size), there, ir.Constant(type_, None))
            self.sets[r][op] = self.code.places.number(self.e, op.kind, value, dtype)

    def _load(self, op: Op) -> None:
        array, iv = op.attr("array"), self.plan.counted.iv
        if not is_consecutive(op, iv, self.plan.varying, gaps=self.code.places.has_gaps(array)):
            self._gather(op)
            return
        dtype, type_, addresses, size = self._elements(op)
        for r, address in enumerate(addresses):
            if self.there[r] is None:
                value = self.b.load(address, typ=type_, align=size)
                self.code.apart.mark(value, op.attr("array"))
            else:
                value = self.e.llvm(f"llvm.masked.load.{suffix(type_)}.p0", type_, address, ir.Constant(I32, size),
                                    self.there[r], ir.Constant(type_, None))
            self.sets[r][op] = self.code.places.number(self.e, op.kind, value, dtype)

    def _store(self, op: Op) -> None:
        _, type_, addresses, size = self._elements(op)
        self.code.values[op] = None
        for r, address in enumerate(addresses):
            value = self.code.stored(op, self.read(r, op.args[-1]))
            if self.active[r] is None:
                self.code.apart.mark(self.b.store(value, address, align=size), op.attr("array"))
            else:
                self.e.llvm(f"llvm.masked.store.{suffix(type_)}.p0", ir.VoidType(), value, address,
                            ir.Constant(I32, size), self.active[r])


def _is_guarded(items: list[Item]) -> bool:
    """An arm that is skipped where no lane takes it: it takes long, or may do what all lanes would be blamed for."""
    return has_loop(items) or any(op.opcode != "index" and can_fault(op) or op.kind is FLOAT and
                                  op.opcode in RAISES_FLAGS for op in all_ops(items))
