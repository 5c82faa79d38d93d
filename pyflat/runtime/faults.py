"""Faults: the elements of one call where the original raises, and its exceptions.

    values, faults = pyflat.twin(f, errors="mask")(xs)
    faults.any(), len(faults)            whether any element failed, and how many did
    faults.mask, faults.lanes            a bool array of the result's shape; the indices where it is true
    faults[417]                          None if the element has a result, else a Failure
    faults[417].type, .message, .line    the exception's class, message and line; `.exception()` is the exception
    raise faults.group(limit=100)        all of them in one ExceptionGroup

A Faults copies the arguments of the failing elements, so it does not change with the caller's arrays.
"""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from pyflat.errors import PACKAGE
from pyflat.ir.recursion import room_to_recurse
from pyflat.ir.types import INT, INT_MAX, INT_MIN

if TYPE_CHECKING:
    from pyflat.ir.nodes import Fault, Function, Op

Row = tuple[Any, ...]
GROUPED = 100
"""Exceptions in a group, unless the caller says another limit."""


class LaneError(ValueError):
    """The original returned a value that this twin's results cannot hold: None, an int beyond 64 bits, ..."""


class TripLimitError(RuntimeError):
    """A loop had not finished for some element after `max_trips` iterations."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What an exception is, without the exception: many lanes share one."""

    type: type[Exception]
    message: str
    file: str
    line: int


def cause_of(error: Exception, function: FunctionType) -> Cause:
    """Type, message and the innermost line of Python code outside pyflat; the def where there is none."""
    file, line = place_of(error, function)
    return Cause(type(error), str(error), file, line)


def place_of(error: BaseException, function: FunctionType) -> tuple[str, int]:
    """File and line where `error` was raised below `function`."""
    place = function.__code__.co_filename, function.__code__.co_firstlineno
    step = error.__traceback__
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        if not file.startswith(PACKAGE):
            place = file, step.tb_lineno
        step = step.tb_next
    return place


def source_line(file: str, line: int) -> str:
    return linecache.getline(file, line).strip()


@dataclass(frozen=True, slots=True)
class Part:
    """The lanes of a call that is a part of a larger one: a block of it, or the lanes that have values. Messages and
    faults count lanes as the caller of the whole does."""

    shape: tuple[int, ...]
    """The shape of the whole."""
    places: Callable[[npt.NDArray[np.intp]], npt.NDArray[np.intp]]
    """Where lanes of the part are in the whole, both flattened."""
    complete: bool = True
    """Lanes outside of the part do not fail."""

    @classmethod
    def selected(cls, mask: npt.NDArray[np.bool_]) -> Part:
        """The lanes in which `mask` is true."""
        return cls(mask.shape, np.flatnonzero(mask).__getitem__)

    @classmethod
    def block(cls, shape: tuple[int, ...], corner: Sequence[int], extent: Sequence[int]) -> Part:
        """The lanes of a block with this corner and these lengths, within an array of `shape`."""

        def places(lanes: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
            inside = np.unravel_index(lanes, tuple(extent))
            moved = tuple(index + start for index, start in zip(inside, corner, strict=True))
            return np.ravel_multi_index(moved, shape).astype(np.intp, copy=False)

        return cls(shape, places, complete=False)

    @property
    def count(self) -> int:
        """The lanes of the whole."""
        return math.prod(self.shape)

    def within(self, outer: Part) -> Part:
        """These lanes in the whole that this whole is a part of."""
        return Part(outer.shape, lambda lanes: outer.places(self.places(lanes)), self.complete and outer.complete)

    def lane(self, flat: int) -> int | tuple[int, ...]:
        """What the caller calls a lane."""
        return lane_index(int(self.places(np.array([flat], np.intp))[0]), self.shape)


@dataclass(frozen=True, slots=True)
class Source:
    """How the lanes of one call are run again and written down."""

    run: Callable[[Row], Any]
    named: Callable[[Row], dict[str, Any]]
    shown: Callable[[Row], str]
    """The arguments of one lane as text."""


_NO_SOURCE = Source(run=lambda row: None, named=lambda row: {}, shown=lambda row: "")


@dataclass(frozen=True, slots=True)
class Failure:
    """One failing element. `lane` is its index: an int, or a tuple if the result does not have exactly one axis."""

    lane: int | tuple[int, ...]
    cause: Cause
    row: Row
    source: Source

    @property
    def type(self) -> type[Exception]:
        """The class of the exception."""
        return self.cause.type

    @property
    def message(self) -> str:
        return self.cause.message

    @property
    def line(self) -> int:
        """The number of the line that raised, in `file`."""
        return self.cause.line

    @property
    def file(self) -> str:
        return self.cause.file

    @property
    def text(self) -> str:
        """The source line that raised; "" if it cannot be read."""
        return source_line(self.cause.file, self.cause.line)

    @property
    def arguments(self) -> dict[str, Any]:
        """The element's arguments by name, as Python scalars."""
        return self.source.named(self.row)

    def exception(self) -> Exception:
        """Python's own exception, with its traceback: runs the original once more on the element's arguments. A
        TripLimitError is returned without running it, since the original might not terminate."""
        try:
            if self.type is TripLimitError:
                raise TripLimitError(self.message)
            self.source.run(self.row)
        except Exception as error:  # noqa: BLE001 - whatever the original raises is what is wanted
            error.add_note(self._note())
            return error
        return LaneError(f"lane {self.lane} raised {self.type.__name__}: {self.message}, but returned when run again: "
                         f"something it depends on has changed")

    def _note(self) -> str:
        arguments = f" ({self.source.shown(self.row)})" if self.row else ""
        return f"lane {self.lane}{arguments}{at_line(self.file, self.line)}"

    def __repr__(self) -> str:
        shown = self.source.shown(self.row)
        return f"<lane {self.lane} ({shown}): {self.type.__name__}: {self.message}, line {self.line}>"


def at_line(file: str, line: int) -> str:
    """The failing line as the second line of a note."""
    text = source_line(file, line)
    return f"\n{Path(file).name}:{line}: {text}" if text else ""


class Faults:
    """The failing elements of one call. `len` counts them; iterating yields a Failure for each, in order."""

    def __init__(
        self,
        shape: tuple[int, ...],
        flat: npt.NDArray[np.intp],
        causes: Sequence[Cause],
        columns: Sequence[Any],
        source: Source,
    ):
        self.shape = shape
        self.flat = flat
        """The positions of the failing lanes in the flattened result."""
        self._causes = causes
        self._columns = columns
        self._source = source
        self._positions: npt.NDArray[np.intp] | None = None

    @classmethod
    def none(cls, shape: tuple[int, ...]) -> Faults:
        """The Faults of a call without a failing element."""
        return cls(shape, np.zeros(0, np.intp), (), (), _NO_SOURCE)

    @classmethod
    def of(cls, shape: tuple[int], failures: Sequence[Failure]) -> Faults:
        """These failures along one axis, from any calls."""
        ordered = sorted(failures, key=lambda failure: failure.lane)
        rows = np.empty(len(ordered), object)
        rows[:] = ordered
        source = Source(run=lambda row: row[0].source.run(row[0].row), named=lambda row: row[0].arguments,
                        shown=lambda row: row[0].source.shown(row[0].row))
        return cls(shape, np.array([failure.lane for failure in ordered], np.intp),
                   [failure.cause for failure in ordered], [rows], source)

    def of_whole(self, part: Part | None) -> Faults:
        """These failures with the caller's indices, if the call was part of a larger one."""
        if part is None:
            return self
        return Faults(part.shape, part.places(self.flat), self._causes, self._columns, self._source)

    def __len__(self) -> int:
        return len(self.flat)

    def __bool__(self) -> bool:
        return bool(len(self.flat))

    def any(self) -> bool:
        """Whether any element failed."""
        return bool(len(self.flat))

    @property
    def mask(self) -> npt.NDArray[np.bool_]:
        """A bool array of the result's shape, true for the failing elements."""
        mask = np.zeros(self.shape, np.bool_)
        mask.reshape(-1)[self.flat] = True
        return mask

    @property
    def lanes(self) -> npt.NDArray[np.intp]:
        """The indices of the failing elements in increasing order; with several axes, one row of indices for each."""
        if len(self.shape) == 1:
            return self.flat.copy()
        return np.stack(np.unravel_index(self.flat, self.shape), axis=-1) if self.shape else np.zeros(
            (len(self.flat), 0), np.intp)

    def __iter__(self) -> Iterator[Failure]:
        return map(self._failure, range(len(self.flat)))

    def __getitem__(self, lane: Any) -> Any:
        """The Failure of one element, or None if it has a result. A slice, an index array or a mask selects several,
        as an object array of Failure and None. Raises IndexError as NumPy does."""
        if isinstance(lane, np.ndarray) and lane.ndim == 0 and lane.dtype.kind in "iu":
            lane = lane.item()
        if self._positions is None:
            self._positions = np.full(self.shape, -1, np.intp)
            self._positions.reshape(-1)[self.flat] = np.arange(len(self.flat))
        found = self._positions[lane]
        if isinstance(found, np.ndarray) and found.ndim:
            several = np.empty(found.shape, object)
            for place in zip(*np.nonzero(found >= 0), strict=True):
                several[place] = self._failure(int(found[place]))
            return several
        position = int(found)
        return None if position < 0 else self._failure(position)

    def _failure(self, position: int) -> Failure:
        row = tuple(c.item(position) if isinstance(c, np.ndarray) else c for c in self._columns)
        return Failure(lane_index(int(self.flat[position]), self.shape), self._causes[position], row, self._source)

    def group(self, message: str = "", *, limit: int = GROUPED) -> ExceptionGroup[Exception]:
        """The exceptions of the first `limit` failing elements in one ExceptionGroup, whose message has the total
        count. Raises ValueError if no element failed."""
        if not self:
            raise ValueError("no lane failed, so there is nothing to group")
        if limit < 1:
            raise ValueError(f"limit={limit!r}: expected an int of at least 1")
        count = len(self)
        total = int(np.prod(self.shape, dtype=np.int64))
        text = message or f"{count:,} of {total:,} lanes failed"
        if count > limit:
            text += f"; the first {limit:,} are here"
        return ExceptionGroup(text, [self._failure(i).exception() for i in range(min(count, limit))])

    def raise_all(self, *, limit: int = GROUPED) -> None:
        """Raise the ExceptionGroup of `group` if any element failed."""
        if self:
            raise self.group(limit=limit)

    def __repr__(self) -> str:
        if not self:
            return "<no faults>"
        first = ", ".join(str(self._failure(i).lane) for i in range(min(4, len(self))))
        return f"<{len(self):,} faults in lanes {first}{', ...' if len(self) > 4 else ''}>"


def lane_index(flat: int, shape: tuple[int, ...]) -> int | tuple[int, ...]:
    """How a caller names the lane: an int in one dimension, otherwise a tuple."""
    return flat if len(shape) == 1 else tuple(int(i) for i in np.unravel_index(flat, shape)) if shape else ()


# --- suspect lanes of float32 twins: what they give when the original, in float64, returns there
#
# Nothing of float64 is written into a float32 lane. What such a lane computes is what the interpreter computes with
# the structured form in float32, and an engine leaves it unfinished where the lane is suspect (it leaves its loops),
# so that the interpreter finishes it. Where it fails in float32 alone (an index, an int of infinity, a `raise` that
# only float32 comes to), the lane has no value.

MAX_TRIPS = 100_000


def _why(fault: Fault) -> str:
    said = f"{fault.type}: {fault.message}".removesuffix(": ")
    if fault.type == "Undecided":
        return f"only the original, in float64, decides here ({fault.message or 'nan'})"
    return f"the lane fails in float32 ({said}), but not in float64"


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
            raise LaneError(f"in float32 a loop runs for more than {MAX_TRIPS:,} iterations") from None
