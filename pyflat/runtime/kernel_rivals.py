"""Kernels whose originals are as fast: which of them runs, and what is said about it.

On the NumPy target loops are operations on arrays, which may be short, or loops of Python's: that takes now longer than
the original, now less. A clock says. One call is made by the original, which is stopped, and undone, where it takes as
long as the kernel; where it takes less it goes on to make them. On any target the original may run call after call
because of a fault that it does not have.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pyflat.functions import ways
from pyflat.runtime.bounded_runs import bounded

if TYPE_CHECKING:
    from pyflat.frontend.kernels import Kernel
    from pyflat.ir.nodes import Op

WORTH = 3e-4
"""Seconds of a call from which on it is looked at."""
MARGIN, PATIENCE = 0.9, 1.5
"""Of the kernel's time: what the original takes at most to be faster; of that: when it is stopped."""
SAME_SIZE = 1.1
ALIKE = 2.0
"""How many times larger or smaller arrays are to which a trial applies too."""
MEASURED = 2
"""Calls that are measured, of the kernel and of the original: a single one may have waited for something."""
MOST_SAVED = 1 << 30
"""Bytes of the arrays that are put back where a trial is stopped."""
IN_A_ROW = 3


class Rival:
    """The original of one version of a kernel.

    slow    why the kernel may take longer; "" where it does not
    say     what warns, once for each twin
    """

    def __init__(self, kernel: Kernel, slow: str, say: Callable[[str], None]):
        self._kernel, self._slow, self._say = kernel, slow, say
        self._faster_to, self._slower_from = -1.0, float("inf")
        """Elements of the arrays up to which the original is faster, and from which on it is not."""
        self._before: tuple[int, float, int] | None = None
        """Elements, least seconds and number of the kernel's last calls, while that is to be found out."""
        self._failed = self._replayed = 0

    def limit(self, given: Mapping[str, Any]) -> float:
        """How many seconds it may take to make this call: 0 where the kernel makes it."""
        if not self._slow:
            return 0.0
        size = _elements(given)
        faster, before = size <= self._faster_to, self._same_before(size)
        tried = before is not None and before[2] >= MEASURED
        if ways.KERNEL_RUNS.of("original" if faster or tried else "text") == "text":
            return 0.0
        return MARGIN * before[1] if tried and before is not None else math.inf

    def _same_before(self, size: int) -> tuple[int, float, int] | None:
        """The last calls, where they are of about that size."""
        before = self._before
        return before if before and before[0] <= size * SAME_SIZE and size <= before[0] * SAME_SIZE else None

    def call(self, original: Callable[[], Any], given: Mapping[str, Any], limit: float, *, watch: bool
             ) -> tuple[Any] | None:
        """A call that it makes within a limit. None where it was stopped."""
        if limit == math.inf:
            return (original(),)
        before, self._before, size = self._before, None, _elements(given)
        self._failed += 1
        clock = time.perf_counter
        found = bounded(lambda: (clock(), original(), clock()), PATIENCE * limit, self._files, watch=watch)
        start, value, end = found[0] if found else (0.0, None, math.inf)
        if end - start < limit and before is not None:
            self._faster_to = ALIKE * size
            self._say(f"a call of the original takes {(end - start) * 1e3:.3g} ms and one of the twin "
                      f"{before[1] * 1e3:.3g} ms, so the original runs: {self._slow}")
        elif self._failed < MEASURED:
            self._before = before
        else:
            self._slower_from = size / ALIKE
        return (value,) if found else None

    @cached_property
    def _files(self) -> set[str]:
        """Where the source of the kernel is."""
        from pyflat.ir.loops import all_ops, spans

        return {span.file for span in spans(all_ops(self._kernel.function.body))}

    def is_open(self, given: Mapping[str, Any], seconds: float) -> bool:
        """Whether it may be faster than the call of the kernel that took so many seconds."""
        self._replayed = 0
        if ways.KERNEL_RUNS.forced is not None:
            return ways.KERNEL_RUNS.forced == "original"
        size = _elements(given)
        saved = sum(given[name].nbytes for name in self._kernel.written)
        if not self._slow or seconds < WORTH or size >= self._slower_from or saved > MOST_SAVED:
            self._before = None
            return False
        _, least, number = self._same_before(size) or (size, seconds, 0)
        self._before, self._failed = (size, min(least, seconds), number + 1), self._failed if number else 0
        return True

    def most(self, given: Mapping[str, Any]) -> int | None:
        """How many elements calls may have that take the short way of a plan, since they are about as small as one that
        is not looked at; None: any."""
        return 2 * _elements(given) if self._slow else None

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
            return f"NumPy may warn {found}; with np.errstate(all=\"ignore\") around the calls it is not asked to"
        small = self._kernel.small
        found = _lines(op for op in ops if op not in small and can_fault(op))
        return f"an operation {found} may overflow or fail, or an index of several iterations is negative in some"


def _elements(given: Mapping[str, Any]) -> int:
    return sum(value.size for value in given.values() if isinstance(value, np.ndarray))


def _lines(ops: Iterator[Op]) -> str:
    """The first lines in which they are."""
    from pyflat.ir.loops import spans

    found = sorted({span.line for span in spans(ops)})
    if not found:
        return "somewhere"
    return f"in line {', '.join(map(str, found[:3]))}{', ...' if len(found) > 3 else ''}"
