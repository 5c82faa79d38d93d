"""Which numbers are NumPy's scalars, and of which dtype: NumPy's arithmetic depends on it.

A *width* is what a number may be: a set of dtypes ("f4", "i8", ...) and None for Python's own. Most numbers are one of
them. A variable may be Python's where a loop makes no trip and NumPy's after one: `s = 0.0`, then `s += a[i]`.

In a kernel every operation notes the width of what it makes. Over lanes, where NumPy's numbers are float64, int64 and
bool, only what NumPy or Python is known to have made is noted, and the rest is derived when it is asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from pyflat.frontend.state.values import MemoryRef
from pyflat.ir.build import Builder
from pyflat.ir.kernel_results import Model
from pyflat.ir.nodes import FALSE, TRUE, Const, Op, Param, Value
from pyflat.ir.types import BOOL, FLOAT, INT, Kind

Width = frozenset[str | None]
PYTHON: Width = frozenset({None})
UNKNOWN: Width = frozenset({"?"})
OF_KIND: dict[Kind, str] = {BOOL: "b1", INT: "i8", FLOAT: "f8"}
WIDE = frozenset({None, "i8", "f8"})
"""Numbers whose arithmetic has the same values in Python and in NumPy, wherever neither raises nor warns."""
_KEEP_NUMPY = ("add", "sub", "mul", "truediv", "neg", "abs")
"""Of a NumPy scalar and any number they make a NumPy scalar."""
_LOGIC = ("eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite")


class Case(NamedTuple):
    """When a value is Python's: where `opcode` holds for two numbers. What a loop carries is that in its first
    iteration, what it leaves behind where it makes no trip. It is of the width `numpy` otherwise."""

    opcode: str
    operands: tuple[Value, Value]
    numpy: Width


class Widths:
    """The widths of the values of a twin over lanes, or of a kernel."""

    def __init__(self, *, kernel: bool = False) -> None:
        self.kernel = self.seen = kernel
        """`seen`: a NumPy scalar may be among the values; its operators give inf where Python's raise."""
        self.known: dict[Value, Width] = {}
        self.arguments: set[Value] = set()
        """Parameters of the function. What paths or iterations have joined is a Param as well."""
        self.without_axes: set[Value] = set()
        """What NumPy gives as an array without axes, and not as a number: np.asarray(x)."""
        self.models: dict[str, tuple[Model, ...]] = {}
        """Arrays made of others -> those: NumPy keeps the order of their axes in memory."""
        self.array_names: dict[str, str] = {}
        """Arrays -> the first variable that each was bound to."""
        self.cases: dict[Value, Case] = {}
        """Values that are Python's, or NumPy's of one dtype, and when: see `Case`."""
        self.copies: dict[MemoryRef, MemoryRef] = {}
        """Arrays that NumPy would make as a copy of others or a view, by how these lie: neither is written."""
        self.narrow = False
        """There are numbers of other dtypes than float64 and int64."""
        self.native = True
        """The arguments are in the machine's byte order."""

    def mark(self, value: Value, width: Width) -> Value:
        self.known[value] = width
        self.narrow |= not width <= WIDE
        return value

    def of(self, value: Value) -> Width:
        """What a value may be. Of operations that are no arithmetic of the user's it is what their operands are."""
        if not self.kernel:
            return self._of_lane(value)
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

    def _of_lane(self, value: Value) -> Width:
        """NumPy's where arithmetic has made it of one of NumPy's; perhaps where it is made of one in another way, or of
        what paths or iterations have joined."""
        if not self.seen:
            return PYTHON
        if any(each in self.known for each in self._made_of(value, _KEEP_NUMPY)):
            return frozenset({OF_KIND[value.kind]}) if value.kind in OF_KIND else PYTHON
        doubtful = any(each in self.known or self.is_joined(each) for each in self._made_of(value))
        return frozenset({None, OF_KIND.get(value.kind)}) if doubtful else PYTHON

    def is_joined(self, value: Value) -> bool:
        """Paths or iterations have joined it."""
        return isinstance(value, Param) and value not in self.arguments

    def _made_of(self, value: Value, opcodes: Collection[str] = ()) -> Iterator[Value]:
        """The value and what it is made of, by these operations (none: by any), as far as it is not Python's own."""
        waiting, seen = [value], set[Value]()
        while waiting:
            each = waiting.pop()
            if each in seen or self.known.get(each) == PYTHON:
                continue
            seen.add(each)
            yield each
            if isinstance(each, Op) and (not opcodes or each.opcode in opcodes):
                waiting += each.args

    @staticmethod
    def _union(widths: Iterable[Width]) -> Width:
        return frozenset().union(*widths)

    def join(self, param: Param, values: Sequence[Value]) -> None:
        """`param` is one of these. Over lanes that is noted where all are NumPy's, or Python's (a constant does not
        tell)."""
        if not self.kernel:
            found = self._union(map(self.of, values))
            if self.seen and len(found) == 1 and not (None in found and any(isinstance(v, Const) for v in values)):
                self.known[param] = found
        elif param.kind in OF_KIND:
            real = [value for value in values if not (isinstance(value, Const) and value.value is None)]
            self.known[param] = self._union(map(self.of, real)) or PYTHON

    def as_numpy(self, build: Builder, value: Value, *, own: bool = False) -> Value:
        """The value as a scalar of NumPy's dtype for its kind; it may mean another number as well. `select true` of a
        number twice is that number as NumPy's, `select false` as Python's: on the NumPy target it is what it says.
        `own`: NumPy has made it, and it means no other number."""
        wanted = frozenset({OF_KIND[value.kind]}) if value.kind in OF_KIND else PYTHON
        if self.known.get(value) == wanted:
            return value
        if not self.kernel:
            return self.mark(value if own else build.op("select", FALSE, value, value), wanted)
        last = build.block.ops[-1] if build.block.ops else None
        if value is last and value not in self.known and (value.kind is not FLOAT or last.opcode.startswith("np_")):
            return self.mark(value, wanted)
        return self.mark(build.op("select", TRUE, value, value), wanted)
