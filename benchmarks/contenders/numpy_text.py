"""Hand-written np.where."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.contenders.record import Columns, Contender, Run, UnavailableError
from benchmarks.kernels import Kernel
from benchmarks.kernels.arrays import TEXTS, Library, Step


def _loop(trips: int, live: Any, step: Step, *state: Any) -> tuple[Any, ...]:
    for _ in range(trips):
        if not live.any():
            break
        new, on = step(*state)
        state = tuple(np.where(live, after, before) for after, before in zip(new, state, strict=True))
        live = live & on
    return state


def _integers(like: Any) -> type[np.integer[Any]]:
    return np.int32 if like.dtype.itemsize == 4 else np.int64


NUMPY = Library(
    where=np.where, abs=np.abs, arcsin=np.arcsin, ceil=np.ceil, cos=np.cos, exp=np.exp, floor=np.floor, log=np.log,
    maximum=np.maximum, minimum=np.minimum, power=np.power, sin=np.sin, sqrt=np.sqrt,
    loop=_loop,
    real=lambda number, like: like.dtype.type(number),
    whole=lambda number, like: _integers(like)(number),
    counts=lambda like: np.zeros(like.shape, _integers(like)),
    wrapped=lambda x: x.astype(np.int32).astype(np.uint32),
    take=lambda table, index: np.array(table, np.uint32)[index],
)


def make(kernel: Kernel, lanes: Columns) -> Run:
    text = TEXTS.get(kernel.name)
    if text is None:
        raise UnavailableError("no such text")

    def call() -> Any:
        with np.errstate(all="ignore"):
            return text(NUMPY, *lanes)

    return call


CONTENDERS = (Contender("np.where", make),)
