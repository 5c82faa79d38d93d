"""Polars, DuckDB and SQLite compute row by row what Python computes, and are null where it raises."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pyflat.backend import flatten_function
from pyflat.errors import FlattenError
from pyflat.targets import polars as to_polars
from pyflat.targets import sql
from tests.targets.columns.engine_functions import CASES, EDGES, Case, expected, rows_of

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


# --- one operation at a time

UNARY = ("sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan",
         "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "cbrt", "erf", "gamma", "fabs", "floor", "ceil", "trunc")
MISSING = {
    "polars": {"expm1", "log2", "gamma"}, "duckdb": {"expm1", "log1p", "gamma"},
    "sqlite": {"expm1", "log1p", "cbrt", "gamma"},
}
BINARY = ("pow", "atan2", "fmod", "copysign", "hypot", "nextafter")
MISSING_BINARY = {
    "polars": {"hypot", "nextafter"}, "duckdb": {"hypot"}, "sqlite": {"copysign", "hypot", "nextafter"},
}
ENGINES: dict[str, Evaluate] = {"polars": in_polars, "duckdb": in_duckdb, "sqlite": in_sqlite}
ULPS = {"polars": 8, "duckdb": 2, "sqlite": 2}
"""Against this machine's C library."""


def written(text: str, tmp_path: Any) -> Callable[..., Any]:
    """A function with a file, so that its source can be read."""
    file = tmp_path / "written.py"
    file.write_text(f"import math\nimport numpy as np\n{text}\n")
    space: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), space)
    return space["f"]


def check_operation(fn: Callable[..., Any], engine: str, count: int) -> None:
    values = [*EDGES["f8"][:-1], 0.3, 0.7, -0.4, 1.5, 3.0, 20.0, -7.5, 710.0]
    rows = [(x,) for x in values] if count == 1 else [(x, y) for x in values for y in values]
    names = ["x", "y"][:count]
    got = ENGINES[engine](fn, names, ["f8"] * count, rows)
    known = 0
    for row, (found,) in zip(rows, got, strict=True):
        want = expected(fn, row)
        if found is None and want is not None and not all(map(math.isfinite, row)) or found is None and doubtful(row):
            continue  # the checks are wider for infinite operands, and where Polars cannot be sure of a remainder
        assert agree(found, want, ULPS[engine], engine == "sqlite"), (row, found, want)
        known += found is not None
    assert known * 4 > len(rows)


def doubtful(row: tuple[float, ...]) -> bool:
    return len(row) == 2 and (abs(row[0]) > 1e15 or not 1e-250 < abs(row[1]) < 1e250)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(engine: str, name: str, tmp_path: Any) -> None:
    """On edges, where engines tend to fail or to differ."""
    fn = written(f"def f(x):\n    return math.{name}(x)", tmp_path)
    if name in MISSING[engine]:
        with pytest.raises(FlattenError, match=rf"math\.{name} is not available on "):
            ENGINES[engine](fn, ["x"], ["f8"], [(1.0,)])
        return
    check_operation(fn, engine, 1)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_numbers(engine: str, name: str, tmp_path: Any) -> None:
    fn = written(f"def f(x, y):\n    return math.{name}(x, y)", tmp_path)
    if name in MISSING_BINARY[engine]:
        with pytest.raises(FlattenError, match=rf"math\.{name} is not available on "):
            ENGINES[engine](fn, ["x", "y"], ["f8", "f8"], [(1.0, 1.0)])
        return
    check_operation(fn, engine, 2)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("name", ["log", "sqrt", "arcsin", "arccosh", "arctanh"])
def test_functions_of_numpy_have_values_where_python_raises(engine: str, name: str, tmp_path: Any) -> None:
    fn = written(f"def f(x):\n    return np.{name}(x)", tmp_path)
    rows = [(x,) for x in (-2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, math.inf)]
    with np.errstate(all="ignore"):
        wanted = [float(fn(x)) for x, in rows]
    got = [value for value, in ENGINES[engine](fn, ["x"], ["f8"], rows)]
    assert all(agree(a, b, 8, False) for a, b in zip(got, wanted, strict=True)), (got, wanted)
