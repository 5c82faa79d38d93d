"""Lanes in which a function is in doubt (by Ziv's test, `functions.vmath.glibc`) are settled together after a block.

    for each block of the operands:
        for each gang: run it; store the results of the lanes in which no function was in doubt, and note the others
        put the operands of the lanes that were noted next to each other
        run these by the other version of the code, where the functions are the library's, followed or called
        put the results to their places

Three lanes in a hundred are doubtful. A branch where they are is taken by every second gang, at random: a lane costs
30 ns so, and 4 to 12 here. What a lane has computed with a doubtful value is not used. Operands are read
again, so that no result of such a lane may be stored before: it may be written over them. Registers of 512 bits only,
in which a store with a mask takes no longer than another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from pyflat.functions.vmath import exact
from pyflat.ir.formats import F8, FloatFormat
from pyflat.ir.loops import all_ops, has_loop
from pyflat.ir.nodes import Item
from pyflat.targets.numba.jit import processor
from pyflat.targets.numba.library import library_function
from pyflat.targets.numba.llvm import I8, I32, I64, POINTER, counted, element_at, i64, parted, set_lanes, stack, suffix

if TYPE_CHECKING:
    from pyflat.targets.numba.emitter import Emitter

BLOCK = 1024
"""Lanes between two times that doubtful ones are settled: some thirty of them, four registers."""
MOST_OPERANDS = 12
REGISTERS = 2
"""Registers of a gang of lanes that are settled."""
_WORD = 64


@dataclass(frozen=True, slots=True)
class Doubts:
    """Where code notes doubtful lanes: a `mask` for each register of a gang in `slots`. None where the code settles."""

    slots: Sequence[Any] = ()
    mask: ir.Type | None = None

    @property
    def are_settled(self) -> bool:
        return not self.slots

    def clear(self, e: Emitter) -> None:
        for slot in self.slots:
            e.builder.store(ir.Constant(self.mask, None), slot)

    def note(self, e: Emitter, mask: Any) -> None:
        """The mask of all registers of a gang."""
        masks = parted(e.builder, mask, e.width // len(self.slots))
        for slot, part in zip(self.slots, masks, strict=True):
            e.builder.store(e.builder.or_(e.builder.load(slot, typ=part.type), part), slot)

    def of(self, e: Emitter, register: int) -> Any:
        return e.builder.load(self.slots[register], typ=self.mask)


def has_doubts(items: Sequence[Item], operands: int, floats: FloatFormat, width: int) -> bool:
    """Whether lanes of these items are worth noting: straight-line code that has functions with Ziv's test."""
    if floats is not F8 or operands > MOST_OPERANDS or has_loop(list(items)):
        return False
    names = [name for op in all_ops(list(items)) if (name := library_function(op)) is not None]
    return processor().vector_bytes == 8 * width == 64 and not all(map(exact.is_followed, names))


def store_certain(e: Emitter, value: Any, place: Any, align: int, doubtful: Any) -> None:
    """Store the lanes of a register that are not in the mask."""
    name = f"llvm.masked.store.{suffix(value.type)}.p0"
    e.llvm(name, ir.VoidType(), value, place, ir.Constant(I32, align), e.builder.not_(doubtful))


@dataclass(frozen=True, slots=True)
class GangOperand:
    """A varying operand or a result: its number among all, and what it is in memory."""

    number: int
    element: ir.Type


class Settling:
    """Writes the loop over the blocks of a call; what runs a gang is written inside `gangs`."""

    def __init__(self, e: Emitter, doubts: Doubts, lanes: int, settled: ir.Function, inputs: Sequence[GangOperand],
                 outputs: Sequence[GangOperand]):
        self.e, self.builder, self.doubts, self.lanes = e, e.builder, doubts, lanes
        self.masks = stack(e.builder, I64, BLOCK // _WORD)
        self.settle = _written(e, settled, inputs, outputs)

    @contextmanager
    def gangs(self, count: Any, rest: Sequence[Any], found: Any) -> Iterator[Any]:
        """A loop over gangs; gives the first lane of one. `rest` are the operands of the function around it behind the
        number of lanes, `found` is the place of what the lanes that are settled say."""
        builder = self.builder
        with counted(builder, count, BLOCK) as first:
            end = builder.add(first, i64(BLOCK))
            end = builder.select(builder.icmp_signed("<", end, count), end, count)
            for k in range(BLOCK // _WORD):
                builder.store(i64(0), element_at(builder, self.masks, i64(k), I64))
            with counted(builder, end, self.lanes, first) as start:
                self.doubts.clear(self.e)
                yield start
                self._keep(builder.sub(start, first))
            flags = builder.call(self.settle, [self.masks, first, *rest])
            builder.store(builder.or_(builder.load(found, typ=I8), flags), found)

    def _keep(self, lane: Any) -> None:
        for r in range(len(self.doubts.slots)):
            bits = self.builder.bitcast(self.doubts.of(self.e, r), I8)
            place = self.builder.add(self.builder.lshr(lane, i64(3)), i64(r))
            self.builder.store(bits, element_at(self.builder, self.masks, place, I8))


def _written(e: Emitter, settled: ir.Function, inputs: Sequence[GangOperand], outputs: Sequence[GangOperand]
             ) -> ir.Function:
    """`i8 settle(masks, first lane, state, uniform values, pointers)`: runs `settled` on the lanes of a block's
    masks."""
    function = ir.Function(settled.module, ir.FunctionType(I8, [POINTER, I64, POINTER, POINTER, POINTER]), "settle")
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    masks, first, state, uniforms, pointers = function.args
    places = stack(builder, POINTER, 1 + max(each.number for each in (*inputs, *outputs)))
    lanes, number = stack(builder, I64, BLOCK), stack(builder, I64)
    moved = []
    for each in (*inputs, *outputs):
        held = stack(builder, each.element, BLOCK)
        builder.store(held, element_at(builder, places, i64(each.number), POINTER))
        place = builder.load(element_at(builder, pointers, i64(each.number), POINTER), typ=POINTER)
        moved.append((held, place, each.element))
    read, written = moved[: len(inputs)], moved[len(inputs):]
    builder.store(i64(0), number)
    with counted(builder, i64(BLOCK // _WORD), rolled=True) as k:
        word = builder.load(element_at(builder, masks, k, I64), typ=I64)
        with set_lanes(builder, word) as bit:
            lane = builder.add(first, builder.add(builder.mul(k, i64(_WORD)), bit))
            at = builder.load(number, typ=I64)
            builder.store(lane, element_at(builder, lanes, at, I64))
            _copy(builder, [(place, lane, held, at, element) for held, place, element in read])
            builder.store(builder.add(at, i64(1)), number)
    count, gang = builder.load(number, typ=I64), i64(e.width * REGISTERS)
    with builder.if_then(builder.icmp_unsigned("==", count, i64(0))):
        builder.ret(ir.Constant(I8, 0))
    whole = builder.mul(builder.udiv(builder.add(count, builder.sub(gang, i64(1))), gang), gang)
    with counted(builder, whole, start=count, rolled=True) as k:  # filled up with a lane that is there
        _copy(builder, [(held, i64(0), held, k, element) for held, _, element in read])
    flags = builder.call(settled, [whole, state, uniforms, places])
    with counted(builder, count, rolled=True) as k:
        lane = builder.load(element_at(builder, lanes, k, I64), typ=I64)
        _copy(builder, [(held, k, place, lane, element) for held, place, element in written])
    builder.ret(flags)
    return function


def _copy(builder: ir.IRBuilder, elements: Sequence[tuple[Any, Any, Any, Any, ir.Type]]) -> None:
    """Each from an array's index to another's."""
    for source, k, target, n, element in elements:
        loaded = builder.load(element_at(builder, source, k, element), typ=element)
        builder.store(loaded, element_at(builder, target, n, element))
