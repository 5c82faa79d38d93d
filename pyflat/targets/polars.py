"""The Polars way out: a function as an expression of `when`, `then` and `otherwise`.

    frame.with_columns(tax=expression(income_tax, income="salary"))

A row with a null among its columns is null, and so is a row in which Python raises; docs/how-to/engines.md has the
rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from pyflat.functions.records import spellings
from pyflat.ir.nodes import Const, Op, Value
from pyflat.ir.ops import COMPARISONS, SIGNS
from pyflat.ir.recursion import with_room
from pyflat.ir.types import BOOL
from pyflat.passes.rules.expansions import nan_is_largest
from pyflat.passes.rules.legalise import Expansions, legal
from pyflat.targets.columns import (
    Column,
    ColumnsEngine,
    Given,
    Piece,
    Printer,
    flattened,
    terms_of,
    tests_of,
    with_objects,
)
from pyflat.targets.target import require

if TYPE_CHECKING:
    import polars as pl

ALLOWED = ("null", "mask", "unchecked")
_SIGNS = {name: sign for name, sign in SIGNS.items() if name not in ("floordiv", "mod", "shl", "shr")}
_METHODS = {
    "floor": "floor", "ceil": "ceil", "trunc": "truncate", "isnan": "is_nan", "isinf": "is_infinite",
    "isfinite": "is_finite", "abs": "abs",
}
_SPELLINGS = {
    **{name: f"({{0}} {sign} {{1}})" for name, sign in _SIGNS.items()},
    **{name: f"{{0}}.{method}()" for name, method in _METHODS.items()}, **spellings("polars", "{first}.{name}()"),
    "floordiv:i8": "({0} // {1})", "mod:i8": "({0} % {1})", "neg": "(-{0})", "not": "(~{0})",
    "select": "pl.when({0}).then({1}).otherwise({2})",
    "rint": "{0}.round(0, mode=\"half_to_even\")", "to_float": "{0}.cast(pl.Float64)", "to_whole": "{0}.cast(pl.Int64)",
}


_RULES: Expansions = {f"{name}:f8": nan_is_largest(name) for name in COMPARISONS}


def _literal(value: Any) -> str:
    match value:
        case bool():
            return f"pl.lit({value})"
        case int():
            return f"pl.lit({value}, dtype=pl.Int64)"
    return f"pl.lit({value!r})" if math.isfinite(value) else f"pl.lit(float('{value}'))"


ENGINE = ColumnsEngine("Polars", _SPELLINGS, _literal, _RULES, legal(_SPELLINGS, "polars"),
                       ("pl.when({0}).then({1})", len("pl")), 100, divisors=True)


@with_room
def expression(fn: Callable[..., Any], /, *, faults: str = "null", kinds: str | None = None, **columns: Any) -> pl.Expr:
    """`fn` as an expression over columns; a function with several results gives a struct of them.

    columns  for each parameter the name of a column, a Polars expression, or a number, which is a constant; left out:
             the column of the same name. For a record a dict of columns, or a struct column. A parameter that is
             annotated `str`, or compared with literal strings, takes a column of strings
    kinds    of the other plain parameters, "f8,i8,b"; without it annotations and default values say so, or it is float
    faults   rows in which Python raises: "null" or "unchecked" (any value)

    Raises FlattenError where the function cannot be flattened or Polars cannot say it exactly.
    """
    require("polars", "pyflat.targets.polars.expression")
    import polars as pl

    found = expressions(fn, faults=faults, kinds=kinds, **columns)
    if len(found) == 1:
        return next(iter(found.values()))
    return pl.struct([value.alias(name.strip("[]")) for name, value in found.items()])


@with_room
def expressions(fn: Callable[..., Any], /, *, faults: str = "null", kinds: str | None = None, **columns: Any
                ) -> dict[str, pl.Expr]:
    """As `expression`, one for each result: by its path in the record, "" for a single number. With faults="mask" one
    more, "suspect", which is true in rows where Python raises."""
    require("polars", "pyflat.targets.polars.expressions")
    import polars as pl

    names, results, leaves = _results(fn, faults, kinds, columns)
    params = [_param(leaf) for leaf in leaves]
    made: dict[str, pl.Expr] = {}
    for name, result in zip(names, results, strict=True):
        printer = Printer(ENGINE, _texts([f"p[{k}]" for k in range(len(leaves))], leaves))
        stages, (text,) = printer.stages([result], "v[{}]".format)
        if not stages and not any(isinstance(leaf.given, pl.Expr) for leaf in leaves):
            made[name] = _evaluated(text, params, [])
            continue
        inside = [pl.field(f"p{k}") for k in range(len(leaves))]
        fields = [pl.field(f"v{k}") for k in range(sum(map(len, stages)))]
        record = pl.struct([param.alias(f"p{k}") for k, param in enumerate(params)])
        for stage in [*stages, {"v[]": text}]:
            record = record.struct.with_fields(
                [_evaluated(value, inside, fields).alias(f"v{of[2:-1]}") for of, value in stage.items()])
        made[name] = record.struct.field("v")
    return made


@with_room
def source(fn: Callable[..., Any], /, *, faults: str = "null", kinds: str | None = None, **columns: Any) -> str:
    """What `expression` is made of, to be read: the names of its stages, then each result."""
    names, results, leaves = _results(fn, faults, kinds, columns)
    given = [leaf.argument if leaf.given is None else leaf.given for leaf in leaves]
    params = [_column_text(name) if isinstance(name, str) else f"({name})" for name in given]
    stages, texts = Printer(ENGINE, _texts(params, leaves)).stages(results, "v{}".format)
    lines = [f"{name} = {text}" for stage in stages for name, text in stage.items()]
    return "\n".join([*lines, *(f"{name or 'result'} = {text}" for name, text in zip(names, texts, strict=True))])


def _texts(params: Sequence[str], columns: Sequence[Column]) -> list[str]:
    """The texts of parameters, behind all of them those of whether they are null, and then which words they are."""
    return [*params, *(f"{text}.is_null()" for text in params),
            *tests_of(columns, lambda k, word: f"({params[k]} == {word!r})")]


def _evaluated(text: str, params: list[pl.Expr], values: list[pl.Expr]) -> pl.Expr:
    import polars as pl

    made: pl.Expr = eval(text, {"pl": pl, "p": params, "v": values})
    return made


def _results(fn: Callable[..., Any], faults: str, kinds: str | None, columns: Mapping[str, Any]
             ) -> tuple[list[str], list[Value], list[Column]]:
    """Names and terms of the results. The terms read param k as its value, and behind all of them whether it is
    null."""
    flat, leaves = flattened(fn, columns, faults, ALLOWED, kinds)
    results, t = terms_of(flat, _RULES, ENGINE.stay)
    names, results = with_objects(t, flat, results, lambda text: f"pl.lit({text!r})", "None")
    absent = [Given(BOOL, len(leaves) + k) for k in range(len(leaves))]
    missing = reduce(lambda a, b: t("or", a, b), absent, t.const(False))
    if faults != "unchecked":
        *results, suspect = results
        failed = reduce(lambda a, b: t("or", a, b), t.doubts, suspect)
        if faults == "mask":
            results = [*results, failed]
        else:
            missing = t("or", missing, failed)
    if not isinstance(missing, Const) or missing.value:
        null = Piece("None")
        results = [Op("select", (missing, null, value), value.kind) for value in results]
    return names[:len(results)], results, leaves


def _column(name: str) -> pl.Expr:
    """The column of this name, which for `pl.col` may be a pattern of names."""
    return _evaluated(_column_text(name), [], [])


def _column_text(name: str) -> str:
    pattern = name == "*" or name.startswith("^") and name.endswith("$")
    return f"pl.selectors.by_name({name!r}).as_expr()" if pattern else f"pl.col({name!r})"


def _param(column: Column) -> pl.Expr:
    """The column, of which Polars refuses another type: `| 0` is for ints only, `| False` for bools, `+ ""` for
    strings."""
    import polars as pl

    given = column.argument if column.given is None else column.given
    if not isinstance(given, str | pl.Expr):
        raise TypeError(f"{column.argument} is the name of a column, an expression or a number, "
                        f"not {type(given).__name__}")
    value = _column(given) if isinstance(given, str) else given
    for field in filter(None, column.path.split(".")):
        value = value.struct.field(field)
    if column.words is not None:
        return value + pl.lit("")
    if column.kind == "f8":
        return value.cast(pl.Float64)
    return (value | pl.lit(0, dtype=pl.Int64)).cast(pl.Int64) if column.kind == "i8" else value | pl.lit(False)
