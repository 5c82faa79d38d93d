"""Values: where each value of a function of the NumPy engine is, and its names in the text.

A value is a scalar (the same in all lanes), in a slot (`values`), in an array of the caller, or in one of
its own. Operands of ufuncs are arrays: literals and scalars are arrays without axes then. Views as ints are made
where they are needed, in the `head` of a function if what they show comes from outside of its loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pyflat.ir.formats import F8, FloatFormat, dtypes
from pyflat.ir.nodes import Const, Op, Value
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.targets.numpy.memory import ArenaLayout

# --- slots: the buffers of one function of the NumPy engine, as they are given out while it is written
#
# A slot is as wide as what it holds: 8 bytes for a lane ("w"), 4 ("q"), or 1 ("b"). Its views have its name, with an
# `i` behind it where they are ints. A slot whose value is used no more is given to another one.

@dataclass(slots=True)
class Slot:
    """A buffer of a frame; its width is "w" (8 bytes), "q" (4) or "b" (1)."""

    width: str
    number: int

    @property
    def name(self) -> str:
        return f"{self.width}{self.number}"


@dataclass(slots=True)
class Holder:
    """Where a value is: the names of its array, as it is and as ints; `slot` is the buffer that it gives back."""

    text: str
    bits: str = ""
    slot: Slot | None = None
    uniform: bool = False
    """Equal in all lanes: a scalar, and `bits` is unused."""
    temporary: bool = False
    """An array of its own, which is deleted when it is used no more."""
    home: Slot | None = None
    """The buffer that it is in, whether or not it gives it back."""
    stored: str = ""
    """The name of an array with these lanes in another form: they are converted where they are used first."""


class Buffers:
    """The slots of a function."""

    def __init__(self, floats: FloatFormat):
        self.floats = floats
        self._free: dict[str, list[Slot]] = {"w": [], "q": [], "b": []}
        self._slots: list[Slot] = []
        self._views: dict[str, set[str]] = {}

    def width(self, kind: Kind) -> str:
        return "b" if kind is BOOL else "q" if kind is FLOAT and self.floats is not F8 else "w"

    def new_slot(self, width: str) -> Slot:
        if self._free[width]:
            return self._free[width].pop()
        slot = Slot(width, len(self._slots))
        self._slots.append(slot)
        self._views[slot.name] = set()
        return slot

    def free(self, slot: Slot) -> None:
        self._free[slot.width].append(slot)

    def seen(self, slot: Slot, kind: Kind) -> str:
        """The name of the view of a slot that has the dtype of lanes of a kind."""
        if kind is INT:
            return self.seen_as_ints(slot)
        self._views[slot.name].add("b1" if slot.width == "b" else "f8" if slot.width == "w" else "f4")
        return slot.name

    def seen_as_ints(self, slot: Slot) -> str:
        self._views[slot.name].add({"w": "i8", "q": "i4", "b": "i1"}[slot.width])
        return slot.name + "i"

    def layout(self) -> tuple[ArenaLayout, list[str]]:
        """What the frame needs, and the names of its views in this order."""
        slots, names = [], []
        for slot in self._slots:
            views = sorted(self._views[slot.name])
            if views:
                slots.append(tuple(views))
                names += [slot.name + ("i" if view[0] == "i" else "") for view in views]
        return ArenaLayout(slots), names

    def views_of(self, slot: Slot) -> list[str]:
        """The names under which a slot is seen."""
        return [slot.name + ("i" if view[0] == "i" else "") for view in sorted(self._views[slot.name])]

    def join_views(self, one: Slot, other: Slot) -> None:
        """Let two slots be seen in the same ways."""
        both = self._views[one.name] | self._views[other.name]
        self._views[one.name], self._views[other.name] = both, set(both)

    @property
    def slots(self) -> list[Slot]:
        return self._slots


class SharedNames(Protocol):
    """What all frames of a program share: constants, tables, opaque calls."""

    floats: FloatFormat

    def constant(self, value: Const) -> str:
        """A scalar."""

    def number(self, value: Const) -> str:
        """A number as an array without axes."""

    def pattern(self, kind: Kind, bits: int) -> str:
        """The bits of a number of this kind as an int, an array without axes."""

    def named(self, prefix: str, value: Any) -> str:
        """Any object."""

    def call(self, op: Op) -> str:
        """An opaque call."""

    def compiled(self, *operation: Any) -> Any:
        """A ufunc of compiled code, None where there is none."""


def bits_of(value: Const, floats: FloatFormat) -> int:
    """The bits of a literal as a signed int of its width."""
    number = 0 if value.value is None else value.value
    dtype = dtypes(floats)[value.kind]
    return int(np.array(number, dtype).view(np.int64 if dtype.itemsize == 8 else np.int32))


class Values(Buffers):
    """The values of a function, and the lines that make views of them."""

    def __init__(self, names: SharedNames):
        super().__init__(names.floats)
        self.program = names
        self.places: dict[Value, Holder] = {}
        self.lines: list[str] = []
        self.head: list[str] = []
        """Lines before all others."""
        self.targets: dict[Value, Holder] = {}
        """Where results have to be."""
        self.fixed: set[str] = set()
        """Arrays that `head` makes ints of."""
        self._scalars: dict[Value, str] = {}
        self._count = 0

    def fresh_name(self) -> str:
        self._count += 1
        return f"t{self._count}"

    def is_uniform(self, value: Value) -> bool:
        return isinstance(value, Const) or self.places[value].uniform

    def place(self, value: Value) -> Holder:
        """Where a value is, in the form that operations take."""
        place = self.places[value]
        if place.stored:
            place.slot = place.home = self.new_slot(self.width(value.kind))
            place.text = self.seen(place.slot, value.kind)
            self.lines.append(f"{place.text}[...] = {place.stored}")
            place.stored = ""
        return place

    def stored(self, value: Value) -> str:
        """A value as an assignment takes it, which converts."""
        return self.array(value) if isinstance(value, Const) else self.places[value].stored or self.array(value)

    def scalar(self, value: Value) -> str:
        """A value in an expression: a scalar where it is uniform."""
        return self.program.constant(value) if isinstance(value, Const) else self.place(value).text

    def array(self, value: Value) -> str:
        """A value as an operand of a ufunc."""
        if isinstance(value, Const):
            return self.program.number(value)
        place = self.place(value)
        if not place.uniform:
            return place.text
        if value not in self._scalars:
            self._scalars[value] = "z" + place.text
            (self.head if place.text in self.fixed else self.lines).append(f"z{place.text} = asarray({place.text})")
        return self._scalars[value]

    def as_ints(self, value: Value) -> str:
        """The bits of a value, as an operand of a ufunc on ints of its width."""
        if value.kind is INT:
            return self.array(value)
        if isinstance(value, Const):
            return self.program.pattern(value.kind, bits_of(value, self.floats))
        place = self.place(value)
        if place.slot is not None:
            return self.seen_as_ints(place.slot)
        if place.bits:
            return place.bits
        text = self.array(value)
        lines = self.head if place.text in self.fixed else self.lines
        lines.append(f"{text}i = {text}.view({'int64' if self.floats is F8 else 'int32'})")
        place.bits = text + "i"
        return place.bits

    def define(self, op: Op, dying: Sequence[Value] = ()) -> Holder:
        """A place for the array that an operation gives; it may take over the slot of an operand that dies with it."""
        found = self.targets.get(op)
        if found is None:
            found = self._taken_over(op, dying) or self.in_slot(op.kind)
        self.places[op] = found
        return found

    def in_slot(self, kind: Kind) -> Holder:
        slot = self.new_slot(self.width(kind))
        return Holder(self.seen(slot, kind), slot=slot, home=slot)

    def _taken_over(self, op: Op, dying: Sequence[Value]) -> Holder | None:
        for value in dying:
            place = self.places[value]
            if place.slot is not None and place.slot.width == self.width(op.kind):
                slot, place.slot = place.slot, None
                return Holder(self.seen(slot, op.kind), slot=slot, home=slot)
        return None

    def drop(self, values: Iterable[Value]) -> None:
        """Nothing uses these values any more."""
        dead = []
        for value in values:
            place = self.places.get(value)
            if place is None:
                continue
            if place.slot is not None:
                self.free(place.slot)
                place.slot = None
            elif place.temporary:
                dead += [name for name in (place.text, place.bits) if name]
        if dead:
            self.lines.append("del " + ", ".join(dead))

    def bytes_of(self, condition: Value) -> str:
        """A bool array as int8."""
        place = self.places[condition]
        if place.slot is not None:
            return self.seen_as_ints(place.slot)
        if not place.bits:
            lines = self.head if place.text in self.fixed else self.lines
            lines.append(f"{place.text}i = {place.text}.view(int8)")
            place.bits = place.text + "i"
        return place.bits
