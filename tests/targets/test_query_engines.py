"""Polars, DuckDB and SQLite compute row by row what Python computes, and are null where it raises."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pyflat.backend import flatten_function
from pyflat.targets import polars as to_polars
from pyflat.targets import sql
from tests.targets.engine_functions import CASES, Case, expected, rows_of

Evaluate = Callable[[Callable[..., Any], list[str], list[str], list[Any]], list[Any]]


def in_polars(fn: Callable[..., Any], names: list[str], kinds: list[str], rows: list[Any]) -> list[Any]:
    pl = pytest.importorskip("polars")
    types = {"f8": pl.Float64, "i8": pl.Int64, "b": pl.Boolean}
    schema = {name: types[kind] for name, kind in zip(names, kinds, strict=True)}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    made = to_polars.expressions(fn, kinds=",".join(kinds))
    return frame.select(value.alias(name) for name, value in made.items()).rows()


def in_duckdb(fn: Callable[..., Any], names: list[str], kinds: list[str], rows: list[Any]) -> list[Any]:
    duckdb = pytest.importorskip("duckdb")
    types = {"f8": "DOUBLE", "i8": "BIGINT", "b": "BOOLEAN"}
    connection = duckdb.connect()
    columns = ", ".join(f'"{name}" {types[kind]}' for name, kind in zip(names, kinds, strict=True))
    connection.execute(f"CREATE TABLE t (id BIGINT, {columns})")
    marks = ", ".join("?" * (len(names) + 1))
    connection.execute("BEGIN")
    connection.executemany(f"INSERT INTO t VALUES ({marks})", [(k, *row) for k, row in enumerate(rows)])
    connection.execute("COMMIT")
    texts = sql.expressions(fn, kinds=",".join(kinds)).values()
    return connection.execute(f"SELECT {', '.join(texts)} FROM t ORDER BY id").fetchall()


def in_sqlite(fn: Callable[..., Any], names: list[str], kinds: list[str], rows: list[Any]) -> list[Any]:
    connection = sqlite_table(names, rows)
    texts = sql.expressions(fn, dialect="sqlite", kinds=",".join(kinds)).values()
    return connection.execute(f"SELECT {', '.join(texts)} FROM t ORDER BY id").fetchall()


def in_a_query(fn: Callable[..., Any], names: list[str], kinds: list[str], rows: list[Any]) -> list[Any]:
    connection = sqlite_table(names, rows)
    text = sql.query(fn, "t", keep=["id"], dialect="sqlite", kinds=",".join(kinds))
    return [row[1:] for row in connection.execute(f"{text} ORDER BY id")]


def sqlite_table(names: list[str], rows: list[Any]) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    if "sqrt" not in {name for name, in connection.execute("SELECT name FROM pragma_function_list")}:
        pytest.skip("this SQLite has no mathematics")
    columns = ", ".join(f'"{name}"' for name in names)
    connection.execute(f"CREATE TABLE t (id INTEGER, {columns})")
    marks = ", ".join("?" * (len(names) + 1))
    connection.executemany(f"INSERT INTO t VALUES ({marks})", [(k, *row) for k, row in enumerate(rows)])
    return connection


def agree(got: Any, want: Any, ulps: int, sqlite: bool) -> bool:
    if want is None or got is None:
        return got is want or sqlite and isinstance(want, float) and math.isnan(want)
    if isinstance(want, float) and math.isnan(want):
        return math.isnan(got)
    if ulps and isinstance(want, float) and math.isfinite(want):
        return abs(got - want) <= ulps * math.ulp(want)
    if isinstance(want, float) and not sqlite:
        return type(got) is float and np.float64(got).tobytes() == np.float64(want).tobytes()
    return bool(got == want) and (sqlite or type(got) is type(want))


def compare(case: Case, evaluate: Evaluate, sqlite: bool) -> None:
    flat = flatten_function(case.fn)
    kinds = [node.kind for node in flat.params]
    ordinary, edges = rows_of(tuple(kinds), case.columns)
    got = evaluate(case.fn, [node.name for node in flat.params], kinds, [*ordinary, *edges])
    assert len(got) == len(ordinary) + len(edges)
    for k, (row, found) in enumerate(zip([*ordinary, *edges], got, strict=True)):
        want = expected(case.fn, row)
        values = want if isinstance(want, tuple) else (want,) * len(found)
        if k >= len(ordinary) and want is not None and found == (None,) * len(found):
            continue  # a doubt: the engine may be null at edges, never wrong
        assert all(agree(a, b, case.ulps, sqlite) for a, b in zip(found, values, strict=True)), (row, found, want)
    assert any(value is not None for found in got for value in found)


IDS = [case.fn.__name__ for case in CASES]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_polars(case: Case) -> None:
    compare(case, in_polars, sqlite=False)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_duckdb(case: Case) -> None:
    compare(case, in_duckdb, sqlite=False)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_sqlite(case: Case) -> None:
    compare(case, in_sqlite, sqlite=True)


@pytest.mark.parametrize("case", CASES[:8:3], ids=IDS[:8:3])
def test_a_query_with_stages(case: Case) -> None:
    compare(case, in_a_query, sqlite=True)
