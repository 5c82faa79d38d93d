"""What a kernel returns, as its numbers and arrays make it up.

The results of the IR are the leaves of what is returned, then the memories, so that no store is lost. Leaves are the
numbers, which of its dtypes a number has, where the parts of an array lie that is no whole one, and which of several
things is returned where paths differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from pyflat.functions import array_lanes
from pyflat.ir.shape import Hole, Template, make_record
from pyflat.ir.types import Kind

Model = tuple[str, tuple[int | None, ...]]
"""An array, and for each axis of what is made of it the axis in memory; None: it is broadcast there."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run of a compiled kernel has ended: "done", "fault", "warning", or "unclear", where the careful version has
    to say; the numbers of the result; the arrays made, None for one that is not; which of the warnings that there may
    be there were, where that is known."""

    state: str
    numbers: list[Any] = field(default_factory=list)
    made: dict[str, Any] = field(default_factory=dict)
    warnings: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class ConstantResult:
    """None, a string, or another object that is known, such as a captured array. It has no leaves."""

    value: Any

    def leaves(self) -> int:
        return 0


@dataclass(frozen=True, slots=True)
class NumberResult:
    """A number of one of these dtypes of NumPy's, or Python's (None, the last). Its leaves are the number, and for each
    dtype but the last whether it has this one. `unsigned`: an int of [0, 2**64), which comes as the signed one,
    as one of uint64 does."""

    kind: Kind
    dtypes: tuple[str | None, ...]
    unsigned: bool = False

    def leaves(self) -> int:
        return len(self.dtypes)


@dataclass(frozen=True, slots=True)
class ArrayResult:
    """An array: the argument of this name, or one that the kernel has made. `axes`, where it is a view: for each axis
    in memory the axis of the view, None where it has none. Its leaves are the lengths of the view's axes, then the
    start and the step of each axis in memory."""

    array: str
    axes: tuple[int | None, ...] | None
    rank: int

    def leaves(self) -> int:
        return 0 if self.axes is None else self.rank + 2 * len(self.axes)


@dataclass(frozen=True, slots=True)
class RecordResult:
    """A tuple, list, dict, complex number or object of this class (`ir.shape.make_record`)."""

    cls: type
    names: tuple[Any, ...]
    items: tuple[Result, ...]

    def leaves(self) -> int:
        return sum(item.leaves() for item in self.items)

    def made(self, items: Sequence[Any]) -> Any:
        if self.cls is tuple:
            return tuple(items)
        return self.cls(*items) if issubclass(self.cls, tuple) else make_record(self.cls, self.names, items)


@dataclass(frozen=True, slots=True)
class TextResult:
    """A string: its leaves are the numbers in the holes of the template."""

    template: Template

    def leaves(self) -> int:
        return len(self.template.holes)

    def made(self, *numbers: Any) -> Any:
        held: Mapping[Hole, Any] = dict(zip(self.template.holes, numbers, strict=True))
        return next(self.template.made(lambda hole: [held[hole]], 1))


@dataclass(frozen=True, slots=True)
class ChoiceResult:
    """One of several, by the path. Its leaves are for each but the last whether it is that one, then those of all."""

    options: tuple[Result, ...]

    def leaves(self) -> int:
        return len(self.options) - 1 + sum(option.leaves() for option in self.options)


Result = ConstantResult | NumberResult | ArrayResult | RecordResult | TextResult | ChoiceResult


def names(result: Result) -> list[str]:
    """The arrays that are returned."""
    match result:
        case RecordResult(items=parts) | ChoiceResult(options=parts):
            return [name for part in parts for name in names(part)]
        case ArrayResult():
            return [result.array]
    return []


def renamed(result: Result, names: Mapping[str, str]) -> Result:
    """The result where some arrays have other names."""
    match result:
        case RecordResult(items=parts):
            return replace(result, items=tuple(renamed(part, names) for part in parts))
        case ChoiceResult(options=parts):
            return ChoiceResult(tuple(renamed(part, names) for part in parts))
        case ArrayResult():
            return replace(result, array=names.get(result.array, result.array))
    return result


def made(result: Result, leaves: Iterator[Any], arrays: Mapping[str, Any]) -> Any:
    """What a run returns, of its leaves and arrays."""
    match result:
        case NumberResult():
            value, *flags = islice(leaves, result.leaves())
            dtype = next((dtype for dtype, flag in zip(result.dtypes, flags, strict=False) if flag), result.dtypes[-1])
            if result.unsigned or dtype == "u8":
                value %= 2**64
            return value if dtype is None else np.dtype(dtype).type(value)
        case ArrayResult():
            array = arrays[result.array]
            return array if result.axes is None else array_lanes.part(
                array, list(islice(leaves, result.leaves())), result.rank, result.axes)
        case RecordResult():
            return result.made([made(item, leaves, arrays) for item in result.items])
        case TextResult():
            return result.made(*islice(leaves, result.leaves()))
        case ChoiceResult():
            *tags, last = [*islice(leaves, len(result.options) - 1), True]
            chosen = [*tags, last].index(True)
            found = [made(option, leaves, arrays) if k == chosen else list(islice(leaves, option.leaves()))
                     for k, option in enumerate(result.options)]
            return found[chosen]
        case ConstantResult():
            return result.value
