"""Which numbers of a kernel are NumPy's scalars, and of which dtype: NumPy's arithmetic depends on it.

A *width* is what a number may be: a set of dtypes ("f4", "i8", ...) and None for Python's own. Most numbers are one of
them. A variable may be Python's where a loop makes no trip and NumPy's after one: `s = 0.0`, then `s += a[i]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pyflat.frontend.state.values import MemoryRef
from pyflat.ir.build import Builder
from pyflat.ir.kernel_results import Model
from pyflat.ir.nodes import TRUE, Const, Op, Param, Value
from pyflat.ir.types import BOOL, FLOAT, INT, Kind

Width = frozenset[str | None]
PYTHON: Width = frozenset({None})
UNKNOWN: Width = frozenset({"?"})
OF_KIND: dict[Kind, str] = {BOOL: "b1", INT: "i8", FLOAT: "f8"}
WIDE = frozenset({None, "i8", "f8"})
"""Numbers whose arithmetic has the same values in Python and in NumPy, wherever neither raises nor warns."""
_LOGIC = ("eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite")


class Case(NamedTuple):
    """When a value is Python's: where `opcode` holds for two numbers. What a loop carries is that in its first
    iteration, what it leaves behind where it makes no trip. It is of the width `numpy` otherwise."""

    opcode: str
    operands: tuple[Value, Value]
    numpy: Width


class Widths:
    """The widths of a kernel's values."""

    def __init__(self) -> None:
        self.known: dict[Value, Width] = {}
        self.models: dict[str, tuple[Model, ...]] = {}
        """Arrays made of others -> those: NumPy keeps the order of their axes in memory."""
        self.cases: dict[Value, Case] = {}
        """Values that are Python's, or NumPy's of one dtype, and when: see `Case`."""
        self.copies: dict[MemoryRef, MemoryRef] = {}
        """Arrays that NumPy would make as a copy of others or a view, by how these lie: neither is written."""
        self.narrow = False
        """There are numbers of other dtypes than float64 and int64."""

    def mark(self, value: Value, width: Width) -> Value:
        self.known[value] = width
        self.narrow |= not width <= WIDE
        return value

    def of(self, value: Value) -> Width:
        """What a value may be. Of operations that are no arithmetic of the user's it is what their operands are."""
        found = self.known.get(value)
        if found is None:
            found = self.known[value] = self._derived(value)
        return found

    def _derived(self, value: Value) -> Width:
        if isinstance(value, Const):
            return PYTHON
        if isinstance(value, Param):
            return self._somewhere(value.kind)
        if not isinstance(value, Op) or value.opcode == "not":
            return PYTHON
        operands = value.args[1:] if value.opcode == "select" else value.args
        width = self._union(self.of(arg) for arg in operands if arg.kind in OF_KIND)
        if value.opcode == "select" or width <= PYTHON:
            return width or PYTHON
        if value.opcode in _LOGIC:
            certain = any(None not in self.of(arg) for arg in operands if arg.kind in OF_KIND)
            return frozenset({"b1"}) if certain else frozenset({None, "b1"})
        return self._somewhere(value.kind)

    def _somewhere(self, kind: Kind) -> Width:
        """Of a value that nothing is known of."""
        if kind not in OF_KIND:
            return PYTHON
        return UNKNOWN if self.narrow else frozenset({None, OF_KIND[kind]})

    @staticmethod
    def _union(widths: Iterable[Width]) -> Width:
        return frozenset().union(*widths)

    def join(self, param: Param, values: Sequence[Value]) -> None:
        """`param` is one of these."""
        if param.kind in OF_KIND:
            real = [value for value in values if not (isinstance(value, Const) and value.value is None)]
            self.known[param] = self._union(map(self.of, real)) or PYTHON

    def as_numpy(self, build: Builder, value: Value) -> Value:
        """The value as a scalar of NumPy's dtype for its kind; it may mean another number as well. `select true` of a
        number twice is that number as NumPy's, `select false` as Python's: on the NumPy target it is what it says."""
        wanted = frozenset({OF_KIND[value.kind]}) if value.kind in OF_KIND else PYTHON
        if self.known.get(value) == wanted:
            return value
        last = build.block.ops[-1] if build.block.ops else None
        if value is last and value not in self.known and (value.kind is not FLOAT or last.opcode.startswith("np_")):
            return self.mark(value, wanted)
        return self.mark(build.op("select", TRUE, value, value), wanted)
