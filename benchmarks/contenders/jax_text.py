"""JAX: jax.jit of the array text, and jax.jit(jax.vmap(...)) of the same text for one lane.

Arrays are on the device before a call, as they would be in a program; a call waits for its result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from benchmarks.contenders.record import Columns, Contender, Run, UnavailableError, optional
from benchmarks.kernels import Kernel
from benchmarks.kernels.arrays import TEXTS, Library, Step

_on_device: dict[int, tuple[np.ndarray, Any]] = {}
"""Both contenders run over the same copy: 16 million lanes are large."""


def _library() -> Library:
    jnp, lax = optional("jax.numpy"), optional("jax.lax")

    def loop(trips: int, live: Any, step: Step, *state: Any) -> tuple[Any, ...]:
        def body(carried: Any) -> Any:
            count, live, state = carried
            new, on = step(*state)
            kept = tuple(jnp.where(live, after, before) for after, before in zip(new, state, strict=True))
            return count + 1, live & on, kept

        start = jnp.int32(0), live, state
        return tuple(lax.while_loop(lambda carried: (carried[0] < trips) & jnp.any(carried[1]), body, start)[2])

    def integers(like: Any) -> Any:
        return jnp.int32 if like.dtype.itemsize == 4 else jnp.int64

    return Library(
        where=jnp.where, abs=jnp.abs, arcsin=jnp.arcsin, ceil=jnp.ceil, cos=jnp.cos, exp=jnp.exp, floor=jnp.floor,
        log=jnp.log, maximum=jnp.maximum, minimum=jnp.minimum, power=jnp.power, sin=jnp.sin, sqrt=jnp.sqrt,
        loop=loop,
        real=lambda number, like: jnp.asarray(number, like.dtype),
        whole=lambda number, like: jnp.asarray(number, integers(like)),
        counts=lambda like: jnp.zeros(like.shape, integers(like)),
        wrapped=lambda x: x.astype(jnp.int32).astype(jnp.uint32),
        take=lambda table, index: jnp.asarray(np.array(table, np.uint32))[index],
    )


def _make(mapped: bool, kernel: Kernel, lanes: Columns) -> Run:
    jax = optional("jax")
    text: Callable[..., Any] | None = TEXTS.get(kernel.name)
    if text is None:
        raise UnavailableError("no such text")
    jax.config.update("jax_enable_x64", True)
    function = partial(text, _library())
    run = jax.jit(jax.vmap(function) if mapped else function)
    for column in lanes:
        if id(column) not in _on_device:
            _on_device[id(column)] = column, jax.numpy.asarray(column)
    arrays = [_on_device[id(column)][1] for column in lanes]
    return lambda: run(*arrays).block_until_ready()


def _versions() -> Mapping[str, str]:
    return {"jax": str(optional("jax").__version__)}


CONTENDERS = (
    Contender("jax", partial(_make, False), versions=_versions),
    Contender("jax.vmap", partial(_make, True), versions=_versions),
)
