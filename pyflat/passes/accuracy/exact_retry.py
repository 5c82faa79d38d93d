"""The second try of lanes in which fast elementary functions came too near to a decision.

With `math="vector"` an engine suspects lanes for two reasons: Python may raise there, or a decision is nearer to its
threshold than the error of the values that decide. For the second kind a twin with the C library's functions is
enough, which gives CPython's bits: `ExactRetry` gathers the suspect lanes, runs them through that twin, and leaves
to the original what it suspects too. A lane's result does not depend on which of the two has run it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Run = Callable[[Sequence[Any], int], tuple[list[Array], Array | None]]

WORTH_COMPILING = 500
"""So many lanes go to the original before the second twin is compiled: it pays when there are thousands."""


class ExactRetry:
    """The exact twin of one specialisation; `make` compiles it."""

    def __init__(self, make: Callable[[], Run]):
        self._make: Callable[[], Run] | None = make
        self._run: Run | None = None
        self._seen = 0
        self._lock = threading.Lock()

    def settle(self, lanes: Sequence[Any], leaves: Sequence[Array], suspect: Array) -> int:
        """Run the lanes of `suspect` again; writes what comes out into `leaves`, and into `suspect` which lanes are
        left. Gives the number of lanes run, 0 while too few have been seen to compile anything for them."""
        found = np.flatnonzero(suspect)
        run = self._engine(len(found))
        if run is None or not len(found):
            return 0
        again, still = run([lane if isinstance(lane, np.generic) else lane[found] for lane in lanes], len(found))
        for leaf, values in zip(leaves, again, strict=True):
            leaf[found] = values
        suspect[found] = False if still is None else still
        return len(found)

    def _engine(self, count: int) -> Run | None:
        with self._lock:
            self._seen += count
            if self._make is not None and self._seen > WORTH_COMPILING:
                self._run, self._make = self._make(), None
            return self._run
