"""Audit: for a share of the lanes of each call, drawn at random, the original says whether the twin is right.

Lanes that the original has run anyway are not drawn. float32 lanes are compared with what defines them, the interpreter
(`faults`). Of a kernel a share of the calls runs on copies of the arrays, by both (`compare`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from pyflat.errors import FlattenError
from pyflat.frontend.notices import PerformanceWarning
from pyflat.ir.formats import dtypes
from pyflat.ir.shape import Shape, leaves, rebuild
from pyflat.runtime.arrays import Array, CallContext
from pyflat.runtime.faults import Float32Lanes, Row, lane_index
from pyflat.runtime.interfaces import Calls
from pyflat.runtime.labels import with_open_tables, without_unread
from pyflat.runtime.replay import Replay, fit
from pyflat.runtime.settings import Options


@cache
def _random() -> np.random.Generator:
    """Made when it is needed: while this module is imported, NumPy may be a copy without it (`functions.originals`)."""
    return np.random.default_rng()


class DifferenceError(AssertionError):
    """An element where twin and original differ: its index, its arguments in order, and, if it was traced, its values
    line by line."""

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
                raise _failure(replay, drawn, position, row, ours, shown(error)) from error
            fitted = [leaf[position] for leaf in ours]
        for leaf, number in zip(wanted, fitted, strict=True):
            leaf[position] = number
    pairs = zip(without_unread(result, ours), without_unread(result, wanted), strict=True)
    for position in np.flatnonzero(~np.logical_and.reduce([equal(*pair) for pair in pairs])).tolist()[:1]:
        theirs = rebuild(result, iter([leaf[position].item() for leaf in wanted]))
        raise _failure(replay, drawn, position, rows[position], ours, repr(theirs))


def audit_kernel(caller: Calls, args: Sequence[Any], kwargs: Mapping[str, Any], options: Options) -> None:
    """Compare some calls of a kernel with their original. Raises DifferenceError."""
    if options.math == "fast" or _random().random() >= options.audit:
        return
    differs, _, _ = compare(caller, args, kwargs, replace(options, audit=0.0))
    if differs:
        shown = ", ".join([*map(repr, args), *(f"{name}={value!r}" for name, value in kwargs.items())])
        raise DifferenceError(f"the {options.target} kernel {caller.parameters.name} differs from its original in "
                              f"{differs}\nits arguments: {shown}")


def _drawn(count: int, share: float) -> npt.NDArray[np.intp]:
    """Each lane with this probability, in order."""
    if share >= 1.0:
        return np.arange(count)
    return np.sort(_random().choice(count, _random().binomial(count, share), replace=False, shuffle=False))


def _failure(replay: Replay, drawn: npt.NDArray[np.intp], position: int, row: Row, ours: Sequence[Array], theirs: str
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


# --- a kernel over arrays against its original: both run on copies of the call's arrays, and everything is compared,
# bit for bit: what is returned or raised, warnings, and what the arrays hold
_LINE = 64
"""Copies lie at the same place in a line of the cache as what they are copies of."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    arguments: dict[str, Any]
    value: Any
    error: BaseException | None
    warned: list[str]


def compare(caller: Calls, args: Sequence[Any], kwargs: Mapping[str, Any], options: Options) -> tuple[str, int, int]:
    """The first difference of one call, in words, nothing where there is none; how many elements and numbers were
    compared; whether the twin ran the original itself. The arrays of the call stay as they are. Raises FlattenError
    where the kernel is refused."""
    replayed = caller.stats.replayed
    ours = _run(lambda *a, **k: caller.kernels(a, k, options), args, kwargs)
    replayed = caller.stats.replayed - replayed
    theirs = _run(lambda *a, **k: caller.kernels.original(a, k), args, kwargs)
    if isinstance(ours.error, FlattenError) and not isinstance(theirs.error, FlattenError):
        raise ours.error
    found = ((what, _difference(mine, other)) for what, mine, other in _pairs(ours, theirs))
    differs = next((f"{what}{difference}" for what, difference in found if difference), "")
    numbers = [mine for _, mine, _ in _pairs(ours, theirs) if isinstance(mine, np.ndarray | np.generic | int | float)]
    return differs, sum(map(np.size, numbers)), replayed


def repeated(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], times: int) -> str:
    """Where calls with the same arguments differ from the first one of them, in words; nothing where none does."""
    first, *others = [_run(function, args, kwargs) for _ in range(times)]
    for number, other in enumerate(others, 2):
        for what, mine, theirs in _pairs(other, first):
            if what != "its warnings" and (difference := _difference(mine, theirs)):
                return f"{what} in call {number} and in call 1{difference}"
    return ""


def _run(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> _Outcome:
    given = copies({**dict(enumerate(args)), **kwargs})
    named = {f"argument {name + 1 if isinstance(name, int) else repr(name)}": value for name, value in given.items()}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value, error = None, None
        try:
            value = function(*[given[k] for k in range(len(args))], **{k: given[k] for k in kwargs})
        except Exception as found:  # noqa: BLE001 - it is compared
            error = found
    return _Outcome(named, value, error, [f"{w.category.__name__}: {w.message}" for w in caught
                                          if not issubclass(w.category, PerformanceWarning)])


def _pairs(ours: _Outcome, theirs: _Outcome) -> Iterator[tuple[str, Any, Any]]:
    yield "what it raises", shown(ours.error), shown(theirs.error)
    yield "its warnings", ours.warned, theirs.warned
    yield from _items("its result", ours.value, theirs.value)
    for name, value in ours.arguments.items():
        if isinstance(value, np.ndarray):
            yield name, value, theirs.arguments[name]


def shown(error: BaseException | None) -> str:
    return "nothing" if error is None else f"{type(error).__name__}: {error}"


def _items(what: str, ours: Any, theirs: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(ours, tuple) and type(ours) is type(theirs) and len(ours) == len(theirs):
        for number, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from _items(f"{what}, item {number}", mine, other)
        return
    yield what, ours, theirs


def _difference(ours: Any, theirs: Any) -> str:
    """Where two values differ, in words; nothing where they do not."""
    if type(ours) is not type(theirs):
        return f": {ours!r} and {theirs!r}"
    if not isinstance(ours, np.ndarray | np.generic | float):
        return "" if ours == theirs else f": {ours!r} and {theirs!r}"
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return f": {ours.dtype}{list(ours.shape)} and {theirs.dtype}{list(theirs.shape)}"
    other = np.argwhere(_bits(ours) != _bits(theirs))
    if not len(other):
        return ""
    place = tuple(other[0].tolist())
    return f" at {place}: {ours[place]!r} and {theirs[place]!r} ({len(other):,} of {ours.size:,} elements differ)"


def _bits(array: Any) -> Any:
    """Ints of the elements' bits; every nan is one nan."""
    if array.dtype.kind != "f":
        return array
    array = np.where(np.isnan(array), np.nan, array).astype(array.dtype)
    return array.view(f"i{array.itemsize}")


def copies(values: Mapping[Any, Any]) -> dict[Any, Any]:
    """Copies of arrays with their strides, alignment and overlaps; other values are themselves."""
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray) and value.size}
    spans = sorted((*np.lib.array_utils.byte_bounds(value), name) for name, value in arrays.items())
    made: dict[Any, Any] = {name: value.copy() if isinstance(value, np.ndarray) else value
                            for name, value in values.items()}
    for low, high, names in _together(spans):
        shift = low % _LINE
        memory = np.empty(high - low + 2 * _LINE, np.uint8)
        start = -memory.ctypes.data % _LINE + shift
        for name in names:
            array = arrays[name]
            copy = np.ndarray(array.shape, array.dtype, memory, start + array.ctypes.data - low, array.strides)
            copy[...] = array
            copy.flags.writeable = array.flags.writeable
            made[name] = copy
    return made


def _together(spans: Sequence[tuple[int, int, Any]]) -> list[tuple[int, int, list[Any]]]:
    """Ranges of memory that meet, joined."""
    found: list[tuple[int, int, list[Any]]] = []
    for low, high, name in spans:
        if found and low < found[-1][1]:
            start, end, names = found[-1]
            found[-1] = start, max(end, high), [*names, name]
        else:
            found.append((low, high, [name]))
    return found
