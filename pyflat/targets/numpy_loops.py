"""Masked loops over blocks of lanes: all lanes of a block run each trip together until none is live.

`head(*params, *outer, live)` is the header of a canonical loop: it gives the condition to go on, what the rest needs
of it, and the results of lanes that stop here. `rest(*params, *outer, *needed, live)` gives the next parameters. A lane
that is done keeps its parameters, so that its header gives the same again. When half of the lanes are done, the others
are gathered into shorter arrays. `live`, an array or None for all, are the lanes that run the list at all: a loop in it
runs for those only, whatever its condition makes of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray
Lane = np.ndarray | np.generic

FEW = 128
"""Arrays as short as this are not worth shortening: each operation costs mostly its call."""


def bits(condition: Any) -> Any:
    """All bits of an int64 where the condition holds, none elsewhere."""
    return np.negative(condition.view(np.int8)).astype(np.int64)


def choose_int(bits: Any, a: Any, b: Any) -> Any:
    """`a` where the bits are set, else `b`; scalars of scalars."""
    differing = a ^ b
    if not isinstance(differing, np.ndarray):
        return (differing & bits) ^ b
    differing &= bits
    differing ^= b
    return differing


def choose_float(bits: Any, a: Any, b: Any) -> Any:
    return choose_int(bits, a.view(np.int64), b.view(np.int64)).view(np.float64)


def bits_narrow(condition: Any) -> Any:
    """All bits of an int32 where the condition holds, none elsewhere."""
    return np.negative(condition.view(np.int8)).astype(np.int32)


def choose_narrow(bits: Any, a: Any, b: Any) -> Any:
    """The same as `choose_float`, of float32 and bits of int32."""
    return choose_int(bits, a.view(np.int32), b.view(np.int32)).view(np.float32)


def run_loop(
    head: Callable[..., tuple[Lane, tuple[Lane, ...], tuple[Lane, ...]]],
    rest: Callable[..., tuple[Lane, ...]],
    inits: Sequence[Lane],
    outer: Sequence[Lane],
    live: Array | None,
) -> list[Lane]:
    """The results of a loop: arrays, or scalars when all its operands are."""
    size = next((len(v) for v in (*inits, *outer, live) if isinstance(v, np.ndarray)), None)
    count = 1 if size is None else size
    params: Sequence[Lane] = [_spread(v, count) for v in inits]
    places: Array | None = None
    done: list[Array] = []
    while True:
        go, needed, leave = head(*params, *outer, live)
        going = _spread(go, count)
        if live is not None:
            going = going & live
        alive = int(np.count_nonzero(going))
        if alive == 0:
            break
        if count > FEW and alive * 2 <= count:
            done = _written(done, places, leave, count)
            kept = np.flatnonzero(going)
            places = kept if places is None else places[kept]
            params, outer, needed = _taken(params, kept), _taken(outer, kept), tuple(_taken(needed, kept))
            live, count = None, alive
        running = None if alive == count else going
        after = rest(*params, *outer, *needed, running)
        params = [_spread(v, count) for v in after] if running is None else _frozen(running, after, params)
    if size is None:
        return [v[0] if isinstance(v, np.ndarray) else v for v in leave]
    return list(leave) if places is None else list(_written(done, places, leave, count))


def _spread(value: Lane, count: int) -> Array:
    return value if isinstance(value, np.ndarray) else np.full(count, value)


def _taken(values: Sequence[Lane], kept: Array) -> list[Lane]:
    return [v[kept] if isinstance(v, np.ndarray) else v for v in values]


def _written(done: list[Array], places: Array | None, leave: Sequence[Lane], count: int) -> list[Array]:
    """The results so far, with those of the lanes at `places`."""
    if places is None:
        return [np.array(_spread(v, count)) for v in leave]
    for out, value in zip(done, leave, strict=True):
        out[places] = value
    return done


def _frozen(running: Array, after: Sequence[Lane], before: Sequence[Lane]) -> list[Lane]:
    """What comes after for the running lanes, what was before for the others."""
    mask = bits(running)
    return [_either(running, mask, a, b) for a, b in zip(after, before, strict=True)]


def _either(running: Array, mask: Array, a: Lane, b: Lane) -> Any:
    if a is b:
        return a
    if b.dtype == np.bool_:
        return ((a ^ b) & running) ^ b  # type: ignore[operator]
    if b.dtype == np.float32:
        return choose_narrow(mask.astype(np.int32), a, b)
    return (choose_float if b.dtype == np.float64 else choose_int)(mask, a, b)
