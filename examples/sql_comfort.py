"""Thermal comfort in a database: the heat index of weather stations, as SQL.

    python examples/sql_comfort.py

The regression of the US weather service with its two adjustments is an ordinary function; `expression` makes a `CASE`
of it that DuckDB and SQLite compute where the readings are.
"""

from __future__ import annotations

import math
import sqlite3
import sys

import duckdb

from pyflat.targets.sql import expression, query

READINGS = [
    ("Phoenix", 43.1, 12.0), ("Phoenix", 41.0, 9.5), ("Miami", 31.5, 88.0), ("Miami", 29.0, 91.0),
    ("Duluth", 18.0, 60.0), ("Duluth", None, 71.0), ("Delhi", 38.4, 55.0), ("Delhi", 36.1, 130.0),
]


def heat_index(celsius: float, humidity: float) -> float:
    """What the temperature feels like, in degrees Celsius (L. Rothfusz, 1990)."""
    if not 0.0 <= humidity <= 100.0:
        raise ValueError("humidity is a percentage")
    t = celsius * 9.0 / 5.0 + 32.0
    simple = 0.5 * (t + 61.0 + (t - 68.0) * 1.2 + humidity * 0.094)
    if (simple + t) / 2.0 < 80.0:
        return (simple - 32.0) * 5.0 / 9.0
    index = (-42.379 + 2.04901523 * t + 10.14333127 * humidity - 0.22475541 * t * humidity - 6.83783e-3 * t * t
             - 5.481717e-2 * humidity * humidity + 1.22874e-3 * t * t * humidity
             + 8.5282e-4 * t * humidity * humidity - 1.99e-6 * t * t * humidity * humidity)
    if humidity < 13.0 and 80.0 <= t <= 112.0:
        index -= (13.0 - humidity) / 4.0 * math.sqrt((17.0 - abs(t - 95.0)) / 17.0)
    elif humidity > 85.0 and 80.0 <= t <= 87.0:
        index += (humidity - 85.0) / 10.0 * (87.0 - t) / 5.0
    return (index - 32.0) * 5.0 / 9.0


def warning(felt: float) -> int:
    """0: none, 1: caution, 2: extreme caution, 3: danger, 4: extreme danger."""
    for level, limit in enumerate((26.7, 32.2, 39.4, 51.7)):
        if felt < limit:
            return level
    return 4


def in_duckdb() -> list[tuple[object, ...]]:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE readings (station TEXT, temperature DOUBLE, humidity DOUBLE)")
    connection.executemany("INSERT INTO readings VALUES (?, ?, ?)", READINGS)
    felt = expression(heat_index, celsius="temperature")
    level = expression(lambda celsius, humidity: warning(heat_index(celsius, humidity)), celsius="temperature")
    return connection.execute(f"SELECT station, {felt} AS felt, {level} AS warning FROM readings").fetchall()


def in_sqlite() -> list[tuple[object, ...]]:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE readings (station TEXT, temperature REAL, humidity REAL)")
    connection.executemany("INSERT INTO readings VALUES (?, ?, ?)", READINGS)
    text = query(heat_index, "readings", keep=["station"], into="felt", dialect="sqlite", celsius="temperature")
    return connection.execute(text).fetchall()


def main() -> int:
    print(expression(warning, dialect="sqlite"), "\n")
    found = in_duckdb()
    for station, felt, level in found:
        print(f"{station:8} {'' if felt is None else f'{felt:5.1f}':>6} {level}")
    wanted = [None if t is None or h > 100.0 else heat_index(t, h) for _, t, h in READINGS]
    same = [felt for _, felt, _ in found] == wanted == [felt for _, felt in in_sqlite()]
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
