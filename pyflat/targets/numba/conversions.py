"""What fills a block of lanes with an operand as it lies in memory: any numeric dtype, byte order and stride.

    i8 convert(dense, far, step, count)

reads `count` elements, `step` bytes apart from `far` on, and writes them next to each other as lanes hold them:
integers as int64, floats as float64 or float32, bools as bytes. The result is 1 where a number of uint64 is beyond
int64 (0 stands for it), otherwise 0. Kernels call it for blocks that stay in the cache (`feed`), so that a kernel is
compiled once, whatever the dtypes of its operands are, and no operand is converted as a whole.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir

from pyflat.targets.numba.jit import MachineCode, compile_ir, processor
from pyflat.targets.numba.llvm import F32, F64, I8, I64, POINTER, Splat, counted, element_at, i64, suffix

_WIDTH = 16
"""Elements at a time, where they lie next to each other."""

_HALF_SHIFT, _HALF_SCALE = 13, 2.0**112
"""The bits of a float16 but its sign, moved to where float32 has them, and what that number is to be multiplied by."""


def conversion(stored: np.dtype[Any], lane: np.dtype[Any]) -> int:
    """The address of the function for elements of one dtype, and lanes of another; valid as long as the process."""
    return _compiled(stored.newbyteorder("=").str, not stored.isnative, lane.str).address


@cache
def _compiled(stored: str, swapped: bool, lane: str) -> MachineCode:
    text = _Conversion(np.dtype(stored), swapped, np.dtype(lane)).text()
    return compile_ir(text, "convert", {}, processor())


class _Conversion:
    """Writes one function."""

    def __init__(self, stored: np.dtype[Any], swapped: bool, lane: np.dtype[Any]):
        self.stored, self.swapped, self.lane = stored, swapped, lane
        self.element = ir.IntType(8 * stored.itemsize)
        self.result = {"b": I8, "i": I64, "f": F64 if lane.itemsize == 8 else F32}[lane.kind]
        module = ir.Module("pyflat")
        self.function = ir.Function(module, ir.FunctionType(I8, [POINTER, POINTER, I64, I64]), "convert")
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))

    def text(self) -> str:
        dense, far, step, count = self.function.args
        builder, size = self.builder, self.stored.itemsize
        self.beyond = builder.alloca(I8)
        builder.store(ir.Constant(I8, 0), self.beyond)
        whole = builder.and_(count, i64(-_WIDTH))
        unit = builder.icmp_signed("==", step, i64(size))
        done = builder.select(unit, whole, i64(0))
        with counted(builder, done, _WIDTH) as k:
            self._convert(dense, k, element_at(builder, far, k, self.element), _WIDTH)
        with counted(builder, count, 1, done) as k:
            self._convert(dense, k, element_at(builder, far, builder.mul(k, step), I8), 1)
        builder.ret(builder.load(self.beyond, typ=I8))
        return str(self.function.module)

    def _convert(self, dense: Any, place: Any, source: Any, width: int) -> None:
        lanes = self._lanes(self.builder.load(source, typ=_wide(self.element, width), align=1), width)
        target = element_at(self.builder, dense, place, self.result)
        self.builder.store(lanes, target, align=self.lane.itemsize)

    def _lanes(self, bits: Any, width: int) -> Any:
        """Elements, as integers of their size, as lanes."""
        builder, result = self.builder, _wide(self.result, width)
        if self.swapped:
            bits = self._call(f"llvm.bswap.{suffix(bits.type)}", bits)
        match self.stored.kind:
            case "b":
                return bits
            case "i":
                return builder.sext(bits, result) if bits.type != result else bits
            case "u" if self.stored.itemsize == 8:
                return self._within_int64(bits, width)
            case "u":
                return builder.zext(bits, result)
        if self.stored.itemsize == 2:
            number = self._from_half(bits, width)
        else:
            number = builder.bitcast(bits, _wide(F32 if self.stored.itemsize == 4 else F64, width))
        if number.type == result:
            return number
        return (builder.fpext if self.stored.itemsize < self.lane.itemsize else builder.fptrunc)(number, result)

    def _within_int64(self, bits: Any, width: int) -> Any:
        builder, none = self.builder, _constant(I64, 0, width)
        beyond = builder.icmp_signed("<", bits, none)
        found = beyond if width == 1 else builder.icmp_unsigned(
            "!=", builder.bitcast(beyond, ir.IntType(width)), ir.Constant(ir.IntType(width), 0))
        builder.store(builder.or_(builder.load(self.beyond, typ=I8), builder.zext(found, I8)), self.beyond)
        return builder.select(beyond, none, bits)

    def _from_half(self, bits: Any, width: int) -> Any:
        """float16 as float32, without the instruction that not all processors have: the exponent is scaled, which
        makes numbers of the subnormal ones too; infinities and nan get their own exponent."""
        builder, wide = self.builder, ir.IntType(32)

        def both(name: str, value: Any, number: int) -> Any:
            return getattr(builder, name)(value, _constant(wide, number, width))

        whole = builder.zext(bits, _wide(wide, width))
        moved = both("shl", both("and_", whole, 0x7FFF), _HALF_SHIFT)
        scaled = builder.fmul(builder.bitcast(moved, _wide(F32, width)), _constant(F32, _HALF_SCALE, width))
        special = builder.icmp_unsigned(">=", moved, _constant(wide, 0x7C00 << _HALF_SHIFT, width))
        number = builder.select(special, both("or_", moved, 0x7F800000), builder.bitcast(scaled, whole.type))
        sign = both("shl", both("and_", whole, 0x8000), 16)
        return builder.bitcast(builder.or_(number, sign), _wide(F32, width))

    def _call(self, name: str, value: Any) -> Any:
        module = self.function.module
        known = module.globals.get(name) or ir.Function(module, ir.FunctionType(value.type, [value.type]), name)
        return self.builder.call(known, [value])


def _wide(element: ir.Type, width: int) -> ir.Type:
    return element if width == 1 else ir.VectorType(element, width)


def _constant(element: ir.Type, number: float, width: int) -> Any:
    scalar = ir.Constant(element, number)
    return scalar if width == 1 else Splat(scalar, width)
