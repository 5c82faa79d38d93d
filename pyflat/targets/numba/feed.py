"""What brings operands as they lie in memory to a function that runs whole gangs of dense lanes.

    i8 feed(count, first, state, uniform values, args, steps)       whether any lane was suspect, or a signal came

runs `count` lanes from lane `first` on, of the operands that NumPy's arrays `args` and `steps` say:

    all operands dense lanes:   lanes(whole gangs, as they lie), then what is left as a block
    otherwise blocks:           operands that are something else converted into buffers that stay in the cache,
                                lanes(the block), results that do not lie dense copied to their places

A block shorter than a gang is filled up with its last lane, which asks for nothing that no real lane does. So every
lane is computed by the same instructions, wherever it lies. Which function converts an operand
(`pyflat.targets.numba.conversions`) is in the state, behind the slots of `loops`, with the bit `LANES` where its
elements are lanes: these are used as they lie where they are dense and aligned, and are copied by a loop here where the
rest of the word is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from llvmlite import ir

from pyflat.targets.numba.emitter import size_of
from pyflat.targets.numba.llvm import I1, I8, I64, POINTER, counted, element_at, i64, stack
from pyflat.targets.numba.loops import CONVERSIONS, LANES, LEFT_EARLY

BUFFERS = 2**14
"""Bytes of all buffers together: with what they are filled from, they stay in the first-level cache. On a Zen 5 of
2**13 to 2**16 the fastest or within the noise of it on two light kernels, four dtypes and three sizes; 2**16 took up to
1.6 times as long."""

_CONVERT = ir.FunctionType(I8, [POINTER, POINTER, I64, I64])


class Operand(NamedTuple):
    """An operand that differs from lane to lane: its number, what a lane of it is in memory, whether it is a result."""

    number: int
    element: ir.Type
    is_result: bool


def block_lanes(operands: int, gang: int) -> int:
    """Lanes in a block: whole gangs."""
    return max(BUFFERS // (8 * max(operands, 1)) // gang, 1) * gang


def write_feed(lanes: ir.Function, operands: Sequence[Operand], gang: int) -> ir.Function:
    """The function around `lanes`, which has the operands (count, state, uniform values, pointers)."""
    return _Feed(lanes, operands, gang).function


class _Feed:
    def __init__(self, lanes: ir.Function, operands: Sequence[Operand], gang: int):
        self.lanes, self.operands, self.gang = lanes, operands, gang
        self.block = block_lanes(len(operands), gang)
        module = lanes.module
        shared = [arg.type for arg in lanes.args[2: len(lanes.args) - len(operands)]]
        type_ = ir.FunctionType(I8, [I64, I64, POINTER, *shared, POINTER, POINTER])
        self.function = ir.Function(module, type_, f"feed_{lanes.name}")
        self.function.linkage = "internal"
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self._write()

    def _write(self) -> None:
        builder = self.builder
        count, first, state, *shared, args, steps = self.function.args
        self.passed = [state, *shared]
        self.flags = stack(builder, I8)
        builder.store(ir.Constant(I8, 0), self.flags)
        self.strides = [self._item(steps, o.number, I64) for o in self.operands]
        self.places = [element_at(builder, self._item(args, o.number, POINTER), builder.mul(first, stride), I8)
                       for o, stride in zip(self.operands, self.strides, strict=True)]
        self.converts = [self._conversion(state, o) for o in self.operands]
        self.dense = [self._is_dense(*each)
                      for each in zip(self.operands, self.strides, self.converts, self.places, strict=True)]
        all_dense: Any = ir.Constant(I1, 1)
        for dense in self.dense:
            all_dense = builder.and_(all_dense, dense)
        whole = builder.select(all_dense, builder.sub(count, builder.urem(count, i64(self.gang))), i64(0))
        with builder.if_then(builder.icmp_signed(">", whole, i64(0))):
            self._run(whole, self.places)
        self._blocks(whole, count)
        builder.ret(builder.load(self.flags, typ=I8))

    def _item(self, array: Any, number: int, type_: ir.Type) -> Any:
        return self.builder.load(element_at(self.builder, array, i64(number), type_), typ=type_)

    def _conversion(self, state: Any, operand: Operand) -> Any:
        return None if operand.is_result else self._item(state, CONVERSIONS + operand.number, I64)

    def _is_dense(self, operand: Operand, stride: Any, convert: Any, place: Any) -> Any:
        builder, size = self.builder, size_of(operand.element)
        unit = builder.icmp_signed("==", stride, i64(size))
        if convert is None:
            return unit
        low = builder.and_(builder.ptrtoint(place, I64), i64(size - 1))
        return builder.and_(unit, builder.and_(builder.trunc(convert, I1), builder.icmp_signed("==", low, i64(0))))

    def _run(self, count: Any, pointers: Sequence[Any]) -> None:
        """Lanes that lie dense; leaves the function where they were left early."""
        builder = self.builder
        found = builder.or_(builder.load(self.flags, typ=I8),
                            builder.call(self.lanes, [count, *self.passed, *pointers]))
        builder.store(found, self.flags)
        with builder.if_then(builder.icmp_unsigned(">=", found, ir.Constant(I8, LEFT_EARLY)), likely=False):
            builder.ret(found)

    def _blocks(self, start: Any, count: Any) -> None:
        builder = self.builder
        buffers = [stack(builder, o.element, self.block) for o in self.operands]
        head, body, end = (builder.append_basic_block(name) for name in ("blocks", "block", "all"))
        before = builder.block
        builder.branch(head)
        builder.position_at_end(head)
        at = builder.phi(I64)
        at.add_incoming(start, before)
        left = builder.sub(count, at)
        builder.cbranch(builder.icmp_signed(">", left, i64(0)), body, end)
        builder.position_at_end(body)
        full = builder.icmp_signed(">=", left, i64(self.gang))
        most = builder.select(builder.icmp_signed("<", left, i64(self.block)), left, i64(self.block))
        size = builder.select(full, builder.sub(most, builder.urem(most, i64(self.gang))), left)
        padded = builder.select(full, size, i64(self.gang))
        pointers = [self._operand(k, at, size, padded, buffer) for k, buffer in enumerate(buffers)]
        self._run(padded, pointers)
        for k, (operand, buffer) in enumerate(zip(self.operands, buffers, strict=True)):
            if operand.is_result:
                with builder.if_then(builder.not_(builder.and_(full, self.dense[k]))):
                    self._copy_out(k, at, size, buffer)
        at.add_incoming(builder.add(at, size), builder.block)
        builder.branch(head)
        builder.position_at_end(end)

    def _operand(self, k: int, at: Any, size: Any, padded: Any, buffer: Any) -> Any:
        """Where a block of an operand lies: in the user's memory or in its buffer."""
        builder, operand = self.builder, self.operands[k]
        place = self._at(k, at)
        direct = builder.and_(builder.icmp_signed("==", size, padded), self.dense[k])
        if not operand.is_result:
            with builder.if_then(builder.not_(direct)):
                self._fill(k, place, size, padded, buffer)
        return builder.select(direct, place, buffer)

    def _at(self, k: int, index: Any) -> Any:
        return element_at(self.builder, self.places[k], self.builder.mul(index, self.strides[k]), I8)

    def _fill(self, k: int, place: Any, size: Any, padded: Any, buffer: Any) -> None:
        builder = self.builder
        fill = _fill_function(self.lanes.module, self.operands[k].element)
        found = builder.call(fill, [buffer, place, self.strides[k], size, padded, self.converts[k]])
        builder.store(builder.or_(builder.load(self.flags, typ=I8), found), self.flags)

    def _copy_out(self, k: int, at: Any, size: Any, buffer: Any) -> None:
        copy = _copy_out_function(self.lanes.module, self.operands[k].element)
        self.builder.call(copy, [buffer, self._at(k, at), self.strides[k], size])


def _fill_function(module: ir.Module, element: ir.Type) -> ir.Function:
    """i8 fill(buffer, place, stride, count, padded, convert): lanes, converted or copied, and the last one repeated."""
    function, builder, made = _function(module, f"fill_{element}", I8, [POINTER, POINTER, I64, I64, I64, I64])
    if made:
        return function
    buffer, place, stride, count, padded, convert = function.args
    flags = stack(builder, I8)
    builder.store(ir.Constant(I8, 0), flags)
    own = builder.icmp_unsigned("<=", convert, i64(LANES))
    with builder.if_else(own) as (then, otherwise):
        with then, counted(builder, count) as k:
            loaded = builder.load(element_at(builder, place, builder.mul(k, stride), I8), typ=element)
            builder.store(loaded, element_at(builder, buffer, k, element))
        with otherwise:
            address = element_at(builder, ir.Constant(POINTER, None), builder.and_(convert, i64(~LANES)), I8)
            typed = builder.select(own, address, address)
            typed.type = _CONVERT  # for llvmlite, whose pointers do not say what they point to
            builder.store(builder.call(typed, [buffer, place, stride, count]), flags)
    last = builder.load(element_at(builder, buffer, builder.sub(count, i64(1)), element), typ=element)
    with counted(builder, padded, start=count, rolled=True) as k:
        builder.store(last, element_at(builder, buffer, k, element))
    builder.ret(builder.load(flags, typ=I8))
    return function


def _copy_out_function(module: ir.Module, element: ir.Type) -> ir.Function:
    """void copy_out(buffer, place, stride, count)"""
    function, builder, made = _function(module, f"copy_out_{element}", ir.VoidType(), [POINTER, POINTER, I64, I64])
    if made:
        return function
    buffer, place, stride, count = function.args
    with counted(builder, count, rolled=True) as k:
        loaded = builder.load(element_at(builder, buffer, k, element), typ=element)
        builder.store(loaded, element_at(builder, place, builder.mul(k, stride), I8))
    builder.ret_void()
    return function


def _function(module: ir.Module, name: str, result: ir.Type, operands: list[ir.Type]
              ) -> tuple[ir.Function, ir.IRBuilder, bool]:
    """A function that a module has once, a builder at its start, and whether it was there already. LLVM keeps it apart:
    it is code for what is not dense, of which there would be as much as operands."""
    known = module.globals.get(name)
    function = known or ir.Function(module, ir.FunctionType(result, operands), name)
    if known is None:
        function.linkage = "internal"
        function.attributes.add("noinline")
        function.append_basic_block("entry")
    return function, ir.IRBuilder(function.entry_basic_block), known is not None
