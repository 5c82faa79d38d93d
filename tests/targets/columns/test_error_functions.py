"""erf and erfc in engines that have neither, column names of all sorts, and a namespace that has no more than the
standard."""

from __future__ import annotations

import math
import sqlite3
from typing import Any

import mpmath
import numpy as np
import pytest

from pyflat.targets import sql, xp

POINTS = [*np.linspace(-7.0, 7.0, 601).tolist(), 0.0, 1e-300, -1e-9, 0.4765, math.nextafter(0.4765, 0.0), 12.5, 26.0, 40.0, math.inf, -math.inf]


def erf(x: float) -> float:
    return math.erf(x)


def erfc(x: float) -> float:
    return math.erfc(x)


def in_polars(fn: Any, name: str, values: list[float]) -> list[Any]:
    pl = pytest.importorskip("polars")
    from pyflat.targets import polars

    frame = pl.DataFrame({name: values, "other": values})
    return frame.select(polars.expression(fn, x=name).alias("result"))["result"].to_list()


def in_duckdb(fn: Any, name: str, values: list[float]) -> list[Any]:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t ({quoted(name)} DOUBLE, other DOUBLE)")
    connection.executemany("INSERT INTO t VALUES (?, 0)", [[value] for value in values])
    return [row[0] for row in connection.execute(f"SELECT {sql.expression(fn, x=reference(name))} FROM t").fetchall()]


def in_sqlite(fn: Any, name: str, values: list[float]) -> list[Any]:
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE t ({quoted(name)} REAL, other REAL)")
    connection.executemany("INSERT INTO t VALUES (?, 0)", [(value,) for value in values])
    return [row[0] for row in connection.execute(f"SELECT {sql.expression(fn, dialect='sqlite', x=reference(name))} FROM t")]


def in_strict(fn: Any, name: str, values: list[float]) -> list[Any]:
    strict = pytest.importorskip("array_api_strict")
    return np.asarray(xp.function(fn, strict)(strict.asarray(values))).tolist()


def in_numpy(fn: Any, name: str, values: list[float]) -> list[Any]:
    return xp.function(fn, np)(np.array(values)).tolist()


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def reference(name: str) -> str:
    """In SQL `a.b` is b of a, unless there are quotes around it."""
    return quoted(name) if "." in name else name


ENGINES = [in_polars, in_duckdb, in_sqlite, in_strict, in_numpy]
each_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e.__name__)


def ulps(found: float, exact: Any) -> float:
    nearest = float(exact)
    return 0.0 if found == nearest else float(abs(mpmath.mpf(found) - exact) / math.ulp(nearest))


@each_engine
def test_erf_is_within_4_ulp(engine: Any) -> None:
    found = engine(erf, "x", POINTS)
    assert [x for x, value in zip(POINTS, found) if ulps(value, mpmath.erf(mpmath.mpf(x))) > 4] == []


@each_engine
def test_erfc_is_within_the_digits_that_are_promised(engine: Any) -> None:
    found = engine(erfc, "x", POINTS)
    far = [(x, value, 4 if x < 5 else 64) for x, value in zip(POINTS, found)]
    assert [x for x, value, most in far if ulps(value, mpmath.erfc(mpmath.mpf(x))) > most] == []


def test_what_a_namespace_has_is_called() -> None:
    class Own:
        __name__ = "own"

        def __getattr__(self, name: str) -> Any:
            return getattr(np, name)

        @staticmethod
        def erf(x: Any) -> Any:
            return x * 100.0

    assert xp.function(erf, Own())(np.array([2.0])).tolist() == [200.0]


NAMES = ["select", "my column", 'unit "price"', "it's", "a.b", "a]", "^x$", "*", "^.*$"]


def half(x: float) -> float:
    return x * 0.5 if x > 0.0 else x


@pytest.mark.parametrize("engine", ENGINES[:3], ids=lambda e: e.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_names_of_columns_are_names(engine: Any, name: str) -> None:
    assert engine(half, name, [4.0, -1.0]) == [2.0, -1.0]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_columns_are_names_in_the_text(name: str) -> None:
    pl = pytest.importorskip("polars")
    from pyflat.targets import polars

    *stages, result = polars.source(half, x=name).splitlines()
    scope = {"pl": pl}
    exec("\n".join(stages), scope)
    frame = pl.DataFrame({name: [4.0, -1.0], "x": [7.0, 7.0], "^y$": [8.0, 8.0]})
    assert frame.select(r=eval(result.removeprefix("result = "), scope))["r"].to_list() == [2.0, -1.0]


def test_keys_of_a_record_are_names() -> None:
    duckdb = pytest.importorskip("duckdb")

    def record(x: float) -> dict[str, float]:
        return {"it's": x, 'a "b"': x + 1.0}

    text = f"SELECT {sql.expression(record)} FROM (SELECT 1.0 AS x)"
    assert duckdb.connect().execute(text).fetchall() == [({"it's": 1.0, 'a "b"': 2.0},)]


def whole(x: float, n: int) -> int:
    return (n if x > 1.0 else 4) + (x > 2.0) + math.floor(x) + n // 3 - int(x)


def several(x: float, n: int) -> tuple[float, float, float, float]:
    return math.hypot(x, n), max(x, float(n)) % 3.0, round(x) / 2, abs(x) ** 2 + n


@pytest.mark.parametrize("fn", [whole, several])
def test_a_namespace_with_no_more_than_the_standard(fn: Any) -> None:
    strict = pytest.importorskip("array_api_strict")
    xs, ns = [0.5, 1.5, 2.5, -3.25], [1, 7, -3, 0]
    found = xp.function(fn, strict, faults="unchecked")(strict.asarray(xs), strict.asarray(ns))
    columns = [np.asarray(column).tolist() for column in (found if isinstance(found, tuple) else [found])]
    wanted = [fn(x, n) for x, n in zip(xs, ns)]
    assert list(zip(*columns)) == [row if isinstance(row, tuple) else (row,) for row in wanted]


def test_messages_speak_of_no_other_target() -> None:
    from pyflat.errors import FlattenError

    with pytest.raises(FlattenError) as caught:
        sql.expression(lambda x: math.remainder(x, 2.0), dialect="sqlite")
    assert "shading language" not in str(caught.value)
