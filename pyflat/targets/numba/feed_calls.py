"""How a kernel calls the feed: with its function for whole gangs, and a table of its operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from llvmlite import ir

from pyflat.targets.numba import feed
from pyflat.targets.numba.feed import FEED, SLOT
from pyflat.targets.numba.llvm import I1, I8, I64, POINTER, constants, element_at, i64, internal_function, stack

_SIZES = 5
"""Where in the table the bytes of the operands are."""

_TYPE = ir.FunctionType(I8, [POINTER, POINTER, I64, I64, POINTER, POINTER, POINTER, POINTER])

Wanted = Sequence[Sequence[tuple[int, bool]]]
"""When an operand is read: where in any list all uniform bools, given by number, have the value beside them."""


def block_lanes(operands: int, gang: int) -> int:
    """Lanes in a block: whole gangs."""
    return max(max(feed.BUFFERS // (SLOT * max(operands, 1)), feed.LEAST_LANES) // gang, 1) * gang


def write_feed(lanes: ir.Function, sizes: Sequence[int], results: int, gang: int, wanted: Mapping[int, Wanted]
               ) -> ir.Function:
    """`i8 (count, first, state, uniform values, args, steps)`: the feed of `lanes(count, state, uniform values,
    pointers)`. `sizes` are the bytes of a lane of each operand, 0 where it is uniform; the last are the `results`. An
    operand that is not `wanted` is handed on as it lies, as a uniform one is, and not converted."""
    module, varying = lanes.module, sum(size > 0 for size in sizes)
    block = block_lanes(varying, gang)
    numbers = [len(sizes), len(sizes) - results, gang, block, SLOT * block * varying, *sizes]
    table = constants(module, I64, numbers)
    function = internal_function(module, ir.FunctionType(I8, _TYPE.args[2:]), f"feed_{lanes.name}", "alwaysinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    if wanted:
        table = _table_of_call(builder, table, numbers, function.args[3], wanted)
    callee = builder.load(element_at(builder, function.args[2], i64(FEED), I64), typ=POINTER)
    builder.ret(builder.call(_typed(builder, callee), [lanes, table, *function.args]))
    return function


def _table_of_call(builder: ir.IRBuilder, table: Any, numbers: Sequence[int], uniforms: Any,
                   wanted: Mapping[int, Wanted]) -> Any:
    """A copy of the table, with 0 bytes for the operands that this call does not read."""
    def holds(slot: int, value: bool) -> Any:
        byte = builder.load(element_at(builder, uniforms, i64(slot), I64), typ=I8)
        return builder.icmp_unsigned("!=" if value else "==", byte, ir.Constant(I8, 0))

    own = stack(builder, I64, len(numbers))
    for k in range(len(numbers)):
        number = builder.load(element_at(builder, table, i64(k), I64), typ=I64)
        if (places := wanted.get(k - _SIZES)) is not None:
            each = [reduce(builder.and_, [holds(*literal) for literal in place]) for place in places]
            number = builder.select(reduce(builder.or_, each, ir.Constant(I1, 0)), number, i64(0))
        builder.store(number, element_at(builder, own, i64(k), I64))
    return own


def _typed(builder: ir.IRBuilder, address: Any) -> Any:
    """The address for llvmlite, whose pointers do not say what they point to."""
    typed = element_at(builder, address, i64(0), I8)
    typed.type = _TYPE
    return typed
