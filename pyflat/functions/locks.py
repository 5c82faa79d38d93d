"""The locks of the process, and what becomes of them at a fork.

Threads that want one thing compiled wait for each other: whoever comes second finds what the first has made. There is
one lock for flattening, which runs code of the user and gains nothing from a second thread, and one for LLVM, whose
global context is for one thread at a time. They are taken in the order in which they stand here.

A fork waits until it has all of them, and until no other thread imports a module of pyflat. So the child has no
compilation that is half done, in pyflat's tables, in LLVM's or in what is the process's own meanwhile (recursion limit,
garbage collector), and no lock of a thread that is gone. It does not wait for ever: a thread that flattens may run code
of the user that waits for the thread that forks. Then the child gets locks that are free.

What is registered last is asked first before a fork. `logging` is imported here, so that a fork has not taken its lock
yet while it waits for a thread that wants it. `import pyflat` in a thread is waited for as soon as this module is
there; a fork in the milliseconds before leaves the child what it leaves it during any import: a module that stays
locked.
"""

from __future__ import annotations

import importlib
import logging  # noqa: F401 - see above
import os
import threading
import time
from typing import Any

arriving = threading.RLock()
"""Reading what another process has pickled."""

flattening = threading.RLock()
"""Flattening, which may flatten other functions, and compiling what was flattened."""

translating = threading.RLock()
"""Writing and translating kernels. Nothing is flattened meanwhile."""

making = threading.RLock()
"""Making twins: nothing is compiled meanwhile."""

brief = threading.RLock()
"""Tables and counts, for microseconds. No other lock is taken meanwhile."""

PATIENCE = 60.0
"""Seconds that a fork, or the end of a process, waits for a compilation."""

_ORDER: tuple[Any, ...] = (arriving, flattening, translating, making, brief)
_TRIES = 5


class _Taken(threading.local):
    def __init__(self) -> None:
        self.locks: list[Any] = []


_taken = _Taken()


def _take_all() -> None:
    end = time.monotonic() + PATIENCE
    for left in reversed(range(_TRIES)):
        _wait_for_imports(end)
        for lock in _ORDER:
            if lock.acquire(timeout=max(0.0, end - time.monotonic())):
                _taken.locks.append(lock)
        if not left or not _importing():
            return
        _release_taken()  # that import may wait for one of them


def _release_taken() -> None:
    while _taken.locks:
        _taken.locks.pop().release()


def _release_all_in_child() -> None:
    for lock in _ORDER:
        if lock not in _taken.locks:
            lock._at_fork_reinit()  # as CPython's own modules do
    _release_taken()


def _importing() -> bool:
    """Whether another thread imports a module of pyflat. Python's locks of modules stay locked in the child."""
    own = threading.get_ident()
    locks: dict[str, Any] = getattr(importlib._bootstrap, "_module_locks", {})
    held = [lock() for name, lock in tuple(locks.items()) if name.partition(".")[0] == "pyflat"]
    return any(getattr(lock, "owner", None) not in (None, own) for lock in held)


def _wait_for_imports(end: float) -> None:
    while _importing() and time.monotonic() < end:
        time.sleep(0.001)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take_all, after_in_parent=_release_taken, after_in_child=_release_all_in_child)
