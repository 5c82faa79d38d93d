"""A limit of time for code that does not look at the clock."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


class TimeUp(BaseException):  # not an Exception: no handler of the code that runs should catch it
    """The time for one function is over."""


@contextlib.contextmanager
def alarm(seconds: float, *, processor: bool = False) -> Iterator[None]:
    """Raise TimeUp in this thread when the block takes longer, by the wall or in time of the `processor`, which does
    not depend on what else the machine does; without effect where there are no such timers, and in threads, which get
    no signals."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise TimeUp

    number, timer = (signal.SIGPROF, signal.ITIMER_PROF) if processor else (signal.SIGALRM, signal.ITIMER_REAL)
    before = signal.signal(number, ring)
    signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(number, before)
