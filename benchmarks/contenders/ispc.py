"""ISPC: the kernels of `benchmarks/native/kernels.ispc`, in the width that is fastest for the kernel, type and size.

A user of ISPC chooses a target, an instruction set and how many program instances run together; here all targets of
`TARGETS` that the processor can run are tried, and the fastest one is the contender. ISPC's own math library, -O3, no
fast-math. The compiler is `ispc`, or what the environment variable ISPC names; it makes an object file, which a C
compiler links.
"""

from __future__ import annotations

import ctypes
import math
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.contenders.builds import built, version, with_new_array
from benchmarks.contenders.record import Columns, Contender, Run, UnavailableError, real_type, result_type
from benchmarks.environment import processor_flags
from benchmarks.kernels import Kernel, images
from benchmarks.measuring import once, part_of

SOURCE = Path(__file__).resolve().parent.parent / "native" / "kernels.ispc"
FLAGS = ("-O3", "--arch=x86-64", "--pic", "--math-lib=default", "--woff")
SKX = frozenset({"avx512f", "avx512dq", "avx512cd", "avx512bw", "avx512vl"})
TARGETS: Mapping[str, frozenset[str]] = {
    "avx512skx-x8": SKX, "avx512skx-x16": SKX, "avx512skx-x32": SKX, "avx512skx-x64": SKX,
    "avx2-i32x8": frozenset({"avx2", "fma", "f16c", "bmi2"}),
}
"""And what the processor must have for it."""
NAMES = {np.dtype(np.float64): "double", np.dtype(np.float32): "float", np.dtype(np.int64): "int64",
         np.dtype(np.int32): "int32"}
TRIALS = 5
"""Turns of each target; the shortest counts."""
TRIED = 1 << 18
"""Of many lanes the trial sees a part."""


def compiler() -> str:
    found = shutil.which(os.environ.get("ISPC") or "ispc")
    if found is None:
        raise UnavailableError("ispc is not installed")
    return found


def targets() -> list[str]:
    """Those that this processor can run."""
    return [target for target, needs in TARGETS.items() if needs <= processor_flags()]


@cache
def library(target: str, kernel: str, columns: tuple[np.dtype, ...], out: np.dtype, table: bool) -> ctypes.CDLL:
    """`run` for a kernel."""
    linker = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
    if linker is None:
        raise UnavailableError("no C compiler links what ispc makes")
    narrow = columns[0].itemsize == 4
    values = {"REAL": "float" if narrow else "double", "INTEGER": "int32" if narrow else "int64", "KERNEL": kernel,
              "ARITY": len(columns), "IN": NAMES[columns[0]], "OUT": NAMES[out]} | ({"TABLE": 1} if table else {})
    defines = [f"-D{name}={value}" for name, value in values.items()]
    commands = [[compiler(), *FLAGS, f"--target={target}", *defines, str(SOURCE), "-o", "OBJECT"],
                [linker, "-shared", "OBJECT", "-o", "OUT", "-lm"]]
    return ctypes.CDLL(str(built(SOURCE, commands, f"ispc for {target}")))


def fastest(make: Callable[[str], Run], names: Sequence[str]) -> tuple[str, list[str]]:
    """The name whose run has the shortest turn; they take turns, after one that does not count. And the names that
    there is no run for: an ispc need not have been built with all targets."""
    runs, missing, why = {}, [], UnavailableError("no target of ISPC for this processor")
    for name in names:
        try:
            runs[name] = make(name)
        except UnavailableError as error:
            missing.append(name)
            why = error
    if not runs:
        raise why
    for run in runs.values():
        run()
    taken = dict.fromkeys(runs, math.inf)
    for _ in range(TRIALS):
        for name, run in runs.items():
            taken[name] = min(taken[name], once(run))
    return min(taken, key=lambda name: taken[name]), missing


def _make(kernel: Kernel, lanes: Columns) -> Run:
    compiler()
    few = [part_of(column, TRIED) for column in lanes]
    chosen, missing = fastest(lambda target: _on(target, kernel, few), targets())
    run = _on(chosen, kernel, lanes)
    run.choice = chosen + (f" (no {', '.join(missing)})" if missing else "")  # type: ignore[attr-defined]
    return run


def _on(target: str, kernel: Kernel, lanes: Columns) -> Run:
    out = result_type(kernel, lanes)
    tables = [np.array(images.PERMUTATION, np.int32)] if kernel.name == "perlin" else []
    assert real_type(lanes).itemsize == out.itemsize
    run = library(target, kernel.name, tuple(column.dtype for column in lanes), out, bool(tables)).run
    inputs = [*lanes, *tables]
    return with_new_array(run, inputs, out, ctypes.c_int32)


def _versions() -> Mapping[str, str]:
    return {"ispc": version(compiler()), "flags of ispc": " ".join(FLAGS)}


CONTENDERS = (Contender("ispc", _make, local=True, versions=_versions),)
