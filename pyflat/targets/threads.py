"""One run on several threads: pieces of the lanes of an engine, or of the iterations of a kernel (`share`), each of at
least half a millisecond of work.

Engines leave the GIL while they compute. Pieces start at multiples of `GRAIN` lanes, which are multiples of the
blocks and gangs of the engines, so that each lane is computed by the same operations in the same place of a block
whatever the number of threads: results do not depend on it.

The calling thread works too, on the first piece alone to see how long a lane takes, then on pieces that are left. The
other threads are few, shared by all twins, made when they are first needed, and daemons: an endless loop that
Ctrl-C has ended in the calling thread must not keep the process.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pyflat.functions import ways
from pyflat.targets.operands import Operand

GRAIN = 16_384
"""Lanes; the block of the NumPy engine, and a multiple of every gang."""

FORCED_GRAIN = 16
"""The grain where threads are forced."""

PIECE = 0.5e-3
"""Seconds of work in a piece at least; below that, waking a thread costs more than it brings."""

WORTH_IT = 4e-3
"""Seconds that are left of a call from which on threads are used without being asked for."""

PIECES = 4
"""For each thread, so that one that is interrupted does not hold up the others."""

FORCED_PIECES = 5
"""Of iterations, there."""

PATIENCE = 5.0
"""Seconds that an interrupted call waits for its other threads: loops look for signals within a second."""

Array = npt.NDArray[Any]


class Splittable(Protocol):
    """An engine that writes into given arrays."""

    pace: float
    """Seconds that a lane has taken."""

    @property
    def shares(self) -> bool:
        """Whether several threads gain enough to be used where nothing is said."""

    @property
    def dtypes(self) -> Sequence[np.dtype[Any]]: ...
    def into(self, lanes: Sequence[Operand], n: int, results: list[Array], /) -> Array | None:
        """Run `n` lanes; gives the mask of suspect lanes, None when there is none."""

    def stop(self, stopped: bool, /) -> None:
        """Whether what runs now is given up, and has to end soon."""


def run(engine: Splittable, lanes: Sequence[Operand], n: int, results: list[Array], parallel: bool | None
        ) -> Array | None:
    """What `engine.into(lanes, n, results)` does. `parallel`: True, False, or None where the length of the work
    decides."""
    forced = ways.THREADS.forced
    if forced == "several" and n > FORCED_GRAIN:
        work = _Work(engine, lanes, n, results)
        work.share([(at, min(at + FORCED_GRAIN, n)) for at in range(0, n, FORCED_GRAIN)], 2)
        ways.THREADS.of("several")
        return work.suspects
    if n < 2 * GRAIN or parallel is False or (parallel is None and not engine.shares) or forced or (
            most := limit()) < 2:
        ways.THREADS.of("one")
        return engine.into(lanes, n, results)
    work = _Work(engine, lanes, n, results)
    start, seconds = 0, PIECE
    while start + GRAIN < n and start < 2 * GRAIN and seconds >= PIECE:  # the first piece may have compiled the engine
        seconds = work.timed(start, start + GRAIN)
        start += GRAIN
        engine.pace = seconds / GRAIN
    left = seconds * (n - start) / GRAIN
    if not pays(left, parallel):
        work.do(start, n)
        return work.suspects
    step = -(-(n - start) // (pieces(left) * GRAIN)) * GRAIN
    ways.THREADS.of("several")
    work.share([(at, min(at + step, n)) for at in range(start, n, step)], most)
    return work.suspects


def share(part: Callable[[int, int], bool], n: int, seconds: float | None) -> float:
    """Run `part(start, stop)` for pieces of n iterations until one says that the others need not run; `seconds`: how
    long one thread takes. Gives that time."""
    ways.THREADS.of("several")
    several, threads = (FORCED_PIECES, 2) if ways.THREADS.forced else (pieces(seconds), limit())
    count = max(1, min(several, n))
    work = _Iterations(part)
    work.share([(n * k // count, n * (k + 1) // count) for k in range(count)], threads)
    return work.seconds


def run_parts(part: Callable[[int, int], bool], n: int, pace: float | None, parallel: bool | None) -> float:
    """Run `part(start, stop)` for n items, each of which has taken `pace` seconds before; how long one takes now."""
    seconds = None if pace is None else n * pace
    if wanted(seconds, parallel):
        return share(part, n, seconds) / n
    ways.THREADS.of("one")
    before = time.perf_counter()
    part(0, n)
    return (time.perf_counter() - before) / n


def wanted(seconds: float | None, parallel: bool | None) -> bool:
    """Whether several threads run what takes so long on one; None: it is not known."""
    if parallel is False or ways.THREADS.forced:
        return parallel is not False and ways.THREADS.forced == "several"
    if seconds is None:
        return parallel is True and limit() > 1
    return seconds >= least(parallel) and limit() > 1 and pays(seconds, parallel)


def least(parallel: bool | None) -> float:
    """Seconds of a call, on one thread, from which on it is worth several."""
    return 2 * PIECE if parallel else WORTH_IT


def pays(seconds: float, parallel: bool | None) -> bool:
    """Whether a call that takes so long on one thread is for several."""
    return seconds >= least(parallel) and (parallel is True or _cores_free())


def pieces(seconds: float | None) -> int:
    """Into how many that much work is cut; None: it is not known how much."""
    most = limit() * PIECES
    return most if seconds is None else max(1, min(most, int(seconds / PIECE)))


def limit() -> int:
    """The number of threads that a call may use: the cores of this process, or PYFLAT_NUM_THREADS."""
    if _KEY not in _VARIABLES:
        return _cores()
    wanted = os.environ["PYFLAT_NUM_THREADS"]
    return max(1, int(wanted)) if wanted.isdigit() else _cores()


_VARIABLES: Any = getattr(os.environ, "_data", os.environ)
_KEY: Any = os.environ.encodekey("PYFLAT_NUM_THREADS") if _VARIABLES is not os.environ else "PYFLAT_NUM_THREADS"
"""os.environ takes two microseconds to say that it lacks something; its dictionary does not."""


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cores_free() -> bool:
    """Whether this thread may take another core: it is none of a pool's, which has others for the other cores, and at
    this moment there is a core on which nothing runs. (The load of the last minute is that of our own threads.)"""
    if threading.current_thread() is not threading.main_thread():
        return False
    processes = sys.modules.get("multiprocessing.process")
    if processes is not None and processes.parent_process() is not None:
        return False
    return _running() < (os.cpu_count() or 1)


def _running() -> int:
    """The threads that run now on this machine, with this one; 0 where that is not known."""
    try:
        with open("/proc/loadavg", encoding="ascii") as file:
            return int(file.read().split()[3].partition("/")[0])
    except (OSError, ValueError, IndexError):
        return 0


class _Shared(ABC):
    """The work of one call, in pieces."""

    def __init__(self) -> None:
        self.errors: dict[int, BaseException] = {}
        self._lock = threading.Lock()
        self._todo: list[tuple[int, int]] = []
        self._unfinished = self._helping = 0
        self.given_up = False
        self._done = threading.Condition(self._lock)

    @abstractmethod
    def do(self, start: int, stop: int) -> None:
        """One piece."""

    @abstractmethod
    def wait_for_others(self) -> None:
        """Wait until the other threads have left their pieces of a call that is given up."""

    def wait(self, seconds: float) -> None:
        """Wait for them, so long at most."""
        deadline = time.monotonic() + seconds
        with self._done:
            while self._helping and time.monotonic() < deadline:
                self._done.wait(0.05)

    def share(self, pieces: list[tuple[int, int]], threads: int) -> None:
        """Run all pieces. Raises what a piece raised; the earliest one's, where several did."""
        self._todo = pieces[::-1]
        self._unfinished = len(pieces)
        for _ in range(min(threads, len(pieces)) - 1):
            _pool().put(self._help)
        try:
            while (piece := self._next()) is not None:
                try:
                    self.do(*piece)
                finally:
                    self._finish()
            with self._done:
                while self._unfinished:
                    self._done.wait()
        except BaseException:
            self._give_up()
            raise
        if self.errors:
            raise self.errors[min(self.errors)]

    def drop(self) -> None:
        """Run no piece that has not begun."""
        with self._done:
            self._unfinished -= len(self._todo)
            self._todo.clear()
            self._done.notify()

    def _give_up(self) -> None:
        self.given_up = True
        self.drop()
        self.wait_for_others()

    def _help(self) -> None:
        """What another thread does."""
        _helping.work = self
        with self._lock:
            self._helping += 1
        try:
            while (piece := self._next()) is not None:
                try:
                    self.do(*piece)
                except BaseException as error:  # noqa: BLE001 - raised in the calling thread
                    self.errors[piece[0]] = error
                self._finish()
        finally:
            _helping.work = None
            with self._done:
                self._helping -= 1
                self._done.notify()

    def _next(self) -> tuple[int, int] | None:
        with self._lock:
            return self._todo.pop() if self._todo else None

    def _finish(self) -> None:
        with self._done:
            self._unfinished -= 1
            self._done.notify()


class _Work(_Shared):
    """The lanes of one call, and what is known of them so far."""

    def __init__(self, engine: Splittable, lanes: Sequence[Operand], n: int, results: list[Array]):
        super().__init__()
        self.engine, self.lanes, self.n, self.results = engine, lanes, n, results
        self.suspects: Array | None = None

    def do(self, start: int, stop: int) -> None:
        inputs = [lane if isinstance(lane, np.generic) else lane[start:stop] for lane in self.lanes]
        found = self.engine.into(inputs, stop - start, [result[start:stop] for result in self.results])
        if found is None:
            return
        with self._lock:
            if self.suspects is None:
                self.suspects = np.zeros(self.n, np.bool_)
        self.suspects[start:stop] = found

    def timed(self, start: int, stop: int) -> float:
        before = time.perf_counter()
        self.do(start, stop)
        return time.perf_counter() - before

    def wait_for_others(self) -> None:
        self.engine.stop(True)
        try:
            self.wait(PATIENCE)
        finally:
            self.engine.stop(False)


class _Iterations(_Shared):
    """The iterations of one call, and how long they have taken on all threads. Nothing ends a piece that has begun."""

    def __init__(self, part: Callable[[int, int], bool]):
        super().__init__()
        self.part, self.seconds = part, 0.0

    def do(self, start: int, stop: int) -> None:
        before = time.perf_counter()
        goes_on = self.part(start, stop)
        with self._lock:
            self.seconds += time.perf_counter() - before
        if not goes_on:
            self.drop()

    def wait_for_others(self) -> None:
        self.wait(float("inf"))


class GivenUp(Exception):
    """The call that a piece belongs to has ended already."""


_helping = threading.local()


def raise_if_given_up() -> None:
    """Raises GivenUp in a thread of this module whose call has been given up."""
    work: _Shared | None = getattr(_helping, "work", None)
    if work is not None and work.given_up:
        raise GivenUp


class _Pool:
    """Threads that wait for work."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._count = 0
        self._lock = threading.Lock()

    def put(self, work: Callable[[], None]) -> None:
        with self._lock:
            if self._count < max(1, limit() - 1):
                self._count += 1
                threading.Thread(target=self._serve, name=f"pyflat-{self._count}", daemon=True).start()
        self._queue.put(work)

    def _serve(self) -> None:
        while True:
            self._queue.get()()


_the_pool: _Pool | None = None
_making = threading.Lock()


def _pool() -> _Pool:
    global _the_pool  # noqa: PLW0603 - one for the process
    with _making:
        if _the_pool is None:
            _the_pool = _Pool()
        return _the_pool


def _forget() -> None:
    """Threads do not survive a fork, and locks may be held by those that are gone."""
    global _the_pool, _making
    _the_pool, _making = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
