"""The SQL way out: a function as a `CASE` expression, or as a query, for DuckDB and SQLite.

    >>> expression(tax, income="salary")
    'CASE WHEN "salary" IS NULL ... THEN NULL ELSE CASE WHEN ... END END'

A row with a null among its columns is null, and so is a row in which Python raises; docs/how-to/engines.md has the
rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal

from pyflat.analysis.demanded_bits import wrapping
from pyflat.errors import refuse
from pyflat.ir.nodes import Const, Op, Value
from pyflat.ir.recursion import with_room
from pyflat.ir.types import BOOL
from pyflat.targets.columns import (
    Column,
    Given,
    Piece,
    Printer,
    Stage,
    Terms,
    flattened,
    terms_of,
    tests_of,
    with_objects,
)
from pyflat.targets.sql.dialects import ENGINES

Dialect = Literal["duckdb", "sqlite"]
ALLOWED = {"duckdb": ("null", "error", "mask", "unchecked"), "sqlite": ("null", "mask", "unchecked")}


@with_room
def expression(fn: Callable[..., Any], /, *, dialect: Dialect = "duckdb", faults: str = "null",
               kinds: str | None = None, **columns: Any) -> str:
    """`fn` as one SQL expression; a function with several results is a struct of them (DuckDB only).

    columns  for each parameter the name of a column ("price", or "t.price"), or a number, which is a constant; left
             out: the column of the same name. For a record a dict of columns, or (DuckDB) a struct column. A parameter
             that is annotated `str`, or compared with literal strings, takes a column of strings
    kinds    of the other plain parameters, "f8,i8,b"; without it annotations and default values say so, or it is float
    faults   rows in which Python raises: "null", "error" (DuckDB: the query fails), "unchecked" (any value)

    Raises FlattenError where the function cannot be flattened or the dialect cannot say it exactly.
    """
    found = expressions(fn, dialect=dialect, faults=faults, kinds=kinds, **columns)
    if len(found) == 1:
        return next(iter(found.values()))
    if dialect == "sqlite":
        raise refuse("flatten/result-kind", f"SQLite has no expression with {len(found)} values",
                     help="expressions(...) gives one for each")
    return "{" + ", ".join(f"{_quoted(name.strip('[]'))}: {text}" for name, text in found.items()) + "}"


@with_room
def expressions(fn: Callable[..., Any], /, *, dialect: Dialect = "duckdb", faults: str = "null",
                kinds: str | None = None, **columns: Any) -> dict[str, str]:
    """As `expression`, one for each result: by its path in the record, "" for a single number. With faults="mask" one
    more, "suspect", which is true in rows in which Python raises."""
    names, results, params = _results(fn, dialect, faults, kinds, columns)
    texts = [*(param.value for param in params), *(param.absent for param in params)]
    printer = Printer(ENGINES[dialect], [*texts, *_tests(texts, params, dialect)])
    return {name: _one_expression(printer, result, dialect) for name, result in zip(names, results, strict=True)}


def _one_expression(printer: Printer, result: Value, dialect: str) -> str:
    """The text with its stages before it: in DuckDB fields of a record that grows from lambda to lambda (lambdas within
    lambdas take time that doubles with each), in SQLite columns of a subquery."""
    start = _unlike(printer.params, "_v")
    stages, (text,) = printer.stages([result], (start + (".k{}" if dialect == "duckdb" else "{}")).format)
    if not stages:
        return text
    first, *others = stages
    if dialect == "duckdb":
        record = "[{" + ", ".join(f"{name.partition('.')[2]}: {value}" for name, value in first.items()) + "}]"
        for stage in others:
            fields = ", ".join(f"{name.partition('.')[2]} := {value}" for name, value in stage.items())
            record = f"list_transform({record}, lambda {start}: struct_insert({start}, {fields}))"
        return f"list_transform({record}, lambda {start}: {text})[1]"
    tables = [f"_s0 AS MATERIALIZED (SELECT {_named(first, ', ')})",
              *(f"_s{k + 1} AS MATERIALIZED (SELECT *, {_named(stage, ', ')} FROM _s{k})"
                for k, stage in enumerate(others))]
    return f"(WITH {', '.join(tables)} SELECT {text} FROM _s{len(stages) - 1})"


def _named(stage: Stage, separator: str) -> str:
    return separator.join(f"{text} AS {name}" for name, text in stage.items())


@with_room
def query(fn: Callable[..., Any], table: str, /, *, keep: Sequence[str] = (), into: str = "result",
          dialect: Dialect = "duckdb", faults: str = "null", kinds: str | None = None, **columns: Any) -> str:
    """As a query over `table`: columns `keep`, then the result as `into` (several: `into_` and their paths).

    Values that the function uses again are columns of common table expressions: this is how large functions run fast.
    """
    names, results, params = _results(fn, dialect, faults, kinds, columns)
    taken = [*keep, *(param.value for param in params)]
    columns_of = [f"{_unlike(taken, '_p')}{k}" for k in range(len(params))]
    absent = [f"({name} IS NULL)" for name in columns_of]
    printer = Printer(ENGINES[dialect], [*columns_of, *absent, *_tests(columns_of, params, dialect)])
    stages, texts = printer.stages(results, (_unlike(taken, "_v") + "{}").format)
    kept = [_quoted(name) for name in keep]
    first = ", ".join([*kept, *(f"{param.checked} AS {name}" for param, name in zip(params, columns_of, strict=True))])
    parts = [f"_s0 AS (SELECT {first or '1'} FROM {_quoted(table)})"]
    for k, stage in enumerate(stages):
        values = _named(stage, ",\n    ")
        parts.append(f"_s{k + 1} AS MATERIALIZED (SELECT *,\n    {values}\n  FROM _s{k})")
    wanted = [into if not name else f"{into}_{name.strip('[]')}" for name in names]
    values = ",\n  ".join([*kept, *(f"{text} AS {_quoted(name)}" for name, text in zip(wanted, texts, strict=True))])
    return "WITH " + ",\n".join(parts) + f"\nSELECT {values}\nFROM _s{len(stages)}"


@dataclass(frozen=True, slots=True)
class _Param:
    """A parameter as text: the value, whether there is none, and the value or null."""

    column: Column
    value: str
    absent: str
    checked: str


def _results(fn: Callable[..., Any], dialect: str, faults: str, kinds: str | None, columns: Mapping[str, Any]
             ) -> tuple[list[str], list[Value], list[_Param]]:
    """Names and terms of the results, and the parameters. The terms read param k as its value, and behind all of them
    whether there is none."""
    if dialect not in ENGINES:
        raise ValueError(f"dialect={dialect!r} is none of {', '.join(ENGINES)}")
    flat, leaves = flattened(fn, columns, faults, ALLOWED[dialect], kinds)
    if dialect == "sqlite" and (wraps := wrapping(flat.ir)):
        op = next(op for op in flat.ir.flat_block.ops if op in wraps)
        raise refuse("flatten/target-operation", f"SQLite has no {op.opcode} modulo 2**64",
                     op.span)
    results, terms = terms_of(flat, ENGINES[dialect].rules, ENGINES[dialect].stay)
    names, results = with_objects(terms, flat, results, _string, "NULL")
    absent = [Given(BOOL, len(leaves) + k) for k in range(len(leaves))]
    params = [_param(column, _reference(column, flat.name, dialect), dialect) for column in leaves]
    results = _with_nulls(terms, results, absent, faults)
    return names[:len(results)], results, params


def _param(of: Column, column: str, dialect: str) -> _Param:
    """DuckDB refuses a column of another type; SQLite's columns have no types, but their values have."""
    if dialect == "duckdb":
        typed = {"f8": f"CAST({column} AS DOUBLE)", "i8": f"CAST({column} | 0::BIGINT AS BIGINT)",
                 "b": f"({column} AND true)"}[of.kind] if of.words is None else column
        return _Param(of, typed, f"({column} IS NULL)", typed)
    typed = f"CAST({column} AS REAL)" if of.kind == "f8" else column
    allowed = "('text')" if of.words is not None else "('real', 'integer')" if of.kind == "f8" else "('integer')"
    absent = f"(typeof({column}) NOT IN {allowed})"
    return _Param(of, typed, absent, f"CASE WHEN {absent} THEN NULL ELSE {typed} END")


def _tests(columns: Sequence[str], params: Sequence[_Param], dialect: str) -> list[str]:
    return tests_of([param.column for param in params], lambda k, word: _is_word(columns[k], word, dialect))


def _is_word(column: str, word: str, dialect: str) -> str:
    """By bytes, whatever the collation of a column; DuckDB's `encode` refuses what is no string."""
    return f"(encode({column}) = encode({_string(word)}))" if dialect == "duckdb" else (
        f"({column} COLLATE BINARY = {_string(word)})")


def _with_nulls(t: Terms, results: list[Value], absent: Sequence[Value], faults: str) -> list[Value]:
    """The results, null in rows with a null and, if so wanted, in those where Python raises."""
    missing = reduce(lambda a, b: t("or", a, b), absent, t.const(False))
    null, failed = Piece("NULL"), t.const(False)
    if faults != "unchecked":
        *results, suspect = results
        failed = reduce(lambda a, b: t("or", a, b), t.doubts, suspect)
    if faults == "mask":
        return [*(_choice(missing, null, value) for value in results), _choice(missing, null, failed)]
    if faults == "error":
        message = Piece("error('Python raises in this row')")
        return [_choice(missing, null, _choice(failed, message, value)) for value in results]
    return [_choice(t("or", missing, failed), null, value) for value in results]


def _choice(condition: Value, then: Value, otherwise: Value) -> Value:
    return otherwise if isinstance(condition, Const) and not condition.value else Op(
        "select", (condition, then, otherwise), otherwise.kind)


def _string(text: str) -> str:
    if "\0" in text:
        raise refuse("flatten/result-kind", f"the string {text!r} has a zero in it, which SQL's strings have not")
    return "'" + text.replace("'", "''") + "'"


def _reference(column: Column, function: str, dialect: str) -> str:
    given = column.argument if column.given is None else column.given
    if not isinstance(given, str):
        raise TypeError(f"{function}: {column.argument} is the name of a column or a number, "
                        f"not {type(given).__name__}")
    if column.path and dialect == "sqlite":
        raise refuse("flatten/argument-kind",
                     f"SQLite has no records: {function} reads {column.argument}.{column.path}",
                     help=f"say which column each number is: {column.argument}={{{column.path!r}: 'column', ...}}")
    return ".".join(map(_quoted, [*_parts(given), *filter(None, column.path.split("."))]))


def _parts(name: str) -> list[str]:
    """`t.x` is x of t; a part in double quotes may have dots in it."""
    found = re.findall(r'"(?:[^"]|"")*"(?=\.|$)|[^.]+', name)
    return [part[1:-1].replace('""', '"') if part[0] == part[-1] == '"' and len(part) > 2 else part for part in found]


def _unlike(texts: Iterable[str], start: str) -> str:
    """The start of names none of which occurs in the texts."""
    known = " ".join(texts).lower()
    while start in known:
        start += "_"
    return start


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
