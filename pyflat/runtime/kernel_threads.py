"""Calls of kernels on several threads: for which of them that is worth it, by the time that calls before have taken.

Threads share the iterations of the one loop of a kernel (`analysis.shared_loops`). Where a part meets a fault, or a
warning that Python would show, the written arrays are put back and the call goes on as on one thread.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Container, Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any, Protocol

from pyflat.functions import ways
from pyflat.ir.kernel_results import Outcome
from pyflat.targets import threads

if TYPE_CHECKING:
    from pyflat.ir.nodes import Loop, Op

COPIED = 10e9
"""Bytes that are saved in a second: where two threads gain no more than that takes, one is as fast."""
MOST_KNOWN = 64
"""Sizes of arguments of which a kernel knows how long they take."""


class RunnableKernel(Protocol):
    """A kernel as a target has compiled it. `ends`: the operations whose faults end a run at once; None where stores
    come in another order than in the original; `in_steps`: a loop that Python runs, and of how many loops the
    iterations run at once; `shared`: the kernel for some of the iterations, or why there is none. Without `careful` a
    warning is a guess, and without `watch` there are none; `strict`: one may end the original."""

    @property
    def ends(self) -> Container[Op] | None: ...
    in_steps: tuple[Loop | None, int]

    @property
    def shared(self) -> RunnableKernel | str: ...
    def version(self, _: bool, /) -> Any: ...
    def run(self, arguments: Mapping[str, Any], *, careful: bool, watch: bool, strict: bool) -> Outcome: ...
    def direct(self, given: Mapping[str, Any], saved: Collection[str], *, watch: bool, release: bool,
               limit: float = 0.0) -> Callable[..., Any] | None: ...


class Sharing:
    """The threads of one version of a kernel. `tell` says why they do not share its work."""

    def __init__(self, compiled: RunnableKernel, tell: Callable[[str], None]):
        self._compiled, self._tell = compiled, tell
        self._seconds: dict[int, float] = {}
        """Elements of the arrays -> seconds of the last call on one thread."""
        self._met = ""
        """What a call has met that is for one thread."""

    def wanted(self, size: int, saved: int, parallel: bool | None) -> bool:
        """Whether threads share a call with arrays of so many elements, of which so many bytes are saved."""
        seconds = self._known(size)
        if not threads.wanted(None if seconds is None else seconds - 2 * saved / COPIED, parallel):
            return False
        why = self.one_thread()
        if why and parallel:
            self._tell(why)
        return not why

    def one_thread(self) -> str:
        """Why threads do not share its work; empty where they do."""
        shared = self._compiled.shared
        return self._met or (shared if isinstance(shared, str) else "")

    def _known(self, size: int) -> float | None:
        """How long a call of this size takes at least."""
        return max((seconds for known, seconds in self._seconds.items() if known <= size), default=None)

    def note(self, size: int, seconds: float) -> None:
        """A call has taken so long on one thread."""
        while size not in self._seconds and len(self._seconds) >= MOST_KNOWN:
            self._seconds.pop(next(iter(self._seconds)), None)
        self._seconds[size] = seconds

    def least(self, parallel: bool | None) -> float:
        """Seconds from which on calls are for threads; 0: none is."""
        known = {**vars(type(self._compiled)), **vars(self._compiled)}.get("shared")
        whole = isinstance(known, str) or self._met or ways.THREADS.forced
        return 0.0 if parallel is False or whole else threads.least(parallel)

    def run(self, size: int, arguments: Mapping[str, Any], *, watch: bool, strict: bool) -> Outcome | None:
        """A call on threads. None where one is to make it."""
        from pyflat.analysis.shared_loops import FIRST, LAST

        shared: Any = self._compiled.shared
        none = shared.run({**arguments, **shared.kernel.no_arrays(), FIRST: 0, LAST: 0}, careful=False, watch=watch,
                          strict=strict)
        if none.state != "done" or none.numbers[0] < 2:
            return None
        try:
            made = shared.kernel.arrays(none.numbers[1:])
        except MemoryError:
            return None
        part, states = shared.part({**arguments, **made}, watch=watch, strict=strict), set[str]()

        def run(first: int, last: int) -> bool:
            states.add(part(first, last))
            return states == {"done"}

        seconds = threads.share(run, none.numbers[0], self._known(size))
        found = next((state for state in ("unclear", "fault", "warning") if state in states), "done")
        if found == "unclear":
            self._met = "in a call, an index of a written array counted from the end, or a loop ran for a long time"
            return None
        if found == "done":
            self.note(size, seconds)
        return Outcome(found, made=made)


def asks_for_threads(function: FunctionType) -> bool:
    """Whether a function calls numba's prange."""
    numba = sys.modules.get("numba")
    names = function.__code__.co_names
    found = (function.__globals__.get(name) for name in names)
    return numba is not None and ("prange" in names or any(value is numba.prange for value in found))
