"""Between which numbers an index lies in a loop nest, computed before the nest runs.

An index like `k * i + j - 1` is a sum and product of the counters of loops and of what does not change in the nest. Its
least and largest value over the box of all iterations are cheap to compute once; where they are inside the array,
no access has to be tested. A counter whose range is empty has a box whose end lies before its start: then nothing runs.

"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from llvmlite import ir

from pyflat.analysis.kernels import Kernel
from pyflat.analysis.sure_indices import SureIndices
from pyflat.ir.affine import Affine
from pyflat.ir.loops import Counted, definitions, recognise_counted
from pyflat.ir.memory import ArrayArgument
from pyflat.ir.nodes import Const, Loop, Op, Param, Value, walk
from pyflat.ir.types import INT
from pyflat.targets.numba.kernels.places import CONTIGUOUS
from pyflat.targets.numba.llvm import I64, POINTER, i64

# --- the frame of a kernel's machine code: what it is called with, and what it says when it returns

FAULTED, WARNED, WRAPPED, WAITED = 1, 2, 4, 8
"""What a kernel gives: it has met a fault; something at which NumPy may warn; an overflow of uint64; with `FAULTED`:
lanes that perhaps never end, and that the original may never come to."""
ENTRY = "pyflat_kernel"


@dataclass(frozen=True, slots=True)
class ArgumentSlot:
    """What an argument slot has: "pointer", "extent", "stride" of an axis of an array, or "value"."""

    what: str
    name: str
    axis: int = 0


def argument_slots(kernel: Kernel, layouts: Mapping[str, str]) -> list[ArgumentSlot]:
    slots: list[ArgumentSlot] = []
    for name, argument in kernel.arguments.items():
        if isinstance(argument, ArrayArgument):
            axes = range(argument.rank)
            slots += [ArgumentSlot("pointer", name), *[ArgumentSlot("extent", name, axis) for axis in axes]]
            slots += [ArgumentSlot("stride", name, axis) for axis in axes] if layouts[name] != CONTIGUOUS else []
        elif hasattr(argument, "kind") or hasattr(argument, "dtype"):
            slots.append(ArgumentSlot("value", name))
    return slots


def slot(builder: ir.IRBuilder, block: Any, number: int, type_: ir.Type | None) -> Any:
    """The address of a slot of 8 bytes, or what it has, as this type."""
    place = builder.gep(block, [i64(number)], source_etype=I64)
    place.type = POINTER
    return place if type_ is None else builder.load(place, typ=type_)


MODEST = 1 << 48
"""What is added and multiplied in a box is smaller than this, or the box is not trusted: int64 would overflow."""
MAX_FACTOR = 1 << 8


@dataclass(slots=True)
class Box:
    """From `low` to `high`, both included; `depth`: operations that it was made of."""

    low: Any
    high: Any
    depth: int = 0


class Boxes:
    """The boxes of values of a loop nest. `outside` gives the number of a value that is there before the nest."""

    def __init__(self, builder: ir.IRBuilder, loop: Loop, outside: dict[Value, Any], counted: dict[Param, Counted]):
        self.builder, self.outside, self.counted = builder, outside, counted
        self.inside = set(definitions(loop.body)) | set(loop.params)
        self.trusted: Any = None
        """All numbers are modest; None: there is nothing to doubt."""
        self.used: set[Op] = set()
        self._known: dict[Value, Box | None] = {}
        self._modest: set[Value] = set()

    def of(self, value: Value) -> Box | None:
        if value not in self._known:
            self._known[value] = None  # a value that leads back to itself has no box
            self._known[value] = self._made(value)
        return self._known[value]

    def invariant(self, value: Value) -> Any:
        """The number of a value that does not change in the nest, None for others."""
        if isinstance(value, Const):
            return i64(int(value.value or 0))
        return None if value in self.inside else self.outside.get(value)

    def _made(self, value: Value) -> Box | None:
        if value.kind is not INT:
            return None
        if isinstance(value, Const):
            known = int(value.value or 0)
            return Box(i64(known), i64(known)) if abs(known) < MODEST else None
        number = self.invariant(value)
        if number is not None:
            self._require_modest(value, number)
            return Box(number, number)
        if isinstance(value, Param):
            return self._of_counter(value)
        return self._of_op(value) if isinstance(value, Op) else None

    def _require_modest(self, value: Value, number: Any) -> None:
        if value in self._modest:
            return
        self._modest.add(value)
        shifted = self.builder.add(number, i64(MODEST))
        self.trust(self.builder.icmp_unsigned("<", shifted, i64(2 * MODEST)))

    def trust(self, test: Any) -> None:
        self.trusted = test if self.trusted is None else self.builder.and_(self.trusted, test)

    def _of_counter(self, param: Param) -> Box | None:
        found = self.counted.get(param)
        if found is None:
            return None
        lower, upper = self.of(found.lower), self.of(found.upper)
        if lower is None or upper is None:
            return None
        depth = max(lower.depth, upper.depth) + 1
        if found.step > 0:
            return Box(lower.low, self.builder.sub(upper.high, i64(1), flags=["nsw"]), depth)
        return Box(self.builder.add(upper.low, i64(1), flags=["nsw"]), lower.high, depth)

    def _of_op(self, op: Op) -> Box | None:
        b = self.builder
        parts = [self.of(arg) for arg in op.args if arg.kind is INT]
        if not parts or any(part is None or part.depth > 12 for part in parts):
            return None
        boxes = [part for part in parts if part is not None]
        depth = max(box.depth for box in boxes) + 1
        match op.opcode:
            case "add":
                made = Box(b.add(boxes[0].low, boxes[1].low), b.add(boxes[0].high, boxes[1].high), depth)
            case "sub":
                made = Box(b.sub(boxes[0].low, boxes[1].high), b.sub(boxes[0].high, boxes[1].low), depth)
            case "mul":
                made = self._scaled(op, boxes, depth) or self._product(boxes[0], boxes[1], depth)
            case "select" if op.args[1] is op.args[2]:
                made = boxes[0]
            case _:
                return None
        self.used.add(op)
        return made

    def _scaled(self, op: Op, boxes: list[Box], depth: int) -> Box | None:
        for factor, box in ((op.args[0], boxes[1]), (op.args[1], boxes[0])):
            if isinstance(factor, Const) and abs(int(factor.value or 0)) <= MAX_FACTOR:
                known = int(factor.value or 0)
                ends = box.low, box.high
                low, high = ends if known >= 0 else ends[::-1]
                return Box(self.builder.mul(low, i64(known)), self.builder.mul(high, i64(known)), depth)
        return None

    def _product(self, a: Box, b: Box, depth: int) -> Box:
        """The product of two numbers that are not known. The ends are among the products of ends."""
        products = []
        for x, y in dict.fromkeys((x, y) for x in (a.low, a.high) for y in (b.low, b.high)):
            both = self.builder.smul_with_overflow(x, y)
            products.append(self.builder.extract_value(both, 0))
            self.trust(self.builder.not_(self.builder.extract_value(both, 1)))
            self._require_modest(products[-1], products[-1])
        low, high = products[0], products[0]
        for each in products[1:]:
            low, high = (self.builder.select(self.builder.icmp_signed(sign, each, end), each, end)
                         for sign, end in (("<", low), (">", high)))
        return Box(low, high, depth)

    def inside_of(self, position: Value, size: Value) -> Any:
        """The test that a position is inside an axis in every iteration, None where there is none."""
        length = self.invariant(size)
        box = None if length is None else self.of(position)
        if box is None:
            return None
        b = self.builder
        fits = b.and_(b.icmp_signed(">=", box.low, i64(0)), b.icmp_signed("<", box.high, length))
        return b.or_(fits, b.icmp_signed("<", box.high, box.low))

    def inside_where_it_stands(self, op: Op, sure: SureIndices) -> Any:
        """The test that an index with a test of its own around it is inside there, None where there is none."""
        (position, size), guarded, b = op.args, op in sure.guarded, self.builder
        length = self.invariant(size)
        if length is None:
            return None
        ends = [end for form in sure.at_most[op] if (end := self._sum(form)) is not None]
        box = None if ends and guarded else self.of(position)
        if box is None and not (ends and guarded) or not ends and not guarded:
            return None
        tests = [b.icmp_signed("<", end, length) for end in [*ends, *([box.high] if box else [])]]
        below = reduce(b.or_, tests)
        return below if box is None or guarded else b.and_(b.icmp_signed(">=", box.low, i64(0)), below)

    def _sum(self, form: Affine) -> Any:
        """A sum of few numbers that do not change in the nest."""
        parts = [(self.of(value), count) for value, count in form[0].items() if self.invariant(value) is not None]
        if len(parts) < len(form[0]) or len(parts) > 2 or abs(form[1]) > MODEST or any(
                part is None or abs(count) > MAX_FACTOR for part, count in parts):
            return None
        terms = [self.builder.mul(part.low, i64(count)) for part, count in parts if part is not None]
        return reduce(self.builder.add, terms, i64(form[1]))


def counters(items: list[Any]) -> dict[Param, Counted]:
    """The counters of all loops that count."""
    loops = [item for item in walk(items) if isinstance(item, Loop)]
    found = [recognise_counted(loop) for loop in loops]
    return {counted.iv: counted for counted in found if counted is not None}
