"""Shared libraries that compilers make, kept in out/native for the next row, which is a process of its own.

The name is a hash of all that the code depends on, so that there is nothing to invalidate.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import resource
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contenders.record import Run, UnavailableError
from benchmarks.environment import ROOT, processor, processor_flags

FOLDER = ROOT / "out" / "native"
MEMORY = 6 << 30
"""Bytes that a compiler may take."""


@cache
def version(compiler: str) -> str:
    """The first line of what it says about itself. Raises `UnavailableError`."""
    done = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise UnavailableError(f"{compiler} does not run")
    return (done.stdout.splitlines() or [""])[0]


def built(source: Path, commands: Sequence[Sequence[str]], label: str) -> Path:
    """A library, made of `source` by commands in which OUT and OBJECT stand for their files.

    Raises `UnavailableError`.
    """
    facts = [source.read_text(encoding="utf-8"), processor(), *sorted(processor_flags())]
    for command in commands:
        facts += [version(command[0]), *command]
    path = FOLDER / f"{hashlib.sha256(chr(0).join(facts).encode()).hexdigest()[:32]}.so"
    if path.exists():
        return path
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pyflat-benchmark-", dir=FOLDER) as folder:
        files = {"OUT": str(Path(folder) / "kernels.so"), "OBJECT": str(Path(folder) / "kernels.o")}
        for command in commands:
            done = subprocess.run([files.get(word, word) for word in command], capture_output=True, text=True,
                                  check=False, preexec_fn=_limited)
            if done.returncode:
                raise UnavailableError(f"{label}: {_why(done.stderr) or f'exit status {done.returncode}'}")
        os.replace(files["OUT"], path)
    return path


def _limited() -> None:
    """A table of 512 numbers is a type of 512 parts to Pythran, for which the compiler asks for more than the machine
    has."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _why(said: str) -> str:
    """The first error of a compiler, without the file's name; else what it said."""
    found = re.search(r"(?:error|\.py:\d+:\d+): (?!.*Error compiling)(.*)", said)
    return " ".join((found[1] if found else said).split())[:200]


def with_new_array(run: Any, inputs: Sequence[np.ndarray], dtype: np.dtype, length: type) -> Run:
    """A call of a C function `(*inputs, out, count)` that makes an array of `dtype` for what is written: the wall clock
    of such a call is what our own twins are compared with, who make their results too."""
    run.argtypes = [ctypes.c_void_p] * (len(inputs) + 1) + [length]
    run.restype = None
    pointers, count = [column.ctypes.data for column in inputs], len(inputs[0])

    def call() -> np.ndarray:
        made = np.empty(count, dtype)
        run(*pointers, made.ctypes.data, count)
        return made

    call.inputs = inputs  # type: ignore[attr-defined]  # keeps alive what the pointers point to
    return call
