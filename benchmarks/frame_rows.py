"""Functions of rows as analysts write them: `frame.apply(f, axis=1, engine=pyflat.flatten)` against pandas' own apply.

    python -m benchmarks.frame_rows [--rows 100000] [--only NAME] [--missing 0.05]

For each function: whether a frame of each backend gives the same (values in bits, their types, dtype, index), is
refused (and why) or is wrong; then the speed against pandas' own apply, both in this process, and its geometric mean.
"""

from __future__ import annotations

import argparse
import math
import random
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

import pyflat
from pyflat.frontend.callables import unwrap

Rows = Callable[[Any], Any]
BACKENDS = ("numpy", "nullable", "arrow", "object", "category")
TODAY = pd.Timestamp("2024-06-30")
OPENED = pd.Timestamp("2015-01-01 09:30")
WEEK = pd.Timedelta(days=7)
VAT = {"DE": 0.19, "FR": 0.2, "US": 0.0}
BRACKETS = ((11_000.0, 0.0), (60_000.0, 0.2), (250_000.0, 0.42), (math.inf, 0.45))
COLUMNS: dict[str, tuple[str, Callable[[random.Random], Any]]] = {
    "amount": ("float", lambda rng: round(rng.uniform(0, 500), 2)),
    "price": ("float", lambda rng: rng.choice((0.0, 0.99, 9.5, 19.99, 250.0))),
    "rate": ("float", lambda rng: rng.choice((0.0, 0.05, 0.5, 1.0))),
    "income": ("float", lambda rng: round(rng.uniform(0, 300_000), 2)),
    "weight": ("float", lambda rng: round(rng.uniform(40, 120), 1)),
    "height": ("float", lambda rng: round(rng.uniform(1.4, 2.1), 2)),
    "qty": ("int", lambda rng: rng.randint(0, 20)),
    "age": ("int", lambda rng: rng.randint(0, 99)),
    "score": ("int", lambda rng: rng.randint(-5, 100)),
    "visits": ("int", lambda rng: rng.randint(0, 12)),
    "member": ("bool", lambda rng: rng.random() < 0.5),
    "paid": ("bool", lambda rng: rng.random() < 0.7),
    "country": ("text", lambda rng: rng.choice(("DE", "FR", "US", "JP"))),
    "tier": ("text", lambda rng: rng.choice(("gold", "silver", "Bronze ", ""))),
    "city": ("text", lambda rng: rng.choice(("Köln", "paris", "New York"))),
    "start": ("date", lambda rng: pd.Timestamp("2019-01-01") + pd.Timedelta(minutes=rng.randint(0, 2_000_000))),
    "end": ("date", lambda rng: pd.Timestamp("2023-01-01") + pd.Timedelta(minutes=rng.randint(0, 900_000))),
    "born": ("date", lambda rng: pd.Timestamp("1940-02-29") + pd.Timedelta(days=rng.randint(0, 25_000))),
    "waited": ("span", lambda rng: pd.Timedelta(seconds=rng.randint(-10**5, 10**6))),
}
DTYPES = {
    "numpy": {"float": "float64", "int": "int64", "bool": "bool", "text": "str"},
    "nullable": {"float": "Float64", "int": "Int64", "bool": "boolean", "text": "string"},
    "arrow": {"float": "double[pyarrow]", "int": "int64[pyarrow]", "bool": "bool[pyarrow]", "text": "string[pyarrow]"},
    "object": {"float": "object", "int": "object", "bool": "object", "text": "object"},
    "category": {"float": "float64", "int": "int64", "bool": "bool", "text": "category"},
}


def frame_of(function: Rows, backend: str, count: int, missing: float, seed: int = 0, others: tuple[str, ...] = ()
             ) -> pd.DataFrame:
    """A frame of the columns that the function names."""
    rng = random.Random(f"{function.__name__} {backend} {seed}")
    code = unwrap(function).function.__code__
    words = {*code.co_names, *others}.union(*(c if isinstance(c, tuple) else (c,) for c in code.co_consts))
    return pd.DataFrame({name: _column(name, backend, count, missing, rng) for name in COLUMNS if name in words},
                        index=pd.RangeIndex(10, 10 + count))


def _column(name: str, backend: str, count: int, missing: float, rng: random.Random) -> pd.Series:
    kind, draw = COLUMNS[name]
    values = [None if rng.random() < missing else draw(rng) for _ in range(count)]
    if kind in ("date", "span"):
        return pd.Series(pd.to_datetime(values) if kind == "date" else pd.to_timedelta(values),
                         dtype="datetime64[ns]" if kind == "date" else "timedelta64[ns]")\
            .set_axis(pd.RangeIndex(10, 10 + count))
    dtype = DTYPES[backend][kind]
    if None in values and dtype in ("int64", "bool"):
        dtype = "float64" if dtype == "int64" else "object"
    return pd.Series(values, pd.RangeIndex(10, 10 + count), dtype=dtype)


def fee(row):
    return row["amount"] * 0.015 + 0.3


def capped_fee(row):
    return min(max(row.amount * 0.02, 1.0), 5.0)


def line_total(row):
    return row.price * row.qty


def discounted(row):
    total = row.price * row.qty
    return total * 0.9 if row.qty >= 10 else total


def member_price(row):
    return row.price * 0.95 if row.member else row.price


def loyalty(row):
    if row.tier == "gold":
        return 0.15
    if row.tier == "silver":
        return 0.1
    return 0.02 if row.visits > 5 else 0.0


def tier_clean(row):
    return row.tier.strip().lower()


def income_tax(row):
    tax, below = 0.0, 0.0
    for limit, rate in BRACKETS:
        if row.income > below:
            tax += (min(row.income, limit) - below) * rate
        below = limit
    return tax


def bmi(row):
    return row.weight / row.height ** 2


def bmi_class(row):
    value = row.weight / (row.height * row.height)
    if value < 18.5:
        return "under"
    if value < 25:
        return "normal"
    if value < 30:
        return "over"
    return "obese"


def age_group(row):
    if row.age < 18:
        return "child"
    return "adult" if row.age < 65 else "senior"


def age_group_or_unknown(row):
    if pd.isna(row.age):
        return "unknown"
    return "child" if row.age < 18 else "adult"


def filled_amount(row):
    return 0.0 if pd.isna(row["amount"]) else row["amount"]


def amount_or_price(row):
    return row.amount if pd.notna(row.amount) else row.price


def first_known(row):
    for name in ("amount", "price", "income"):
        if not pd.isnull(row[name]):
            return row[name]
    return -1.0


def known_count(row):
    return int(pd.notnull(row.amount)) + int(pd.notnull(row.qty)) + int(pd.notnull(row.tier))


def none_to_zero(row):
    return 0 if row.qty is None else row.qty


def nan_by_itself(row):
    return -1.0 if row.amount != row.amount else row.amount


def na_by_identity(row):
    return "gap" if row.qty is pd.NA else "value"


def equal_to_none(row):
    return row.tier == None  # noqa: E711


def shipping(row):
    if row.country == "DE":
        cost = 4.9 if row.weight < 60 else 9.9
    elif row.country in ("FR", "US"):
        cost = 12.5
    else:
        cost = 30.0
    return 0.0 if row.amount > 400 else cost


def with_vat(row):
    return row.price * (1 + VAT.get(row.country, 0.1))


def vat_strict(row):
    return row.price * VAT[row.country] if row.country != "JP" else 0.0


def label(row):
    return f"{row.country}-{row.qty}"


def label_upper(row):
    return row.city.upper() + "/" + row.country


def initials(row):
    return row.city[0] + row.country[:1]


def long_city(row):
    return len(row.city) > 5


def city_starts(row):
    return row.city.lower().startswith("p")


def title_or_missing(row):
    return row.city.title() if isinstance(row.city, str) else "n/a"


def valid(row):
    return row.amount > 0 and row.qty > 0 and row.paid


def any_flag(row):
    return row.member or row.paid


def both_flags(row):
    return row.member & row.paid


def not_paid(row):
    return not row.paid


def flag_word(row):
    return "yes" if row.paid is True else "no"


def flag_sum(row):
    return row.member + row.paid


def per_visit(row):
    return row.amount / row.visits if row.visits else 0.0


def unchecked_ratio(row):
    return row.amount / row.visits


def rounded(row):
    return round(row.amount * row.rate, 2)


def rounded_down(row):
    return math.floor(row.amount)


def whole_boxes(row):
    return math.ceil(row.qty / 6)


def boxes(row):
    return row.qty // 6, row.qty % 6


def grade(row):
    if row.score >= 90:
        return "A"
    if row.score >= 75:
        return "B"
    return "C" if row.score >= 50 else "F"


def passed(row):
    return row.score >= 50


def clipped_score(row):
    return max(0, min(100, row.score))


def z_score(row):
    return (row.score - 47.5) / 12.5


def log_income(row):
    return math.log1p(row.income)


def np_log_income(row):
    return np.log(row.income + 1)


def where_amount(row):
    return np.where(row.amount > 100, 1.0, 0.0)


def compound(row):
    return row.amount * (1 + row.rate) ** row.visits


def get_with_default(row):
    return row.get("amount", 0.0) * 2 + row.get("no such column", 1.0)


def if_in_row(row):
    return row.amount if "amount" in row else 0.0


def risk(row):
    points = 0
    if row.age < 25:
        points += 2
    if row.income < 20_000:
        points += 3
    if row.visits > 8:
        points -= 1
    return points


def sign_word(row):
    match row.country:
        case "DE" | "FR":
            return "EU"
        case "US":
            return "US"
    return "other"


def days_open(row):
    return (row.end - row.start).days


def hours_open(row):
    return (row.end - row.start).total_seconds() / 3600


def is_late(row):
    return row.end > row.start + WEEK


def late_fee(row):
    late = (TODAY - row["end"]).days
    return 0.0 if late <= 0 else min(late * 0.5, 50.0)


def age_in_years(row):
    years = TODAY.year - row.born.year
    if (TODAY.month, TODAY.day) < (row.born.month, row.born.day):
        years -= 1
    return years


def age_by_days(row):
    return (TODAY - row.born).days // 365


def month_number(row):
    return row.start.year * 12 + row.start.month


def quarter_label(row):
    return f"{row.start.year}Q{row.start.quarter}"


def weekend(row):
    return row.start.weekday() >= 5


def day_of_week(row):
    return row.start.dayofweek


def rush_hour(row):
    return 7 <= row.start.hour < 10 or row.start.hour == 17 and row.start.minute >= 30


def before_opening(row):
    return row.start < OPENED


def open_or_today(row):
    end = TODAY if pd.isna(row.end) else row.end
    return (end - row.start).days


def waited_hours(row):
    return row.waited.total_seconds() / 3600


def waited_long(row):
    return row.waited > pd.Timedelta(days=2)


def waited_days(row):
    return row.waited.days


def due(row):
    return row.start + pd.Timedelta(days=30)


def seasonal_price(row):
    return row.price * (1.2 if row.start.month in (6, 7, 8) else 1.0)


FUNCTIONS: tuple[Rows, ...] = (
    fee, capped_fee, line_total, discounted, member_price, loyalty, tier_clean, income_tax, bmi, bmi_class, age_group,
    age_group_or_unknown, filled_amount, amount_or_price, first_known, known_count, none_to_zero, nan_by_itself,
    na_by_identity, equal_to_none, shipping, with_vat, vat_strict, label, label_upper, initials, long_city, city_starts,
    title_or_missing, valid, any_flag, both_flags, not_paid, flag_word, flag_sum, per_visit, unchecked_ratio, rounded,
    rounded_down, whole_boxes, boxes, grade, passed, clipped_score, z_score, log_income, np_log_income, where_amount,
    compound, get_with_default, if_in_row, risk, sign_word, days_open, hours_open, is_late, late_fee, age_in_years,
    age_by_days, month_number, quarter_label, weekend, day_of_week, rush_hour, before_opening, open_or_today,
    waited_hours, waited_long, waited_days, due, seasonal_price)


def outcome(run: Callable[[], Any]) -> Any:
    """The result, or the exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return run()
        except Exception as error:  # noqa: BLE001 - whatever is raised is compared
            return error


def shown(value: Any) -> tuple[type, str]:
    """A value with its type: NA, None, nan and NaT are four, -0.0 is no 0.0."""
    return type(value), value.hex() if isinstance(value, float) else repr(value)


def verdict(found: Any, wanted: Any) -> tuple[str, str]:
    """equal, refused or wrong; and why."""
    if isinstance(found, Exception):
        text = str(found).partition("\n")[0]
        if isinstance(wanted, Exception) and type(found) is type(wanted):
            return "equal", "raised"
        return ("refused" if is_refusal(found) else "wrong"), f"{type(found).__name__}: {text}"
    if isinstance(wanted, Exception):
        return "wrong", f"pandas raises {wanted!r}"
    if type(found) is not type(wanted):
        return "wrong", f"a {type(found).__name__}, pandas a {type(wanted).__name__}"
    if found.dtype != wanted.dtype or not found.index.equals(wanted.index) or found.name != wanted.name:
        return "wrong", f"{found.dtype}, pandas {wanted.dtype}"
    ours, own = ([shown(value) for value in series.tolist()] for series in (found, wanted))
    return next((("wrong", f"{one}, pandas {other}") for one, other in zip(ours, own, strict=True) if one != other),
                ("equal", ""))


def is_refusal(error: Exception) -> bool:
    """Whether it is one of pyflat's, which says so."""
    return isinstance(error, pyflat.FlattenError) or (
        isinstance(error, TypeError | pyflat.LaneError) and "engine=pyflat.flatten" in str(error))


def checked(function: Rows, frame: pd.DataFrame, engine: Any = pyflat.flatten) -> tuple[str, str]:
    wanted = outcome(lambda: frame.apply(function, axis=1))
    return verdict(outcome(lambda: frame.apply(function, axis=1, engine=engine)), wanted)


def table(functions: tuple[Rows, ...], count: int, missing: float, seed: int = 0
          ) -> Iterator[tuple[Rows, str, str, str]]:
    """Function, backend, verdict and reason."""
    for function in functions:
        for backend in BACKENDS:
            yield function, backend, *checked(function, frame_of(function, backend, count, missing, seed))


def ratio(function: Rows, frame: pd.DataFrame) -> float | None:
    """How many times as fast as pandas, the first call left out; None where one of them raises."""
    own, made = (lambda: frame.apply(function, axis=1)), lambda: frame.apply(function, axis=1, engine=pyflat.flatten)
    if isinstance(outcome(made), Exception):
        return None
    start = time.perf_counter()
    if isinstance(outcome(own), Exception):
        return None
    slow = time.perf_counter() - start
    best = math.inf
    for _ in range(3):
        start = time.perf_counter()
        outcome(made)
        best = min(best, time.perf_counter() - start)
    return slow / best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--missing", type=float, default=0.1)
    parser.add_argument("--only", default="")
    parser.add_argument("--backend", default="numpy", choices=BACKENDS, help="of the frames that are timed")
    options = parser.parse_args()
    functions = tuple(f for f in FUNCTIONS if options.only in f.__name__)
    counts: dict[str, int] = {}
    for missing in (0.0, options.missing):
        for function, backend, kind, reason in table(functions, 40, missing):
            counts[kind] = counts.get(kind, 0) + 1
            if kind != "equal":
                print(f"{function.__name__:22}{backend:10}{missing:5} {kind:8} {reason[:160]}", flush=True)
    print(counts)
    ratios = []
    for function in functions if options.rows else ():
        for missing in (0.0, options.missing):
            found = ratio(function, frame_of(function, options.backend, options.rows, missing))
            print(f"{function.__name__:22}{missing:5} {'-' if found is None else f'{found:8.1f}'}", flush=True)
            ratios += [found] if found is not None else []
    if ratios:
        print(f"geometric mean of {len(ratios)}: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.1f}")


if __name__ == "__main__":
    main()
