"""Values: where each value of a function of the NumPy engine is, and its names in the text.

A value is a scalar (the same in all lanes), in a slot (`buffer_allocation`), in an array of the caller, or in one of
its own. Operands of ufuncs are arrays: literals and scalars are arrays without axes then. Views as ints are made
where they are needed, in the `head` of a function if what they show comes from outside of its loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from pyflat.ir.formats import F8, FloatFormat, dtypes
from pyflat.ir.nodes import Const, Op, Value
from pyflat.ir.types import INT, Kind
from pyflat.targets.numpy.buffer_allocation import Buffers, Place


class Names(Protocol):
    """What all frames of a program share: constants, tables, opaque calls."""

    floats: FloatFormat

    def constant(self, value: Const) -> str:
        """A scalar."""

    def number(self, value: Const) -> str:
        """The same as an array without axes."""

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

    def __init__(self, names: Names):
        super().__init__(names.floats)
        self.program = names
        self.places: dict[Value, Place] = {}
        self.lines: list[str] = []
        self.head: list[str] = []
        """Lines before all others."""
        self.targets: dict[Value, Place] = {}
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

    def place(self, value: Value) -> Place:
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

    def define(self, op: Op, dying: Sequence[Value] = ()) -> Place:
        """A place for the array that an operation gives; it may take over the slot of an operand that dies with it."""
        found = self.targets.get(op)
        if found is None:
            found = self._taken_over(op, dying) or self.in_slot(op.kind)
        self.places[op] = found
        return found

    def in_slot(self, kind: Kind) -> Place:
        slot = self.new_slot(self.width(kind))
        return Place(self.seen(slot, kind), slot=slot, home=slot)

    def _taken_over(self, op: Op, dying: Sequence[Value]) -> Place | None:
        for value in dying:
            place = self.places[value]
            if place.slot is not None and place.slot.width == self.width(op.kind):
                slot, place.slot = place.slot, None
                return Place(self.seen(slot, op.kind), slot=slot, home=slot)
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
