"""Lanes of values that are made of several numbers: arrays and dates."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import numpy as np

from pyflat.functions import moments

_TIME = ("hour", "minute", "second", "microsecond", "tzinfo", "fold")
DATES: dict[type, tuple[str, ...]] = {
    datetime.date: ("year", "month", "day"),
    datetime.datetime: ("year", "month", "day", *_TIME),
    datetime.time: _TIME,
    datetime.timedelta: ("days", "seconds", "microseconds"),
    moments.Timestamp: ("ticks", "per"),
    moments.Timedelta: ("ticks", "per"),
}
"""Classes of `datetime` and `moments` that results may have, and the arguments by which their objects are made."""


def stacked(items: Sequence[Any], extent: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """The array of these elements, each a number or an array of lanes: its own axes come last."""
    if not items:
        return np.empty(extent)
    columns = np.broadcast_arrays(*items)
    return np.stack(columns, axis=-1).reshape(columns[0].shape + extent)


def date_lanes(cls: type, items: Sequence[Any]) -> Any:
    """A date of these parts (see DATES), where one is an array of lanes an array of objects; None in lanes whose parts
    make no date, which are those that have no value."""
    if cls in moments.MAKERS:
        return moments.lanes(cls, items)
    columns = np.broadcast_arrays(*(np.asarray(item, object) for item in items))
    made = np.empty(columns[0].size, object)
    made[:] = [_date(cls, row) for row in zip(*(c.reshape(-1).tolist() for c in columns), strict=True)]
    return made.reshape(columns[0].shape) if columns[0].ndim else made[0]


def _date(cls: type, parts: Sequence[Any]) -> Any:
    try:
        return cls(**dict(zip(DATES[cls], parts, strict=True)))
    except (ValueError, OverflowError):
        return None
