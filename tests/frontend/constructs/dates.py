"""Dates of lanes, and classes with a __new__ of their own."""

import calendar
import datetime
from datetime import date, timedelta

_J2000 = date(2000, 1, 1)


def _count(x, k=300):
    return int(abs(x)) % k if abs(x) < 1e6 else 0


def ordinal(x):
    n = _count(x)
    return datetime.date(2000 + n // 12, n % 12 + 1, 1).toordinal()


def weekday(x):
    n = _count(x)
    return date(1990 + n // 12, n % 12 + 1, n % 28 + 1).weekday()


def day_of_year(x):
    n = _count(x)
    d = date(1990 + n // 12, n % 12 + 1, n % 28 + 1)
    return (d - date(d.year, 1, 1)).days + 1


def from_ordinal(x):
    n = _count(x, 5000)
    d = date.fromordinal(730000 + n)
    return d.year * 10000 + d.month * 100 + d.day


def days_are_added(x):
    n = _count(x)
    d = _J2000 + timedelta(days=n)
    return d.month


def the_day_does_not_exist(x):
    n = _count(x)
    return date(2001, 2, n % 31 + 1).day


def compared_with_a_constant(x):
    n = _count(x)
    d = date(1999 + n % 3, 1, 1)
    return 1 if d < _J2000 else 2


def days_of_a_month(x):
    return calendar.monthrange(2001, _count(x, 12) + 1)[1]


def iso_week(x):
    n = _count(x)
    return date(2000 + n // 12, n % 12 + 1, 1).isocalendar()[1]


def leap_years(x):
    return calendar.isleap(1890 + _count(x))


class _Pair:
    __slots__ = ("a", "b")

    def __new__(cls, a, b):
        self = object.__new__(cls)
        self.a = a
        self.b = b
        return self

    def s(self):
        return self.a + self.b


class _Half(_Pair):
    def __new__(cls, a):
        return super().__new__(cls, a, 2.0)


def instances_by_new(x):
    return _Pair(x, 1.0).s() + _Half(x).s()


def seconds_between(x):
    n = _count(x)
    d = datetime.datetime(2000, 1, 1 + n % 28, 12, 30)
    return (d - datetime.datetime(1999, 12, 31)).total_seconds()


def the_date_itself(x):
    return datetime.date(2000 + _count(x), 3, 1)


def a_date_and_a_number(x):
    n = _count(x)
    return x, datetime.datetime(1970 + n, 3, 1, 12, 30) + timedelta(seconds=n)


def a_difference_of_dates(x):
    return date(2000, 1, _count(x, 28) + 1) - _J2000


def a_date_that_may_not_exist(x):
    return date(2001, 2, _count(x) % 31 + 1)


def one_of_two_dates(x):
    return _J2000 if x < 3 else date(1999, 12, _count(x, 31) + 1)


def always_the_same_date(x):
    return _J2000


def dates_in_a_list(x):
    return [date(1990, 1, _count(x, 31) + 1), timedelta(hours=_count(x))]


def a_time_of_day(x):
    return datetime.time(_count(x, 24), 30, fold=1)


def a_time_with_a_zone(x):
    return datetime.datetime(2000, 1, _count(x, 28) + 1, tzinfo=datetime.timezone.utc)
