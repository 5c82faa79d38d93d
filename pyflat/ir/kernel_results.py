"""What a kernel over arrays returns, as its IR says it, and how a run of a compiled one has ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

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
    dtype but the last whether it has this one."""

    kind: Kind
    dtypes: tuple[str | None, ...]

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
class TupleResult:
    cls: type
    items: tuple[Result, ...]

    def leaves(self) -> int:
        return sum(item.leaves() for item in self.items)


@dataclass(frozen=True, slots=True)
class ChoiceResult:
    """One of several, by the path. Its leaves are the number of that one, then those of all."""

    options: tuple[Result, ...]

    def leaves(self) -> int:
        return 1 + sum(option.leaves() for option in self.options)


Result = ConstantResult | NumberResult | ArrayResult | TupleResult | ChoiceResult


def names(result: Result) -> list[str]:
    """The arrays that are returned."""
    match result:
        case TupleResult(items=parts) | ChoiceResult(options=parts):
            return [name for part in parts for name in names(part)]
        case ArrayResult():
            return [result.array]
    return []
