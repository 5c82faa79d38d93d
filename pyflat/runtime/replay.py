"""Replay: lanes that the engine suspects are run through the original, which settles what they are.

Detection may be conservative: a suspect lane in which the original returns gets the original's value (in float32 the
value that the lane has there, see `faults`). Where the original raises, `patch` raises the exception of the
lowest such lane as it is, with a note that names the lane, and `sort_out` goes on and tells which lanes they are.
Lanes are run in increasing order.
"""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyflat.frontend.callables import Parameters
from pyflat.ir.formats import F4, F8, dtypes
from pyflat.ir.nodes import TRIP_LIMIT
from pyflat.ir.opaque_calls import flat_values
from pyflat.ir.shape import (
    Fixed,
    Labels,
    Leaf,
    Maybe,
    Ragged,
    Record,
    Shape,
    Texts,
    holds_only_floats,
    item_at,
    leaves,
    make_record,
    rebuild,
    written_record,
)
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MAX, INT_MIN, Kind
from pyflat.runtime.arguments import narrowed
from pyflat.runtime.arrays import Array, CallContext
from pyflat.runtime.faults import (
    Cause,
    Faults,
    Float32Lanes,
    LaneError,
    Row,
    Source,
    TripLimitError,
    at_line,
    cause_of,
    lane_index,
    place_of,
)
from pyflat.runtime.labels import none_leaves

MAX_COUNTED = 10_000
"""After the first failing lane so many more are run, to say how many fail."""
MAX_SECONDS = 1.0
_MOST_AXES = 64
"""Axes of an array at most. NumPy takes index arrays for all axes but one of them."""
_CHUNK = 4096
_FEW = 16
"""Fewer lanes are written one by one."""
NONE_HERE = ('the function returned None here, and a value elsewhere: none="masked", none="object" or none="nan" '
             'chooses the result')


class LimitedRow(tuple[Any, ...]):
    """The lane values of a lane that ran into `max_trips`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Replay:
    """One call's suspect lanes; `leaves` are the engine's results, patched in place. Where `result` is None, there
    is one leaf, of Python objects: what the original returns."""

    context: CallContext
    result: Shape | None
    limited: npt.NDArray[np.bool_] | None = None
    """Lanes that ran into `max_trips`: they fail without being run."""
    reference: Float32Lanes | None = None
    """Where lanes are float32: what a lane gives in which the original returns."""

    def patch(self, suspect: npt.NDArray[np.bool_], leaves: Sequence[Array]) -> int:
        """Run the suspect lanes in order and write what they return. Raises the first exception.
        Returns the number of lanes that were run."""
        found = np.flatnonzero(suspect)
        first = next(self._failing(found, leaves), None)
        if first is None:
            return len(found)
        position, failed = first
        try:
            if not self.context.lanes.scalars or self.context.part is not None:
                self._annotate(failed, found[position:], self.runner())
            raise failed
        finally:
            del first, failed  # its traceback holds this frame

    def sort_out(self, suspect: npt.NDArray[np.bool_], leaves: Sequence[Array]) -> Faults:
        """Run the suspect lanes in order, write what they return, and collect those that raise."""
        found = np.flatnonzero(suspect)
        known: dict[Cause, Cause] = {}
        causes: list[Cause] = []
        failed: list[int] = []
        for position, error in self._failing(found, leaves):
            cause = cause_of(error, self.context.callee.function)
            causes.append(known.setdefault(cause, cause))
            failed.append(position)
        flat = found[failed]
        source = Source(self.runner(), self._named, self.shown)
        return Faults(self.context.lanes.shape, flat, causes, self._copies(flat), source)

    def _failing(self, found: npt.NDArray[np.intp], leaves: Sequence[Array]) -> Iterator[tuple[int, Exception]]:
        """Run these lanes in order and write what they return. Gives the position and the exception of each that
        raises."""
        run, call = self.runner(), self._plain_call()
        for start in range(0, len(found), _CHUNK):
            lanes = found[start:start + _CHUNK]
            if call is None or self.limited is not None and self.limited[lanes].any():
                failing = _run_rows(run, self.rows_of(lanes), leaves)
            else:
                failing = self._run_columns(call, lanes, leaves)
            for position, error in failing:
                yield start + position, error

    def _plain_call(self) -> Callable[..., Any] | None:
        """The original with its keyword arguments, where it takes a column of values for each positional argument. None
        where a call needs more than that: arguments that are looked at afterwards, or lanes by keyword."""
        named = call_plan(self.context.call.arguments, self.context.parameters)[1]
        if self.result is None or self.reference is not None or written_record(self.result) is not None \
                or not self.context.call.values or not all(isinstance(shape, Fixed) for shape in named.values()):
            return None
        function: Callable[..., Any] = self.context.callee.original
        fixed = {name: rebuild(shape, iter(())) for name, shape in named.items()}
        return functools.partial(function, **fixed) if fixed else function

    def _run_columns(self, call: Callable[..., Any], lanes: npt.NDArray[np.intp], leaves: Sequence[Array]
                     ) -> Iterator[tuple[int, Exception]]:
        """`_failing` for lanes whose arguments are columns, which takes little more than the original's calls."""
        rows, at = zip(*self._argument_columns(lanes), strict=True), 0
        while at < len(lanes):
            returned: list[Any] = []
            raised: list[Exception] = []  # emptied, for a traceback holds this frame
            try:
                for row in rows:  # no map(), which a StopIteration of the original would end
                    returned.append(call(*row))  # noqa: PERF401 - what has returned before an exception is kept
            except Exception as error:  # noqa: BLE001 - whatever the original raises belongs to its caller
                raised.append(error)
            for position, misfit in self._write(lanes[at:at + len(returned)], returned, leaves):
                yield at + position, misfit
            at += len(returned)
            if raised:
                yield at, raised.pop()
                at += 1

    def _argument_columns(self, lanes: npt.NDArray[np.intp]) -> list[Iterable[Any]]:
        """The positional arguments of the original in these lanes, each as a column of Python values."""
        source = iter(self._columns(lanes))
        found: list[Iterable[Any]] = []
        for shape in call_plan(self.context.call.arguments, self.context.parameters)[0]:
            own = [next(source) for _ in leaves(shape)]
            if isinstance(shape, Leaf):
                found += own
            elif own:
                found.append([rebuild(shape, iter(row)) for row in zip(*own, strict=True)])
            else:
                found.append([rebuild(shape, iter(())) for _ in range(len(lanes))])
        return found

    def _write(self, lanes: npt.NDArray[np.intp], returned: Sequence[Any], leaves: Sequence[Array]
               ) -> Iterator[tuple[int, Exception]]:
        """Write what the original returned in these lanes; gives those in which that does not fit."""
        assert self.result is not None
        columns = None if len(returned) < _FEW else fit_columns(returned, self.result)
        if columns is not None:
            for leaf, column in zip(leaves, columns, strict=True):
                leaf[lanes] = column
            return
        fitted = self._fitted()
        rows = ((lane, (value,)) for lane, value in zip(lanes.tolist(), returned, strict=True))
        yield from _run_rows(lambda row: fitted(row[0], ()), rows, leaves)

    def _copies(self, found: npt.NDArray[np.intp]) -> list[Any]:
        """The lane values of these lanes, apart from the caller's arrays, which may change."""
        shape = self.context.lanes.shape
        where = np.unravel_index(found, shape) if shape else ()
        return [self._picked(k, where) if isinstance(value, np.ndarray) and shape else
                value.item() if isinstance(value, np.ndarray | np.generic) else value
                for k, value in enumerate(self.context.call.values)]

    def _picked(self, leaf: int, where: tuple[Any, ...]) -> npt.NDArray[Any]:
        """The lane values of a leaf in some lanes."""
        call = self.context.call
        found = _picked(call.values[leaf], self.context.lanes.shape, where)
        return narrowed(found) if call.floats is F4 and call.kinds[leaf] is FLOAT else found

    def _column(self, leaf: int, where: tuple[Any, ...], count: int) -> list[Any]:
        """Lane values of a leaf as Python scalars, from the caller's own array: a uint64 keeps its value."""
        value = self.context.call.values[leaf]
        if isinstance(value, np.ndarray) and self.context.lanes.shape:
            return list(self._picked(leaf, where).tolist())
        return [value.item() if isinstance(value, np.ndarray | np.generic) else value] * count

    def runner(self) -> Callable[[Row], list[Any]]:
        """A function from the lane values of one lane to the result leaves of the original there; of float32 lanes to
        those that the lane has in float32, after the original has returned."""
        run = self.original()
        if self.result is None:
            return lambda values: [run(values)]
        fitted = self._fitted()
        return lambda values: fitted(run(values), values)

    def _fitted(self) -> Callable[[Any, Row], list[Any]]:
        """A function from what the original returned, and the lane values, to the result leaves."""
        result, reference = self.result, self.reference
        assert result is not None
        raising = () if self.context.lanes.scalars or self.context.options.none != "raise" else none_leaves(result)

        def fitted(value: Any, values: Row) -> list[Any]:
            found = list(fit(value, result)) if reference is None else list(reference.values(values))
            if any(found[place] for place in raising):
                raise LaneError(NONE_HERE)
            return found

        return fitted

    def row(self, lane: int) -> Row:
        """The lane values of one lane."""
        return tuple(value.item(0) if isinstance(value, np.ndarray) else value
                     for value in self._copies(np.array([lane])))

    def original(self, through: Callable[..., Any] | None = None) -> Callable[[Row], Any]:
        """A function from the lane values of one lane to what the original returns there; it is called as
        `through(function, ...)` where that is given."""
        args, kwargs = call_plan(self.context.call.arguments, self.context.parameters)
        function: Callable[..., Any] = self.context.callee.original
        if through is not None:
            function = functools.partial(through, function)
        record = written_record(self.result)

        def run(values: Row) -> Any:
            if isinstance(values, LimitedRow):
                raise TripLimitError(TRIP_LIMIT.message)
            source = iter(values)
            positional = [rebuild(shape, source) for shape in args]
            named = {name: rebuild(shape, source) for name, shape in kwargs.items()}
            before = [flat_values(item) for item in positional] if self.result is None else []
            returned = function(*positional, **named)
            if before and list(map(repr, before)) != [repr(flat_values(item)) for item in positional]:
                raise LaneError("the function writes into its arguments, which PYFLAT_DISABLE=1 does not show")
            if record is None:
                return returned
            given = self.context.parameters.signature.bind(*positional, **named).arguments
            return make_record(record, (), [returned, *[item_at(given, path) for path in record.paths]])

        return run

    def rows(self, wanted: npt.NDArray[np.bool_]) -> Iterator[tuple[int, Row]]:
        """The lanes that are marked, with their lane values as Python scalars."""
        return self.rows_of(np.flatnonzero(wanted))

    def rows_of(self, found: npt.NDArray[np.intp]) -> Iterator[tuple[int, Row]]:
        """These lanes, with their lane values as Python scalars."""
        for start in range(0, len(found), _CHUNK):
            part = found[start:start + _CHUNK]
            columns = self._columns(part)
            rows = zip(*columns, strict=True) if columns else iter([()] * len(part))
            for lane, row in zip(part.tolist(), rows, strict=True):
                yield lane, row if self.limited is None or not self.limited[lane] else LimitedRow(row)

    def _columns(self, lanes: npt.NDArray[np.intp]) -> list[list[Any]]:
        """The values of each leaf in these lanes as Python scalars."""
        shape = self.context.lanes.shape
        where = np.unravel_index(lanes, shape) if shape else ()
        return [self._column(leaf, where, len(lanes)) for leaf in range(len(self.context.call.values))]

    def _annotate(self, error: Exception, rest: npt.NDArray[np.intp], run: Callable[[Row], Any]) -> None:
        """Say which lane it was, and how many others fail (counted within bounds)."""
        lanes = self.rows_of(rest)
        lane, values = next(lanes)
        failed, complete, deadline = 1, True, time.monotonic() + MAX_SECONDS
        for position, (_, others) in enumerate(lanes):
            if position >= MAX_COUNTED or time.monotonic() > deadline:
                complete = False
                break
            try:
                run(others)
            except Exception:  # noqa: BLE001 - only counted: the first one is raised
                failed += 1
        part, count = self.context.part, self.context.lanes.count
        place = lane_index(lane, self.context.lanes.shape)
        if part is not None:
            place, count, complete = part.lane(lane), part.count, complete and part.complete
        shown = f" ({self.shown(values)})" if values else ""
        least = "" if complete else "at least "
        only_floats = self.result is None or holds_only_floats(self.result)
        keeps = '"nan" or "mask"' if only_floats else '"mask"'
        error.add_note(f"lane {place}{shown}; {least}{failed:,} of {count:,} lanes failed; "
                       f"errors={keeps} keeps the rest{at_line(*place_of(error, self.context.callee.function))}")

    def _named(self, values: Row) -> dict[str, Any]:
        """The arguments that differ from lane to lane, by name."""
        source = iter(values)
        return {name: rebuild(shape, source) for name, shape in self.context.call.arguments.items()
                if not isinstance(shape, Fixed) and not (isinstance(shape, Record) and not shape.items)}

    def shown(self, values: Row) -> str:
        parts = []
        for name, value in self._named(values).items():
            text = repr(value)
            parts.append(f"{name}={text if len(text) <= 60 else text[:57] + '...'}")
        return ", ".join(parts if len(parts) <= 12 else [*parts[:12], "..."])


def _run_rows(run: Callable[[Row], list[Any]], rows: Iterable[tuple[int, Row]], leaves: Sequence[Array]
              ) -> Iterator[tuple[int, Exception]]:
    """Run lanes one by one and write the leaves that they give. Gives the position and the exception of each that
    raises."""
    for position, (lane, row) in enumerate(rows):
        raised: list[Exception] = []  # emptied, for a traceback holds this frame
        try:
            patched = run(row)
        except Exception as error:  # noqa: BLE001 - whatever the original raises belongs to its caller
            raised.append(error)
        if raised:
            yield position, raised.pop()
            continue
        for leaf, value in zip(leaves, patched, strict=True):
            leaf[lane] = value


def call_plan(arguments: Mapping[str, Shape], parameters: Parameters) -> tuple[list[Shape], dict[str, Shape]]:
    """The shapes of `arguments` as positional and keyword arguments of a call, both in signature order."""
    plain: dict[str, Any] = {}
    for name, shape in arguments.items():
        if name == parameters.extra:
            assert isinstance(shape, Record)
            plain[name] = shape.items
        elif name == parameters.keywords:
            plain[name] = named_shapes(shape)
        else:
            plain[name] = shape
    bound = inspect.BoundArguments(parameters.signature, plain)
    return list(bound.args), dict(bound.kwargs)


def named_shapes(shape: Shape) -> dict[str, Shape]:
    """The shape of **kwargs by name."""
    if isinstance(shape, Record):
        return dict(zip(shape.names, shape.items, strict=True))
    assert isinstance(shape, Fixed)
    return {name: Fixed(value) for name, value in shape.value.items()}


def fit(value: Any, shape: Shape) -> Iterator[Any]:
    """The leaves of what the original returned. Raises LaneError where `shape` cannot hold it exactly."""
    match shape:
        case Leaf():
            yield _fit_number(value, shape.kind)
        case Fixed():
            if not _agrees(value, shape.value):
                raise LaneError(f"the function returned {value!r} here, and {shape.value!r} in other lanes")
        case Labels():
            yield _fit_label(value, shape)
        case Texts():
            yield _fit_label(value, shape)
            yield from (_ANY[kind] for kind in shape.numbers)
        case Ragged():
            yield _fit_list(value, shape)
            yield from (_ANY[leaf.kind] for item in shape.items for leaf in (Leaf(BOOL), *leaves(item)))
        case Maybe() if value is None:
            yield from (_ANY[leaf.kind] for leaf in leaves(shape.inner))
            yield True
        case Maybe():
            yield from fit(value, shape.inner)
            yield False
        case Record() if shape.cls is complex:
            yield from (part for part, _ in zip(_fit_complex(value), shape.items, strict=False))
        case Record() if shape.cls is np.uint64:
            yield _fit_unsigned(value)
        case Record() if shape.cls is str:
            yield from fit([value] if type(value) is str else value, shape.items[0])
        case Record():
            if type(value) is not shape.cls:
                raise LaneError(f"the function returned {value!r} here, and a {shape.cls.__name__} in other lanes")
            if isinstance(value, np.ndarray) and tuple(map(str, value.shape)) != shape.names:
                raise LaneError(f"the function returned an array of shape {value.shape} here, and of shape "
                                f"({', '.join(shape.names)}) in other lanes")
            parts = _parts(value, shape.names)
            if isinstance(value, dict) and tuple(value) != shape.names:
                raise LaneError(f"the function returned a dict with the keys {tuple(value)} here, and with "
                                f"{shape.names} in other lanes")
            if len(parts) != len(shape.items):
                raise LaneError(f"the function returned {len(parts)} values here and {len(shape.items)} in other lanes")
            for part, item in zip(parts, shape.items, strict=True):
                yield from fit(part, item)


def fit_columns(values: Sequence[Any], shape: Shape) -> list[npt.NDArray[Any]] | None:
    """`fit` of many values at once: a column for each leaf. None where that takes a look at each value."""
    if isinstance(shape, Leaf):
        if not set(map(type, values)) <= _OWN[shape.kind]:
            return None
        try:
            return [np.array(values, dtypes(F8)[shape.kind])]
        except OverflowError:
            return None
    if not isinstance(shape, Record) or shape.cls is not tuple or set(map(type, values)) != {tuple} \
            or set(map(len, values)) != {len(shape.items)}:
        return None
    found: list[npt.NDArray[Any]] = []
    for column, item in zip(zip(*values, strict=True), shape.items, strict=True):
        fitted = fit_columns(column, item)
        if fitted is None:
            return None
        found += fitted
    return found


_OWN: dict[Kind, set[type]] = {BOOL: {bool, np.bool_}, INT: {int, np.int64}, FLOAT: {float, np.float64}}
"""Classes whose objects a lane of the kind holds as they are, but for large ints."""


def _parts(value: Any, names: Sequence[str]) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, np.ndarray):
        return list(value.flat)
    return [getattr(value, name) for name in names] if names else list(value)


_ANY: dict[Kind, Any] = {BOOL: False, INT: 0, FLOAT: 0.0}
"""What is never read."""


def _fit_label(value: Any, shape: Labels | Texts) -> int:
    """The code of an object; one that is new gets the next where the table is open."""
    code = shape.code(value)
    if code is not None:
        return code
    other = isinstance(value, tuple | list | dict | np.ndarray | np.generic | bool | int | float | complex)
    if not isinstance(shape.table, list) or other and not (isinstance(shape, Texts) and shape.mixed):
        raise LaneError(f"the function returned {value!r} here, which is unlike the objects for other elements")
    shape.table.append(value)
    return len(shape.table) - 1


def _fit_list(value: Any, shape: Ragged) -> int:
    """The position of a list in the open table, counted from 1."""
    if type(value) is not list or not isinstance(shape.table, list):
        raise LaneError(f"the function returned {value!r} here, and a list in other lanes")
    shape.table.append(value)
    return len(shape.table)


def _fit_number(value: Any, kind: Kind) -> Any:
    zero_dimensional = isinstance(value, np.ndarray) and value.ndim == 0
    number = value.item() if isinstance(value, np.generic) or zero_dimensional else value
    if kind is BOOL and isinstance(number, bool):
        return number
    if kind is INT and isinstance(number, int):
        if INT_MIN <= number <= INT_MAX:
            return int(number)
        raise LaneError(f"the function returned the integer {number!r}, which does not fit into 64 bits")
    if kind is FLOAT and isinstance(number, int | float):
        return _exact_float(number)
    expected = {BOOL: "a bool", INT: "an int", FLOAT: "a float"}[kind]
    raise LaneError(f"the function returned {value!r}, which is not {expected} as in other lanes")


def _fit_unsigned(value: Any) -> int:
    """The signed int with the bits of an int of [0, 2**64)."""
    if isinstance(value, int) and 0 <= value < 2**64:
        return (value - INT_MIN) % 2**64 + INT_MIN
    raise LaneError(f"the function returned {value!r} here, and ints of [0, 2**64) in other lanes")


def _fit_complex(value: Any) -> Iterator[Any]:
    """Real and imaginary part, and whether the value is complex."""
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, complex):
        yield from (number.real, number.imag, True)
    elif isinstance(number, int | float):
        yield from (_exact_float(number), 0.0, False)
    else:
        raise LaneError(f"the function returned {value!r}, which is not a complex number as in other lanes")


def _exact_float(number: float) -> float:
    try:
        converted = float(number)
    except OverflowError:
        converted = float("inf")
    if isinstance(number, int) and converted != number:
        raise LaneError(f"the function returned the integer {number!r}, which is not a float exactly")
    return converted


def _agrees(value: Any, expected: Any) -> bool:
    if value is expected:
        return True
    if type(value) is not type(expected):
        return False
    if isinstance(value, tuple):
        return len(value) == len(expected) and all(map(_agrees, value, expected))
    if isinstance(value, float):
        return repr(value) == repr(expected)
    same = value == expected
    return same if isinstance(same, bool) else False


def _picked(value: npt.NDArray[Any], shape: tuple[int, ...], where: tuple[Any, ...]) -> npt.NDArray[Any]:
    """The lane values of some lanes. An axis of one lane needs no index."""
    every: npt.NDArray[Any] = np.broadcast_to(value, shape)
    picked: npt.NDArray[Any]
    if len(shape) < _MOST_AXES:
        picked = every[where]
        return picked
    long = [axis for axis, length in enumerate(shape) if length != 1] or [0]
    picked = every.squeeze(tuple(set(range(len(shape))) - set(long)))[tuple(where[axis] for axis in long)]
    return picked
