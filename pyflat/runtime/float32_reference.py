"""Suspect lanes of float32 twins: what they give when the original, in float64, returns there.

Nothing of float64 is written into a float32 lane. What such a lane computes is what the interpreter computes with the
structured form in float32, and an engine leaves it unfinished where the lane is suspect (it leaves its loops), so that
the interpreter finishes it. Where it fails in float32 alone (an index, an int of infinity, a `raise` that only float32
comes to), the lane has no value.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from pyflat.ir.recursion import room_to_recurse
from pyflat.ir.types import INT, INT_MAX, INT_MIN
from pyflat.runtime.faults import LaneError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyflat.ir.nodes import Fault, Function, Op

MAX_TRIPS = 100_000


def _why(fault: Fault) -> str:
    said = f"{fault.type}: {fault.message}".removesuffix(": ")
    if fault.type == "Undecided":
        return f"only the original, in float64, decides here ({fault.message or 'nan'})"
    return f"the lane fails in float32 ({said}), and in float64 it does not"


class Float32Lanes(Protocol):
    """Says what a lane gives in float32."""

    def values(self, row: Sequence[Any]) -> tuple[Any, ...]: ...


class Float32Reference:
    """The lanes of a structured function of float32, with the elementary functions of its engine. The function is asked
    for where a lane is suspect."""

    def __init__(self, structured: Callable[[], Function]):
        self._structured = structured

    @cached_property
    def _exact(self) -> tuple[Function, set[Op]]:
        from pyflat.analysis.demanded_bits import wrapping
        from pyflat.passes.pipelines import FLOAT32_REFERENCE
        from pyflat.passes.pipelines import run as run_passes

        structured = self._structured()
        with room_to_recurse(structured):
            lowered = run_passes(structured, FLOAT32_REFERENCE)
            return lowered, wrapping(lowered)

    def values(self, row: Sequence[Any]) -> tuple[Any, ...]:
        """The result leaves of one lane. LaneError where it has none."""
        from pyflat.ir.interp import LaneFault, TripLimit, run

        function, low = self._exact
        for param, value in zip(function.params, row, strict=True):
            if param.kind is INT and not INT_MIN <= value <= INT_MAX:
                raise LaneError(f"the integer {value!r} does not fit into 64 bits")
        try:
            return run(function, row, max_trips=MAX_TRIPS, wrapping=low).values
        except LaneFault as stop:
            raise LaneError(_why(stop.fault)) from None
        except TripLimit:
            raise LaneError(f"in float32 a loop of the lane makes more than {MAX_TRIPS:,} trips") from None
