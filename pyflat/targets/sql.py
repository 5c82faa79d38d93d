"""The SQL way out: a function as a `CASE` expression, or as a query, for DuckDB and SQLite.

    >>> expression(tax, income="salary")
    'CASE WHEN "salary" IS NULL ... THEN NULL ELSE CASE WHEN ... END END'

A row with a null among its columns is null, and so is a row in which Python raises; docs/engines.md has the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, Literal

from pyflat.errors import refuse
from pyflat.ir.low_bits import wrapping
from pyflat.targets.columns import Column, Engine, Printer, Rules, Stage, Term, Terms, flattened, terms_of
from pyflat.targets.columns import expand as x

Dialect = Literal["duckdb", "sqlite"]
ALLOWED = {"duckdb": ("null", "error", "mask", "unchecked"), "sqlite": ("null", "mask", "unchecked")}

_COMPARED = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "=", "ne": "<>"}
_COMMON = {
    **{name: f"({{0}} {sign} {{1}})" for name, sign in (*_COMPARED.items(), ("truediv", "/"))},
    **{f"{name}:f8": f"({{0}} {sign} {{1}})" for name, sign in (("add", "+"), ("sub", "-"), ("mul", "*"))},
    "and:b": "({0} AND {1})", "or:b": "({0} OR {1})", "not": "(NOT {0})", "and:i8": "({0} & {1})",
    "or:i8": "({0} | {1})", "abs:f8": "abs({0})", "floor": "floor({0})", "ceil": "ceil({0})",
    "add_small": "({0} + {1})", "sub_small": "({0} - {1})", "rem": "({0} % {1})",
    "select": "CASE WHEN {0} THEN {1} ELSE {2} END",
    **{name: f"{name}({{0}})" for name in (
        "sqrt", "exp", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
        "log10", "log2")},
    "log": "ln({0})", "pow": "pow({0}, {1})", "atan2": "atan2({0}, {1})",
}


def _wrapped(text: str) -> str:
    """A sum or product of HUGEINTs as the int64 with the same low bits: DuckDB's BIGINT fails where it overflows."""
    return f"CAST((({text} + 9223372036854775808) & 18446744073709551615) - 9223372036854775808 AS BIGINT)"


_DUCKDB = {
    **_COMMON,
    **{f"{name}:i8": _wrapped(f"CAST({{0}} AS HUGEINT) {sign} {{1}}")
       for name, sign in (("add", "+"), ("sub", "-"), ("mul", "*"))},
    "neg:i8": _wrapped("0::HUGEINT - {0}"), "neg:f8": "(-{0})", "xor:i8": "xor({0}, {1})", "quo": "({0} // {1})",
    "invert": "xor({0}, -1)", "fmod": "({0} % {1})", "trunc": "trunc({0})", "rint": "round_even({0}, 0)",
    "isnan": "isnan({0})", "signbit": "signbit({0})", "to_float:b": "CASE WHEN {0} THEN 1e0 ELSE 0e0 END",
    "to_float": "CAST({0} AS DOUBLE)", "to_whole:b": "CASE WHEN {0} THEN 1::BIGINT ELSE 0 END",
    "to_whole": "CAST({0} AS BIGINT)", "cbrt": "cbrt({0})", "nextafter": "nextafter({0}, {1})",
}
_SQLITE = {
    **_COMMON,
    **{f"{name}:f8": f"ifnull({{0}} {sign} {{1}}, {int(name == 'ne')})" for name, sign in _COMPARED.items()},
    **{f"{name}_known": f"({{0}} {sign} {{1}})" for name, sign in _COMPARED.items()},
    **{f"{name}:i8": f"CASE typeof({{0}} {sign} {{1}}) WHEN 'integer' THEN {{0}} {sign} {{1}} ELSE -1 - {{0}} END"
       for name, sign in (("add", "+"), ("sub", "-"))},
    "add_known": "({0} + {1})", "sub_known": "({0} - {1})", "mul:i8": "({0} * {1})",
    "neg:i8": "(-{0})", "neg:f8": "({0} * -1.0)", "xor:i8": "(({0} | {1}) - ({0} & {1}))", "quo": "({0} / {1})",
    "invert": "(~{0})", "fmod": "mod({0}, {1})", "trunc": "trunc({0})", "isnan": "({0} IS NULL)",
    "to_float": "CAST({0} AS REAL)", "to_whole": "CAST({0} AS INTEGER)", "divide": "({0} / {1})",
}


def _abs_int(t: Terms, value: Term) -> Term:
    return t.op("select", t.op("lt", value, 0), t.op("neg", value), value)


def _copysign(t: Terms, value: Term, sign: Term) -> Term:
    size = t.op("abs", value)
    return t.op("select", t.raw("signbit", sign), t.op("neg", size), size)


def _exp2(t: Terms, value: Term) -> Term:
    return t.op("pow", 2.0, value)


def _present(opcode: str) -> Any:
    """SQLite's null stands for nan, and a comparison with null is null: `ifnull` only where there may be one."""
    def rule(t: Terms, a: Term, b: Term) -> Term | None:
        both = all(value.opcode == "param" or x.never_nan(value) for value in (a, b))
        return _test(t, f"{opcode}_known", a, b) if both else None

    return rule


def _test(t: Terms, opcode: str, a: Term, b: Term) -> Term:
    made = t.raw(opcode, a, b)
    made.kind = "b"
    return made


def _plain_sum(opcode: str) -> Any:
    """With a constant the fault is found from the other operand, and the sum needs no check."""
    def rule(t: Terms, a: Term, b: Term) -> Term | None:
        return t.raw(f"{opcode}_known", a, b) if "const" in (a.opcode, b.opcode) else None

    return rule


def _sqlite_quotient(t: Terms, a: Term, b: Term) -> Term | None:
    """SQLite's quotient by zero is null. Where Python would raise that is as good as anything; elsewhere (np.divide)
    it is infinite or nan."""
    if b in t.checked or b.opcode == "const" and b.value != 0:
        return None
    return t.op("select", t.op("eq", b, 0.0), t.op("mul", a, math.inf), t.raw("divide", a, b))


_DUCKDB_RULES: Rules = {
    **x.RULES, **{f"{name}:f8": x.nan_is_largest(name) for name in _COMPARED},
    "mod:i8": x.mod_int, "floordiv:i8": x.floordiv_int, "abs:i8": _abs_int, "copysign": _copysign, "exp2": _exp2,
    "isinf": x.isinf, "isfinite": x.isfinite,
}
NO_INFINITY = ("np_log", "np_arctanh", "np_arccosh", "np_power")
"""NumPy's functions that are infinite at a border, where SQLite's are null."""
_SQLITE_RULES: Rules = {
    **{name: rule for name, rule in x.RULES.items() if not name.startswith(NO_INFINITY)},
    **{f"{name}:f8": _present(name) for name in _COMPARED},
    **{f"{name}:i8": _plain_sum(name) for name in ("add", "sub")},
    "mod:i8": x.mod_int, "floordiv:i8": x.floordiv_int, "abs:i8": _abs_int, "exp2": _exp2, "rint": x.rint,
    "isinf": x.isinf, "isfinite": x.isfinite, "truediv": _sqlite_quotient,
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


def _sqlite_literal(value: Any) -> str:
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
    return float(exact) == abs(value) == float(_extended(exact))


def _extended(exact: Fraction) -> Fraction:
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
ENGINES: dict[str, Engine] = {
    "duckdb": Engine("DuckDB", _DUCKDB, _duckdb_literal, _DUCKDB_RULES, CHAIN, 40),
    "sqlite": Engine("SQLite", _SQLITE, _sqlite_literal, _SQLITE_RULES, CHAIN, 12),
}


def expression(fn: Callable[..., Any], /, *, dialect: Dialect = "duckdb", faults: str = "null",
               kinds: str | None = None, **columns: Any) -> str:
    """`fn` as one SQL expression; a function with several results is a struct of them (DuckDB only).

    columns  for each parameter the name of a column ("price", or "t.price"), or a number, which is a constant; left
             out: the column of the same name. For a record a dict of columns, or (DuckDB) a struct column
    kinds    of the plain parameters, "f8,i8,b"; without it annotations and default values say so, or it is float
    faults   rows in which Python raises: "null", "error" (DuckDB: the query fails), "unchecked" (any value)

    Raises FlattenError where the function cannot be flattened or the dialect cannot say it exactly.
    """
    found = expressions(fn, dialect=dialect, faults=faults, kinds=kinds, **columns)
    if len(found) == 1:
        return next(iter(found.values()))
    if dialect == "sqlite":
        raise refuse("flatten/result-kind", f"SQLite has no expression with {len(found)} values",
                     help="expressions(...) gives one for each")
    return "{" + ", ".join(f"'{name.strip('[]')}': {text}" for name, text in found.items()) + "}"


def expressions(fn: Callable[..., Any], /, *, dialect: Dialect = "duckdb", faults: str = "null",
                kinds: str | None = None, **columns: Any) -> dict[str, str]:
    """As `expression`, one for each result: by its path in the record, "" for a single number. With faults="mask" one
    more, "suspect", which is true in rows in which Python raises."""
    names, results, params = _results(fn, dialect, faults, kinds, columns)
    texts = [*(param.value for param in params), *(param.absent for param in params)]
    printer = Printer(ENGINES[dialect], texts)
    return {name: _one_expression(printer, result, dialect) for name, result in zip(names, results, strict=True)}


def _one_expression(printer: Printer, result: Term, dialect: str) -> str:
    """The text with its stages around it: DuckDB names a value by the parameter of a lambda, SQLite by a subquery."""
    stages, (text,) = printer.stages([result], _unlike(printer.params, "_v").format)
    if not stages:
        return text
    if dialect == "duckdb":
        for name, value in reversed([item for stage in stages for item in stage.items()]):
            text = f"list_transform([{value}], lambda {name}: {text})[1]"
        return text
    first, *others = (_named(stage, ", ") for stage in stages)
    tables = [f"_s0 AS MATERIALIZED (SELECT {first})",
              *(f"_s{k + 1} AS MATERIALIZED (SELECT *, {stage} FROM _s{k})" for k, stage in enumerate(others))]
    return f"(WITH {', '.join(tables)} SELECT {text} FROM _s{len(stages) - 1})"


def _named(stage: Stage, separator: str) -> str:
    return separator.join(f"{text} AS {name}" for name, text in stage.items())


def query(fn: Callable[..., Any], table: str, /, *, keep: Sequence[str] = (), into: str = "result",
          dialect: Dialect = "duckdb", faults: str = "null", kinds: str | None = None, **columns: Any) -> str:
    """As a query over `table`: columns `keep`, then the result as `into` (several: `into_` and their paths).

    Values that the function uses again are columns of common table expressions: this is how large functions run fast.
    """
    names, results, params = _results(fn, dialect, faults, kinds, columns)
    taken = [*keep, *(param.value for param in params)]
    columns_of = [_unlike(taken, "_p").format(k) for k in range(len(params))]
    printer = Printer(ENGINES[dialect], [*columns_of, *(f"({name} IS NULL)" for name in columns_of)])
    stages, texts = printer.stages(results, _unlike(taken, "_v").format)
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

    value: str
    absent: str
    checked: str


def _results(fn: Callable[..., Any], dialect: str, faults: str, kinds: str | None, columns: Mapping[str, Any]
             ) -> tuple[list[str], list[Term], list[_Param]]:
    """Names and terms of the results, and the parameters. The terms read param k as its value, and behind all of them
    whether there is none."""
    if dialect not in ENGINES:
        raise ValueError(f"dialect={dialect!r} is none of {', '.join(ENGINES)}")
    flat, leaves = flattened(fn, columns, faults, ALLOWED[dialect], kinds)
    if dialect == "sqlite" and (wraps := wrapping(flat.ir)):
        op = next(op for op in flat.ir.flat_block.ops if op in wraps)
        raise refuse("flatten/target-operation", f"SQLite has no {op.opcode} modulo 2**64",
                     op.origin.span if op.origin else None)
    results, terms = terms_of(flat, ENGINES[dialect].rules)
    absent = [terms.param(len(leaves) + k, "b", "") for k in range(len(leaves))]
    params = [_param(_reference(column, flat.name, dialect), column.kind, dialect) for column in leaves]
    results = _with_nulls(terms, results, absent, faults)
    return list(flat.result_names[:len(results)]), results, params


def _param(column: str, kind: str, dialect: str) -> _Param:
    """DuckDB refuses a column of another type; SQLite's columns have no types, but their values have."""
    if dialect == "duckdb":
        typed = {"f8": f"CAST({column} AS DOUBLE)", "i8": f"CAST({column} | 0::BIGINT AS BIGINT)",
                 "b": f"({column} AND true)"}[kind]
        return _Param(typed, f"({column} IS NULL)", typed)
    typed = f"CAST({column} AS REAL)" if kind == "f8" else column
    allowed = "('real', 'integer')" if kind == "f8" else "('integer')"
    absent = f"(typeof({column}) NOT IN {allowed})"
    return _Param(typed, absent, f"CASE WHEN {absent} THEN NULL ELSE {typed} END")


def _with_nulls(t: Terms, results: list[Term], absent: list[Term], faults: str) -> list[Term]:
    """The results, null in rows with a null and, if so wanted, in those where Python raises."""
    missing = reduce(lambda a, b: t.op("or", a, b), absent, t.const(False))
    null, failed = _opaque(t, "NULL"), t.const(False)
    if faults != "unchecked":
        *results, suspect = results
        failed = reduce(lambda a, b: t.op("or", a, b), t.doubts, suspect)
    if faults == "mask":
        return [*(_choice(t, missing, null, value) for value in results), _choice(t, missing, null, failed)]
    if faults == "error":
        message = _opaque(t, "error('Python raises in this row')")
        return [_choice(t, missing, null, _choice(t, failed, message, value)) for value in results]
    return [_choice(t, t.op("or", missing, failed), null, value) for value in results]


def _choice(t: Terms, condition: Term, then: Term, otherwise: Term) -> Term:
    return otherwise if condition.opcode == "const" and not condition.value else Term(
        "select", (condition, then, otherwise), otherwise.kind)


def _opaque(t: Terms, text: str) -> Term:
    """A piece of SQL."""
    return Term("text", (), "b", text)


def _reference(column: Column, function: str, dialect: str) -> str:
    given = column.argument if column.given is None else column.given
    if not isinstance(given, str):
        raise TypeError(f"{function}: {column.argument} is the name of a column or a number, "
                        f"not {type(given).__name__}")
    if column.path and dialect == "sqlite":
        raise refuse("flatten/argument-kind",
                     f"SQLite has no records: {function} reads {column.argument}.{column.path}",
                     help=f"say which column each number is: {column.argument}={{{column.path!r}: 'column', ...}}")
    path = f".{column.path}" if column.path else ""
    return ".".join(_quoted(part) for part in f"{given}{path}".split("."))


def _unlike(texts: Iterable[str], start: str) -> str:
    """A pattern of names none of which occurs in the texts."""
    known = " ".join(texts).lower()
    while start in known:
        start += "_"
    return start + "{}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
