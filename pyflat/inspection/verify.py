"""A twin against its original on the user's own arrays: every lane, bit for bit; with `math="vector"` as near as the
digits of the functions allow in that lane (`pyflat.passes.accuracy.conditioning`). A twin of float32 lanes is compared
with the interpreter in float32, which defines them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyflat.inspection.lane_trace import LaneTrace, trace_lane
from pyflat.ir.formats import dtypes
from pyflat.ir.interp import run
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Function
from pyflat.ir.ops import NUMPY_LOOPS
from pyflat.ir.shape import leaves
from pyflat.passes.accuracy import allowed_differences, inexact_results
from pyflat.runtime.arrays import Array, Lanes
from pyflat.runtime.calls import Caller
from pyflat.runtime.compiled import FlatForm, flatten
from pyflat.runtime.faults import lane_index
from pyflat.runtime.replay import Replay, fit
from pyflat.runtime.settings import Options

VECTOR_ULPS = 4
"""How far elementary functions of `math="vector"` may be from the C library's."""
RECOMPUTED = 200
"""So many lanes are run in the interpreter."""


class DifferenceError(AssertionError):
    """A lane in which twin and original differ: its index, its arguments in order, and the lane line by line where
    that was looked at."""

    def __init__(
        self,
        message: str,
        *,
        lane: int | tuple[int, ...] = (),
        row: tuple[Any, ...] = (),
        lane_trace: LaneTrace | None = None,
    ):
        super().__init__(message)
        self.lane = lane
        self.row = row
        self.lane_trace = lane_trace


@dataclass(frozen=True, slots=True)
class Verified:
    """How many lanes agree, and how many of them the twin runs through the original itself."""

    lanes: int
    replayed: int
    dtype: str = "float64"

    def __str__(self) -> str:
        if self.dtype != "float64":
            return (f"{self.lanes:,} lanes agree with the interpreter in {self.dtype}; {self.replayed:,} of them were "
                    f"run through the original")
        return f"{self.lanes:,} lanes agree with the original; {self.replayed:,} of them were run through it"


def verify(caller: Caller, args: Sequence[Any], kwargs: Mapping[str, Any], options: Options) -> Verified:
    """Compare every lane of one call. Raises DifferenceError for the first lane that differs."""
    context = caller.context(args, kwargs, options)
    call, lanes, options = context.call, context.lanes, context.options
    built = caller.compilations.get(caller.callee.function, call.arguments, options.as_built)
    ran = built.run(lanes.inputs, lanes.count)
    arrays, suspect = ran.leaves, ran.suspect
    settled = np.zeros(lanes.count, np.bool_)
    for mask in (suspect, lanes.suspect):
        if mask is not None:
            settled |= mask
    replay = Replay(context, built.result)
    original, narrow = replay.original(), built.reference
    wanted: list[Array] = [np.zeros(lanes.count, dtypes(call.floats)[leaf.kind]) for leaf in leaves(built.result)]
    wrong = np.zeros(lanes.count, np.bool_)
    for lane, row in replay.rows(~settled):
        try:
            values = fit(original(row), built.result) if narrow is None else narrow.values(row)
            for array, number in zip(wanted, values, strict=True):
                array[lane] = number
        except Exception:  # noqa: BLE001 - the twin has a value here, and the original an exception
            wrong[lane] = True
            break
    done = None
    if options.functions == "vector" and narrow is None:
        done = flatten(caller.callee.function, call.arguments, options, engine=True)
    wrong |= _differing(arrays, wanted, ~settled, lanes, done)
    if wrong.any():
        raise _difference(caller, args, kwargs, options, lanes, int(np.flatnonzero(wrong)[0]))
    return Verified(lanes.count, int(settled.sum()), options.dtype)


def _differing(arrays: Sequence[Array], wanted: Sequence[Array], compared: npt.NDArray[np.bool_], lanes: Lanes,
               done: FlatForm | None) -> npt.NDArray[np.bool_]:
    """The lanes with another result: bit for bit, but for what faster functions explain."""
    exact = None if done is None else done.exact
    inexact = [False] * len(wanted) if exact is None else inexact_results(exact)
    other, wrong = np.zeros(lanes.count, np.bool_), np.zeros(lanes.count, np.bool_)
    for ours, theirs, ulps in zip(arrays, wanted, [VECTOR_ULPS * each for each in inexact], strict=True):
        other |= ~close(ours, theirs, 0) & compared
        wrong |= ~close(ours, theirs, ulps) & compared
    if done is None or exact is None:
        return wrong
    _forgive(wrong, lanes, arrays, wanted, exact)
    if any(op.opcode in NUMPY_LOOPS for op in all_ops(exact.body)):
        _recompute(wrong, np.flatnonzero(other & ~wrong), lanes, arrays, done.flat)
    return wrong


def _forgive(wrong: npt.NDArray[np.bool_], lanes: Lanes, arrays: Sequence[Array], wanted: Sequence[Array],
             exact: Function) -> None:
    """Take lanes out of `wrong` that differ no more than the digits of the faster functions explain."""
    for lane in np.flatnonzero(wrong):
        limits = allowed_differences(exact, _row(lanes, lane))
        pairs = zip([a[lane] for a in arrays], [b[lane] for b in wanted], limits, strict=True)
        wrong[lane] = not all(close(a, b, 0) or (limit > 0.0 and abs(a - b) <= limit) for a, b, limit in pairs)
        if wrong[lane]:
            return


def _recompute(wrong: npt.NDArray[np.bool_], other: npt.NDArray[Any], lanes: Lanes, arrays: Sequence[Array],
               flat: Function) -> None:
    """NumPy's functions have NumPy's bits, also beside faster ones: of the lanes with `other` digits than the original
    some are compared with the interpreter, which has the faster functions too."""
    for lane in other[:: len(other) // RECOMPUTED + 1]:
        values = run(flat, _row(lanes, lane)).values
        wrong[lane] = not all(close(a[lane], np.asarray(b), 0) for a, b in zip(arrays, values, strict=True))


def _row(lanes: Lanes, lane: Any) -> list[Any]:
    return [x[lane].item() if isinstance(x, np.ndarray) else x.item() for x in lanes.inputs]


def close(a: Array, b: Array, ulps: int) -> npt.NDArray[np.bool_]:
    """Where two arrays are the same, nan as nan, 0.0 not as -0.0; floats up to `ulps` apart."""
    if a.dtype.kind != "f":
        return np.asarray(a == b)
    same = ((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))
    if ulps:
        with np.errstate(all="ignore"):
            same |= np.abs(a - b) <= ulps * np.spacing(np.maximum(np.abs(a), np.abs(b)))
    return np.asarray(same)


def _difference(
    caller: Caller, args: Sequence[Any], kwargs: Mapping[str, Any], options: Options, lanes: Lanes, flat: int
) -> DifferenceError:
    lane = lane_index(flat, lanes.shape)
    lane_trace = trace_lane(caller, args, kwargs, options, lane)
    what = "its original" if options.dtype == "float64" else f"the interpreter in {options.dtype}"
    message = f"the {options.target} twin differs from {what} in lane {lane}\n{lane_trace}"
    return DifferenceError(message, lane=lane, lane_trace=lane_trace)
