"""What expressions look like, what is null, and what engines refuse."""

from __future__ import annotations

import math
import sqlite3
import subprocess
import sys
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

import pyflat
from pyflat.errors import FlattenError
from pyflat.targets import polars as to_polars
from pyflat.targets import sql, xp
from pyflat.targets.sql import extended, sqlite_literal
from tests.targets.columns.engine_functions import income_tax, loan_years


def fee(x: float) -> float:
    if x < 100.0:
        return 5.0
    if x < 1000.0:
        return x * 0.05
    return 50.0


def ratio(a: float, b: float) -> float:
    return a / b


class Point(NamedTuple):
    x: float
    y: float


def length(p: Point) -> float:
    return math.sqrt(p.x * p.x + p.y * p.y)


def swapped(a: float, b: float) -> tuple[float, float]:
    return (b, a) if a > b else (a, b)


# --- texts

def test_an_if_is_a_case() -> None:
    assert sql.expression(fee, x="amount") == (
        'CASE WHEN ("amount" IS NULL) THEN NULL WHEN (CAST("amount" AS DOUBLE) < 100.0e0) THEN 5.0e0 '
        'WHEN (CAST("amount" AS DOUBLE) < 1000.0e0) THEN (CAST("amount" AS DOUBLE) * 0.05e0) ELSE 50.0e0 END')


def test_an_if_is_when_then_otherwise() -> None:
    assert to_polars.source(fee, x="amount") == (
        "result = pl.when(pl.col('amount').is_null()).then(None).when((pl.col('amount') < pl.lit(100.0)))"
        ".then(pl.lit(5.0)).when((pl.col('amount') < pl.lit(1000.0))).then((pl.col('amount') * pl.lit(0.05)))"
        ".otherwise(pl.lit(50.0))")


def test_qualified_and_odd_names_are_quoted() -> None:
    text = sql.expression(fee, x='t.a "b"')
    assert '"t"."a ""b"""' in text


def test_numbers_are_constants() -> None:
    assert sql.expression(fee, x=2000) == "50.0e0"


def test_a_twin_is_as_good_as_its_function() -> None:
    assert sql.expression(pyflat.twin(fee)) == sql.expression(fee)


def test_nothing_heavy_is_imported_for_text() -> None:
    code = "import sys; from pyflat.targets import sql, polars, xp, jax; print({'polars', 'duckdb', 'jax'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


# --- literals

def test_sqlite_reads_every_literal_exactly() -> None:
    """Its own reader is not exact for all digits: 1.2345678901234567e-7 is an ulp off."""
    connection = sqlite3.connect(":memory:")
    random = np.random.default_rng(5)
    values = [1.2345678901234567e-7, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 0.1, 1e23, 1e-7, 3.0, 0.0,
              *random.integers(0, 2**63 - 2**53, 2000).view(np.float64).tolist(), *random.random(500).tolist(),
              *np.round(random.random(500), 4).tolist()]
    for value in values:
        for number in (value, -value):
            got, = connection.execute(f"SELECT {sqlite_literal(number)}").fetchone()
            assert got == number, (number, sqlite_literal(number))
    assert sqlite_literal(0.0575) == "0.0575"


def test_extended_rounding_is_that_of_64_bits() -> None:
    assert extended(Fraction(2**70 + 1)) == 2**70
    assert extended(Fraction(1, 3)) == Fraction(round(Fraction(2**65, 3)), 2**65)


# --- nulls and faults

def test_null_in_null_out_even_where_it_is_not_read() -> None:
    duckdb = pytest.importorskip("duckdb")
    text = sql.expression(lambda a, b: a if a > 0.0 else b)
    assert duckdb.sql(f"SELECT {text} FROM (SELECT 1.0 AS a, NULL AS b)").fetchall() == [(None,)]


def test_faults_of_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb")
    table = "(SELECT * FROM (VALUES (1.0, 2.0), (1.0, 0.0)) t(a, b))"
    query = f"SELECT {{}} FROM {table} ORDER BY b DESC"
    assert duckdb.sql(query.format(sql.expression(ratio))).fetchall() == [(0.5,), (None,)]
    assert duckdb.sql(query.format(sql.expression(ratio, faults="unchecked"))).fetchall()[0] == (0.5,)
    names = sql.expressions(ratio, faults="mask")
    assert list(names) == ["", "suspect"]
    assert [row[1] for row in duckdb.sql(query.format(", ".join(names.values()))).fetchall()] == [False, True]
    with pytest.raises(duckdb.Error, match="Python raises in this row"):
        duckdb.sql(query.format(sql.expression(ratio, faults="error"))).fetchall()
    with pytest.raises(ValueError, match="faults='error' is none of null, mask, unchecked"):
        sql.expression(ratio, dialect="sqlite", faults="error")


def test_faults_of_polars() -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": [1.0, 1.0, None], "b": [2.0, 0.0, 1.0]})
    made = to_polars.expressions(ratio, faults="mask")
    assert frame.select(made[""].alias("r"), made["suspect"].alias("s")).rows() == [
        (0.5, False), (math.inf, True), (None, None)]


def test_a_function_that_always_raises_is_null_or_nan() -> None:
    def zero(x: float) -> float:
        return x / 0

    pl, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    assert pl.DataFrame({"x": [1.0]}).select(to_polars.expression(zero)).item() is None
    assert duckdb.sql(f"SELECT {sql.expression(zero)} FROM (SELECT 1.0 AS x)").fetchall() == [(None,)]
    assert math.isnan(xp.function(zero, np)(1.0))


def test_values_of_another_type_are_no_numbers() -> None:
    """SQLite has no types of columns: text in a column of numbers is a null row."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (x)")
    connection.executemany("INSERT INTO t VALUES (?)", [(250,), (250.0,), ("250",), (b"1",), (None,)])
    assert [row[0] for row in connection.execute(f"SELECT {sql.expression(fee, dialect='sqlite')} FROM t")] == [
        12.5, 12.5, None, None, None]
    duckdb, pl = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    with pytest.raises(duckdb.Error):
        duckdb.sql(f"SELECT {sql.expression(lambda n: n + 1, kinds='i8')} FROM (SELECT 2.5::DOUBLE AS n)").fetchall()
    with pytest.raises(pl.exceptions.PolarsError):
        pl.DataFrame({"n": [2.5]}).select(to_polars.expression(lambda n: n + 1, kinds="i8"))
    assert pl.DataFrame({"n": [2]}, schema={"n": pl.Int8}).select(
        to_polars.expression(lambda n: n * 100, kinds="i8")).item() == 200


def test_names_of_the_text_are_none_of_the_columns() -> None:
    def twice(a: float, b: float) -> float:
        c = (a + 1.0) * (a + 2.0)
        return c * c + b

    duckdb = pytest.importorskip("duckdb")
    table = "(SELECT 2.0 AS a, 5.0 AS _v0, 7.0 AS _P0)"
    assert duckdb.sql(f"SELECT {sql.expression(twice, b='_V0')} FROM {table}").fetchall() == [(149.0,)]
    connection = sqlite3.connect(":memory:")
    assert connection.execute(
        f"SELECT {sql.expression(twice, b='_V0', dialect='sqlite')} FROM {table}").fetchone() == (149.0,)
    connection.execute(f"CREATE TABLE t AS SELECT * FROM {table}")
    assert connection.execute(
        sql.query(twice, "t", keep=["_v0", "_p0"], b="_v0", dialect="sqlite")).fetchone() == (5.0, 7.0, 149.0)


# --- records

def test_records_of_columns() -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"p": [{"x": 3.0, "y": 4.0}], "u": [6.0], "v": [8.0]})
    assert frame.select(to_polars.expression(length)).item() == 5.0
    assert frame.select(to_polars.expression(length, p={"x": "u", "y": pl.col("v")})).item() == 10.0
    assert frame.select(to_polars.expression(swapped, a="v", b="u")).item() == {"0": 6.0, "1": 8.0}
    duckdb = pytest.importorskip("duckdb")
    assert duckdb.sql(f"SELECT {sql.expression(length)} FROM (SELECT {{'x': 3.0, 'y': 4.0}} AS p)").fetchall() == [(5.0,)]
    assert duckdb.sql(f"SELECT {sql.expression(swapped)} FROM (SELECT 2.0 AS a, 1.0 AS b)").fetchall() == [
        ({"0": 1.0, "1": 2.0},)]


def test_sqlite_has_no_records() -> None:
    with pytest.raises(FlattenError, match=r"SQLite has no records: length reads p\.x"):
        sql.expression(length, dialect="sqlite")
    with pytest.raises(FlattenError, match="SQLite has no expression with 2 values"):
        sql.expression(swapped, dialect="sqlite")
    assert sqlite3.connect(":memory:").execute("SELECT " + sql.expression(
        length, dialect="sqlite", p={"x": "a", "y": "b"}) + " FROM (SELECT 3.0 AS a, 4.0 AS b)").fetchone() == (5.0,)


def test_a_literal_column_is_not_divided_by_its_reciprocal() -> None:
    """Polars does that with numbers: 4918459.0 / 100.0 would be 49184.590000000004."""
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": [4918459.0, 1.0]})
    def by_an_expression(a: float) -> float:
        return a / (abs((3, 98)[1]) + 2)

    for made in (to_polars.expression(ratio, b=pl.lit(100.0)), to_polars.expression(lambda a: a / 100.0),
                 to_polars.expression(by_an_expression)):
        assert frame.select(made.alias("r"))["r"].to_list() == [49184.59, 0.01]


# --- refusals

def remainder(x: float) -> float:
    return math.remainder(x, 3.0)


def lcg(n: int) -> int:
    return (n * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFF


@pytest.mark.parametrize("make", [
    to_polars.expression, sql.expression, lambda fn: sql.expression(fn, dialect="sqlite")])
def test_what_an_engine_lacks_is_refused_by_name(make: Any) -> None:
    with pytest.raises(FlattenError, match=r"math\.remainder is not available on (Polars|DuckDB|SQLite)") as refusal:
        make(remainder)
    assert refusal.value.diagnostic.code == "flatten/target-operation"


def test_integers_that_wrap() -> None:
    with pytest.raises(FlattenError, match=r"SQLite has no mul modulo 2\*\*64|SQLite has no add modulo 2\*\*64"):
        sql.expression(lcg, dialect="sqlite")
    numbers = [0, 1, 2**63 - 1, -(2**63), 12345678901]
    duckdb, pl = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    values = ", ".join(f"(CAST({n} AS BIGINT))" for n in numbers)
    got = duckdb.sql(f"SELECT {sql.expression(lcg)} FROM (VALUES {values}) t(n)").fetchall()
    assert [value for value, in got] == [lcg(n) for n in numbers]
    assert pl.DataFrame({"n": numbers}).select(to_polars.expression(lcg).alias("r"))["r"].to_list() == [
        lcg(n) for n in numbers]


def test_a_function_without_numbers_is_refused() -> None:
    with pytest.raises(FlattenError, match="gives no number"):
        sql.expression(lambda x: None)


def test_unknown_names_are_errors() -> None:
    with pytest.raises(FlattenError, match="fee has no parameter 'y'"):
        sql.expression(fee, y="amount")
    with pytest.raises(ValueError, match="dialect='oracle' is none of duckdb, sqlite"):
        sql.expression(fee, dialect="oracle")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="x is the name of a column or a number, not list"):
        sql.expression(fee, x=[1.0])
    with pytest.raises(TypeError, match="not list"):
        to_polars.expression(fee, x=[1.0])


def test_a_long_function_stays_short() -> None:
    """Twelve years of a loan, each from the one before: as a tree it would have millions of operations."""
    assert len(sql.expression(loan_years, dialect="sqlite")) < 30_000
    assert len(to_polars.source(income_tax)) < 10_000
