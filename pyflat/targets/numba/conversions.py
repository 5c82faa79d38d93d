"""What fills a block of lanes with an operand as it lies in memory: any numeric dtype, byte order and stride.

    i8 convert(dense, far, step, count)

reads `count` elements, `step` bytes apart from `far` on, and writes them next to each other as lanes hold them:
integers as int64, floats as float64 or float32, bools as bytes. The result is 1 where a number of uint64 is beyond
int64 (0 stands for it), otherwise 0. Kernels call it for blocks that stay in the cache (`feed`), so that a kernel is
compiled once, whatever the dtypes of its operands are, and no operand is converted as a whole.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from pyflat.targets.numba.jit import MachineCode, compile_ir, made_once, processor
from pyflat.targets.numba.llvm import F32, F64, I8, I32, I64, POINTER, Splat, counted, element_at, i64, suffix

_WIDTH = 16
"""Elements at a time, where they lie at one of these distances."""

_DISTANCES = (1, 0, -1, 2, 3, 4)
"""In elements: dense, the same for all lanes, reversed, one of a few that alternate, as the channels of an image.
Elements of 8 bytes are loaded one by one there, which is twice as fast as picking them from registers."""

_HALF_SHIFT, _HALF_SCALE = 13, 2.0**112
"""The bits of a float16 but its sign, moved to where float32 has them, and what that number is to be multiplied by."""


def copying(stored: np.dtype[Any]) -> int:
    """The address of the function that brings elements of a dtype together as they are."""
    whole = np.dtype(f"u{stored.itemsize}")
    return conversion(whole, whole)


def conversion(stored: np.dtype[Any], lane: np.dtype[Any]) -> int:
    """The address of the function for elements of one dtype, and lanes of another; valid as long as the process."""
    return _compiled(stored.newbyteorder("=").str, not stored.isnative, lane.str).address


@made_once
def _compiled(stored: str, swapped: bool, lane: str) -> MachineCode:
    text = _ConversionWriter(np.dtype(stored), swapped, np.dtype(lane)).text()
    return compile_ir(text, "convert", {}, processor())


class _ConversionWriter:
    """Writes one function."""

    def __init__(self, stored: np.dtype[Any], swapped: bool, lane: np.dtype[Any]):
        self.stored, self.swapped, self.lane = stored, swapped, lane
        self.element = ir.IntType(8 * stored.itemsize)
        self.result = {"b": I8, "i": I64, "f": F64 if lane.itemsize == 8 else F32}.get(lane.kind, self.element)
        module = ir.Module("pyflat")
        self.function = ir.Function(module, ir.FunctionType(I8, [POINTER, POINTER, I64, I64]), "convert")
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))

    def text(self) -> str:
        dense, far, step, count = self.function.args
        builder, size = self.builder, self.stored.itemsize
        self.beyond = builder.alloca(I8)
        builder.store(ir.Constant(I8, 0), self.beyond)
        done: Any = i64(0)
        for distance in _DISTANCES[:3] if size == 8 else _DISTANCES:
            lanes = builder.sub(count, i64(1)) if distance > 1 else count
            fits = builder.icmp_signed("==", step, i64(distance * size))
            whole = builder.select(fits, builder.and_(lanes, i64(-_WIDTH)), i64(0))
            with counted(builder, whole, _WIDTH, rolled=True) as k:
                bits = self._load(element_at(builder, far, builder.mul(k, step), I8), distance)
                self._store(bits, element_at(builder, dense, k, self.result), _WIDTH)
            done = builder.or_(done, whole)
        with counted(builder, count, 1, done) as k:
            bits = builder.load(element_at(builder, far, builder.mul(k, step), I8), typ=self.element, align=1)
            self._store(bits, element_at(builder, dense, k, self.result), 1)
        builder.ret(builder.load(self.beyond, typ=I8))
        return str(self.function.module)

    def _load(self, first: Any, distance: int) -> Any:
        """`_WIDTH` elements in one register, of which each is so many behind the one before. What is read between them
        is the caller's memory too, but not what lies behind the last one: there the last lane is left out."""
        builder = self.builder
        if distance < 0:
            first = element_at(builder, first, i64(distance * (_WIDTH - 1)), self.element)
        loaded = builder.load(first, typ=_wide(self.element, max(abs(distance) * _WIDTH, 1)), align=1)
        if distance == 1:
            return loaded
        if distance == 0:
            loaded = builder.insert_element(ir.Constant(_wide(self.element, _WIDTH), ir.Undefined), loaded, i64(0))
        places = range(_WIDTH)[::-1] if distance < 0 else [distance * k for k in range(_WIDTH)]
        order = ir.Constant(ir.VectorType(I32, _WIDTH), list(places))
        return builder.shuffle_vector(loaded, ir.Constant(loaded.type, ir.Undefined), order)

    def _store(self, bits: Any, target: Any, width: int) -> None:
        self.builder.store(self._lanes(bits, width), target, align=self.lane.itemsize)

    def _lanes(self, bits: Any, width: int) -> Any:
        """Elements, as integers of their size, as lanes."""
        if self.stored.kind == "u" and self.lane.kind == "i" and self.stored.itemsize == 8:
            return self._within_int64(_swapped(self.builder, bits) if self.swapped else bits, width)
        return as_lanes(self.builder, bits, self.stored, self.result, width, swapped=self.swapped)

    def _within_int64(self, bits: Any, width: int) -> Any:
        builder, none = self.builder, _constant(I64, 0, width)
        beyond = builder.icmp_signed("<", bits, none)
        found = beyond if width == 1 else builder.icmp_unsigned(
            "!=", builder.bitcast(beyond, ir.IntType(width)), ir.Constant(ir.IntType(width), 0))
        builder.store(builder.or_(builder.load(self.beyond, typ=I8), builder.zext(found, I8)), self.beyond)
        return builder.select(beyond, none, bits)


def as_lanes(builder: ir.IRBuilder, bits: Any, stored: np.dtype[Any], lane: ir.Type, width: int, *, swapped: bool
             ) -> Any:
    """Elements of a dtype that are `width` integers of its size, as lanes of an LLVM type; not those of uint64."""
    result = _wide(lane, width)
    if swapped:
        bits = _swapped(builder, bits)
    match stored.kind:
        case "i" if bits.type != result:
            return builder.sext(bits, result)
        case "u" if bits.type != result:
            return builder.zext(bits, result)
        case "b" | "i" | "u":
            return bits
    if stored.itemsize == 2:
        number = _from_half(builder, bits, width)
    else:
        number = builder.bitcast(bits, _wide(F32 if stored.itemsize == 4 else F64, width))
    if number.type == result:
        return number
    return (builder.fpext if lane == F64 else builder.fptrunc)(number, result)


def _swapped(builder: ir.IRBuilder, bits: Any) -> Any:
    """In the other byte order."""
    name = f"llvm.bswap.{suffix(bits.type)}"
    module = builder.module
    known = module.globals.get(name) or ir.Function(module, ir.FunctionType(bits.type, [bits.type]), name)
    return builder.call(known, [bits])


def _from_half(builder: ir.IRBuilder, bits: Any, width: int) -> Any:
    """float16 as float32, without the instruction that not all processors have: the exponent is scaled, which makes
    numbers of the subnormal ones too; infinities and nan get their own exponent."""
    wide = ir.IntType(32)

    def both(name: str, value: Any, number: int) -> Any:
        return getattr(builder, name)(value, _constant(wide, number, width))

    whole = builder.zext(bits, _wide(wide, width))
    moved = both("shl", both("and_", whole, 0x7FFF), _HALF_SHIFT)
    scaled = builder.fmul(builder.bitcast(moved, _wide(F32, width)), _constant(F32, _HALF_SCALE, width))
    special = builder.icmp_unsigned(">=", moved, _constant(wide, 0x7C00 << _HALF_SHIFT, width))
    number = builder.select(special, both("or_", moved, 0x7F800000), builder.bitcast(scaled, whole.type))
    sign = both("shl", both("and_", whole, 0x8000), 16)
    return builder.bitcast(builder.or_(number, sign), _wide(F32, width))


def _wide(element: ir.Type, width: int) -> ir.Type:
    return element if width == 1 else ir.VectorType(element, width)


def _constant(element: ir.Type, number: float, width: int) -> Any:
    scalar = ir.Constant(element, number)
    return scalar if width == 1 else Splat(scalar, width)
