"""Dates that a function returns are those of `datetime`, in the caller's form."""

import datetime
import pickle
from datetime import date, timedelta

import numpy as np
import pytest

import pyflat
import pyflat.testing
from tests.support.twins import refused

DAYS = np.array([1, 31, 15])


def first_of_march(y: int):
    return date(y, 3, 1)


def later(n: int):
    return datetime.datetime(2000, 1, 1, 12, 30) + timedelta(days=n, seconds=5), timedelta(hours=n), n


def in_january(n: int):
    return date(2001, 1, n)


def of_one_kind(kind: str, n: int):
    return date(2001, 1, n) if kind == "day" else date(2002, n, 1)


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_one_date(target):
    twin = pyflat.twin(first_of_march, target=target)
    for year in (2001, np.int64(2001), np.array(2001)):
        found = twin(year)
        assert type(found) is date
        assert found == date(2001, 3, 1)
        assert repr(found) == "datetime.date(2001, 3, 1)"
    assert pickle.loads(pickle.dumps(twin(2001))) == date(2001, 3, 1)


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("shape", [(3,), (3, 1), (0,), (2, 0)])
def test_arrays_of_dates_are_arrays_of_objects(target, shape):
    years = np.arange(2000, 2000 + np.prod(shape, dtype=int)).reshape(shape)
    found = pyflat.twin(first_of_march, target=target)(years)
    assert found.dtype == object
    assert found.shape == shape
    assert [type(d) for d in found.flat] == [date] * found.size
    assert [d.year for d in found.flat] == years.ravel().tolist()


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_dates_in_a_tuple(target):
    whens, lengths, numbers = pyflat.twin(later, target=target)(DAYS)
    assert list(zip(whens, lengths, numbers.tolist(), strict=True)) == [later(n) for n in DAYS.tolist()]
    assert {type(x) for x in whens} == {datetime.datetime}
    assert {type(x) for x in lengths} == {timedelta}


def test_a_lane_without_a_date_has_none():
    with pytest.raises(ValueError, match="day is out of range"):
        pyflat.twin(in_january)(np.array([1, 32, 3]))
    values, faults = pyflat.twin(in_january, errors="mask")(np.array([1, 32, 3]))
    assert values.tolist() == [date(2001, 1, 1), None, date(2001, 1, 3)]
    assert faults.lanes.tolist() == [1]
    assert pyflat.twin(in_january, errors="mask")(32)[0] is None


def test_groups_of_strings_share_an_array_of_dates():
    kinds = np.array(["day", "month", "day"])
    found = pyflat.twin(of_one_kind)(kinds, np.array([3, 4, 5]))
    assert found.tolist() == [date(2001, 1, 3), date(2002, 4, 1), date(2001, 1, 5)]


def test_a_date_among_the_arguments_gives_dates():
    def due(start, n: int):
        return start + timedelta(days=n)

    assert pyflat.twin(due)(date(2000, 2, 28), DAYS).tolist() == [due(date(2000, 2, 28), n) for n in DAYS.tolist()]


def test_twins_of_dates_are_verified_and_printed():
    pyflat.testing.verify(in_january)
    twin = pyflat.twin(in_january)
    twin.verify(DAYS)
    assert "date(year=2001, month=1, day=n)" in twin.show()
    assert twin.function(DAYS).tolist() == twin(DAYS).tolist()


def test_a_ufunc_of_dates_is_refused():
    with pytest.raises(pyflat.FlattenError, match="not bool, int or float"):
        _ = pyflat.twin(first_of_march).ufunc


def test_a_zone_that_differs_is_refused():
    def zoned(n: int):
        zone = datetime.timezone.utc if n > 3 else None
        return datetime.datetime(2000, 1, n, tzinfo=zone)

    assert refused(zoned, DAYS).code == "flatten/result-kind"
