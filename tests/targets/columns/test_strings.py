"""Columns of strings in SQL and Polars, for parameters that are compared with strings."""

import random
import sqlite3

import pytest

import pyflat
from pyflat import FlattenError
from pyflat.targets import polars as polars_target
from pyflat.targets import sql

WORDS = ("a", "A", "b", "it's", "größer 🦆", "z", "zz", "", " a", None)
XS = (-2.0, 0.5, 3.0, None)
ROWS = [(word, x) for word in WORDS for x in XS]
FACTORS = {"a": 1.5, "it's": -2.0, "größer 🦆": 0.25}


def rate(k, x: float) -> float:
    if k == "a":
        return x
    if k in ("b", "it's"):
        return -x
    if k != "größer 🦆" and x > 1.0:
        raise ValueError(k)
    return 0.5


def label(k: str, x: float):
    return "up" if k == "a" and x > 0 else None if k == "" else "other"


def factor(k: str, x: float) -> float:
    return FACTORS.get(k, 10.0) * x


def matched(k, x: float) -> float:
    match k:
        case "A" | "zz":
            return x + 1.0
        case "b":
            return x - 1.0
    return 0.0


def chained(k: str, other: str) -> int:
    return 1 if k == "a" != other else 2 if other == "z" or other == "b" else 3


def unread(k: str, x: float) -> float:
    return x + 1.0


FUNCTIONS = [rate, label, factor, matched, unread]


def by_rows(fn, rows=ROWS):
    """None for what raises, and for a row with a null."""
    def one(*row):
        try:
            return None if None in row else fn(*row)
        except ValueError:
            return None
    return [one(*row) for row in rows]


@pytest.fixture
def sqlite():
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE t (k TEXT COLLATE NOCASE, x REAL)")
    base.executemany("INSERT INTO t VALUES (?, ?)", ROWS)
    return base


@pytest.fixture
def duckdb():
    base = pytest.importorskip("duckdb").connect()
    base.execute("CREATE TABLE t (k VARCHAR COLLATE NOCASE, x DOUBLE)")
    base.executemany("INSERT INTO t VALUES (?, ?)", ROWS)
    return base


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_sqlite_reads_strings_by_their_bytes(sqlite, fn):
    for text in (f"SELECT {sql.expression(fn, dialect='sqlite')} FROM t", sql.query(fn, "t", dialect="sqlite")):
        assert [value for value, in sqlite.execute(text)] == by_rows(fn)


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_duckdb_reads_strings_by_their_bytes(duckdb, fn):
    for text in (f"SELECT {sql.expression(fn)} FROM t", sql.query(fn, "t")):
        assert [value for value, in duckdb.execute(text).fetchall()] == by_rows(fn)


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_polars_reads_strings_of_each_type(fn):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"k": [k for k, _ in ROWS], "x": [x for _, x in ROWS]})
    words = [word for word in WORDS if word is not None]
    for dtype in (pl.String, pl.Categorical, pl.Enum(words)):
        typed = frame.with_columns(pl.col("k").cast(dtype))
        assert typed.select(r=polars_target.expression(fn))["r"].to_list() == by_rows(fn)


def test_two_columns_of_strings(sqlite):
    rows = [(a, b) for a in WORDS for b in WORDS]
    sqlite.execute("CREATE TABLE pairs (k TEXT, other TEXT)")
    sqlite.executemany("INSERT INTO pairs VALUES (?, ?)", rows)
    found = sqlite.execute(f"SELECT {sql.expression(chained, dialect='sqlite')} FROM pairs")
    assert [value for value, in found] == by_rows(chained, rows)


def test_twins_of_expressions_and_relations(duckdb):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"k": ["a", "b", None, "it's"], "x": [1.0, 2.0, 3.0, 4.0]})
    twin = pyflat.twin(rate)
    expected = [1.0, -2.0, None, -4.0]
    assert frame.select(r=twin(pl.col("k"), pl.col("x")))["r"].to_list() == expected
    assert frame.select(r=twin("b", pl.col("x")))["r"].to_list() == [-1.0, -2.0, -3.0, -4.0]
    assert twin.by_name(frame.lazy()).collect().to_series().to_list() == expected
    assert twin.by_name(duckdb.sql("SELECT * FROM frame")).fetchall() == [(value,) for value in expected]
    with pytest.raises(ValueError, match="zz"):
        frame.select(twin(pl.lit("zz"), pl.col("x")))


def test_columns_of_numbers_are_refused_where_strings_are_wanted():
    pl = pytest.importorskip("polars")
    with pytest.raises(pl.exceptions.PolarsError):
        pl.DataFrame({"k": [1], "x": [1.0]}).select(polars_target.expression(rate))
    duckdb = pytest.importorskip("duckdb")
    with pytest.raises(duckdb.Error):
        duckdb.sql(f"SELECT {sql.expression(rate)} FROM (SELECT 1 AS k, 1.0 AS x)").fetchall()
    base = sqlite3.connect(":memory:")
    text = f"SELECT {sql.expression(rate, dialect='sqlite')} FROM (SELECT 1 AS k, 1.0 AS x)"
    assert base.execute(text).fetchall() == [(None,)]


def test_what_is_done_with_strings_besides_comparing_is_refused():
    def length(k: str) -> int:
        return len(k)

    with pytest.raises(FlattenError):
        sql.expression(length)


def test_lists_of_strings_are_columns_where_the_body_compares_with_strings():
    def plain(x, k):
        return x if k == "a" else -x

    assert pyflat.twin(plain)([1.0, 2.0], ["a", "b"]).tolist() == [1.0, -2.0]


def generated(rng: random.Random) -> str:
    """A function of a string and a number that compares the string in random ways."""
    words = [word for word in WORDS if word is not None]

    def test():
        chosen = rng.sample(words, 3)
        return rng.choice([f"k == {chosen[0]!r}", f"k != {chosen[0]!r}", f"{chosen[1]!r} == k", f"k in {tuple(chosen)!r}",
                           f"k not in {chosen!r}", f"(k == {chosen[0]!r} or x > 0.0)", f"{dict.fromkeys(chosen, 1.0)!r}.get(k, 0.0) > x"])

    lines = [f"    if {test()}:\n        y = y * 2.0 + {k}.0" + ("\n        raise ValueError(k)" if rng.random() < 0.2 else "")
             for k in range(rng.randint(1, 4))]
    return "def made(k: str, x: float) -> float:\n    y = x\n" + "\n".join(lines) + "\n    return y\n"


@pytest.mark.parametrize("seed", range(12))
def test_random_comparisons(sqlite, seed):
    source = generated(random.Random(seed))
    names = {}
    exec(source, names)
    twin = pyflat.twin(names["made"], source=source)
    found = sqlite.execute(f"SELECT {sql.expression(twin, dialect='sqlite')} FROM t")
    assert [value for value, in found] == by_rows(names["made"])
