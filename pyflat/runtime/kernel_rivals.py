"""Kernels whose originals are as fast: which of them runs, and what is said about it.

On the NumPy target a loop that runs in order is one of Python's with each iteration written out, which takes now longer
than the original, now less. A clock says: one call of the kernel is made by the original, and where that takes less it
goes on to make them. On any target the original may run call after call because of a fault that it does not have.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pyflat.functions import ways

if TYPE_CHECKING:
    from pyflat.frontend.kernels import SourceKernel
    from pyflat.ir.nodes import Loop, Op

WORTH = 1e-3
"""Seconds of a call from which on it is looked at."""
MARGIN = 0.8
SAME_SIZE = 1.1
MEASURED = 2
"""Calls that are measured: a single one may have waited for something."""
LONGEST = 2.0
"""Seconds that the original may take for a call that loops of lanes make shorter."""
MOST_TIMES, LANES_PER_OPERATION = 150.0, 20.0
"""How much longer it may take: each operation on lanes takes as long as so many steps of Python, at first."""
IN_A_ROW = 3


class Rival:
    """The original of one version of a kernel.

    loop    one that runs in order, where lanes are not all there is; None: the original is not faster
    nested  of so many loops, at most, the iterations are lanes
    say     what warns, once for each twin
    """

    def __init__(self, kernel: SourceKernel, loop: Loop | None, nested: int, say: Callable[[str], None]):
        self._kernel, self._loop, self._nested, self._say = kernel, loop, nested, say
        self._faster_to, self._slower_from = -1.0, float("inf")
        """Elements of the arrays up to which the original is faster, and from which on it is not."""
        self._before: tuple[int, float, int] | None = None
        """Elements, least seconds and number of the kernel's last calls, while that is to be found out."""
        self._replayed = 0

    def makes(self, given: Mapping[str, Any]) -> bool:
        """Whether it makes this call."""
        if self._loop is None:
            return False
        size = elements(given)
        faster, before = size <= self._faster_to, self._same_before(size)
        tried = before is not None and before[2] >= MEASURED
        return ways.KERNEL_RUNS.of("original" if faster or tried else "text") == "original"

    def _same_before(self, size: int) -> tuple[int, float, int] | None:
        """The last calls, where they are of about that size."""
        before = self._before
        return before if before and before[0] <= size * SAME_SIZE and size <= before[0] * SAME_SIZE else None

    def call(self, original: Callable[[], Any], given: Mapping[str, Any]) -> Any:
        """A call that it makes."""
        from pyflat.ir.loops import all_ops

        start = time.perf_counter()
        value = original()
        seconds, before, self._before = time.perf_counter() - start, self._before, None
        size = elements(given)
        if before is None or self._loop is None:
            return value
        if seconds / max(size, 1) < MARGIN * before[1] / max(before[0], 1):
            self._faster_to = 2.0 * size if self._nested else float("inf")
            line = _line(all_ops(self._loop.body))
            self._say(f"a call of the original takes {seconds * 1e3:.3g} ms and one of the twin "
                      f"{before[1] * 1e3:.3g} ms, so the original runs: the loop in line {line} runs one "
                      "iteration after the other on NumPy; "
                      f'target="numba" compiles it')
        else:
            self._slower_from = size if self._nested else 0.0
        return value

    def is_open(self, given: Mapping[str, Any], seconds: float) -> bool:
        """Whether it may be faster than the call of the kernel that took so many seconds."""
        self._replayed = 0
        if ways.KERNEL_RUNS.forced is not None:
            return ways.KERNEL_RUNS.forced == "original"
        size = elements(given)
        if self._loop is None or seconds < WORTH or size >= self._slower_from:
            self._before = None
            return False
        lanes = max([np.prod(sorted(value.shape)[-self._nested:]) for value in given.values()
                     if isinstance(value, np.ndarray)], default=1)
        if self._nested and seconds * min(max(lanes / LANES_PER_OPERATION, 1.0), MOST_TIMES) > LONGEST:
            return False
        _, least, number = self._same_before(size) or (size, seconds, 0)
        self._before = size, min(least, seconds), number + 1
        return True

    def limited(self, direct: Callable[..., Any], given: Mapping[str, Any]) -> Callable[..., Any]:
        """The short way of a plan, for calls about as small as one that is not looked at."""
        if self._loop is None or self._slower_from == 0.0:
            return direct
        most = 2 * elements(given)

        def call(*arguments: Any) -> Any:
            if sum([getattr(each, "size", 0) for each in arguments]) > most:
                return NotImplemented
            return direct(*arguments)

        return call

    def replay(self, original: Callable[[], Any], state: str) -> Any:
        """A call that the kernel has given up, for a fault or a warning."""
        start = time.perf_counter()
        value = original()
        if time.perf_counter() - start >= WORTH:
            self._replayed += 1
            if self._replayed == IN_A_ROW:
                self._say(f"the original has run {IN_A_ROW} times in a row, though it raises nothing: "
                          f"{self._reason(state)}")
        return value

    def _reason(self, state: str) -> str:
        from pyflat.ir.faults import can_fault
        from pyflat.ir.loops import all_ops
        from pyflat.ir.memory import may_warn

        ops = list(all_ops(self._kernel.function.body))
        if state == "warning":
            found = _lines(op for op in ops if may_warn(op.opcode, op.kind))
            return f"NumPy may warn {found}; np.errstate(all=\"ignore\") around the calls prevents this"
        small = self._kernel.small
        found = _lines(op for op in ops if op not in small and can_fault(op))
        return f"an operation {found} may overflow or fail, or an index of several iterations is negative in some"


def elements(given: Mapping[str, Any]) -> int:
    return sum(value.size for value in given.values() if isinstance(value, np.ndarray))


def _line(ops: Iterator[Op]) -> int | None:
    return next((op.origin.span.line for op in ops if op.origin is not None and op.origin.span is not None), None)


def _lines(ops: Iterator[Op]) -> str:
    """The first lines in which they are."""
    found = sorted({line for op in ops if (line := _line(iter([op]))) is not None})
    if not found:
        return "somewhere"
    return f"in line {', '.join(map(str, found[:3]))}{', ...' if len(found) > 3 else ''}"
