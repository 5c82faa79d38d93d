"""pandas' moments and spans of time, `Timestamp` and `Timedelta` without a time zone, as ints of their unit.

Flattened code goes on with these classes wherever it meets one of pandas' or `timestamp(ticks, unit)`. NaT is none of
them. Where an int leaves 64 bits the lane is replayed with pandas' own objects.
"""

from __future__ import annotations

import datetime
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

    return pd.Timestamp(np.datetime64(int(ticks), unit))


def timedelta(ticks: Any, unit: str) -> Any:
    """pandas' Timedelta of so many units."""
    import pandas as pd

    return pd.Timedelta(np.timedelta64(int(ticks), unit))


def counts_nanoseconds() -> bool:
    """Whether this pandas has nanoseconds in total_seconds(). Known while flattening."""
    import pandas as pd

    return pd.Timedelta(1, "ns").total_seconds() > 0


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

    @property
    def unit(self) -> str:
        return UNITS[self.per]

    def _other(self, value: Any) -> Any:
        return as_moment(value) if isinstance(self, Timestamp) else as_span(value)

    def __eq__(self, value: Any) -> Any:
        other = self._other(value)
        if other is None:
            return False
        a, b, _ = aligned(self, other)
        return a == b

    def __ne__(self, value: Any) -> Any:
        return not self == value

    def __lt__(self, value: Any) -> Any:
        other = self._other(value)
        if other is None:
            return NotImplemented
        a, b, _ = aligned(self, other)
        return a < b

    def __le__(self, value: Any) -> Any:
        other = self._other(value)
        if other is None:
            return NotImplemented
        a, b, _ = aligned(self, other)
        return a <= b

    def __gt__(self, value: Any) -> Any:
        other = self._other(value)
        if other is None:
            return NotImplemented
        a, b, _ = aligned(self, other)
        return a > b

    def __ge__(self, value: Any) -> Any:
        other = self._other(value)
        if other is None:
            return NotImplemented
        a, b, _ = aligned(self, other)
        return a >= b


class Timedelta(Ordered):
    """A span."""

    def __bool__(self) -> bool:
        return self.ticks != 0

    def _rest(self) -> Any:
        """The ticks after midnight."""
        return self.ticks % (86400 * self.per)

    @property
    def days(self) -> Any:
        return self.ticks // (86400 * self.per)

    @property
    def seconds(self) -> Any:
        return self._rest() // self.per

    @property
    def microseconds(self) -> Any:
        return self._rest() % self.per * 1_000_000 // self.per

    @property
    def nanoseconds(self) -> Any:
        return self._rest() % 1000 if self.per == 1_000_000_000 else 0

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
        if moment is not None:
            a, b, per = aligned(self, moment)
            return Timestamp(a + b, per)
        span = as_span(value)
        if span is None:
            return NotImplemented
        a, b, per = aligned(self, span)
        return Timedelta(a + b, per)

    def __radd__(self, value: Any) -> Any:
        return self + value

    def __sub__(self, value: Any) -> Any:
        span = as_span(value)
        if span is None:
            return NotImplemented
        a, b, per = aligned(self, span)
        return Timedelta(a - b, per)

    def __rsub__(self, value: Any) -> Any:
        return -self + value

    def __truediv__(self, value: Any) -> Any:
        span = as_span(value)
        if span is None:
            return id(value)
        a, b, _ = aligned(self, span)
        return float(a) / float(b)

    def __floordiv__(self, value: Any) -> Any:
        span = as_span(value)
        if span is None:
            return id(value)
        a, b, _ = aligned(self, span)
        return a // b

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

    @property
    def year(self) -> Any:
        return self._civil()[0]

    @property
    def month(self) -> Any:
        return self._civil()[1]

    @property
    def day(self) -> Any:
        return self._civil()[2]

    @property
    def hour(self) -> Any:
        return self._second() // 3600

    @property
    def minute(self) -> Any:
        return self._second() // 60 % 60

    @property
    def second(self) -> Any:
        return self._second() % 60

    @property
    def microsecond(self) -> Any:
        return self.ticks % self.per * 1_000_000 // self.per

    @property
    def nanosecond(self) -> Any:
        return self.ticks % 1000 if self.per == 1_000_000_000 else 0

    @property
    def quarter(self) -> Any:
        return (self.month + 2) // 3

    def weekday(self) -> Any:
        return (self._days() + 3) % 7

    def isoweekday(self) -> Any:
        return self.weekday() + 1

    @property
    def dayofweek(self) -> Any:
        return self.weekday()

    @property
    def day_of_week(self) -> Any:
        return self.weekday()

    @property
    def is_leap_year(self) -> Any:
        year = self.year
        return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)

    @property
    def dayofyear(self) -> Any:
        _, month, day = self._civil()
        before = (367 * month - 362) // 12
        return day + before if month <= 2 else day + before - (1 if self.is_leap_year else 2)

    @property
    def day_of_year(self) -> Any:
        return self.dayofyear

    @property
    def days_in_month(self) -> Any:
        month = self.month
        if month == 2:
            return 29 if self.is_leap_year else 28
        return 30 + (month + month // 8) % 2

    @property
    def daysinmonth(self) -> Any:
        return self.days_in_month

    @property
    def is_month_start(self) -> Any:
        return self.day == 1

    @property
    def is_month_end(self) -> Any:
        return self.day == self.days_in_month

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
        span = as_span(value)
        if span is None:
            return NotImplemented
        a, b, per = aligned(self, span)
        return Timestamp(a + b, per)

    def __radd__(self, value: Any) -> Any:
        return self + value

    def __sub__(self, value: Any) -> Any:
        span = as_span(value)
        if span is not None:
            return self + -span
        moment = as_moment(value)
        if moment is None:
            return NotImplemented
        a, b, per = aligned(self, moment)
        return Timedelta(a - b, per)

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


MAKERS = {Timestamp: _of_second(Timestamp), Timedelta: _of_second(Timedelta)}
"""The class of flattened code -> what makes pandas' own object."""
