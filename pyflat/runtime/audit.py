"""Audit: for a share of the lanes of each call, drawn at random, the original says whether the twin is right.

Lanes that the original has run anyway are not drawn. float32 lanes are compared with what defines them, the interpreter
(`faults`). Of a kernel a share of the calls runs on copies of the arrays, by both (`kernel_outcomes`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pyflat.ir.formats import dtypes
from pyflat.ir.shape import Shape, leaves, rebuild
from pyflat.runtime import kernel_outcomes
from pyflat.runtime.arrays import Array, CallContext
from pyflat.runtime.faults import Float32Lanes, Row, lane_index
from pyflat.runtime.labels import with_open_tables, without_unread
from pyflat.runtime.replay import Replay, fit
from pyflat.runtime.settings import Options

if TYPE_CHECKING:
    from pyflat.runtime.interfaces import Calls


@cache
def _random() -> np.random.Generator:
    """Made when it is needed: while this module is imported, NumPy may be a copy without it (`functions.originals`)."""
    return np.random.default_rng()


class DifferenceError(AssertionError):
    """A lane in which twin and original differ: its index, its arguments in order, and the lane line by line where
    that was looked at."""

    def __init__(
        self,
        message: str,
        *,
        lane: int | tuple[int, ...] = (),
        row: tuple[Any, ...] = (),
        lane_trace: Any = None,
    ):
        super().__init__(message)
        self.lane = lane
        self.row = row
        self.lane_trace = lane_trace


def audit_lanes(context: CallContext, result: Shape, found: Sequence[Array], run: npt.NDArray[np.bool_] | None,
                reference: Float32Lanes | None) -> None:
    """Compare some lanes of a call, whose result leaves are `found`, with their original, but for those that it has
    `run`. Raises DifferenceError."""
    options = context.options
    if options.math == "fast" and reference is None:
        return
    drawn = _drawn(context.lanes.count, options.audit)
    drawn = drawn if run is None else drawn[~run[drawn]]
    result = with_open_tables(result)
    ours = [leaf[drawn] for leaf in found]
    wanted = [np.zeros(len(drawn), dtypes(context.call.floats)[leaf.kind]) for leaf in leaves(result)]
    replay = Replay(context, result, None, reference)
    original = replay.original()
    rows: list[Row] = []
    for position, (_, row) in enumerate(replay.rows_of(drawn)):
        rows.append(row)
        try:
            value = original(row)
            fitted = list(fit(value, result) if reference is None else reference.values(row))
        except Exception as error:
            if options.errors != "unchecked":
                raise _difference(replay, drawn, position, row, ours, kernel_outcomes.shown(error)) from error
            fitted = [leaf[position] for leaf in ours]
        for leaf, number in zip(wanted, fitted, strict=True):
            leaf[position] = number
    pairs = zip(without_unread(result, ours), without_unread(result, wanted), strict=True)
    for position in np.flatnonzero(~np.logical_and.reduce([equal(*pair) for pair in pairs])).tolist()[:1]:
        theirs = rebuild(result, iter([leaf[position].item() for leaf in wanted]))
        raise _difference(replay, drawn, position, rows[position], ours, repr(theirs))


def audit_kernel(caller: Calls, args: Sequence[Any], kwargs: Mapping[str, Any], options: Options) -> None:
    """Compare some calls of a kernel with their original. Raises DifferenceError."""
    if _random().random() >= options.audit:
        return
    differs, _, _ = kernel_outcomes.compare(caller, args, kwargs, replace(options, audit=0.0))
    if differs:
        shown = ", ".join([*map(repr, args), *(f"{name}={value!r}" for name, value in kwargs.items())])
        raise DifferenceError(f"the {options.target} kernel {caller.parameters.name} differs from its original in "
                              f"{differs}\nits arguments: {shown}")


def _drawn(count: int, share: float) -> npt.NDArray[np.intp]:
    """Each lane with this probability, in order."""
    if share >= 1.0:
        return np.arange(count)
    return np.sort(_random().choice(count, _random().binomial(count, share), replace=False, shuffle=False))


def _difference(replay: Replay, drawn: npt.NDArray[np.intp], position: int, row: Row, ours: Sequence[Array], theirs: str
                ) -> DifferenceError:
    context, target = replay.context, replay.context.options.target
    assert replay.result is not None
    lane = lane_index(int(drawn[position]), context.lanes.shape)
    value = rebuild(replay.result, iter([leaf[position].item() for leaf in ours]))
    what = "the original" if replay.reference is None else f"the interpreter in {context.options.dtype}"
    return DifferenceError(
        f"audit: lane {lane} of {context.parameters.name} ({replay.shown(row)}) is {value!r} on {target}, and {what} "
        f"gives {theirs}", lane=lane, row=row)


def equal(a: Array, b: Array) -> npt.NDArray[np.bool_]:
    """Where two arrays are the same, nan as nan, 0.0 not as -0.0."""
    if a.dtype.kind != "f":
        return np.asarray(a == b)
    return np.asarray(((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b)))
