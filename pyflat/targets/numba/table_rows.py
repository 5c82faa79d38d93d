"""Lookups in tables of float64 by a vector of indexes, for the numba target.

A row of a table is one load for each lane, and a transpose makes vectors of columns of as many rows as a register has
lanes: with two columns and more about twice as fast as a gather for each (Zen 4).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from llvmlite import ir

from pyflat.targets.numba.jit import processor
from pyflat.targets.numba.llvm import F64, I1, I32, I64, POINTER, Splat, element_at, joined, parted, suffix

_HALF_LINE = 4
"""Columns that are loaded at once."""


def read_rows(builder: ir.IRBuilder, symbol: str, stride: int, index: Any, columns: int) -> list[Any]:
    """The first `columns` numbers of the rows `index` of the table with this symbol, whose rows are `stride` numbers
    apart: a value for each column, of as many lanes as the index has."""
    table = _declared(builder.module, symbol)
    if not isinstance(index.type, ir.VectorType):
        start = builder.mul(index, I64(stride))
        return [builder.load(element_at(builder, table, builder.add(start, I64(k)), F64), typ=F64)
                for k in range(columns)]
    lanes = min(8 if processor().vector_bytes == 64 else 4, index.type.count)
    parts = []
    for part in parted(builder, index, lanes):
        starts = builder.mul(part, Splat(I64(stride), lanes))
        parts.append(_Lookup(builder, table, stride, starts).columns(columns))
    return [joined(builder, list(pieces)) for pieces in zip(*parts, strict=True)]


def _declared(module: ir.Module, symbol: str) -> ir.GlobalVariable:
    known = module.globals.get(symbol)
    if known is None:
        known = ir.GlobalVariable(module, F64, symbol)
        known.global_constant = True
    return known


class _Lookup:
    """The rows of one register's lanes, which start at the numbers `starts` of the table."""

    def __init__(self, builder: ir.IRBuilder, table: Any, stride: int, starts: Any):
        self.builder, self.table, self.stride, self.starts = builder, table, stride, starts
        self.lanes = starts.type.count

    def columns(self, columns: int) -> list[Any]:
        if columns == 1 or self.lanes < 4:
            return [self._gathered(k) for k in range(columns)]
        starts = [self.builder.extract_element(self.starts, I32(lane)) for lane in range(self.lanes)]
        found = []
        for first in range(0, columns, _HALF_LINE):
            wide = 2 if columns - first <= 2 else _HALF_LINE
            rows = [self._row(start, first, wide) for start in starts]
            found += self._turned(rows)
        return found[:columns]

    def _row(self, start: Any, first: int, wide: int) -> Any:
        at = self.builder.add(start, I64(first)) if first else start
        place = element_at(self.builder, self.table, at, F64)
        return self.builder.load(place, typ=ir.VectorType(F64, wide), align=8 * min(wide, self.stride))

    def _turned(self, rows: Sequence[Any]) -> list[Any]:
        """The columns of four or eight rows of two or four numbers: pairs of rows are exchanged by their numbers with
        an even and an odd place, and then the pieces are put in order."""
        if self.lanes == 8:
            # Rows 0 and 2, 1 and 3, ... share a register.
            rows = [self._shuffled(rows[k], rows[k + 2], range(2 * rows[0].type.count)) for k in (0, 1, 4, 5)]
        width = rows[0].type.count
        even = [self._shuffled(rows[k], rows[k + 1], _interleaved(width, 0)) for k in (0, 2)]
        odd = [self._shuffled(rows[k], rows[k + 1], _interleaved(width, 1)) for k in (0, 2)]
        places = range(2 * width)
        if width < self.lanes:  # of rows of two numbers these are halves of columns
            return [self._shuffled(a, b, places) for a, b in (even, odd)]
        low, high = [k for k in places if k % 4 < 2], [k for k in places if k % 4 >= 2]
        return [self._shuffled(a, b, part) for part in (low, high) for a, b in (even, odd)]

    def _shuffled(self, a: Any, b: Any, places: Iterable[int]) -> Any:
        order = list(places)
        return self.builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(I32, len(order)), order))

    def _gathered(self, column: int) -> Any:
        builder, lanes = self.builder, self.lanes
        at = builder.add(self.starts, Splat(I64(column), lanes)) if column else self.starts
        result = ir.VectorType(F64, lanes)
        name = f"llvm.masked.gather.{suffix(result)}.v{lanes}p0"
        everywhere = Splat(ir.Constant(I1, 1), lanes)
        prototype = ir.FunctionType(result, [ir.VectorType(POINTER, lanes), I32, everywhere.type, result])
        gather = builder.module.globals.get(name) or ir.Function(builder.module, prototype, name)
        return builder.call(gather, [element_at(builder, self.table, at, F64), I32(8), everywhere,
                                     ir.Constant(result, ir.Undefined)])


def _interleaved(width: int, first: int) -> list[int]:
    """Every second number of two vectors, in turns."""
    return [place for k in range(first, width, 2) for place in (k, width + k)]


def permuted(builder: ir.IRBuilder, index: Any, numbers: Sequence[float]) -> Any:
    """One of at most eight numbers for each lane: AVX-512 permutes a register."""
    eight, places = ir.VectorType(F64, 8), ir.VectorType(I64, 8)
    name = "llvm.x86.avx512.permvar.df.512"
    permute = builder.module.globals.get(name) or ir.Function(
        builder.module, ir.FunctionType(eight, [eight, places]), name)
    padded = ir.Constant(eight, [ir.Constant(F64, x) for x in (*numbers, *[0.0] * (8 - len(numbers)))])
    return joined(builder, [builder.call(permute, [padded, part]) for part in parted(builder, index, 8)])
