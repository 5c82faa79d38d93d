"""Processors that code is made for by their names: those levels of x86-64 that this machine can run."""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Iterator
from unittest import mock

from pyflat.targets.numba.jit import LEVELS, Processor, processor

OWN = "own"


def levels() -> tuple[str, ...]:
    """The processor that is here, and the levels below it."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return (OWN,)
    with mock.patch.dict(os.environ):
        os.environ.pop("NUMBA_CPU_NAME", None)
        os.environ.pop("NUMBA_CPU_FEATURES", None)
        own = _features(processor())
    names = [name for name in LEVELS if name != "generic"]
    return OWN, *[name for name in names if _features(Processor(name, LEVELS[name])) <= own]


def _features(cpu: Processor) -> set[str]:
    return {name for name in cpu.features.split(",") if name.startswith("+")}


@contextlib.contextmanager
def made_for(level: str) -> Iterator[None]:
    """What the numba target compiles in the block is for a processor of this level."""
    if level == OWN:
        yield
        return
    with mock.patch.dict(os.environ, {"NUMBA_CPU_NAME": level}):
        os.environ.pop("NUMBA_CPU_FEATURES", None)
        yield
