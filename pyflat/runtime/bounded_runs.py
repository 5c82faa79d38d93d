"""Runs of originals that are stopped when they take too long, in any thread: another one waits, and raises an exception
in this one.

It is raised only while a function of the given files runs, and never within a library, which may be about to undo
something. What the function does with it does not matter: what was stopped has no result.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

RETRY = 1e-3
"""Seconds until it is looked again where the thread is."""
_in_turn = threading.RLock()


class Stopped(BaseException):
    """No handler of the code that runs should catch it."""


def bounded(run: Callable[[], Any], seconds: float, files: Container[str], *, watch: bool) -> tuple[Any] | None:
    """What a run gives, alone in a tuple. None where it has been stopped: after so many seconds, or, with `watch`,
    where NumPy would warn; or where there are no threads."""
    thread, ended = threading.get_ident(), threading.Event()
    stops: list[str] = []

    def warned(kind: str, _: int) -> NoReturn:
        stops.append(kind)
        raise Stopped

    def stop() -> None:
        wait = seconds
        while not ended.wait(wait):
            frame, wait = sys._current_frames().get(thread), RETRY
            if frame is not None and frame.f_code.co_filename in files:
                stops.append("time")
                _raise_in(thread, ctypes.py_object(Stopped))
                return

    errors = {kind: "call" for kind, how in np.geterr().items() if how != "ignore"} if watch else {}
    watcher, found = threading.Thread(target=stop, daemon=True), None
    try:
        with _switching(seconds / 4), np.errstate(call=warned, **errors):  # type: ignore[arg-type]
            try:
                watcher.start()
            except RuntimeError:  # no more threads
                return None
            try:
                found = (run(),)
            finally:
                ended.set()
                watcher.join()
                if stops:
                    _raise_in(thread, None)  # no more
    except (Stopped, Exception):
        if not stops:
            raise
    return None if stops else found


@contextmanager
def _switching(seconds: float) -> Iterator[None]:
    """Another thread that waits for Python gets it after so many seconds, in one block at a time."""
    with _in_turn:
        before = sys.getswitchinterval()
        sys.setswitchinterval(min(before, max(seconds, 1e-5)))
        try:
            yield
        finally:
            sys.setswitchinterval(before)


def _raise_in(thread: int, exception: Any) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), exception)
