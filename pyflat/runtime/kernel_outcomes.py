"""A kernel over arrays against its original: both run on copies of the call's arrays, and everything is compared, bit
for bit: what is returned or raised, warnings, and what the arrays hold."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pyflat.errors import FlattenError
from pyflat.frontend.notices import PerformanceWarning
from pyflat.runtime.settings import Options

if TYPE_CHECKING:
    from pyflat.runtime.interfaces import Calls

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
