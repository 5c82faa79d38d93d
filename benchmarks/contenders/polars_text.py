"""Polars expressions over a frame, on one thread: `when`, `then` and `otherwise` for branches.

A value that is used several times is a column of its own, by `with_columns`, as one names it by hand: in one large
expression each use of a branch is computed again. `>>` is a division. An expression has no loops.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.contenders.record import Columns, Contender, Run, UnavailableError, optional, real_type
from benchmarks.kernels import Kernel
from benchmarks.kernels.arrays import TEXTS, Library


class Value:
    """What a text computes: an operation on values and numbers."""

    def __init__(self, make: Callable[..., Any], *inputs: Any) -> None:
        self.make, self.inputs = make, inputs

    __hash__ = object.__hash__


def _operator(name: str, made: Callable[..., Any]) -> None:
    setattr(Value, f"__{name}__", lambda *inputs: Value(made, *inputs))
    if name not in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "invert"):
        setattr(Value, f"__r{name}__", lambda a, b: Value(made, b, a))


for _name in ("add", "sub", "mul", "truediv", "and", "or", "xor", "lt", "le", "gt", "ge", "eq", "ne", "neg", "invert"):
    _operator(_name, getattr(operator, f"__{_name}__"))
_operator("rshift", lambda a, bits: a // (1 << bits))


def _loop(*_arguments: Any) -> Any:
    raise UnavailableError("an expression has no loops")


def _library(narrow: bool) -> Library:
    pl = optional("polars")
    real, whole = (pl.Float32, pl.Int32) if narrow else (pl.Float64, pl.Int64)

    def method(name: str) -> Callable[..., Value]:
        return lambda *inputs: Value(getattr(pl.Expr, name), *inputs)

    return Library(
        where=lambda *inputs: Value(lambda condition, a, b: pl.when(condition).then(a).otherwise(b), *inputs),
        abs=method("abs"), arcsin=method("arcsin"), ceil=method("ceil"), cos=method("cos"), exp=method("exp"),
        floor=method("floor"), log=method("log"), power=method("pow"), sin=method("sin"), sqrt=method("sqrt"),
        maximum=lambda *inputs: Value(pl.max_horizontal, *inputs),
        minimum=lambda *inputs: Value(pl.min_horizontal, *inputs),
        loop=_loop,
        real=lambda number, _like: Value(lambda: pl.lit(number, real)),
        whole=lambda number, _like: Value(lambda: pl.lit(number, whole)),
        counts=lambda _like: Value(lambda: pl.lit(0, whole)),
        wrapped=lambda x: Value(lambda x: x.cast(pl.Int64).cast(pl.UInt32, wrap_numerical=True), x),
        take=lambda table, index: Value(lambda index: pl.lit(pl.Series(table, dtype=pl.UInt32)).gather(index), index),
    )


def query(frame: Any, result: Value) -> Any:
    """The lazy frame with `result` as its only column."""
    pl = optional("polars")
    order: dict[Value, int] = {}
    _count(result, order)
    exprs: dict[Value, Any] = {}
    lazy = frame.lazy()
    for value, uses in order.items():
        expr = value.make(*(exprs[each] if isinstance(each, Value) else each for each in value.inputs))
        if uses > 1 and value.inputs:
            name = f"v{len(exprs)}"
            lazy = lazy.with_columns(expr.alias(name))
            expr = pl.col(name)
        exprs[value] = expr
    return lazy.select(r=exprs[result])


def _count(result: Value, order: dict[Value, int]) -> None:
    """Value -> uses, inputs first."""
    for each in result.inputs:
        if isinstance(each, Value):
            if each not in order:
                _count(each, order)
            order[each] += 1
    order[result] = 0


def _make(kernel: Kernel, lanes: Columns) -> Run:
    text = TEXTS.get(kernel.name)
    if text is None:
        raise UnavailableError("no such text")
    pl = optional("polars")
    frame = pl.DataFrame({f"a{k}": column for k, column in enumerate(lanes)})
    columns = [Value(lambda name=name: pl.col(name)) for name in frame.columns]
    asked = query(frame, text(_library(real_type(lanes) == np.float32), *columns))

    def call() -> np.ndarray:
        found: np.ndarray = asked.collect()["r"].to_numpy()
        return found

    return call


def _versions() -> Mapping[str, str]:
    return {"polars": str(optional("polars").__version__)}


CONTENDERS = (Contender("polars", _make, versions=_versions),)
