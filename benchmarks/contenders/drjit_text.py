"""Dr.Jit with its LLVM backend: dr.select and dr.while_loop, evaluated and waited for. `@dr.freeze` keeps the trace, as
its users do for what runs often. Arrays are Dr.Jit's before a call.

Dr.Jit loads LLVM's shared library by itself; DRJIT_LIBLLVM_PATH names another one. One that is older than the
processor ends the process, and the row is measured again without Dr.Jit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.contenders.record import Columns, Contender, Run, UnavailableError, optional, real_type
from benchmarks.kernels import Kernel, images
from benchmarks.kernels.arrays import TEXTS, Library, Step

WITH_TABLE = {"perlin"}
"""A frozen function cannot use an array that is none of its arguments."""


def _library(real: Any, whole: Any) -> Library:
    dr, llvm = optional("drjit"), optional("drjit.llvm")
    tables = {images.PERMUTATION: llvm.UInt32(np.array(images.PERMUTATION, np.uint32))}
    dr.eval(tables)

    def loop(trips: int, live: Any, step: Step, *state: Any) -> tuple[Any, ...]:
        def going(count: Any, live: Any, *_state: Any) -> Any:
            return live & (count < trips)

        def body(count: Any, _live: Any, *state: Any) -> tuple[Any, ...]:
            new, on = step(*state)
            return count + 1, on, *new

        start = dr.zeros(llvm.UInt32, dr.width(live)), live, *state
        return tuple(dr.while_loop(state=start, cond=going, body=body, labels=[f"s{k}" for k in range(len(start))])[2:])

    return Library(
        where=dr.select, abs=dr.abs, arcsin=dr.asin, ceil=dr.ceil, cos=dr.cos, exp=dr.exp, floor=dr.floor, log=dr.log,
        maximum=dr.maximum, minimum=dr.minimum, power=dr.power, sin=dr.sin, sqrt=dr.sqrt,
        loop=loop,
        real=lambda number, _like: real(number),
        whole=lambda number, _like: whole(number),
        counts=lambda like: dr.zeros(whole, dr.width(like)),
        wrapped=lambda x: llvm.UInt32(llvm.Int32(x)),
        take=lambda table, index: dr.gather(llvm.UInt32, tables[table], index),
    )


def _make(kernel: Kernel, lanes: Columns) -> Run:
    dr, llvm = optional("drjit"), optional("drjit.llvm")
    text = TEXTS.get(kernel.name)
    if text is None:
        raise UnavailableError("no such text")
    dr.set_thread_count(1)
    narrow = real_type(lanes) == np.float32
    real, whole = (llvm.Float32, llvm.Int32) if narrow else (llvm.Float64, llvm.Int64)
    arrays = [(real if column.dtype.kind == "f" else whole)(column) for column in lanes]
    dr.eval(arrays)
    library = _library(real, whole)

    def run(*arrays: Any) -> Any:
        return text(library, *arrays)

    if kernel.name not in WITH_TABLE:
        run = dr.freeze(run)

    def call() -> Any:
        result = run(*arrays)
        dr.eval(result)
        dr.sync_thread()
        return result

    return call


def _versions() -> Mapping[str, str]:
    return {"drjit": str(optional("drjit").__version__)}


CONTENDERS = (Contender("drjit", _make, versions=_versions),)
