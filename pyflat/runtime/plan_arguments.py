"""What a plan (`pyflat.runtime.plans`) knows of the arguments of a call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import is_dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from pyflat.frontend.callables import NotGiven
from pyflat.ir.shape import record_of
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.runtime.arguments import is_plain_dataclass
from pyflat.runtime.settings import Options
from pyflat.targets.operands import as_signed, is_stored
from pyflat.targets.target import at_hand

PYTHON: dict[type, Kind] = {float: FLOAT, int: INT, bool: BOOL}
_SCALARS = frozenset({*PYTHON, np.float64, np.float32, np.float16, np.int64, np.int32, np.int16, np.int8, np.uint32,
                      np.uint16, np.uint8, np.bool_})
"""A uint64 may be no lane."""
_FIXED = frozenset({str, bytes, bool, int, float})


class Argument(NamedTuple):
    """What a plan knows of one argument: its type, the dtype of an array, the items of a tuple, list, dict or
    dataclass, or the value of a string and of what is static."""

    cls: type
    dtype: np.dtype[Any] | None = None
    items: tuple[Argument, ...] = ()
    names: tuple[str, ...] = ()
    """The attributes, or keys, that the items are; none where they have numbers."""
    value: Any = None
    static: bool = False
    single: bool = False
    """Whether an array has no axes: a scalar to the kernel."""

    @property
    def is_array(self) -> bool:
        return self.dtype is not None and not self.single

    @property
    def is_lane(self) -> bool:
        """Whether it is an array or a number of a lane."""
        return not self.static and (self.dtype is not None or self.cls in _SCALARS)

    @property
    def number(self) -> np.dtype[Any]:
        """What its numbers are."""
        return np.dtype(self.cls) if self.dtype is None else self.dtype

    @property
    def lanes(self) -> Iterator[Argument]:
        """The numbers and arrays in it."""
        if self.is_lane:
            yield self
        for item in self.items:
            yield from item.lanes


def _argument(value: Any) -> Argument | None:
    cls = type(value)
    if cls is np.ndarray:
        dtype, single = value.dtype, not value.ndim
        if not is_stored(dtype) or (single and as_signed(dtype) is not dtype):
            return None
        return Argument(cls, np.dtype(dtype.str), single=single)
    if cls is str:
        return Argument(cls, value=value, static=True)
    if cls in _SCALARS or cls in (NotGiven, type(None)):
        return Argument(cls)
    parts = record_of(value)
    if parts is None or (is_dataclass(cls) and not is_plain_dataclass(cls)):
        return None
    return _with_items(cls, parts[1] if is_dataclass(cls) or cls is dict else (), list(map(_argument, parts[2])))


def _static(value: Any) -> Argument | None:
    """What a plan asks of a static argument. Of numbers that are equal some differ."""
    cls = type(value)
    if cls is tuple:
        return _with_items(cls, (), list(map(_static, value)))
    if cls in (NotGiven, type(None)):
        return Argument(cls)
    return Argument(cls, value=value, static=True) if cls in _FIXED and (cls is not float or value) else None


def _with_items(cls: type, names: tuple[str, ...], items: list[Argument | None]) -> Argument | None:
    return None if None in items else Argument(cls, items=cast("tuple[Argument, ...]", tuple(items)), names=names)


def key_of(names: Sequence[str], given: Sequence[Any], options: Options) -> tuple[Any, ...] | None:
    """The key of the calls that one plan makes; None for calls that no plan makes. `given` has a value for each
    parameter."""
    target = at_hand(options.target)
    if target is None or options.dtype not in target.plans or options.errors == "mask":
        return None
    if not options.cache or options.whitelist:
        return None
    arguments = tuple([_static(value) if name in options.static else _argument(value)
                       for name, value in zip(names, given, strict=True)])
    if None in arguments or not any(list(argument.lanes) for argument in arguments if argument is not None):
        return None
    return id(options), *arguments
