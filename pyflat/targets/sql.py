"""The SQL way out: a function as a `CASE` expression, or as a query, for DuckDB and SQLite.

    >>> expression(tax, income="salary")
    'CASE WHEN "salary" IS NULL ... THEN NULL ELSE CASE WHEN ... END END'

A row with a null among its columns is null, and so is a row in which Python raises; docs/how-to/engines.md has the
rest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, Literal

from pyflat.analysis.demanded_bits import wrapping
from pyflat.errors import refuse
from pyflat.functions.records import spellings
from pyflat.ir.nodes import Const, Op, Param, Value
from pyflat.ir.ops import ORDERS, SIGNS
from pyflat.ir.recursion import with_room
from pyflat.ir.types import BOOL
from pyflat.passes.rules import expansions as x
from pyflat.passes.rules.legalise import Expansion, Expansions, Legaliser, legal
from pyflat.targets.columns import (
    Column,
    ColumnsEngine,
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

# --- the tables of DuckDB and SQLite: how operations and constants are spelled, and what has to be made of others
_COMPARED = {**{name: SIGNS[name] for name in ORDERS}, "eq": "=", "ne": "<>"}
_COMMON = {
    **{name: f"({{0}} {sign} {{1}})" for name, sign in (*_COMPARED.items(), ("truediv", "/"))},
    **{f"{name}:f8": f"({{0}} {sign} {{1}})" for name, sign in (("add", "+"), ("sub", "-"), ("mul", "*"))},
    "and:b": "({0} AND {1})", "or:b": "({0} OR {1})", "not": "(NOT {0})", "and:i8": "({0} & {1})",
    "or:i8": "({0} | {1})", "abs:f8": "abs({0})", "floor": "floor({0})", "ceil": "ceil({0})",
    "add_small": "({0} + {1})", "sub_small": "({0} - {1})", "rem": "({0} % {1})",
    "select": "CASE WHEN {0} THEN {1} ELSE {2} END",
}


def _wrapped(text: str) -> str:
    """A sum or product of HUGEINTs as the int64 with the same low bits: DuckDB's BIGINT fails where it overflows."""
    return f"CAST((({text} + 9223372036854775808) & 18446744073709551615) - 9223372036854775808 AS BIGINT)"


_DUCKDB = {
    **_COMMON, **spellings("duckdb"),
    **{f"{name}:i8": _wrapped(f"CAST({{0}} AS HUGEINT) {sign} {{1}}")
       for name, sign in (("add", "+"), ("sub", "-"), ("mul", "*"))},
    "neg:i8": _wrapped("0::HUGEINT - {0}"), "neg:f8": "(-{0})", "xor:i8": "xor({0}, {1})", "quo": "({0} // {1})",
    "invert": "xor({0}, -1)", "trunc": "trunc({0})", "rint": "round_even({0}, 0)",
    "isnan": "isnan({0})", "signbit": "signbit({0})", "to_float:b": "CASE WHEN {0} THEN 1e0 ELSE 0e0 END",
    "to_float": "CAST({0} AS DOUBLE)", "to_whole:b": "CASE WHEN {0} THEN 1::BIGINT ELSE 0 END",
    "to_whole": "CAST({0} AS BIGINT)",
}
_SQLITE = {
    **_COMMON, **spellings("sqlite"),
    **{f"{name}:f8": f"ifnull({{0}} {sign} {{1}}, {int(name == 'ne')})" for name, sign in _COMPARED.items()},
    **{f"{name}_known": f"({{0}} {sign} {{1}})" for name, sign in _COMPARED.items()},
    **{f"{name}:i8": f"CASE typeof({{0}} {sign} {{1}}) WHEN 'integer' THEN {{0}} {sign} {{1}} ELSE -1 - {{0}} END"
       for name, sign in (("add", "+"), ("sub", "-"))},
    "add_known": "({0} + {1})", "sub_known": "({0} - {1})", "mul:i8": "({0} * {1})",
    "neg:i8": "(-{0})", "neg:f8": "({0} * -1.0)", "xor:i8": "(({0} | {1}) - ({0} & {1}))", "quo": "({0} / {1})",
    "invert": "(~{0})", "trunc": "trunc({0})", "isnan": "({0} IS NULL)",
    "to_float": "CAST({0} AS REAL)", "to_whole": "CAST({0} AS INTEGER)", "divide": "({0} / {1})",
}


def _present(opcode: str) -> Expansion:
    """SQLite's null stands for nan, and a comparison with null is null: `ifnull` only where there may be one."""
    def rule(t: Legaliser, a: Value, b: Value) -> Value | None:
        both = all(isinstance(value, Param) or x.never_nan(value) for value in (a, b))
        return t.raw(f"{opcode}_known", a, b) if both else None

    return rule


def _plain_sum(opcode: str) -> Expansion:
    """With a constant the fault is found from the other operand, and the sum needs no check."""
    def rule(t: Legaliser, a: Value, b: Value) -> Value | None:
        return t.raw(f"{opcode}_known", a, b) if isinstance(a, Const) or isinstance(b, Const) else None

    return rule


def _sqlite_quotient(t: Terms, a: Value, b: Value) -> Value | None:
    """SQLite's quotient by zero is null. Where Python would raise that is as good as anything; elsewhere (np.divide)
    it is infinite or nan."""
    if b in t.checked or isinstance(b, Const) and b.value != 0:
        return None
    return t("select", t("eq", b, 0.0), t("mul", a, math.inf), t.raw("divide", a, b))


_DUCKDB_RULES: Expansions = {f"{name}:f8": x.nan_is_largest(name) for name in _COMPARED}
_SQLITE_RULES: Expansions = {
    **{f"{name}:f8": _present(name) for name in _COMPARED},
    **{f"{name}:i8": _plain_sum(name) for name in ("add", "sub")},
    "truediv": _sqlite_quotient,
}


def _duckdb_literal(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value) if -(2**31) < value < 2**31 else f"CAST({value} AS BIGINT)"
    if not math.isfinite(value):
        return f"CAST('{value}' AS DOUBLE)"
    text = repr(value)
    return text if "e" in text else f"{text}e0"


def sqlite_literal(value: Any) -> str:
    match value:
        case bool() | int():
            return str(int(value))
    if value != value:
        return "NULL"
    if math.isinf(value):
        return "9e999" if value > 0 else "-9e999"
    text = repr(value)
    return text if _reads_exactly(value) else _binary(value)


def _reads_exactly(value: float) -> bool:
    """SQLite reads digits as an integer and scales it by a power of ten, in double or in extended precision: with both
    the literal has to be this very number."""
    digits, _, exponent = repr(abs(value)).partition("e")
    before, _, after = digits.partition(".")
    scale = int(exponent or 0) - len(after)
    number = int(before + after)
    while number and number % 10 == 0:
        number, scale = number // 10, scale + 1
    if number >= 2**53 or abs(scale) > 22:
        return number == 0
    exact = Fraction(number) * Fraction(10) ** scale
    return float(exact) == abs(value) == float(extended(exact))


def extended(exact: Fraction) -> Fraction:
    """Rounded to 64 bits, half-even."""
    exponent = math.frexp(float(exact))[1]
    unit = Fraction(2) ** (exponent - 64)
    return round(exact / unit) * unit


def _binary(value: float) -> str:
    """A float as a whole number and powers of two, all of which every reader gets right."""
    mantissa, exponent = math.frexp(value)
    text, exponent = f"{int(mantissa * 2**53)}.0", exponent - 53
    sign = "*" if exponent > 0 else "/"
    exponent = abs(exponent)
    while exponent:
        step = min(exponent, 62)
        text += f" {sign} {2**step}.0"
        exponent -= step
    return f"({text})"


CHAIN = ("CASE WHEN {0} THEN {1}", len("CASE"))
ENGINES: dict[str, ColumnsEngine] = {
    "duckdb": ColumnsEngine("DuckDB", _DUCKDB, _duckdb_literal, _DUCKDB_RULES, legal(_DUCKDB, "duckdb"),
                            CHAIN, 40),
    "sqlite": ColumnsEngine("SQLite", _SQLITE, sqlite_literal, _SQLITE_RULES, legal(_SQLITE, "sqlite"),
                            CHAIN, 12),
}


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
    more, "suspect", which is true in rows where Python raises."""
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
                     help=f"name the column of each number: {column.argument}={{{column.path!r}: 'column', ...}}")
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
