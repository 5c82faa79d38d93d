"""The tables of DuckDB and SQLite: how operations and constants are spelled, and what has to be made of others."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from pyflat.functions.records import spellings
from pyflat.ir.nodes import Const, Param, Value
from pyflat.ir.ops import ORDERS, SIGNS
from pyflat.passes.rules import expansions as x
from pyflat.passes.rules.legalise import Expansion, Expansions, Legaliser, legal
from pyflat.targets.columns import ColumnsEngine, Terms

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
