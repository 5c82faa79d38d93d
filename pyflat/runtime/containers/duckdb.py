"""DuckDB: expressions in and out, relations by the names of their columns, as SQL (`pyflat.targets.sql`).

With errors="raise" the query fails at a row in which Python raises, with "nan" such a row is null.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from pyflat.runtime.containers import LibraryCall, tables
from pyflat.targets import sql

_FAULTS = {"raise": "error", "nan": "null", "unchecked": "unchecked"}


def call(call: LibraryCall) -> Any:
    """The function as an expression."""
    import duckdb

    given = call.arguments()
    for path, value in given.items():
        if not isinstance(value, duckdb.Expression):
            raise TypeError(f"argument {call.name(path)!r} is a relation of DuckDB: call twin.by_name(relation, "
                            f"{call.name(path)}='column'), which takes its columns as arguments")
    columns, constants = tables.numbers(call, duckdb.Expression)
    names = {name: f"_pyflat_{name}" for name, value in columns.items() if isinstance(value, duckdb.Expression)}
    found = _expressions(call, {**columns, **names}, constants)
    text = next(iter(found.values())) if len(found) == 1 else (
        "{" + ", ".join(f"{name.strip('[]')!r}: {each}" for name, each in found.items()) + "}")
    for name, column in names.items():
        text = text.replace(f'"{column}"', f"({columns[name]})")
    return duckdb.SQLExpression(text)


def by_name(call: LibraryCall, table: Any) -> Any:
    """A relation of the results: "result" for one number."""
    columns = tables.chosen(call, table.columns)
    quoted = {name: '"' + column.replace('"', '""') + '"' for name, column in columns.items()}
    given = tables.with_defaults(call, {**call.kwargs, **quoted})
    found = _expressions(call, given, {})
    return table.project(", ".join(f'{text} AS "{name.strip("[]") or "result"}"' for name, text in found.items()))


def _expressions(call: LibraryCall, columns: Mapping[str, Any], constants: Mapping[str, Any]) -> dict[str, str]:
    errors = call.options.errors
    if errors == "mask":
        raise TypeError('errors="mask": a query has no Faults; pyflat.targets.sql.expressions(f, faults="mask") adds '
                        'a column that marks the rows that raise')
    original = getattr(call.twin, "original", call.caller.callee.function)
    return sql.expressions(functools.partial(original, **constants) if constants else original,
                           faults=_FAULTS[errors], **columns)
