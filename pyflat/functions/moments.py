"""pandas' moments and spans of time, `Timestamp` and `Timedelta` without a time zone, as ints of their unit.

Flattened code goes on with these classes wherever it meets one of pandas' or `timestamp(ticks, unit)`. NaT is none of
them. Where an int leaves 64 bits the lane is replayed with pandas' own objects.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

UNITS = {1: "s", 1000: "ms", 1_000_000: "us", 1_000_000_000: "ns"}
PER_SECOND = {unit: per for per, unit in UNITS.items()}
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def timestamp(ticks: Any, unit: str) -> Any:
    """pandas' Timestamp so many units after 1970."""
    import pandas as pd

    return pd.Timestamp(np.datetime64(int(ticks), unit))  # type: ignore[call-overload]


def timedelta(ticks: Any, unit: str) -> Any:
    """pandas' Timedelta of so many units."""
    import pandas as pd

    return pd.Timedelta(np.timedelta64(int(ticks), unit))  # type: ignore[call-overload]


def counts_nanoseconds() -> bool:
    """Whether this pandas has nanoseconds in total_seconds(). Known while flattening."""
    import pandas as pd

    return bool(pd.Timedelta(1, "ns").total_seconds() > 0)


def is_pandas(value: object) -> bool:
    """One of pandas' moments and spans without a time zone."""
    cls = type(value)
    return cls.__name__ in ("Timestamp", "Timedelta") and cls.__module__.partition(".")[0] == "pandas" \
        and getattr(value, "tzinfo", None) is None


def of_pandas(value: Any) -> Timestamp | Timedelta:
    """One of pandas' as it is flattened."""
    cls = Timestamp if type(value).__name__ == "Timestamp" else Timedelta
    return cls(int(value.to_numpy().view(np.int64)), PER_SECOND[value.unit])


def lanes(cls: type, items: Sequence[Any]) -> Any:
    """pandas' objects of these ticks, so many of which are a second: an array of objects where one of the two is an
    array."""
    import pandas as pd

    ticks, per = np.broadcast_arrays(*items)
    made = np.empty(ticks.shape, object)
    for each in np.unique(per):
        chosen = per == each
        values = ticks[chosen].astype(f"{'M' if cls is Timestamp else 'm'}8[{UNITS[int(each)]}]")
        made[chosen] = pd.Series(values).astype(object).to_numpy()
    return made if made.ndim else made[()]


def aligned(a: Any, b: Any) -> tuple[Any, Any, int]:
    """The ticks of both in the finer of their units, and how many of it are a second."""
    if a.per == b.per:
        return a.ticks, b.ticks, a.per
    if a.per < b.per:
        return a.ticks * (b.per // a.per), b.ticks, b.per
    return a.ticks, b.ticks * (a.per // b.per), a.per


def combined(cls: type, one: Any, other: Any, compute: Callable[[Any, Any], Any]) -> Any:
    """One of `cls`, computed from the ticks of two; NotImplemented where `other` is None."""
    if other is None:
        return NotImplemented
    a, b, per = aligned(one, other)
    return cls(compute(a, b), per)


def as_span(value: Any) -> Any:
    """A Timedelta, None for what is no span."""
    if isinstance(value, Timedelta):
        return value
    if isinstance(value, datetime.timedelta):
        return Timedelta((value.days * 86400 + value.seconds) * 1_000_000 + value.microseconds, 1_000_000)
    return None


def as_moment(value: Any) -> Any:
    """A Timestamp, None for what is no moment."""
    if isinstance(value, Timestamp):
        return value
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        days = value.toordinal() - 719163
        seconds = (days * 24 + value.hour) * 3600 + value.minute * 60 + value.second
        return Timestamp(seconds * 1_000_000 + value.microsecond, 1_000_000)
    return None


class Ordered:
    """Comparison by the ticks of the finer unit."""

    def __init__(self, ticks: Any, per: int) -> None:
        self.ticks = ticks
        self.per = per

    unit = property(lambda self: UNITS[self.per])

    def _compared(self, value: Any, compare: Callable[[Any, Any], Any]) -> Any:
        other = as_moment(value) if isinstance(self, Timestamp) else as_span(value)
        if other is None:
            return NotImplemented
        a, b, _ = aligned(self, other)
        return compare(a, b)

    __hash__ = None  # type: ignore[assignment]  # keys of lanes are refused

    def __eq__(self, value: Any) -> Any:
        return self._compared(value, operator.eq)

    def __ne__(self, value: Any) -> Any:
        return self._compared(value, operator.ne)

    def __lt__(self, value: Any) -> Any:
        return self._compared(value, operator.lt)

    def __le__(self, value: Any) -> Any:
        return self._compared(value, operator.le)

    def __gt__(self, value: Any) -> Any:
        return self._compared(value, operator.gt)

    def __ge__(self, value: Any) -> Any:
        return self._compared(value, operator.ge)


class Timedelta(Ordered):
    """A span."""

    def __bool__(self) -> Any:
        return self.ticks != 0

    def _rest(self) -> Any:
        """The ticks after midnight."""
        return self.ticks % (86400 * self.per)

    days = property(lambda self: self.ticks // (86400 * self.per))
    seconds = property(lambda self: self._rest() // self.per)
    microseconds = property(lambda self: self._rest() % self.per * 1_000_000 // self.per)
    nanoseconds = property(lambda self: self._rest() % 1000 if self.per == 1_000_000_000 else 0)

    def total_seconds(self) -> Any:
        rest = self.ticks % self.per
        if self.per == 1_000_000_000 and not counts_nanoseconds():
            return self.ticks // self.per + rest // 1000 / 1_000_000
        return self.ticks // self.per + rest / self.per

    def __neg__(self) -> Any:
        return Timedelta(-self.ticks, self.per)

    def __pos__(self) -> Any:
        return Timedelta(self.ticks, self.per)

    def __abs__(self) -> Any:
        return Timedelta(abs(self.ticks), self.per)

    def __add__(self, value: Any) -> Any:
        moment = as_moment(value)
        return combined(Timedelta, self, as_span(value), operator.add) if moment is None else moment + self

    def __radd__(self, value: Any) -> Any:
        return self + value

    def __sub__(self, value: Any) -> Any:
        return combined(Timedelta, self, as_span(value), operator.sub)

    def __rsub__(self, value: Any) -> Any:
        return -self + value

    def _quotient(self, value: Any, compute: Callable[[Any, Any], Any]) -> Any:
        span = as_span(value)
        return id(value) if span is None else compute(*aligned(self, span)[:2])  # id: no function of lanes

    def __truediv__(self, value: Any) -> Any:
        return self._quotient(value, lambda a, b: float(a) / float(b))

    def __floordiv__(self, value: Any) -> Any:
        return self._quotient(value, operator.floordiv)

    def __mul__(self, value: Any) -> Any:
        return Timedelta(self.ticks * value, self.per) if type(value) is int else id(value)

    def __rmul__(self, value: Any) -> Any:
        return self * value


class Timestamp(Ordered):
    """A moment."""

    def _days(self) -> Any:
        return self.ticks // (86400 * self.per)

    def _second(self) -> Any:
        """Seconds since midnight."""
        return self.ticks % (86400 * self.per) // self.per

    def _civil(self) -> tuple[Any, Any, Any]:
        """Year, month and day of the Gregorian calendar: eras of 400 years that begin in March."""
        shifted = self._days() + 719468
        era = shifted // 146097
        day = shifted - era * 146097
        year = (day - day // 1460 + day // 36524 - day // 146096) // 365
        day = day - (365 * year + year // 4 - year // 100)
        month = (5 * day + 2) // 153
        return (year + era * 400 + (1 if month >= 10 else 0), month + 3 if month < 10 else month - 9,
                day - (153 * month + 2) // 5 + 1)

    year = property(lambda self: self._civil()[0])
    month = property(lambda self: self._civil()[1])
    day = property(lambda self: self._civil()[2])
    hour = property(lambda self: self._second() // 3600)
    minute = property(lambda self: self._second() // 60 % 60)
    second = property(lambda self: self._second() % 60)
    microsecond = property(lambda self: self.ticks % self.per * 1_000_000 // self.per)
    nanosecond = property(lambda self: self.ticks % 1000 if self.per == 1_000_000_000 else 0)
    quarter = property(lambda self: (self.month + 2) // 3)

    def weekday(self) -> Any:
        return (self._days() + 3) % 7

    def isoweekday(self) -> Any:
        return self.weekday() + 1

    dayofweek = property(lambda self: self.weekday())
    day_of_week = property(lambda self: self.weekday())

    @property
    def is_leap_year(self) -> Any:
        year = self.year
        return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)

    @property
    def dayofyear(self) -> Any:
        _, month, day = self._civil()
        before = (367 * month - 362) // 12
        return day + before if month <= 2 else day + before - (1 if self.is_leap_year else 2)

    day_of_year = property(lambda self: self.dayofyear)

    @property
    def days_in_month(self) -> Any:
        month = self.month
        if month == 2:
            return 29 if self.is_leap_year else 28
        return 30 + (month + month // 8) % 2

    daysinmonth = property(lambda self: self.days_in_month)
    is_month_start = property(lambda self: self.day == 1)
    is_month_end = property(lambda self: self.day == self.days_in_month)

    def day_name(self) -> Any:
        return DAYS[self.weekday()]

    def month_name(self) -> Any:
        return MONTHS[self.month - 1]

    def toordinal(self) -> Any:
        return self._days() + 719163

    def normalize(self) -> Any:
        day = 86400 * self.per
        return Timestamp(self.ticks // day * day, self.per)

    def date(self) -> Any:
        year, month, day = self._civil()
        return datetime.date(year, month, day)

    def __add__(self, value: Any) -> Any:
        return combined(Timestamp, self, as_span(value), operator.add)

    def __radd__(self, value: Any) -> Any:
        return self + value

    def __sub__(self, value: Any) -> Any:
        span = as_span(value)
        return combined(Timedelta, self, as_moment(value), operator.sub) if span is None else self + -span

    def __rsub__(self, value: Any) -> Any:
        moment = as_moment(value)
        return NotImplemented if moment is None else moment - self


def new_timestamp(ticks: Any, unit: str) -> Any:
    """`timestamp` of lanes."""
    return Timestamp(ticks, PER_SECOND[unit])


def new_timedelta(ticks: Any, unit: str) -> Any:
    """`timedelta` of lanes."""
    return Timedelta(ticks, PER_SECOND[unit])


def _of_second(cls: type) -> Callable[..., Any]:
    return lambda ticks, per: lanes(cls, (ticks, per))


MAKERS: dict[type, Callable[..., Any]] = {Timestamp: _of_second(Timestamp), Timedelta: _of_second(Timedelta)}
"""The class of flattened code -> what makes pandas' own object."""
