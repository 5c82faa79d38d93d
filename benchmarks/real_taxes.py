"""Tax-Calculator's functions with its own records: what `benchmarks.real_functions taxes` measures.

The package decorates each function with `iterate_jit`, which compiles a loop over columns of records and writes into
columns. The loop is called here as the package calls it, with copies of the output columns; the twin is called with the
same columns, and the year's parameters as numbers and tuples, and returns fresh arrays, or writes into columns of its
own with `out=`, as the loop does.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import pyflat
from benchmarks.real_functions import Case

YEAR = 2026


@dataclass(frozen=True, slots=True)
class TaxFunction:
    """The original, the package's compiled loop, and the names of what they take and give."""

    original: Callable[..., Any]
    loop: Callable[..., Any]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def tax_functions(module: Any) -> Mapping[str, TaxFunction]:
    """All functions of the module that are decorated with `iterate_jit`, whose wrapper keeps what it wraps."""
    found = {}
    for name, wrapper in vars(module).items():
        kept = inspect.getclosurevars(wrapper).nonlocals if inspect.isfunction(wrapper) else {}
        if "applied_jitted_f" in kept:
            found[name] = TaxFunction(kept["func"], kept["applied_jitted_f"], tuple(kept["in_args"]),
                                      tuple(kept["all_out_args"]))
    return found


def tax_cases(*, widened: bool, out: bool, chosen: str, math: str) -> Iterator[Case]:
    """The functions over the columns of a calculation that has been made; `widened`: with ints of 64 bits; `out`: the
    twin writes into columns, as the package's loop does."""
    try:
        import taxcalc
        from taxcalc import calcfunctions
    except ImportError:
        sys.exit("Tax-Calculator is missing: pip install taxcalc")
    calculator = taxcalc.Calculator(policy=taxcalc.Policy(), records=taxcalc.Records.cps_constructor(), verbose=False)
    calculator.advance_to_year(YEAR)
    calculator.calc_all()
    for name, function in tax_functions(calcfunctions).items():
        if chosen in name:
            yield _case(name, function, calculator, widened, out, math)


def _case(name: str, function: TaxFunction, calculator: Any, widened: bool, out: bool, math: str) -> Case:
    columns = [_value(calculator, each, widened) for each in function.inputs]
    given = [value if np.shape(value) == (calculator.array_len,) else _plain(value) for value in columns]
    twin = pyflat.twin(function.original, target="numba").with_options(math=math)
    outputs = tuple(_value(calculator, each, widened).copy() for each in function.outputs)

    def loop() -> tuple[np.ndarray, ...]:
        function.loop(*outputs, *columns)
        return outputs

    own = tuple(column.copy() for column in outputs)
    options = {"out": own if len(own) > 1 else own[0]} if out else {}

    def run() -> tuple[np.ndarray, ...]:
        found = twin(*given, **options)
        return found if isinstance(found, tuple) else (found,)

    form = ", ".join(["positional", *["64 bits"] * widened, *["out="] * out])
    return Case(name, form, calculator.array_len, run, loop)


def _value(calculator: Any, name: str, widened: bool) -> Any:
    """A parameter of the year, or a column."""
    try:
        column = calculator.array(name)
    except AttributeError:
        return calculator.policy_param(name)
    return column.astype(np.int64) if widened and column.dtype.kind == "i" else column


def _plain(value: Any) -> Any:
    return tuple(value.tolist()) if np.ndim(value) else value.item()
