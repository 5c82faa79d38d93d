"""Functions of rows as analysts write them: `engine=pyflat.flatten` gives what pandas' own apply gives, or refuses."""

import random

import numpy as np
import pytest

import pyflat
from pyflat.functions import ways

pd = pytest.importorskip("pandas", "3")
pytest.importorskip("pyarrow")
from benchmarks import frame_rows  # noqa: E402
from benchmarks.frame_rows import BACKENDS, COLUMNS, FUNCTIONS, TODAY, WEEK, checked, frame_of  # noqa: E402

REFUSED = {"flag_sum", "where_amount"}
"""np.True_ + np.True_ is np.True_; np.where gives arrays without axes, which pandas keeps as objects."""


def two_kinds(row):
    return 0 if row.qty > 5 else row.amount


def bool_or_int(row):
    return True if row.qty > 5 else 1


def pair_of_kinds(row):
    return (0 if row.qty > 5 else row.amount), row.member


def none_or_number(row):
    return None if row.qty > 5 else row.amount


def word_or_number(row):
    return "big" if row.amount > 100 else row.qty


def one_of_two_dates(row):
    return row.start if row.qty > 5 else row.end


def date_or_none(row):
    return row.start if row.qty > 5 else None


def plain_date(row):
    return row.start.date()


def spans(row):
    return row.waited / WEEK, row.waited * 2 + WEEK, abs(row.waited) // WEEK, -row.waited


def parts_of_spans(row):
    return row.waited.seconds, row.waited.microseconds, row.waited.nanoseconds, row.waited.total_seconds(), row.waited.days


def parts_of_dates(row):
    return (row.start.is_month_end, row.born.is_leap_year, row.start.days_in_month, row.start.day_of_year, row.born.day,
            row.start.quarter, row.start.hour, row.end.minute, row.end.second, row.end.microsecond, row.end.nanosecond)


def names_of_dates(row):
    return f"{row.end.month_name()} {row.start.day_name()}", row.end.toordinal(), row.end.isoweekday()


def midnight(row):
    return row.start.normalize() == row.start


def later(row):
    return max(row.start, row.born)


def before(row):
    return row.start - row.waited


def a_dict(row):
    return {"a": row.qty, "b": row.amount}


def by_none(row):
    return row["qty"] if row["tier"] is None else row["amount"]


def by_label_of_the_row(row):
    return row.name * 2 + row.qty


def label_as_text(row):
    return str(row.name) + row.tier


def weekday_or_none(row):
    return row.end.weekday() if pd.notna(row.end) else -1


def by_class(row):
    return row.amount if isinstance(row.amount, float) else 0


def comparisons(row):
    return row.qty == 3, row.amount != row.amount, row.tier == "gold", row.start == row.tier


def signs(row):
    return -row.qty if row.member else +row.amount


def casts(row):
    return int(row.amount) + int(row.qty), float(row.qty) / 3


def of_ints(row):
    return row.qty ** 2, row.qty % 7, divmod(row.qty, 3)


def or_default(row):
    return row.tier or "none", row.amount or row.price, bool(row.qty) and not row.member


def class_of_a_date(row):
    return isinstance(row.start, pd.Timestamp), type(row.start) is pd.Timestamp, isinstance(row.waited, pd.Timedelta)


EDGES = (two_kinds, bool_or_int, pair_of_kinds, none_or_number, word_or_number, one_of_two_dates, date_or_none,
         plain_date, spans, parts_of_spans, parts_of_dates, names_of_dates, midnight, later, before, a_dict, by_none,
         by_label_of_the_row, label_as_text, weekday_or_none, by_class, comparisons, signs, casts, of_ints, or_default,
         class_of_a_date)


@pytest.mark.turns(3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_natural_functions_give_what_pandas_gives(function):
    for backend in BACKENDS:
        for missing, way in ((0.0, "twin"), (0.1, "twin" if len(backend) % 2 else "original")):
            with ways.forced(gaps=way):
                found, why = checked(function, frame_of(function, backend, 40, missing))
            assert found == "equal" or found == "refused" and function.__name__ in REFUSED, (backend, missing, way, why)


@pytest.mark.turns(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", EDGES, ids=lambda f: f.__name__)
def test_classes_of_results_and_parts_of_dates(function):
    for seed in range(5):
        rng = random.Random(f"{seed} {function.__name__}")
        others = tuple(rng.sample(list(COLUMNS), 2))
        frame = frame_of(function, rng.choice(BACKENDS), rng.choice((1, 2, 7, 40)), rng.choice((0, 0.1, 0.5, 1)), seed, others)
        engine = pyflat.flatten(target="numba") if seed == 0 else pyflat.flatten
        with ways.forced(gaps=rng.choice(("twin", "original"))):
            found, why = checked(function, frame, engine)
        assert found == "equal", (why, frame.dtypes, frame)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("units", [("s", "ns"), ("ms", "us"), ("us", "s"), ("ns", "ns"), ("s", "s")])
def test_units_of_dates_meet_as_in_pandas(units):
    rng = random.Random(str(units))
    one, other = (pd.Series([pd.Timestamp(rng.randint(-2**61, 2**61)) for _ in range(60)] + [pd.NaT]).astype(
        f"datetime64[{unit}]") for unit in units)
    frame = pd.DataFrame({"start": one, "end": other, "waited": (other - one[::-1].to_numpy()).fillna(WEEK), "k": "x"})
    for function in (lambda row: row.start - row.end, lambda row: (row.end - row.start).days, lambda row: row.start < row.end,
                     lambda row: TODAY - row.start, lambda row: (row.start - TODAY).total_seconds(), parts_of_spans,
                     lambda row: row.end + WEEK, lambda row: (row.start.year, row.end.month, row.start.day, row.end.second),
                     lambda row: row.start == row.end, lambda row: row.waited / (WEEK + row.waited)):
        found, why = checked(function, frame)
        assert found == "equal", (function.__code__.co_firstlineno, why)


def test_dates_of_all_days_have_the_parts_of_pandas():
    days = pd.Series(pd.date_range("1677-09-22", "2262-04-10", freq="7D"))
    series = days + pd.to_timedelta(np.arange(len(days)) * 1_234_567_891_011, unit="ns").values % pd.Timedelta("1D")
    for function in (lambda d: d.year, lambda d: d.month, lambda d: d.day, lambda d: d.day_of_year, lambda d: d.weekday(),
                     lambda d: d.days_in_month, lambda d: d.is_month_end, lambda d: d.second, lambda d: d.nanosecond,
                     lambda d: d.quarter, lambda d: d.hour, lambda d: d.minute, lambda d: d.microsecond):
        pd.testing.assert_series_equal(series.map(function, engine=pyflat.flatten), series.map(function))


def read(row):
    return row.w


BAD = {
    "a time zone": (lambda: pd.DataFrame({"w": pd.to_datetime(["2020-01-01"]).tz_localize("UTC")}), read,
                    TypeError, "column 'w' has dtype datetime64"),
    "a year that Python has not": (lambda: pd.DataFrame({"w": np.array(["20000-01-01"], "M8[s]")}), read,
                                   TypeError, "column 'w' has dtype datetime64.*years 1 to 9999"),
    "periods": (lambda: pd.DataFrame({"w": pd.period_range("2020", periods=2, freq="Y")}), read, TypeError, "'w'.*period"),
    "intervals": (lambda: pd.DataFrame({"w": pd.interval_range(0, 2), "k": 1}), read, TypeError, "'w'.*interval"),
    "sparse": (lambda: pd.DataFrame({"w": pd.arrays.SparseArray([0, 1]), "k": 1}), read, TypeError, "'w'.*Sparse"),
    "complex": (lambda: pd.DataFrame({"w": [1j]}), read, TypeError, "'w'.*complex"),
    "lists": (lambda: pd.DataFrame({"w": [[1], [2]], "k": 1}), read, TypeError, "'w' is an array of object"),
    "two columns of a name": (lambda: pd.DataFrame([[1, 2]], columns=["w", "w"]), read, TypeError, "named 'w'"),
    "no such attribute": (lambda: pd.DataFrame({"k": [1]}), read, AttributeError, "no attribute 'w'"),
    "no such label": (lambda: pd.DataFrame({"k": [1]}), lambda row: row["w"], KeyError, "w"),
    "float32": (lambda: pd.DataFrame({"w": [1.0]}, dtype="float32"), read, TypeError, r"float32 numbers \('w'\)"),
    "a date that is too late": (lambda: pd.DataFrame({"w": pd.to_datetime(["2262-04-10"]).as_unit("ns")}),
                                lambda row: row.w + pd.Timedelta(days=30), pd.errors.OutOfBoundsDatetime, "Out of bounds"),
    "a method of pandas'": (lambda: pd.DataFrame({"w": pd.to_datetime(["2020-01-01"])}), lambda row: row.w.isocalendar(),
                            pyflat.FlattenError, "attribute .isocalendar of pandas' Timestamp"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_rows_cannot_have_is_said_with_the_name_of_the_column(what):
    frame, function, error, message = BAD[what]
    with pytest.raises(error, match=message) as raised:
        frame().apply(function, axis=1, engine=pyflat.flatten)
    assert "\n" not in str(raised.value) or isinstance(raised.value, pyflat.FlattenError)


def test_empty_frames_are_those_of_pandas():
    for frame in (pd.DataFrame({"w": []}), pd.DataFrame({"w": [1.0]})[[]], pd.DataFrame()):
        found, own = (frame.apply(lambda row: 1, axis=1, **how) for how in ({"engine": pyflat.flatten}, {}))
        assert type(found) is type(own) and found.equals(own)


def test_many_lanes_in_which_the_same_is_missing_run_a_twin():
    frame = frame_of(frame_rows.days_open, "numpy", 2000, 0.2)
    twin = pyflat.twin(lambda amount, qty: amount * qty)
    series = pd.Series([1.5, None] * 1000, dtype="Float64"), pd.Series(range(2000))
    assert twin(*series).isna().sum() == 1000 and twin.stats.replayed == 0
    assert checked(frame_rows.days_open, frame) == ("equal", "")


def test_a_frame_and_an_option_in_a_call_say_where_they_go():
    twin = pyflat.twin(lambda row: row.amount)
    with pytest.raises(TypeError, match=r"frame\.apply\(f, axis=1, engine=pyflat\.flatten\)"):
        twin(pd.DataFrame({"amount": [1.0]}))
    with pytest.raises(TypeError, match=r'with_options\(errors="nan"\)'):
        pyflat.twin(lambda amount: amount)(pd.Series([1.0]), errors="nan")
