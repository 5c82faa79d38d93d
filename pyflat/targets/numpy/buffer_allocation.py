"""Slots: the buffers of one function of the NumPy engine, as they are given out while it is written.

A slot is as wide as what it holds: 8 bytes for a lane ("w"), 4 ("q"), or 1 ("b"). Its views have its name, with an `i`
behind it where they are ints. A slot whose value is used no more is given to another one.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyflat.ir.formats import F8, FloatFormat
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.targets.numpy.memory import Layout


@dataclass(slots=True)
class Slot:
    """A buffer of a frame; its width is "w" (8 bytes), "q" (4) or "b" (1)."""

    width: str
    number: int

    @property
    def name(self) -> str:
        return f"{self.width}{self.number}"


@dataclass(slots=True)
class Place:
    """Where a value is: the names of its array, as it is and as ints; `slot` is the buffer that it gives back."""

    text: str
    bits: str = ""
    slot: Slot | None = None
    uniform: bool = False
    """The same in all lanes: a scalar, and `bits` is unused."""
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

    def layout(self) -> tuple[Layout, list[str]]:
        """What the frame needs, and the names of its views in this order."""
        slots, names = [], []
        for slot in self._slots:
            views = sorted(self._views[slot.name])
            if views:
                slots.append(tuple(views))
                names += [slot.name + ("i" if view[0] == "i" else "") for view in views]
        return Layout(slots), names

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
