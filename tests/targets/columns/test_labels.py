"""Strings and null as results in SQL and Polars."""

import enum
import sqlite3

import pytest

from pyflat import FlattenError
from pyflat.targets import polars as polars_target
from pyflat.targets import sql

ROWS = (-1.0, 0.0, 2.0, 7.0, None)


class Size(enum.Enum):
    SMALL = "it's small"
    LARGE = "größer 🦆"


def named(x):
    if x < 0:
        return "below \"zero\""
    return Size.SMALL.value if x < 5 else Size.LARGE.value


def some(x):
    return None if x < 1 else named(x)


def root(x):
    return None if x < 0 else x + 1


def pair(x):
    return None if x < 0 else (x, named(x))


def always(x):
    return "same" if x == x or x > 1 else "nan"


def picked(x):
    name = ("a", "b", "c")[int(x) % 3]
    return name if x > 0 else name + "!"


def member(x):
    return Size.SMALL if x < 5 else Size.LARGE


FUNCTIONS = [named, some, root, always, picked]


def rows(fn):
    return [None if x is None else fn(x) for x in ROWS]


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_sqlite_has_strings_and_null(fn):
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE t (x REAL)")
    base.executemany("INSERT INTO t VALUES (?)", [(x,) for x in ROWS])
    for text in (f"SELECT {sql.expression(fn, dialect='sqlite')} FROM t", sql.query(fn, "t", dialect="sqlite")):
        assert [value for value, in base.execute(text)] == rows(fn)
    parts = sql.expressions(pair, dialect="sqlite", faults="mask")
    assert list(parts) == ["[0]", "[1]", "suspect"]
    assert [value for value, in base.execute(f"SELECT {parts['[1]']} FROM t")] == [
        None if found is None else found[1] for found in rows(pair)]


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_duckdb_has_strings_and_null(fn):
    duckdb = pytest.importorskip("duckdb")
    base = duckdb.connect()
    base.execute("CREATE TABLE t AS SELECT * FROM (VALUES (-1.0::DOUBLE), (0), (2), (7), (NULL)) v(x)")
    for text in (f"SELECT {sql.expression(fn)} FROM t", sql.query(fn, "t")):
        assert [value for value, in base.execute(text).fetchall()] == rows(fn)


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_polars_has_strings_and_null(fn):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"x": ROWS})
    assert frame.select(polars_target.expression(fn)).to_series().to_list() == rows(fn)
    structs = frame.select(polars_target.expression(pair)).to_series().to_list()
    assert [None if s["1"] is None else (s["0"], s["1"]) for s in structs] == rows(pair)


def test_objects_that_are_no_strings_are_refused():
    with pytest.raises(FlattenError, match="columns hold numbers and strings"):
        sql.expression(member)
    with pytest.raises(FlattenError, match="has a zero in it"):
        sql.expression(lambda x: "a\0" if x > 1 else "b")
