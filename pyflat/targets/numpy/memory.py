"""Memory for the temporaries of the NumPy engine: arenas, and frames in them.

An *arena* is one piece of memory, and whoever runs an engine has one to itself while it runs: it takes one of those
that are free, or makes one, and gives it back. So a twin that is called while another one runs, by an opaque call, a
signal handler or another thread, never gets the same memory, and there are no more arenas than runs at a time.

A *frame* has the temporaries of one function of an engine for some number of lanes: views of the arena. Frames are put
on top of each other, as functions call each other. Those at the bottom are remembered, since calls of one size come
again and again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

SIZE = 1 << 23
"""Bytes of an arena; the system gives a process only those that it uses. What does not fit into it is made anew by each
call."""

KEPT = 4
"""Arenas that are kept while no kernel runs."""

REMEMBERED = 64
"""Frames of an arena."""

ROUND = 1024
"""Lanes: frames for multiples of it come again, others are for lanes that were gathered."""

ALIGNMENT = 64
STAGGER = 192
"""Bytes between temporaries: processors are slow where reads and writes are a multiple of 4096 bytes apart."""

WIDTHS = {"f8": 8, "i8": 8, "f4": 4, "i4": 4, "b1": 1, "i1": 1}


class ArenaLayout:
    """What a function needs for its temporaries: for each the dtypes that it is seen as."""

    __slots__ = ("bytes", "slots")

    def __init__(self, slots: Sequence[tuple[str, ...]]):
        self.slots = tuple(slots)
        self.bytes = sum(WIDTHS[views[0]] for views in self.slots)
        """For a lane."""


class Arena:
    """Memory of one run at a time."""

    __slots__ = ("_frames", "_seen", "top")

    def __init__(self, size: int = SIZE):
        raw = np.empty(size + ALIGNMENT, np.uint8)
        start = -raw.ctypes.data % ALIGNMENT
        whole = raw[start:start + size]
        self._seen: dict[str, Array] = {
            "f8": whole.view(np.float64), "i8": whole.view(np.int64), "f4": whole.view(np.float32),
            "i4": whole.view(np.int32), "b1": whole.view(np.bool_), "i1": whole.view(np.int8),
        }
        self._frames: dict[tuple[ArenaLayout, int, int], tuple[list[Array], int]] = {}
        self.top = 0
        """Where the next frame begins."""

    def bottom(self, layout: ArenaLayout, n: int) -> list[Array]:
        """The first frame of a run."""
        found = self._frames.get((layout, n, 0))
        if found is None:
            if len(self._frames) >= REMEMBERED:
                self._frames.clear()
            self.top = 0
            made = self._made(layout, n)
            found = self._frames[layout, n, 0] = made, self.top
        views, self.top = found
        return views

    def frame(self, layout: ArenaLayout, n: int) -> list[Array]:
        """Temporaries for `n` lanes on top of the others; who sets `top` back gives them away."""
        key = layout, n, self.top
        if n & (ROUND - 1):
            return self._made(layout, n)
        found = self._frames.get(key)
        if found is None:
            if len(self._frames) >= REMEMBERED:
                self._frames.clear()
            made = self._made(layout, n)
            found = self._frames[key] = made, self.top
        views, self.top = found
        return views

    def _made(self, layout: ArenaLayout, n: int) -> list[Array]:
        made: list[Array] = []
        at, size = self.top, len(self._seen["i1"])
        for views in layout.slots:
            width = WIDTHS[views[0]]
            room = (n * width + STAGGER + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
            if at + room > size:
                made += _fresh(views, n)
                continue
            first = at // width
            made += [self._seen[dtype][first:first + n] for dtype in views]
            at += room
        self.top = at
        return made


def _fresh(views: tuple[str, ...], n: int) -> list[Array]:
    first = np.empty(n, _DTYPES[views[0]])
    return [first if dtype == views[0] else first.view(_DTYPES[dtype]) for dtype in views]


_DTYPES = {name: np.dtype(np.bool_ if name == "b1" else name) for name in WIDTHS}

_free: list[Arena] = []


def take() -> Arena:
    """An arena that no other run has."""
    try:
        return _free.pop()
    except IndexError:
        return Arena()


def give_back(arena: Arena) -> None:
    """Whoever had it has no use for anything in it any more."""
    if len(_free) < KEPT:
        _free.append(arena)


def forget() -> None:
    """Free the memory that nothing uses."""
    _free.clear()
