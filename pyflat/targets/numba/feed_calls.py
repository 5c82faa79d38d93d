"""How a kernel calls the feed: with its function for whole gangs, and a table of its operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from pyflat.targets.numba import feed
from pyflat.targets.numba.feed import FEED, SLOT
from pyflat.targets.numba.llvm import I8, I64, POINTER, constants, element_at, i64

_TYPE = ir.FunctionType(I8, [POINTER, POINTER, I64, I64, POINTER, POINTER, POINTER, POINTER])


def block_lanes(operands: int, gang: int) -> int:
    """Lanes in a block: whole gangs."""
    return max(feed.BUFFERS // (SLOT * max(operands, 1)) // gang, 1) * gang


def write_feed(lanes: ir.Function, sizes: Sequence[int], results: int, gang: int) -> ir.Function:
    """`i8 (count, first, state, uniform values, args, steps)`: the feed of `lanes(count, state, uniform values,
    pointers)`. `sizes` are the bytes of a lane of each operand, 0 where it is uniform; the last are the `results`."""
    module, varying = lanes.module, sum(size > 0 for size in sizes)
    block = block_lanes(varying, gang)
    table = constants(module, I64, [len(sizes), len(sizes) - results, gang, block, SLOT * block * varying, *sizes])
    function = ir.Function(module, ir.FunctionType(I8, _TYPE.args[2:]), f"feed_{lanes.name}")
    function.linkage = "internal"
    function.attributes.add("alwaysinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    callee = builder.load(element_at(builder, function.args[2], i64(FEED), I64), typ=POINTER)
    builder.ret(builder.call(_typed(builder, callee), [lanes, table, *function.args]))
    return function


def _typed(builder: ir.IRBuilder, address: Any) -> Any:
    """The address for llvmlite, whose pointers do not say what they point to."""
    typed = element_at(builder, address, i64(0), I8)
    typed.type = _TYPE
    return typed
