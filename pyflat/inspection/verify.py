"""A twin against its original on the user's own arrays: every lane, bit for bit.

Two kinds of twins are defined by the interpreter and compared with that, bit for bit too: float32 lanes, all of them,
and those of `math="fast"`, some of them; for the latter it is said how far they are from the original.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyflat.inspection.lane_trace import trace_lane
from pyflat.ir.formats import dtypes
from pyflat.ir.interp import run
from pyflat.ir.nodes import Function
from pyflat.ir.shape import leaves
from pyflat.runtime.arrays import Array, Lanes
from pyflat.runtime.audit import DifferenceError, compare, equal
from pyflat.runtime.calls import Caller
from pyflat.runtime.compiled import flatten
from pyflat.runtime.faults import lane_index
from pyflat.runtime.labels import with_open_tables, without_unread
from pyflat.runtime.replay import Replay, fit
from pyflat.runtime.settings import Options

RECOMPUTED = 200
"""So many lanes of `math="fast"` are run in the interpreter."""


@dataclass(frozen=True, slots=True)
class Off:
    """How far a twin of `math="fast"` is from its original.

    lanes     so many have a float with other bits
    ulps      the largest distance of a finite float, in units of its last place, and in which lane: `worst`
    decided   so many lanes have another int, bool, infinity or nan, or a value where the original raises
    """

    lanes: int
    ulps: float
    worst: int | tuple[int, ...]
    decided: int

    def __str__(self) -> str:
        if not self.lanes and not self.decided:
            return "all lanes have the original's bits"
        return (f"{self.lanes:,} lanes have other digits than the original, up to {self.ulps:,.1f} ulp in lane "
                f"{self.worst}; {self.decided:,} lanes decide otherwise")


@dataclass(frozen=True, slots=True)
class Verified:
    """How many lanes agree, how many of them the twin runs through the original itself, and with `math="fast"` how far
    the others are off. Of a kernel over arrays `lanes` are the elements of arrays and the numbers that were compared,
    and `replayed` says whether the call was run by the original."""

    lanes: int
    replayed: int
    dtype: str = "float64"
    off: Off | None = None
    kernel: bool = False

    def __str__(self) -> str:
        if self.kernel:
            by = "the original ran itself" if self.replayed else "the original did not have to run"
            return f"{self.lanes:,} elements and numbers agree with the original; {by}"
        if self.off is not None:
            return f"{self.lanes:,} lanes: {self.off}; {self.replayed:,} of them were run through it"
        if self.dtype != "float64":
            return (f"{self.lanes:,} lanes agree with the interpreter in {self.dtype}; {self.replayed:,} of them were "
                    f"run through the original")
        return f"{self.lanes:,} lanes agree with the original; {self.replayed:,} of them were run through it"


def verify(caller: Caller, args: Sequence[Any], kwargs: Mapping[str, Any], options: Options) -> Verified:
    """Compare every lane of one call, or all that a kernel returns, raises and writes. Raises DifferenceError for the
    first lane that differs."""
    if caller.kernels.takes(args, kwargs, options):
        differs, compared, replayed = compare(caller, args, kwargs, options)
        if differs:
            raise DifferenceError(f"the {options.target} kernel {caller.parameters.name} differs from its original in "
                                  f"{differs}" + '; math="fast" allows other last digits' * (options.math == "fast"))
        return Verified(compared, replayed, kernel=True)
    ready = caller.ready(args, kwargs, options)
    context, built, narrow = ready.context, ready.built, ready.reference
    call, lanes, options = context.call, context.lanes, context.options
    ran = built.run(lanes.inputs, lanes.count)
    arrays, suspect = ran.leaves, ran.suspect
    settled = np.zeros(lanes.count, np.bool_)
    for mask in (suspect, lanes.suspect):
        if mask is not None:
            settled |= mask
    result = with_open_tables(built.result)
    replay = Replay(context, result)
    original = replay.original()
    wanted: list[Array] = [np.zeros(lanes.count, dtypes(call.floats)[leaf.kind]) for leaf in leaves(result)]
    fast = options.math == "fast" and narrow is None
    raising = np.zeros(lanes.count, np.bool_)
    for lane, row in replay.rows(~settled):
        try:
            values = fit(original(row), result) if narrow is None else narrow.values(row)
            for array, number in zip(wanted, values, strict=True):
                array[lane] = number
        except Exception:  # noqa: BLE001 - the twin has a value here, and the original an exception
            raising[lane] = True
            if not fast:
                break
    off = None
    arrays, wanted = without_unread(result, arrays), without_unread(result, wanted)
    if fast:
        off = _distance(arrays, wanted, ~settled, raising, lanes)
        flat = flatten(caller.callee.function, ready.arguments, options, engine=True).flat
        wrong = _recomputed(np.flatnonzero(~settled), lanes, ran.leaves, flat)
    else:
        wrong = raising | ~settled & ~np.logical_and.reduce([equal(*pair) for pair in zip(arrays, wanted, strict=True)])
    if wrong.any():
        raise _difference(caller, args, kwargs, options, lanes, int(np.flatnonzero(wrong)[0]))
    return Verified(lanes.count, int(settled.sum()), options.dtype, off)


def _distance(arrays: Sequence[Array], wanted: Sequence[Array], compared: npt.NDArray[np.bool_],
              raising: npt.NDArray[np.bool_], lanes: Lanes) -> Off:
    """How far the lanes that are `compared` are from the original's values, where it is not `raising`."""
    digits, decided, ulps = np.zeros(lanes.count, np.bool_), raising.copy(), np.zeros(lanes.count)
    compared = compared & ~raising
    for ours, theirs in zip(arrays, wanted, strict=True):
        other = ~equal(ours, theirs) & compared
        if ours.dtype.kind != "f":
            decided |= other
            continue
        finite = np.isfinite(ours) & np.isfinite(theirs)
        decided |= other & ~finite
        digits |= other & finite
        with np.errstate(all="ignore"):
            distance = np.abs(ours - theirs) / np.spacing(np.maximum(np.abs(ours), np.abs(theirs)))
        ulps = np.maximum(ulps, np.where(other & finite, distance, 0.0))
    worst = int(ulps.argmax()) if lanes.count else 0
    return Off(int(digits.sum()), float(ulps.max(initial=0.0)), lane_index(worst, lanes.shape), int(decided.sum()))


def _recomputed(among: npt.NDArray[Any], lanes: Lanes, arrays: Sequence[Array], flat: Function
                ) -> npt.NDArray[np.bool_]:
    """The lanes that differ from the interpreter, which has the faster functions too; some of `among` are compared."""
    wrong = np.zeros(lanes.count, np.bool_)
    for lane in among[:: len(among) // RECOMPUTED + 1]:
        done = run(flat, _row(lanes, lane))
        wrong[lane] = done.suspect or not all(
            equal(array[lane], np.asarray(value)) for array, value in zip(arrays, done.values, strict=True))
    return wrong


def _row(lanes: Lanes, lane: Any) -> list[Any]:
    return [x[lane].item() if isinstance(x, np.ndarray) else x.item() for x in lanes.inputs]


def _difference(
    caller: Caller, args: Sequence[Any], kwargs: Mapping[str, Any], options: Options, lanes: Lanes, flat: int
) -> DifferenceError:
    lane = lane_index(flat, lanes.shape)
    lane_trace = trace_lane(caller, args, kwargs, options, lane)
    what = "its original" if options.dtype == "float64" else f"the interpreter in {options.dtype}"
    what = 'the interpreter with math="fast"' if options.math == "fast" else what
    message = f"the {options.target} twin differs from {what} in lane {lane}\n{lane_trace}"
    return DifferenceError(message, lane=lane, lane_trace=lane_trace)
